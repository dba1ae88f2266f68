// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include <dlfcn.h>
#include <mpi.h>
#include <unistd.h>

#include <Kokkos_Core.hpp>
#include <Machine.hpp>
#include <algorithm>
#include <cstring>
#include <ctime>
#include <fstream>
#include <iterator>
#include <sstream>
#include <thread>

#include <core/KokkosIris_Config.hpp>
#include <core/KokkosIris_GpuSpace.hpp>

namespace Bench {
namespace {

/// Value of the first line `key : value` of /proc/cpuinfo.
std::string processor_info(const std::string& key) {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const auto colon = line.find(':');
    if (colon == std::string::npos || line.compare(0, key.size(), key) != 0) continue;
    return colon + 2 <= line.size() ? line.substr(colon + 2) : "";
  }
  return "";
}

std::string mpi_version() {
  char library[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  MPI_Get_library_version(library, &length);
  return std::string(library, std::strcspn(library, ",\n"));
}

std::string kokkos_version() {
  return std::to_string(KOKKOS_VERSION / 10000) + "." + std::to_string(KOKKOS_VERSION / 100 % 100) +
         "." + std::to_string(KOKKOS_VERSION % 100);
}

std::string now() {
  const std::time_t time = std::time(nullptr);
  char text[32] = "";
  std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", std::gmtime(&time));
  return text;
}

/// mpiexec's command line if this process is its child and it starts this program.
std::string command(const std::string& own_command) {
  std::ifstream file("/proc/" + std::to_string(getppid()) + "/cmdline");
  std::string parent{std::istreambuf_iterator<char>(file), {}};
  while (!parent.empty() && parent.back() == '\0') parent.pop_back();
  std::replace(parent.begin(), parent.end(), '\0', ' ');
  const bool is_ours = parent.find(own_command) != std::string::npos && parent.find("bash") != 0;
  return is_ours ? parent : own_command;
}

/// The variables that decide what MPI, BLAS, OpenMP, malloc and KokkosIris do.
std::vector<std::pair<std::string, std::string>> relevant_environment() {
  constexpr const char* prefixes[] = {"KOKKOSIRIS_", "OPENBLAS_", "OMP_", "MALLOC_"};
  // Open MPI passes a hundred variables of its own; these are those that change times.
  constexpr const char* names[] = {"OMPI_MCA_btl_vader_single_copy_mechanism",
                                   "OMPI_MCA_hwloc_base_binding_policy",
                                   "OMPI_MCA_mpi_yield_when_idle"};
  std::vector<std::pair<std::string, std::string>> found;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const auto equals = text.find('=');
    const std::string name = text.substr(0, equals);
    const auto starts = [&](const char* prefix) { return name.rfind(prefix, 0) == 0; };
    const auto is = [&](const char* other) { return name == other; };
    if (!std::any_of(std::begin(prefixes), std::end(prefixes), starts) &&
        !std::any_of(std::begin(names), std::end(names), is)) {
      continue;
    }
    found.emplace_back(name, text.substr(equals + 1));
  }
  std::sort(found.begin(), found.end());
  return found;
}

template <class Function>
Function* find_function(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

}  // namespace

std::string blas_name() {
  using Query = char*();
  std::string name = "unknown";
  if (Query* const config = find_function<Query>("openblas_get_config")) {
    // "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH ...": the name, the version and options.
    std::istringstream words(config());
    std::string library, version;
    words >> library >> version;
    name = library + " " + version;
  }
  if (Query* const core = find_function<Query>("openblas_get_corename")) {
    name += std::string(" ") + core();
  }
  return name;
}

bool has_bfloat16_products() {
  const std::string flags = " " + processor_info("flags") + " ";
  return flags.find(" avx512_bf16 ") != std::string::npos ||
         flags.find(" amx_bf16 ") != std::string::npos;
}

Surroundings surroundings(const std::string& own_command) {
  Surroundings result;
  result.processor = processor_info("model name");
  if (result.processor.empty()) result.processor = "unknown processor";
  // Virtual machines hide the name but not the numbers.
  for (const char* key : {"cpu family", "model\t", "stepping"}) {
    const std::string value = processor_info(key);
    if (!value.empty()) {
      result.processor += ", " + std::string(key, std::strcspn(key, "\t")) + " " + value;
    }
  }
  result.cores = static_cast<int>(std::thread::hardware_concurrency());
  result.versions = {{"KokkosIris", KOKKOSIRIS_VERSION_STRING},
                     {"Kokkos", kokkos_version()},
                     {"MPI", mpi_version()},
                     {"BLAS", blas_name()}};
  if constexpr (KokkosIris::Impl::has_gpu_v) describe_gpus(result);
  result.environment = relevant_environment();
  result.command = command(own_command);
  result.date = now();
  return result;
}

}  // namespace Bench
