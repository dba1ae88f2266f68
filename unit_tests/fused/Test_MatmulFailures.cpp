// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A rank fails, or does something else, while the others are in the kernel of a fused operation and
// wait for it: they get an error that says so, and all go on. On every engine.

#include <ErrorBench.hpp>

namespace {

using namespace ::Test;

/// The other ranks have a workspace and are in the kernel when one finds its arguments illegal.
ERROR_TEST(MatmulFailures, OneRankWithAWorkspace) {
  for (const EngineCall& one : all_calls()) {
    const Problem& problem = one.problem;
    const std::function<void()> faults[] = {[&] { bench.c.rows += 1; }, [&] { bench.b.rows += 1; },
                                            [&] { bench.c.col_stride = 0; }};
    for (const auto& spoil : faults) {
      Way way = one.way;
      way.workspace = bench.run(problem, way);
      bench.prepare(problem, way);
      if (at_fault()) spoil();
      const std::string name = "rank " + std::to_string(bench.ranks() - 1);
      expect_failure([&] { bench.call(problem, way); }, problem,
                     {at_fault() ? invalid : ErrorCode::peer_failed},
                     {name, text_of(problem.operation), "Given: C"});
      expect_usable();
    }
  }
}

/// As above where the faulty rank has no workspace: its text reaches the others all the same.
ERROR_TEST(MatmulFailures, OneRankWithoutAWorkspace) {
  if (bench.ranks() == 1) GTEST_SKIP() << "needs another rank";
  for (const EngineCall& one : all_calls()) {
    const Problem& problem = one.problem;
    Way way = one.way;
    way.workspace = bench.run(problem, way);
    if (at_fault()) way.workspace = {};
    bench.prepare(problem, way);
    if (at_fault()) bench.b.rows += 1;
    const std::string name = "rank " + std::to_string(bench.ranks() - 1);
    const std::string operation = text_of(problem.operation);
    const auto call = [&] { bench.call(problem, way); };
    if (at_fault()) {
      expect_failure(call, problem, {invalid}, {operation + ": B has ", "Given: C"});
    } else {
      // One of the ranks that waited gives up, and says so to the others.
      expect_failure(call, problem, {invalid, ErrorCode::peer_failed},
                     {name + ": B has ", operation, "Given: C"});
    }
    expect_usable();
  }
}

/// All ranks have prepared two workspaces for the same call, and one passes the other one.
ERROR_TEST(MatmulFailures, WorkspacesOfDifferentCalls) {
  if (bench.ranks() == 1) GTEST_SKIP() << "needs another rank";
  for (const EngineCall& one : all_calls()) {
    const Problem& problem = one.problem;
    for (const bool used_before : {false, true}) {
      Way way = one.way;
      const FusedWorkspace first = bench.run(problem, way);
      const FusedWorkspace second = bench.run(problem, way);
      ASSERT_NE(first.number(), second.number());
      for (const std::uint32_t theirs : bench.runtime().agree("number", first.number())) {
        ASSERT_EQ(theirs, first.number());
      }
      for (int round = 0; round < (used_before ? 20 : 0); ++round) {
        way.workspace = round % 3 == 0 ? second : first;
        bench.run(problem, way);
      }
      way.workspace = at_fault() ? second : first;
      bench.prepare(problem, way);
      const auto number = [](const FusedWorkspace& workspace) {
        return "number " + std::to_string(workspace.number());
      };
      expect_failure([&] { bench.call(problem, way); }, problem,
                     {ErrorCode::mismatch, ErrorCode::peer_failed},
                     {number(first), number(second), "same earlier call"});
      expect_usable();
    }
  }
}

/// One rank has another shape or no workspace and prepares, while the others wait for it in the
/// kernel.
ERROR_TEST(MatmulFailures, OneRankPreparesAlone) {
  if (bench.ranks() == 1) GTEST_SKIP() << "needs another rank";
  for (const EngineCall& one : all_calls()) {
    Problem problem = one.problem;
    Way way = one.way;
    way.workspace = bench.run(problem, way);
    for (const bool other_shape : {true, false}) {
      if (at_fault()) {
        if (other_shape)
          problem.m += 1;
        else
          way.workspace = {};
      }
      bench.prepare(problem, way);
      expect_failure([&] { bench.call(problem, way); }, problem,
                     {ErrorCode::mismatch, ErrorCode::peer_failed},
                     {"rank " + std::to_string(bench.ranks() - 1), text_of(problem.operation),
                      "all ranks must call"});
      expect_usable();
      problem = one.problem;
      way.workspace = {};
      way.workspace = bench.run(problem, way);
    }
  }
}

/// One rank is in another collective call meanwhile.
ERROR_TEST(MatmulFailures, OneRankElsewhere) {
  if (bench.ranks() == 1) GTEST_SKIP() << "needs another rank";
  for (const EngineCall& one : all_calls()) {
    const Problem& problem = one.problem;
    for (const bool prepared : {true, false}) {
      Way way = one.way;
      if (prepared) way.workspace = bench.run(problem, way);
      bench.prepare(problem, way);
      const auto call = [&] {
        if (at_fault())
          bench.barrier();
        else
          bench.call(problem, way);
      };
      expect_failure(call, problem, {ErrorCode::mismatch, ErrorCode::peer_failed},
                     {"barrier", "same order"});
      expect_usable();
    }
  }
}

/// Rank 0 fails on its own instead of calling: the others give up at the deadline, and all go on,
/// with a new workspace.
void skip_on_rank_0(FusedBench& bench, const EngineCall& one, bool prepared) {
  const Problem& problem = one.problem;
  Way way = one.way;
  if (prepared) way.workspace = bench.run(problem, way);
  bench.barrier();
  const auto start = std::chrono::steady_clock::now();
  const auto seconds = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  bench.prepare(problem, way);
  if (bench.rank() == 0) {
    // Hears of it in its next collective call, which does not take the others' place.
    while (*bench.runtime().abort_word() == 0 && seconds() < 10.0) usleep(1000);
    ::Test::expect_error(
        ErrorCode::timeout, [&] { bench.barrier(); }, "rank 0");
  } else {
    ::Test::expect_error(
        ErrorCode::timeout, [&] { bench.call(problem, way); }, "rank 0");
  }
  EXPECT_LT(seconds(), 5.0);
  const auto old = way.workspace.state();
  for (int number = 0; number < 3; ++number) {
    way.workspace = bench.run(problem, way, ", after the deadline");
    EXPECT_NE(way.workspace.state(), old);
  }
}

ERROR_TEST(MatmulDeadline, OneRankDoesNotCome) {
  if (bench.ranks() == 1) GTEST_SKIP() << "needs another rank";
  std::vector<EngineCall> calls;
  for (std::size_t number = 0; const EngineCall& one : all_calls()) {
    // On the host all engines wait by the same functions: each with one of the operations.
    if (bench.on_gpu() || number++ % 5 == 0) calls.push_back(one);
  }
  // With a long deadline: loading kernels for the first time may take long on one rank.
  for (const EngineCall& one : calls) bench.run(one.problem, one.way);
  FusedBench hasty(bench.on_gpu() ? Backend::gpu : Backend::host, error_arena_bytes, 0.5);
  for (const EngineCall& one : calls) skip_on_rank_0(hasty, one, true);
  skip_on_rank_0(hasty, {problem_of(FusedOperation::matmul_all_reduce), {}}, false);
}

}  // namespace
