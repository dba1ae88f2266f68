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

}  // namespace KokkosIris::Impl
