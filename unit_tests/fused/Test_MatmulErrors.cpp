// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Illegal calls of fused operations are errors on every rank, which say what is wrong, and the
// library is as usable after them as before.

#include <FusedBench.hpp>
#include <chrono>
#include <functional>
#include <initializer_list>

namespace {

using namespace ::Test;
using KokkosIris::Error;
using KokkosIris::ErrorCode;

/// A bench with a long deadline: errors that are only found at the deadline make the test fail.
class ErrorBench {
 public:
  explicit ErrorBench(Backend backend) : bench(backend, std::size_t(1) << 16, 20.0) {}

  /// Calls, with operands changed by `spoil`, and expects an error of one of `codes` with all the
  /// parts, soon; then makes a good call.
  void expect_all_fail(const Problem& problem, const std::function<void()>& spoil,
                       std::initializer_list<ErrorCode> codes,
                       std::initializer_list<std::string> parts, Way way = {}) {
    bench.prepare(problem, way);
    spoil();
    expect_failure([&] { bench.call(problem, way); }, problem, codes, parts);
    expect_usable();
  }

  void expect_failure(const std::function<void()>& call, const Problem& problem,
                      std::initializer_list<ErrorCode> codes,
                      std::initializer_list<std::string> parts) {
    const auto start = std::chrono::steady_clock::now();
    try {
      call();
      ADD_FAILURE() << "no error in " << problem.describe(bench.ranks());
    } catch (const Error& error) {
      const std::string text = error.what();
      EXPECT_NE(std::find(codes.begin(), codes.end(), error.code()), codes.end())
          << KokkosIris::to_string(error.code()) << ": " << text;
      EXPECT_EQ(error.rank(), bench.rank());
      const std::string rank_of_text = "[rank " + std::to_string(bench.rank());
      EXPECT_NE(text.find(rank_of_text), std::string::npos) << text;
      for (const std::string& part : parts) {
        EXPECT_NE(text.find(part), std::string::npos) << "no \"" << part << "\" in: " << text;
      }
    }
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
    EXPECT_LT(time.count(), 10.0) << "found at the deadline only";
  }

  void expect_usable() {
    Problem good{Element::f32, FusedOperation::matmul_all_reduce, 9, 10, 11, BiasAxis::rows};
    good.seed = ++m_seed;
    bench.run(good, {.config = {.panel_rows = 4}}, ", after an error");
  }

  /// True on the rank that is at fault where only one is.
  bool at_fault() const { return bench.rank() == bench.ranks() - 1; }

  FusedBench bench;

 private:
  std::uint64_t m_seed = 0;
};

/// A FUSED_TEST whose body is a member of an ErrorBench.
#define ERROR_TEST(Name)                                        \
  struct Name##Body : ErrorBench {                              \
    using ErrorBench::ErrorBench;                               \
    void run();                                                 \
  };                                                            \
  FUSED_TEST(MatmulErrors, Name) { Name##Body(backend).run(); } \
  void Name##Body::run()

constexpr auto invalid = ErrorCode::invalid_argument;

Problem problem_of(FusedOperation operation) { return {Element::f32, operation, 6, 8, 10}; }
std::string text_of(FusedOperation operation) { return KokkosIris::Impl::to_string(operation); }

ERROR_TEST(InnerDimensions) {
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

ERROR_TEST(ShapeOfC) {
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

ERROR_TEST(ColumnsNotDivisible) {
  if (bench.ranks() == 1) GTEST_SKIP() << "every number can be divided by 1";
  expect_all_fail(problem_of(FusedOperation::matmul_reduce_scatter), [&] { bench.b.cols -= 1; },
                  {invalid},
                  {"cannot be divided", std::to_string(bench.ranks()) + " ranks", "pad N"});
}

ERROR_TEST(OperandsNotSymmetric) {
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

ERROR_TEST(SharedMemory) {
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
ERROR_TEST(SharedBlocksOfOneArray) {
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

ERROR_TEST(Bias) {
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

ERROR_TEST(Config) {
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
ERROR_TEST(RanksDiffer) {
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
    if (bench.on_gpu()) {  // which has one engine
      expect(problem, problem, {.config = {.engine = TileEngine::portable}}, {"another config"});
    } else {
      expect(problem, problem, {.config = {.engine = TileEngine::portable}},
             {"engine packed", "engine portable"});
    }
  }
  expect(problem_of(FusedOperation::matmul_all_reduce),
         problem_of(FusedOperation::matmul_all_gather), {}, {"collective call"});
}

/// The other ranks have a workspace and are in the kernel when one finds its arguments illegal.
ERROR_TEST(OneRankWithAWorkspace) {
  for (const FusedOperation operation : all_operations) {
    const Problem problem = problem_of(operation);
    const std::function<void()> faults[] = {[&] { bench.c.rows += 1; }, [&] { bench.b.rows += 1; },
                                            [&] { bench.c.col_stride = 0; }};
    for (const auto& spoil : faults) {
      Way way;
      way.workspace = bench.run(problem, way);
      bench.prepare(problem, way);
      if (at_fault()) spoil();
      const std::string name = "rank " + std::to_string(bench.ranks() - 1);
      expect_failure([&] { bench.call(problem, way); }, problem,
                     {at_fault() ? invalid : ErrorCode::peer_failed},
                     {name, text_of(operation), "Given: C"});
      expect_usable();
    }
  }
}

/// As above where the faulty rank has no workspace: its text reaches the others all the same.
ERROR_TEST(OneRankWithoutAWorkspace) {
  if (bench.ranks() == 1) GTEST_SKIP() << "needs another rank";
  for (const FusedOperation operation : all_operations) {
    const Problem problem = problem_of(operation);
    Way way;
    way.workspace = bench.run(problem, way);
    if (at_fault()) way.workspace = {};
    bench.prepare(problem, way);
    if (at_fault()) bench.b.rows += 1;
    const std::string name = "rank " + std::to_string(bench.ranks() - 1);
    const auto call = [&] { bench.call(problem, way); };
    if (at_fault()) {
      expect_failure(call, problem, {invalid}, {text_of(operation) + ": B has ", "Given: C"});
    } else {
      // One of the ranks that waited gives up, and says so to the others.
      expect_failure(call, problem, {invalid, ErrorCode::peer_failed},
                     {name + ": B has ", text_of(operation), "Given: C"});
    }
    expect_usable();
  }
}

/// All ranks have prepared two workspaces for the same call, and one passes the other one.
ERROR_TEST(WorkspacesOfDifferentCalls) {
  if (bench.ranks() == 1) GTEST_SKIP() << "needs another rank";
  for (const FusedOperation operation : all_operations) {
    const Problem problem = problem_of(operation);
    for (const bool used_before : {false, true}) {
      Way way;
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
      const auto number = [](const FusedWorkspace& one) {
        return "number " + std::to_string(one.number());
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
ERROR_TEST(OneRankPreparesAlone) {
  if (bench.ranks() == 1) GTEST_SKIP() << "needs another rank";
  for (const FusedOperation operation : all_operations) {
    Problem problem = problem_of(operation);
    Way way;
    way.workspace = bench.run(problem, way);
    for (const bool other_shape : {true, false}) {
      if (at_fault()) {
        if (other_shape)
          problem.m += 1;
        else
          way.workspace = {};
      }
      bench.prepare(problem, way);
      expect_failure(
          [&] { bench.call(problem, way); }, problem, {ErrorCode::mismatch, ErrorCode::peer_failed},
          {"rank " + std::to_string(bench.ranks() - 1), text_of(operation), "all ranks must call"});
      expect_usable();
      problem = problem_of(operation);
      way.workspace = {};
      way.workspace = bench.run(problem, way);
    }
  }
}

/// One rank is in another collective call meanwhile.
ERROR_TEST(OneRankElsewhere) {
  if (bench.ranks() == 1) GTEST_SKIP() << "needs another rank";
  for (const FusedOperation operation : all_operations) {
    const Problem problem = problem_of(operation);
    for (const bool prepared : {true, false}) {
      Way way;
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

ERROR_TEST(HeapExhausted) {
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
ERROR_TEST(MemoryExhausted) {
  // On a GPU only the copies of A's shards depend on K.
  const Problem problem{
      Element::f64,
      bench.on_gpu() ? FusedOperation::all_gather_matmul : FusedOperation::matmul_all_reduce, 3, 4,
      1};
  bench.prepare(problem, {});
  // One element, repeated more often than could be packed into the whole address space.
  bench.a.cols = bench.b.rows = std::int64_t(1) << 46;
  if (bench.on_gpu()) {
    bench.a.cols = std::int64_t(1) << 40;
    bench.b.rows = bench.a.cols * bench.ranks();
  }
  bench.a.col_stride = bench.b.row_stride = 0;
  expect_failure([&] { bench.call(problem, {}); }, problem, {ErrorCode::out_of_memory},
                 {"no memory for a workspace", "bytes"});
  expect_usable();
}

/// A rank that fails on its own instead of calling: the others give up at the deadline, and all go
/// on.
FUSED_TEST(MatmulDeadline, OneRankDoesNotCome) {
  FusedBench bench(backend, std::size_t(1) << 16, 0.5);
  if (bench.ranks() == 1) GTEST_SKIP() << "needs another rank";
  for (const FusedOperation operation :
       {FusedOperation::matmul_all_reduce, FusedOperation::all_gather_matmul}) {
    const Problem problem = problem_of(operation);
    for (const bool prepared : {true, false}) {
      Way way;
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
      bench.run(problem, way, ", after the deadline");
    }
  }
}

}  // namespace
