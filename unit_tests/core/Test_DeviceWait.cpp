// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Waits inside kernels: that they see what other ranks' kernels write, and how they are given up.
// And that host and device agree on what is passed between them.

#include <DeviceTesting.hpp>
#include <chrono>
#include <optional>

namespace {

using KokkosIris::ErrorCode;
using KokkosIris::Impl::WaitPhase;
using KokkosIris::Impl::WaitSite;

template <class ExecutionSpace>
class DeviceWait : public testing::Test {
 public:
  using Context = KokkosIris::Context<typename ExecutionSpace::memory_space>;
  using Flag = typename Context::template view_type<std::uint64_t>;
  Context m_context = ::Test::make_context<ExecutionSpace>();
  int m_rank = m_context.rank();
  int m_size = m_context.size();
  int m_next = (m_rank + 1) % m_size;
  int m_previous = (m_rank + m_size - 1) % m_size;
};
TYPED_TEST_SUITE(DeviceWait, ::Test::AllExecutionSpaces, ::Test::ExecutionSpaceNames);

/// A kernel of one thread that waits until the flag is at least `target`. \return 1 if it gave up
template <class ExecutionSpace, class FlagView>
int wait_in_kernel(const KokkosIris::DeviceContext& device, const FlagView& flag,
                   std::uint64_t target, int peer) {
  int given_up = 0;
  Kokkos::parallel_reduce(
      "wait", Kokkos::RangePolicy<ExecutionSpace>(0, 1),
      KOKKOS_LAMBDA(int, int& sum) {
        sum += KokkosIris::Impl::wait_counter(device, WaitSite{WaitPhase::user_wait, peer},
                                              flag.data(), target)
                   ? 0
                   : 1;
      },
      given_up);
  return given_up;
}

struct Sizes {
  std::size_t values[12];
};

template <class View, class SymmetricView>
KOKKOS_FUNCTION Sizes sizes_here() {
  using KokkosIris::Impl::DeviceControl;
  return {
      {sizeof(View), alignof(View), sizeof(SymmetricView), alignof(SymmetricView),
       sizeof(KokkosIris::DeviceContext), alignof(KokkosIris::DeviceContext),
       sizeof(Kokkos::View<double, Kokkos::LayoutLeft, typename View::memory_space>),
       sizeof(typename SymmetricView::peer_view_type), sizeof(DeviceControl),
       sizeof(KokkosIris::half_t), sizeof(KokkosIris::bhalf_t),
       sizeof(Kokkos::View<const float* [3], Kokkos::LayoutStride, typename View::memory_space>)}};
}

DEVICE_TYPED_TEST(DeviceWait, HostAndDeviceAgreeOnSizes) {
  using Symmetric = typename DeviceWait<TypeParam>::Context::template view_type<int**>;
  using View = typename Symmetric::view_type;
  const ::Test::SharedView<Sizes, TypeParam> on_device("sizes");
  Kokkos::parallel_for(
      "sizes", Kokkos::RangePolicy<TypeParam>(0, 1),
      KOKKOS_LAMBDA(int) { on_device() = sizes_here<View, Symmetric>(); });
  TypeParam().fence();
  const Sizes here = sizes_here<View, Symmetric>();
  for (int i = 0; i < 12; ++i) EXPECT_EQ(on_device().values[i], here.values[i]) << "type " << i;
  // The values of all members, at both ends of the classes.
  const auto device = self.m_context.device();
  const auto view = self.m_context.template zeros<int**>("v", 3, 5);
  const ::Test::SharedView<std::uint64_t[6], TypeParam> members("members");
  Kokkos::parallel_for(
      "members", Kokkos::RangePolicy<TypeParam>(0, 1), KOKKOS_LAMBDA(int) {
        members(0) = std::uint64_t(device.rank());
        members(1) = reinterpret_cast<std::uint64_t>(device.state().queues);
        members(2) = reinterpret_cast<std::uint64_t>(view.data());
        members(3) = view.extent(1);
        members(4) = std::uint64_t(view.context().size());
        members(5) = reinterpret_cast<std::uint64_t>(view.context().state().queues);
      });
  TypeParam().fence();
  EXPECT_EQ(members(0), std::uint64_t(self.m_rank));
  EXPECT_EQ(members(1), reinterpret_cast<std::uint64_t>(device.state().queues));
  EXPECT_EQ(members(2), reinterpret_cast<std::uint64_t>(view.data()));
  EXPECT_EQ(members(3), 5u);
  EXPECT_EQ(members(4), std::uint64_t(self.m_size));
  EXPECT_EQ(members(5), members(1));
}

template <class ExecutionSpace, class Ints, class FlagView>
void pass_on(const Ints& data, const FlagView& flag, std::uint64_t value, int next) {
  Kokkos::parallel_for(
      "pass on", Kokkos::RangePolicy<ExecutionSpace>(0, 1), KOKKOS_LAMBDA(int) {
        const auto theirs = data.peer(next);
        for (std::size_t i = 0; i < theirs.extent(0); ++i) theirs(i) = int(value * 100 + i);
        KokkosIris::Impl::store_release(flag.peer(next).data(), value);
      });
}

/// Plain data behind a flag, both written by a kernel of the rank before.
DEVICE_TYPED_TEST(DeviceWait, SeesWhatAnotherRanksKernelReleased) {
  const auto flag = self.m_context.template zeros<std::uint64_t>("flag");
  const auto consumed = self.m_context.template zeros<std::uint64_t>("consumed");
  const auto data = self.m_context.template zeros<int*>("data", 64);
  const auto device = self.m_context.device();
  for (std::uint64_t round = 1; round <= 50; ++round) {
    const bool late = ::Test::random_bits(::Test::stream(self.m_rank, 3), round) % 8 == 0;
    if (late) ::Test::delay(1);
    pass_on<TypeParam>(data, flag, round, self.m_next);
    ASSERT_EQ(wait_in_kernel<TypeParam>(device, flag, round, self.m_previous), 0);
    const auto seen = ::Test::staged(data.view());
    for (std::size_t i = 0; i < 64; ++i) ASSERT_EQ(seen(i), int(round * 100 + i)) << round;
    Kokkos::parallel_for(
        "consumed", Kokkos::RangePolicy<TypeParam>(0, 1), KOKKOS_LAMBDA(int) {
          KokkosIris::Impl::store_release(
              consumed.peer(device.rank() == 0 ? device.size() - 1 : device.rank() - 1).data(),
              round);
        });
    ASSERT_EQ(wait_in_kernel<TypeParam>(device, consumed, round, self.m_next), 0);
  }
  self.m_context.barrier();
}

DEVICE_TYPED_TEST(DeviceWait, CountersMayWrapAround) {
  const auto flag = self.m_context.template full<std::uint64_t>("flag", 5);
  EXPECT_EQ(wait_in_kernel<TypeParam>(self.m_context.device(), flag, 5, -1), 0);
  EXPECT_EQ(wait_in_kernel<TypeParam>(self.m_context.device(), flag, ~std::uint64_t(0) - 9, -1), 0)
      << "5 is 15 past 2^64 - 10";
  self.m_context.barrier();
}

DEVICE_TYPED_TEST(DeviceWait, DeadlineNamesWhoWaitedForWhom) {
  auto context = ::Test::make_context<TypeParam>({.timeout = 0.5});
  const auto flag = context.template zeros<std::uint64_t>("flag");
  for (int round = 0; round < 2; ++round) {
    const auto start = std::chrono::steady_clock::now();
    EXPECT_EQ(wait_in_kernel<TypeParam>(context.device(), flag, 1, self.m_next), 1);
    const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - start;
    EXPECT_GT(waited.count(), 0.2) << "ranks may be late by some, but not give up at once";
    EXPECT_LT(waited.count(), 10.0);
    ::Test::expect_error(
        ErrorCode::timeout, [&] { context.runtime().check("test"); }, "waited longer than 0.5 s",
        "KOKKOSIRIS_TIMEOUT", "a condition of wait_until of rank ");
    EXPECT_NO_THROW(context.barrier()) << "usable again";
    const auto view = context.template full<int>("x", 4 + round);
    EXPECT_EQ(::Test::get_at(view.peer(self.m_next)), 4 + round);
    context.barrier();
  }
}

DEVICE_TYPED_TEST(DeviceWait, FailureOfAnotherRankEndsIt) {
  const auto flag = self.m_context.template zeros<std::uint64_t>("flag");
  if (self.m_rank == 0) {
    ::Test::delay(50);
    EXPECT_THROW(self.m_context.template randint<int*>("r", 1, 1, 1), KokkosIris::Error);
  } else {
    EXPECT_EQ(wait_in_kernel<TypeParam>(self.m_context.device(), flag, 1, 0), 1);
    ::Test::expect_error(
        ErrorCode::peer_failed, [&] { self.m_context.runtime().check("test"); }, "rank 0",
        "randint");
  }
  EXPECT_NO_THROW(self.m_context.barrier());
  const auto view = self.m_context.template full<int>("x", self.m_rank);
  EXPECT_EQ(::Test::get_at(view.peer(self.m_next)), self.m_next);
  self.m_context.barrier();
}

/// Rank 0 destroys its context in good order while the others wait for it in a kernel.
DEVICE_TYPED_TEST(DeviceWait, RankThatLeavesEndsIt) {
  if (self.m_size == 1) GTEST_SKIP() << "needs two ranks";
  std::optional<typename DeviceWait<TypeParam>::Context> context(
      ::Test::make_context<TypeParam>({.timeout = 20.0}));
  auto flag = context->template zeros<std::uint64_t>("flag");
  if (self.m_rank == 0) {
    flag = {};
    ::Test::delay(50);
    context.reset();
  } else {
    const auto start = std::chrono::steady_clock::now();
    EXPECT_EQ(wait_in_kernel<TypeParam>(context->device(), flag, 1, 0), 1);
    const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - start;
    EXPECT_LT(waited.count(), 5.0);
    ::Test::expect_error(
        ErrorCode::peer_died, [&] { context->runtime().check("test"); }, "rank 0",
        "destroyed its context");
  }
}

/// Waits of many threads at once, all of which the failure ends.
DEVICE_TYPED_TEST(DeviceWait, ManyThreadsGiveUp) {
  auto context = ::Test::make_context<TypeParam>({.timeout = 0.3});
  const auto flag = context.template zeros<std::uint64_t>("flag");
  const auto device = context.device();
  const int peer = self.m_next;
  const int threads = KokkosIris::Impl::is_gpu_space_v<TypeParam> ? 4096 : 2;
  int given_up = 0;
  Kokkos::parallel_reduce(
      "wait", Kokkos::RangePolicy<TypeParam>(0, threads),
      KOKKOS_LAMBDA(int, int& sum) {
        sum += KokkosIris::Impl::wait_counter(device, WaitSite{WaitPhase::user_wait, peer},
                                              flag.data(), std::uint64_t(1))
                   ? 0
                   : 1;
      },
      given_up);
  EXPECT_EQ(given_up, threads);
  ::Test::expect_error(
      ErrorCode::timeout, [&] { context.runtime().check("test"); }, "0.3 s");
  EXPECT_NO_THROW(context.barrier());
}

/// A host context and one of the device in one program, with views in one kernel's scope.
DEVICE_TYPED_TEST(DeviceWait, ContextsOfBothKindsSideBySide) {
  auto host = ::Test::make_context<Kokkos::DefaultHostExecutionSpace>();
  const auto on_host = host.template arange<int*>("host", 0, 100);
  const auto on_device = self.m_context.template arange<int*>("device", 100, 200);
  const auto copy = self.m_context.as_symmetric(on_host.peer(self.m_next));
  host.barrier();
  EXPECT_TRUE(host.is_symmetric(on_host));
  EXPECT_FALSE(self.m_context.is_symmetric(on_host));
  EXPECT_FALSE(host.is_symmetric(on_device));
  for (int i = 0; i < 100; i += 33) {
    EXPECT_EQ(on_host(i), i);
    EXPECT_EQ(::Test::get_at(on_device, i), 100 + i);
    EXPECT_EQ(::Test::get_at(copy.peer(self.m_previous), i), i);
  }
  self.m_context.barrier();
}

}  // namespace
