// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Signals, waits, tests, puts with a signal and the barrier inside kernels, at every level; give-up
// after a time-out and use after it. Rank r signals rank r + 1. (What they order:
// Test_MemoryModel.cpp.)

#include <DeviceTesting.hpp>
#include <string>
#include <vector>

namespace {

using namespace KokkosIris;  // NOLINT: the names under test

/// Kernels that call what a test gives them.
template <class Call>
struct ByThread {
  Call m_call;
  DeviceContext m_device;
  KOKKOS_FUNCTION void operator()(int) const { m_call(m_device); }
};
template <class Call>
struct ByTeam {
  Call m_call;
  DeviceContext m_device;
  template <Impl::TeamHandle Team>
  KOKKOS_FUNCTION void operator()(const Team& team) const {
    m_call(team, m_device);
  }
};

template <class ExecutionSpace>
class Signal : public testing::Test {
 public:
  using Team = typename Kokkos::TeamPolicy<ExecutionSpace>::member_type;
  Context<typename ExecutionSpace::memory_space> m_context = ::Test::make_context<ExecutionSpace>();
  int m_rank = m_context.rank();
  int m_size = m_context.size();
  int m_next = (m_rank + 1) % m_size;
  int m_previous = (m_rank + m_size - 1) % m_size;
  int m_team_size = KokkosIris::Impl::is_gpu_space_v<ExecutionSpace>
                        ? 96
                        : std::min(3, ExecutionSpace().concurrency());

  /// Runs call(device context) by one thread in a kernel.
  template <class Call>
  void by_thread(const Call& call) {
    Kokkos::parallel_for(Kokkos::RangePolicy<ExecutionSpace>(0, 1),
                         ByThread<Call>{call, m_context.device()});
    Kokkos::fence();
  }
  template <class Call>
  void by_team(const Call& call) {
    Kokkos::parallel_for(Kokkos::TeamPolicy<ExecutionSpace>(1, m_team_size),
                         ByTeam<Call>{call, m_context.device()});
    Kokkos::fence();
  }
};

TYPED_TEST_SUITE(Signal, ::Test::AllExecutionSpaces, ::Test::ExecutionSpaceNames);

constexpr signal_t top = ~signal_t(0);

DEVICE_TYPED_TEST(Signal, Conditions) {
  struct Row {
    signal_t word, value;
    bool holds[7];  // eq ne gt ge lt le reached
  };
  const Row rows[] = {{5, 5, {true, false, false, true, false, true, true}},
                      {6, 5, {false, true, true, true, false, false, true}},
                      {4, 5, {false, true, false, false, true, true, false}},
                      {top, 1, {false, true, true, true, false, false, false}},
                      {1, top, {false, true, false, false, true, true, true}},
                      {top, top, {true, false, false, true, false, true, true}},
                      {2, top - 1, {false, true, false, false, true, true, true}}};
  auto word = self.m_context.template zeros<signal_t>("word");
  const ::Test::SharedView<bool*, TypeParam> result("result", 7);
  for (const Row& row : rows) {
    Kokkos::deep_copy(word.view(), row.word);
    const signal_t value = row.value;
    self.by_thread(KOKKOS_LAMBDA(const DeviceContext& d) {
      const Compare all[] = {eq, ne, gt, ge, lt, le, reached};
      for (int c = 0; c < 7; ++c) result(c) = test(d, word.data(), all[c], value);
    });
    for (int c = 0; c < 7; ++c) {
      EXPECT_EQ(result(c), row.holds[c]) << row.word << " " << row.value << " condition " << c;
      const auto condition = static_cast<Compare>(c);
      EXPECT_EQ(test(TypeParam(), self.m_context, word, condition, row.value), row.holds[c]);
      EXPECT_EQ(test(self.m_context, word.data(), condition, row.value), row.holds[c]);
      // A condition that holds does not wait.
      if (row.holds[c]) wait_until(self.m_context, word, condition, row.value);
    }
  }
}

DEVICE_TYPED_TEST(Signal, SetAndAddByThread) {
  auto words = self.m_context.template zeros<signal_t*>("words", 3);
  const ::Test::SharedView<bool*, TypeParam> ok("ok", 2);
  const int next = self.m_next;
  const auto rank = static_cast<signal_t>(self.m_rank);
  const auto size = static_cast<signal_t>(self.m_size);
  self.by_thread(KOKKOS_LAMBDA(const DeviceContext& d) {
    signal(d, &words(0), 100 + rank, signal_set, next);
    for (int peer = 0; peer < d.size(); ++peer) signal(d, &words(1), 3, signal_add, peer);
    ok(0) = wait_until(d, &words(0), ne, 0);
    ok(1) = wait_until(d, &words(1), ge, 3 * size);
  });
  self.m_context.barrier();
  EXPECT_TRUE(ok(0) && ok(1));
  const auto got = ::Test::staged(words.view());
  EXPECT_EQ(got(0), 100u + static_cast<signal_t>(self.m_previous));
  EXPECT_EQ(got(1), 3u * size);
  EXPECT_EQ(got(2), 0u);
}

/// A count that runs over the end of its type.
DEVICE_TYPED_TEST(Signal, CountsWrapAround) {
  auto word = self.m_context.template full<signal_t>("word", top - 3);
  const ::Test::SharedView<int, TypeParam> passed("passed");
  const int next = self.m_next;
  self.by_thread(KOKKOS_LAMBDA(const DeviceContext& d) {
    for (signal_t step = 1; step <= 8; ++step) {
      signal(d, word.data(), 1, signal_add, next);
      if (!wait_until(d, word.data(), reached, top - 3 + step)) return;
      passed() += 1;
    }
  });
  self.m_context.barrier();
  EXPECT_EQ(passed(), 8);
  EXPECT_EQ(::Test::staged(word.view())(), 4u);
}

DEVICE_TYPED_TEST(Signal, AnyAndAllByThread) {
  auto words = self.m_context.template zeros<signal_t*>("words", 6);
  const ::Test::SharedView<std::size_t*, TypeParam> index("index", 6);
  const ::Test::SharedView<bool*, TypeParam> all("all", 6);
  const ::Test::SharedView<int*, TypeParam> mask("mask", 6), none("none", 6);
  mask(1) = mask(4) = 1;
  const int next = self.m_next;
  self.by_thread(KOKKOS_LAMBDA(const DeviceContext& d) {
    const signal_t* const w = words.data();
    signal(d, &words(4), 7, signal_set, next);
    index(0) = wait_any(d, w, 6, eq, 7);
    if (!barrier(d)) return;
    signal(d, &words(2), 7, signal_set, next);
    if (!wait_until(d, &words(2), eq, 7)) return;
    index(1) = wait_any(d, w, 6, eq, 7);               // the lowest now
    index(2) = wait_any(d, w, 6, eq, 7, mask.data());  // word 2 does not count
    index(3) = wait_any(d, w, 6, eq, 7, none.data());  // none counts: at once
    index(4) = wait_any(d, w, 0, eq, 7);
    index(5) = test_any(d, w, 6, gt, 7);
    if (!barrier(d)) return;
    signal(d, &words(1), 7, signal_set, next);
    all(0) = wait_all(d, w, 6, ge, 7, mask.data());
    all(1) = test_all(d, w, 6, ge, 7, mask.data());
    all(2) = test_all(d, w, 6, ge, 7);
    all(3) = wait_all(d, w, 0, eq, 7) && wait_all(d, w, 6, eq, 99, none.data());
    all(4) = test_any(d, w, 6, eq, 7, mask.data()) == 1;
    all(5) = wait_all(d, w, 6, le, 7);
  });
  self.m_context.barrier();
  const std::size_t want_index[] = {4, 2, 4, 6, 0, 6};
  const bool want_all[] = {true, true, false, true, true, true};
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(index(i), want_index[i]) << i;
    EXPECT_EQ(all(i), want_all[i]) << i;
  }
}

/// Element i in a round of the next test; exact, so that host and device agree.
KOKKOS_FUNCTION double team_value(int rank, int round, int i) {
  return rank * 1000.0 + round + i / 1024.0;
}

/// All threads of a team get the result, and see what the one that waited acquired.
DEVICE_TYPED_TEST(Signal, Team) {
  const int n = 999;
  auto data = self.m_context.template empty<double*>("data", n);
  auto view_data = self.m_context.template empty<double**, Kokkos::LayoutLeft>("view data", 9, 5);
  auto words = self.m_context.template zeros<signal_t*>("words", 4);
  auto source = self.m_context.template empty<double*>("source", n);
  const ::Test::SharedView<double**, TypeParam> view_source("view source", 9, 5);
  const ::Test::SharedView<int*, TypeParam> right("right", self.m_team_size), mask("mask", 4);
  mask(1) = 1;
  const ::Test::SharedView<long, TypeParam> wrong("wrong");
  const int next = self.m_next, previous = self.m_previous;
  for (int round = 1; round <= 20; ++round) {
    const auto g = static_cast<signal_t>(round);
    const auto filled = ::Test::staged(source.view());
    for (int i = 0; i < n; ++i) filled(i) = team_value(self.m_rank, round, i);
    filled.push();
    for (int i = 0; i < 45; ++i) view_source(i / 5, i % 5) = team_value(self.m_rank, round, i);
    Kokkos::deep_copy(right, 0);
    if (round % 5 == self.m_rank) ::Test::delay(2);
    self.by_team(
        KOKKOS_LAMBDA(const typename Signal<TypeParam>::Team& team, const DeviceContext& d) {
          put_signal(team, d, data.data(), source.data(), std::size_t(n), &words(0), g, signal_set,
                     next);
          put_signal(team, d, view_data, view_source, &words(1), 1, signal_add, next);
          int points = wait_until(team, d, &words(0), reached, g) ? 1 : 0;
          points += wait_any(team, d, words.data(), 4, eq, g, mask.data()) == 1 ? 10 : 0;
          points += wait_all(team, d, words.data(), 2, reached, g) ? 100 : 0;
          points += test(team, d, &words(2), eq, 0) ? 1000 : 0;
          points += test_any(team, d, words.data(), 4, eq, 0) == 2 ? 10000 : 0;
          points += !test_all(team, d, words.data(), 3, eq, g) ? 100000 : 0;
          right(team.team_rank()) = points;
          long bad = 0;
          for (int i = 0; i < n; ++i) bad += data(i) != team_value(previous, round, i);
          for (int i = 0; i < 45; ++i)
            bad += view_data(i / 5, i % 5) != team_value(previous, round, i);
          Kokkos::atomic_add(&wrong(), bad);
          // Nobody overwrites what others still read.
          if (!barrier(team, d)) right(team.team_rank()) = -1;
        });
    for (int thread = 0; thread < self.m_team_size; ++thread) EXPECT_EQ(right(thread), 111111);
  }
  EXPECT_EQ(wrong(), 0);
}

DEVICE_TYPED_TEST(Signal, Host) {
  auto data = self.m_context.template empty<float**>("data", 6, 7);
  const ::Test::SharedView<float**, TypeParam, Kokkos::LayoutLeft> source("source", 6, 7);
  auto words = self.m_context.template zeros<signal_t*>("words", 3);
  auto one = self.m_context.template zeros<signal_t>("one");
  auto consumed = self.m_context.template zeros<signal_t>("consumed");
  const Kokkos::View<bool*, Kokkos::HostSpace> mask("mask", 3), none("none", 3);
  mask(2) = true;
  const TypeParam exec;
  auto& context = self.m_context;
  for (signal_t g = 1; g <= 10; ++g) {
    ::Test::random_fill(source, ::Test::stream(self.m_rank, static_cast<int>(g)));
    if (static_cast<int>(g) % self.m_size == self.m_rank) ::Test::delay(2);
    if (g % 2 == 0) {
      put_signal(exec, context, data, source, one, g, signal_set, self.m_next);
      signal(exec, context, Kokkos::subview(words.view(), 1), 1, signal_add, self.m_next);
      wait_until(exec, context, one, eq, g);
      wait_all(exec, context, Kokkos::subview(words.view(), std::pair(1, 2)), reached, g);
    } else {
      put_signal(context, data, source, one.data(), 1, signal_add, self.m_next);
      signal(context, words.data() + 1, g, signal_set, self.m_next);
      wait_until(context, one.data(), ge, g);
      EXPECT_EQ(wait_any(context, words, reached, g), 1u);
    }
    const auto got = ::Test::staged(data.view());
    for (std::size_t i = 0; i < 42; ++i) {
      const auto stream = ::Test::stream(self.m_previous, static_cast<int>(g));
      ASSERT_EQ(::Test::element(got.view(), i), ::Test::random_value<float>(stream, i)) << g;
    }
    signal(context, consumed, g, signal_set, self.m_previous);
    wait_until(context, consumed, reached, g);
  }
  EXPECT_EQ(wait_any(exec, context, words, eq, 0, mask), 2u);
  EXPECT_EQ(wait_any(context, words, eq, 0, none), 3u);
  wait_all(context, words, eq, 77, none);
  wait_all(exec, context, words, eq, 0, mask);
  context.barrier();
}

DEVICE_TYPED_TEST(Signal, Misuse) {
  auto& context = self.m_context;
  auto word = context.template zeros<signal_t>("word");
  auto words = context.template zeros<signal_t**, Kokkos::LayoutRight>("words", 4, 2);
  auto data = context.template zeros<int*>("data", 4);
  const Kokkos::View<signal_t, TypeParam> local("local");
  const Kokkos::View<signal_t*, TypeParam> locals("locals", 3);
  const Kokkos::View<int*, TypeParam> source("source", 5);
  const Kokkos::View<bool*, Kokkos::HostSpace> mask("mask", 3);
  const auto invalid = ErrorCode::invalid_argument;
  const std::string rank = "rank " + std::to_string(self.m_size);
  const auto expect = [&](auto&& call, const auto&... parts) {
    ::Test::expect_error(invalid, call, parts...);
  };
  expect([&] { signal(context, word, 1, signal_set, self.m_size); }, "signal", rank);
  expect([&] { signal(context, local, 1, signal_set, 0); }, "signal", "local", "heap");
  expect([&] { signal(context, local.data(), 1, signal_add, 0); }, "signal", "flag", "heap");
  expect([&] { put_signal(context, data, source, word, 1, signal_set, 0); }, "put_signal", "4",
         "5");
  expect([&] { put_signal(context, data, data, local, 1, signal_set, 0); }, "put_signal", "local");
  expect([&] { put_signal(context, data, data, word, 1, signal_set, -1); }, "put_signal",
         "rank -1");
  expect([&] { wait_until(context, local, eq, 0); }, "wait_until", "local", "heap");
  expect([&] { test(context, local.data(), eq, 0); }, "test", "heap");
  expect([&] { wait_any(context, locals, eq, 0); }, "wait_any", "locals", "heap");
  const auto column = Kokkos::subview(words.view(), Kokkos::ALL, 1);
  expect([&] { wait_all(context, column, eq, 0); }, "wait_all", "contiguous");
  const auto row = Kokkos::subview(words.view(), 1, Kokkos::ALL);
  expect([&] { wait_any(context, row, eq, 0, mask); }, "wait_any", "mask", "3");
  context.barrier();
  EXPECT_EQ(::Test::staged(word.view())(), 0u);
}

/// Counters of the barrier inside kernels near the end of their type; delayed ranks.
DEVICE_TYPED_TEST(Signal, BarrierWrapsAround) {
  const auto d = self.m_context.device();
  self.m_context.barrier();
  auto* const control = d.state().control;
  Kokkos::parallel_for(
      Kokkos::RangePolicy<TypeParam>(0, 1), KOKKOS_LAMBDA(int) {
        control->barrier_generation.value = top - 2;
        for (int rank = 0; rank < d.size(); ++rank) control->arrivals()[rank].value = top - 2;
      });
  auto counts = self.m_context.template zeros<int*>("counts", self.m_size);
  self.m_context.barrier();
  const ::Test::SharedView<int, TypeParam> wrong("wrong");
  for (int round = 1; round <= 8; ++round) {
    if (round % self.m_size == self.m_rank) ::Test::delay(3);
    self.by_thread(KOKKOS_LAMBDA(const DeviceContext& d) {
      for (int peer = 0; peer < d.size(); ++peer) store(d, &counts(d.rank()), round, peer);
      wrong() += barrier(d) ? 0 : 1;
      for (int peer = 0; peer < d.size(); ++peer) wrong() += counts(peer) != round;
      wrong() += barrier(d) ? 0 : 1;
    });
  }
  EXPECT_EQ(wrong(), 0);
  self.m_context.barrier();
}

/// A barrier that not all ranks enter ends.
DEVICE_TYPED_TEST(Signal, BarrierTimeOut) {
  if (self.m_size == 1) return;  // nobody can be missing
  ContextOptions options;
  options.timeout = 0.3;
  auto context = ::Test::make_context<TypeParam>(options);
  const auto d = context.device();
  const ::Test::SharedView<int, TypeParam> result("result");
  if (self.m_rank != 1) {
    Kokkos::parallel_for(
        Kokkos::RangePolicy<TypeParam>(0, 1),
        KOKKOS_LAMBDA(int) { result() = barrier(d) ? 1 : 2; });
    Kokkos::fence();
    EXPECT_EQ(result(), 2);
  }
  ::Test::expect_error(
      ErrorCode::timeout, [&] { context.barrier(); }, "0.3 s");
  // The counters are brought in line when the ranks meet again.
  context.barrier();
  Kokkos::parallel_for(
      Kokkos::RangePolicy<TypeParam>(0, 1), KOKKOS_LAMBDA(int) { result() = barrier(d) ? 1 : 2; });
  Kokkos::fence();
  EXPECT_EQ(result(), 1);
  context.barrier();
}

/// A wait for what never comes ends, says so at every level, and the context works afterwards.
DEVICE_TYPED_TEST(Signal, TimeOut) {
  ContextOptions options;
  options.timeout = 0.3;
  auto context = ::Test::make_context<TypeParam>(options);
  auto word = context.template zeros<signal_t>("word");
  auto words = context.template zeros<signal_t*>("words", 3);
  const auto d = context.device();
  const ::Test::SharedView<int, TypeParam> result("result");
  Kokkos::parallel_for(
      Kokkos::RangePolicy<TypeParam>(0, 1), KOKKOS_LAMBDA(int) {
        result() = wait_until(d, word.data(), eq, 1) ? 1 : 2;
        if (wait_any(d, words.data(), 3, eq, 1) != 3) result() = 3;
        if (wait_all(d, words.data(), 3, eq, 1)) result() = 4;
      });
  Kokkos::fence();
  EXPECT_EQ(result(), 2);
  const auto timeout = ErrorCode::timeout;
  ::Test::expect_error(
      timeout, [&] { wait_until(context, word, eq, 1); }, "KOKKOSIRIS_TIMEOUT");
  // The reason is thrown once; until the ranks have met nothing can be waited for.
  const auto unsettled = ErrorCode::peer_failed;
  ::Test::expect_error(
      unsettled, [&] { wait_any(context, words, eq, 1); }, "collective");
  ::Test::expect_error(
      unsettled, [&] { wait_all(context, words, eq, 1); }, "collective");
  context.barrier();
  signal(context, word, 1, signal_set, (self.m_rank + 1) % self.m_size);
  wait_until(context, word, eq, 1);
  Kokkos::parallel_for(
      Kokkos::RangePolicy<TypeParam>(0, 1), KOKKOS_LAMBDA(int) { result() = barrier(d) ? 1 : 2; });
  Kokkos::fence();
  EXPECT_EQ(result(), 1);
  context.barrier();
}

}  // namespace
