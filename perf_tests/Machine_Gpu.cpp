// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include <Machine.hpp>
#include <core/KokkosIris_GpuRuntime.hpp>
#include <fstream>

namespace Bench {
namespace {

/// "13.0" of 13000; HIP's 60400000 becomes "6.4".
std::string version_text(int version, int major_unit, int minor_unit) {
  return std::to_string(version / major_unit) + "." +
         std::to_string(version % major_unit / minor_unit);
}

/// The kernel module's version, where it tells: "NVRM version: ... Module  580.82.07  Release ...",
/// "6.10.5".
std::string kernel_module_version(const char* file_name) {
  std::ifstream file(file_name);
  for (std::string word; file >> word;) {
    const bool is_version = word.find_first_not_of("0123456789.") == std::string::npos &&
                            word.find('.') != std::string::npos;
    if (is_version) return word;
  }
  return "";
}

}  // namespace

void describe_gpus(Surroundings& surroundings) {
  using KokkosIris::Impl::Gpu;
  surroundings.gpu = Gpu::of_default_instance(-1).name();
  surroundings.gpus = Gpu::count(-1);
  int driver = 0, runtime = 0;
#if defined(KOKKOS_ENABLE_CUDA)
  if (cudaDriverGetVersion(&driver) != cudaSuccess) driver = 0;
  if (cudaRuntimeGetVersion(&runtime) != cudaSuccess) runtime = 0;
  const std::string driver_name = "CUDA " + version_text(driver, 1000, 10);
  const std::string runtime_name = "CUDA " + version_text(runtime, 1000, 10);
  const std::string module = kernel_module_version("/proc/driver/nvidia/version");
#else
  if (hipDriverGetVersion(&driver) != hipSuccess) driver = 0;
  if (hipRuntimeGetVersion(&runtime) != hipSuccess) runtime = 0;
  const std::string driver_name = "HIP " + version_text(driver, 10000000, 100000);
  const std::string runtime_name = "HIP " + version_text(runtime, 10000000, 100000);
  const std::string module = kernel_module_version("/sys/module/amdgpu/version");
#endif
  surroundings.versions.emplace_back(
      "driver", module.empty() ? driver_name : module + " (" + driver_name + ")");
  surroundings.versions.emplace_back("runtime", runtime_name);
}

}  // namespace Bench
