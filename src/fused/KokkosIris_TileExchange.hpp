// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// How the ranks of a fused operation hand tiles to each other: entry, staging with flags,
/// completion.

#ifndef KOKKOSIRIS_TILE_EXCHANGE_HPP
#define KOKKOSIRIS_TILE_EXCHANGE_HPP

#include <Kokkos_Core.hpp>
#include <core/KokkosIris_DeviceContext.hpp>
#include <core/KokkosIris_DeviceControl.hpp>
#include <core/KokkosIris_MemoryOrder.hpp>
#include <core/KokkosIris_Wait.hpp>
#include <cstddef>
#include <cstdint>
#include <fused/KokkosIris_Matrix.hpp>

namespace KokkosIris::Impl {

/// What a rank tells its peers when it enters a call: where the operand lies that they read or
/// write. So ranks may use different symmetric views and strides, and a peer's flag means that it
/// is there.
struct alignas(128) EntryRecord {
  std::uint64_t generation;
  std::int64_t offset;  ///< from the base of the slab, in bytes
  std::int64_t row_stride;
  std::int64_t col_stride;
};

/// Words that only the teams of one rank share.
struct LocalWords {
  static constexpr std::uint64_t given_up = ~std::uint64_t(0);
  PaddedFlag generation;  ///< calls that are complete, or given_up
  PaddedFlag arrivals;    ///< teams at the barrier of the league, in this call
  PaddedFlag finished;    ///< teams that have done their items, in this call
};

/// The exchange part of a prepared workspace; trivially copyable, used by the teams of one kernel.
///
/// All flags are generations: they grow for ever and are pushed to the rank that polls them.
/// - entry: peer q has entered call g. Its operands are in place and may be read or written.
/// - ready / consumed, one pair for each (producer, consumer, slot): a partial tile of item i is
///   complete in the producer's staging; the consumer has added it, so that the slot is free for
///   item i + slots. Items are numbered alike on all ranks; a team adds the partials of an item
///   right after it has produced those of its next one. With more slots than teams every wait
///   therefore depends on items of lower number only, and somebody can always go on.
/// - done: peer q has done all its items of call g: it will neither read nor write here any more.
///   The kernel ends when all peers are done, so when it has ended this rank's result is complete,
///   its operands may be changed, and staging is free for the next call.
///
/// Functions that take a team are called by all its threads. Waits return false if the operation
/// was given up (see wait()); the team then returns from the kernel at once. Nor do later kernels
/// use the workspace, enqueued before or repeated by a graph: they would rely on the end of this
/// call, and report parts of their own.
struct TileExchange {
  DeviceContext context;
  EntryRecord* entries = nullptr;  ///< [rank]
  PaddedFlag* done = nullptr;      ///< [rank]
  PaddedFlag* ready = nullptr;     ///< [producer][slot]
  PaddedFlag* consumed = nullptr;  ///< [consumer][slot]
  char* staging = nullptr;         ///< [distance of the consumer - 1][slot]
  std::int64_t slots = 0;
  std::int64_t slot_bytes = 0;
  std::int64_t items = 0;
  LocalWords* local = nullptr;

  KOKKOS_FUNCTION int rank() const { return context.rank(); }
  KOKKOS_FUNCTION int size() const { return context.size(); }
  /// Rank `step` places after this one.
  KOKKOS_FUNCTION int peer(int step) const { return context.state().peer_at(step); }

  /// Slots for each pair of ranks. More than teams keep the waits free of cycles, as does one for
  /// each item; twice as many let a rank run ahead.
  static std::int64_t slots_for(std::int64_t items, std::int64_t teams) {
    return max64(1, min64(items, 2 * teams + 2));
  }

  /// Bytes of the symmetric block, and the placing of its parts in it.
  static std::size_t symmetric_bytes(int ranks, std::int64_t slots, std::int64_t slot_bytes) {
    const auto w = static_cast<std::size_t>(ranks);
    return flag_bytes(ranks, slots) + (w - 1) * static_cast<std::size_t>(slots * slot_bytes);
  }
  static std::size_t flag_bytes(int ranks, std::int64_t slots) {
    const auto w = static_cast<std::size_t>(ranks);
    return w * (sizeof(EntryRecord) + sizeof(PaddedFlag)) +
           2 * w * static_cast<std::size_t>(slots) * sizeof(PaddedFlag);
  }
  void place(char* block) {
    const std::int64_t w = context.size();
    entries = reinterpret_cast<EntryRecord*>(block);
    done = reinterpret_cast<PaddedFlag*>(entries + w);
    ready = done + w;
    consumed = ready + w * slots;
    staging = reinterpret_cast<char*>(consumed + w * slots);
  }

  /// Number of the call that is running; 0 if the workspace was given up: the team then returns at
  /// once. Read by every team before the last one finishes.
  template <class Team>
  KOKKOS_FUNCTION std::uint64_t begin(const Team& team) const {
    std::uint64_t call = 0;
    // By one thread for all, because another team may give up meanwhile.
    Kokkos::single(
        Kokkos::PerTeam(team),
        [&](std::uint64_t& number) {
          number = load_relaxed(&local->generation.value) + 1;
          if (number == 0 && team.league_rank() == 0) wait_for_error(context);
        },
        call);
    return call;
  }

  /// Waits in one thread for a counter of this rank's flags; the result holds for the whole team.
  template <class Team>
  KOKKOS_FUNCTION bool wait_flag(const Team& team, WaitPhase phase, int peer,
                                 const std::uint64_t* flag, std::uint64_t target) const {
    int ok = 0;
    Kokkos::single(
        Kokkos::PerTeam(team),
        [&](int& result) {
          result = wait_or_give_up({phase, peer}, flag, target) ? 1 : 0;
        },
        ok);
    return ok != 0;
  }

  /// Everything that the team did before is visible to rank `peer` once it acquires the flag.
  template <class Team>
  KOKKOS_FUNCTION void push_flag(const Team& team, std::uint64_t* flag, std::uint64_t value,
                                 int peer) const {
    barrier_before_release(team);
    Kokkos::single(Kokkos::PerTeam(team),
                   [&] { store_release(context.translate(flag, peer), value); });
  }

  /// First team only: tells all peers that this rank has entered and where its operand is.
  template <class Team, class T>
  KOKKOS_FUNCTION void enter(const Team& team, std::uint64_t call,
                             const MatrixRef<T>& operand) const {
    Kokkos::single(Kokkos::PerTeam(team), [&] {
      for (int step = 1; step < size(); ++step) {
        EntryRecord* record = context.translate(&entries[rank()], peer(step));
        record->offset = reinterpret_cast<const char*>(operand.data) - context.state().base;
        record->row_stride = operand.row_stride;
        record->col_stride = operand.col_stride;
        store_release(&record->generation, call);
      }
    });
  }
  template <class Team>
  KOKKOS_FUNCTION bool wait_entry(const Team& team, std::uint64_t call, int peer) const {
    return wait_flag(team, WaitPhase::peer_entry, peer, &entries[peer].generation, call);
  }
  /// The operand of a peer that has entered, as mapped here; `own` for this rank itself.
  template <class T>
  KOKKOS_FUNCTION MatrixRef<T> operand_of(int peer, const MatrixRef<T>& own) const {
    if (peer == rank()) return own;
    const EntryRecord& record = entries[peer];
    return {reinterpret_cast<T*>(context.slab(peer) + record.offset), own.rows, own.cols,
            record.row_stride, record.col_stride};
  }

  KOKKOS_FUNCTION std::uint64_t sequence(std::uint64_t call, std::int64_t item) const {
    return (call - 1) * static_cast<std::uint64_t>(items) + static_cast<std::uint64_t>(item) + 1;
  }
  /// Staging of producer `from` for consumer `to`, in the producer's memory as mapped here.
  KOKKOS_FUNCTION char* slot(int from, int to, std::int64_t item) const {
    const int distance = (to - from + size()) % size();
    char* const mine = staging + ((distance - 1) * slots + item % slots) * slot_bytes;
    return from == rank() ? mine : context.translate(mine, from);
  }
  /// Waits until the slot for this item and consumer is free.
  template <class Team>
  KOKKOS_FUNCTION bool wait_slot(const Team& team, std::uint64_t call, std::int64_t item,
                                 int to) const {
    if (item < slots) return true;  // what the call before left there was consumed before it ended
    return wait_flag(team, WaitPhase::peer_space, to, &consumed[to * slots + item % slots].value,
                     sequence(call, item - slots));
  }
  template <class Team>
  KOKKOS_FUNCTION void publish(const Team& team, std::uint64_t call, std::int64_t item,
                               int to) const {
    push_flag(team, &ready[rank() * slots + item % slots].value, sequence(call, item), to);
  }
  template <class Team>
  KOKKOS_FUNCTION bool wait_partial(const Team& team, std::uint64_t call, std::int64_t item,
                                    int from) const {
    return wait_flag(team, WaitPhase::peer_partial, from, &ready[from * slots + item % slots].value,
                     sequence(call, item));
  }
  template <class Team>
  KOKKOS_FUNCTION void release_slot(const Team& team, std::uint64_t call, std::int64_t item,
                                    int from) const {
    push_flag(team, &consumed[rank() * slots + item % slots].value, sequence(call, item), from);
  }

  /// All teams of this rank have come here (the `phase`-th time in this call) and see each other's
  /// writes. The league must be co-resident.
  template <class Team>
  KOKKOS_FUNCTION bool league_barrier(const Team& team, std::uint64_t phase) const {
    const auto teams = static_cast<std::uint64_t>(team.league_size());
    if (teams == 1) {
      team.team_barrier();
      return true;
    }
    barrier_before_release(team);
    Kokkos::single(Kokkos::PerTeam(team), [&] { count_team(&local->arrivals.value); });
    return wait_flag(team, WaitPhase::other_teams, -1, &local->arrivals.value, phase * teams);
  }

  /// End of a team's work. The last team tells the peers, waits until they are done too, and ends
  /// the call.
  template <class Team>
  KOKKOS_FUNCTION void leave(const Team& team, std::uint64_t call) const {
    barrier_before_release(team);
    Kokkos::single(Kokkos::PerTeam(team), [&] {
      const std::uint64_t before = count_team(&local->finished.value);
      if (before + 1 != static_cast<std::uint64_t>(team.league_size())) return;
      for (int step = 1; step < size(); ++step) {
        store_release(context.translate(&done[rank()].value, peer(step)), call);
      }
      for (int step = 1; step < size(); ++step) {
        const int other = peer(step);
        if (!wait_or_give_up({WaitPhase::peer_completion, other}, &done[other].value, call)) return;
      }
      local->arrivals.value = 0;
      local->finished.value = 0;
      store_release(&local->generation.value, call);
    });
  }

 private:
  KOKKOS_FUNCTION bool wait_or_give_up(WaitSite site, const std::uint64_t* flag,
                                       std::uint64_t target) const {
    const bool come = wait_counter(context, site, flag, target);
    if (!come) store_relaxed(&local->generation.value, LocalWords::given_up);
    return come;
  }
};

}  // namespace KokkosIris::Impl

#endif
