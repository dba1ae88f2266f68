// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// How the ranks of a collective call that touch each other's operands take turns: entry and end.

#ifndef KOKKOSIRIS_CALL_FLAGS_HPP
#define KOKKOSIRIS_CALL_FLAGS_HPP

#include <Kokkos_Core.hpp>
#include <core/KokkosIris_DeviceContext.hpp>
#include <core/KokkosIris_DeviceControl.hpp>
#include <core/KokkosIris_MemoryOrder.hpp>
#include <core/KokkosIris_Wait.hpp>
#include <cstddef>
#include <cstdint>

namespace KokkosIris::Impl {

/// What a rank tells its peers when it enters a call: where its operands lie. So ranks may use
/// different symmetric views, and a peer's flag means that it is there.
struct alignas(128) CallEntry {
  std::uint64_t generation;
  std::int64_t source;       ///< from the base of the slab, in bytes
  std::int64_t destination;  ///< likewise
};

/// Words that only the teams of one rank share.
struct CallWords {
  static constexpr std::uint64_t given_up = ~std::uint64_t(0);
  PaddedFlag generation;  ///< calls that are complete, or given_up
  PaddedFlag finished;    ///< teams that have done their work, in this call
};

/// Entry and end of calls. Trivially copyable, used by the teams of one kernel.
///
/// All flags are generations, written to the memory of the rank that polls them.
/// - entry: peer q has entered call g. Its source may be read and its destination written.
/// - done: peer q will touch no memory of this rank any more in call g. The kernel ends when all
///   peers are done, so when it has ended this rank's result is complete and its operands may be
///   changed; nor does anybody still read the entries, which the next call overwrites.
///
/// Functions that take a team are called by all its threads. Waits return false if they were given
/// up (see wait()); the team then returns from the kernel at once. Nor do later kernels use the
/// workspace, enqueued before or repeated by a graph: they would rely on the end of this call, and
/// report entries of their own.
struct CallFlags {
  DeviceContext context;
  CallEntry* entries = nullptr;  ///< [rank], symmetric
  PaddedFlag* done = nullptr;    ///< [rank], symmetric
  CallWords* local = nullptr;

  /// Bytes of the symmetric part, and its placing in a block.
  static constexpr std::size_t symmetric_bytes(int ranks) {
    return static_cast<std::size_t>(ranks) * (sizeof(CallEntry) + sizeof(PaddedFlag));
  }
  void place(char* block) {
    entries = reinterpret_cast<CallEntry*>(block);
    done = reinterpret_cast<PaddedFlag*>(entries + context.size());
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

  /// One team of the rank: tells all peers that this rank has entered, and where its operands are.
  template <class Team>
  KOKKOS_FUNCTION void enter(const Team& team, std::uint64_t call, const void* source,
                             const void* destination) const {
    const DeviceState& state = context.state();
    Kokkos::single(Kokkos::PerTeam(team), [&] {
      for (int step = 1; step < state.size; ++step) {
        CallEntry* const entry = context.translate(&entries[state.rank], state.peer_at(step));
        entry->source = offset_of(source);
        entry->destination = offset_of(destination);
      }
      if (state.size > 1) begin_release();
      for (int step = 1; step < state.size; ++step) {
        CallEntry* const entry = context.translate(&entries[state.rank], state.peer_at(step));
        store_in_release(&entry->generation, call);
      }
    });
  }

  /// Waits until all peers have entered; then their entries may be read.
  template <class Team>
  KOKKOS_FUNCTION bool wait_entries(const Team& team, std::uint64_t call) const {
    int ok = 0;
    Kokkos::single(
        Kokkos::PerTeam(team),
        [&](int& result) {
          result = wait_for_all(WaitPhase::peer_entry, call,
                                [&](int peer) { return &entries[peer].generation; });
        },
        ok);
    // The broadcast carries the value; this barrier orders what the one thread acquired.
    team.team_barrier();
    return ok != 0;
  }

  /// \name Operands of a rank that has entered, as mapped here
  ///@{
  KOKKOS_FUNCTION const char* source_of(int peer) const {
    return context.slab(peer) + entries[peer].source;
  }
  KOKKOS_FUNCTION char* destination_of(int peer) const {
    return context.slab(peer) + entries[peer].destination;
  }
  ///@}

  /// End of a team's work. The last team tells the peers, waits until they are done too, and ends
  /// the call.
  template <class Team>
  KOKKOS_FUNCTION void leave(const Team& team, std::uint64_t call) const {
    barrier_before_release(team);
    Kokkos::single(Kokkos::PerTeam(team), [&] {
      const std::uint64_t before = count_team(&local->finished.value);
      if (before + 1 != static_cast<std::uint64_t>(team.league_size())) return;
      const DeviceState& state = context.state();
      if (state.size > 1) begin_release();
      for (int step = 1; step < state.size; ++step) {
        store_in_release(context.translate(&done[state.rank].value, state.peer_at(step)), call);
      }
      if (!wait_for_all(WaitPhase::peer_completion, call,
                        [&](int peer) { return &done[peer].value; })) {
        return;
      }
      // Read by later kernels only.
      local->finished.value = 0;
      store_relaxed(&local->generation.value, call);
    });
  }

 private:
  /// Means something for symmetric operands only.
  KOKKOS_FUNCTION std::int64_t offset_of(const void* operand) const {
    return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(operand) -
                                     reinterpret_cast<std::uintptr_t>(context.state().base));
  }
  template <class FlagOf>
  KOKKOS_FUNCTION int wait_for_all(WaitPhase phase, std::uint64_t call,
                                   const FlagOf& flag_of) const {
    const DeviceState& state = context.state();
    for (int step = 1; step < state.size; ++step) {
      const int peer = state.peer_at(step);
      if (wait_counter(context, {phase, peer}, flag_of(peer), call)) continue;
      store_relaxed(&local->generation.value, CallWords::given_up);
      return 0;
    }
    return 1;
  }
};

}  // namespace KokkosIris::Impl

#endif
