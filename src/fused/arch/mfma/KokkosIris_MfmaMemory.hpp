// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// Values that a wave's lanes have in common, and accesses of up to 16 bytes to the team's scratch
/// (LDS), each one instruction on the device.

#ifndef KOKKOSIRIS_MFMA_MEMORY_HPP
#define KOKKOSIRIS_MFMA_MEMORY_HPP

#include <Kokkos_Core.hpp>
#include <cstdint>
#include <cstring>
#include <fused/KokkosIris_Matrix.hpp>
#include <fused/arch/mfma/KokkosIris_MfmaWave.hpp>

#if defined(KOKKOSIRIS_MFMA_ON_DEVICE)
#define KOKKOSIRIS_MFMA_LDS __attribute__((address_space(3)))
#endif

namespace KokkosIris::Impl::Mfma {

/// The same value, which the compiler then knows to be the same in all lanes: it is kept in a
/// scalar register. All lanes of the wave must come here and have the same value.
KOKKOS_FORCEINLINE_FUNCTION std::int64_t uniform(std::int64_t value) {
#if defined(KOKKOSIRIS_MFMA_ON_DEVICE)
  const auto bits = static_cast<std::uint64_t>(value);
  const auto low = static_cast<std::uint32_t>(
      __builtin_amdgcn_readfirstlane(static_cast<int>(static_cast<std::uint32_t>(bits))));
  const auto high = static_cast<std::uint32_t>(
      __builtin_amdgcn_readfirstlane(static_cast<int>(static_cast<std::uint32_t>(bits >> 32))));
  return static_cast<std::int64_t>(std::uint64_t(high) << 32 | low);
#else
  return value;
#endif
}
template <class T>
KOKKOS_FORCEINLINE_FUNCTION T* uniform(T* p) {
#if defined(KOKKOSIRIS_MFMA_ON_DEVICE)
  return reinterpret_cast<T*>(uniform(reinterpret_cast<std::int64_t>(p)));
#else
  return p;
#endif
}
template <class T>
KOKKOS_FORCEINLINE_FUNCTION MatrixRef<T> uniform(const MatrixRef<T>& m) {
  return {uniform(m.data), uniform(m.rows), uniform(m.cols), uniform(m.row_stride),
          uniform(m.col_stride)};
}
/// Such a value, of which the compiler knows nothing else afterwards.
KOKKOS_FORCEINLINE_FUNCTION std::int64_t opaque(std::int64_t value) {
#if defined(KOKKOSIRIS_MFMA_ON_DEVICE)
  __asm__ volatile("" : "+s"(value));
#endif
  return value;
}

/// ds_read_b128 from an offset, a multiple of 16, of the team's scratch.
KOKKOS_FORCEINLINE_FUNCTION Chunk read_lds(const char* scratch, int offset) {
#if defined(KOKKOSIRIS_MFMA_ON_DEVICE)
  return *(const KOKKOSIRIS_MFMA_LDS Chunk*)((const KOKKOSIRIS_MFMA_LDS char*)(scratch) + offset);
#else
  Chunk chunk;
  std::memcpy(&chunk, scratch + offset, sizeof(chunk));
  return chunk;
#endif
}
/// ds_write_b128, b64 or b32 of a value of that size to a multiple of it.
template <class V>
KOKKOS_FORCEINLINE_FUNCTION void write_lds(char* scratch, int offset, const V& value) {
  static_assert(sizeof(V) == 4 || sizeof(V) == 8 || sizeof(V) == 16);
#if defined(KOKKOSIRIS_MFMA_ON_DEVICE)
  *(KOKKOSIRIS_MFMA_LDS V*)((KOKKOSIRIS_MFMA_LDS char*)(scratch) + offset) = value;
#else
  std::memcpy(scratch + offset, &value, sizeof(value));
#endif
}

}  // namespace KokkosIris::Impl::Mfma

#undef KOKKOSIRIS_MFMA_LDS

#endif
