// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// put, put_signal and get through the copy engine, and quiet, between ranks. Kernels are in
// function templates outside of the tests' classes, as CUDA requires.

#include <TestUtilities.hpp>
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
TYPED_TEST_SUITE(CopyEngine, Test::ExecutionSpaces, Test::ExecutionSpaceNames);

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
TYPED_TEST(CopyEngine, SizesAndAlignments) {
  auto context = ::Test::make_context<TypeParam>();
  const DeviceContext d = context.device();
  const int rank = context.rank();
  const std::size_t room = 300000;
  auto target = context.template empty<unsigned char**>("target", context.size(), room);
  std::vector<unsigned char> source(room + 64);
  std::vector<std::size_t> sizes = {0,   1,     2,     3,     4,     7,     8,     15,
                                    16,  17,    31,    33,    63,    64,    65,    127,
                                    255, 16383, 16384, 16385, 40000, 65537, 262147};
  int seed = 0;
  for (const std::size_t n : sizes) {
    const std::size_t shift = std::size_t(seed * 5 % 17);
    const std::size_t source_shift = std::size_t(seed * 3 % 19);
    ++seed;
    std::fill_n(target.data(), target.size(), static_cast<unsigned char>(0xa5));
    for (std::size_t i = 0; i < source.size(); ++i) {
      source[i] = static_cast<unsigned char>(::Test::random_bits(::Test::stream(rank, seed), i));
    }
    context.barrier();
    ASSERT_TRUE(put_to_all<TypeParam>(
        d, &target(rank, 64 + shift),
        static_cast<const unsigned char*>(source.data()) + source_shift, n, &target(rank, 0)));
    context.barrier();
    std::size_t wrong = 0;
    for (int from = 0; from < context.size(); ++from) {
      for (std::size_t i = 0; i < room; ++i) {
        const bool inside = i >= 64 + shift && i < 64 + shift + n;
        const auto expected = inside
                                  ? static_cast<unsigned char>(::Test::random_bits(
                                        ::Test::stream(from, seed), i - 64 - shift + source_shift))
                                  : static_cast<unsigned char>(0xa5);
        wrong += target(from, i) != expected ? 1u : 0u;
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
TYPED_TEST(CopyEngine, PutsToOnePeerCompleteInOrder) {
  auto context = ::Test::make_context<TypeParam>();
  const std::size_t n = 6000;
  auto target = context.template zeros<double*>("target", n);
  const int next = (context.rank() + 1) % context.size();
  const int previous = (context.rank() + context.size() - 1) % context.size();
  std::vector<double> first(n), second(n);
  for (int round = 0; round < 300; ++round) {
    std::fill(first.begin(), first.end(), -1.0 - context.rank());
    std::fill(second.begin(), second.end(), round * 100.0 + context.rank());
    const std::size_t m = round % 2 == 0 ? 1 : n;
    const std::size_t k = round % 4 < 2 ? n : 1;
    // Few kernels, because starting one takes long where threads outnumber processors.
    auto* const call = round % 100 < 4 ? &overwrite_twice_in_kernel<TypeParam> : &overwrite_twice;
    ASSERT_TRUE(call(context.device(), target.data(), first.data(), second.data(), k, m, next));
    context.barrier();
    ASSERT_EQ(target(0), round * 100.0 + previous);
    ASSERT_EQ(target(m - 1), round * 100.0 + previous);
    if (m < k) {
      ASSERT_EQ(target(m), -1.0 - previous);
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
TYPED_TEST(CopyEngine, SignalFollowsData) {
  auto context = ::Test::make_context<TypeParam>({.copy_engine_entries = 2});
  const std::size_t most = 3000;
  auto data = context.template full<std::uint64_t*>("data", ~std::uint64_t(0), most);
  auto source = context.template zeros<std::uint64_t*>("source", most);
  auto set_flags = context.template zeros<signal_t*>("flags", 2);
  auto add_flags = context.template zeros<signal_t*>("flags", 2);
  const int rounds = 3000;
  EXPECT_EQ(ping_around<TypeParam>(
                context.device(), Mailbox{data.data(), source.data(), &set_flags(0), &set_flags(1)},
                rounds, most, KokkosIris::signal_set),
            0);
  EXPECT_EQ(ping_around<TypeParam>(
                context.device(), Mailbox{data.data(), source.data(), &add_flags(0), &add_flags(1)},
                rounds, most, KokkosIris::signal_add),
            0);
  context.barrier();
  EXPECT_EQ(add_flags(0), signal_t(rounds));
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
TYPED_TEST(CopyEngine, EmptyPutStillSignalsInOrder) {
  auto context = ::Test::make_context<TypeParam>();
  const std::size_t n = 20000;
  auto target = context.template zeros<double*>("target", n);
  auto flag = context.template zeros<signal_t>("flag");
  const int next = (context.rank() + 1) % context.size();
  const int previous = (context.rank() + context.size() - 1) % context.size();
  std::vector<double> source(n);
  for (int round = 1; round <= 100; ++round) {
    std::fill(source.begin(), source.end(), round + context.rank() * 1000.0);
    auto* const call =
        round % 20 == 0 ? &put_then_empty_signal_in_kernel<TypeParam> : &put_then_empty_signal;
    ASSERT_TRUE(call(context.device(), target.data(), source.data(), n, flag.data(),
                     signal_t(round), next));
    ASSERT_TRUE(KokkosIris::Impl::wait_counter(context.device(),
                                               {KokkosIris::Impl::WaitPhase::user_wait, previous},
                                               flag.data(), signal_t(round)));
    ASSERT_EQ(std::accumulate(target.data(), target.data() + n, 0.0),
              double(n) * (round + previous * 1000.0));
    ASSERT_TRUE(KokkosIris::quiet(context.device(), next));
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
  const int size = std::min(2, policy.team_size_max(kernel, Kokkos::ParallelReduceTag()));
  Kokkos::parallel_reduce(Policy(ExecutionSpace(), int(source.extent(0)), size), kernel, failed);
  return failed;
}

TYPED_TEST(CopyEngine, TeamsWithTinyRings) {
  for (const std::size_t entries : {2u, 4u}) {
    auto context = ::Test::make_context<TypeParam>({.copy_engine_entries = entries});
    const int rows = 101;
    const int columns = 37;
    auto target =
        context.template full<double**, Kokkos::LayoutRight>("target", -1.0, rows, columns);
    Kokkos::View<double**, Kokkos::LayoutRight, Kokkos::HostSpace> source("source", rows, columns);
    const int next = (context.rank() + 1) % context.size();
    const int previous = (context.rank() + context.size() - 1) % context.size();
    for (int round = 0; round < 5; ++round) {
      EXPECT_EQ(put_rows_by_teams<TypeParam>(context.device(), target.view(), source, next), 0);
      KokkosIris::quiet(TypeParam(), context, next);
      context.barrier();
      int wrong = 0;
      for (int r = 0; r < rows; ++r) {
        for (int c = 0; c + 1 < columns; ++c) {
          wrong += target(r, c) != previous * 1e6 + r * 1e3 + c ? 1 : 0;
        }
        wrong += target(r, columns - 1) != -1.0 ? 1 : 0;
      }
      EXPECT_EQ(wrong, 0);
      context.barrier();
      std::fill_n(target.data(), target.span(), -1.0);
      context.barrier();
    }
  }
}

TYPED_TEST(CopyEngine, QuietWithoutCopies) {
  auto context = ::Test::make_context<TypeParam>();
  for (int peer = 0; peer < context.size(); ++peer) {
    KokkosIris::quiet(TypeParam(), context, peer);
    EXPECT_TRUE(KokkosIris::quiet(context.device(), peer));
  }
  KokkosIris::quiet(TypeParam(), context);
  EXPECT_TRUE(KokkosIris::quiet(context.device()));
}

/// A peer that is late, or has left its context already, holds nothing up: copies are one-sided,
/// and copies that were submitted are finished when the context is destroyed.
TYPED_TEST(CopyEngine, NeedsNoPeerAndEndsWithItsContext) {
  const TypeParam exec;
  for (int round = 0; round < 5; ++round) {
    auto context = ::Test::make_context<TypeParam>();
    const int size = context.size();
    const int rank = context.rank();
    const std::size_t n = 100000;
    auto target = context.template zeros<double**, Kokkos::LayoutRight>("target", size, n);
    std::vector<double> values(n, rank + 1.0 + round);
    const Kokkos::View<const double*, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>
        source(values.data(), n);
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
    for (int from = 0; from < size; ++from) {
      for (std::size_t i = 0; i < n; ++i) wrong += target(from, i) != from + 1.0 + round ? 1 : 0;
    }
    EXPECT_EQ(wrong, 0);
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

/// Wrong arguments are refused on the rank that gives them, with what is wrong; nothing is copied.
TYPED_TEST(CopyEngine, Misuse) {
  using KokkosIris::ErrorCode;
  auto context = ::Test::make_context<TypeParam>();
  const TypeParam exec;
  auto target = context.template zeros<double*>("target", 10);
  auto flag = context.template zeros<signal_t>("flag");
  Kokkos::View<double*, Kokkos::HostSpace> local("local", 10);
  Kokkos::View<double*, Kokkos::HostSpace> longer("longer", 11);
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
  for (int i = 0; i < 10; ++i) EXPECT_EQ(target(i), 0.0);
  EXPECT_EQ(flag(), 0u);
}

}  // namespace
