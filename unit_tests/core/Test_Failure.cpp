// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Ranks that fail, disagree or come late: an error on every rank, once, and then all goes on.

#include <DeviceTesting.hpp>
#include <optional>

namespace {

using KokkosIris::Error;
using KokkosIris::ErrorCode;

template <class ExecutionSpace>
class Failure : public testing::Test {
 public:
  using Context = KokkosIris::Context<typename ExecutionSpace::memory_space>;
  Context m_context = ::Test::make_context<ExecutionSpace>();
  int m_rank = m_context.rank();
  int m_size = m_context.size();

  /// The context does what it did before.
  void expect_usable(int value = 3) {
    const int next = (m_rank + 1) % m_size;
    const auto view = m_context.template full<int*>("usable", value + m_rank, 100);
    ASSERT_EQ(::Test::get_at(view.peer(next), 99), value + next);
    const auto offset =
        reinterpret_cast<const char*>(view.data()) - m_context.device().state().base;
    for (const auto other : m_context.runtime().agree("offset", offset)) ASSERT_EQ(other, offset);
  }
  void maybe_delay(std::uint64_t round, int one_in) const {
    const std::uint64_t random = ::Test::random_bits(::Test::stream(m_rank, 31), round);
    if (random % std::uint64_t(one_in) == 0) usleep(useconds_t(random >> 32) % 1500);
  }
};

TYPED_TEST_SUITE(Failure, ::Test::HeapSpaces, ::Test::ExecutionSpaceNames);

/// Calls randint with an empty interval on the failing rank; true if it threw what it should.
template <class Context>
::testing::AssertionResult throws_as_it_should(Context& context, int failing) {
  const bool mine = context.rank() == failing;
  try {
    context.template randint<int*>("r", 5, mine ? 5 : 15, 10);
  } catch (const Error& error) {
    const std::string text = error.what();
    const std::string origin = "rank " + std::to_string(failing);
    const auto expected = mine ? ErrorCode::invalid_argument : ErrorCode::peer_failed;
    if (error.code() != expected) return ::testing::AssertionFailure() << text;
    if (error.rank() != context.rank()) return ::testing::AssertionFailure() << error.rank();
    for (const std::string& part : {origin, std::string("randint"), std::string("is empty")}) {
      if (text.find(part) == std::string::npos) {
        return ::testing::AssertionFailure() << "no '" << part << "' in " << text;
      }
    }
    return ::testing::AssertionSuccess();
  }
  return ::testing::AssertionFailure() << "did not throw";
}

DEVICE_TYPED_TEST(Failure, OfOneRankIsRaisedOnceOnAll) {
  [[maybe_unused]] auto& m_context = self.m_context;
  [[maybe_unused]] const int m_rank = self.m_rank;
  [[maybe_unused]] const int m_size = self.m_size;
  for (std::uint64_t round = 0; round < 100; ++round) {
    const int failing = int(::Test::random_bits(11, round) % std::uint64_t(m_size));
    self.maybe_delay(3 * round, 4);
    ASSERT_TRUE(throws_as_it_should(m_context, failing)) << "round " << round;
    self.maybe_delay(3 * round + 1, 4);
    self.expect_usable(int(round));
    self.maybe_delay(3 * round + 2, 4);
  }
}

DEVICE_TYPED_TEST(Failure, ManyInARowWithoutASuccessBetween) {
  [[maybe_unused]] auto& m_context = self.m_context;
  [[maybe_unused]] const int m_rank = self.m_rank;
  [[maybe_unused]] const int m_size = self.m_size;
  for (std::uint64_t round = 0; round < 100; ++round) {
    const int failing = int(::Test::random_bits(12, round) % std::uint64_t(m_size));
    self.maybe_delay(round, 3);
    ASSERT_TRUE(throws_as_it_should(m_context, failing)) << "round " << round;
  }
  self.expect_usable();
}

DEVICE_TYPED_TEST(Failure, OfAllRanksAtOnce) {
  [[maybe_unused]] auto& m_context = self.m_context;
  [[maybe_unused]] const int m_rank = self.m_rank;
  [[maybe_unused]] const int m_size = self.m_size;
  for (int round = 0; round < 50; ++round) {
    self.maybe_delay(std::uint64_t(round), 4);
    ::Test::expect_error(
        ErrorCode::invalid_argument, [&] { m_context.template randint<int*>("r", 5, 5, 10); },
        "is empty");
    if (round % 3 == 0) self.expect_usable();
  }
}

DEVICE_TYPED_TEST(Failure, IsFoundByCheck) {
  [[maybe_unused]] auto& m_context = self.m_context;
  [[maybe_unused]] const int m_rank = self.m_rank;
  [[maybe_unused]] const int m_size = self.m_size;
  auto& runtime = m_context.runtime();
  EXPECT_NO_THROW(runtime.check("test"));
  m_context.barrier();
  if (m_rank == 0) {
    ::Test::expect_error(
        ErrorCode::system, [&] { runtime.fail(ErrorCode::system, "test", "no luck"); }, "no luck");
    EXPECT_NO_THROW(runtime.check("test")) << "this rank has thrown it already";
  } else {
    bool failed = false;
    KokkosIris::Impl::WaitSite site{KokkosIris::Impl::WaitPhase::user_wait, -1};
    failed = !runtime.wait_until(
        site, [](void*) { return false; }, nullptr);
    EXPECT_TRUE(failed);
    ::Test::expect_error(
        ErrorCode::peer_failed, [&] { runtime.check("other"); }, "rank 0", "test", "no luck",
        "KokkosIris::other");
    EXPECT_NO_THROW(runtime.check("other"));
  }
  self.expect_usable();
}

DEVICE_TYPED_TEST(Failure, RecoveryAdvancesTheEpoch) {
  [[maybe_unused]] auto& m_context = self.m_context;
  [[maybe_unused]] const int m_rank = self.m_rank;
  [[maybe_unused]] const int m_size = self.m_size;
  const std::uint64_t epoch = m_context.runtime().epoch();
  EXPECT_TRUE(throws_as_it_should(m_context, 0));
  m_context.barrier();
  EXPECT_EQ(m_context.runtime().epoch(), epoch + 1);
  m_context.barrier();
  EXPECT_EQ(m_context.runtime().epoch(), epoch + 1);
}

DEVICE_TYPED_TEST(Failure, MismatchedSizes) {
  [[maybe_unused]] auto& m_context = self.m_context;
  [[maybe_unused]] const int m_rank = self.m_rank;
  [[maybe_unused]] const int m_size = self.m_size;
  if (m_size == 1) GTEST_SKIP() << "needs two ranks";
  const int odd = m_size - 1;
  for (int round = 0; round < 20; ++round) {
    self.maybe_delay(std::uint64_t(round), 4);
    ::Test::expect_error(
        ErrorCode::mismatch, [&] { m_context.template zeros<int*>("z", m_rank == odd ? 8 : 7); },
        "zeros", "rank 0 28 bytes (7)", "rank " + std::to_string(odd) + " 32 bytes (8)");
    self.expect_usable();
  }
  EXPECT_THROW(m_context.template zeros<int*>("z", m_rank == odd ? std::size_t(1) << 50 : 7),
               Error);
  self.expect_usable();
}

DEVICE_TYPED_TEST(Failure, MismatchedShapesOfEqualSize) {
  [[maybe_unused]] auto& m_context = self.m_context;
  [[maybe_unused]] const int m_rank = self.m_rank;
  [[maybe_unused]] const int m_size = self.m_size;
  if (m_size == 1) GTEST_SKIP() << "needs two ranks";
  const bool odd = m_rank == m_size - 1;
  ::Test::expect_error(
      ErrorCode::mismatch, [&] { m_context.template zeros<int**>("z", odd ? 3 : 2, odd ? 2 : 3); },
      "24 bytes (2 x 3)", "24 bytes (3 x 2)");
  ::Test::expect_error(
      ErrorCode::mismatch,
      [&] {
        if (odd) {
          m_context.template zeros<float*>("z", 4);
        } else {
          m_context.template zeros<int*>("z", 4);
        }
      },
      "element types or layouts");
  ::Test::expect_error(
      ErrorCode::mismatch,
      [&] {
        if (odd) {
          m_context.template zeros<int**, Kokkos::LayoutLeft>("z", 4, 4);
        } else {
          m_context.template zeros<int**, Kokkos::LayoutRight>("z", 4, 4);
        }
      },
      "element types or layouts");
  self.expect_usable();
}

DEVICE_TYPED_TEST(Failure, MismatchedCalls) {
  [[maybe_unused]] auto& m_context = self.m_context;
  [[maybe_unused]] const int m_rank = self.m_rank;
  [[maybe_unused]] const int m_size = self.m_size;
  if (m_size == 1) GTEST_SKIP() << "needs two ranks";
  const int odd = m_size - 1;
  for (int round = 0; round < 20; ++round) {
    self.maybe_delay(std::uint64_t(round), 4);
    ::Test::expect_error(
        ErrorCode::mismatch,
        [&] {
          if (m_rank == odd) {
            m_context.barrier();
          } else {
            m_context.template zeros<int*>("z", 5);
          }
        },
        m_rank == odd ? "'zeros'" : "'barrier'", "same order");
    self.expect_usable();
  }
  ::Test::expect_error(ErrorCode::mismatch, [&] {
    if (m_rank == odd) {
      m_context.template ones<int*>("z", 5);
    } else {
      m_context.template zeros<int*>("z", 5);
    }
  });
  self.expect_usable();
}

DEVICE_TYPED_TEST(Failure, TimeoutNamesWhoWaitedForWhom) {
  [[maybe_unused]] auto& m_context = self.m_context;
  [[maybe_unused]] const int m_rank = self.m_rank;
  [[maybe_unused]] const int m_size = self.m_size;
  if (m_size == 1) GTEST_SKIP() << "needs two ranks";
  auto context = ::Test::make_context<TypeParam>({.timeout = 1.0});
  const int late = m_size - 1;
  MPI_Barrier(MPI_COMM_WORLD);
  if (m_rank == late) ::Test::delay(1500);
  ::Test::expect_error(
      ErrorCode::timeout, [&] { context.barrier(); }, "waited longer than 1 s",
      "KOKKOSIRIS_TIMEOUT", "'barrier' of rank " + std::to_string(late));
  EXPECT_NO_THROW(context.barrier()) << "all are here again";
  EXPECT_EQ(::Test::get_at(context.template full<int>("x", 4)), 4);
}

/// The other ranks give up waiting for a rank that does not come back after an error; when it does,
/// they come together all the same.
DEVICE_TYPED_TEST(Failure, ComingBackLate) {
  [[maybe_unused]] auto& m_context = self.m_context;
  [[maybe_unused]] const int m_rank = self.m_rank;
  [[maybe_unused]] const int m_size = self.m_size;
  if (m_size == 1) GTEST_SKIP() << "needs two ranks";
  for (const int late : {0, m_size - 1}) {
    auto context = ::Test::make_context<TypeParam>({.timeout = 1.0});
    const auto word = context.template zeros<int*>("word", 1);
    const std::uint64_t epoch = context.runtime().epoch();
    EXPECT_TRUE(throws_as_it_should(context, m_size - 1 - late));
    MPI_Barrier(MPI_COMM_WORLD);
    if (m_rank != late) {
      for (int attempt = 0; attempt < (late == 0 ? 2 : 1); ++attempt) {
        ::Test::expect_error(
            ErrorCode::timeout, [&] { context.barrier(); },
            "rank " + std::to_string(late) + " did not come back");
        EXPECT_EQ(context.runtime().epoch(), epoch);
      }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    EXPECT_NO_THROW(context.barrier()) << "late: " << late;
    EXPECT_EQ(context.runtime().epoch(), epoch + 1);
    // Allocation is in step, too.
    const auto view = context.template full<int*>("v", m_rank, 10);
    EXPECT_EQ(::Test::get_at(view.peer(late), 3), late);
    EXPECT_EQ(::Test::get_at(word, 0), 0);
    context.barrier();
    // And the next error is one like the first.
    EXPECT_TRUE(throws_as_it_should(context, late));
    EXPECT_NO_THROW(context.barrier());
    EXPECT_EQ(context.runtime().epoch(), epoch + 2);
  }
  self.expect_usable();
}

DEVICE_TYPED_TEST(Failure, NoTimeout) {
  [[maybe_unused]] auto& m_context = self.m_context;
  [[maybe_unused]] const int m_rank = self.m_rank;
  [[maybe_unused]] const int m_size = self.m_size;
  auto context = ::Test::make_context<TypeParam>({.timeout = 0.0});
  if (m_rank == 0) ::Test::delay(100);
  EXPECT_NO_THROW(context.barrier());
}

DEVICE_TYPED_TEST(Failure, LeavingWhileOthersWait) {
  [[maybe_unused]] auto& m_context = self.m_context;
  [[maybe_unused]] const int m_rank = self.m_rank;
  [[maybe_unused]] const int m_size = self.m_size;
  if (m_size == 1) GTEST_SKIP() << "needs two ranks";
  std::optional<typename Failure<TypeParam>::Context> context(::Test::make_context<TypeParam>());
  if (m_rank == 0) {
    ::Test::delay(20);
    context.reset();
  } else {
    ::Test::expect_error(
        ErrorCode::peer_died, [&] { context->barrier(); }, "rank 0", "destroyed its context");
    ::Test::expect_error(
        ErrorCode::peer_died, [&] { context->barrier(); }, "destroy the context");
    EXPECT_THROW(context->template zeros<int*>("z", 1), Error);
  }
  self.expect_usable();
}

DEVICE_TYPED_TEST(Failure, ErrorOnOneRankAndThenLeaving) {
  [[maybe_unused]] auto& m_context = self.m_context;
  [[maybe_unused]] const int m_rank = self.m_rank;
  [[maybe_unused]] const int m_size = self.m_size;
  if (m_size == 1) GTEST_SKIP() << "needs two ranks";
  std::optional<typename Failure<TypeParam>::Context> context(::Test::make_context<TypeParam>());
  EXPECT_TRUE(throws_as_it_should(*context, 0));
  if (m_rank == 0) {
    context.reset();
  } else {
    ::Test::expect_error(
        ErrorCode::peer_died, [&] { context->barrier(); }, "destroy the context");
  }
  self.expect_usable();
}

DEVICE_TYPED_TEST(Failure, InsideKernelWaits) {
  [[maybe_unused]] auto& m_context = self.m_context;
  [[maybe_unused]] const int m_rank = self.m_rank;
  [[maybe_unused]] const int m_size = self.m_size;
  // A condition that nobody fulfils: the failure of rank 0 ends the wait in all kernels.
  const auto device = m_context.device();
  const int last = m_size - 1;
  if (m_rank == 0) {
    ::Test::delay(5);
    EXPECT_THROW(m_context.template randint<int*>("r", 1, 1, 1), Error);
  } else {
    int given_up = 0;
    Kokkos::parallel_reduce(
        "wait", Kokkos::RangePolicy<TypeParam>(0, 1),
        KOKKOS_LAMBDA(int, int& sum) {
          const bool ready = KokkosIris::Impl::wait(
              device, {KokkosIris::Impl::WaitPhase::user_wait, last}, [] { return false; });
          sum += ready ? 0 : 1;
        },
        given_up);
    EXPECT_EQ(given_up, 1);
    EXPECT_THROW(m_context.runtime().check("test"), Error);
  }
  self.expect_usable();
}

TEST(HostWait, CountersMayWrapAround) {
  auto outer = ::Test::make_context();
  const auto device = outer.device();
  const std::uint32_t flag = 5;
  const KokkosIris::Impl::WaitSite site{KokkosIris::Impl::WaitPhase::user_wait, -1};
  EXPECT_TRUE(KokkosIris::Impl::wait_counter(device, site, &flag, 5u));
  EXPECT_TRUE(KokkosIris::Impl::wait_counter(device, site, &flag, 0xfffffff0u))
      << "5 is 21 past 2^32 - 16";
  auto context = ::Test::make_context({.timeout = 0.05});
  if (outer.size() == 1) {
    EXPECT_FALSE(KokkosIris::Impl::wait_counter(context.device(), site, &flag, 6u));
    ::Test::expect_error(
        ErrorCode::timeout, [&] { context.runtime().check("test"); }, "wait_until");
    EXPECT_NO_THROW(context.barrier());
  }
  outer.barrier();
}

}  // namespace
