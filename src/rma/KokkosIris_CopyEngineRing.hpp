// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// The rings of the copy engine: how kernels and the host hand copies to it, and how it takes them.
///
/// One ring per peer, many producers, one consumer at a time. Positions are 64-bit counts that
/// never go back; position p uses entry p modulo the ring's size. A producer reserves a position
/// only when the ring has room for it, so whoever gives up waiting leaves no hole behind. From then
/// on it waits for nobody: it writes the entry and commits it by setting the entry's sequence
/// number to p + 1. Producers therefore do not wait for each other either, as they would with one
/// counter of committed entries that has to advance in order. The consumer takes entries in order
/// of position.

#ifndef KOKKOSIRIS_COPY_ENGINE_RING_HPP
#define KOKKOSIRIS_COPY_ENGINE_RING_HPP

#include <Kokkos_Core.hpp>
#include <core/KokkosIris_CopyEngine.hpp>
#include <core/KokkosIris_DeviceContext.hpp>
#include <core/KokkosIris_MemoryOrder.hpp>
#include <core/KokkosIris_Wait.hpp>
#include <cstddef>
#include <cstdint>
#include <rma/KokkosIris_AtomicOps.hpp>
#include <rma/KokkosIris_CopyBytes.hpp>

namespace KokkosIris::Impl {

/// What happens to a descriptor's signal word once its data are in place.
enum class CopySignal : std::uint32_t { none, set, add };

/// A copy of `height` rows of `width` bytes each, then a signal. All addresses are valid in this
/// process. Sizes and pitches are bytes; a pitch may be any number, also less than the width.
/// Source and destination must not overlap. No rows or empty rows: only the signal.
struct CopyWork {
  char* destination = nullptr;
  const char* source = nullptr;
  std::uint64_t width = 0;
  std::uint64_t height = 1;
  std::uint64_t destination_pitch = 0;
  std::uint64_t source_pitch = 0;
  std::uint64_t* signal = nullptr;
  std::uint64_t signal_value = 0;
  CopySignal signal_action = CopySignal::none;
  Destination reader = Destination::peer;  ///< who reads the copy next; decides on speed only
};

/// A place in a ring, on cache lines of its own.
struct alignas(128) CopyRingEntry {
  std::uint64_t sequence;  ///< position + 1 when the work of that position is committed
  CopyWork work;
};

/// The ring of one peer. The parts lie where those who poll them reach them fast: for kernels of a
/// GPU, both counters in its memory and the entries in pinned host memory.
struct CopyRing {
  std::uint64_t* reserved;   ///< positions given to producers
  std::uint64_t* completed;  ///< positions whose copies are complete at the target; only grows
  CopyRingEntry* entries;
  std::uint64_t* used = nullptr;  ///< for kernels of a GPU: host memory, 1 after they reserved
};

/// What kernels need to know of the copy engine.
struct CopyEngineQueues {
  CopyRing* rings;        ///< one a peer
  std::uint64_t entries;  ///< entries of each ring, a power of two
  CopyEngine* engine;     ///< host pointer
};

/// Reserves the next position of a ring if there is room.
KOKKOS_INLINE_FUNCTION bool try_reserve(const CopyRing& ring, std::uint64_t entries,
                                        std::uint64_t& position) {
  std::uint64_t seen = load_relaxed(ring.reserved);
  // Acquire: the consumer has finished reading the entry that is about to be overwritten. If `seen`
  // is out of date the difference can be "negative", which looks like a full ring: the caller tries
  // again.
  while (seen - load_acquire(ring.completed) < entries) {
    const std::uint64_t found =
        compare_exchange<AcqRel, SystemScope>(ring.reserved, seen, seen + 1);
    if (found == seen) {
      position = seen;
      return true;
    }
    seen = found;
  }
  return false;
}

/// Writes and commits the entry of a reserved position. Releases, at system scope, what the calling
/// thread did before and what it observed through a team barrier before.
KOKKOS_INLINE_FUNCTION void commit(CopyEngineQueues& queues, int peer, std::uint64_t position,
                                   const CopyWork& work) {
  CopyRingEntry& entry = queues.rings[peer].entries[position & (queues.entries - 1)];
  entry.work = work;
  KOKKOS_IF_ON_HOST((
      // Sequentially consistent, because the proxy may be about to fall asleep (CopyEngine_Host).
      __atomic_store_n(&entry.sequence, position + 1, __ATOMIC_SEQ_CST);
      queues.engine->submitted(peer, position, work);))
  KOKKOS_IF_ON_DEVICE((store_relaxed(queues.rings[peer].used, std::uint64_t(1));
                       store_release(&entry.sequence, position + 1);))
}

/// Called by a thread that waits for a ring: on the host it does the proxy's work meanwhile.
KOKKOS_INLINE_FUNCTION void help_copy_engine([[maybe_unused]] CopyEngineQueues& queues,
                                             [[maybe_unused]] int peer) {
  KOKKOS_IF_ON_HOST((queues.engine->progress(peer);))
}

/// The site of waits for the copy engine. It depends on no other rank: its peers' memory stays
/// mapped when they leave. Hence the own rank, whose departure no wait looks for.
KOKKOS_INLINE_FUNCTION WaitSite copy_engine_site(const DeviceContext& context, WaitPhase phase) {
  return WaitSite{phase, context.rank()};
}

/// Returns `done`, so that the compiler cannot move what a thread does last in a loop to behind the
/// loop. On GPUs whose threads of a warp have one program counter, a thread that leaves a loop goes
/// on only when the others have left it too: they would wait in vain for an entry that it commits
/// there.
KOKKOS_FORCEINLINE_FUNCTION bool repeat_together(bool done) {
  KOKKOS_IF_ON_HOST((return done;))
  KOKKOS_IF_ON_DEVICE((return gpu_opaque(done ? 1 : 0) != 0;))
}

/// Hands a copy to the engine; waits while the ring of `peer` is full.
/// \return false if the wait was given up; then nothing was submitted
KOKKOS_INLINE_FUNCTION bool submit(const DeviceContext& context, int peer, const CopyWork& work) {
  CopyEngineQueues& queues = *context.state().queues;
  const CopyRing& ring = queues.rings[peer];
  std::uint64_t position = 0;
  return wait(context, copy_engine_site(context, WaitPhase::copy_engine_space), [&] {
    const bool reserved = try_reserve(ring, queues.entries, position);
    if (reserved) {
      commit(queues, peer, position, work);
    } else {
      help_copy_engine(queues, peer);
    }
    return repeat_together(reserved);
  });
}

/// Waits until all copies to `peer` whose positions were reserved before the call are complete. The
/// reservation is part of the submission, so these are all that were submitted before, and nobody
/// waits between reserving and committing.
/// \return false if the wait was given up
KOKKOS_INLINE_FUNCTION bool wait_for_copies(const DeviceContext& context, int peer) {
  CopyEngineQueues& queues = *context.state().queues;
  const CopyRing& ring = queues.rings[peer];
  const std::uint64_t target = load_acquire(ring.reserved);
  return wait(context, copy_engine_site(context, WaitPhase::copy_engine_quiet), [&] {
    if (static_cast<std::int64_t>(load_acquire(ring.completed) - target) >= 0) return true;
    help_copy_engine(queues, peer);
    return false;
  });
}

/// Consumer, host: the work of a position if it is committed, else nothing.
inline const CopyWork* committed_copy(const CopyRingEntry* ring_entries, std::uint64_t entries,
                                      std::uint64_t position) {
  const CopyRingEntry& entry = ring_entries[position & (entries - 1)];
  const bool committed = __atomic_load_n(&entry.sequence, __ATOMIC_SEQ_CST) == position + 1;
  return committed ? &entry.work : nullptr;
}

/// Consumer, host: the oldest entry of a ring if it is committed, else nothing.
inline const CopyWork* next_copy(const CopyEngineQueues& queues, const CopyRing& ring) {
  return committed_copy(ring.entries, queues.entries,
                        __atomic_load_n(ring.completed, __ATOMIC_RELAXED));
}

/// Consumer, host: the copy that next_copy() returned is complete; its entry is free.
inline void finish_copy(const CopyRing& ring) {
  const std::uint64_t position = __atomic_load_n(ring.completed, __ATOMIC_RELAXED);
  __atomic_store_n(ring.completed, position + 1, __ATOMIC_RELEASE);
}

}  // namespace KokkosIris::Impl

#endif
