// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Fused operations on 16-bit operands as an engine of fixed, large tiles takes them: extents around
// its tiles, all layouts, and operands that its copy hardware can and cannot take.
//
// ranks: 1 2 3 4

#include <FusedBench.hpp>

namespace {

using namespace ::Test;

struct Extents {
  std::int64_t m, n, k;
};

constexpr std::size_t arena_bytes = std::size_t(4) << 20;

Layout left_or_right(int bit) { return bit % 2 == 0 ? Layout::right : Layout::left; }

/// One call, on the engine's own choice of tiles or on those of a width.
void run(FusedBench& bench, const Extents& e, FusedOperation operation, int number, int width,
         bool aligned, bool same_layouts) {
  Problem problem{number % 2 == 0 ? Element::f16 : Element::bf16, operation, e.m, e.n, e.k};
  constexpr BiasAxis axes[] = {BiasAxis::cols, BiasAxis::none, BiasAxis::rows};
  problem.bias = axes[number % 3];
  problem.seed = static_cast<std::uint64_t>(number);
  const int layouts = number + (same_layouts ? 0 : 3 * bench.rank());
  Way way;
  way.config.block_columns = width;
  way.aligned = aligned;
  way.offset = number % 7;
  way.a = left_or_right(layouts);
  way.b = left_or_right(layouts / 2);
  way.c = left_or_right(layouts / 4);
  way.async_op = number % 4 == 0;
  bench.run(problem, way, ", case " + std::to_string(number));
  if (operation == FusedOperation::matmul_all_reduce) bench.agreed_hash();
}

/// Layouts of all three operands in every combination; whole tiles, and ends within tiles that the
/// copy hardware cuts.
FUSED_TEST(MatmulTiles, AlignedOperands) {
  FusedBench bench(backend, arena_bytes);
  int number = 0;
  for (const FusedOperation operation : all_operations) {
    for (const Extents& extents : {Extents{128, 256, 64}, Extents{200, 136, 72}}) {
      for (int layouts = 0; layouts < 8; ++layouts, ++number) {
        run(bench, extents, operation, number, number % 3 == 0 ? 64 << number % 2 : 0, true, true);
      }
    }
  }
}

/// Every rank with its own layouts, so that images of tiles lie otherwise than their receiver's C.
FUSED_TEST(MatmulTiles, OtherLayoutsOnEveryRank) {
  FusedBench bench(backend, arena_bytes);
  int number = 1;
  for (const FusedOperation operation : all_operations) {
    for (int layouts = 0; layouts < 8; ++layouts, ++number) {
      run(bench, {136, 72, 80}, operation, number, 64 << number % 3, true, false);
    }
  }
}

/// Rows that begin anywhere: operands are copied, and C is stored element by element.
FUSED_TEST(MatmulTiles, UnalignedOperands) {
  FusedBench bench(backend, arena_bytes);
  int number = 2;
  for (const FusedOperation operation : all_operations) {
    for (const Extents& extents : {Extents{131, 67, 65}, Extents{65, 257, 7}, Extents{1, 1, 1}}) {
      for (int i = 0; i < 4; ++i, ++number) {
        run(bench, extents, operation, number, 0, number % 2 == 0, number % 3 != 0);
      }
    }
  }
}

/// More tiles in a column and in a row than are walked at a time, and more rows than an all-reduce
/// of two ranks sends twice.
FUSED_TEST(MatmulTiles, ManyTiles) {
  FusedBench bench(backend, arena_bytes);
  int number = 3;
  for (const FusedOperation operation : all_operations) {
    for (const Extents& extents :
         {Extents{1160, 136, 24}, Extents{24, 1000, 40}, Extents{600, 264, 8}}) {
      for (int i = 0; i < 2; ++i, ++number) {
        run(bench, extents, operation, number, 128 * i, true, number % 3 != 0);
      }
    }
  }
}

/// So many tiles that the blocks of an all-reduce take foreign and own ones in turns.
FUSED_TEST(MatmulTiles, ForeignAndOwnTilesInTurns) {
  if (backend == Backend::host) GTEST_SKIP() << "of an engine for GPUs";
  FusedBench bench(backend, std::size_t(16) << 20);
  if (bench.ranks() > 3) GTEST_SKIP() << "takes long with many ranks on few processors";
  Problem problem{Element::bf16, FusedOperation::matmul_all_reduce, 2176, 2100, 16, BiasAxis::cols};
  if (bench.ranks() == 3) problem.n = 3080;
  Way way;
  way.config.block_columns = 128;
  way.aligned = true;
  for (int number = 0; number < 3; ++number) {
    problem.seed = static_cast<std::uint64_t>(number);
    if (number == bench.rank()) ::Test::delay(5);
    way.workspace = bench.run(problem, way, ", call " + std::to_string(number));
    bench.agreed_hash();
  }
}

/// One workspace for calls with other data, layouts and alignments, sometimes with a late rank.
FUSED_TEST(MatmulTiles, ReusedWorkspace) {
  FusedBench bench(backend, arena_bytes);
  for (const FusedOperation operation : all_operations) {
    Way way;
    for (int number = 0; number < 48; ++number) {
      // By packets, then by images.
      if (number == 24) way.workspace = {};
      way.config.block_columns = number < 24 ? 0 : 256;
      Problem problem{Element::bf16, operation, 200, 144, 96, BiasAxis::cols};
      problem.seed = static_cast<std::uint64_t>(number);
      way.a = left_or_right(number / 3 + bench.rank());
      way.b = left_or_right(number / 5);
      way.c = left_or_right(number / 2 + bench.rank());
      way.aligned = number % 4 != 3;
      way.offset = number;
      way.async_op = number % 2 == 0;
      if (number % 6 == bench.rank()) ::Test::delay(5);
      const auto workspace = bench.run(problem, way, ", call " + std::to_string(number));
      if (number % 24 > 0) {
        EXPECT_EQ(workspace.state(), way.workspace.state());
      }
      way.workspace = workspace;
    }
  }
}

}  // namespace
