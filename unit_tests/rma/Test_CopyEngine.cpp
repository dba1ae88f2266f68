// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// put, put_signal and get through the copy engine, and quiet, between ranks. Kernels are in
// function templates outside of the tests' classes, as CUDA requires.

#include <DeviceTesting.hpp>
#include <algorithm>
#include <numeric>
#include <rma/KokkosIris_CopyEngineHostPut.hpp>
#include <rma/KokkosIris_CopyEnginePut.hpp>
#include <rma/KokkosIris_Quiet.hpp>
#include <vector>

namespace {

using KokkosIris::copy_engine;
using KokkosIris::DeviceContext;
using KokkosIris::signal_t;

template <class ExecutionSpace>
class CopyEngine : public testing::Test {};
TYPED_TEST_SUITE(CopyEngine, Test::AllExecutionSpaces, Test::ExecutionSpaceNames);

/// Runs one thread; returns what `call` returned.
template <class ExecutionSpace, class Call>
bool run_one(const Call& call) {
  int result = 0;
  Kokkos::parallel_reduce(
      Kokkos::RangePolicy<ExecutionSpace>(0, 1),
      KOKKOS_LAMBDA(int, int& sum) { sum += call() ? 1 : 0; }, result);
  return result == 1;
}

/// Puts n elements to every rank, and with a mask that is false to another place.
template <class ExecutionSpace, class T>
bool put_to_all(const DeviceContext& d, T* dst, const T* src, std::size_t n, T* untouched) {
  return run_one<ExecutionSpace>(KOKKOS_LAMBDA() {
    bool going = true;
    for (int peer = 0; peer < d.size(); ++peer) {
      going = going && KokkosIris::put(d, dst, src, n, peer, copy_engine) &&
              KokkosIris::put(d, untouched, src, 8, peer, copy_engine, false) &&
              KokkosIris::quiet(d, peer);
    }
    return going;
  });
}

/// Every rank puts bytes to every rank, itself included: all small sizes and alignments, and sizes
/// on both sides of the limits inside the engine; sentinels around.
DEVICE_TYPED_TEST(CopyEngine, SizesAndAlignments) {
  auto context = ::Test::make_context<TypeParam>();
  const DeviceContext d = context.device();
  const int rank = context.rank();
  const std::size_t room = 300000;
  auto target =
      context.template empty<unsigned char**, Kokkos::LayoutRight>("target", context.size(), room);
  unsigned char* const row = target.data() + static_cast<std::size_t>(rank) * room;
  const ::Test::SharedView<unsigned char*, TypeParam> source("source", room + 64);
  std::vector<std::size_t> sizes = {0,   1,     2,     3,     4,     7,     8,     15,
                                    16,  17,    31,    33,    63,    64,    65,    127,
                                    255, 16383, 16384, 16385, 40000, 65537, 262147};
  int seed = 0;
  for (const std::size_t n : sizes) {
    const std::size_t shift = std::size_t(seed * 5 % 17);
    const std::size_t source_shift = std::size_t(seed * 3 % 19);
    ++seed;
    Kokkos::deep_copy(target.view(), static_cast<unsigned char>(0xa5));
    for (std::size_t i = 0; i < source.size(); ++i) {
      source(i) = static_cast<unsigned char>(::Test::random_bits(::Test::stream(rank, seed), i));
    }
    context.barrier();
    ASSERT_TRUE(put_to_all<TypeParam>(
        d, row + 64 + shift, static_cast<const unsigned char*>(source.data()) + source_shift, n,
        row));
    context.barrier();
    const auto got = ::Test::staged(target.view());
    std::size_t wrong = 0;
    for (int from = 0; from < context.size(); ++from) {
      for (std::size_t i = 0; i < room; ++i) {
        const bool inside = i >= 64 + shift && i < 64 + shift + n;
        const auto expected = inside
                                  ? static_cast<unsigned char>(::Test::random_bits(
                                        ::Test::stream(from, seed), i - 64 - shift + source_shift))
                                  : static_cast<unsigned char>(0xa5);
        wrong += got(from, i) != expected ? 1u : 0u;
      }
    }
    EXPECT_EQ(wrong, 0u) << n << " bytes";
    context.barrier();
  }
}

KOKKOS_FUNCTION bool overwrite_twice(const DeviceContext& d, double* dst, const double* first,
                                     const double* second, std::size_t n, std::size_t m, int peer) {
  return KokkosIris::put(d, dst, first, n, peer, copy_engine) &&
         KokkosIris::put(d, dst, second, m, peer, copy_engine) && KokkosIris::quiet(d, peer);
}
template <class ExecutionSpace>
bool overwrite_twice_in_kernel(const DeviceContext& d, double* dst, const double* first,
                               const double* second, std::size_t n, std::size_t m, int peer) {
  return run_one<ExecutionSpace>(
      KOKKOS_LAMBDA() { return overwrite_twice(d, dst, first, second, n, m, peer); });
}

/// Two puts to the same place: the second wins, large or small.
DEVICE_TYPED_TEST(CopyEngine, PutsToOnePeerCompleteInOrder) {
  auto context = ::Test::make_context<TypeParam>();
  const std::size_t n = 6000;
  auto target = context.template zeros<double*>("target", n);
  const int next = (context.rank() + 1) % context.size();
  const int previous = (context.rank() + context.size() - 1) % context.size();
  const ::Test::SharedView<double*, TypeParam> first("first", n), second("second", n);
  for (int round = 0; round < 300; ++round) {
    std::fill_n(first.data(), n, -1.0 - context.rank());
    std::fill_n(second.data(), n, round * 100.0 + context.rank());
    const std::size_t m = round % 2 == 0 ? 1 : n;
    const std::size_t k = round % 4 < 2 ? n : 1;
    // Few kernels, because starting one takes long where threads outnumber processors.
    const bool in_kernel = KokkosIris::Impl::is_gpu_space_v<TypeParam> || round % 100 < 4;
    auto* const call = in_kernel ? &overwrite_twice_in_kernel<TypeParam> : &overwrite_twice;
    ASSERT_TRUE(call(context.device(), target.data(), first.data(), second.data(), k, m, next));
    context.barrier();
    const auto got = ::Test::staged(target.view());
    ASSERT_EQ(got(0), round * 100.0 + previous);
    ASSERT_EQ(got(m - 1), round * 100.0 + previous);
    if (m < k) {
      ASSERT_EQ(got(m), -1.0 - previous);
    }
    context.barrier();
  }
}

/// What the ping of the next test needs, on the heap of every rank.
struct Mailbox {
  std::uint64_t* data;
  std::uint64_t* source;
  signal_t* arrived;
  signal_t* consumed;
};

/// All rounds in one kernel: write the source, put it with a signal, wait for the previous rank's,
/// check it, poison it, acknowledge. Returns the number of wrong words, or -1 if a wait was given
/// up.
template <class ExecutionSpace, class Operation>
int ping_around(const DeviceContext& d, const Mailbox& box, int rounds, std::size_t most,
                Operation operation) {
  int result = 0;
  Kokkos::parallel_reduce(
      Kokkos::RangePolicy<ExecutionSpace>(0, 1),
      KOKKOS_LAMBDA(int, int& sum) {
        const int next = (d.rank() + 1) % d.size();
        const int previous = (d.rank() + d.size() - 1) % d.size();
        const bool adds = std::is_same_v<Operation, KokkosIris::SignalAdd>;
        int wrong = 0;
        for (int round = 1; round <= rounds; ++round) {
          const auto generation = static_cast<signal_t>(round);
          const std::size_t n = std::size_t(round) * 7919u % most;
          for (std::size_t i = 0; i < n; ++i) {
            box.source[i] = (generation << 32) + i * 8 + std::uint64_t(d.rank());
          }
          bool going =
              KokkosIris::put_signal(d, box.data, box.source, n, box.arrived,
                                     adds ? signal_t(1) : generation, operation, next, copy_engine);
          const KokkosIris::Impl::WaitSite site{KokkosIris::Impl::WaitPhase::user_wait, previous};
          going = going && KokkosIris::Impl::wait_counter(d, site, box.arrived, generation);
          for (std::size_t i = 0; going && i < n; ++i) {
            if (box.data[i] != (generation << 32) + i * 8 + std::uint64_t(previous)) ++wrong;
            box.data[i] = ~std::uint64_t(0);
          }
          if (going) {
            KokkosIris::Impl::store_release(d.translate(box.consumed, previous), generation);
          }
          going = going && KokkosIris::Impl::wait_counter(d, site, box.consumed, generation);
          // The acknowledgement says that the source is free; quiet says it once more, to a thread
          // sanitizer, which does not see the other process.
          going = going && KokkosIris::quiet(d, next);
          if (!going) {
            wrong = -1;
            break;
          }
        }
        sum += wrong;
      },
      result);
  return result;
}

/// A signal never overtakes its data, nor the source's last writes, nor earlier puts: thousands of
/// messages of changing size into a poisoned buffer, with both signal operations.
DEVICE_TYPED_TEST(CopyEngine, SignalFollowsData) {
  auto context = ::Test::make_context<TypeParam>({.copy_engine_entries = 2});
  const std::size_t most = 3000;
  auto data = context.template full<std::uint64_t*>("data", ~std::uint64_t(0), most);
  auto source = context.template zeros<std::uint64_t*>("source", most);
  auto set_flags = context.template zeros<signal_t*>("flags", 2);
  auto add_flags = context.template zeros<signal_t*>("flags", 2);
  const int rounds = KokkosIris::Impl::is_gpu_space_v<TypeParam> ? 300 : 3000;
  signal_t* const set = set_flags.data();
  signal_t* const add = add_flags.data();
  EXPECT_EQ(
      ping_around<TypeParam>(context.device(), Mailbox{data.data(), source.data(), set, set + 1},
                             rounds, most, KokkosIris::signal_set),
      0);
  EXPECT_EQ(
      ping_around<TypeParam>(context.device(), Mailbox{data.data(), source.data(), add, add + 1},
                             rounds, most, KokkosIris::signal_add),
      0);
  context.barrier();
  EXPECT_EQ(::Test::staged(add_flags.view())(0), signal_t(rounds));
}

KOKKOS_FUNCTION bool put_then_empty_signal(const DeviceContext& d, double* dst, const double* src,
                                           std::size_t n, signal_t* flag, signal_t value,
                                           int peer) {
  double* const nothing = nullptr;
  return KokkosIris::put(d, dst, src, n, peer, copy_engine) &&
         KokkosIris::put_signal(d, nothing, nothing, 0, flag, value, KokkosIris::signal_set, peer,
                                copy_engine);
}
template <class ExecutionSpace>
bool put_then_empty_signal_in_kernel(const DeviceContext& d, double* dst, const double* src,
                                     std::size_t n, signal_t* flag, signal_t value, int peer) {
  return run_one<ExecutionSpace>(
      KOKKOS_LAMBDA() { return put_then_empty_signal(d, dst, src, n, flag, value, peer); });
}

/// A signal without data keeps its place behind the puts before it.
DEVICE_TYPED_TEST(CopyEngine, EmptyPutStillSignalsInOrder) {
  auto context = ::Test::make_context<TypeParam>();
  const std::size_t n = 20000;
  auto target = context.template zeros<double*>("target", n);
  auto flag = context.template zeros<signal_t>("flag");
  const int next = (context.rank() + 1) % context.size();
  const int previous = (context.rank() + context.size() - 1) % context.size();
  const ::Test::SharedView<double*, TypeParam> source("source", n);
  const TypeParam exec;
  for (int round = 1; round <= 100; ++round) {
    std::fill_n(source.data(), n, round + context.rank() * 1000.0);
    const bool in_kernel = KokkosIris::Impl::is_gpu_space_v<TypeParam> || round % 20 == 0;
    auto* const call =
        in_kernel ? &put_then_empty_signal_in_kernel<TypeParam> : &put_then_empty_signal;
    ASSERT_TRUE(call(context.device(), target.data(), source.data(), n, flag.data(),
                     signal_t(round), next));
    KokkosIris::wait_until(exec, context, flag, KokkosIris::reached, signal_t(round));
    const auto got = ::Test::staged(target.view());
    ASSERT_EQ(std::accumulate(got.data(), got.data() + n, 0.0),
              double(n) * (round + previous * 1000.0));
    KokkosIris::quiet(exec, context, next);
    context.barrier();
  }
}

/// Every team writes rows of a matrix with all its threads and puts them, some rows with gaps; two
/// rings' worth of teams and more submit at once.
template <class ExecutionSpace, class Target, class Source>
int put_rows_by_teams(const DeviceContext& d, const Target& target, const Source& source,
                      int peer) {
  using Policy = Kokkos::TeamPolicy<ExecutionSpace>;
  const int columns = static_cast<int>(source.extent(1));
  auto kernel = KOKKOS_LAMBDA(const typename Policy::member_type& team, int& failed) {
    const int row = team.league_rank();
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, columns),
                         [&](int c) { source(row, c) = d.rank() * 1e6 + row * 1e3 + c; });
    // The last column stays out, so that rows are not adjacent.
    const auto to = Kokkos::subview(target, Kokkos::pair<int, int>(row, row + 1),
                                    Kokkos::pair<int, int>(0, columns - 1));
    const auto from = Kokkos::subview(source, Kokkos::pair<int, int>(row, row + 1),
                                      Kokkos::pair<int, int>(0, columns - 1));
    const bool submitted = row % 2 == 0 ? KokkosIris::put(team, d, to, from, peer, copy_engine)
                                        : KokkosIris::put(team, d, &target(row, 0), &source(row, 0),
                                                          columns - 1, peer, copy_engine);
    const bool complete = row % 5 == 0   ? KokkosIris::quiet(team, d, peer)
                          : row % 7 == 0 ? KokkosIris::quiet(team, d)
                                         : true;
    Kokkos::single(Kokkos::PerTeam(team), [&] { failed += submitted && complete ? 0 : 1; });
  };
  int failed = 0;
  Policy policy(ExecutionSpace(), int(source.extent(0)), 1);
  const int most = KokkosIris::Impl::is_gpu_space_v<ExecutionSpace> ? 64 : 2;
  const int size = std::min(most, policy.team_size_max(kernel, Kokkos::ParallelReduceTag()));
  Kokkos::parallel_reduce(Policy(ExecutionSpace(), int(source.extent(0)), size), kernel, failed);
  return failed;
}

DEVICE_TYPED_TEST(CopyEngine, TeamsWithTinyRings) {
  for (const std::size_t entries : {2u, 4u}) {
    auto context = ::Test::make_context<TypeParam>({.copy_engine_entries = entries});
    const int rows = 101;
    const int columns = 37;
    auto target =
        context.template full<double**, Kokkos::LayoutRight>("target", -1.0, rows, columns);
    const ::Test::SharedView<double**, TypeParam> source("source", rows, columns);
    const int next = (context.rank() + 1) % context.size();
    const int previous = (context.rank() + context.size() - 1) % context.size();
    for (int round = 0; round < 5; ++round) {
      EXPECT_EQ(put_rows_by_teams<TypeParam>(context.device(), target.view(), source, next), 0);
      KokkosIris::quiet(TypeParam(), context, next);
      context.barrier();
      int wrong = 0;
      const auto got = ::Test::staged(target.view());
      for (int r = 0; r < rows; ++r) {
        for (int c = 0; c + 1 < columns; ++c) {
          wrong += got(r, c) != previous * 1e6 + r * 1e3 + c ? 1 : 0;
        }
        wrong += got(r, columns - 1) != -1.0 ? 1 : 0;
      }
      EXPECT_EQ(wrong, 0);
      context.barrier();
      Kokkos::deep_copy(target.view(), -1.0);
      context.barrier();
    }
  }
}

/// Every thread puts one element; every third waits for its copy.
template <class ExecutionSpace>
int put_elements_by_threads(const DeviceContext& d, double* dst, const double* src, int n,
                            int peer) {
  int failed = 0;
  Kokkos::parallel_reduce(
      Kokkos::RangePolicy<ExecutionSpace>(0, n),
      KOKKOS_LAMBDA(int i, int& sum) {
        bool going = KokkosIris::put(d, dst + i, src + i, 1, peer, copy_engine);
        if (i % 3 == 0) going = going && KokkosIris::quiet(d, peer);
        sum += going ? 0 : 1;
      },
      failed);
  return failed;
}

/// More threads than places in the ring, many of them in one warp: whoever has a place fills it
/// while the others wait for theirs.
DEVICE_TYPED_TEST(CopyEngine, ThreadsWithTinyRings) {
  const int n = 333;
  for (const std::size_t entries : {2u, 8u}) {
    auto context = ::Test::make_context<TypeParam>({.copy_engine_entries = entries});
    auto target = context.template full<double*>("target", -1.0, n);
    auto source = context.template empty<double*>("source", n);
    ::Test::random_fill_anywhere(source.view(), ::Test::stream(context.rank()));
    const int next = (context.rank() + 1) % context.size();
    const int previous = (context.rank() + context.size() - 1) % context.size();
    context.barrier();
    EXPECT_EQ(
        put_elements_by_threads<TypeParam>(context.device(), target.data(), source.data(), n, next),
        0);
    KokkosIris::quiet(TypeParam(), context, next);
    context.barrier();
    const auto got = ::Test::staged(target.view());
    for (int i = 0; i < n; ++i) {
      ASSERT_EQ(got(i), ::Test::random_value<double>(::Test::stream(previous), i)) << i;
    }
    context.barrier();
  }
}

/// Starts a kernel of one thread that puts n elements, waits for them, and does so again. Counts
/// the waits that were given up.
template <class ExecutionSpace, class Counter>
void start_puts(const ExecutionSpace& exec, const DeviceContext& d, double* dst, const double* src,
                std::size_t n, int rounds, int peer, const Counter& failed) {
  Kokkos::parallel_for(
      Kokkos::RangePolicy<ExecutionSpace>(exec, 0, 1), KOKKOS_LAMBDA(int) {
        for (int round = 0; round < rounds; ++round) {
          if (KokkosIris::put(d, dst, src, n, peer, copy_engine) && KokkosIris::quiet(d, peer))
            continue;
          ++failed();
          return;
        }
      });
}

/// Copies that the host submits behind a running kernel wait for it; those of the kernel must not
/// wait for them.
DEVICE_TYPED_TEST(CopyEngine, HostPutsBehindAKernelThatPuts) {
  auto context = ::Test::make_context<TypeParam>({.copy_engine_entries = 2});
  const std::size_t n = 1000;
  auto target = context.template zeros<double*>("target", 2 * n);
  auto source = context.template zeros<double*>("source", n);
  auto flag = context.template zeros<signal_t>("flag");
  const ::Test::SharedView<int, TypeParam> failed("failed");
  const auto second =
      Kokkos::subview(target.view(), Kokkos::pair<std::size_t, std::size_t>(n, 2 * n));
  const int next = (context.rank() + 1) % context.size();
  const int previous = (context.rank() + context.size() - 1) % context.size();
  const TypeParam exec;
  for (int round = 1; round <= 10; ++round) {
    Kokkos::deep_copy(exec, source.view(), context.rank() * 1000.0 + round);
    start_puts(exec, context.device(), target.data(), source.data(), n, 20, next, failed);
    KokkosIris::put(exec, context, second, source, next, copy_engine);
    KokkosIris::put_signal(exec, context, second, source, flag.data(), 1, KokkosIris::signal_add,
                           next, copy_engine);
    KokkosIris::quiet(exec, context, next);
    EXPECT_EQ(failed(), 0);
    context.barrier();
    const auto got = ::Test::staged(target.view());
    for (std::size_t i = 0; i < 2 * n; ++i) ASSERT_EQ(got(i), previous * 1000.0 + round) << i;
    EXPECT_EQ(::Test::get_at(flag), signal_t(round));
    context.barrier();
  }
}

template <class ExecutionSpace>
bool quiet_in_kernel(const DeviceContext& d) {
  return run_one<ExecutionSpace>(KOKKOS_LAMBDA() {
    bool complete = KokkosIris::quiet(d);
    for (int peer = 0; peer < d.size(); ++peer) complete = KokkosIris::quiet(d, peer) && complete;
    return complete;
  });
}

DEVICE_TYPED_TEST(CopyEngine, QuietWithoutCopies) {
  auto context = ::Test::make_context<TypeParam>();
  for (int peer = 0; peer < context.size(); ++peer) {
    KokkosIris::quiet(TypeParam(), context, peer);
  }
  KokkosIris::quiet(TypeParam(), context);
  EXPECT_TRUE(quiet_in_kernel<TypeParam>(context.device()));
}

/// A peer that is late, or has left its context already, holds nothing up: copies are one-sided,
/// and copies that were submitted are finished when the context is destroyed.
DEVICE_TYPED_TEST(CopyEngine, NeedsNoPeerAndEndsWithItsContext) {
  const TypeParam exec;
  for (int round = 0; round < 5; ++round) {
    auto context = ::Test::make_context<TypeParam>();
    const int size = context.size();
    const int rank = context.rank();
    const std::size_t n = 100000;
    auto target = context.template zeros<double**, Kokkos::LayoutRight>("target", size, n);
    const ::Test::SharedView<double*, TypeParam> source("source", n);
    std::fill_n(source.data(), n, rank + 1.0 + round);
    if (rank == round % size) ::Test::delay(30);
    for (int step = 1; step <= size; ++step) {
      KokkosIris::put(exec, context, Kokkos::subview(target.view(), rank, Kokkos::ALL), source,
                      (rank + step) % size, copy_engine);
    }
    if (round % 2 == 0) KokkosIris::quiet(exec, context);
    {
      auto gone = std::move(context);  // the views stay
    }
    MPI_Barrier(MPI_COMM_WORLD);
    int wrong = 0;
    const auto got = ::Test::staged(target.view());
    for (int from = 0; from < size; ++from) {
      for (std::size_t i = 0; i < n; ++i) wrong += got(from, i) != from + 1.0 + round ? 1 : 0;
    }
    EXPECT_EQ(wrong, 0);
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

/// Wrong arguments are refused on the rank that gives them, with what is wrong; nothing is copied.
DEVICE_TYPED_TEST(CopyEngine, Misuse) {
  using KokkosIris::ErrorCode;
  auto context = ::Test::make_context<TypeParam>();
  const TypeParam exec;
  auto target = context.template zeros<double*>("target", 10);
  auto flag = context.template zeros<signal_t>("flag");
  ::Test::SharedView<double*, TypeParam> local("local", 10);
  ::Test::SharedView<double*, TypeParam> longer("longer", 11);
  Kokkos::View<bool*, Kokkos::HostSpace> mask("mask", 9);
  signal_t nowhere = 0;
  Kokkos::deep_copy(local, 1.0);
  auto refused = [&](auto&& call, const auto&... parts) {
    ::Test::expect_error(ErrorCode::invalid_argument, call, parts...);
  };
  const std::string rank = "rank " + std::to_string(context.rank());
  refused([&] { put(exec, context, target, longer, 0, copy_engine); }, "put", "target", "10",
          "longer", "11", rank);
  refused([&] { put(exec, context, local, local, 0, copy_engine); }, "put", "local", "80", rank);
  refused([&] { get(exec, context, local, longer, 0, copy_engine); }, "get", "longer", "88");
  refused([&] { put(exec, context, target, local, 0, copy_engine, mask); }, "put", "mask", "9");
  for (const int peer : {-1, context.size()}) {
    const std::string text = std::to_string(peer);
    refused([&] { put(exec, context, target, local, peer, copy_engine); }, "put", text);
    refused([&] { get(exec, context, local, target, peer, copy_engine); }, "get", text);
    refused([&] { quiet(exec, context, peer); }, "quiet", text);
    refused(
        [&] {
          put_signal(exec, context, target, local, flag.data(), 1, KokkosIris::signal_set, peer,
                     copy_engine);
        },
        "put_signal", text);
  }
  refused(
      [&] {
        put_signal(exec, context, target, local, &nowhere, 1, KokkosIris::signal_set, 0,
                   copy_engine);
      },
      "put_signal", "flag");
  KokkosIris::quiet(exec, context);
  context.barrier();
  const auto got = ::Test::staged(target.view());
  for (int i = 0; i < 10; ++i) EXPECT_EQ(got(i), 0.0);
  EXPECT_EQ(::Test::staged(flag.view())(), 0u);
}

}  // namespace
