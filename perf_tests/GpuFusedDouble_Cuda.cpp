// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// requires: fused

#include <GpuFusedCells.hpp>

namespace Bench {

void measure_gpu_fused_double(Session& session, const FusedBenchMaker& bench) {
  measure_gpu_fused<double>(session, bench);
}

}  // namespace Bench
