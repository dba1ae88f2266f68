// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// Memory and flags by which the ranks of a fused operation exchange tiles.

#ifndef KOKKOSIRIS_SM90_EXCHANGE_HPP
#define KOKKOSIRIS_SM90_EXCHANGE_HPP

#include <Kokkos_Core.hpp>
#include <core/KokkosIris_DeviceContext.hpp>
#include <core/KokkosIris_DeviceControl.hpp>
#include <core/KokkosIris_MemoryOrder.hpp>
#include <core/KokkosIris_Wait.hpp>
#include <cstddef>
#include <cstdint>

namespace KokkosIris::Impl::Sm90 {

/// Words that the blocks of one rank share.
struct CallWords {
  PaddedFlag call;      ///< number of the call that runs, or will run next; the first is 1
  PaddedFlag finished;  ///< arrivals in this call, see end_call()
};

/// In both words once a wait for another rank has been given up, see Exchange::give_up(). Parities
/// of calls do not depend on it, and a number with it is behind those of all calls.
inline constexpr std::uint64_t given_up_mark = std::uint64_t(3) << 62;
KOKKOS_FUNCTION constexpr bool is_given_up(std::uint64_t call) {
  return (call & given_up_mark) != 0;
}

/// The exchange part of a workspace; trivially copyable, part of a kernel's arguments.
///
/// A rank stores images of half tiles in its *own* staging and then raises a flag at whoever needs
/// them, who fetches: so nobody touches an operand of another rank, and link traffic is reads of
/// whole images.
///
/// Flags are 2 call + orientation, so they only grow and tell how the image lies (TileImage). Flags
/// and images exist twice, for even and odd calls. A rank that writes those of call g has ended
/// call g - 1, in which it waited for a flag of every rank that reads its images; that rank had
/// raised it in its call g - 1, after it had ended call g - 2 and all reading of what is
/// overwritten now.
///
/// all_gather_matmul has its own: `gathered` holds the peers' shards of A, which their copy engines
/// write chunk by chunk, each followed by the number of the call (`arrived`); or their blocks write
/// them in pieces, which `arrived` counts. A rank tells its
/// peers when it has read all (`done`), and its kernel ends when all have told: so the next call
/// may write, and the number of the call does not change while a copy engine still sends it.
///
/// All this relies on the calls before. So when a wait is given up the rank says nothing any more,
/// to the end of the call and in calls that are enqueued behind it or repeated by a graph: nothing
/// is staged, sent or announced, and what a copy engine announces is behind every call. The block's
/// own protocol goes on, so that kernels end; later ones see to it that there is an error.
struct Exchange {
  DeviceContext context;
  std::uint64_t* partial_ready = nullptr;  ///< [parity][rank][slot][half]
  std::uint64_t* sum_ready = nullptr;      ///< the same, of finished sums
  std::uint64_t* arrived = nullptr;        ///< [rank][chunk of rows]
  PaddedFlag* done = nullptr;              ///< [rank]
  char* partials = nullptr;                ///< [parity][distance of the consumer - 1][slot][half]
  char* sums = nullptr;                    ///< [parity][slot][half]
  char* gathered = nullptr;                ///< [distance of the rank - 1][row][pitch]
  char* packets = nullptr;                 ///< [parity][rank][slot], for few rows
  std::int64_t gathered_bytes = 0;         ///< of a shard
  std::int64_t slots = 0;                  ///< tiles of a chunk
  int partial_areas = 0;                   ///< distances that have an area of their own
  int image_bytes = 0;
  int chunks = 0;  ///< of rows of gathered operands
  int chunk_rows = 0;
  int piece_rows = 0;  ///< of chunks that blocks send; 0: copy engines do
  int rows = 0;        ///< of gathered operands
  CallWords* local = nullptr;

  KOKKOS_FUNCTION int rank() const { return context.rank(); }
  KOKKOS_FUNCTION int size() const { return context.size(); }
  /// Rank `step` places after this one.
  KOKKOS_FUNCTION int peer(int step) const { return context.state().peer_at(step); }

  KOKKOS_FUNCTION std::uint64_t* flag(std::uint64_t* flags, std::uint64_t call, int from, int slot,
                                      int half) const {
    return flags + received(call, from, slot) * 2 + half;
  }
  /// Image of `from`'s partial tile for `to`, as mapped here.
  KOKKOS_FUNCTION char* partial(std::uint64_t call, int from, int to, int slot, int half) const {
    const int distance = (to - from + size()) % size();
    const int area = partial_areas == 1 ? 0 : distance - 1;
    return at(partials + image(std::int64_t(call & 1) * partial_areas + area, slot, half), from);
  }
  KOKKOS_FUNCTION char* sum(std::uint64_t call, int from, int slot, int half) const {
    return at(sums + image(std::int64_t(call & 1), slot, half), from);
  }

  /// Packets of a tile from rank `from` to rank `to`, in the memory of that one, as mapped here.
  /// \param bytes of a tile
  KOKKOS_FUNCTION char* packets_at(std::uint64_t call, int from, int to, int slot,
                                   std::int64_t bytes) const {
    return at(packets + received(call, from, slot) * bytes, to);
  }

  /// Tells rank `to` that an image of this rank is complete. The caller has waited for its copies,
  /// and called begin_release().
  KOKKOS_FUNCTION void raise(std::uint64_t* flags, std::uint64_t call, int to, int slot, int half,
                             bool column_major) const {
    store_in_release(context.translate(flag(flags, call, rank(), slot, half), to),
                     2 * call + (column_major ? 1 : 0));
  }
  /// Marks the workspace, for ever. Called by one thread when its wait was given up, before it does
  /// anything on which the end of the call depends.
  KOKKOS_FUNCTION void give_up() const {
    mark(local->finished);
    mark(local->call);
  }

  /// Waits for an image of rank `from`.
  /// \param column_major receives how it lies
  /// \return false if the wait, and so the workspace, was given up
  KOKKOS_FUNCTION bool wait(std::uint64_t* flags, std::uint64_t call, int from, int slot, int half,
                            bool& column_major) const {
    const std::uint64_t* const word = flag(flags, call, from, slot, half);
    std::uint64_t seen = 0;
    const bool ready = KokkosIris::Impl::wait(context, {WaitPhase::peer_partial, from}, [&] {
      seen = load_acquire(word);
      return static_cast<std::int64_t>(seen - 2 * call) >= 0;
    });
    column_major = (seen & 1) != 0;
    if (!ready) give_up();
    return ready;
  }
  /// How often a chunk of this rank's shard, or of another one's, is announced.
  KOKKOS_FUNCTION int pieces_of(int chunk) const {
    if (piece_rows == 0) return 1;
    const int left = rows - chunk * chunk_rows;
    return ((left < chunk_rows ? left : chunk_rows) + piece_rows - 1) / piece_rows;
  }
  /// Where rank `to` gathers this rank's shard, and what announces its chunks there: addresses of
  /// this rank's slab, to be translated.
  KOKKOS_FUNCTION char* gathered_for(int to) const {
    // There, this rank is the other way round.
    const std::int64_t distance = (rank() - to + size()) % size();
    return gathered + (distance - 1) * gathered_bytes;
  }
  KOKKOS_FUNCTION std::uint64_t* arrived_for(int chunk) const {
    return arrived + rank() * chunks + chunk;
  }
  /// Waits for the rows [row, row + 1) and their neighbours of rank `from`'s shard.
  /// \return false if the wait, and so the workspace, was given up
  KOKKOS_FUNCTION bool wait_rows(std::uint64_t call, int from, int row) const {
    const int chunk = row / chunk_rows;
    return wait_for({WaitPhase::peer_operand, from}, arrived + from * chunks + chunk,
                    call * static_cast<std::uint64_t>(pieces_of(chunk)));
  }
  /// Waits until rank `from` has read all that this rank sent it in the call.
  /// \return false if the wait, and so the workspace, was given up
  KOKKOS_FUNCTION bool wait_done(std::uint64_t call, int from) const {
    return wait_for({WaitPhase::peer_completion, from}, &done[from].value, call);
  }

 private:
  KOKKOS_FUNCTION static void mark(PaddedFlag& word) {
    desul::atomic_fetch_or(&word.value, given_up_mark, desul::MemoryOrderRelaxed{},
                           desul::MemoryScopeDevice{});
  }
  KOKKOS_FUNCTION bool wait_for(WaitSite site, const std::uint64_t* flag,
                                std::uint64_t target) const {
    const bool come = wait_counter(context, site, flag, target);
    if (!come) give_up();
    return come;
  }
  /// Number of a tile among what comes from all ranks: [parity][rank][slot].
  KOKKOS_FUNCTION std::int64_t received(std::uint64_t call, int from, int slot) const {
    return (std::int64_t(call & 1) * size() + from) * slots + slot;
  }
  KOKKOS_FUNCTION std::int64_t image(std::int64_t area, int slot, int half) const {
    return ((area * slots + slot) * 2 + half) * image_bytes;
  }
  KOKKOS_FUNCTION char* at(char* mine, int rank_of) const {
    return rank_of == rank() ? mine : context.translate(mine, rank_of);
  }
};

}  // namespace KokkosIris::Impl::Sm90

#endif
