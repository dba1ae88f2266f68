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

/// The kernel module's version, where it tells: "NVRM version: ... Module  580.82.07  Release ...".
std::string kernel_module_version() {
  std::ifstream file("/proc/driver/nvidia/version");
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
  std::string driver_text = "CUDA " + version_text(driver, 1000, 10);
  const std::string module = kernel_module_version();
  if (!module.empty()) driver_text = module + " (" + driver_text + ")";
  surroundings.versions.emplace_back("driver", driver_text);
  surroundings.versions.emplace_back("runtime", "CUDA " + version_text(runtime, 1000, 10));
#else
  if (hipDriverGetVersion(&driver) != hipSuccess) driver = 0;
  if (hipRuntimeGetVersion(&runtime) != hipSuccess) runtime = 0;
  surroundings.versions.emplace_back("driver", "HIP " + version_text(driver, 10000000, 100000));
  surroundings.versions.emplace_back("runtime", "HIP " + version_text(runtime, 10000000, 100000));
#endif
}

}  // namespace Bench
