// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// What stands behind a Context; shared with the views on its heap, which may outlive it.

#ifndef KOKKOSIRIS_CONTEXT_STATE_HPP
#define KOKKOSIRIS_CONTEXT_STATE_HPP

#include <core/KokkosIris_CopyEngine.hpp>
#include <core/KokkosIris_DeviceContext.hpp>
#include <core/KokkosIris_DeviceWatch.hpp>
#include <core/KokkosIris_Runtime.hpp>
#include <cstddef>
#include <cstdint>
#include <heap/KokkosIris_PeerMemory.hpp>
#include <heap/KokkosIris_SymmetricHeap.hpp>
#include <memory>
#include <string>

namespace KokkosIris {

/// How a Context is made. All ranks must give the same values.
struct ContextOptions {
  /// Bytes of each rank's symmetric heap; 0: KOKKOSIRIS_HEAP_SIZE, else 1 GiB. On the host memory
  /// is taken from the system when it is first touched; on a GPU all of it is allocated at once.
  std::size_t heap_size = 0;
  /// Seconds after which a wait raises an error; 0: never; negative: KOKKOSIRIS_TIMEOUT, else 120.
  double timeout = -1.0;
  /// Seed of the random creation functions; every rank draws from a stream of its own.
  std::uint64_t seed = 0x4b6f6b6b6f73ull;
  /// Copies that can wait in the copy engine for one peer, a power of two; more make the caller
  /// wait.
  std::size_t copy_engine_entries = 1024;
};

namespace Impl {

/// Makes the pieces of a context that depend on the memory space.
struct MemorySpaceFactory {
  std::unique_ptr<PeerMemory> (*peer_memory)(Bootstrap&, const std::shared_ptr<Runtime>&,
                                             std::size_t);
  std::unique_ptr<CopyEngine> (*copy_engine)(Runtime&, std::size_t);
};

class ContextState {
 public:
  /// Collective over the bootstrap, which is not used after it.
  ContextState(Bootstrap& bootstrap, const ContextOptions& options,
               const MemorySpaceFactory& factory);

  /// What the destructor of Context does: finishes copies and tells the others that this rank has
  /// left. The memory stays until the last view is gone.
  void close();

  Runtime& runtime() { return *m_runtime; }
  SymmetricHeap& heap() { return *m_heap; }
  const DeviceContext& device() const { return m_device; }
  int ranks_on_gpu() const { return m_memory->ranks_on_gpu(); }
  CopyEngine& copy_engine() { return *m_copy_engine; }
  std::string memory_description() const { return m_memory->description(); }
  bool ranks_share_device() const { return m_memory->ranks_share_device(); }
  std::uint64_t seed() const { return m_seed; }
  /// Number of random creation calls before this one; equal on all ranks.
  std::uint64_t next_random_stream() { return m_random_streams++; }

  /// Collective: all ranks' hosts have come here; frees what all have dropped.
  void barrier(std::string_view operation);

 private:
  void fill_device_state(std::size_t slab_bytes);
  void start_watch(Bootstrap& bootstrap);
  void align_device_control();

  std::shared_ptr<Runtime> m_runtime;
  std::unique_ptr<PeerMemory> m_memory;
  std::unique_ptr<SymmetricHeap> m_heap;
  std::unique_ptr<CopyEngine> m_copy_engine;
  std::unique_ptr<DeviceWatch> m_watch;  // of contexts whose kernels run on a GPU
  DeviceContext m_device;
  std::uint64_t m_seed;
  std::uint64_t m_random_streams = 0;
};

}  // namespace Impl
}  // namespace KokkosIris

#endif
