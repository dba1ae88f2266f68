// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// ranks: 1

// Ranks that are killed, stopped, or leave: here ranks are child processes (see ForkBootstrap.hpp).

#include <DeviceTesting.hpp>
#include <ForkBootstrap.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>

namespace {

using KokkosIris::Error;
using KokkosIris::ErrorCode;
using KokkosIris::Impl::WaitPhase;
using ::Test::ChildGroup;
using ::Test::ForkPage;

// ---------------------------------------------------------------- what the children do

struct Child {
  ForkPage& page;
  int rank;
  int size;
  ::Test::ForkBootstrap& bootstrap;

  void reach(int stage) const { page.stage[rank].store(stage); }
  void await_go(int value) const {
    if (!::Test::poll_for(20.0, [&] { return page.go.load() >= value; })) std::exit(90);
  }
  template <class ExecutionSpace = Kokkos::DefaultHostExecutionSpace>
  KokkosIris::Context<typename ExecutionSpace::memory_space> make_context(
      double timeout = 20.0) const {
    return KokkosIris::Context<typename ExecutionSpace::memory_space>(
        bootstrap, {.heap_size = std::size_t(1) << 26, .timeout = timeout});
  }
  /// Runs `call` and reports what it threw.
  void report(const std::function<void()>& call) const {
    try {
      call();
      std::printf("returned\n");
    } catch (const Error& error) {
      std::printf("%s| %s\n", KokkosIris::to_string(error.code()), error.what());
    }
    std::fflush(stdout);
  }
};

/// All but rank 0 enter a barrier; rank 0 comes when it is told to.
void barrier_task(const Child& child, double timeout) {
  auto context = child.make_context(timeout);
  const auto view = context.full<char*>("v", 'x', std::size_t(1) << 25);  // pages in use
  child.reach(1);
  if (child.rank == 0) child.await_go(1);
  child.report([&] { context.barrier(); });
  if (child.page.go.load() >= 2) child.report([&] { context.barrier(); });
}

/// All wait in a kernel for what never happens.
template <class ExecutionSpace>
void wait_forever(const KokkosIris::DeviceContext& device, const std::uint64_t* flag) {
  Kokkos::parallel_for(
      "wait", Kokkos::RangePolicy<ExecutionSpace>(0, 1), KOKKOS_LAMBDA(int) {
        KokkosIris::Impl::wait_counter(device, {WaitPhase::user_wait, -1}, flag, std::uint64_t(1));
      });
  ExecutionSpace().fence();
}

template <class ExecutionSpace>
void kernel_wait_task(const Child& child) {
  auto context = child.make_context<ExecutionSpace>();
  const auto flag = context.template zeros<std::uint64_t>("flag");
  child.reach(1);
  child.report([&] {
    wait_forever<ExecutionSpace>(context.device(), flag.data());
    context.runtime().check("test");
  });
}

/// The last rank ends in good order while rank 1 waits for rank 0.
void orderly_exit_task(const Child& child) {
  auto context = child.make_context();
  const auto flag = context.zeros<std::uint64_t>("flag");
  context.barrier();
  child.reach(1);
  if (child.rank == child.size - 1) return;
  if (child.rank == 0) {
    child.await_go(1);
    KokkosIris::Impl::store_release(flag.peer(1).data(), std::uint64_t(1));
    std::printf("returned\n");
  } else {
    child.report([&] {
      KokkosIris::Impl::wait_counter(context.device(), {WaitPhase::user_wait, 0}, flag.data(),
                                     std::uint64_t(1));
      context.runtime().check("test");
    });
  }
}

/// Rank 0 throws between collective calls, and does not catch before its context is gone.
void throw_task(const Child& child) {
  try {
    auto context = child.make_context();
    child.reach(1);
    if (child.rank == 0) {
      child.await_go(1);
      throw std::runtime_error("of the application");
    }
    child.report([&] { context.barrier(); });
  } catch (const std::runtime_error&) {
    std::printf("returned\n");
    std::fflush(stdout);
    usleep(2500000);  // the process lives on: what the others notice is the end of the context
  }
}

// ---------------------------------------------------------------- what the test sees

std::vector<int> all_of(int size, int first = 0) {
  std::vector<int> ranks;
  for (int rank = first; rank < size; ++rank) ranks.push_back(rank);
  return ranks;
}

void expect_error(const ChildGroup& group, int rank, ErrorCode code, const std::string& part) {
  const std::string& text = group[rank].text;
  EXPECT_EQ(text.rfind(std::string(KokkosIris::to_string(code)) + "|", 0), 0u)
      << "rank " << rank << ": " << text;
  EXPECT_NE(text.find(part), std::string::npos) << "rank " << rank << ": " << text;
}

void expect_clean_exit(const ChildGroup& group, int rank) {
  EXPECT_TRUE(WIFEXITED(group[rank].status) && WEXITSTATUS(group[rank].status) == 0)
      << "rank " << rank << " ended with status " << group[rank].status << ": " << group[rank].text;
}

/// Our names in shared folders, and processes that still map a heap. (Other tests may run beside.)
void expect_nothing_left(const ChildGroup& group, int size) {
  for (int rank = 0; rank < size; ++rank) {
    EXPECT_NE(kill(group[rank].pid, 0), 0) << "process of rank " << rank;
  }
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm", ignored)) {
    EXPECT_EQ(entry.path().string().find("KokkosIris"), std::string::npos) << entry.path();
  }
}

TEST(ProcessDeath, KilledInsideABarrier) {
  constexpr int size = 4;
  ChildGroup group("barrier", size);
  ASSERT_TRUE(group.reached(1, all_of(size)));
  usleep(
      50000);  // ranks 1 to 3 are in the barrier by now, or will find rank 3 dead when they enter
  group.mark();
  group.signal(3, SIGKILL);
  ASSERT_TRUE(group.ended({1, 2, 3}, 10.0));
  EXPECT_TRUE(WIFSIGNALED(group[3].status));
  for (const int rank : {1, 2}) {
    expect_error(group, rank, ErrorCode::peer_died, "the process of rank 3 is gone");
    EXPECT_LT(group[rank].ended_at, 2.0);
    expect_clean_exit(group, rank);
  }
  group.page().go = 1;  // a rank that was elsewhere learns of it in its next call
  ASSERT_TRUE(group.ended({0}, 10.0));
  expect_error(group, 0, ErrorCode::peer_died, "rank 3");
  expect_nothing_left(group, size);
}

void expect_kernels_to_end(const std::string& task) {
  constexpr int size = 3;
  ChildGroup group(task, size);
  ASSERT_TRUE(group.reached(1, all_of(size)));
  usleep(50000);
  group.mark();
  group.signal(0, SIGKILL);
  ASSERT_TRUE(group.ended(all_of(size), 10.0));
  for (const int rank : {1, 2}) {
    expect_error(group, rank, ErrorCode::peer_died, "the process of rank 0 is gone");
    EXPECT_LT(group[rank].ended_at, 5.0);
    expect_clean_exit(group, rank);
  }
  expect_nothing_left(group, size);
}

TEST(ProcessDeath, KilledInsideAKernelThatWaits) { expect_kernels_to_end("kernel_wait"); }

/// As the two above where the system has no process descriptors.
TEST(ProcessDeath, KilledWhereProcessesAreWatchedByNumber) {
  constexpr int size = 3;
  for (const std::string task : {"barrier_by_number", "kernel_wait_by_number"}) {
    ChildGroup group(task, size);
    ASSERT_TRUE(group.reached(1, all_of(size)));
    usleep(50000);
    group.mark();
    group.signal(2, SIGKILL);
    ASSERT_TRUE(group.ended({1, 2}, 10.0)) << task;  // which collects the status of rank 2
    expect_error(group, 1, ErrorCode::peer_died, "the process of rank 2 is gone");
    EXPECT_LT(group[1].ended_at, 2.0) << task;
    expect_clean_exit(group, 1);
    group.page().go = 1;
    ASSERT_TRUE(group.ended({0}, 10.0)) << task;
    expect_error(group, 0, ErrorCode::peer_died, "rank 2");
    expect_nothing_left(group, size);
  }
}

TEST(ProcessDeath, KilledInsideAKernelThatWaitsOnAGpu) {
  if (!KokkosIris::Impl::has_gpu_v) GTEST_SKIP() << "no GPU backend";
  expect_kernels_to_end("gpu_kernel_wait");
  expect_kernels_to_end("gpu_kernel_wait");  // what the first left behind is not in the way
}

TEST(ProcessDeath, KilledAllAtOnce) {
  constexpr int size = 4;
  ChildGroup group("barrier", size);
  ASSERT_TRUE(group.reached(1, all_of(size)));
  for (const int rank : all_of(size)) group.signal(rank, SIGKILL);
  ASSERT_TRUE(group.ended(all_of(size), 10.0));
  for (const int rank : all_of(size)) EXPECT_TRUE(WIFSIGNALED(group[rank].status));
  expect_nothing_left(group, size);
  // And the next run finds nothing in its way.
  ChildGroup again("barrier", size);
  ASSERT_TRUE(again.reached(1, all_of(size)));
  again.page().go = 1;
  ASSERT_TRUE(again.ended(all_of(size), 10.0));
  for (const int rank : all_of(size)) EXPECT_EQ(again[rank].text, "returned\n");
}

TEST(ProcessDeath, StoppedRankIsATimeoutOnAll) {
  constexpr int size = 3;
  ChildGroup group("barrier_one_second", size);
  ASSERT_TRUE(group.reached(1, all_of(size)));
  group.signal(0, SIGSTOP);
  group.page().go = 2;
  usleep(1300000);
  group.signal(0, SIGCONT);
  ASSERT_TRUE(group.ended(all_of(size), 10.0));
  for (const int rank : all_of(size)) {
    expect_error(group, rank, ErrorCode::timeout, "waited longer than 1 s");
    EXPECT_NE(group[rank].text.find("'barrier' of rank 0"), std::string::npos) << group[rank].text;
    EXPECT_NE(group[rank].text.find("\nreturned\n"), std::string::npos)
        << "usable again: " << group[rank].text;
    expect_clean_exit(group, rank);
  }
}

TEST(ProcessDeath, OrderlyExitOfAThirdIsNoError) {
  constexpr int size = 3;
  ChildGroup group("orderly_exit", size);
  ASSERT_TRUE(group.reached(1, all_of(size)));
  ASSERT_TRUE(group.ended({2}, 10.0));
  usleep(100000);
  group.page().go = 1;
  ASSERT_TRUE(group.ended(all_of(size), 10.0));
  for (const int rank : {0, 1}) EXPECT_EQ(group[rank].text, "returned\n");
  for (const int rank : all_of(size)) expect_clean_exit(group, rank);
}

TEST(ProcessDeath, ExceptionOfOneRankEndsTheWaitOfTheOthers) {
  constexpr int size = 3;
  ChildGroup group("throw", size);
  ASSERT_TRUE(group.reached(1, all_of(size)));
  group.mark();
  group.page().go = 1;
  ASSERT_TRUE(group.ended({1, 2}, 10.0));
  for (const int rank : {1, 2}) {
    expect_error(group, rank, ErrorCode::peer_died, "rank 0 has destroyed its context");
    EXPECT_LT(group[rank].ended_at, 2.0);
  }
}

}  // namespace

extern "C" int kokkosiris_test_child(const char* task, int argc, char* argv[]) {
  const std::map<std::string, std::function<void(const Child&)>> tasks = {
      {"barrier", [](const Child& child) { barrier_task(child, 20.0); }},
      {"barrier_one_second", [](const Child& child) { barrier_task(child, 1.0); }},
      {"barrier_by_number", [](const Child& child) { barrier_task(child, 20.0); }},
      {"kernel_wait", kernel_wait_task<Kokkos::DefaultHostExecutionSpace>},
      {"kernel_wait_by_number", kernel_wait_task<Kokkos::DefaultHostExecutionSpace>},
      {"gpu_kernel_wait", kernel_wait_task<Kokkos::DefaultExecutionSpace>},
      {"orderly_exit", orderly_exit_task},
      {"throw", throw_task}};
  const auto found = tasks.find(task);
  if (found == tasks.end()) return 92;
  KokkosIris::Impl::Runtime::watch_by_number =
      std::string(task).find("_by_number") != std::string::npos;
  return ::Test::run_child(argc, argv, [&](ForkPage& page, ::Test::ForkBootstrap& bootstrap) {
    found->second(Child{page, bootstrap.rank(), bootstrap.size(), bootstrap});
  });
}
