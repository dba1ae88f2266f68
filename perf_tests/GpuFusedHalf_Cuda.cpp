// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// requires: fused

#include <GpuFusedCells.hpp>

namespace Bench {

void measure_gpu_fused_half(Session& session, const FusedBenchMaker& bench) {
  measure_gpu_fused<KokkosIris::half_t>(session, bench);
}

}  // namespace Bench
