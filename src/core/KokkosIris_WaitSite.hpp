// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// Names of the places that wait, so that a timeout or an abort can say where, on any backend.

#ifndef KOKKOSIRIS_WAIT_SITE_HPP
#define KOKKOSIRIS_WAIT_SITE_HPP

#include <Kokkos_Core.hpp>
#include <cstdint>

namespace KokkosIris::Impl {

/// What a rank waits for. Numbers instead of strings: device code cannot hand out host pointers.
enum class WaitPhase : std::int32_t {
  collective_arrival,  ///< all ranks to enter a host-level collective call
  recovery,            ///< all ranks to come together after an error
  device_barrier,      ///< all ranks to enter a barrier inside a kernel
  user_wait,           ///< a condition given to wait_until, wait_any or wait_all
  copy_engine_space,   ///< room in the ring of the copy engine
  copy_engine_quiet,   ///< completion of submitted copies
  peer_entry,          ///< a peer to enter the operation
  other_teams,         ///< the other teams of this rank
  peer_partial,        ///< a peer's tile, partial or finished
  peer_space,          ///< room in the staging of a tile exchange
  peer_completion,     ///< a peer to finish its part of the operation
  peer_operand,        ///< a peer's part of an operand
  outdated_workspace,  ///< an error: the workspace was given up in an earlier call
};

/// The text that error messages use for a phase.
const char* to_string(WaitPhase phase) noexcept;

/// A wait and the rank it depends on (-1: any).
struct WaitSite {
  WaitPhase phase;
  int peer;
};

/// A site in one word that kernels write at once: 8 bits of phase, 24 of peer, 32 for a time. Never
/// 0.
KOKKOS_INLINE_FUNCTION std::uint64_t pack_wait_site(WaitSite site, std::uint64_t time) {
  return (static_cast<std::uint64_t>(site.phase) + 1) << 56 |
         (static_cast<std::uint64_t>(site.peer + 1) & 0xffffffu) << 32 | (time & 0xffffffffu);
}
inline WaitSite unpack_wait_site(std::uint64_t word) {
  return {static_cast<WaitPhase>(static_cast<std::int32_t>(word >> 56) - 1),
          static_cast<int>(word >> 32 & 0xffffffu) - 1};
}

}  // namespace KokkosIris::Impl

#endif
