// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// The host memory through which the ranks of a context meet, fail and learn of each other's end.

#ifndef KOKKOSIRIS_CONTROL_BLOCK_HPP
#define KOKKOSIRIS_CONTROL_BLOCK_HPP

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace KokkosIris::Impl {

/// Raised whenever the layout below changes: ranks of different builds must not share a context.
inline constexpr std::uint32_t control_layout_version = 3;

/// Bytes of agreement data that one rank publishes in one collective call.
inline constexpr std::size_t agreement_bytes = 960;

/// Launches of fused and collective operations whose workspaces a rank shows to the others.
inline constexpr std::uint32_t shown_launches = 8;

/// Most allocations that can be live in one context (see ControlBlock::dropped).
inline constexpr std::size_t max_live_allocations = 1u << 14;

/// Why a collective operation was given up; written once by the first rank that fails.
struct AbortRecord {
  enum State : std::uint32_t { none, being_written, raised };
  std::atomic<std::uint32_t> state;
  std::int32_t origin;
  std::int32_t code;
  char text[500];
};

/// What a rank publishes when it enters collective call number `generation`.
///
/// There are two, used in turn: a rank can enter call g + 2 only after every rank has entered g + 1
/// and so has read what was published for g.
struct alignas(64) ArrivalSlot {
  std::atomic<std::uint64_t> generation;
  std::uint64_t dropped;  ///< length of this rank's dropped list at that moment
  std::uint32_t bytes;
  std::uint32_t fault;  ///< where in `data` a text says why this rank cannot go on; 0: it can
  char operation[40];   ///< name of the call, cut off; the first line of the slot ends here
  char data[agreement_bytes];
};

/// Coming together again after an error.
struct alignas(64) RecoverySlot {
  std::atomic<std::uint64_t> arrived;
  std::atomic<std::uint64_t> cleared;
  std::uint64_t generation;  ///< this rank's collective call number when it arrived
  std::uint64_t
      completed;  ///< number of the last collective call that this rank saw all ranks enter
};

/// What kernels of this rank on a GPU tell its host about their waits; words in host memory that
/// the GPU maps. The last writer wins: one of several waits is as good as another.
struct alignas(64) DeviceReport {
  /// A wait of some length looks here whenever it looks at the abort word: the site, see
  /// pack_wait_site(), and the time, so that the word changes as long as someone waits.
  std::atomic<std::uint64_t> waiting;
  /// Site of a wait that passed its deadline; 0: none.
  std::atomic<std::uint64_t> too_late;
};

/// One per rank, in a SharedSegment that every rank maps. Zero bytes are its valid initial state.
struct ControlBlock {
  enum Life : std::uint32_t { not_started, running, left };
  std::uint32_t layout_version;
  pid_t process;
  std::uint64_t process_namespace;  ///< in which `process` is a number; 0: unknown
  std::atomic<std::uint32_t> life;

  alignas(64) AbortRecord abort;
  DeviceReport report;
  /// Set when this rank has unmapped the memory of all others, so that their owners may free it.
  std::atomic<std::uint32_t> peers_closed;
  ArrivalSlot arrivals[2];
  RecoverySlot recovery;
  /// The last launches of fused and collective operations, a ring: number of the launch in the
  /// upper half, of its workspace in the lower one; 0: none since the last recovery.
  alignas(64) std::atomic<std::uint64_t> launches[shown_launches];
  /// Sequence numbers of allocations that this rank no longer uses; a ring indexed by a running
  /// count. A slow rank may still read what was dropped before a collective call while a fast one
  /// drops what it allocated since: hence twice the number of live allocations.
  alignas(64) std::uint64_t dropped[2 * max_live_allocations];
};

static_assert(std::atomic<std::uint64_t>::is_always_lock_free &&
              std::atomic<std::uint32_t>::is_always_lock_free);

}  // namespace KokkosIris::Impl

#endif
