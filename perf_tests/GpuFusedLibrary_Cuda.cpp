// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include <dlfcn.h>

#include <GpuFusedLibrary.hpp>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <sstream>
#include <stdexcept>

namespace Bench {
namespace {

/// The parts of a text between the separators, without empty ones.
std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) {
    if (!part.empty()) parts.push_back(part);
  }
  return parts;
}

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : "";
}

/// Folders of the wheels' libraries; none without Python.
std::vector<std::string> folders_of_wheels() {
  constexpr const char* command =
      "python3 -c 'import glob, sys\n"
      "for path in sys.path:\n"
      "    for folder in sorted(glob.glob(path + \"/nvidia/*/lib\")): print(folder)' 2>/dev/null";
  const auto close = [](std::FILE* pipe) { pclose(pipe); };
  const std::unique_ptr<std::FILE, decltype(close)> pipe(popen(command, "r"), close);
  std::string output;
  char part[512];
  while (pipe && std::fgets(part, sizeof(part), pipe.get()) != nullptr) output += part;
  return split(output, '\n');
}

void* open_first(const std::vector<std::string>& folders, const std::vector<std::string>& names) {
  for (const std::string& folder : folders) {
    for (const std::string& name : names) {
      const std::string path = folder.empty() ? name : folder + "/" + name;
      if (void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) return handle;
    }
  }
  return nullptr;
}

void* open_anywhere(const std::vector<std::string>& names) {
  std::vector<std::string> folders = split(variable("KOKKOSIRIS_BENCH_LIBRARIES"), ':');
  folders.emplace_back();  // a name without a folder: the loader's path
  const std::string cuda_home = variable("CUDA_HOME");
  if (!cuda_home.empty()) folders.push_back(cuda_home + "/lib64");
  folders.emplace_back("/usr/local/cuda/lib64");
  void* const handle = open_first(folders, names);
  return handle != nullptr ? handle : open_first(folders_of_wheels(), names);
}

}  // namespace

SharedLibrary::SharedLibrary(const std::vector<std::string>& names)
    : m_handle(open_anywhere(names)) {
  char folder[4096];
  if (m_handle != nullptr && dlinfo(m_handle, RTLD_DI_ORIGIN, folder) == 0) m_folder = folder;
}

void* SharedLibrary::address(const char* name) const {
  void* const function = dlsym(m_handle, name);
  if (function == nullptr) {
    throw std::runtime_error(std::string("the library in ") + m_folder + " has no " + name);
  }
  return function;
}

}  // namespace Bench
