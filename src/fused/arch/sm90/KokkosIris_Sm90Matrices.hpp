// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// From accumulators to 16-bit elements in shared memory and back (PTX ISA, "stmatrix",
/// "ldmatrix"), and small things that go with them. One function an instruction.

#ifndef KOKKOSIRIS_SM90_MATRICES_HPP
#define KOKKOSIRIS_SM90_MATRICES_HPP

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <core/KokkosIris_HalfTypes.hpp>
#include <cstdint>
#include <fused/arch/sm90/KokkosIris_Sm90Barrier.hpp>
#include <type_traits>

namespace KokkosIris::Impl::Sm90 {

/// Four 8 x 8 matrices of 16-bit elements by a warp. Lane l gives the address of row l % 8 of
/// matrix l / 8, and holds of matrix i in pairs[i] row l / 4, columns 2 (l % 4) and the next; of
/// its transpose in memory where `Transposed`.
template <bool Transposed>
__device__ __forceinline__ void store_matrices(SharedAddress row, const std::uint32_t (&pairs)[4]) {
  if constexpr (Transposed) {
    __asm__ volatile(
        "stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(row),
        "r"(pairs[0]), "r"(pairs[1]), "r"(pairs[2]), "r"(pairs[3])
        : "memory");
  } else {
    __asm__ volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(row),
                     "r"(pairs[0]), "r"(pairs[1]), "r"(pairs[2]), "r"(pairs[3])
                     : "memory");
  }
}
/// The same in the other direction.
template <bool Transposed>
__device__ __forceinline__ void load_matrices(std::uint32_t (&pairs)[4], SharedAddress row) {
  if constexpr (Transposed) {
    __asm__ volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(pairs[0]), "=r"(pairs[1]), "=r"(pairs[2]), "=r"(pairs[3])
                     : "r"(row)
                     : "memory");
  } else {
    __asm__ volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(pairs[0]), "=r"(pairs[1]), "=r"(pairs[2]), "=r"(pairs[3])
                     : "r"(row)
                     : "memory");
  }
}

__device__ __forceinline__ std::uint32_t load_shared(SharedAddress word) {
  std::uint32_t value;
  __asm__ volatile("ld.shared.u32 %0, [%1];" : "=r"(value) : "r"(word) : "memory");
  return value;
}
__device__ __forceinline__ void store_shared(SharedAddress word, std::uint32_t value) {
  __asm__ volatile("st.shared.u32 [%0], %1;" ::"r"(word), "r"(value) : "memory");
}
__device__ __forceinline__ std::uint16_t load_shared_element(SharedAddress element) {
  std::uint16_t value;
  __asm__ volatile("ld.shared.u16 %0, [%1];" : "=h"(value) : "r"(element) : "memory");
  return value;
}

__device__ __forceinline__ void store_shared_pair(SharedAddress to, float2 pair) {
  __asm__ volatile("st.shared.v2.f32 [%0], {%1, %2};" ::"r"(to), "f"(pair.x), "f"(pair.y)
                   : "memory");
}
__device__ __forceinline__ void store_shared_four(SharedAddress to, float4 four) {
  __asm__ volatile("st.shared.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(to), "f"(four.x), "f"(four.y),
                   "f"(four.z), "f"(four.w)
                   : "memory");
}
__device__ __forceinline__ float4 load_shared_four(SharedAddress from) {
  float4 four;
  __asm__ volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
                   : "=f"(four.x), "=f"(four.y), "=f"(four.z), "=f"(four.w)
                   : "r"(from)
                   : "memory");
  return four;
}

/// The address of the same place in the shared memory of block `block` of the cluster.
__device__ __forceinline__ SharedAddress address_in_cluster(SharedAddress own, int block) {
  SharedAddress address;
  __asm__ volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(address) : "r"(own), "r"(block));
  return address;
}
__device__ __forceinline__ float4 load_cluster_four(SharedAddress from) {
  float4 four;
  __asm__ volatile("ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [%4];"
                   : "=f"(four.x), "=f"(four.y), "=f"(four.z), "=f"(four.w)
                   : "r"(from)
                   : "memory");
  return four;
}
/// The barrier of the cluster, of all its threads that have not ended: the first releases what the
/// thread has written to shared memory, the second acquires what the others have.
__device__ __forceinline__ void arrive_at_cluster() {
  __asm__ volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}
__device__ __forceinline__ void wait_for_cluster() {
  __asm__ volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

/// Barrier of both consumer warpgroups.
__device__ __forceinline__ void sync_consumers() {
  __asm__ volatile("bar.sync 3, 256;" ::: "memory");
}
/// Barrier of the 128 threads of a warpgroup; `number` is 1 or 2.
__device__ __forceinline__ void sync_warpgroup(int number) {
  __asm__ volatile("bar.sync %0, 128;" ::"r"(number) : "memory");
}

/// Two numbers, rounded to nearest, the first in the low half.
template <class T>
__device__ __forceinline__ std::uint32_t pack(float first, float second) {
  std::uint32_t bits;
  if constexpr (std::is_same_v<T, half_t>) {
    __asm__("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(second), "f"(first));
  } else {
    __asm__("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(second), "f"(first));
  }
  return bits;
}
template <class T>
__device__ __forceinline__ float to_float(std::uint16_t bits) {
  if constexpr (std::is_same_v<T, half_t>) {
    return __half2float(__ushort_as_half(bits));
  } else {
    return __uint_as_float(std::uint32_t(bits) << 16);
  }
}
template <class T>
__device__ __forceinline__ float2 unpack(std::uint32_t bits) {
  return {to_float<T>(static_cast<std::uint16_t>(bits & 0xffffu)),
          to_float<T>(static_cast<std::uint16_t>(bits >> 16))};
}

}  // namespace KokkosIris::Impl::Sm90

#endif
