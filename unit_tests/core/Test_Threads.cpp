// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// ranks: 1

// Ranks as threads of one process, for the thread sanitizer; and failures that come at any moment.

#include <sched.h>

#include <TestUtilities.hpp>
#include <ThreadBootstrap.hpp>
#include <atomic>
#include <chrono>
#include <string_view>
#include <vector>

namespace {

using KokkosIris::Error;
using KokkosIris::ErrorCode;
using KokkosIris::Impl::Bootstrap;
using Context = KokkosIris::Context<Kokkos::HostSpace>;
using Ints = Context::view_type<int*>;

const KokkosIris::ContextOptions small{.heap_size = std::size_t(1) << 20, .timeout = 20.0};

std::ptrdiff_t offset(const Context& context, const Ints& view) {
  return reinterpret_cast<const char*>(view.data()) - context.device().state().base;
}

class Threads : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, Threads, testing::Values(2, 3, 4),
                         [](const auto& info) { return std::to_string(info.param); });

TEST_P(Threads, PlainDataBehindABarrier) {
  ::Test::run_as_threads(GetParam(), [](Bootstrap& bootstrap) {
    Context context(bootstrap, small);
    const int next = (context.rank() + 1) % context.size();
    const int previous = (context.rank() + context.size() - 1) % context.size();
    const auto view = context.empty<int*>("v", 64);
    const ::Test::PlainSpace exec;
    for (int round = 0; round < 200; ++round) {
      view.peer(next)(round % 64) = 1000 * context.rank() + round;
      context.barrier(exec);
      EXPECT_EQ(view(round % 64), 1000 * previous + round);
      context.barrier(exec);
    }
  });
}

TEST_P(Threads, AllocateAndDrop) {
  ::Test::run_as_threads(GetParam(), [](Bootstrap& bootstrap) {
    Context context(bootstrap, small);
    std::vector<Ints> live;
    const ::Test::PlainSpace exec;
    for (std::uint64_t i = 0; i < 500; ++i) {
      const std::uint64_t own = ::Test::random_bits(::Test::stream(context.rank()), i);
      if (live.size() > own % 20) {
        std::swap(live[own % live.size()], live.back());
        live.pop_back();
      }
      live.push_back(context.empty<int*>("v", ::Test::random_bits(1, i) % 500));
      const auto mine = offset(context, live.back());
      for (const auto other : context.runtime().agree("offset", mine)) ASSERT_EQ(other, mine);
    }
    live.clear();
    context.barrier(exec);
    context.barrier(exec);
    EXPECT_EQ(context.heap_used(), 0u);
  });
}

TEST_P(Threads, FillsOnAllRanks) {
  if (std::string_view(Kokkos::DefaultHostExecutionSpace::name()) == "Threads") {
    GTEST_SKIP() << "Kokkos::Threads starts kernels from the thread that initialised Kokkos only";
  }
  ::Test::run_as_threads(GetParam(), [](Bootstrap& bootstrap) {
    Context context(bootstrap, small);
    const int next = (context.rank() + 1) % context.size();
    for (int round = 0; round < 20; ++round) {
      const auto view = context.full<int*>("v", 10 * round + context.rank(), 100);
      EXPECT_EQ(view.peer(next)(99), 10 * round + next);
      context.barrier(Kokkos::DefaultHostExecutionSpace());
    }
  });
}

TEST_P(Threads, FailAndRecover) {
  ::Test::run_as_threads(GetParam(), [](Bootstrap& bootstrap) {
    Context context(bootstrap, small);
    for (std::uint64_t round = 0; round < 200; ++round) {
      const int failing = int(::Test::random_bits(5, round) % std::uint64_t(context.size()));
      int thrown = 0;
      try {
        context.randint<int*>("r", 0, context.rank() == failing ? 0 : 1, 3);
      } catch (const Error& error) {
        ++thrown;
        EXPECT_EQ(error.code(),
                  context.rank() == failing ? ErrorCode::invalid_argument : ErrorCode::peer_failed);
      }
      EXPECT_EQ(thrown, 1);
      if (round % 2 == 0) {
        const auto view = context.empty<int*>("v", 3);
        const auto mine = offset(context, view);
        for (const auto other : context.runtime().agree("offset", mine)) ASSERT_EQ(other, mine);
      }
    }
  });
}

TEST_P(Threads, OneLeaves) {
  ::Test::run_as_threads(GetParam(), [](Bootstrap& bootstrap) {
    std::optional<Context> context(std::in_place, bootstrap, small);
    const auto view = context->empty<int*>("v", 10);
    if (context->rank() == 0) {
      context.reset();
    } else {
      ::Test::expect_error(
          ErrorCode::peer_died, [&] { context->barrier(::Test::PlainSpace()); }, "rank 0");
    }
  });
}

/// A failure that another thread of a rank reports at any moment (as the copy engine may) can hit
/// ranks half-way through a collective call that others complete. After it, the ranks must agree
/// again: on the calls, and on what is where in the heap.
TEST_P(Threads, FailuresAtAnyMoment) {
  ::Test::run_as_threads(GetParam(), [](Bootstrap& bootstrap) {
    Context context(bootstrap, small);
    auto& runtime = context.runtime();
    const bool raises = context.rank() < 2;
    std::atomic<bool> stop = false;
    std::atomic<int> raised = 0;
    std::thread other([&] {
      for (std::uint64_t i = 0; raises && !stop; ++i) {
        const std::uint64_t random = ::Test::random_bits(::Test::stream(context.rank(), 9), i);
        std::this_thread::sleep_for(std::chrono::microseconds(random % 600));
        runtime.raise_abort(ErrorCode::system, "test", "at any moment");
        ++raised;
      }
    });
    std::vector<Ints> live;
    int errors = 0;
    int quiet_rounds = 0;
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(700);
    // All ranks begin a round with the same call, whatever happened in the one before.
    for (bool done = false; !done;) {
      if (!stop && std::chrono::steady_clock::now() > end) {
        stop = true;
        other.join();
      }
      try {
        const int want_end = quiet_rounds > 20 ? 1 : 0;
        const auto all = runtime.agree("round", want_end);
        const auto view = context.empty<int*>("v", 100);
        const auto mine = offset(context, view);
        for (const auto theirs : runtime.agree("offset", mine)) EXPECT_EQ(theirs, mine);
        live.push_back(view);
        if (live.size() > 20) live.erase(live.begin(), live.begin() + 10);
        runtime.barrier("end of round");
        if (stop) ++quiet_rounds;
        done = std::find(all.begin(), all.end(), 0) == all.end();
      } catch (const Error& error) {
        EXPECT_TRUE(error.code() == ErrorCode::system || error.code() == ErrorCode::peer_failed)
            << error.what();
        quiet_rounds = 0;
        if (++errors > 100000 || error.code() == ErrorCode::peer_died) break;
      }
    }
    if (other.joinable()) {
      stop = true;
      other.join();
    }
    EXPECT_GT(errors, 0);
    live.clear();
    context.barrier(::Test::PlainSpace());
    context.barrier(::Test::PlainSpace());
    EXPECT_EQ(context.heap_used(), 0u);
  });
}

using Processors = std::vector<std::size_t>;

/// Those that the calling thread may run on.
Processors allowed_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  EXPECT_EQ(sched_getaffinity(0, sizeof(set), &set), 0);
  Processors processors;
  for (std::size_t i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(i, &set)) processors.push_back(i);
  }
  return processors;
}

/// What each rank finds where they may run on these processors.
std::vector<int> spare_processors(const std::vector<Processors>& of_ranks) {
  std::vector<int> found(of_ranks.size());
  ::Test::run_as_threads(static_cast<int>(of_ranks.size()), [&](Bootstrap& bootstrap) {
    const auto rank = static_cast<std::size_t>(bootstrap.rank());
    cpu_set_t set;
    CPU_ZERO(&set);
    for (const std::size_t i : of_ranks[rank]) CPU_SET(i, &set);
    ASSERT_EQ(sched_setaffinity(0, sizeof(set), &set), 0);
    const KokkosIris::Impl::Runtime runtime(bootstrap, 20.0);
    found[rank] = runtime.has_spare_processors() ? 1 : 0;
  });
  return found;
}

/// Two for each rank that may run on one of them.
TEST(SpareProcessors, CountRanksThatShare) {
  const Processors all = allowed_processors();
  const auto some = [&](std::size_t begin, std::size_t count) {
    return Processors(all.begin() + static_cast<std::ptrdiff_t>(begin),
                      all.begin() + static_cast<std::ptrdiff_t>(begin + count));
  };
  using Found = std::vector<int>;
  EXPECT_EQ(spare_processors({some(0, 1)}), Found({0}));
  EXPECT_EQ(spare_processors({all, all}), Found(2, all.size() >= 4 ? 1 : 0));
  if (all.size() >= 2) {
    EXPECT_EQ(spare_processors({some(0, 2)}), Found({1}));
    EXPECT_EQ(spare_processors({some(0, 1), some(1, 1)}), Found({0, 0}));
    EXPECT_EQ(spare_processors({some(0, 2), some(1, 1)}), Found({0, 0}));
  }
  if (all.size() >= 3) {
    EXPECT_EQ(spare_processors({some(0, 1), some(1, 2)}), Found({0, 1}));
  }
}

}  // namespace
