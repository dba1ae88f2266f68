// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// Asynchronous bulk copies between shared and global memory (PTX ISA, "cp.async.bulk"), and the
/// fences that order them with ordinary accesses. One function an instruction; called by one
/// thread.
///
/// Copies are made by the *async proxy*. Three rules of the PTX memory model apply everywhere:
/// - what threads wrote to shared memory is seen by a copy only after the writers' fence_async();
/// - what was acquired from another device is seen by a copy only after the acquirer's
///   fence_async();
/// - a copy to global memory is performed only when its group is complete (wait_copies), not when
///   its source may be reused (wait_copies_read); then a release by the same thread covers it.

#ifndef KOKKOSIRIS_SM90_COPIES_HPP
#define KOKKOSIRIS_SM90_COPIES_HPP

#include <cuda.h>

#include <cstdint>
#include <fused/arch/sm90/KokkosIris_Sm90Barrier.hpp>

namespace KokkosIris::Impl::Sm90 {

/// Orders the thread's ordinary accesses before its later bulk copies, and those of threads that
/// synchronize with it afterwards.
__device__ __forceinline__ void fence_async() {
  __asm__ volatile("fence.proxy.async;" ::: "memory");
}

/// The same for accesses to the shared memory of the block alone.
__device__ __forceinline__ void fence_async_shared() {
  __asm__ volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

/// Fetches a descriptor ahead of its first use.
__device__ __forceinline__ void prefetch_map(const CUtensorMap* map) {
  __asm__ volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

/// Box at (x, y, z) of a tensor to shared memory; elements outside of the tensor are zero. All
/// bytes of the box, those outside included, count for the barrier.
__device__ __forceinline__ void load_box(SharedAddress to, const CUtensorMap* map,
                                         SharedAddress barrier, int x, int y, int z) {
  __asm__ volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%3, %4, %5}], [%2];" ::"r"(to),
      "l"(map), "r"(barrier), "r"(x), "r"(y), "r"(z)
      : "memory");
}

/// Shared memory to the box at (x, y, z); elements outside of the tensor are left out.
__device__ __forceinline__ void store_box(const CUtensorMap* map, SharedAddress from, int x, int y,
                                          int z) {
  __asm__ volatile(
      "cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group "
      "[%0, {%2, %3, %4}], [%1];" ::"l"(map),
      "r"(from), "r"(x), "r"(y), "r"(z)
      : "memory");
}

/// `bytes` from global to shared memory; both aligned to 16 bytes, as is the size.
__device__ __forceinline__ void load_bytes(SharedAddress to, const void* from, std::uint32_t bytes,
                                           SharedAddress barrier) {
  __asm__ volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
      "[%0], [%1], %2, [%3];" ::"r"(to),
      "l"(from), "r"(bytes), "r"(barrier)
      : "memory");
}

/// `bytes` from shared to global memory.
__device__ __forceinline__ void store_bytes(void* to, SharedAddress from, std::uint32_t bytes) {
  __asm__ volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to),
                   "r"(from), "r"(bytes)
                   : "memory");
}

/// Ends a group of the thread's stores.
__device__ __forceinline__ void commit_copies() {
  __asm__ volatile("cp.async.bulk.commit_group;" ::: "memory");
}
/// Waits until all but the last `Pending` groups are performed: see the third rule above.
template <int Pending = 0>
__device__ __forceinline__ void wait_copies() {
  __asm__ volatile("cp.async.bulk.wait_group %0;" ::"n"(Pending) : "memory");
}
/// Waits until the sources of all groups have been read.
__device__ __forceinline__ void wait_copies_read() {
  __asm__ volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
}

}  // namespace KokkosIris::Impl::Sm90

#endif
