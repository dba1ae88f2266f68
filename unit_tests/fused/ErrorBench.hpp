// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// Calls of fused operations that fail: on which ranks, with which text, and what works afterwards.

#ifndef KOKKOSIRIS_TEST_ERROR_BENCH_HPP
#define KOKKOSIRIS_TEST_ERROR_BENCH_HPP

#include <FusedBench.hpp>
#include <chrono>
#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

namespace Test {

using KokkosIris::Error;
using KokkosIris::ErrorCode;

inline constexpr auto invalid = ErrorCode::invalid_argument;
inline constexpr std::size_t error_arena_bytes = std::size_t(1) << 18;

inline Problem problem_of(FusedOperation operation) { return {Element::f32, operation, 6, 8, 10}; }
inline std::string text_of(FusedOperation operation) {
  return KokkosIris::Impl::to_string(operation);
}

struct EngineCall {
  Problem problem;
  Way way;
};

/// Calls of an operation on every engine of the backend, and in every way that ranks wait for each
/// other in it: for packets, for images of tiles, for what blocks or the copy engine send.
inline std::vector<EngineCall> calls_of_engines(const FusedBench& bench, FusedOperation operation) {
  std::vector<EngineCall> calls;
  for (const TileEngine engine : bench.engines()) {
    if (engine != TileEngine::sm90) {
      calls.push_back({problem_of(operation), {.config = {.engine = engine}}});
      continue;
    }
    const FusedConfig packets{.engine = engine};
    const FusedConfig images{.engine = engine, .block_columns = 256};
    calls.push_back({{Element::bf16, operation, 40, 72, 24}, {.config = packets}});
    calls.push_back({{Element::f16, operation, 136, 72, 56}, {.config = images}});
    calls.push_back({{Element::bf16, operation, 72, 40, 51}, {.config = images}});
  }
  return calls;
}

/// A bench with a long deadline: errors that are only found at the deadline make the test fail.
class ErrorBench {
 public:
  explicit ErrorBench(Backend backend) : bench(backend, error_arena_bytes, 20.0) {}

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

  /// calls_of_engines() of all operations.
  std::vector<EngineCall> all_calls() const {
    std::vector<EngineCall> calls;
    for (const FusedOperation operation : all_operations) {
      const auto some = calls_of_engines(bench, operation);
      calls.insert(calls.end(), some.begin(), some.end());
    }
    return calls;
  }

  /// True on the rank that is at fault where only one is.
  bool at_fault() const { return bench.rank() == bench.ranks() - 1; }

  FusedBench bench;

 private:
  std::uint64_t m_seed = 0;
};

}  // namespace Test

/// A FUSED_TEST whose body is a member of an ErrorBench.
#define ERROR_TEST(Suite, Name)                          \
  struct Name##Body : ErrorBench {                       \
    using ErrorBench::ErrorBench;                        \
    void run();                                          \
  };                                                     \
  FUSED_TEST(Suite, Name) { Name##Body(backend).run(); } \
  void Name##Body::run()

#endif
