// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// Chunks: what one access of 16 bytes moves between registers and global memory.
///
/// AMD's compiler seldom knows that a pointer out of an operand's description is to global memory;
/// it would take "flat" instructions, which also occupy the path to the LDS. So the address space
/// is stated here.

#ifndef KOKKOSIRIS_CHUNKS_HPP
#define KOKKOSIRIS_CHUNKS_HPP

#include <Kokkos_BitManipulation.hpp>
#include <Kokkos_Core.hpp>
#include <core/KokkosIris_HalfTypes.hpp>
#include <cstdint>
#include <cstring>
#include <type_traits>

#if defined(__CUDACC__)
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#endif

/// Loops over registers must be unrolled: registers cannot be indexed at run time.
#if defined(__clang__) || defined(__CUDA_ARCH__)
#define KOKKOSIRIS_UNROLL _Pragma("unroll")
#else
#define KOKKOSIRIS_UNROLL
#endif

#if defined(__HIP_DEVICE_COMPILE__)
#define KOKKOSIRIS_CHUNKS_GLOBAL __attribute__((address_space(1)))
#endif

namespace KokkosIris::Impl {

/// N values that the compiler keeps in adjacent registers.
#if defined(__HIP__)
template <class V, int N>
using Vector = V __attribute__((ext_vector_type(N)));
#else
template <class V, int N>
struct alignas(sizeof(V) * N < 16 ? sizeof(V) * N : 16) Vector {
  V values[N];
  KOKKOS_FORCEINLINE_FUNCTION V& operator[](int i) { return values[i]; }
  KOKKOS_FORCEINLINE_FUNCTION const V& operator[](int i) const { return values[i]; }
};
#endif

/// What one access of 16 bytes moves, and half of it.
using Chunk = Vector<std::uint32_t, 4>;
using HalfChunk = Vector<std::uint32_t, 2>;
inline constexpr int chunk_bytes = 16;
template <class T>
inline constexpr int chunk_elements = chunk_bytes / static_cast<int>(sizeof(T));

/// A chunk's elements.
template <class T>
struct alignas(chunk_bytes) Elements {
  T values[chunk_elements<T>];
};

KOKKOS_FORCEINLINE_FUNCTION bool is_aligned(const void* p) {
  return reinterpret_cast<std::uintptr_t>(p) % chunk_bytes == 0;
}

/// One load (global_load_dwordx4, ld.v4.b32). The address is a multiple of 16 in global memory.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION Chunk load_chunk(const T* p) {
#if defined(__HIP_DEVICE_COMPILE__)
  return *(const KOKKOSIRIS_CHUNKS_GLOBAL Chunk*)(p);
#elif defined(__CUDA_ARCH__)
  return *reinterpret_cast<const Chunk*>(p);
#else
  Chunk chunk;
  std::memcpy(&chunk, p, sizeof(chunk));
  return chunk;
#endif
}
/// One store, as above.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION void store_chunk(T* p, const Chunk& chunk) {
#if defined(__HIP_DEVICE_COMPILE__)
  *(KOKKOSIRIS_CHUNKS_GLOBAL Chunk*)(p) = chunk;
#elif defined(__CUDA_ARCH__)
  *reinterpret_cast<Chunk*>(p) = chunk;
#else
  std::memcpy(static_cast<void*>(p), &chunk, sizeof(chunk));
#endif
}
/// The same of one element.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION T load_element(const T* p) {
#if defined(__HIP_DEVICE_COMPILE__)
  if constexpr (sizeof(T) == 2) {
    return __builtin_bit_cast(T, *(const KOKKOSIRIS_CHUNKS_GLOBAL std::uint16_t*)(p));
  } else {
    return *(const KOKKOSIRIS_CHUNKS_GLOBAL T*)(p);
  }
#else
  return *p;
#endif
}
/// The same of one element.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION void store_element(T* p, T value) {
#if defined(__HIP_DEVICE_COMPILE__)
  if constexpr (sizeof(T) == 2) {
    *(KOKKOSIRIS_CHUNKS_GLOBAL std::uint16_t*)(p) = __builtin_bit_cast(std::uint16_t, value);
  } else {
    *(KOKKOSIRIS_CHUNKS_GLOBAL T*)(p) = value;
  }
#else
  *p = value;
#endif
}

/// \name A chunk as elements, and back
/// On AMD's GPUs not by Kokkos::bit_cast, a copy of bytes: the compiler takes it apart, and then
/// loads single elements beside the chunk.
///@{
#if defined(__HIP_DEVICE_COMPILE__)
#define KOKKOSIRIS_CHUNKS_BIT_CAST(TO, FROM) __builtin_bit_cast(TO, FROM)
#else
#define KOKKOSIRIS_CHUNKS_BIT_CAST(TO, FROM) Kokkos::bit_cast<TO>(FROM)
#endif
template <class T>
KOKKOS_FORCEINLINE_FUNCTION Elements<T> elements_of(const Chunk& chunk) {
  return KOKKOSIRIS_CHUNKS_BIT_CAST(Elements<T>, chunk);
}
template <class T>
KOKKOS_FORCEINLINE_FUNCTION Chunk chunk_of(const Elements<T>& elements) {
  return KOKKOSIRIS_CHUNKS_BIT_CAST(Chunk, elements);
}
#undef KOKKOSIRIS_CHUNKS_BIT_CAST
///@}

/// Rounds to nearest even; on GPUs by the instruction where there is one.
template <class T, class Acc>
KOKKOS_FORCEINLINE_FUNCTION T rounded_to(Acc value) {
#if defined(__HIP_DEVICE_COMPILE__)
  if constexpr (std::is_same_v<T, half_t>) {
    return half_t::from_bits(__builtin_bit_cast(std::uint16_t, static_cast<_Float16>(value)));
  }
#elif defined(__CUDA_ARCH__)
  if constexpr (std::is_same_v<T, half_t>) {
    return half_t::from_bits(__half_as_ushort(__float2half_rn(value)));
  } else if constexpr (std::is_same_v<T, bhalf_t>) {
    return bhalf_t::from_bits(__bfloat16_as_ushort(__float2bfloat16_rn(value)));
  }
#endif
  return static_cast<T>(value);
}

/// Up to a chunk of elements that lie `stride` apart; what is not `valid` is not read, and zero.
/// \param wide the elements are adjacent and the first lies at a multiple of 16 bytes
template <class T>
KOKKOS_FORCEINLINE_FUNCTION Chunk load_elements(const T* p, std::int64_t stride, int valid,
                                                bool wide) {
  constexpr int n = chunk_elements<T>;
  if (wide && valid >= n) return load_chunk(p);
  Elements<T> elements;
  KOKKOSIRIS_UNROLL
  for (int e = 0; e < n; ++e) elements.values[e] = e < valid ? load_element(p + e * stride) : T(0);
  return chunk_of(elements);
}
/// The counterpart: what is not `valid` is not written.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION void store_elements(T* p, std::int64_t stride, int valid, bool wide,
                                                const Elements<T>& elements) {
  constexpr int n = chunk_elements<T>;
  if (wide && valid >= n) return store_chunk(p, chunk_of(elements));
  KOKKOSIRIS_UNROLL
  for (int e = 0; e < n; ++e) {
    if (e < valid) store_element(p + e * stride, elements.values[e]);
  }
}

}  // namespace KokkosIris::Impl

#undef KOKKOSIRIS_CHUNKS_GLOBAL

#endif
