// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include <Machine.hpp>
#include <core/KokkosIris_GpuReport.hpp>
#include <core/KokkosIris_GpuRuntime.hpp>
#include <fstream>

namespace Bench {
namespace {

/// The kernel module's version, where it tells: "NVRM version: ... Module  580.82.07  Release ...",
/// "6.10.5".
std::string kernel_module_version() {
  for (const char* name : {"/proc/driver/nvidia/version", "/sys/module/amdgpu/version"}) {
    std::ifstream file(name);
    for (std::string word; file >> word;) {
      const bool is_version = word.find_first_not_of("0123456789.") == std::string::npos &&
                              word.find('.') != std::string::npos;
      if (is_version) return word;
    }
  }
  return "";
}

}  // namespace

void describe_gpus(Surroundings& surroundings) {
  using KokkosIris::Impl::Gpu;
  surroundings.gpu = Gpu::of_default_instance(-1).name();
  surroundings.gpus = Gpu::count(-1);
  const KokkosIris::Impl::GpuVersions versions = KokkosIris::Impl::gpu_versions(-1);
  const std::string module = kernel_module_version();
  surroundings.versions.emplace_back(
      "driver", module.empty() ? versions.driver : module + " (" + versions.driver + ")");
  surroundings.versions.emplace_back("runtime", versions.runtime);
}

}  // namespace Bench
