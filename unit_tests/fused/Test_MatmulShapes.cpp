// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Fused operations of any extents: 0 and 1, primes around the tiles, many panels and blocks, with
// every engine and element type, and any number of ranks.
//
// ranks: 1 2 3 4 5 8

#include <FusedBench.hpp>

namespace {

using namespace ::Test;

struct Extents {
  std::int64_t m, n, k;
};

/// Configs with the engines' own sizes, and with so small ones that staging is used again and
/// again.
constexpr FusedConfig configs[] = {{},
                                   {.panel_rows = 8, .block_columns = 16},
                                   {.panel_rows = 5, .block_columns = 1, .teams = 1},
                                   {.panel_rows = 16, .block_columns = 32, .teams = 2}};

/// Problem number `number` of these extents: bias, config and space follow from the number.
void run(FusedBench& bench, const Extents& e, FusedOperation operation, Element element,
         TileEngine engine, unsigned number) {
  Problem problem{element, operation, e.m, e.n, e.k};
  problem.seed = number;
  constexpr BiasAxis axes[] = {BiasAxis::none, BiasAxis::rows, BiasAxis::cols};
  problem.bias = axes[number % 3];
  problem.bias_rank = number % 2 == 0 ? -1 : static_cast<int>(number / 2) % bench.ranks();
  Way way;
  way.config = configs[number % std::size(configs)];
  way.config.engine = engine;
  way.async_op = number % 5 == 0;
  way.offset = (bench.rank() * 5 + static_cast<int>(number)) % 16;
  // Not where two threads of each of many ranks share few cores.
  if (number % 2 == 0 && bench.has(element, Space::parallel) && bench.ranks() <= 5) {
    way.space = Space::parallel;
  }
  bench.run(problem, way, ", case " + std::to_string(number));
}

/// Each operation for these extents with some of the combinations of engine and type; `number`
/// counts on, so that a list of extents meets all of them.
void run_some(FusedBench& bench, const Extents& extents, unsigned& number, unsigned each) {
  for (const FusedOperation operation : all_operations) {
    for (unsigned i = 0; i < each; ++i, ++number) {
      // 3 engines, 4 types: numbers that share no factor meet all pairs.
      run(bench, extents, operation, all_elements[number % 4], all_engines[number % 3],
          number + number / 12);
    }
  }
}

/// Fewer combinations where many ranks share few cores.
unsigned some(const FusedBench& bench) {
  return bench.ranks() <= 2 ? 6 : bench.ranks() == 3 ? 3 : bench.ranks() == 4 ? 2 : 1;
}

FUSED_TEST(MatmulShapes, OneDimensionAtATime) {
  FusedBench bench(backend);
  unsigned number = 0;
  for (const std::int64_t extent : {0, 1, 17, 65, 2, 7, 31, 33, 63, 97, 129}) {
    if (bench.ranks() > 4 && extent == 2) return;
    run_some(bench, {extent, 19, 23}, number, some(bench));
    run_some(bench, {19, extent, 23}, number, some(bench));
    run_some(bench, {19, 23, extent}, number, some(bench));
  }
}

/// Nothing to do for teams that would share panels.
FUSED_TEST(MatmulShapes, NoRowsAndManyColumns) {
  FusedBench bench(backend);
  for (const TileEngine engine : bench.engines()) {
    for (const FusedOperation operation : all_operations) {
      Way way;
      way.config.engine = engine;
      bench.run({Element::f32, operation, 0, 600, 5}, way);
    }
  }
}

FUSED_TEST(MatmulShapes, SeveralDimensionsAtOnce) {
  FusedBench bench(backend, std::size_t(4) << 20);
  unsigned number = 100;
  for (const Extents& extents :
       {Extents{0, 0, 0}, Extents{1, 1, 1}, Extents{1, 1, 0}, Extents{0, 1, 1}, Extents{1, 0, 1},
        Extents{1, 97, 1}, Extents{97, 1, 1}, Extents{1, 1, 97}, Extents{2, 3, 257},
        Extents{65, 33, 7}, Extents{33, 65, 31}, Extents{63, 97, 17}}) {
    run_some(bench, extents, number, some(bench));
  }
  if (bench.ranks() > 4) return;
  for (const Extents& extents : {Extents{257, 31, 17}, Extents{17, 257, 33}, Extents{7, 5, 521}}) {
    run_some(bench, extents, number, 1);
  }
}

FUSED_TEST(MatmulShapes, EveryEngineAndType) {
  FusedBench bench(backend);
  unsigned number = 1000;
  for (const FusedOperation operation : all_operations) {
    for (const TileEngine engine : bench.engines()) {
      for (const Element element : all_elements) {
        ++number;
        if (bench.ranks() > 4 && number % 3 != 0) continue;
        run(bench, {37, 29, 41}, operation, element, engine, number);
      }
    }
  }
}

/// The first owners' chunks are one column wider than a number of whole blocks, so that they have a
/// block more than the others', and staging is used many times.
FUSED_TEST(MatmulShapes, ChunksOfDifferentNumbersOfBlocks) {
  FusedBench bench(backend);
  unsigned number = 2000;
  for (const int width : {16, 32, 48, 64}) {
    for (const std::int64_t blocks : {1, 2}) {
      Problem problem{Element::f32, FusedOperation::matmul_all_reduce, 41,
                      bench.ranks() * blocks * width + 1, 3};
      problem.seed = number++;
      Way way;
      way.config = {all_engines[number % 3], 4, width, 1};
      bench.run(problem, way);
      way.config.teams = 2;
      way.space = Space::parallel;
      bench.run(problem, way);
    }
  }
}

/// Fewer columns than ranks: some own nothing.
FUSED_TEST(MatmulShapes, FewerColumnsThanRanks) {
  FusedBench bench(backend);
  for (std::int64_t n = 1; n < bench.ranks() + 2; ++n) {
    for (const TileEngine engine : bench.engines()) {
      Problem problem{Element::f64, FusedOperation::matmul_all_reduce, 70, n, 5};
      problem.bias = BiasAxis::cols;
      problem.seed = static_cast<std::uint64_t>(n);
      bench.run(problem, {.config = {.engine = engine, .panel_rows = 3}});
    }
  }
}

}  // namespace
