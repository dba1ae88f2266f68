// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Symmetric views as what they are: stock Views, here and of the memory of other ranks.

#include <DeviceTesting.hpp>
#include <algorithm>
#include <string>
#include <vector>

namespace {

using KokkosIris::ErrorCode;

template <class ExecutionSpace>
class SymmetricView : public testing::Test {
 public:
  using memory_space = typename ExecutionSpace::memory_space;
  using Context = KokkosIris::Context<memory_space>;
  using Matrix = Kokkos::View<double**, Kokkos::LayoutLeft, Kokkos::HostSpace>;
  Context m_context = ::Test::make_context<ExecutionSpace>();
  int next() const { return (m_context.rank() + 1) % m_context.size(); }
  int previous() const { return (m_context.rank() + m_context.size() - 1) % m_context.size(); }

  template <class DataType, class... Properties>
  static Kokkos::View<DataType, Properties...> stock(
      const Kokkos::View<DataType, Properties...>& view) {
    return view;
  }
  template <class A, class B>
  void expect_equal(const A& a, const B& b) {
    ASSERT_EQ(::Test::count(a), ::Test::count(b));
    const auto host_a = ::Test::staged(stock(a));
    const auto host_b = ::Test::staged(stock(b));
    for (std::size_t i = 0; i < ::Test::count(a); ++i) {
      ASSERT_EQ(::Test::element(host_a.view(), i), ::Test::element(host_b.view(), i)) << i;
    }
  }

  /// A local view of this rank's random numbers, and as_symmetric() of it seen from the next rank.
  template <class View>
  void expect_copied(const View& local, const View& of_next) {
    const auto symmetric = m_context.as_symmetric(local);
    EXPECT_TRUE(m_context.is_symmetric(symmetric));
    EXPECT_FALSE(m_context.is_symmetric(local));
    EXPECT_EQ(symmetric.label(), local.label());
    EXPECT_TRUE(symmetric.span_is_contiguous());
    expect_equal(symmetric, local);
    expect_equal(symmetric.peer(next()), of_next);
    m_context.barrier();
  }

  Matrix random_matrix(int rank, std::size_t m, std::size_t n) const {
    const Matrix matrix("matrix", m, n);
    ::Test::random_fill(matrix, ::Test::stream(rank, 5));
    return matrix;
  }
};
TYPED_TEST_SUITE(SymmetricView, ::Test::AllExecutionSpaces, ::Test::ExecutionSpaceNames);

DEVICE_TYPED_TEST(SymmetricView, PeerInKernels) {
  using Policy = Kokkos::RangePolicy<TypeParam>;
  const auto a = self.m_context.template full<long*>("a", -1, 1000);
  const auto theirs_outside = a.peer(self.next());
  static_assert(std::is_same_v<typename decltype(theirs_outside)::traits::memory_space,
                               typename TypeParam::memory_space>);
  static_assert(decltype(theirs_outside)::memory_traits::is_unmanaged);
  const int next = self.next();
  const int rank = self.m_context.rank();
  Kokkos::parallel_for(
      "neighbour", Policy(0, 500), KOKKOS_LAMBDA(int i) {
        const auto theirs = a.peer(next);
        theirs(2 * i) = 1000 * rank + i;
        theirs_outside(2 * i + 1) = -1000 * rank - i;
      });
  self.m_context.barrier(TypeParam());
  const auto received = ::Test::staged(a.view());
  for (int i = 0; i < 500; ++i) {
    ASSERT_EQ(received(2 * i), 1000 * self.previous() + i);
    ASSERT_EQ(received(2 * i + 1), -1000 * self.previous() - i);
  }
  EXPECT_EQ(a.peer(rank).data(), a.data());
}

DEVICE_TYPED_TEST(SymmetricView, PeerOfSubviews) {
  auto& context = self.m_context;
  const auto a = context.template zeros<int***, Kokkos::LayoutRight>("a", 6, 7, 8);
  const auto part = Kokkos::subview(a, std::pair(1, 5), 3, std::pair(2, 8));
  const auto theirs = KokkosIris::peer(context.device(), part, self.next());
  ASSERT_EQ(theirs.extent(0), 4u);
  ASSERT_EQ(theirs.extent(1), 6u);
  for (std::size_t i = 0; i < 4; ++i) {
    for (std::size_t j = 0; j < 6; ++j) {
      ::Test::set_at(theirs, 100 * (context.rank() + 1) + int(10 * i + j), i, j);
    }
  }
  context.barrier();
  const auto received = ::Test::staged(a.view());
  for (std::size_t i = 0; i < 6; ++i) {
    for (std::size_t j = 0; j < 7; ++j) {
      for (std::size_t k = 0; k < 8; ++k) {
        const bool written = i >= 1 && i < 5 && j == 3 && k >= 2;
        const int expected =
            written ? 100 * (self.previous() + 1) + int(10 * (i - 1) + (k - 2)) : 0;
        ASSERT_EQ(received(i, j, k), expected) << i << " " << j << " " << k;
      }
    }
  }
  const Kokkos::View<const int***, Kokkos::LayoutRight, typename TypeParam::memory_space> constant =
      a;
  const auto their_constant = KokkosIris::peer(context.device(), constant, self.next());
  static_assert(std::is_const_v<typename decltype(their_constant)::value_type>);
  EXPECT_EQ(::Test::get_at(their_constant, 1, 3, 2), 100 * (context.rank() + 1));
  const auto one = KokkosIris::peer(context.device(), Kokkos::subview(a, 2, 3, 4), self.next());
  EXPECT_EQ(::Test::get_at(one), 100 * (context.rank() + 1) + 12);
  context.barrier();
}

DEVICE_TYPED_TEST(SymmetricView, AsSymmetricFromAnyLayout) {
  const int rank = self.m_context.rank();
  const auto left = self.random_matrix(rank, 13, 9);
  const auto left_next = self.random_matrix(self.next(), 13, 9);
  self.expect_copied(left, left_next);
  using Right = Kokkos::View<double**, Kokkos::LayoutRight, Kokkos::HostSpace>;
  const Right right("right", 13, 9);
  const Right right_next("right", 13, 9);
  Kokkos::deep_copy(right, left);
  Kokkos::deep_copy(right_next, left_next);
  self.expect_copied(right, right_next);
  // Rows of a column-major matrix, a part of a padded one, a strided view with gaps.
  self.expect_copied(Kokkos::subview(left, 4, Kokkos::ALL),
                     Kokkos::subview(left_next, 4, Kokkos::ALL));
  self.expect_copied(Kokkos::subview(left, std::pair(2, 11), std::pair(1, 8)),
                     Kokkos::subview(left_next, std::pair(2, 11), std::pair(1, 8)));
  self.expect_copied(Kokkos::subview(right, Kokkos::ALL, std::pair(3, 5)),
                     Kokkos::subview(right_next, Kokkos::ALL, std::pair(3, 5)));
  const Kokkos::LayoutStride gaps(3, 4, 2, 40);
  using Strided = Kokkos::View<double**, Kokkos::LayoutStride, Kokkos::HostSpace>;
  self.expect_copied(
      Strided(left.data(), gaps.dimension[0] > 0 ? Kokkos::LayoutStride(3, 4, 2, 39) : gaps),
      Strided(left_next.data(), Kokkos::LayoutStride(3, 4, 2, 39)));
  const Kokkos::View<double, Kokkos::HostSpace> scalar("scalar");
  const Kokkos::View<double, Kokkos::HostSpace> scalar_next("scalar");
  scalar() = rank;
  scalar_next() = self.next();
  self.expect_copied(scalar, scalar_next);
  const Kokkos::View<const double**, Kokkos::LayoutLeft, Kokkos::HostSpace> constant = left;
  const auto copy = self.m_context.as_symmetric(constant);
  static_assert(std::is_same_v<typename decltype(copy)::value_type, double>);
  self.expect_equal(copy, left);
  const auto empty =
      self.m_context.as_symmetric(Kokkos::View<double**, Kokkos::HostSpace>("nothing", 0, 5));
  EXPECT_EQ(empty.extent(1), 5u);
  // And from memory of the space itself, with and without gaps.
  using Device = Kokkos::View<double**, Kokkos::LayoutLeft, typename TypeParam::memory_space>;
  const Device device("device", 13, 9);
  Kokkos::deep_copy(device, left);
  self.expect_equal(self.m_context.as_symmetric(device), left);
  const auto rows = std::pair(2, 11);
  self.expect_equal(self.m_context.as_symmetric(Kokkos::subview(device, rows, Kokkos::ALL)),
                    Kokkos::subview(left, rows, Kokkos::ALL));
}

DEVICE_TYPED_TEST(SymmetricView, IsSymmetric) {
  auto& context = self.m_context;
  const auto a = context.template zeros<int**, Kokkos::LayoutRight>("a", 10, 20);
  EXPECT_TRUE(context.is_symmetric(a));
  EXPECT_TRUE(context.is_symmetric(a.view()));
  EXPECT_TRUE(context.is_symmetric(Kokkos::subview(a, Kokkos::ALL, 3)));
  EXPECT_TRUE(context.is_symmetric(Kokkos::subview(a, 9, std::pair(20, 20))));
  EXPECT_TRUE(context.is_symmetric(context.template zeros<int*>("none", 0)));
  EXPECT_FALSE(context.is_symmetric(Kokkos::View<int*, typename TypeParam::memory_space>()));
  EXPECT_FALSE(
      context.is_symmetric(typename SymmetricView<TypeParam>::Context::template view_type<int*>()));
  EXPECT_FALSE(context.is_symmetric(Kokkos::View<int*, Kokkos::HostSpace>("own", 5)));
  int on_stack[4] = {};
  EXPECT_FALSE(context.is_symmetric(Kokkos::View<int*, Kokkos::HostSpace>(on_stack, 4)));
  if (context.size() > 1) {
    EXPECT_FALSE(context.is_symmetric(a.peer(self.next()))) << "that is the peer's heap";
  }
  EXPECT_EQ(context.is_symmetric(a.peer(context.rank())), true);
  // Bounds of the slab, to the byte.
  const auto& device = context.device();
  const char* const base = device.state().base;
  const std::size_t bytes = device.state().bytes;
  EXPECT_TRUE(device.is_symmetric(base, bytes));
  EXPECT_FALSE(device.is_symmetric(base, bytes + 1));
  EXPECT_FALSE(device.is_symmetric(base - 1, 1));
  EXPECT_TRUE(device.is_symmetric(base + bytes - 1, 1));
  EXPECT_FALSE(device.is_symmetric(base + bytes, 1));
  EXPECT_TRUE(device.is_symmetric(base + bytes, 0));
  EXPECT_FALSE(device.is_symmetric(base + 10, std::numeric_limits<std::size_t>::max() - 5));
  EXPECT_FALSE(device.is_symmetric(nullptr, 0));
  int in_kernel = 0;
  Kokkos::parallel_reduce(
      "in kernel", Kokkos::RangePolicy<TypeParam>(0, 10),
      KOKKOS_LAMBDA(int i, int& sum) {
        sum += KokkosIris::is_symmetric(device, Kokkos::subview(a, i, Kokkos::ALL)) ? 1 : 0;
      },
      in_kernel);
  EXPECT_EQ(in_kernel, 10);
}

DEVICE_TYPED_TEST(SymmetricView, StockViewOperations) {
  auto& context = self.m_context;
  const int rank = context.rank();
  const auto a = context.template empty<double**, Kokkos::LayoutLeft>("a", 13, 9);
  const auto local = self.random_matrix(rank, 13, 9);
  Kokkos::deep_copy(a, local);
  self.expect_equal(a, local);
  Kokkos::deep_copy(TypeParam(), a, 2.5);
  TypeParam().fence();
  EXPECT_EQ(::Test::get_at(a, 12, 8), 2.5);
  Kokkos::deep_copy(a.view(), local);
  const auto mirror = Kokkos::create_mirror_view(a);
  EXPECT_EQ(mirror.data() == a.data(), ::Test::on_host_v<decltype(a)>)
      << "host memory is its own mirror";
  const auto copy = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), a.view());
  self.expect_equal(copy, local);
  const auto separate = Kokkos::create_mirror(a);
  EXPECT_NE(separate.data(), a.data());
  context.barrier();
  // Straight from a peer's memory and into it.
  const auto fetched = self.random_matrix(rank, 13, 9);
  Kokkos::deep_copy(fetched, a.peer(self.next()));
  self.expect_equal(fetched, self.random_matrix(self.next(), 13, 9));
  context.barrier();
  const auto column = Kokkos::subview(a.peer(self.next()), Kokkos::ALL, 2);
  Kokkos::deep_copy(column, double(rank));
  context.barrier();
  for (int i = 0; i < 13; ++i) EXPECT_EQ(::Test::get_at(a, i, 2), double(self.previous()));
  double sum = 0.0;
  const auto theirs = a.peer(self.next());
  Kokkos::parallel_reduce(
      "sum", Kokkos::MDRangePolicy<TypeParam, Kokkos::Rank<2>>({0, 2}, {13, 3}),
      KOKKOS_LAMBDA(int i, int j, double& part) { part += theirs(i, j); }, sum);
  EXPECT_EQ(sum, 13.0 * rank);
  context.barrier();
}

DEVICE_TYPED_TEST(SymmetricView, AssignsLikeAStockView) {
  const auto a = self.m_context.template full<float* [3]>("a", 1.5f, 4);
  const Kokkos::View<float**, typename TypeParam::memory_space> run_time = a;
  const Kokkos::View<const float* [3], typename TypeParam::memory_space> constant = a;
  const Kokkos::View<float**, typename TypeParam::memory_space,
                     Kokkos::MemoryTraits<Kokkos::Unmanaged>>
      unmanaged = a;
  EXPECT_EQ(run_time.label(), "a");
  EXPECT_EQ(::Test::get_at(constant, 3, 2), 1.5f);
  EXPECT_EQ(unmanaged.data(), a.data());
  EXPECT_EQ(a.use_count(), 3);
  EXPECT_EQ(a.context().rank(), self.m_context.rank());
}

// ---------------------------------------------------------------- Kokkos Tools

std::vector<std::string> events;

template <class ExecutionSpace>
class Tools : public testing::Test {};
TYPED_TEST_SUITE(Tools, ::Test::AllExecutionSpaces, ::Test::ExecutionSpaceNames);

TYPED_TEST(Tools, SeeAllocationsKernelsAndFences) {
  using namespace Kokkos::Tools::Experimental;
  auto context = ::Test::make_context<TypeParam>();
  events.clear();
  set_allocate_data_callback(
      [](Kokkos_Profiling_SpaceHandle space, const char* label, const void*, std::uint64_t bytes) {
        events.push_back(std::string("allocate ") + space.name + " " + label + " " +
                         std::to_string(bytes));
      });
  set_deallocate_data_callback([](Kokkos_Profiling_SpaceHandle space, const char* label,
                                  const void*, std::uint64_t bytes) {
    events.push_back(std::string("free ") + space.name + " " + label + " " + std::to_string(bytes));
  });
  set_begin_parallel_for_callback([](const char* label, std::uint32_t, std::uint64_t*) {
    events.push_back(std::string("kernel ") + label);
  });
  set_begin_fence_callback([](const char* label, std::uint32_t, std::uint64_t*) {
    events.push_back(std::string("fence ") + label);
  });
  {
    const auto view = context.template zeros<double*>("pressure", 100);
    context.barrier();
  }
  set_allocate_data_callback(nullptr);
  set_deallocate_data_callback(nullptr);
  set_begin_parallel_for_callback(nullptr);
  set_begin_fence_callback(nullptr);
  const auto seen = [](const std::string& event) {
    return std::count(events.begin(), events.end(), event);
  };
  const std::string space = std::string("KokkosIris::") + TypeParam::memory_space::name();
  EXPECT_EQ(seen("allocate " + space + " pressure 800"), 1);
  EXPECT_EQ(seen("free " + space + " pressure 800"), 1);
  EXPECT_EQ(seen("kernel KokkosIris::fill"), 1);
  EXPECT_EQ(seen("fence KokkosIris::creation"), 1);
  EXPECT_GE(seen("fence KokkosIris::barrier"), 1);
  if (testing::Test::HasFailure()) {
    for (const auto& event : events) std::fprintf(stderr, "  %s\n", event.c_str());
  }
}

/// A SymmetricView with memory of one rank would reach anything on the others: these must not
/// compile, whatever form is called.
template <class View>
constexpr bool can_be_resized = requires(View view) {
  Kokkos::resize(view, 3);
}
|| requires(View view) { Kokkos::resize(Kokkos::WithoutInitializing, view, std::size_t(3)); }
|| requires(View view) { Kokkos::resize(view, view.layout()); }
|| requires(View view) { Kokkos::realloc(view, std::size_t(3)); }
|| requires(View view) { Kokkos::realloc(Kokkos::view_alloc(::Test::PlainSpace()), view, 3); }
|| requires(View view) { resize(view, 3); };
static_assert(!can_be_resized<KokkosIris::Context<Kokkos::HostSpace>::view_type<double*>>);
static_assert(
    !can_be_resized<
        KokkosIris::Context<Kokkos::DefaultExecutionSpace::memory_space>::view_type<double*>>);
static_assert(can_be_resized<Kokkos::View<double*, Kokkos::HostSpace>>);

}  // namespace
