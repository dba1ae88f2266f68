// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Fused operations on operands of any layout, padding and place, different on every rank.

#include <DeviceTesting.hpp>
#include <FusedBench.hpp>
#include <cmath>
#include <fused/KokkosIris_Matmul.hpp>

namespace {

using namespace ::Test;

Layout layout(int number) { return static_cast<Layout>(number % layout_count); }

/// Layouts and offsets that differ by rank; `number` chooses the mixture.
Way mixture(const FusedBench& bench, int number) {
  Way way;
  way.c = layout(number + bench.rank());
  way.a = layout(number / 2 + 2 * bench.rank() + 1);
  way.b = layout(number / 3 + 5 * bench.rank() + 2);
  way.offset = (number + 7 * bench.rank()) % 33;
  way.symmetric_everything = number % 3 == 0;
  return way;
}

FUSED_TEST(MatmulLayouts, MixturesWithPoisonedPadding) {
  FusedBench bench(backend);
  int number = 0;
  for (const FusedOperation operation : all_operations) {
    for (const TileEngine engine : bench.engines()) {
      for (int i = 0; i < 12; ++i, ++number) {
        Problem problem{all_elements[number % 4], operation, 19 + number % 3, 17 + number % 5, 21};
        problem.bias = number % 2 == 0 ? BiasAxis::rows : BiasAxis::cols;
        problem.seed = static_cast<std::uint64_t>(number);
        Way way = mixture(bench, number);
        way.config = {.engine = engine};
        if (number % 2 == 0) way.config = {engine, 8, 16, 0};
        if (number % 3 == 0 && bench.has(problem.element, Space::parallel))
          way.space = Space::parallel;
        bench.run(problem, way, ", mixture " + std::to_string(number));
        if (operation == FusedOperation::matmul_all_reduce) bench.agreed_hash();
      }
    }
  }
}

/// One row or column: the stride along the other dimension means nothing, and may be anything.
FUSED_TEST(MatmulLayouts, SingleRowsAndColumns) {
  FusedBench bench(backend);
  int number = 0;
  for (const FusedOperation operation : all_operations) {
    for (const TileEngine engine : bench.engines()) {
      for (int i = 0; i < layout_count; ++i) {
        for (const bool row : {true, false}) {
          Problem problem{i % 2 == 0 ? Element::f64 : Element::f32, operation, row ? 1 : 23,
                          row ? 23 : 1, 13};
          problem.seed = static_cast<std::uint64_t>(++number);
          Way way;
          way.c = layout(i);
          way.a = layout(i + 1);
          way.b = layout(i + 2);
          way.config = {.engine = engine};
          bench.run(problem, way);
        }
      }
    }
  }
}

/// Operands that repeat elements (stride 0) are read like any others.
FUSED_TEST(MatmulLayouts, BroadcastOperands) {
  FusedBench bench(backend);
  for (const TileEngine engine : bench.engines()) {
    Problem problem{Element::f32, FusedOperation::matmul_all_gather, 9, 11, 6};
    Way way;
    way.config = {.engine = engine};
    bench.prepare(problem, way);
    bench.a.row_stride = 0;
    bench.b.col_stride = 0;
    bench.call(problem, way);
    for (int q = 0; q < bench.ranks(); ++q) {
      double sum = 0.0;
      for (std::int64_t k = 0; k < problem.k; ++k) {
        sum += operand_value(problem, q, 'a', k) * operand_value(problem, q, 'b', k * problem.n);
      }
      for (std::int64_t i = 0; i < problem.m; ++i) {
        for (std::int64_t j = 0; j < problem.n; ++j) {
          EXPECT_NEAR(get_value(problem.element, bench.arena_c.at(q * problem.m + i, j)), sum,
                      1e-4);
        }
      }
    }
  }
}

/// Views as users have them: LayoutLeft and LayoutRight, made by the context or not, subviews,
/// const, the forms without an instance, bias deduced and named.
template <class ExecutionSpace>
class MatmulViews : public testing::Test {
 public:
  using Memory = typename ExecutionSpace::memory_space;
  template <class Layout>
  using Matrix = Kokkos::View<double**, Layout, Memory>;
  using Vector = Kokkos::View<double*, Memory>;

  static constexpr std::size_t m = 14;
  static constexpr std::size_t n = 10;  // of one rank's part
  static constexpr std::size_t k = 12;

  KokkosIris::Context<Memory> context = ::Test::make_context<ExecutionSpace>();
  const std::size_t ranks = static_cast<std::size_t>(context.size());
  const std::size_t rank = static_cast<std::size_t>(context.rank());

  template <class View>
  View randomized(View view, int purpose) const {
    ::Test::random_fill_anywhere(view, ::Test::stream(context.rank(), purpose));
    return view;
  }
  /// Element (i, j) of rank q's operand of `cols` columns.
  static double value(std::size_t q, int purpose, std::size_t cols, std::size_t i, std::size_t j) {
    return ::Test::random_value<double>(::Test::stream(static_cast<int>(q), purpose), i * cols + j);
  }
  /// Element i of rank q's bias.
  static double bias_value(std::size_t q, std::size_t i) { return value(q, 3, 1, i, 0); }
  /// Element (i, j) of rank q's A B + bias.
  static double product(std::size_t q, std::size_t columns, std::size_t i, std::size_t j) {
    double sum = bias_value(q, i);
    for (std::size_t l = 0; l < k; ++l) sum += value(q, 1, k, i, l) * value(q, 2, columns, l, j);
    return sum;
  }
  template <class View, class Expected>
  static void expect_matrix(const View& view, const Expected& expected) {
    const auto c = ::Test::staged(view);
    for (std::size_t i = 0; i < view.extent(0); ++i) {
      for (std::size_t j = 0; j < view.extent(1); ++j) {
        ASSERT_NEAR(c(i, j), expected(i, j), 1e-12) << "at " << i << ", " << j;
      }
    }
  }
};
TYPED_TEST_SUITE(MatmulViews, ::Test::HeapSpaces, ::Test::ExecutionSpaceNames);

DEVICE_TYPED_TEST(MatmulViews, AllReduceIntoLayoutLeft) {
  using Self = MatmulViews<TypeParam>;
  using Right = typename Self::template Matrix<Kokkos::LayoutRight>;
  using Left = typename Self::template Matrix<Kokkos::LayoutLeft>;
  const std::size_t columns = Self::n * self.ranks;
  const auto c =
      self.context.template full<double**, Kokkos::LayoutLeft>("c", std::nan(""), Self::m, columns);
  const Right a = self.randomized(Right("a", Self::m, Self::k), 1);
  const auto b = self.randomized(Left("b", Self::k, columns), 2);
  const auto bias = self.randomized(typename Self::Vector("bias", Self::m), 3);
  const Kokkos::View<const double**, Kokkos::LayoutRight, typename Self::Memory> a_const = a;
  const auto workspace =
      matmul_all_reduce(self.context, c, a_const, b, {.bias = KokkosIris::rows(bias)});
  EXPECT_EQ(workspace.operation(), "matmul_all_reduce");
  self.expect_matrix(c, [&](std::size_t i, std::size_t j) {
    double sum = 0.0;
    for (std::size_t q = 0; q < self.ranks; ++q) sum += Self::product(q, columns, i, j);
    return sum;
  });
}

DEVICE_TYPED_TEST(MatmulViews, ReduceScatterIntoSubview) {
  using Self = MatmulViews<TypeParam>;
  constexpr std::size_t m = Self::m, n = Self::n, k = Self::k;
  const std::size_t columns = n * self.ranks;
  const typename Self::template Matrix<Kokkos::LayoutRight> large("c", m + 4, n + 5);
  ::Test::poison_fill_anywhere(large);
  const auto c = Kokkos::subview(large, std::pair(2, int(2 + m)), std::pair(3, int(3 + n)));
  const auto a =
      self.randomized(self.context.template zeros<double**, Kokkos::LayoutLeft>("a", m, k), 1);
  const auto b = self.randomized(
      self.context.template zeros<double**, Kokkos::LayoutRight>("b", k, columns), 2);
  const auto bias = self.randomized(typename Self::Vector("bias", m), 3);
  matmul_reduce_scatter(self.context, c, a, b, {.bias = bias});
  self.expect_matrix(c, [&](std::size_t i, std::size_t j) {
    double sum = 0.0;
    for (std::size_t q = 0; q < self.ranks; ++q) {
      sum += Self::product(q, columns, i, self.rank * n + j);
    }
    return sum;
  });
  const auto everything = ::Test::staged(large);
  for (std::size_t i = 0; i < large.extent(0); ++i) {
    for (std::size_t j = 0; j < large.extent(1); ++j) {
      const bool inside = i >= 2 && i < 2 + m && j >= 3 && j < 3 + n;
      EXPECT_EQ(std::isnan(everything(i, j)), !inside);
    }
  }
}

DEVICE_TYPED_TEST(MatmulViews, GatherMatmulFromSubviewsAtOtherPlaces) {
  using Self = MatmulViews<TypeParam>;
  constexpr std::size_t m = Self::m, n = Self::n, k = Self::k;
  const std::size_t ranks = self.ranks, rank = self.rank;
  const typename Self::template Matrix<Kokkos::LayoutLeft> c("c", m, n);
  const auto large = self.context.template full<double**, Kokkos::LayoutRight>(
      "a", std::nan(""), m + 6, k + 2 * ranks);
  // Each rank's shard lies elsewhere in its part of the symmetric view.
  const auto a = Kokkos::subview(large.view(), std::pair(rank % 6, rank % 6 + m),
                                 std::pair(2 * rank, 2 * rank + k));
  self.randomized(a, 1);
  const auto b =
      self.randomized(typename Self::template Matrix<Kokkos::LayoutRight>("b", ranks * k, n), 2);
  const auto bias = self.randomized(typename Self::Vector("bias", n), 3);
  all_gather_matmul(self.context, c, a, b, {.bias = KokkosIris::cols(bias)});
  self.expect_matrix(c, [&](std::size_t i, std::size_t j) {
    double sum = Self::bias_value(rank, j);
    for (std::size_t q = 0; q < ranks; ++q) {
      for (std::size_t l = 0; l < k; ++l) {
        sum += Self::value(q, 1, k, i, l) * Self::value(rank, 2, n, q * k + l, j);
      }
    }
    return sum;
  });
}

DEVICE_TYPED_TEST(MatmulViews, MatmulGatherIntoSubviewsOfOtherStrides) {
  using Self = MatmulViews<TypeParam>;
  constexpr std::size_t m = Self::m, n = Self::n, k = Self::k;
  const std::size_t ranks = self.ranks, rank = self.rank;
  const auto large = self.context.template full<double***, Kokkos::LayoutRight>(
      "c", std::nan(""), m * ranks, n + 3, std::size_t(2));
  const auto c =
      Kokkos::subview(large.view(), Kokkos::ALL, std::pair(rank % 3, rank % 3 + n), rank % 2);
  const auto a = self.randomized(typename Self::template Matrix<Kokkos::LayoutLeft>("a", m, k), 1);
  const auto b = self.randomized(typename Self::template Matrix<Kokkos::LayoutRight>("b", k, n), 2);
  const auto bias = self.randomized(typename Self::Vector("bias", m), 3);
  const TypeParam exec;
  matmul_all_gather(exec, self.context, c, a, b, {.bias = bias, .async_op = true});
  exec.fence();
  self.expect_matrix(
      c, [&](std::size_t i, std::size_t j) { return Self::product(i / m, n, i % m, j); });
  const auto everything = ::Test::staged(large.view());
  std::size_t written = 0;
  for (std::size_t i = 0; i < ::Test::count(large); ++i) {
    written += std::isnan(::Test::element(everything.view(), i)) ? 0 : 1;
  }
  EXPECT_EQ(written, m * ranks * n);
  self.context.barrier();
}

}  // namespace
