// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What builds with KokkosIris_ENABLE_VALIDATION catch inside kernels of a GPU. Such a kernel takes
// the process with it, so each check runs in two child processes, of which rank 0 errs.
// ranks: 1
// requires: cuda

#include <unistd.h>

#include <ForkBootstrap.hpp>
#include <KokkosIris.hpp>
#include <TestUtilities.hpp>
#include <cstdio>
#include <exception>

namespace {

using KokkosIris::copy_engine;
using KokkosIris::DeviceContext;
using KokkosIris::signal_t;
using ExecutionSpace = KokkosIris::Impl::GpuExecutionSpace;
using Policy = Kokkos::TeamPolicy<ExecutionSpace>;

/// Tasks by name, so that a failure tells what went unnoticed.
constexpr const char* tasks[] = {"load",     "store",  "atomic",      "signal", "put_end",
                                 "team_put", "engine", "wrong_ranks", "legal"};
constexpr int legal = 8;

/// A function, so that compilers do not call what follows unreachable.
bool checks_pointers() {
#ifdef KOKKOSIRIS_ENABLE_VALIDATION
  return true;
#else
  return false;
#endif
}

struct Access {
  DeviceContext m_context;
  double* m_inside;   ///< the last element of the heap
  double* m_outside;  ///< device memory of this process, not on the heap
  signal_t* m_outside_flag;
  int m_task;

  KOKKOS_FUNCTION void operator()(const Policy::member_type& team) const {
    const int peer = 1;
    switch (m_task) {
      case 0:
        *m_outside = load(m_context, m_outside, peer);
        break;
      case 1:
        store(m_context, m_outside, 1.0, peer);
        break;
      case 2:
        atomic_add(m_context, m_outside, 1.0, peer);
        break;
      case 3:
        signal(m_context, m_outside_flag, 1, KokkosIris::signal_set, peer);
        break;
      case 4:
        // The first element is inside.
        put(m_context, m_inside, m_outside, 2, peer);
        break;
      case 5:
        put(team, m_context, m_inside, m_outside, 2, peer);
        break;
      case 6:
        put(m_context, m_inside, m_outside, 2, peer, copy_engine);
        break;
      case 7:
        store(m_context, m_inside, 1.0, 2);
        break;
      default:
        put(m_context, m_inside, m_outside, 1, peer);
        store(m_context, m_inside, 1.0, peer);
    }
  }
};

void run_task(const KokkosIris::Context<ExecutionSpace::memory_space>& context, int task) {
  const Kokkos::View<double*, ExecutionSpace::memory_space> outside("outside", 4);
  const Kokkos::View<signal_t*, ExecutionSpace::memory_space> flag("flag", 1);
  const auto& state = context.device().state();
  auto* const inside = reinterpret_cast<double*>(state.base + state.bytes) - 1;
  Kokkos::parallel_for("access", Policy(1, 1),
                       Access{context.device(), inside, outside.data(), flag.data(), task});
  ExecutionSpace().fence();
}

/// Both ranks; returns what rank 0 wrote, and whether it ended well.
std::string output_of(const char* task, bool& ended_well) {
  ::Test::ChildGroup group(task, 2);
  const bool ended = group.ended({0, 1}, 60.0);
  EXPECT_TRUE(ended) << task;
  ended_well = ended && WIFEXITED(group[0].status) && WEXITSTATUS(group[0].status) == 0;
  return group[0].text;
}

TEST(GpuValidation, RemotePointersAndRanks) {
  if (!checks_pointers()) GTEST_SKIP() << "this build does not check remote pointers";
  for (int task = 0; task < legal; ++task) {
    bool ended_well = true;
    const std::string text = output_of(tasks[task], ended_well);
    EXPECT_FALSE(ended_well) << tasks[task];
    const bool found = text.find("outside the symmetric heap") != std::string::npos ||
                       (std::string(tasks[task]) == "wrong_ranks" &&
                        text.find("outside the context") != std::string::npos);
    EXPECT_TRUE(found) << tasks[task] << ": " << text;
  }
}

TEST(GpuValidation, LegalAccessesPass) {
  bool ended_well = false;
  const std::string text = output_of(tasks[legal], ended_well);
  EXPECT_TRUE(ended_well) << text;
}

}  // namespace

extern "C" int kokkosiris_test_child(const char* name, int argc, char* argv[]) {
  int task = 0;
  while (std::string(tasks[task]) != name) {
    if (++task > legal) return 92;
  }
  // What a kernel says before it ends the process goes to standard error.
  dup2(STDOUT_FILENO, STDERR_FILENO);
  return ::Test::run_child(argc, argv, [&](::Test::ForkPage&, ::Test::ForkBootstrap& bootstrap) {
    KokkosIris::Context<ExecutionSpace::memory_space> context(
        bootstrap, {.heap_size = std::size_t(1) << 22, .timeout = 20.0});
    if (bootstrap.rank() != 0) return;
    try {
      run_task(context, task);
    } catch (const std::exception& error) {
      std::printf("%s\n", error.what());
      std::fflush(stdout);
      // Nothing on this GPU can be given back any more.
      _Exit(3);
    }
  });
}
