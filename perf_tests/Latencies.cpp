// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What takes well under a microsecond: signals, atomics, barriers, the copy engine's way there and
// back. One sample is the mean of a batch.

#include <MpiWindow.hpp>
#include <RawAccess.hpp>
#include <Session.hpp>
#include <algorithm>
#include <rma/KokkosIris_CopyEnginePut.hpp>
#include <rma/KokkosIris_Quiet.hpp>
#include <thread>

namespace Bench {
namespace {

using KokkosIris::signal_set;
using KokkosIris::signal_t;
using Role = Entrant::Role;

/// Words that two flags are apart: a pair of cache lines, which processors fetch together.
constexpr int spacing = 16;

Record record(const char* op, std::int64_t bytes = 0) {
  Record common;
  common.op = op;
  common.bytes = bytes;
  return common;
}

/// Mean time of `count` calls.
template <class Action>
double mean(int count, const Action& action) {
  return timed([&] {
           for (int i = 0; i < count; ++i) action();
         }) /
         count;
}

void measure_signal(Session& session) {
  constexpr int batch = 2000;
  const auto d = session.device();
  const int peer = 1 - session.rank();
  const auto flags = session.context().zeros<signal_t*>("flags", 2 * spacing);
  signal_t* const ours = flags.data();
  signal_t* const raw = flags.data() + spacing;
  signal_t* const raw_there = flags.peer(peer).data() + spacing;
  std::uint64_t our_count = 0, raw_count = 0;
  // Rank 0 signals and waits, rank 1 waits and signals: two ways a round.
  const auto ping_pong = [&](const auto& send, const auto& await) {
    if (session.rank() == 0) send();
    await();
    if (session.rank() == 1) send();
  };
  std::vector<Entrant> entrants;
  entrants.push_back(
      {Role::ours, "thread",
       [&] {
         return mean(batch,
                     [&] {
                       ++our_count;
                       ping_pong([&] { signal(d, ours, our_count, signal_set, peer); },
                                 [&] {
                                   if (!wait_until(d, ours, KokkosIris::reached, our_count)) {
                                     throw std::runtime_error("wait given up");
                                   }
                                 });
                     }) /
                2;
       },
       Target::ratio(1.3)});
  const auto by_hand = [&](auto spin) {
    return [&, spin] {
      return mean(batch,
                  [&] {
                    ++raw_count;
                    ping_pong([&] { release(raw_there, raw_count); },
                              [&] { spin(raw, raw_count); });
                  }) /
             2;
    };
  };
  entrants.push_back({Role::reference, "raw release/acquire", by_hand(spin_until<false>)});
  entrants.push_back({Role::reference, "raw, pausing", by_hand(spin_until<true>)});
  session.measure(record("signal"), entrants);
}

void measure_fetch_add(Session& session) {
  constexpr int batch = 2000, mpi_batch = 200;
  const auto d = session.device();
  const int peer = session.size() - 1;
  const auto word = session.context().zeros<std::uint64_t*>("word", spacing);
  const MpiWindow window(spacing);
  std::uint64_t* const raw = word.peer(peer).data();
  std::uint64_t ours = 0, by_hand = 0, by_mpi = 0;
  // Only rank 0 calls; the value before says whether each addition was done once.
  const auto entrant = [&](int count, std::uint64_t& last, auto add) {
    return [&session, &last, count, add] {
      return session.rank() == 0 ? mean(count, [&] { last = add(); }) : 0.0;
    };
  };
  std::vector<Entrant> entrants;
  entrants.push_back(
      {Role::ours, "thread",
       entrant(batch, ours, [d, &word, peer] { return atomic_add(d, word.data(), 1, peer); }),
       Target::ratio(1.1)});
  entrants.push_back({Role::reference, "lock xadd", entrant(batch, by_hand, [raw] {
                        return __atomic_fetch_add(raw, 1, __ATOMIC_SEQ_CST);
                      })});
  entrants.push_back(
      {Role::informative, "MPI_Fetch_and_op+flush",
       entrant(mpi_batch, by_mpi, [&window, peer] { return window.fetch_add(1, peer); })});
  const Times times = session.measure(record("fetch_add", 8), entrants);
  const std::uint64_t rounds = static_cast<std::uint64_t>(times.samples) + 1;
  const bool good =
      std::max(ours, by_hand) + 1 == 2 * rounds * batch && by_mpi + 1 == rounds * mpi_batch;
  require_everywhere(session.rank() != 0 || good, "fetch_add: the sums are wrong");
}

/// The fastest barrier by hand: each rank stores to a word of its own on every other rank.
class RawBarrier {
 public:
  explicit RawBarrier(Session& session)
      : m_rank(session.rank()),
        m_size(session.size()),
        m_arrivals(session.context().zeros<std::uint64_t*>("arrivals", m_size * spacing)) {
    for (int peer = 0; peer < m_size; ++peer) m_peers.push_back(m_arrivals.peer(peer).data());
  }
  template <bool Pause>
  void wait() {
    ++m_generation;
    for (int peer = 0; peer < m_size; ++peer) {
      if (peer != m_rank) release(m_peers[peer] + m_rank * spacing, m_generation);
    }
    for (int peer = 0; peer < m_size; ++peer) {
      if (peer != m_rank) spin_until<Pause>(m_arrivals.data() + peer * spacing, m_generation);
    }
  }

 private:
  int m_rank, m_size;
  Context::view_type<std::uint64_t*> m_arrivals;
  std::vector<std::uint64_t*> m_peers;
  std::uint64_t m_generation = 0;
};

void measure_barrier(Session& session) {
  // Where ranks share cores a barrier that only spins takes milliseconds and is no baseline.
  const bool crowded = session.size() > static_cast<int>(std::thread::hardware_concurrency());
  const int batch = crowded ? 200 : 1000;
  const auto d = session.device();
  const Target target = crowded ? Target::microseconds(15.0) : Target::ratio(2.0);
  RawBarrier raw(session);
  std::vector<Entrant> entrants;
  entrants.push_back({Role::ours, "thread",
                      [&] {
                        return mean(batch, [&] {
                          if (!barrier(d)) throw std::runtime_error("wait given up");
                        });
                      },
                      target});
  entrants.push_back(
      {Role::ours, "host",
       [&] { return mean(batch, [&] { session.context().barrier(session.exec()); }); }, target});
  if (!crowded) {
    entrants.push_back(
        {Role::reference, "raw spin", [&] { return mean(batch, [&] { raw.wait<false>(); }); }});
    entrants.push_back({Role::reference, "raw spin, pausing",
                        [&] { return mean(batch, [&] { raw.wait<true>(); }); }});
  }
  entrants.push_back({Role::informative, "MPI_Barrier",
                      [&] { return mean(batch / 10, [] { MPI_Barrier(MPI_COMM_WORLD); }); }});
  session.measure(record("barrier"), entrants);
}

void measure_copy_engine(Session& session) {
  constexpr int batch = 200;
  const auto d = session.device();
  const auto source = session.context().ones<std::uint64_t*>("source", spacing);
  const auto word = session.context().zeros<std::uint64_t*>("word", spacing);
  const MpiWindow window(spacing);
  const auto on_rank_0 = [&](auto action) {
    return [&session, action] { return session.rank() == 0 ? mean(batch, action) : 0.0; };
  };
  std::vector<Entrant> entrants;
  entrants.push_back({Role::ours, "engine", on_rank_0([&source, &word, d] {
                        put(d, word.data(), source.data(), 1, 1, KokkosIris::copy_engine);
                        if (!quiet(d, 1)) throw std::runtime_error("wait given up");
                      })});
  entrants.push_back({Role::reference, "MPI_Put+flush",
                      on_rank_0([&source, &window] { window.put(source.data(), 1, 1); })});
  session.measure(record("engine_put_quiet", 8), entrants);
  require_everywhere(session.rank() != 1 || word(0) == 1, "engine_put_quiet: nothing has arrived");
}

void run(Session& session) {
  const bool pair = session.size() == 2;
  if (pair && session.wants("signal")) measure_signal(session);
  if (pair && session.wants("fetch_add")) measure_fetch_add(session);
  if (session.size() > 1 && session.wants("barrier")) measure_barrier(session);
  if (pair && session.wants("engine_put_quiet")) measure_copy_engine(session);
}

const Suite suite(30, &run);

}  // namespace
}  // namespace Bench
