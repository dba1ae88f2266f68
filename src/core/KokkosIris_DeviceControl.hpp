// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// Words at the head of every slab that kernels of all ranks use.

#ifndef KOKKOSIRIS_DEVICE_CONTROL_HPP
#define KOKKOSIRIS_DEVICE_CONTROL_HPP

#include <Kokkos_Core.hpp>
#include <cstddef>
#include <cstdint>

namespace KokkosIris::Impl {

/// A flag on a cache line pair of its own, so that polling one does not slow another down (adjacent
/// lines are fetched together on many processors; GPUs use lines of 128 bytes).
struct alignas(128) PaddedFlag {
  std::uint64_t value;
};

/// What a wait inside a kernel on a GPU needs besides its flag, once it lasts. Constant; addresses
/// are those of kernels of the owner of the slab.
struct alignas(128) DeviceWaitSettings {
  const std::uint32_t* abort_word;  ///< host memory; not 0: give up
  std::uint64_t* waiting;           ///< host memory, see DeviceReport
  std::uint64_t* too_late;
  std::uint64_t timeout_ticks;  ///< 0: none
  std::uint64_t look_ticks;     ///< between two looks at the abort word
};

/// The head of a slab: this struct, then one `arrivals` flag per rank. Zero bytes are its valid
/// initial state, but for the settings, which the owner writes on GPUs before kernels can run.
struct DeviceControl {
  /// Barriers inside kernels that this rank has entered.
  PaddedFlag barrier_generation;
  DeviceWaitSettings wait;

  /// Element q: barriers that rank q has entered, written by rank q.
  KOKKOS_INLINE_FUNCTION PaddedFlag* arrivals() { return reinterpret_cast<PaddedFlag*>(this + 1); }
  KOKKOS_INLINE_FUNCTION const PaddedFlag* arrivals() const {
    return reinterpret_cast<const PaddedFlag*>(this + 1);
  }

  static constexpr std::size_t bytes(int ranks) {
    return sizeof(DeviceControl) + static_cast<std::size_t>(ranks) * sizeof(PaddedFlag);
  }
};

}  // namespace KokkosIris::Impl

#endif
