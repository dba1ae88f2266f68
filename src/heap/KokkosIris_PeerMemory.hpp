// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// The slabs of a symmetric heap: one a rank, each mapped by all. A backend's file names the
/// backend.

#ifndef KOKKOSIRIS_PEER_MEMORY_HPP
#define KOKKOSIRIS_PEER_MEMORY_HPP

#include <Kokkos_Core.hpp>
#include <core/KokkosIris_Bootstrap.hpp>
#include <core/KokkosIris_DeviceControl.hpp>
#include <core/KokkosIris_GpuSpace.hpp>
#include <core/KokkosIris_Runtime.hpp>
#include <cstddef>
#include <memory>
#include <optional>
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
  /// The same for the host.
  virtual char* const* host_table() const = 0;

  /// Copies between the host's memory and a slab; complete when they return.
  virtual void read(void* to, const char* slab, std::size_t bytes) const = 0;
  virtual void write(char* slab, const void* from, std::size_t bytes) const = 0;
  /// Ranks whose kernels run on the same GPU as this one's, itself included; 1 on the host.
  virtual int ranks_on_gpu() const { return 1; }

  /// Polls of a wait in a kernel before it looks at anything else than its flag.
  virtual int spins() const = 0;
  /// Settings for waits in kernels; nothing for kernels on the host, which wait with the Runtime.
  virtual std::optional<DeviceWaitSettings> wait_settings() const = 0;
  /// True if kernels of several ranks run on the same device; equal on all ranks.
  virtual bool ranks_share_device() const = 0;
  /// Returns when all kernels have ended that can wait for other ranks.
  virtual void wait_for_kernels() const = 0;
  /// How the memory is shared, for kokkosiris_info.
  virtual std::string description() const = 0;
};

/// Collective: creates slabs of `bytes` bytes that kernels of `MemorySpace` can reach.
/// Specialised for each memory space with kernels that this library supports.
/// \param runtime the ranks' runtime, which the memory may keep longer than the context
/// \throws Error on all ranks if it fails on one
template <class MemorySpace>
std::unique_ptr<PeerMemory> make_peer_memory(Bootstrap& bootstrap,
                                             const std::shared_ptr<Runtime>& runtime,
                                             std::size_t bytes);

template <>
std::unique_ptr<PeerMemory> make_peer_memory<Kokkos::HostSpace>(
    Bootstrap& bootstrap, const std::shared_ptr<Runtime>& runtime, std::size_t bytes);
template <>
std::unique_ptr<PeerMemory> make_peer_memory<GpuMemorySpace>(
    Bootstrap& bootstrap, const std::shared_ptr<Runtime>& runtime, std::size_t bytes);

}  // namespace KokkosIris::Impl

#endif
