// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include <core/KokkosIris_Error.hpp>
#include <core/KokkosIris_GpuReport.hpp>
#include <core/KokkosIris_GpuRuntime.hpp>

namespace KokkosIris::Impl {

int visible_gpus() noexcept {
  try {
    return Gpu::count(-1);
  } catch (const Error&) {
    return 0;
  }
}

std::vector<std::string> describe_gpus(int rank) {
  std::vector<std::string> lines;
  const int devices = Gpu::count(rank);
  for (int device = 0; device < devices; ++device) {
    const Gpu gpu(device, rank);
    std::string line = gpu.description() + " at " + gpu.bus_address() + ", reaches:";
    bool any = false;
    for (int other = 0; other < devices; ++other) {
      if (other == device || !gpu.can_access(other)) continue;
      any = true;
      line += " " + std::to_string(other);
      if (const auto link = gpu.link(other)) {
        line += " (link class " + std::to_string(link->performance_rank) +
                (link->atomics ? ", atomics)" : ", no atomics)");
      }
    }
    lines.push_back(line + (any ? "" : " no other"));
  }
  return lines;
}

namespace {

#if defined(KOKKOS_ENABLE_CUDA)
constexpr char vendor[] = "CUDA ";
constexpr int major_unit = 1000, minor_unit = 10;
const auto get_driver_version = cudaDriverGetVersion, get_runtime_version = cudaRuntimeGetVersion;
#else
constexpr char vendor[] = "HIP ";
constexpr int major_unit = 10000000, minor_unit = 100000;
const auto get_driver_version = hipDriverGetVersion, get_runtime_version = hipRuntimeGetVersion;
#endif

/// "CUDA 13.0" of 13000, "HIP 6.4" of 60400000.
std::string version_text(int version) {
  return vendor + std::to_string(version / major_unit) + "." +
         std::to_string(version % major_unit / minor_unit);
}

}  // namespace

GpuVersions gpu_versions(int rank) {
  const Gpu gpu(0, rank);
  int driver = 0, runtime = 0;
  gpu.check_call("DriverGetVersion", [&] { return get_driver_version(&driver); });
  gpu.check_call("RuntimeGetVersion", [&] { return get_runtime_version(&runtime); });
  return {version_text(driver), version_text(runtime)};
}

}  // namespace KokkosIris::Impl
