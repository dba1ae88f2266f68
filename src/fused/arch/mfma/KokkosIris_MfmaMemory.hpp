// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// Accesses of 16 bytes, to global memory and to the team's scratch (LDS), each one instruction on
/// the device.
///
/// The compiler seldom knows that a pointer out of an operand's description is to global memory;
/// it would take "flat" instructions, which also occupy the path to the LDS. So the address space
/// is stated here.

#ifndef KOKKOSIRIS_MFMA_MEMORY_HPP
#define KOKKOSIRIS_MFMA_MEMORY_HPP

#include <Kokkos_BitManipulation.hpp>
#include <Kokkos_Core.hpp>
#include <cstdint>
#include <cstring>
#include <fused/KokkosIris_Matrix.hpp>
#include <fused/arch/mfma/KokkosIris_MfmaWave.hpp>

#if defined(KOKKOSIRIS_MFMA_ON_DEVICE)
#define KOKKOSIRIS_MFMA_GLOBAL __attribute__((address_space(1)))
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

KOKKOS_FORCEINLINE_FUNCTION bool is_aligned(const void* p) {
  return reinterpret_cast<std::uintptr_t>(p) % chunk_bytes == 0;
}

/// global_load_dwordx4. The address is a multiple of 16 in global memory.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION Chunk load_chunk(const T* p) {
#if defined(KOKKOSIRIS_MFMA_ON_DEVICE)
  return *(const KOKKOSIRIS_MFMA_GLOBAL Chunk*)(p);
#else
  Chunk chunk;
  std::memcpy(&chunk, p, sizeof(chunk));
  return chunk;
#endif
}
/// global_store_dwordx4. As above.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION void store_chunk(T* p, const Chunk& chunk) {
#if defined(KOKKOSIRIS_MFMA_ON_DEVICE)
  *(KOKKOSIRIS_MFMA_GLOBAL Chunk*)(p) = chunk;
#else
  std::memcpy(static_cast<void*>(p), &chunk, sizeof(chunk));
#endif
}
/// global_load of one element.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION T load_element(const T* p) {
#if defined(KOKKOSIRIS_MFMA_ON_DEVICE)
  if constexpr (sizeof(T) == 2) {
    return __builtin_bit_cast(T, *(const KOKKOSIRIS_MFMA_GLOBAL std::uint16_t*)(p));
  } else {
    return *(const KOKKOSIRIS_MFMA_GLOBAL T*)(p);
  }
#else
  return *p;
#endif
}
/// global_store of one element.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION void store_element(T* p, T value) {
#if defined(KOKKOSIRIS_MFMA_ON_DEVICE)
  if constexpr (sizeof(T) == 2) {
    *(KOKKOSIRIS_MFMA_GLOBAL std::uint16_t*)(p) = __builtin_bit_cast(std::uint16_t, value);
  } else {
    *(KOKKOSIRIS_MFMA_GLOBAL T*)(p) = value;
  }
#else
  *p = value;
#endif
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

/// \name A chunk as elements, and back
/// On the device not by Kokkos::bit_cast, a copy of bytes: the compiler takes it apart, and then
/// loads single elements beside the chunk.
///@{
#if defined(KOKKOSIRIS_MFMA_ON_DEVICE)
#define KOKKOSIRIS_MFMA_BIT_CAST(TO, FROM) __builtin_bit_cast(TO, FROM)
#else
#define KOKKOSIRIS_MFMA_BIT_CAST(TO, FROM) Kokkos::bit_cast<TO>(FROM)
#endif
template <class T>
KOKKOS_FORCEINLINE_FUNCTION Elements<T> elements_of(const Chunk& chunk) {
  return KOKKOSIRIS_MFMA_BIT_CAST(Elements<T>, chunk);
}
template <class T>
KOKKOS_FORCEINLINE_FUNCTION Chunk chunk_of(const Elements<T>& elements) {
  return KOKKOSIRIS_MFMA_BIT_CAST(Chunk, elements);
}
#undef KOKKOSIRIS_MFMA_BIT_CAST
///@}

/// Up to a chunk of elements that lie `stride` apart; what is not `valid` is not read, and zero.
/// \param wide the elements are adjacent and the first lies at a multiple of 16 bytes
template <class T>
KOKKOS_FORCEINLINE_FUNCTION Chunk load_elements(const T* p, std::int64_t stride, int valid,
                                                bool wide) {
  constexpr int n = chunk_elements<T>;
  if (wide && valid >= n) return load_chunk(p);
  Elements<T> elements;
  KOKKOSIRIS_MFMA_UNROLL
  for (int e = 0; e < n; ++e) elements.values[e] = e < valid ? load_element(p + e * stride) : T(0);
  return chunk_of(elements);
}
/// The counterpart: what is not `valid` is not written.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION void store_elements(T* p, std::int64_t stride, int valid, bool wide,
                                                const Elements<T>& elements) {
  constexpr int n = chunk_elements<T>;
  if (wide && valid >= n) return store_chunk(p, chunk_of(elements));
  KOKKOSIRIS_MFMA_UNROLL
  for (int e = 0; e < n; ++e) {
    if (e < valid) store_element(p + e * stride, elements.values[e]);
  }
}

}  // namespace KokkosIris::Impl::Mfma

#undef KOKKOSIRIS_MFMA_GLOBAL
#undef KOKKOSIRIS_MFMA_LDS

#endif
