// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// Names of the places that wait, so that a timeout or an abort can say where, on any backend.

#ifndef KOKKOSIRIS_WAIT_SITE_HPP
#define KOKKOSIRIS_WAIT_SITE_HPP

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
  peer_entry,          ///< a peer to enter the fused operation
  operand_packed,      ///< the other teams of this rank
  peer_partial,        ///< a peer's partial tile
  peer_space,          ///< room in the staging of a tile exchange
  peer_completion,     ///< a peer to finish its part of the fused operation
};

/// The text that error messages use for a phase.
const char* to_string(WaitPhase phase) noexcept;

/// A wait and the rank it depends on (-1: any).
struct WaitSite {
  WaitPhase phase;
  int peer;
};

}  // namespace KokkosIris::Impl

#endif
