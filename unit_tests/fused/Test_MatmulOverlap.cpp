// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Which operands of a fused operation share memory.
//
// ranks: 1

#include <FusedCalls.hpp>
#include <TestUtilities.hpp>
#include <algorithm>
#include <fused/KokkosIris_FusedProblem.hpp>
#include <set>

namespace {

using namespace ::Test;

/// find_fault() against all pairs of elements, for operands of equal strides, also transposed ones.
TEST(MatmulOverlap, EqualStrides) {
  using KokkosIris::Impl::FusedProblem;
  using KokkosIris::Impl::OperandDescription;
  // Nothing is read or written; the operands lie far enough from the array's ends.
  static const char memory[1 << 12] = {};
  std::uint64_t draws = 0;
  const auto draw = [&](std::int64_t first, std::int64_t last) {
    const auto count = static_cast<std::uint64_t>(last - first + 1);
    return first + static_cast<std::int64_t>(random_bits(77, draws++) % count);
  };
  const auto addresses = [](const OperandDescription& o) {
    std::set<const char*> all;
    for (std::int64_t i = 0; i < o.rows; ++i) {
      for (std::int64_t j = 0; j < o.cols; ++j) {
        all.insert(o.data + 4 * (i * o.row_stride + j * o.col_stride));
      }
    }
    return all;
  };
  int shared = 0, apart = 0;
  for (int round = 0; round < 20000; ++round) {
    const std::int64_t m = draw(1, 5), n = draw(1, 5), k = draw(1, 5);
    const std::int64_t rows = draw(0, 14), cols = draw(0, 14);
    const bool transposed = draw(0, 1) == 1;
    FusedProblem p{};
    p.operation = FusedOperation::matmul_reduce_scatter;
    p.ranks = 1;
    p.c = {"", memory + 4 * 256, m, n, rows, cols, 4, false};
    p.a = {"", p.c.data + 4 * draw(-80, 80), m, k, rows, cols, 4, false};
    if (transposed) std::swap(p.a.row_stride, p.a.col_stride);
    p.b = {"", memory + 4 * 800, k, n, n, 1, 4, false};
    const auto of_c = addresses(p.c), of_a = addresses(p.a);
    if (static_cast<std::int64_t>(of_c.size()) < m * n) continue;  // C itself is illegal
    const bool overlap = std::any_of(of_a.begin(), of_a.end(),
                                     [&](const char* one) { return of_c.count(one) != 0; });
    p.bias_axis = BiasAxis::none;
    const bool found = KokkosIris::Impl::find_fault(p).find("C shares memory") != std::string::npos;
    ASSERT_EQ(found, overlap) << m << " x " << n << ", " << k << " columns of A, strides " << rows
                              << ", " << cols << (transposed ? ", transposed" : "") << ", distance "
                              << (p.a.data - p.c.data) / 4;
    (overlap ? shared : apart) += 1;
  }
  EXPECT_GT(shared, 2000);
  EXPECT_GT(apart, 2000);
}

TEST(MatmulOverlap, Bias) {
  KokkosIris::Impl::FusedProblem p{};
  alignas(8) static const char memory[1 << 12] = {};
  p.operation = FusedOperation::matmul_reduce_scatter;
  p.ranks = 1;
  p.c = {"", memory, 4, 3, 10, 1, 4, false};
  p.a = {"", memory + 1000, 4, 2, 2, 1, 4, false};
  p.b = {"", memory + 2000, 2, 3, 3, 1, 4, false};
  p.bias_axis = BiasAxis::cols;
  p.bias_size = 3;
  const auto shares = [&](std::int64_t offset, std::int64_t stride) {
    p.bias_data = memory + 4 * offset;
    p.bias_stride = stride;
    return KokkosIris::Impl::find_fault(p).find("shares memory with the bias") != std::string::npos;
  };
  EXPECT_TRUE(shares(12, 1)) << "begins in the last column of the second row";
  EXPECT_FALSE(shares(13, 1)) << "between the second row and the third";
  EXPECT_TRUE(shares(18, 1)) << "ends in the first column of the third row";
  p.bias_axis = BiasAxis::rows;
  p.bias_size = 4;
  EXPECT_TRUE(shares(22, 10)) << "a column";
  EXPECT_FALSE(shares(3, 10)) << "beside the columns";
  p.bias_axis = BiasAxis::none;
  EXPECT_FALSE(shares(0, 1));
}

}  // namespace
