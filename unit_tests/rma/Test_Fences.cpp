// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What calls from the host wait for: their instance where they say so, and never anything else.

#include <DeviceTesting.hpp>
#include <FenceCounter.hpp>
#include <KokkosIris.hpp>

namespace {

using KokkosIris::copy_engine;
using KokkosIris::signal_t;

template <class ExecutionSpace>
class Fences : public testing::Test {};
TYPED_TEST_SUITE(Fences, Test::AllExecutionSpaces, Test::ExecutionSpaceNames);

/// What every operation needs.
template <class ExecutionSpace>
struct Operands {
  using Context = KokkosIris::Context<typename ExecutionSpace::memory_space>;
  using Doubles = typename Context::template view_type<double*>;
  using Words = typename Context::template view_type<signal_t*>;

  Context context = ::Test::make_context<ExecutionSpace>();
  Doubles there = context.template zeros<double*>("there", 1000);
  Words flags = context.template zeros<signal_t*>("flags", 4);
  Kokkos::View<double*, typename ExecutionSpace::memory_space> here{"here", 1000};
  int next = (context.rank() + 1) % context.size();

  signal_t* flag() const { return flags.data(); }
};

/// Calls `check(name, fences, operation)` for each operation of the host: `operation(exec)` runs
/// it, and waits for the instance as often as `fences` says.
template <class ExecutionSpace, class Check>
void for_operations(Operands<ExecutionSpace>& with, const Check& check) {
  auto& context = with.context;
  const auto& there = with.there;
  const auto& here = with.here;
  const int next = with.next;
  check("put", 0, [&](const auto& exec) { put(exec, context, there, here, next); });
  check("get", 0, [&](const auto& exec) { get(exec, context, here, there, next); });
  check("copy", 0, [&](const auto& exec) { copy(exec, context, there, there, next, next); });
  check("store", 0, [&](const auto& exec) { store(exec, context, there, 1.0, next); });
  check("atomic_add", 0, [&](const auto& exec) { atomic_add(exec, context, there, here, next); });
  check("signal", 0, [&](const auto& exec) {
    signal(exec, context, with.flag(), 1, KokkosIris::signal_set, next);
  });
  check("put_signal", 0, [&](const auto& exec) {
    put_signal(exec, context, there, here, with.flag() + 1, 1, KokkosIris::signal_set, next);
  });
  // A GPU's words are read by a kernel whose result comes to the host: two fences of Kokkos' own.
  const int looks = KokkosIris::Impl::is_gpu_space_v<ExecutionSpace> ? 2 : 0;
  check("wait_until", 1 + looks,
        [&](const auto& exec) { wait_until(exec, context, with.flag() + 3, KokkosIris::eq, 0); });
  // On GPUs the engine waits, not the caller.
  const int waits = KokkosIris::Impl::is_gpu_space_v<ExecutionSpace> ? 0 : 1;
  check("put by the engine", waits,
        [&](const auto& exec) { put(exec, context, there, here, next, copy_engine); });
  check("get by the engine", waits,
        [&](const auto& exec) { get(exec, context, here, there, next, copy_engine); });
  check("quiet", 1, [&](const auto& exec) { quiet(exec, context, next); });
  check("quiet to all", 1, [&](const auto& exec) { quiet(exec, context); });
}

DEVICE_TYPED_TEST(Fences, OfTheInstanceAlone) {
  Operands<TypeParam> with;
  with.context.barrier();
  const TypeParam exec;
  for_operations(with, [&](const char* name, int fences, const auto& operation) {
    operation(exec);  // what the first call prepares is not counted
    ::Test::expect_fences<TypeParam>(name, fences, [&] { operation(exec); });
    // Ranks read and write what others do.
    with.context.barrier();
  });
  ::Test::expect_fences<TypeParam>("barrier", 1, [&] { with.context.barrier(exec); });
}

/// While a kernel of one instance cannot end, every operation on another one can. The kernel gives
/// up after seconds, so that an operation that waits for it makes the test fail, not hang.
template <class ExecutionSpace>
void run_beside_a_kernel() {
  Operands<ExecutionSpace> with;
  const auto instances = Kokkos::Experimental::partition_space(ExecutionSpace(), 1, 1);
  for_operations(with, [&](const char*, int, const auto& operation) {
    operation(instances[1]);
    instances[1].fence();
    with.context.barrier();
  });
  const Kokkos::View<int, Kokkos::SharedHostPinnedSpace> open("open"), given_up("given up");
  Kokkos::fence();
  with.context.barrier();
  Kokkos::parallel_for(
      "gate", Kokkos::RangePolicy<ExecutionSpace>(instances[0], 0, 1), KOKKOS_LAMBDA(int) {
        for (long poll = 0; poll < 4'000'000; ++poll) {
          if (KokkosIris::Impl::load_relaxed(open.data()) != 0) return;
        }
        given_up() = 1;
      });
  for_operations(with, [&](const char*, int, const auto& operation) { operation(instances[1]); });
  instances[1].fence();
  EXPECT_EQ(given_up(), 0);
  __atomic_store_n(open.data(), 1, __ATOMIC_RELEASE);
  Kokkos::fence();
  EXPECT_EQ(given_up(), 0) << "an operation waited for the kernel of another instance";
  with.context.barrier();
}

TEST(FencesOfGpus, OperationsRunBesideAKernelOfAnotherInstance) {
  if constexpr (KokkosIris::Impl::has_gpu_v) {
    run_beside_a_kernel<KokkosIris::Impl::GpuExecutionSpace>();
  } else {
    GTEST_SKIP() << "instances of the host's execution spaces share their threads";
  }
}

}  // namespace
