// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The creation functions: values, shapes, layouts, element types, errors.

#include <DeviceTesting.hpp>
#include <cmath>
#include <complex>
#include <limits>
#include <vector>

namespace {

using KokkosIris::bhalf_t;
using KokkosIris::ErrorCode;
using KokkosIris::half_t;

struct Particle {
  std::int64_t id = -1;
  std::int32_t cell = 7;
  std::int32_t kind = 0;
  bool operator==(const Particle&) const = default;
};

/// Runs in every test: a context, and the check that a view is the same place on every rank.
template <class ExecutionSpace>
class Creation : public testing::Test {
 public:
  using memory_space = typename ExecutionSpace::memory_space;
  using Context = KokkosIris::Context<memory_space>;
  Context m_context = ::Test::make_context<ExecutionSpace>();
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
    const auto host = ::Test::staged(view.view());
    for (std::size_t i = 0; i < ::Test::count(view); ++i) {
      ASSERT_EQ(::Test::element(host.view(), i), value) << "element " << i;
    }
  }
};
// One host space is enough: the functions are those of a memory space.
using Spaces = ::Test::HeapSpaces;
TYPED_TEST_SUITE(Creation, Spaces, ::Test::ExecutionSpaceNames);

// ---------------------------------------------------------------- element types

template <class T, class ExecutionSpace>
void zeros_empty_full_and_peers(Creation<ExecutionSpace>& self) {
  auto& context = self.m_context;
  const auto zeros = context.template zeros<T**>("zeros", 5, 7);
  self.expect_symmetric(zeros);
  self.expect_all(zeros, T{});
  const auto empty = context.template empty<T*>("empty", 33);
  self.expect_symmetric(empty);
  const auto own = ::Test::staged(empty.view());
  for (std::size_t i = 0; i < 33; ++i) {
    T value{};
    if constexpr (std::is_same_v<T, Particle>) {
      value = {context.rank(), int(i), 3};
    } else if constexpr (std::is_same_v<T, bool>) {
      value = (i + std::size_t(context.rank())) % 3 == 0;
    } else {
      value = T(float(1 + i + 40 * std::size_t(context.rank())));
    }
    own(i) = value;
  }
  own.push();
  const auto copy = context.template full<T>("copy", own(17));
  context.barrier();
  const auto theirs = ::Test::staged(empty.peer(self.next()));
  const auto expected = context.template full<T*>("expected", T(theirs(17)), 3);
  self.expect_all(expected, ::Test::get_at(copy.peer(self.next())));
  if constexpr (!std::is_same_v<T, Particle>) {
    self.expect_all(context.template ones<T***>("ones", 2, 3, 4), T(1));
  }
  context.barrier();
}

template <class... T, class ExecutionSpace>
void for_element_types(Creation<ExecutionSpace>& self) {
  (..., zeros_empty_full_and_peers<T>(self));
}

TYPED_TEST(Creation, IntegerElements) {
  for_element_types<bool, char, signed char, unsigned char, short, unsigned short, int, unsigned,
                    long, unsigned long, long long, unsigned long long>(*this);
}
TYPED_TEST(Creation, RealComplexAndStructElements) {
  for_element_types<float, double, half_t, bhalf_t, Kokkos::complex<float>, Kokkos::complex<double>,
                    std::complex<float>, Particle>(*this);
  if constexpr (!KokkosIris::Impl::is_gpu_space_v<TypeParam>) for_element_types<long double>(*this);
}

// ---------------------------------------------------------------- shapes

template <class DataType, class Layout, class MemorySpace, class... Extents>
void expect_shape(KokkosIris::Context<MemorySpace>& context, std::vector<std::size_t> shape,
                  Extents... extents) {
  const auto view =
      context.template full<DataType, Layout>("shape", 1 + context.rank(), extents...);
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
  const auto mine = ::Test::staged(view.view());
  const auto theirs = ::Test::staged(view.peer(next));
  for (std::size_t i = 0; i < count; ++i) {
    ASSERT_EQ(::Test::element(mine.view(), i), 1 + context.rank());
    ASSERT_EQ(::Test::element(theirs.view(), i), 1 + next);
  }
  context.barrier();
}

template <class Layout, class MemorySpace>
void expect_all_shapes(KokkosIris::Context<MemorySpace>& c) {
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

TYPED_TEST(Creation, RanksZeroToEightLayoutRight) {
  expect_all_shapes<Kokkos::LayoutRight>(this->m_context);
}
TYPED_TEST(Creation, RanksZeroToEightLayoutLeft) {
  expect_all_shapes<Kokkos::LayoutLeft>(this->m_context);
}

DEVICE_TYPED_TEST(Creation, EmptyViewsAreSymmetricAndDistinct) {
  [[maybe_unused]] auto& m_context = self.m_context;
  const auto first = m_context.template zeros<int*>("first", 0);
  const auto second = m_context.template empty<double**>("second", 0, 100);
  EXPECT_TRUE(m_context.is_symmetric(first));
  EXPECT_TRUE(m_context.is_symmetric(second));
  EXPECT_NE(static_cast<void*>(first.data()), static_cast<void*>(second.data()));
  EXPECT_EQ(first.peer(self.next()).extent(0), 0u);
}

DEVICE_TYPED_TEST(Creation, Labels) {
  [[maybe_unused]] auto& m_context = self.m_context;
  EXPECT_EQ(m_context.template zeros<int*>("pressure", 3).label(), "pressure");
  EXPECT_EQ(m_context.template zeros<int*>("", 3).label(), "");
  const std::string rank = "rank " + std::to_string(m_context.rank());
  EXPECT_EQ(m_context.template zeros<int*>(rank, 3).label(), rank)
      << "labels may differ between ranks";
  EXPECT_EQ(m_context.template zeros<int*>(std::string(500, 'x'), 3).label(),
            std::string(500, 'x'));
}

DEVICE_TYPED_TEST(Creation, ZerosLike) {
  [[maybe_unused]] auto& m_context = self.m_context;
  const Kokkos::View<const float** [3], Kokkos::LayoutLeft, Kokkos::HostSpace> like =
      Kokkos::View<float** [3], Kokkos::LayoutLeft, Kokkos::HostSpace>("like", 4, 5);
  const auto view = m_context.zeros_like("zeros", like);
  static_assert(std::is_same_v<typename decltype(view)::array_layout, Kokkos::LayoutLeft>);
  static_assert(std::is_same_v<typename decltype(view)::value_type, float>);
  EXPECT_EQ(view.extent(0), 4u);
  EXPECT_EQ(view.extent(1), 5u);
  EXPECT_EQ(view.extent(2), 3u);
  self.expect_all(view, 0.0f);
  const auto again = m_context.zeros_like("again", view);
  static_assert(std::is_same_v<decltype(again), decltype(view)>);
  EXPECT_NE(again.data(), view.data());
  const auto column = m_context.zeros_like(
      "column", Kokkos::subview(m_context.template ones<int**, Kokkos::LayoutRight>("m", 6, 4),
                                Kokkos::ALL, 1));
  EXPECT_EQ(column.extent(0), 6u);
  EXPECT_TRUE(column.span_is_contiguous());
  self.expect_all(column, 0);
}

// ---------------------------------------------------------------- sequences

DEVICE_TYPED_TEST(Creation, Arange) {
  [[maybe_unused]] auto& m_context = self.m_context;
  const auto expect_sequence = [&](const auto& view, const std::vector<double>& values) {
    ASSERT_EQ(view.extent(0), values.size());
    const auto host = ::Test::staged(view.view());
    for (std::size_t i = 0; i < values.size(); ++i) EXPECT_EQ(double(host(i)), values[i]) << i;
  };
  expect_sequence(m_context.template arange<int*>("a", 0, 5), {0, 1, 2, 3, 4});
  expect_sequence(m_context.template arange<int*>("a", 2, 11, 3), {2, 5, 8});
  expect_sequence(m_context.template arange<int*>("a", 2, 12, 3), {2, 5, 8, 11});
  expect_sequence(m_context.template arange<long*>("a", 3, -4, -2), {3, 1, -1, -3});
  expect_sequence(m_context.template arange<int*>("a", 7, 7), {});
  expect_sequence(m_context.template arange<unsigned char*>("a", 0, 255, 100), {0, 100, 200});
  expect_sequence(m_context.template arange<signed char*>("a", -128, 127, 85), {-128, -43, 42});
  expect_sequence(m_context.template arange<double*>("a", 0, 1, 0.25), {0, 0.25, 0.5, 0.75});
  expect_sequence(m_context.template arange<double*>("a", 1, 0.5, -0.25), {1, 0.75});
  expect_sequence(m_context.template arange<float*>("a", 0.5, 2), {0.5, 1.5});
  expect_sequence(m_context.template arange<half_t*>("a", 0, 3), {0, 1, 2});
  expect_sequence(m_context.template arange<bhalf_t*>("a", -1.0, 1.0, 0.5), {-1, -0.5, 0, 0.5});
  EXPECT_EQ(m_context.template arange<float*>("a", 0, 1, 0.1f).extent(0), 10u);
}

DEVICE_TYPED_TEST(Creation, ArangeOfLargeIntegers) {
  [[maybe_unused]] auto& m_context = self.m_context;
  constexpr std::int64_t start = (std::int64_t(1) << 60) + 1;
  const auto view = m_context.template arange<std::int64_t*>("a", start, start + 5, 2);
  ASSERT_EQ(view.extent(0), 3u);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(::Test::get_at(view, i), start + 2 * i);
  constexpr int smallest = std::numeric_limits<int>::min();
  constexpr int largest = std::numeric_limits<int>::max();
  const auto whole = m_context.template arange<int*>("a", smallest, largest, 1 << 30);
  ASSERT_EQ(whole.extent(0), 4u);
  EXPECT_EQ(::Test::get_at(whole, 0), smallest);
  EXPECT_EQ(::Test::get_at(whole, 3), 1 << 30);
  const auto top = m_context.template arange<std::uint64_t*>("a", ~0ull - 3, ~0ull, 2);
  ASSERT_EQ(top.extent(0), 2u);
  EXPECT_EQ(::Test::get_at(top, 1), ~0ull - 1);
  const auto down = m_context.template arange<std::int64_t*>(
      "a", std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min(),
      std::numeric_limits<std::int64_t>::min());
  ASSERT_EQ(down.extent(0), 2u);
  EXPECT_EQ(::Test::get_at(down, 1), -1);
}

DEVICE_TYPED_TEST(Creation, ArangeErrors) {
  [[maybe_unused]] auto& m_context = self.m_context;
  const auto expect_refused = [](auto&& call) {
    ::Test::expect_error(ErrorCode::invalid_argument, call, "arange", "no sequence");
  };
  expect_refused([&] { m_context.template arange<int*>("a", 0, 5, 0); });
  expect_refused([&] { m_context.template arange<int*>("a", 0, 5, -1); });
  expect_refused([&] { m_context.template arange<unsigned*>("a", 5, 0); });
  expect_refused([&] { m_context.template arange<double*>("a", 0, 1, 0.0); });
  expect_refused([&] { m_context.template arange<double*>("a", 1, 0.5); });
  expect_refused([&] { m_context.template arange<double*>("a", 0, 1, std::nan("")); });
  expect_refused([&] { m_context.template arange<double*>("a", 0, INFINITY); });
  expect_refused([&] { m_context.template arange<double*>("a", 0, 1e300, 1e-10); });
  self.expect_all(m_context.template ones<int*>("usable", 10), 1);
}

DEVICE_TYPED_TEST(Creation, Linspace) {
  [[maybe_unused]] auto& m_context = self.m_context;
  const auto view = m_context.template linspace<double*>("l", -1.0, 2.0, 31);
  ASSERT_EQ(view.extent(0), 31u);
  for (int i = 0; i < 31; ++i) EXPECT_NEAR(::Test::get_at(view, i), -1.0 + 0.1 * i, 1e-15);
  EXPECT_EQ(::Test::get_at(view, 0), -1.0);
  EXPECT_EQ(::Test::get_at(view, 30), 2.0);
  for (std::size_t steps = 2; steps < 200; ++steps) {
    const auto ends = m_context.template linspace<double*>("l", 0.1, 0.7, steps);
    ASSERT_EQ(::Test::get_at(ends, 0), 0.1);
    ASSERT_EQ(::Test::get_at(ends, steps - 1), 0.7) << steps;
  }
  EXPECT_EQ(::Test::get_at(m_context.template linspace<float*>("l", 3.0, 4.0, 1), 0), 3.0f);
  EXPECT_EQ(m_context.template linspace<float*>("l", 3.0, 4.0, 0).extent(0), 0u);
  EXPECT_EQ(float(::Test::get_at(m_context.template linspace<half_t*>("l", 4.0, 0.0, 5), 1)), 3.0f);
}

// ---------------------------------------------------------------- random numbers

template <class View>
std::vector<double> values_of(const View& view) {
  std::vector<double> values(::Test::count(view));
  const auto host = ::Test::staged(view.view());
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = double(::Test::element(host.view(), i));
  }
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

template <class T, class ExecutionSpace>
void expect_distributions(Creation<ExecutionSpace>& self) {
  const Moments unit(values_of(self.m_context.template rand<T**>("r", 200, samples / 200)));
  EXPECT_GE(unit.lowest, 0.0);
  EXPECT_LT(unit.highest, 1.0);
  EXPECT_NEAR(unit.mean, 0.5, 0.01);
  EXPECT_NEAR(unit.variance, 1.0 / 12.0, 0.003);
  const Moments uniform(values_of(self.m_context.template uniform<T*>("u", -3.0, 5.0, samples)));
  EXPECT_GE(uniform.lowest, -3.0);
  EXPECT_LT(uniform.highest, 5.0);
  EXPECT_LT(uniform.lowest, -2.9);
  EXPECT_GT(uniform.highest, 4.9);
  EXPECT_NEAR(uniform.mean, 1.0, 0.06);
  EXPECT_NEAR(uniform.variance, 64.0 / 12.0, 0.2);
  const Moments normal(values_of(self.m_context.template randn<T*>("n", samples)));
  EXPECT_NEAR(normal.mean, 0.0, 0.025);
  EXPECT_NEAR(normal.variance, 1.0, 0.04);
  EXPECT_GT(normal.highest, 3.3);
  EXPECT_LT(normal.lowest, -3.3);
  EXPECT_LT(normal.highest, 7.0);
}

TYPED_TEST(Creation, Distributions) {
  expect_distributions<float>(*this);
  expect_distributions<double>(*this);
  expect_distributions<half_t>(*this);
  expect_distributions<bhalf_t>(*this);
}

DEVICE_TYPED_TEST(Creation, RandomIntegers) {
  [[maybe_unused]] auto& m_context = self.m_context;
  const auto view = m_context.template randint<int*>("r", -3, 4, samples);
  std::vector<int> seen(7, 0);
  const auto host = ::Test::staged(view.view());
  for (std::size_t i = 0; i < samples; ++i) {
    ASSERT_GE(host(i), -3);
    ASSERT_LT(host(i), 4);
    ++seen[static_cast<std::size_t>(host(i) + 3)];
  }
  for (const int count : seen) EXPECT_NEAR(count, double(samples) / 7, 400);
  self.expect_all(m_context.template randint<unsigned char*>("r", 255, 256, 100), 255);
  constexpr auto smallest = std::numeric_limits<std::int64_t>::min();
  constexpr auto largest = std::numeric_limits<std::int64_t>::max();
  const auto wide = m_context.template randint<std::int64_t*>("r", smallest, largest, samples);
  const Moments moments(values_of(wide));
  EXPECT_LT(moments.lowest, -0.99 * 0x1.0p63);
  EXPECT_GT(moments.highest, 0.99 * 0x1.0p63);
  EXPECT_NEAR(moments.mean / 0x1.0p63, 0.0, 0.02);
}

DEVICE_TYPED_TEST(Creation, RandomErrors) {
  [[maybe_unused]] auto& m_context = self.m_context;
  const auto expect_refused = [](const char* operation, auto&& call) {
    ::Test::expect_error(ErrorCode::invalid_argument, call, operation);
  };
  expect_refused("randint", [&] { m_context.template randint<int*>("r", 4, 4, 10); });
  expect_refused("randint", [&] { m_context.template randint<int*>("r", 4, 3, 10); });
  expect_refused("randint", [&] { m_context.template randint<signed char*>("r", 0, 129, 10); });
  expect_refused("randint", [&] { m_context.template randint<unsigned*>("r", -1, 10, 10); });
  expect_refused("uniform", [&] { m_context.template uniform<float*>("u", 1.0, 1.0, 10); });
  expect_refused("uniform",
                 [&] { m_context.template uniform<float*>("u", std::nan(""), 1.0, 10); });
  expect_refused("uniform", [&] { m_context.template uniform<float*>("u", 0.0, INFINITY, 10); });
  EXPECT_EQ(m_context.template randint<signed char*>("r", -128, 128, 10).extent(0), 10u);
}

DEVICE_TYPED_TEST(Creation, RandomNumbersAreReproducibleAndDifferBetweenRanks) {
  [[maybe_unused]] auto& m_context = self.m_context;
  const auto draw = [](std::uint64_t seed) {
    auto context = ::Test::make_context<TypeParam>({.seed = seed});
    auto values = values_of(context.template rand<double*>("first", 500));
    for (const auto& more :
         {values_of(context.template rand<double**, Kokkos::LayoutLeft>("second", 20, 25)),
          values_of(context.template randn<double*>("third", 500)),
          values_of(context.template randint<int*>("fourth", 0, 1 << 30, 500))}) {
      values.insert(values.end(), more.begin(), more.end());
    }
    return values;
  };
  const auto values = draw(42);
  EXPECT_EQ(draw(42), values);
  EXPECT_NE(draw(43), values);
  for (std::size_t i = 0; i < 500; ++i)
    ASSERT_NE(values[i], values[500 + i]) << "one stream a call";
  const auto all = m_context.template empty<double*>("all", values.size());
  const auto mine = ::Test::staged(all.view());
  for (std::size_t i = 0; i < values.size(); ++i) mine(i) = values[i];
  mine.push();
  m_context.barrier();
  for (int other = 0; other < m_context.size(); ++other) {
    if (other == m_context.rank()) continue;
    const auto theirs = ::Test::staged(all.peer(other));
    int equal = 0;
    for (std::size_t i = 0; i < 1500; ++i) equal += theirs(i) == values[i];
    EXPECT_EQ(equal, 0) << "rank " << other;
  }
  m_context.barrier();
}

DEVICE_TYPED_TEST(Creation, RandomNumbersFollowMemory) {
  [[maybe_unused]] auto& m_context = self.m_context;
  // The same stream in both layouts: what differs is where an element lies, not the numbers.
  auto left_context = ::Test::make_context<TypeParam>({.seed = 9});
  auto right_context = ::Test::make_context<TypeParam>({.seed = 9});
  const auto left = left_context.template rand<float**, Kokkos::LayoutLeft>("l", 30, 50);
  const auto right = right_context.template rand<float**, Kokkos::LayoutRight>("r", 30, 50);
  const auto host_left = ::Test::staged(left.view());
  const auto host_right = ::Test::staged(right.view());
  for (std::size_t i = 0; i < 1500; ++i) ASSERT_EQ(host_left.data()[i], host_right.data()[i]);
}

// ---------------------------------------------------------------- sizes

DEVICE_TYPED_TEST(Creation, AbsurdSizes) {
  [[maybe_unused]] auto& m_context = self.m_context;
  const auto expect_no_room = [](auto&& call) {
    ::Test::expect_error(ErrorCode::out_of_memory, call, "no room");
  };
  expect_no_room([&] { m_context.template zeros<double*>("z", std::size_t(1) << 40); });
  expect_no_room(
      [&] { m_context.template zeros<double*>("z", std::numeric_limits<std::size_t>::max()); });
  expect_no_room(
      [&] { m_context.template zeros<double**>("z", std::size_t(1) << 33, std::size_t(1) << 33); });
  EXPECT_EQ(m_context.template zeros<double**>("z", std::size_t(1) << 62, 0).span(), 0u);
  EXPECT_EQ(m_context.template zeros<char*>("all", m_context.heap_capacity() - 256).extent(0),
            ::Test::default_heap_size - 256);
}

DEVICE_TYPED_TEST(Creation, NegativeExtents) {
  auto& m_context = self.m_context;
  const auto expect_refused = [](auto&& call, const std::string& part) {
    ::Test::expect_error(ErrorCode::invalid_argument, call, part, "not negative");
  };
  expect_refused([&] { m_context.template zeros<double*>("z", -1); },
                 "extent 0 of the view is -1 ");
  // Not empty: an illegal extent.
  expect_refused([&] { m_context.template empty<double**>("z", -1, 0); },
                 "extent 0 of the view is -1 ");
  expect_refused([&] { m_context.template zeros<char** [3]>("z", 4, static_cast<short>(-7)); },
                 "extent 1 of the view is -7 ");
  const int last = m_context.size() - 1;
  const bool mine = m_context.rank() == last;
  expect_refused([&] { m_context.template rand<float*>("z", std::int64_t(mine ? -5 : 5)); },
                 "extent 0 of the view is -5 on rank " + std::to_string(last));
  EXPECT_EQ(m_context.template zeros<int*>("z", 3).extent(0), 3u);
}

}  // namespace
