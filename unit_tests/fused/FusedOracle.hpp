// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// What the fused operations should give: operands that every rank can compute for every other
/// rank, the result in float64, and how far a result may be from it.

#ifndef KOKKOSIRIS_TEST_FUSED_ORACLE_HPP
#define KOKKOSIRIS_TEST_FUSED_ORACLE_HPP

#include <FusedCalls.hpp>
#include <cmath>
#include <core/KokkosIris_HalfTypes.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace Test {

inline std::size_t bytes_of(Element element) {
  return element == Element::f64 ? 8 : element == Element::f32 ? 4 : 2;
}
inline const char* name_of(Element element) {
  constexpr const char* names[] = {"double", "float", "half", "bfloat16"};
  return names[static_cast<int>(element)];
}

/// Calls `f` with a value of the element's type.
template <class F>
auto with_type(Element element, const F& f) {
  switch (element) {
    case Element::f64:
      return f(double());
    case Element::f32:
      return f(float());
    case Element::f16:
      return f(KokkosIris::half_t());
    case Element::bf16:
      break;
  }
  return f(KokkosIris::bhalf_t());
}

inline void put_value(Element element, void* place, double value) {
  with_type(element, [&](auto type) {
    type = static_cast<decltype(type)>(value);
    std::memcpy(place, &type, sizeof(type));
  });
}
inline double get_value(Element element, const void* place) {
  return with_type(element, [&](auto type) {
    std::memcpy(&type, place, sizeof(type));
    return static_cast<double>(type);
  });
}
inline double rounded(Element element, double value) {
  return with_type(
      element, [&](auto type) { return static_cast<double>(static_cast<decltype(type)>(value)); });
}

/// One call of an operation: the extents of a rank's operands, and the data by its seed.
struct Problem {
  Element element = Element::f32;
  FusedOperation operation = FusedOperation::matmul_all_reduce;
  std::int64_t m = 1;
  std::int64_t n = 1;              ///< columns of B; of one owner's part for matmul_reduce_scatter
  std::int64_t k = 1;              ///< columns of A on one rank
  BiasAxis bias = BiasAxis::none;  ///< rows or cols
  int bias_rank = -1;              ///< the only rank with a bias; -1: all
  std::uint64_t seed = 0;

  bool is(FusedOperation which) const { return operation == which; }
  std::int64_t b_rows(int ranks) const {
    return is(FusedOperation::all_gather_matmul) ? k * ranks : k;
  }
  std::int64_t b_cols(int ranks) const {
    return is(FusedOperation::matmul_reduce_scatter) ? n * ranks : n;
  }
  std::int64_t c_rows(int ranks) const {
    return is(FusedOperation::matmul_all_gather) ? m * ranks : m;
  }
  std::int64_t c_cols(int) const { return n; }
  std::int64_t bias_length(int ranks) const { return bias == BiasAxis::rows ? m : b_cols(ranks); }
  bool has_bias(int rank) const {
    return bias != BiasAxis::none && (bias_rank < 0 || bias_rank == rank);
  }
  std::string describe(int ranks) const {
    return std::string(KokkosIris::Impl::to_string(operation)) + " of " + name_of(element) +
           ", M = " + std::to_string(m) + ", N = " + std::to_string(b_cols(ranks)) +
           ", K = " + std::to_string(b_rows(ranks)) + ", " + std::to_string(ranks) + " ranks" +
           (bias == BiasAxis::none   ? ""
            : bias == BiasAxis::rows ? ", bias rows"
                                     : ", bias cols");
  }
};

/// Element `i` of operand `role` of a rank: signs, exact powers of two, zeros and magnitudes from
/// 2^-6 to 4, in which 257 products of half stay in its range.
inline double operand_value(const Problem& problem, int rank, char role, std::int64_t i) {
  std::uint64_t bits = problem.seed * 0x9e3779b97f4a7c15ull + static_cast<std::uint64_t>(role) +
                       static_cast<std::uint64_t>(rank) * 0xd1342543de82ef95ull +
                       static_cast<std::uint64_t>(i) * 0xbf58476d1ce4e5b9ull;
  for (int round = 0; round < 2; ++round) {  // splitmix64's finalizer
    bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9ull;
    bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebull;
    bits ^= bits >> 31;
  }
  const double sign = (bits & 1u) != 0 ? -1.0 : 1.0;
  const int exponent = static_cast<int>((bits >> 1) & 7u) - 5;
  const std::uint64_t kind = (bits >> 4) & 15u;
  if (kind == 0) return 0.0;
  if (kind < 3) return std::ldexp(sign, exponent);
  const double fraction = 0.5 + 0.5 * static_cast<double>(bits >> 12) * 0x1.0p-52;
  return rounded(problem.element, sign * std::ldexp(fraction, exponent));
}

/// The operand in row-major order.
inline std::vector<double> operand_values(const Problem& problem, int rank, char role,
                                          std::int64_t count) {
  std::vector<double> values(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) {
    values[static_cast<std::size_t>(i)] = operand_value(problem, rank, role, i);
  }
  return values;
}

/// The exact result but for the rounding of float64, and the sum of the terms' magnitudes.
struct Oracle {
  std::int64_t rows, cols;
  int summands = 1;        ///< ranks whose contributions are added up
  std::int64_t terms = 0;  ///< added up in one element, products and biases
  std::vector<double> sums, magnitudes;
  std::vector<double> partials;  ///< sum of the magnitudes of the ranks' contributions

  Oracle(const Problem& p, int rank, int ranks)
      : rows(p.c_rows(ranks)),
        cols(p.c_cols(ranks)),
        sums(static_cast<std::size_t>(rows * cols)),
        magnitudes(sums.size()),
        partials(sums.size()) {
    const bool scatters = p.is(FusedOperation::matmul_reduce_scatter);
    const bool gathers_a = p.is(FusedOperation::all_gather_matmul);
    const bool gathers_c = p.is(FusedOperation::matmul_all_gather);
    const std::int64_t first_column = scatters ? rank * p.n : 0;
    const std::int64_t ldb = p.b_cols(ranks);
    for (int q = 0; q < ranks; ++q) {
      const auto a = operand_values(p, q, 'a', p.m * p.k);
      const int b_rank = gathers_a ? rank : q;
      const auto b = operand_values(p, b_rank, 'b', p.b_rows(ranks) * ldb);
      const std::int64_t b_row = gathers_a ? q * p.k : 0;
      const std::vector<double> before = sums;
      add_product(gathers_c ? q * p.m : 0, p.m, p.k, a.data(),
                  b.data() + b_row * ldb + first_column, ldb);
      if (p.has_bias(gathers_a ? rank : q) && (!gathers_a || q == rank)) {
        add_bias(p, q, gathers_c ? q * p.m : 0, first_column, ranks);
      }
      for (std::size_t i = 0; i < sums.size(); ++i) partials[i] += std::abs(sums[i] - before[i]);
    }
    summands = p.is(FusedOperation::matmul_all_reduce) || scatters ? ranks : 1;
    terms = p.k * (gathers_c ? 1 : ranks) + ranks + 1;
  }

  /// Bound for |result - sums[i]|: with n terms a sum in any order, of exact or rounded products,
  /// is off by at most n u / (1 - n u) times the sum of magnitudes, u being the accumulator's unit
  /// roundoff; then the rounding to the element type. Engines that split 16-bit elements in two
  /// have four roundings a term, and dot product instructions flush subnormal sums. Where the
  /// ranks' contributions travel in the element type, each is rounded as well, as is each sum.
  double tolerance(Element element, std::size_t i, bool narrow_partials = false) const {
    const bool narrow = element == Element::f16 || element == Element::bf16;
    const double accumulator = element == Element::f64 ? 0x1.0p-53 : 0x1.0p-24;
    const double n = static_cast<double>((narrow ? 4 : 2) * terms) * accumulator;
    double sum_error = n / (1.0 - n) * magnitudes[i] + (narrow ? n * 0x1.0p-100 : 0.0);
    if (narrow_partials && narrow && summands > 1) {
      const double unit = element == Element::f16 ? 0x1.0p-11 : 0x1.0p-8;
      sum_error += unit * (partials[i] + sum_error) + summands * 0x1.0p-25;
    }
    const double result = std::abs(sums[i]) + sum_error;
    switch (element) {
      case Element::f64:
        return sum_error + result * 0x1.0p-52;  // also the oracle's own roundings
      case Element::f32:
        return sum_error + result * 0x1.0p-24;
      case Element::f16:
        return sum_error + std::max(result * 0x1.0p-11, 0x1.0p-25);
      case Element::bf16:
        break;
    }
    return sum_error + result * 0x1.0p-8;
  }

 private:
  void add_product(std::int64_t row, std::int64_t m, std::int64_t k, const double* a,
                   const double* b, std::int64_t ldb) {
    for (std::int64_t i = 0; i < m; ++i) {
      double* const sum = sums.data() + (row + i) * cols;
      double* const magnitude = magnitudes.data() + (row + i) * cols;
      for (std::int64_t l = 0; l < k; ++l) {
        const double factor = a[i * k + l];
        const double* const line = b + l * ldb;
        for (std::int64_t j = 0; j < cols; ++j) {
          sum[j] += factor * line[j];
          magnitude[j] += std::abs(factor * line[j]);
        }
      }
    }
  }
  void add_bias(const Problem& p, int rank, std::int64_t row, std::int64_t first_column,
                int ranks) {
    const auto values = operand_values(p, rank, 'v', p.bias_length(ranks));
    for (std::int64_t i = 0; i < p.m; ++i) {
      for (std::int64_t j = 0; j < cols; ++j) {
        const double value =
            values[static_cast<std::size_t>(p.bias == BiasAxis::rows ? i : first_column + j)];
        const auto at = static_cast<std::size_t>((row + i) * cols + j);
        sums[at] += value;
        magnitudes[at] += std::abs(value);
      }
    }
  }
};

}  // namespace Test

#endif
