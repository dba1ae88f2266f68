// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The creation functions: values, shapes, layouts, element types, errors.

#include <TestUtilities.hpp>
#include <cmath>
#include <complex>
#include <limits>
#include <vector>

namespace {

using KokkosIris::bhalf_t;
using KokkosIris::ErrorCode;
using KokkosIris::half_t;
using Context = KokkosIris::Context<Kokkos::HostSpace>;

struct Particle {
  std::int64_t id = -1;
  std::int32_t cell = 7;
  std::int32_t kind = 0;
  bool operator==(const Particle&) const = default;
};

/// Runs in every test: a context, and the check that a view is the same place on every rank.
class Creation : public testing::Test {
 protected:
  Context m_context = ::Test::make_context();
  int next() const { return (m_context.rank() + 1) % m_context.size(); }

  template <class View>
  void expect_symmetric(const View& view) {
    EXPECT_TRUE(m_context.is_symmetric(view));
    const auto offset =
        reinterpret_cast<const char*>(view.data()) - m_context.device().state().base;
    for (const auto other : m_context.runtime().agree("offset", offset)) EXPECT_EQ(other, offset);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(view.data()) % 256, 0u);
  }

  template <class View, class Value>
  void expect_all(const View& view, const Value& value) {
    for (std::size_t i = 0; i < ::Test::count(view); ++i) {
      ASSERT_EQ(::Test::element(view, i), value) << "element " << i;
    }
  }
};

// ---------------------------------------------------------------- element types

template <class T>
class CreationOfType : public Creation {};
using ElementTypes =
    testing::Types<bool, char, signed char, unsigned char, short, unsigned short, int, unsigned,
                   long, unsigned long, long long, unsigned long long, float, double, long double,
                   half_t, bhalf_t, Kokkos::complex<float>, Kokkos::complex<double>,
                   std::complex<float>, Particle>;
TYPED_TEST_SUITE(CreationOfType, ElementTypes);

TYPED_TEST(CreationOfType, ZerosEmptyFullAndPeers) {
  using T = TypeParam;
  auto& context = this->m_context;
  const auto zeros = context.template zeros<T**>("zeros", 5, 7);
  this->expect_symmetric(zeros);
  this->expect_all(zeros, T{});
  const auto empty = context.template empty<T*>("empty", 33);
  this->expect_symmetric(empty);
  for (std::size_t i = 0; i < 33; ++i) {
    T value{};
    if constexpr (std::is_same_v<T, Particle>) {
      value = {context.rank(), int(i), 3};
    } else if constexpr (std::is_same_v<T, bool>) {
      value = (i + std::size_t(context.rank())) % 3 == 0;
    } else {
      value = T(float(1 + i + 40 * std::size_t(context.rank())));
    }
    empty(i) = value;
  }
  const auto copy = context.template full<T>("copy", empty(17));
  context.barrier();
  const auto theirs = empty.peer(this->next());
  const auto expected = context.template full<T*>("expected", theirs(17), 3);
  this->expect_all(expected, copy.peer(this->next())());
  if constexpr (!std::is_same_v<T, Particle>) {
    this->expect_all(context.template ones<T***>("ones", 2, 3, 4), T(1));
  }
  context.barrier();
}

// ---------------------------------------------------------------- shapes

template <class DataType, class Layout, class... Extents>
void expect_shape(Context& context, std::vector<std::size_t> shape, Extents... extents) {
  const auto view = context.full<DataType, Layout>("shape", 1 + context.rank(), extents...);
  using View = std::remove_cv_t<decltype(view)>;
  static_assert(std::is_same_v<typename View::array_layout, Layout>);
  ASSERT_EQ(View::rank(), shape.size());
  std::size_t count = 1;
  for (std::size_t r = 0; r < shape.size(); ++r) {
    EXPECT_EQ(view.extent(r), shape[r]);
    count *= shape[r];
  }
  EXPECT_EQ(view.span(), count);
  EXPECT_TRUE(view.span_is_contiguous());
  const Kokkos::View<DataType, Layout, Kokkos::HostSpace> stock("stock", extents...);
  for (std::size_t r = 0; r < shape.size(); ++r) EXPECT_EQ(view.stride(r), stock.stride(r));
  const int next = (context.rank() + 1) % context.size();
  const auto theirs = view.peer(next);
  for (std::size_t i = 0; i < count; ++i) {
    ASSERT_EQ(::Test::element(view, i), 1 + context.rank());
    ASSERT_EQ(::Test::element(theirs, i), 1 + next);
  }
  context.barrier();
}

template <class Layout>
void expect_all_shapes(Context& c) {
  expect_shape<int, Layout>(c, {});
  expect_shape<int*, Layout>(c, {5}, 5);
  expect_shape<int**, Layout>(c, {2, 3}, 2, 3);
  expect_shape<int***, Layout>(c, {2, 3, 4}, 2, 3, 4);
  expect_shape<int****, Layout>(c, {2, 3, 4, 5}, 2, 3, 4, 5);
  expect_shape<int*****, Layout>(c, {2, 1, 3, 2, 2}, 2, 1, 3, 2, 2);
  expect_shape<int******, Layout>(c, {2, 1, 3, 2, 1, 2}, 2, 1, 3, 2, 1, 2);
  expect_shape<int*******, Layout>(c, {1, 2, 1, 3, 1, 2, 2}, 1, 2, 1, 3, 1, 2, 2);
  expect_shape<int********, Layout>(c, {2, 1, 2, 1, 3, 1, 2, 2}, 2, 1, 2, 1, 3, 1, 2, 2);
  // Extents known at compile time.
  expect_shape<int[4], Layout>(c, {4});
  expect_shape<int* [3], Layout>(c, {7, 3}, 7);
  expect_shape<int** [3][2], Layout>(c, {2, 5, 3, 2}, 2, 5);
  expect_shape<int[2][3][4], Layout>(c, {2, 3, 4});
  // Nothing in it.
  expect_shape<int*, Layout>(c, {0}, 0);
  expect_shape<int**, Layout>(c, {0, 5}, 0, 5);
  expect_shape<int**, Layout>(c, {5, 0}, 5, 0);
  expect_shape<int***, Layout>(c, {3, 0, 2}, 3, 0, 2);
  expect_shape<int* [3], Layout>(c, {0, 3}, 0);
}

TEST_F(Creation, RanksZeroToEightLayoutRight) { expect_all_shapes<Kokkos::LayoutRight>(m_context); }
TEST_F(Creation, RanksZeroToEightLayoutLeft) { expect_all_shapes<Kokkos::LayoutLeft>(m_context); }

TEST_F(Creation, EmptyViewsAreSymmetricAndDistinct) {
  const auto first = m_context.zeros<int*>("first", 0);
  const auto second = m_context.empty<double**>("second", 0, 100);
  EXPECT_TRUE(m_context.is_symmetric(first));
  EXPECT_TRUE(m_context.is_symmetric(second));
  EXPECT_NE(static_cast<void*>(first.data()), static_cast<void*>(second.data()));
  EXPECT_EQ(first.peer(next()).extent(0), 0u);
}

TEST_F(Creation, Labels) {
  EXPECT_EQ(m_context.zeros<int*>("pressure", 3).label(), "pressure");
  EXPECT_EQ(m_context.zeros<int*>("", 3).label(), "");
  const std::string rank = "rank " + std::to_string(m_context.rank());
  EXPECT_EQ(m_context.zeros<int*>(rank, 3).label(), rank) << "labels may differ between ranks";
  EXPECT_EQ(m_context.zeros<int*>(std::string(500, 'x'), 3).label(), std::string(500, 'x'));
}

TEST_F(Creation, ZerosLike) {
  const Kokkos::View<const float** [3], Kokkos::LayoutLeft, Kokkos::HostSpace> like =
      Kokkos::View<float** [3], Kokkos::LayoutLeft, Kokkos::HostSpace>("like", 4, 5);
  const auto view = m_context.zeros_like("zeros", like);
  static_assert(std::is_same_v<decltype(view)::array_layout, Kokkos::LayoutLeft>);
  static_assert(std::is_same_v<decltype(view)::value_type, float>);
  EXPECT_EQ(view.extent(0), 4u);
  EXPECT_EQ(view.extent(1), 5u);
  EXPECT_EQ(view.extent(2), 3u);
  expect_all(view, 0.0f);
  const auto again = m_context.zeros_like("again", view);
  static_assert(std::is_same_v<decltype(again), decltype(view)>);
  EXPECT_NE(again.data(), view.data());
  const auto column = m_context.zeros_like(
      "column",
      Kokkos::subview(m_context.ones<int**, Kokkos::LayoutRight>("m", 6, 4), Kokkos::ALL, 1));
  EXPECT_EQ(column.extent(0), 6u);
  EXPECT_TRUE(column.span_is_contiguous());
  expect_all(column, 0);
}

// ---------------------------------------------------------------- sequences

TEST_F(Creation, Arange) {
  const auto expect_sequence = [&](const auto& view, const std::vector<double>& values) {
    ASSERT_EQ(view.extent(0), values.size());
    for (std::size_t i = 0; i < values.size(); ++i) EXPECT_EQ(double(view(i)), values[i]) << i;
  };
  expect_sequence(m_context.arange<int*>("a", 0, 5), {0, 1, 2, 3, 4});
  expect_sequence(m_context.arange<int*>("a", 2, 11, 3), {2, 5, 8});
  expect_sequence(m_context.arange<int*>("a", 2, 12, 3), {2, 5, 8, 11});
  expect_sequence(m_context.arange<long*>("a", 3, -4, -2), {3, 1, -1, -3});
  expect_sequence(m_context.arange<int*>("a", 7, 7), {});
  expect_sequence(m_context.arange<unsigned char*>("a", 0, 255, 100), {0, 100, 200});
  expect_sequence(m_context.arange<signed char*>("a", -128, 127, 85), {-128, -43, 42});
  expect_sequence(m_context.arange<double*>("a", 0, 1, 0.25), {0, 0.25, 0.5, 0.75});
  expect_sequence(m_context.arange<double*>("a", 1, 0.5, -0.25), {1, 0.75});
  expect_sequence(m_context.arange<float*>("a", 0.5, 2), {0.5, 1.5});
  expect_sequence(m_context.arange<half_t*>("a", 0, 3), {0, 1, 2});
  expect_sequence(m_context.arange<bhalf_t*>("a", -1.0, 1.0, 0.5), {-1, -0.5, 0, 0.5});
  EXPECT_EQ(m_context.arange<float*>("a", 0, 1, 0.1f).extent(0), 10u);
}

TEST_F(Creation, ArangeOfLargeIntegers) {
  constexpr std::int64_t start = (std::int64_t(1) << 60) + 1;
  const auto view = m_context.arange<std::int64_t*>("a", start, start + 5, 2);
  ASSERT_EQ(view.extent(0), 3u);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(view(i), start + 2 * i);
  constexpr int smallest = std::numeric_limits<int>::min();
  constexpr int largest = std::numeric_limits<int>::max();
  const auto whole = m_context.arange<int*>("a", smallest, largest, 1 << 30);
  ASSERT_EQ(whole.extent(0), 4u);
  EXPECT_EQ(whole(0), smallest);
  EXPECT_EQ(whole(3), 1 << 30);
  const auto top = m_context.arange<std::uint64_t*>("a", ~0ull - 3, ~0ull, 2);
  ASSERT_EQ(top.extent(0), 2u);
  EXPECT_EQ(top(1), ~0ull - 1);
  const auto down = m_context.arange<std::int64_t*>("a", std::numeric_limits<std::int64_t>::max(),
                                                    std::numeric_limits<std::int64_t>::min(),
                                                    std::numeric_limits<std::int64_t>::min());
  ASSERT_EQ(down.extent(0), 2u);
  EXPECT_EQ(down(1), -1);
}

TEST_F(Creation, ArangeErrors) {
  const auto expect_refused = [](auto&& call) {
    ::Test::expect_error(ErrorCode::invalid_argument, call, "arange", "no sequence");
  };
  expect_refused([&] { m_context.arange<int*>("a", 0, 5, 0); });
  expect_refused([&] { m_context.arange<int*>("a", 0, 5, -1); });
  expect_refused([&] { m_context.arange<unsigned*>("a", 5, 0); });
  expect_refused([&] { m_context.arange<double*>("a", 0, 1, 0.0); });
  expect_refused([&] { m_context.arange<double*>("a", 1, 0.5); });
  expect_refused([&] { m_context.arange<double*>("a", 0, 1, std::nan("")); });
  expect_refused([&] { m_context.arange<double*>("a", 0, INFINITY); });
  expect_refused([&] { m_context.arange<double*>("a", 0, 1e300, 1e-10); });
  expect_all(m_context.ones<int*>("usable", 10), 1);
}

TEST_F(Creation, Linspace) {
  const auto view = m_context.linspace<double*>("l", -1.0, 2.0, 31);
  ASSERT_EQ(view.extent(0), 31u);
  for (int i = 0; i < 31; ++i) EXPECT_NEAR(view(i), -1.0 + 0.1 * i, 1e-15);
  EXPECT_EQ(view(0), -1.0);
  EXPECT_EQ(view(30), 2.0);
  for (std::size_t steps = 2; steps < 200; ++steps) {
    const auto ends = m_context.linspace<double*>("l", 0.1, 0.7, steps);
    ASSERT_EQ(ends(0), 0.1);
    ASSERT_EQ(ends(steps - 1), 0.7) << steps;
  }
  EXPECT_EQ(m_context.linspace<float*>("l", 3.0, 4.0, 1)(0), 3.0f);
  EXPECT_EQ(m_context.linspace<float*>("l", 3.0, 4.0, 0).extent(0), 0u);
  EXPECT_EQ(float(m_context.linspace<half_t*>("l", 4.0, 0.0, 5)(1)), 3.0f);
}

// ---------------------------------------------------------------- random numbers

template <class View>
std::vector<double> values_of(const View& view) {
  std::vector<double> values(::Test::count(view));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = double(::Test::element(view, i));
  return values;
}

struct Moments {
  double mean = 0.0;
  double variance = 0.0;
  double lowest = std::numeric_limits<double>::infinity();
  double highest = -std::numeric_limits<double>::infinity();

  explicit Moments(const std::vector<double>& values) {
    for (const double value : values) {
      mean += value / double(values.size());
      lowest = std::min(lowest, value);
      highest = std::max(highest, value);
    }
    for (const double value : values) {
      variance += (value - mean) * (value - mean) / double(values.size());
    }
  }
};

// 40,000 samples: the tolerances below are five standard deviations or more, and the seed is fixed.
constexpr std::size_t samples = 40000;

template <class T>
class RandomCreation : public Creation {};
using RealTypes = testing::Types<float, double, half_t, bhalf_t>;
TYPED_TEST_SUITE(RandomCreation, RealTypes);

TYPED_TEST(RandomCreation, Distributions) {
  using T = TypeParam;
  const Moments unit(values_of(this->m_context.template rand<T**>("r", 200, samples / 200)));
  EXPECT_GE(unit.lowest, 0.0);
  EXPECT_LT(unit.highest, 1.0);
  EXPECT_NEAR(unit.mean, 0.5, 0.01);
  EXPECT_NEAR(unit.variance, 1.0 / 12.0, 0.003);
  const Moments uniform(values_of(this->m_context.template uniform<T*>("u", -3.0, 5.0, samples)));
  EXPECT_GE(uniform.lowest, -3.0);
  EXPECT_LT(uniform.highest, 5.0);
  EXPECT_LT(uniform.lowest, -2.9);
  EXPECT_GT(uniform.highest, 4.9);
  EXPECT_NEAR(uniform.mean, 1.0, 0.06);
  EXPECT_NEAR(uniform.variance, 64.0 / 12.0, 0.2);
  const Moments normal(values_of(this->m_context.template randn<T*>("n", samples)));
  EXPECT_NEAR(normal.mean, 0.0, 0.025);
  EXPECT_NEAR(normal.variance, 1.0, 0.04);
  EXPECT_GT(normal.highest, 3.3);
  EXPECT_LT(normal.lowest, -3.3);
  EXPECT_LT(normal.highest, 7.0);
}

TEST_F(Creation, RandomIntegers) {
  const auto view = m_context.randint<int*>("r", -3, 4, samples);
  std::vector<int> seen(7, 0);
  for (std::size_t i = 0; i < samples; ++i) {
    ASSERT_GE(view(i), -3);
    ASSERT_LT(view(i), 4);
    ++seen[static_cast<std::size_t>(view(i) + 3)];
  }
  for (const int count : seen) EXPECT_NEAR(count, double(samples) / 7, 400);
  expect_all(m_context.randint<unsigned char*>("r", 255, 256, 100), 255);
  constexpr auto smallest = std::numeric_limits<std::int64_t>::min();
  constexpr auto largest = std::numeric_limits<std::int64_t>::max();
  const auto wide = m_context.randint<std::int64_t*>("r", smallest, largest, samples);
  const Moments moments(values_of(wide));
  EXPECT_LT(moments.lowest, -0.99 * 0x1.0p63);
  EXPECT_GT(moments.highest, 0.99 * 0x1.0p63);
  EXPECT_NEAR(moments.mean / 0x1.0p63, 0.0, 0.02);
}

TEST_F(Creation, RandomErrors) {
  const auto expect_refused = [](const char* operation, auto&& call) {
    ::Test::expect_error(ErrorCode::invalid_argument, call, operation);
  };
  expect_refused("randint", [&] { m_context.randint<int*>("r", 4, 4, 10); });
  expect_refused("randint", [&] { m_context.randint<int*>("r", 4, 3, 10); });
  expect_refused("randint", [&] { m_context.randint<signed char*>("r", 0, 129, 10); });
  expect_refused("randint", [&] { m_context.randint<unsigned*>("r", -1, 10, 10); });
  expect_refused("uniform", [&] { m_context.uniform<float*>("u", 1.0, 1.0, 10); });
  expect_refused("uniform", [&] { m_context.uniform<float*>("u", std::nan(""), 1.0, 10); });
  expect_refused("uniform", [&] { m_context.uniform<float*>("u", 0.0, INFINITY, 10); });
  EXPECT_EQ(m_context.randint<signed char*>("r", -128, 128, 10).extent(0), 10u);
}

TEST_F(Creation, RandomNumbersAreReproducibleAndDifferBetweenRanks) {
  const auto draw = [](std::uint64_t seed) {
    auto context = ::Test::make_context({.seed = seed});
    auto values = values_of(context.rand<double*>("first", 500));
    for (const auto& more :
         {values_of(context.rand<double**, Kokkos::LayoutLeft>("second", 20, 25)),
          values_of(context.randn<double*>("third", 500)),
          values_of(context.randint<int*>("fourth", 0, 1 << 30, 500))}) {
      values.insert(values.end(), more.begin(), more.end());
    }
    return values;
  };
  const auto values = draw(42);
  EXPECT_EQ(draw(42), values);
  EXPECT_NE(draw(43), values);
  for (std::size_t i = 0; i < 500; ++i)
    ASSERT_NE(values[i], values[500 + i]) << "one stream a call";
  const auto all = m_context.empty<double*>("all", values.size());
  for (std::size_t i = 0; i < values.size(); ++i) all(i) = values[i];
  m_context.barrier();
  for (int other = 0; other < m_context.size(); ++other) {
    if (other == m_context.rank()) continue;
    const auto theirs = all.peer(other);
    int equal = 0;
    for (std::size_t i = 0; i < 1500; ++i) equal += theirs(i) == values[i];
    EXPECT_EQ(equal, 0) << "rank " << other;
  }
  m_context.barrier();
}

TEST_F(Creation, RandomNumbersFollowMemory) {
  // The same stream in both layouts: what differs is where an element lies, not the numbers.
  auto left_context = ::Test::make_context({.seed = 9});
  auto right_context = ::Test::make_context({.seed = 9});
  const auto left = left_context.rand<float**, Kokkos::LayoutLeft>("l", 30, 50);
  const auto right = right_context.rand<float**, Kokkos::LayoutRight>("r", 30, 50);
  for (std::size_t i = 0; i < 1500; ++i) ASSERT_EQ(left.data()[i], right.data()[i]);
}

// ---------------------------------------------------------------- sizes

TEST_F(Creation, AbsurdSizes) {
  const auto expect_no_room = [](auto&& call) {
    ::Test::expect_error(ErrorCode::out_of_memory, call, "no room");
  };
  expect_no_room([&] { m_context.zeros<double*>("z", std::size_t(1) << 40); });
  expect_no_room([&] { m_context.zeros<double*>("z", std::numeric_limits<std::size_t>::max()); });
  expect_no_room(
      [&] { m_context.zeros<double**>("z", std::size_t(1) << 33, std::size_t(1) << 33); });
  EXPECT_EQ(m_context.zeros<double**>("z", std::size_t(1) << 62, 0).span(), 0u);
  EXPECT_EQ(m_context.zeros<char*>("all", m_context.heap_capacity() - 256).extent(0),
            ::Test::default_heap_size - 256);
}

TEST_F(Creation, NegativeExtents) {
  const auto expect_refused = [](auto&& call, const std::string& part) {
    ::Test::expect_error(ErrorCode::invalid_argument, call, part, "not negative");
  };
  expect_refused([&] { m_context.zeros<double*>("z", -1); }, "extent 0 of the view is -1 ");
  // Not empty: an illegal extent.
  expect_refused([&] { m_context.empty<double**>("z", -1, 0); }, "extent 0 of the view is -1 ");
  expect_refused([&] { m_context.zeros<char** [3]>("z", 4, static_cast<short>(-7)); },
                 "extent 1 of the view is -7 ");
  const int last = m_context.size() - 1;
  const bool mine = m_context.rank() == last;
  expect_refused([&] { m_context.rand<float*>("z", std::int64_t(mine ? -5 : 5)); },
                 "extent 0 of the view is -5 on rank " + std::to_string(last));
  EXPECT_EQ(m_context.zeros<int*>("z", 3).extent(0), 3u);
}

}  // namespace
