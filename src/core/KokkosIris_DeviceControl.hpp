// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// Words at the head of every slab that kernels of all ranks use.

#ifndef KOKKOSIRIS_DEVICE_CONTROL_HPP
#define KOKKOSIRIS_DEVICE_CONTROL_HPP

#include <cstddef>
#include <cstdint>

namespace KokkosIris::Impl {

/// A flag on a cache line pair of its own, so that polling one does not slow another down (adjacent
/// lines are fetched together on many processors; GPUs use lines of 128 bytes).
struct alignas(128) PaddedFlag {
  std::uint64_t value;
};

/// The head of a slab: this struct, then one `arrivals` flag per rank. Zero bytes are its valid
/// initial state.
struct DeviceControl {
  /// Barriers inside kernels that this rank has entered.
  PaddedFlag barrier_generation;

  /// Element q: barriers that rank q has entered, written by rank q.
  PaddedFlag* arrivals() { return reinterpret_cast<PaddedFlag*>(this + 1); }
  const PaddedFlag* arrivals() const { return reinterpret_cast<const PaddedFlag*>(this + 1); }

  static constexpr std::size_t bytes(int ranks) {
    return sizeof(DeviceControl) + static_cast<std::size_t>(ranks) * sizeof(PaddedFlag);
  }
};

}  // namespace KokkosIris::Impl

#endif
