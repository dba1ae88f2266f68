// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// ranks: 2 3

// KOKKOSIRIS_HOST_ISA that is bad, or another one, on one of the ranks. A process chooses its
// instruction set at its first fused call, so this is one test in a program of its own.

#include <FusedBench.hpp>
#include <cstdlib>
#include <fused/arch/host/KokkosIris_PackedGemm.hpp>

namespace {

using namespace ::Test;
using KokkosIris::ErrorCode;
using KokkosIris::Impl::ElementKind;
using KokkosIris::Impl::packed_gemm;

TEST(HostIsa, BadAndThenAnotherOnOneRank) {
  FusedBench bench(Backend::host, std::size_t(1) << 16, 20.0);
  const int odd_rank = bench.ranks() - 1;
  const bool odd = bench.rank() == odd_rank;
  const std::string odd_name = "rank " + std::to_string(odd_rank);
  const Problem problem{Element::f64, FusedOperation::matmul_all_reduce, 64, 64, 8};
  const Way packed{.config = {.engine = TileEngine::packed}};
  const auto call = [&] {
    bench.prepare(problem, packed);
    bench.call(problem, packed);
  };

  unsetenv("KOKKOSIRIS_HOST_ISA");
  if (odd) setenv("KOKKOSIRIS_HOST_ISA", "none", 1);
  expect_error(ErrorCode::invalid_argument, call, (odd ? "" : odd_name + ": ") + "KOKKOSIRIS_HOST",
               "=none is unknown", "Supported here: generic");

  const auto& best = packed_gemm(ElementKind::f64, nullptr);
  const auto& generic = packed_gemm(ElementKind::f64, "generic");
  if (odd) setenv("KOKKOSIRIS_HOST_ISA", "generic", 1);
  if (best.panel_rows == generic.panel_rows && best.tile_columns == generic.tile_columns &&
      best.nr == generic.nr) {
    bench.run(problem, packed);
    GTEST_SKIP() << "this processor has one size of tiles only";
  }
  expect_error(ErrorCode::mismatch, call, "KOKKOSIRIS_HOST_ISA", std::string(best.name), "generic",
               odd_name);

  // Ranks go on with an engine that does not depend on it.
  bench.run(problem, {.config = {.engine = TileEngine::portable}});
}

}  // namespace
