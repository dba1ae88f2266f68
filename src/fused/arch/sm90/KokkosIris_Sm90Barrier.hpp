// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// Barriers in shared memory between the warps of a block, and between them and bulk copies
/// (PTX ISA, "mbarrier"). One function an instruction. Addresses are those of the shared window.

#ifndef KOKKOSIRIS_SM90_BARRIER_HPP
#define KOKKOSIRIS_SM90_BARRIER_HPP

#include <cstdint>

namespace KokkosIris::Impl::Sm90 {

/// An address in the shared window of the block.
using SharedAddress = std::uint32_t;

__device__ __forceinline__ SharedAddress shared_address(const void* p) {
  return static_cast<SharedAddress>(__cvta_generic_to_shared(p));
}

/// A barrier whose phase ends after `arrivals` arrivals and all bytes that were announced. To be
/// followed by fence_barriers() and a barrier of the block.
__device__ __forceinline__ void barrier_init(SharedAddress barrier, std::uint32_t arrivals) {
  __asm__ volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals)
                   : "memory");
}

/// Initialised barriers are visible to bulk copies.
__device__ __forceinline__ void fence_barriers() {
  __asm__ volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

/// Releases the thread's earlier accesses, at the scope of the block, to whoever waits for the
/// phase.
/// \param arrivals as which it counts
__device__ __forceinline__ void barrier_arrive(SharedAddress barrier, std::uint32_t arrivals = 1) {
  __asm__ volatile("mbarrier.arrive.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(arrivals)
                   : "memory");
}

/// The same, and the phase also waits for `bytes` of bulk copies. More bytes than come are a hang.
__device__ __forceinline__ void barrier_arrive_expect(SharedAddress barrier, std::uint32_t bytes) {
  __asm__ volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier),
                   "r"(bytes)
                   : "memory");
}

/// Waits until the phase of the given parity is over; acquires what arrivals released and the bytes
/// of bulk copies. Not bounded by itself: phases depend on copies of this device and on warps of
/// this block, whose waits for other ranks are bounded.
__device__ __forceinline__ void barrier_wait(SharedAddress barrier, std::uint32_t parity) {
  std::uint32_t done;
  do {
    __asm__ volatile(
        "{\n.reg .pred p;\n"
        "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
        "selp.u32 %0, 1, 0, p;\n}"
        : "=r"(done)
        : "r"(barrier), "r"(parity)
        : "memory");
  } while (done == 0);
}

/// A barrier and the parity that one of its users waits for next.
struct PhasedBarrier {
  SharedAddress address;
  std::uint32_t parity = 0;

  __device__ __forceinline__ void wait() {
    barrier_wait(address, parity);
    parity ^= 1u;
  }
};

}  // namespace KokkosIris::Impl::Sm90

#endif
