// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Many calls with one workspace, late ranks, and workspaces that do not fit.

#include <FusedBench.hpp>
#include <algorithm>
#include <optional>

namespace {

using namespace ::Test;

/// True for the one rank that is late in call `number`, if one is.
bool is_late(const FusedBench& bench, int number) {
  const std::uint64_t bits = ::Test::random_bits(99, static_cast<std::uint64_t>(number));
  return bits % 16 == 0 &&
         static_cast<int>((bits >> 8) % static_cast<std::uint64_t>(bench.ranks())) == bench.rank();
}

/// Call after call without a barrier between them. Each has other data; outputs are read, and
/// inputs and outputs overwritten, as soon as the own kernel has ended, while other ranks may be a
/// call behind or ahead.
void run_many(Backend backend, FusedOperation operation, int calls, TileEngine engine, Space space,
              const FusedConfig& sizes, Element element = Element::f32) {
  FusedBench bench(backend);
  // Ranks may share a GPU, whose time slices of about 2 ms then make up most of a call.
  if (bench.on_gpu()) calls /= 4;
  Way way;
  way.space = space;
  way.async_op = true;
  way.config = sizes;
  way.config.engine = engine;
  Problem problem{element, operation, 13, 9, 5, BiasAxis::rows, -1, 0};
  std::shared_ptr<KokkosIris::Impl::WorkspaceState> first;
  for (int number = 0; number < calls; ++number) {
    problem.seed = static_cast<std::uint64_t>(number) + 1;
    bench.prepare(problem, way);
    if (is_late(bench, number)) usleep(300);
    way.workspace = bench.call(problem, way);
    if (is_late(bench, number + 7)) usleep(300);
    bench.check(problem, ", call " + std::to_string(number), way.workspace.engine());
    if (number == 0) first = way.workspace.state();
    if (testing::Test::HasFailure()) break;
  }
  EXPECT_EQ(way.workspace.state(), first) << "the workspace was not reused";
  bench.barrier();
}

constexpr FusedConfig tiny = {.panel_rows = 2, .block_columns = 1, .teams = 2};

FUSED_TEST(MatmulReuse, AllReduceManyTimes) {
  run_many(backend, FusedOperation::matmul_all_reduce, 2000, TileEngine::packed, Space::serial,
           tiny);
}
FUSED_TEST(MatmulReuse, ReduceScatterManyTimes) {
  run_many(backend, FusedOperation::matmul_reduce_scatter, 600, TileEngine::blas, Space::serial,
           tiny);
}
FUSED_TEST(MatmulReuse, GatherMatmulManyTimes) {
  run_many(backend, FusedOperation::all_gather_matmul, 600, TileEngine::packed, Space::serial,
           tiny);
}
FUSED_TEST(MatmulReuse, MatmulGatherManyTimes) {
  run_many(backend, FusedOperation::matmul_all_gather, 600, TileEngine::packed, Space::serial,
           tiny);
}
FUSED_TEST(MatmulReuse, ManyTimesInParallel) {
  for (const FusedOperation operation : all_operations) {
    if (backend == Backend::host) {
      run_many(backend, operation, 60, TileEngine::packed, Space::parallel, tiny);
    }
    run_many(backend, operation, 60, TileEngine::portable, Space::parallel, {});
  }
}

/// The same with 16-bit elements, on a GPU by the engine whose tiles have a size of their own.
FUSED_TEST(MatmulReuse, HalfManyTimes) {
  const int calls = backend == Backend::host ? 60 : 400;
  for (const FusedOperation operation : all_operations) {
    run_many(backend, operation, calls, TileEngine::automatic, Space::serial, {}, Element::f16);
    // Wide tiles, which are exchanged otherwise.
    run_many(backend, operation, calls, TileEngine::automatic, Space::serial,
             {.block_columns = 256}, Element::f16);
  }
}

/// The same bits in every call, whichever rank is late, and on every rank.
FUSED_TEST(MatmulReuse, BitwiseReproducible) {
  FusedBench bench(backend);
  for (const FusedOperation operation : all_operations) {
    for (const TileEngine engine : bench.engines()) {
      Problem problem{Element::f32, operation, 67, 45, 51};
      Way way;
      way.config = {engine, 8, 16, 2};
      if (engine == TileEngine::sm90) {
        problem.element = Element::bf16;
        way.config = {.engine = engine};
      }
      way.space = Space::parallel;
      std::optional<std::uint64_t> expected;
      for (int run = 0; run < 5; ++run) {
        bench.prepare(problem, way);
        if (bench.rank() == run % bench.ranks()) usleep(500);
        const auto workspace = bench.call(problem, way);
        // Prepared twice, reused otherwise.
        way.workspace = run == 2 ? FusedWorkspace() : workspace;
        const std::uint64_t hash = bench.arena_c.hash();
        EXPECT_EQ(hash, expected.value_or(hash)) << problem.describe(bench.ranks());
        expected = hash;
        if (operation == FusedOperation::matmul_all_reduce ||
            operation == FusedOperation::matmul_all_gather) {
          bench.agreed_hash();
        }
      }
      bench.check(problem, "", way.workspace.engine());
    }
  }
}

/// A workspace that an instance of many threads prepared serves one of few, and the other way
/// round; ranks may use different ones. On a GPU: instances with streams of their own.
FUSED_TEST(MatmulReuse, OtherInstances) {
  FusedBench bench(backend);
  constexpr Space spaces[] = {Space::parallel, Space::part, Space::serial};
  for (const FusedOperation operation : all_operations) {
    for (int first = 0; first < 3; ++first) {
      Way way;
      way.config = {.panel_rows = 4, .block_columns = 16};
      for (int next = 0; next < 5; ++next) {
        Problem problem{Element::f32, operation, 21, 34, 8};
        problem.seed = static_cast<std::uint64_t>(next);
        way.space = spaces[(first + next + (next > 2 ? bench.rank() : 0)) % 3];
        const auto workspace = bench.run(problem, way);
        if (next > 0) {
          EXPECT_EQ(workspace.state(), way.workspace.state());
        }
        way.workspace = workspace;
      }
    }
  }
}

/// One workspace, B in layouts that engines take in different ways: packed, or where it lies.
FUSED_TEST(MatmulReuse, OtherLayoutsOfB) {
  FusedBench bench(backend);
  for (const FusedOperation operation : all_operations) {
    Way way;
    way.config = {.panel_rows = 24, .block_columns = 64};
    unsigned number = 0;
    for (const Layout layout : {Layout::right, Layout::left, Layout::right_padded, Layout::strided,
                                Layout::left, Layout::right}) {
      Problem problem{Element::f64, operation, 61, 70, 40, BiasAxis::cols};
      problem.seed = ++number;
      way.b = layout;
      const auto workspace = bench.run(problem, way);
      if (number > 1) {
        EXPECT_EQ(workspace.state(), way.workspace.state());
      }
      way.workspace = workspace;
    }
  }
}

/// The first call's workspace is given to calls that it does not fit.
FUSED_TEST(MatmulReuse, MismatchedWorkspaceIsPreparedAnew) {
  FusedBench bench(backend);
  const Problem first{Element::f32, FusedOperation::matmul_all_reduce, 20, 24, 6};
  const Way way{.config = {.panel_rows = 4}};
  const FusedWorkspace given = bench.run(first, way);
  EXPECT_EQ(given.operation(), "matmul_all_reduce");
  EXPECT_EQ(given.engine(), KokkosIris::Impl::to_string(bench.default_engine()));
  const bool has_other = bench.other_engine() != bench.default_engine();
  std::vector<std::pair<Problem, Way>> others(has_other ? 8 : 7, {first, way});
  others[0].first.m = 70;
  others[1].first.n = 70;
  others[2].first.k = 70;
  others[3].first.element = Element::f16;
  others[4].first.operation = FusedOperation::matmul_all_gather;
  others[5].first.operation = FusedOperation::matmul_reduce_scatter;
  others[6].second.config.panel_rows = 2;
  if (has_other) others[7].second.config.engine = bench.other_engine();
  for (auto& [problem, other_way] : others) {
    other_way.workspace = given;
    const FusedWorkspace anew = bench.run(problem, other_way);
    EXPECT_NE(anew.state(), given.state());
    EXPECT_EQ(anew.operation(), KokkosIris::Impl::to_string(problem.operation));
  }
  // The first one is as good as before.
  Way again = way;
  again.workspace = given;
  EXPECT_EQ(bench.run(first, again).state(), given.state());
}

FUSED_TEST(MatmulReuse, TwoWorkspacesInTurn) {
  FusedBench bench(backend);
  Problem problems[] = {{Element::f32, FusedOperation::matmul_all_reduce, 11, 12, 13},
                        {Element::f32, FusedOperation::all_gather_matmul, 14, 15, 16}};
  Way ways[] = {{.config = tiny}, {.config = tiny}};
  for (int number = 0; number < 40; ++number) {
    Problem& problem = problems[number % 2];
    problem.seed = static_cast<std::uint64_t>(number);
    ways[number % 2].async_op = number % 3 == 0;
    if (is_late(bench, number)) usleep(300);
    ways[number % 2].workspace = bench.run(problem, ways[number % 2]);
  }
}

/// A workspace belongs to a context; given to another one it is not used.
FUSED_TEST(MatmulReuse, SeveralContexts) {
  FusedBench one(backend);
  FusedBench two(backend);
  const Problem problem{Element::f64, FusedOperation::matmul_reduce_scatter, 15, 6, 4};
  Way way;
  way.workspace = one.run(problem, way);
  const FusedWorkspace other = two.run(problem, way);
  EXPECT_NE(other.state(), way.workspace.state());
  for (int number = 0; number < 10; ++number) {
    EXPECT_EQ(one.run(problem, way).state(), way.workspace.state());
    Way other_way;
    other_way.workspace = other;
    EXPECT_EQ(two.run(problem, other_way).state(), other.state());
  }
}

/// After an error the ranks' counters may differ: the workspace is not used again as it is.
FUSED_TEST(MatmulReuse, AfterAnError) {
  FusedBench bench(backend);
  for (const FusedOperation operation : all_operations) {
    Problem problem{Element::f32, operation, 17, 18, 9};
    Way way{.config = tiny};
    for (int number = 0; number < 3 * bench.ranks(); ++number) {
      problem.seed = static_cast<std::uint64_t>(number);
      way.workspace = bench.run(problem, way);
      // One rank fails where the others are in the kernel.
      bench.prepare(problem, way);
      if (bench.rank() == number % bench.ranks()) bench.c.rows += 1;
      EXPECT_THROW(bench.call(problem, way), KokkosIris::Error);
      bench.arena_c.clear();
      const FusedWorkspace next = bench.run(problem, way, ", after the error");
      EXPECT_NE(next.state(), way.workspace.state());
    }
  }
}

/// Reuse takes no memory from the heap, and the last copy gives it back.
FUSED_TEST(MatmulReuse, MemoryOfAWorkspace) {
  FusedBench bench(backend);
  const std::size_t before = bench.heap_used();
  for (const FusedOperation operation : all_operations) {
    Problem problem{Element::f32, operation, 33, 18, 9};
    Way way;
    way.workspace = bench.run(problem, way);
    const std::size_t with_one = bench.heap_used();
    EXPECT_GT(with_one, before);
    for (int number = 0; number < 5; ++number) {
      way.workspace = bench.run(problem, way);
      EXPECT_EQ(bench.heap_used(), with_one);
    }
    way.workspace = {};
    bench.barrier();
    EXPECT_EQ(bench.heap_used(), before);
  }
}

TEST(MatmulReuse, NothingPrepared) {
  const FusedWorkspace none;
  EXPECT_FALSE(none);
  EXPECT_EQ(none.operation(), "none");
  EXPECT_EQ(none.engine(), "none");
}

}  // namespace
