// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// The slabs of a symmetric heap: one a rank, each mapped by all. A backend's file names the
/// backend.

#ifndef KOKKOSIRIS_PEER_MEMORY_HPP
#define KOKKOSIRIS_PEER_MEMORY_HPP

#include <Kokkos_Core.hpp>
#include <core/KokkosIris_Bootstrap.hpp>
#include <cstddef>
#include <memory>
#include <string>

namespace KokkosIris::Impl {

/// Memory of all ranks, mapped here.
class PeerMemory {
 public:
  virtual ~PeerMemory() = default;
  /// Slab of a rank in this process' address space. Zeroed when the PeerMemory was made.
  virtual char* slab(int rank) const = 0;
  /// Device-readable table of the slabs, indexed by rank.
  virtual char* const* table() const = 0;
  /// How the memory is shared, for kokkosiris_info.
  virtual std::string description() const = 0;
};

/// Collective: creates slabs of `bytes` bytes that kernels of `MemorySpace` can reach.
/// Specialised for each memory space with kernels that this library supports.
/// \throws Error on all ranks if it fails on one
template <class MemorySpace>
std::unique_ptr<PeerMemory> make_peer_memory(Bootstrap& bootstrap, std::size_t bytes);

template <>
std::unique_ptr<PeerMemory> make_peer_memory<Kokkos::HostSpace>(Bootstrap& bootstrap,
                                                                std::size_t bytes);

}  // namespace KokkosIris::Impl

#endif
