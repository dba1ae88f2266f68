// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// What a context knows of its copy engine; the engines themselves are in src/rma.

#ifndef KOKKOSIRIS_COPY_ENGINE_INTERFACE_HPP
#define KOKKOSIRIS_COPY_ENGINE_INTERFACE_HPP

#include <Kokkos_Core.hpp>
#include <core/KokkosIris_GpuSpace.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace KokkosIris::Impl {

struct CopyEngineQueues;
struct CopyWork;
class HostCopyQueue;
class Runtime;

/// Moves memory beside the kernels: rings that kernels and the host write descriptors to, and a
/// proxy that carries them out. One per context; purely local to the rank, so that it works without
/// a peer doing anything. It does not survive fork(): the child has the rings but no proxy.
class CopyEngine {
 public:
  /// Finishes what was submitted and stops the proxy. Never waits for another rank.
  virtual ~CopyEngine() = default;
  /// The rings, for DeviceContext; readable and writable by kernels.
  virtual CopyEngineQueues* queues() noexcept = 0;
  /// Host, any thread: `work` has been committed to the ring of `peer` at `position`. Wakes the
  /// proxy if need be.
  virtual void submitted(int peer, std::uint64_t position, const CopyWork& work) noexcept = 0;
  /// Host, any thread: carries out at most one submitted copy to `peer`, if no other thread is at
  /// that ring. Threads that wait for copies call it, so that they need not wait for the proxy to
  /// run.
  virtual void progress(int peer) noexcept = 0;
  /// How the host hands over copies where it cannot use the rings; null where it can.
  virtual HostCopyQueue* host_queue() noexcept { return nullptr; }
};

/// Makes the copy engine of a memory space; specialised for each one that this library supports.
/// \param entries descriptors that the ring of one peer holds, a power of two
/// \throws std::exception if the proxy cannot be started
template <class MemorySpace>
std::unique_ptr<CopyEngine> make_copy_engine(Runtime& runtime, std::size_t entries);

template <>
std::unique_ptr<CopyEngine> make_copy_engine<Kokkos::HostSpace>(Runtime& runtime,
                                                                std::size_t entries);
template <>
std::unique_ptr<CopyEngine> make_copy_engine<GpuMemorySpace>(Runtime& runtime, std::size_t entries);

}  // namespace KokkosIris::Impl

#endif
