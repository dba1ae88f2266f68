// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// Two adjacent words that are accessed together, each of them whole: what GpuIntrinsics is for
/// one.

#ifndef KOKKOSIRIS_GPU_PAIRS_HPP
#define KOKKOSIRIS_GPU_PAIRS_HPP

#include <Kokkos_Core.hpp>
#include <core/KokkosIris_GpuIntrinsics.hpp>
#include <cstdint>

namespace KokkosIris::Impl {

/// Stores two words at a multiple of 16 bytes, at system scope. Each is single-copy atomic (by PTX'
/// memory model a vector access is one of its elements in no order); orders nothing.
KOKKOS_FORCEINLINE_FUNCTION void gpu_store_pair_relaxed([[maybe_unused]] std::uint64_t* p,
                                                        [[maybe_unused]] std::uint64_t first,
                                                        [[maybe_unused]] std::uint64_t second) {
#if defined(__CUDA_ARCH__)
  __asm__ volatile("st.relaxed.sys.global.v2.b64 [%0], {%1, %2};" ::"l"(p), "l"(first), "l"(second)
                   : "memory");
#elif defined(__HIP_DEVICE_COMPILE__)
  gpu_store_relaxed(p, first);
  gpu_store_relaxed(p + 1, second);
#endif
}

/// Loads two words as gpu_store_pair_relaxed() stores them, never from a stale cache.
KOKKOS_FORCEINLINE_FUNCTION void gpu_load_pair_relaxed([[maybe_unused]] const std::uint64_t* p,
                                                       [[maybe_unused]] std::uint64_t& first,
                                                       [[maybe_unused]] std::uint64_t& second) {
#if defined(__CUDA_ARCH__)
  __asm__ volatile("ld.relaxed.sys.global.v2.b64 {%0, %1}, [%2];"
                   : "=l"(first), "=l"(second)
                   : "l"(p)
                   : "memory");
#elif defined(__HIP_DEVICE_COMPILE__)
  first = gpu_load_relaxed(p);
  second = gpu_load_relaxed(p + 1);
#endif
}

}  // namespace KokkosIris::Impl

#endif
