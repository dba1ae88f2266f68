// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// Calls of a fused operation that need nothing of the host but their launch: kernels change the
/// operands, make a rank late, and compare every element of the result.
///
/// Operands are -1, 0 and 1, and so few are added up that all sums are integers which every element
/// type has: results are exact, in any order of summation and wherever parts of them are rounded.

#ifndef KOKKOSIRIS_TEST_STRESS_CALLER_HPP
#define KOKKOSIRIS_TEST_STRESS_CALLER_HPP

#include <FusedCallsImpl.hpp>
#include <FusedOracle.hpp>
#include <Kokkos_Core.hpp>
#include <TestUtilities.hpp>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fused/KokkosIris_Matrix.hpp>
#include <string>

namespace Test {

using KokkosIris::Impl::MatrixRef;

/// The integers of one operand of a rank in one call.
struct SmallIntegers {
  std::uint32_t seed;

  KOKKOS_FUNCTION SmallIntegers(std::uint64_t call, int rank, int role)
      : seed(static_cast<std::uint32_t>(call * 0x9e3779b97f4a7c15ull >> 32) +
             static_cast<std::uint32_t>(4 * rank + role) * 0x85ebca6bu) {}
  KOKKOS_FUNCTION int operator()(std::int64_t i) const {
    std::uint32_t bits = (static_cast<std::uint32_t>(i) * 0x9e3779b1u) ^ seed;
    bits = (bits ^ (bits >> 16)) * 0x7feb352du;
    bits = (bits ^ (bits >> 15)) * 0x846ca68bu;
    return static_cast<int>((std::uint64_t(bits) * 3) >> 32) - 1;
  }
};

/// How many elements were wrong, and in which call for the first time; in memory of the kernels.
struct WrongElements {
  std::uint64_t* count;
  std::uint64_t* first_call;
};

/// A call as its kernels see it.
template <class T>
struct StressCall {
  FusedOperation operation;
  BiasAxis bias_axis;
  int rank, ranks;
  MatrixRef<T> a, b, c;
  T* bias;
  std::int64_t bias_size;
  std::uint64_t number;

  KOKKOS_FUNCTION static void write(const MatrixRef<T>& m, std::int64_t i, int value) {
    *m.at(i / m.cols, i % m.cols) = static_cast<T>(static_cast<float>(value));
  }
  /// The operands of the call, and poison where its result will be.
  struct Fill {
    StressCall call;
    KOKKOS_FUNCTION void operator()(std::int64_t i) const {
      const auto& [operation, axis, rank, ranks, a, b, c, bias, bias_size, number] = call;
      if (i < a.rows * a.cols) write(a, i, SmallIntegers(number, rank, 0)(i));
      if (i < b.rows * b.cols) write(b, i, SmallIntegers(number, rank, 1)(i));
      if (i < bias_size) {
        bias[i] = static_cast<T>(static_cast<float>(SmallIntegers(number, rank, 2)(i)));
      }
      if (i < c.rows * c.cols) *c.at(i / c.cols, i % c.cols) = static_cast<T>(NAN);
    }
  };
  std::int64_t fill_size() const {
    return std::max({a.rows * a.cols, b.rows * b.cols, c.rows * c.cols, bias_size});
  }

  KOKKOS_FUNCTION int bias_of(int q, std::int64_t row, std::int64_t column) const {
    return SmallIntegers(number, q, 2)(bias_axis == BiasAxis::rows ? row : column);
  }
  /// Element (row, column) of what rank q contributes: of its product, or of the product with its
  /// shard of A.
  KOKKOS_FUNCTION int part(int q, std::int64_t row, std::int64_t column) const {
    const bool gathers_a = operation == FusedOperation::all_gather_matmul;
    const SmallIntegers of_a(number, q, 0), of_b(number, gathers_a ? rank : q, 1);
    const std::int64_t first = gathers_a ? q * a.cols : 0;
    int sum = gathers_a && q != rank ? 0 : bias_of(q, row, column);
    for (std::int64_t l = 0; l < a.cols; ++l) {
      sum += of_a(row * a.cols + l) * of_b((first + l) * b.cols + column);
    }
    return sum;
  }
  KOKKOS_FUNCTION int expected(std::int64_t row, std::int64_t column) const {
    if (operation == FusedOperation::matmul_all_gather) {
      return part(static_cast<int>(row / a.rows), row % a.rows, column);
    }
    if (operation == FusedOperation::matmul_reduce_scatter) column += rank * c.cols;
    int sum = 0;
    for (int q = 0; q < ranks; ++q) sum += part(q, row, column);
    return sum;
  }
  struct Compare {
    StressCall call;
    WrongElements wrong;
    KOKKOS_FUNCTION void operator()(std::int64_t i) const {
      const std::int64_t row = i / call.c.cols, column = i % call.c.cols;
      const auto expected = static_cast<double>(call.expected(row, column));
      if (static_cast<double>(*call.c.at(row, column)) == expected) return;
      Kokkos::atomic_inc(wrong.count);
      Kokkos::atomic_min(wrong.first_call, call.number);
    }
  };
};

/// A kernel that takes some ten or hundred microseconds.
struct Delay {
  std::uint64_t* word;
  KOKKOS_FUNCTION void operator()(std::int64_t) const {
    std::uint64_t x = 1;
    for (int i = 0; i < 40000; ++i) x = x * 6364136223846793005ull + 1442695040888963407ull;
    if (x == 0) *word = x;  // it is not; but the loop must not be left out
  }
};

/// Extents as in Problem, and the tiles.
struct StressForm {
  std::int64_t m, n, k;
  FusedConfig config;
  bool transposed_b = false, transposed_c = false;
};

/// All calls of one operation on one element type and form, with one workspace.
class StressCaller {
 public:
  virtual ~StressCaller() = default;
  /// Collective; waits for nothing. Without a workspace it prepares one.
  virtual void call(std::uint64_t number) = 0;
  virtual std::string describe() const = 0;
  std::string engine() const { return workspace.engine(); }

 protected:
  FusedWorkspace workspace;
};

/// Calls number by which a rank is late, with the kernels or with the host.
enum class Late { not_at_all, host, kernel_before, kernel_after };
inline Late lateness(std::uint64_t number, int rank, int ranks) {
  const std::uint64_t bits = random_bits(17, number);
  if (bits % 16 > 2 || (bits >> 8) % static_cast<std::uint64_t>(ranks) != std::uint64_t(rank)) {
    return Late::not_at_all;
  }
  return static_cast<Late>(1 + bits % 16);
}

template <class T, class ExecutionSpace>
class TypedStressCaller : public StressCaller {
  using MemorySpace = typename ExecutionSpace::memory_space;

 public:
  /// Collective.
  TypedStressCaller(KokkosIris::Context<MemorySpace>& context, FusedOperation operation,
                    const StressForm& form, const WrongElements& wrong)
      : m_context(context), m_form(form), m_wrong(wrong) {
    const std::int64_t ranks = context.size();
    const bool gathers_a = operation == FusedOperation::all_gather_matmul;
    const bool gathers_c = operation == FusedOperation::matmul_all_gather;
    const bool scatters = operation == FusedOperation::matmul_reduce_scatter;
    // Each rank's sum has k + 1 terms at most, and the integers up to 256 are bfloat16 numbers.
    const std::int64_t k = std::min(form.k, 256 / ranks - 1);
    const std::int64_t b_rows = gathers_a ? k * ranks : k,
                       b_cols = scatters ? form.n * ranks : form.n;
    const std::int64_t c_rows = gathers_c ? form.m * ranks : form.m;
    m_call = {operation,
              form.transposed_c ? BiasAxis::rows : BiasAxis::cols,
              context.rank(),
              context.size(),
              matrix(0, form.m, k, false),
              matrix(1, b_rows, b_cols, form.transposed_b),
              matrix(2, c_rows, form.n, form.transposed_c),
              nullptr,
              form.transposed_c ? form.m : b_cols,
              0};
    m_call.bias = matrix(3, 1, m_call.bias_size, false).data;
  }

  void call(std::uint64_t number) override {
    m_call.number = number;
    const Late late = lateness(number, m_call.rank, m_call.ranks);
    const ExecutionSpace exec;
    run(m_call.fill_size(), typename StressCall<T>::Fill{m_call});
    if (late == Late::host) usleep(200);
    if (late == Late::kernel_before) run(1, Delay{m_wrong.count});
    Arguments arguments;
    arguments.bias_axis = m_call.bias_axis;
    arguments.bias = m_call.bias;
    arguments.bias_size = m_call.bias_size;
    arguments.async_op = true;
    arguments.config = m_form.config;
    arguments.workspace = workspace;
    workspace = call_on<T>(exec, m_call.operation, m_context, operand(m_call.c), operand(m_call.a),
                           operand(m_call.b), arguments);
    if (late == Late::kernel_after) run(1, Delay{m_wrong.count});
    run(m_call.c.rows * m_call.c.cols, typename StressCall<T>::Compare{m_call, m_wrong});
  }

  std::string describe() const override {
    return std::string(KokkosIris::Impl::to_string(m_call.operation)) + " of " +
           std::to_string(sizeof(T)) + "-byte elements, " + std::to_string(m_form.m) + " x " +
           std::to_string(m_form.n) + " x " + std::to_string(m_call.a.cols) + ", tiles of " +
           std::to_string(m_form.config.panel_rows) + " x " +
           std::to_string(m_form.config.block_columns);
  }

 private:
  /// On the heap, where every operand may be.
  MatrixRef<T> matrix(int which, std::int64_t rows, std::int64_t cols, bool transposed) {
    m_memory[which] =
        m_context.template empty<T*>("operand", static_cast<std::size_t>(rows * cols));
    return {m_memory[which].data(), rows, cols, transposed ? 1 : cols, transposed ? rows : 1};
  }
  static Operand operand(const MatrixRef<T>& m) {
    return {m.data, m.rows, m.cols, m.row_stride, m.col_stride};
  }
  template <class Functor>
  static void run(std::int64_t size, const Functor& functor) {
    using Policy = Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>;
    Kokkos::parallel_for("test", Policy(ExecutionSpace(), 0, size), functor);
  }

  KokkosIris::Context<MemorySpace>& m_context;
  StressForm m_form;
  WrongElements m_wrong;
  typename KokkosIris::Context<MemorySpace>::template view_type<T*> m_memory[4];
  StressCall<T> m_call;
};

}  // namespace Test

#endif
