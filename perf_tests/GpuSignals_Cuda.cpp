// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What a kernel of each rank does with the other's: signals and puts with a signal, one way (half
// of there and back), and the barrier. One sample is the mean of many rounds in one kernel.

#include <GpuBench.hpp>
#include <RawGpu.hpp>

namespace Bench {
namespace {

using KokkosIris::DeviceContext;
using KokkosIris::signal_t;
using Role = Entrant::Role;
using Policy = Kokkos::TeamPolicy<Kokkos::Cuda>;

constexpr int rounds = 1000;
/// Words that two flags are apart.
constexpr int spacing = 32;

/// What a ping-pong needs; ours and the raw one have flags of their own, which count on.
struct Ball {
  std::uint64_t* target;  ///< where the peer's data arrive
  std::uint64_t* source;
  std::size_t words;  ///< 0: a signal alone
  std::uint64_t* flag;
  std::uint64_t first;  ///< number of the first round
  int* failed;
};

/// All threads of one team; rank 0 sends first.
struct PingPong {
  DeviceContext m_context;
  Ball m_ball;

  KOKKOS_FUNCTION void send(const Policy::member_type& team, signal_t count, int peer) const {
    if (m_ball.words == 0) {
      if (team.team_rank() == 0) {
        signal(m_context, m_ball.flag, count, KokkosIris::signal_set, peer);
      }
    } else {
      put_signal(team, m_context, m_ball.target, m_ball.source, m_ball.words, m_ball.flag, count,
                 KokkosIris::signal_set, peer);
    }
  }
  KOKKOS_FUNCTION void operator()(const Policy::member_type& team) const {
    const int peer = 1 - m_context.rank();
    bool going = true;
    for (int i = 0; i < rounds; ++i) {
      const signal_t count = m_ball.first + signal_t(i);
      if (m_context.rank() == 0) send(team, count, peer);
      if (team.team_rank() == 0 && going) {
        going = wait_until(m_context, m_ball.flag, KokkosIris::reached, count);
      }
      team.team_barrier();
      if (m_context.rank() == 1) send(team, count, peer);
    }
    if (!going) *m_ball.failed = 1;
  }
};

/// \tparam Fence with a system fence before the release store, which needs none
template <bool Fence>
__device__ __forceinline__ void raw_send(const Ball& there, std::uint64_t count) {
  if (there.words != 0) {
    if (there.words == 1) {
      if (threadIdx.x == 0) there.target[0] = there.source[0];
    } else {
      Raw::copy_words(reinterpret_cast<uint4*>(there.target),
                      reinterpret_cast<const uint4*>(there.source), there.words / 2, threadIdx.x,
                      blockDim.x);
    }
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    if constexpr (Fence) __threadfence_system();
    Raw::store_release(there.flag, count);
  }
}
/// \param there target and flag on the peer
/// \param flag the own one
template <bool Fence>
__global__ void raw_ping_pong(Ball there, const std::uint64_t* flag, int rank) {
  bool going = true;
  for (int i = 0; i < rounds; ++i) {
    const std::uint64_t count = there.first + std::uint64_t(i);
    if (rank == 0) raw_send<Fence>(there, count);
    if (threadIdx.x == 0 && going) going = Raw::spin_until(flag, count);
    __syncthreads();
    if (rank == 1) raw_send<Fence>(there, count);
  }
  if (!going) *there.failed = 1;
}

/// What our puts leave at the peer.
template <class Run>
void verify_arrival(GpuBench& bench, std::size_t words, const Run& run) {
  const std::uint64_t seed = 11 * words;
  bench.fill(bench.here(words).data(), words, seed + std::uint64_t(bench.rank()));
  bench.fill(bench.there(words).data(), words, ~seed);
  bench.session().start();
  run();
  bench.session().start();
  require_everywhere(
      bench.count_wrong(bench.there(words).data(), words, seed + std::uint64_t(bench.peer())) == 0,
      "gpu: what put_signal left is wrong");
}

void measure_ping_pong(GpuBench& bench, const char* op, std::size_t words, int threads,
                       Target target) {
  const auto flags = bench.context().zeros<signal_t*>("flags", 2 * spacing);
  std::uint64_t* const there = bench.there(words + 2).data();
  std::uint64_t our_first = 1, raw_first = 1;
  const Ball ours{there, bench.here(words + 2).data(), words, flags.data(), 0, bench.failed()};
  Ball raw = ours;
  raw.target = bench.there_at_peer();
  raw.flag = flags.peer(bench.peer()).data() + spacing;
  const auto one_way = [&](std::uint64_t& first, Ball ball, const auto& launch) {
    ball.first = first;
    first += rounds;
    return bench.stream_time(1, [&] { launch(ball); }) / (2 * rounds);
  };
  const auto by_hand = [&](auto* kernel) {
    return [&, kernel] {
      return one_way(raw_first, raw, [&](const Ball& ball) {
        kernel<<<1, threads, 0, bench.stream()>>>(ball, flags.data() + spacing, bench.rank());
      });
    };
  };
  const auto by_us = [&] {
    return one_way(our_first, ours, [&](const Ball& ball) {
      Kokkos::parallel_for("ping-pong", Policy(bench.exec(), 1, threads),
                           PingPong{bench.device(), ball});
    });
  };
  if (words != 0) verify_arrival(bench, words, by_us);
  std::vector<Entrant> entrants;
  entrants.push_back(
      {Role::ours, threads == 1 ? "thread" : "team " + std::to_string(threads), by_us, target});
  const bool has_data = words != 0;
  entrants.push_back({has_data ? Role::reference : Role::informative, "raw, fence, st.release",
                      by_hand(&raw_ping_pong<true>)});
  entrants.push_back({has_data ? Role::informative : Role::reference, "raw, st.release",
                      by_hand(&raw_ping_pong<false>)});
  bench.session().measure(GpuBench::record(op, "uint64", words * sizeof(std::uint64_t)), entrants);
  bench.require_success(op);
}

/// One thread of each rank.
struct Barriers {
  DeviceContext m_context;
  int* m_failed;
  KOKKOS_FUNCTION void operator()(int) const {
    for (int i = 0; i < rounds; ++i) {
      if (!barrier(m_context)) {
        *m_failed = 1;
        return;
      }
    }
  }
};
__global__ void raw_barriers(std::uint64_t* there, const std::uint64_t* here, std::uint64_t first,
                             int* failed) {
  for (int i = 0; i < rounds; ++i) {
    Raw::store_release(there, first + std::uint64_t(i));
    if (!Raw::spin_until(here, first + std::uint64_t(i))) {
      *failed = 1;
      return;
    }
  }
}

void measure_barrier(GpuBench& bench) {
  const auto arrivals = bench.context().zeros<std::uint64_t*>("arrivals", spacing);
  std::uint64_t* const there = arrivals.peer(bench.peer()).data();
  std::uint64_t first = 1;
  std::vector<Entrant> entrants;
  entrants.push_back({Role::ours, "thread",
                      [&] {
                        return bench.stream_time(1, [&] {
                          Kokkos::parallel_for(
                              "barriers", Kokkos::RangePolicy<Kokkos::Cuda>(bench.exec(), 0, 1),
                              Barriers{bench.device(), bench.failed()});
                        }) / rounds;
                      },
                      Target::ratio(1.1).within(3.0)});
  entrants.push_back({Role::reference, "raw, st.release", [&] {
                        const double us = bench.stream_time(1, [&] {
                          raw_barriers<<<1, 1, 0, bench.stream()>>>(there, arrivals.data(), first,
                                                                    bench.failed());
                        });
                        first += rounds;
                        return us / rounds;
                      }});
  bench.session().measure(GpuBench::record("barrier", "", 0), entrants);
  bench.require_success("gpu/barrier");
}

}  // namespace

void add_gpu_signals(GpuCells& cells) {
  cells.push_back({"gpu/signal", [](GpuBench& bench) {
                     measure_ping_pong(bench, "signal", 0, 1, Target::microseconds(1.25));
                   }});
  cells.push_back({"gpu/put_signal/8", [](GpuBench& bench) {
                     measure_ping_pong(bench, "put_signal", 1, 32, Target::ratio(1.05));
                   }});
  cells.push_back({"gpu/put_signal/65536", [](GpuBench& bench) {
                     // Larger teams would need a kernel of fewer registers.
                     measure_ping_pong(bench, "put_signal", 8192, 512, Target::ratio(1.05));
                   }});
  cells.push_back({"gpu/barrier", &measure_barrier});
}

}  // namespace Bench
