// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// Teams of the engine, as functions see them that are given no object of Kokkos'.

#ifndef KOKKOSIRIS_SM80_TEAM_HPP
#define KOKKOSIRIS_SM80_TEAM_HPP

#include <Kokkos_Core.hpp>
#include <cstdint>
#include <fused/arch/sm80/KokkosIris_Sm80Stage.hpp>

#if defined(__CUDACC__)
#define KOKKOSIRIS_SM80_NO_INLINE __noinline__
#else
#define KOKKOSIRIS_SM80_NO_INLINE
#endif

namespace KokkosIris::Impl::Sm80 {

/// Makes a value unknown to the compiler.
template <class Function>
KOKKOS_FORCEINLINE_FUNCTION void hide([[maybe_unused]] Function*& pointer) {
#if defined(__CUDA_ARCH__)
  asm volatile("" : "+l"(pointer));
#endif
}
KOKKOS_FORCEINLINE_FUNCTION void hide([[maybe_unused]] std::uint32_t& number) {
#if defined(__CUDA_ARCH__)
  asm volatile("" : "+r"(number));
#endif
}

/// What Kokkos' teams need for reductions and broadcasts, in front of the team's own memory.
inline constexpr int reserved_bytes = 128 * 17;
static_assert(reserved_bytes >= (team_threads + 2) * int(sizeof(double)));
/// Shared memory of a team: what GPUs of compute capability 8.6 and 8.9 can give, the least of all.
inline constexpr int shared_bytes = reserved_bytes + stages * stage_bytes;
static_assert(shared_bytes <= 99 * 1024);

/// The team's own memory, at a multiple of 128.
KOKKOS_FORCEINLINE_FUNCTION char* team_memory() {
#if defined(__CUDA_ARCH__)
  extern __shared__ __align__(128) char sm80_shared[];
  return sm80_shared + reserved_bytes;
#else
  return nullptr;
#endif
}
/// Rank in the team.
KOKKOS_FORCEINLINE_FUNCTION int team_thread() {
#if defined(__CUDA_ARCH__)
  return static_cast<int>(threadIdx.y);
#else
  return 0;
#endif
}
KOKKOS_FORCEINLINE_FUNCTION void team_barrier() {
#if defined(__CUDA_ARCH__)
  __syncthreads();
#endif
}

}  // namespace KokkosIris::Impl::Sm80

#endif
