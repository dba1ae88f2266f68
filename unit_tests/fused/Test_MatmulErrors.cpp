// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Illegal calls of fused operations are errors on every rank, which say what is wrong, and the
// library is as usable after them as before.

#include <ErrorBench.hpp>
#include <cstdlib>
#include <optional>

namespace {

using namespace ::Test;

ERROR_TEST(MatmulErrors, InnerDimensions) {
  for (const FusedOperation operation : all_operations) {
    const auto spoil = [&] { bench.b.rows += 1; };
    const std::int64_t rows = problem_of(operation).b_rows(bench.ranks()) + 1;
    expect_all_fail(problem_of(operation), spoil, {invalid},
                    {text_of(operation), "inner dimensions", "has 10 columns",
                     "B has " + std::to_string(rows) + " rows"});
    expect_all_fail(problem_of(operation),
                    [&] {
                      if (at_fault()) spoil();
                    },
                    {invalid}, {text_of(operation), "inner dimensions"});
  }
}

ERROR_TEST(MatmulErrors, ShapeOfC) {
  for (const FusedOperation operation : all_operations) {
    const std::string name = text_of(operation);
    expect_all_fail(problem_of(operation), [&] { bench.c.rows -= 1; }, {invalid},
                    {name, "C must be", " x 8"});
    expect_all_fail(problem_of(operation), [&] { bench.c.cols = 0; }, {invalid},
                    {name, "C must be", " x 0)"});
    expect_all_fail(problem_of(operation),
                    [&] {
                      if (at_fault()) bench.c.cols -= 1;
                    },
                    {invalid}, {name, "C must be", " x 7)"});
  }
}

ERROR_TEST(MatmulErrors, ColumnsNotDivisible) {
  if (bench.ranks() == 1) GTEST_SKIP() << "every number can be divided by 1";
  expect_all_fail(problem_of(FusedOperation::matmul_reduce_scatter), [&] { bench.b.cols -= 1; },
                  {invalid},
                  {"cannot be divided", std::to_string(bench.ranks()) + " ranks", "pad N"});
}

ERROR_TEST(MatmulErrors, OperandsNotSymmetric) {
  std::vector<float> local(4096, 0.0f);
  for (const FusedOperation operation : all_operations) {
    if (operation == FusedOperation::matmul_reduce_scatter) continue;
    const bool gathers_a = operation == FusedOperation::all_gather_matmul;
    const auto spoil = [&] { (gathers_a ? bench.a : bench.c).data = local.data(); };
    const std::string role =
        gathers_a ? "A is not on the symmetric heap" : "C is not on the symmetric heap";
    expect_all_fail(problem_of(operation), spoil, {invalid}, {role});
    expect_all_fail(problem_of(operation),
                    [&] {
                      if (at_fault()) spoil();
                    },
                    {invalid}, {role});
  }
}

ERROR_TEST(MatmulErrors, SharedMemory) {
  for (const FusedOperation operation : all_operations) {
    Problem problem = problem_of(operation);
    problem.n = problem.k = problem.m;
    Way everything{.symmetric_everything = true};
    expect_all_fail(
        problem, [&] { bench.c.data = bench.a.data; }, {invalid}, {"C shares memory"}, everything);
    // The last element of A is the first one of C.
    const auto last = [&] { bench.c.data = bench.arena_a.at(problem.m - 1, problem.k - 1); };
    expect_all_fail(problem, last, {invalid}, {"C shares memory"}, everything);
    expect_all_fail(problem, [&] { bench.c.row_stride = 0; }, {invalid}, {"elements of C"});
    expect_all_fail(problem, [&] { bench.c.col_stride = 0; }, {invalid}, {"elements of C"});
    expect_all_fail(problem, [&] { bench.c.row_stride = 1; }, {invalid}, {"elements of C"});
    // Every second column, and rows of an odd length that is too short.
    const auto interleaved = [&] {
      bench.c.row_stride = problem.n - 1;
      bench.c.col_stride = 2;
    };
    expect_all_fail(problem, interleaved, {invalid}, {"elements of C", "strides"});
  }
}

/// Blocks of one padded array that share only some of their elements.
ERROR_TEST(MatmulErrors, SharedBlocksOfOneArray) {
  for (const FusedOperation operation : all_operations) {
    Problem problem = problem_of(operation);
    problem.n = problem.k = problem.m;
    Way padded{.c = Layout::right_padded, .a = Layout::right_padded, .symmetric_everything = true};
    const auto shifted = [&](std::int64_t rows, std::int64_t cols) {
      return [&, rows, cols] {
        bench.c.data = static_cast<char*>(bench.arena_a.at(rows, cols));
        bench.c.row_stride = bench.a.row_stride;
      };
    };
    expect_all_fail(problem, shifted(2, 1), {invalid}, {"C shares memory"}, padded);
    expect_all_fail(problem, shifted(0, problem.k - 1), {invalid}, {"C shares memory"}, padded);
    expect_all_fail(problem, shifted(problem.m - 1, 0), {invalid}, {"C shares memory"}, padded);
  }
}

ERROR_TEST(MatmulErrors, Bias) {
  const std::vector<float> bias(64, 1.0f);
  const auto call = [&](const Problem& problem, BiasAxis axis, std::int64_t size, bool mine) {
    bench.prepare(problem, {});
    Arguments arguments;
    if (mine) {
      arguments.bias = bias.data();
      arguments.bias_size = size;
      arguments.bias_axis = axis;
    }
    bench.call(problem, Space::serial, arguments);
  };
  for (const FusedOperation operation : all_operations) {
    const Problem problem = problem_of(operation);
    const std::int64_t n = problem.b_cols(bench.ranks());
    const auto expect = [&](BiasAxis axis, std::int64_t size, const std::string& part) {
      for (const bool mine : {true, at_fault()}) {
        expect_failure([&] { call(problem, axis, size, mine); }, problem, {invalid},
                       {part, "length " + std::to_string(size)});
        expect_usable();
      }
    };
    expect(BiasAxis::rows, 7, "rows() needs M = 6");
    expect(BiasAxis::cols, n + 1, "cols() needs N = " + std::to_string(n));
    expect(BiasAxis::from_size, 5, "must be M = 6 or N = ");
    expect(BiasAxis::from_size, 0, "must be M = 6 or N = ");
  }
  Problem square{Element::f32, FusedOperation::matmul_all_reduce, 12, 12, 3};
  expect_failure([&] { call(square, BiasAxis::from_size, 12, true); }, square, {invalid},
                 {"both M and N", "rows(bias) or cols(bias)"});
  expect_usable();
}

ERROR_TEST(MatmulErrors, Config) {
  const Problem problem = problem_of(FusedOperation::matmul_all_reduce);
  for (const FusedConfig& config : {FusedConfig{.panel_rows = -1}, FusedConfig{.block_columns = -1},
                                    FusedConfig{.teams = -1}}) {
    expect_all_fail(problem, [] {}, {invalid}, {"FusedConfig is negative"}, {.config = config});
  }
  expect_all_fail(problem, [] {}, {invalid}, {"unknown value"},
                  {.config = {.engine = static_cast<TileEngine>(17)}});
  if (!bench.on_gpu()) return;
  for (const TileEngine engine : {TileEngine::packed, TileEngine::blas}) {
    bench.prepare(problem, {});
    Arguments arguments;
    arguments.config.engine = engine;
    expect_failure([&] { bench.call(problem, Space::serial, arguments); }, problem, {invalid},
                   {"serves host backends only"});
    expect_usable();
  }
}

/// Every rank's call is legal, but they are not the same call.
ERROR_TEST(MatmulErrors, RanksDiffer) {
  if (bench.ranks() == 1) GTEST_SKIP() << "one rank agrees with itself";
  const auto expect = [&](const Problem& others, const Problem& mine, const Way& my_way,
                          std::initializer_list<std::string> parts) {
    const Problem& problem = at_fault() ? mine : others;
    const Way way = at_fault() ? my_way : Way();
    bench.prepare(problem, way);
    expect_failure([&] { bench.call(problem, way); }, problem, {ErrorCode::mismatch}, parts);
    expect_usable();
  };
  for (const FusedOperation operation : all_operations) {
    const Problem problem = problem_of(operation);
    Problem other = problem;
    other.m = 5;
    expect(problem, other, {}, {"M = 6", "M = 5", "rank 0", "all ranks must give the same"});
    other = problem;
    other.k = 9;
    expect(problem, other, {}, {"K = "});
    other = problem;
    other.element = Element::f16;
    expect(problem, other, {}, {"type float", "type half"});
    expect(problem, problem, {.config = {.panel_rows = 4}}, {"another config"});
    const TileEngine usual = bench.default_engine(), different = bench.other_engine();
    if (usual == different) continue;
    expect(problem, problem, {.config = {.engine = different}},
           {std::string("engine ") + KokkosIris::Impl::to_string(usual),
            std::string("engine ") + KokkosIris::Impl::to_string(different)});
  }
  expect(problem_of(FusedOperation::matmul_all_reduce),
         problem_of(FusedOperation::matmul_all_gather), {}, {"collective call"});
}

/// KOKKOSIRIS_ENGINE of this process, as long as the object lives.
class EngineVariable {
 public:
  explicit EngineVariable(const char* value) {
    if (const char* before = std::getenv(name)) m_before = before;
    setenv(name, value, 1);
  }
  ~EngineVariable() {
    if (m_before)
      setenv(name, m_before->c_str(), 1);
    else
      unsetenv(name);
  }
  EngineVariable(const EngineVariable&) = delete;
  EngineVariable& operator=(const EngineVariable&) = delete;

 private:
  static constexpr const char* name = "KOKKOSIRIS_ENGINE";
  std::optional<std::string> m_before;
};

/// Ranks that choose different engines for the same call, as they do on GPUs of different kinds.
ERROR_TEST(MatmulErrors, RanksChooseDifferentEngines) {
  if (bench.ranks() == 1) GTEST_SKIP() << "one rank agrees with itself";
  for (const FusedOperation operation : all_operations) {
    Problem problem = problem_of(operation);
    problem.element = Element::f16;
    const std::string usual = bench.run(problem, {}).engine();
    if (usual == "portable") GTEST_SKIP() << "the only engine that serves here";
    std::string others = usual + " on rank";
    for (int rank = 0; rank < bench.ranks() - 1; ++rank) others += " " + std::to_string(rank);
    {
      std::optional<EngineVariable> variable;
      if (at_fault()) variable.emplace("portable");
      bench.prepare(problem, {});
      expect_failure([&] { bench.call(problem, {}); }, problem, {ErrorCode::mismatch},
                     {"engine " + usual, "engine portable", others,
                      "portable on rank " + std::to_string(bench.ranks() - 1),
                      "FusedConfig::engine", "KOKKOSIRIS_ENGINE"});
    }
    {
      const EngineVariable variable("portable");
      EXPECT_EQ(bench.run(problem, {}).engine(), "portable");
    }
    expect_usable();
  }
}

ERROR_TEST(MatmulErrors, HeapExhausted) {
  for (const FusedOperation operation : all_operations) {
    if (bench.ranks() == 1) break;  // nothing is staged
    Problem problem{Element::f64, operation, 40, 40, 4};
    bench.barrier();  // gives back what earlier calls used
    // One unit of the heap is left, which does not hold the flags of two ranks.
    const std::size_t left = bench.heap_capacity() - bench.heap_used();
    auto filler = bench.reserve(left - 256);
    bench.prepare(problem, {});
    expect_failure([&] { bench.call(problem, {}); }, problem, {ErrorCode::out_of_memory},
                   {"symmetric heap", "heap_size"});
    filler.reset();
    bench.barrier();
    expect_usable();
  }
}

/// Local memory for the workspace cannot be had on one rank or all.
ERROR_TEST(MatmulErrors, MemoryExhausted) {
  // Of most engines only the copies of A's shards depend on K.
  const bool packs = bench.default_engine() == TileEngine::packed;
  const Problem problem{
      Element::f64, packs ? FusedOperation::matmul_all_reduce : FusedOperation::all_gather_matmul,
      3, 4, 1};
  bench.prepare(problem, {});
  // One element, repeated more often than could be packed or copied into the whole address space:
  // some systems give out memory of which there is none, and end processes that use it.
  bench.a.cols = bench.b.rows = std::int64_t(1) << 46;
  if (!packs) {
    bench.a.cols = std::int64_t(1) << 45;
    bench.b.rows = bench.a.cols * bench.ranks();
  }
  bench.a.col_stride = bench.b.row_stride = 0;
  expect_failure([&] { bench.call(problem, {}); }, problem, {ErrorCode::out_of_memory},
                 {"no memory for a workspace", "bytes"});
  expect_usable();
}

}  // namespace
