// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// requires: fused

#include <GpuFusedCells.hpp>

namespace Bench {

void measure_gpu_fused_float(Session& session, const FusedBenchMaker& bench) {
  measure_gpu_fused<float>(session, bench);
}

}  // namespace Bench
