// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Symmetric views as what they are: stock Views, here and of the memory of other ranks.

#include <TestUtilities.hpp>
#include <algorithm>
#include <string>
#include <vector>

namespace {

using KokkosIris::ErrorCode;
using Context = KokkosIris::Context<Kokkos::HostSpace>;

template <class ExecutionSpace>
class SymmetricView : public testing::Test {
 protected:
  using Matrix = Kokkos::View<double**, Kokkos::LayoutLeft, Kokkos::HostSpace>;
  Context m_context = ::Test::make_context<ExecutionSpace>();
  int next() const { return (m_context.rank() + 1) % m_context.size(); }
  int previous() const { return (m_context.rank() + m_context.size() - 1) % m_context.size(); }

  template <class A, class B>
  void expect_equal(const A& a, const B& b) {
    ASSERT_EQ(::Test::count(a), ::Test::count(b));
    for (std::size_t i = 0; i < ::Test::count(a); ++i) {
      ASSERT_EQ(::Test::element(a, i), ::Test::element(b, i)) << i;
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
TYPED_TEST_SUITE(SymmetricView, ::Test::ExecutionSpaces, ::Test::ExecutionSpaceNames);

TYPED_TEST(SymmetricView, PeerInKernels) {
  using Policy = Kokkos::RangePolicy<TypeParam>;
  const auto a = this->m_context.template full<long*>("a", -1, 1000);
  const auto theirs_outside = a.peer(this->next());
  static_assert(
      std::is_same_v<typename decltype(theirs_outside)::traits::memory_space, Kokkos::HostSpace>);
  static_assert(decltype(theirs_outside)::memory_traits::is_unmanaged);
  const int next = this->next();
  const int rank = this->m_context.rank();
  Kokkos::parallel_for(
      "neighbour", Policy(0, 500), KOKKOS_LAMBDA(int i) {
        const auto theirs = a.peer(next);
        theirs(2 * i) = 1000 * rank + i;
        theirs_outside(2 * i + 1) = -1000 * rank - i;
      });
  this->m_context.barrier(TypeParam());
  for (int i = 0; i < 500; ++i) {
    ASSERT_EQ(a(2 * i), 1000 * this->previous() + i);
    ASSERT_EQ(a(2 * i + 1), -1000 * this->previous() - i);
  }
  EXPECT_EQ(a.peer(rank).data(), a.data());
}

TYPED_TEST(SymmetricView, PeerOfSubviews) {
  auto& context = this->m_context;
  const auto a = context.template zeros<int***, Kokkos::LayoutRight>("a", 6, 7, 8);
  const auto part = Kokkos::subview(a, std::pair(1, 5), 3, std::pair(2, 8));
  const auto theirs = KokkosIris::peer(context.device(), part, this->next());
  ASSERT_EQ(theirs.extent(0), 4u);
  ASSERT_EQ(theirs.extent(1), 6u);
  for (std::size_t i = 0; i < 4; ++i) {
    for (std::size_t j = 0; j < 6; ++j) theirs(i, j) = 100 * (context.rank() + 1) + int(10 * i + j);
  }
  context.barrier();
  for (std::size_t i = 0; i < 6; ++i) {
    for (std::size_t j = 0; j < 7; ++j) {
      for (std::size_t k = 0; k < 8; ++k) {
        const bool written = i >= 1 && i < 5 && j == 3 && k >= 2;
        const int expected =
            written ? 100 * (this->previous() + 1) + int(10 * (i - 1) + (k - 2)) : 0;
        ASSERT_EQ(a(i, j, k), expected) << i << " " << j << " " << k;
      }
    }
  }
  const Kokkos::View<const int***, Kokkos::LayoutRight, Kokkos::HostSpace> constant = a;
  const auto their_constant = KokkosIris::peer(context.device(), constant, this->next());
  static_assert(std::is_const_v<typename decltype(their_constant)::value_type>);
  EXPECT_EQ(their_constant(1, 3, 2), 100 * (context.rank() + 1));
  const auto one = KokkosIris::peer(context.device(), Kokkos::subview(a, 2, 3, 4), this->next());
  EXPECT_EQ(one(), 100 * (context.rank() + 1) + 12);
  context.barrier();
}

TYPED_TEST(SymmetricView, AsSymmetricFromAnyLayout) {
  const int rank = this->m_context.rank();
  const auto left = this->random_matrix(rank, 13, 9);
  const auto left_next = this->random_matrix(this->next(), 13, 9);
  this->expect_copied(left, left_next);
  using Right = Kokkos::View<double**, Kokkos::LayoutRight, Kokkos::HostSpace>;
  const Right right("right", 13, 9);
  const Right right_next("right", 13, 9);
  Kokkos::deep_copy(right, left);
  Kokkos::deep_copy(right_next, left_next);
  this->expect_copied(right, right_next);
  // Rows of a column-major matrix, a part of a padded one, a strided view with gaps.
  this->expect_copied(Kokkos::subview(left, 4, Kokkos::ALL),
                      Kokkos::subview(left_next, 4, Kokkos::ALL));
  this->expect_copied(Kokkos::subview(left, std::pair(2, 11), std::pair(1, 8)),
                      Kokkos::subview(left_next, std::pair(2, 11), std::pair(1, 8)));
  this->expect_copied(Kokkos::subview(right, Kokkos::ALL, std::pair(3, 5)),
                      Kokkos::subview(right_next, Kokkos::ALL, std::pair(3, 5)));
  const Kokkos::LayoutStride gaps(3, 4, 2, 40);
  using Strided = Kokkos::View<double**, Kokkos::LayoutStride, Kokkos::HostSpace>;
  this->expect_copied(
      Strided(left.data(), gaps.dimension[0] > 0 ? Kokkos::LayoutStride(3, 4, 2, 39) : gaps),
      Strided(left_next.data(), Kokkos::LayoutStride(3, 4, 2, 39)));
  const Kokkos::View<double, Kokkos::HostSpace> scalar("scalar");
  const Kokkos::View<double, Kokkos::HostSpace> scalar_next("scalar");
  scalar() = rank;
  scalar_next() = this->next();
  this->expect_copied(scalar, scalar_next);
  const Kokkos::View<const double**, Kokkos::LayoutLeft, Kokkos::HostSpace> constant = left;
  const auto copy = this->m_context.as_symmetric(constant);
  static_assert(std::is_same_v<typename decltype(copy)::value_type, double>);
  this->expect_equal(copy, left);
  const auto empty = this->m_context.as_symmetric(Kokkos::View<double**>("nothing", 0, 5));
  EXPECT_EQ(empty.extent(1), 5u);
}

TYPED_TEST(SymmetricView, IsSymmetric) {
  auto& context = this->m_context;
  const auto a = context.template zeros<int**, Kokkos::LayoutRight>("a", 10, 20);
  EXPECT_TRUE(context.is_symmetric(a));
  EXPECT_TRUE(context.is_symmetric(a.view()));
  EXPECT_TRUE(context.is_symmetric(Kokkos::subview(a, Kokkos::ALL, 3)));
  EXPECT_TRUE(context.is_symmetric(Kokkos::subview(a, 9, std::pair(20, 20))));
  EXPECT_TRUE(context.is_symmetric(context.template zeros<int*>("none", 0)));
  EXPECT_FALSE(context.is_symmetric(Kokkos::View<int*, Kokkos::HostSpace>()));
  EXPECT_FALSE(context.is_symmetric(Context::view_type<int*>()));
  EXPECT_FALSE(context.is_symmetric(Kokkos::View<int*, Kokkos::HostSpace>("own", 5)));
  int on_stack[4] = {};
  EXPECT_FALSE(context.is_symmetric(Kokkos::View<int*, Kokkos::HostSpace>(on_stack, 4)));
  if (context.size() > 1) {
    EXPECT_FALSE(context.is_symmetric(a.peer(this->next()))) << "that is the peer's heap";
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

TYPED_TEST(SymmetricView, StockViewOperations) {
  auto& context = this->m_context;
  const int rank = context.rank();
  const auto a = context.template empty<double**, Kokkos::LayoutLeft>("a", 13, 9);
  const auto local = this->random_matrix(rank, 13, 9);
  Kokkos::deep_copy(a, local);
  this->expect_equal(a, local);
  Kokkos::deep_copy(TypeParam(), a, 2.5);
  EXPECT_EQ(a(12, 8), 2.5);
  Kokkos::deep_copy(a.view(), local);
  const auto mirror = Kokkos::create_mirror_view(a);
  EXPECT_EQ(mirror.data(), a.data()) << "host memory is its own mirror";
  const auto copy = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), a.view());
  this->expect_equal(copy, local);
  const auto separate = Kokkos::create_mirror(a);
  EXPECT_NE(separate.data(), a.data());
  context.barrier();
  // Straight from a peer's memory and into it.
  const auto fetched = this->random_matrix(rank, 13, 9);
  Kokkos::deep_copy(fetched, a.peer(this->next()));
  this->expect_equal(fetched, this->random_matrix(this->next(), 13, 9));
  context.barrier();
  const auto column = Kokkos::subview(a.peer(this->next()), Kokkos::ALL, 2);
  Kokkos::deep_copy(column, double(rank));
  context.barrier();
  for (int i = 0; i < 13; ++i) EXPECT_EQ(a(i, 2), double(this->previous()));
  double sum = 0.0;
  const auto theirs = a.peer(this->next());
  Kokkos::parallel_reduce(
      "sum", Kokkos::MDRangePolicy<TypeParam, Kokkos::Rank<2>>({0, 2}, {13, 3}),
      KOKKOS_LAMBDA(int i, int j, double& part) { part += theirs(i, j); }, sum);
  EXPECT_EQ(sum, 13.0 * rank);
  context.barrier();
}

TYPED_TEST(SymmetricView, AssignsLikeAStockView) {
  const auto a = this->m_context.template full<float* [3]>("a", 1.5f, 4);
  const Kokkos::View<float**, Kokkos::HostSpace> run_time = a;
  const Kokkos::View<const float* [3], Kokkos::HostSpace> constant = a;
  const Kokkos::View<float**, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>
      unmanaged = a;
  EXPECT_EQ(run_time.label(), "a");
  EXPECT_EQ(constant(3, 2), 1.5f);
  EXPECT_EQ(unmanaged.data(), a.data());
  EXPECT_EQ(a.use_count(), 3);
  EXPECT_EQ(a.context().rank(), this->m_context.rank());
}

// ---------------------------------------------------------------- Kokkos Tools

std::vector<std::string> events;

TEST(Tools, SeeAllocationsKernelsAndFences) {
  using namespace Kokkos::Tools::Experimental;
  auto context = ::Test::make_context();
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
    const auto view = context.zeros<double*>("pressure", 100);
    context.barrier();
  }
  set_allocate_data_callback(nullptr);
  set_deallocate_data_callback(nullptr);
  set_begin_parallel_for_callback(nullptr);
  set_begin_fence_callback(nullptr);
  const auto seen = [](const std::string& event) {
    return std::count(events.begin(), events.end(), event);
  };
  EXPECT_EQ(seen("allocate KokkosIris::Host pressure 800"), 1);
  EXPECT_EQ(seen("free KokkosIris::Host pressure 800"), 1);
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
|| requires(View view) { Kokkos::realloc(Kokkos::view_alloc(Kokkos::Serial()), view, 3); }
|| requires(View view) { resize(view, 3); };
static_assert(!can_be_resized<KokkosIris::Context<Kokkos::HostSpace>::view_type<double*>>);
static_assert(can_be_resized<Kokkos::View<double*, Kokkos::HostSpace>>);

}  // namespace
