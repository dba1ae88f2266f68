// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef KOKKOSIRIS_FUSED_ARCH_HOST_PACKEDGEMMVECTOR_HPP
#define KOKKOSIRIS_FUSED_ARCH_HOST_PACKEDGEMMVECTOR_HPP

/// \file
/// Vectors and element conversions of the packed engine. This text and those that include it are
/// compiled once for each instruction set. Everything is in an unnamed namespace and no inline
/// function of the standard library is used: the linker keeps one copy of an inline function, and a
/// copy with AVX-512 in it would end a program on other processors.

#include <cstddef>
#include <cstdint>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define KOKKOSIRIS_GEMM_INLINE inline __attribute__((always_inline))

namespace KokkosIris::Impl {
namespace {

#if defined(__AVX512F__)
constexpr int vector_bytes = 64;
#elif defined(__AVX2__)
constexpr int vector_bytes = 32;
#else
constexpr int vector_bytes = 16;
#endif

/// A vector of N elements. Loads and stores go through __builtin_memcpy: any alignment, no aliasing
/// rule to break.
template <class T, int N>
struct VectorOf {
  typedef T type __attribute__((vector_size(N * sizeof(T))));
};
template <class T, int N>
using Vec = typename VectorOf<T, N>::type;

template <class T>
constexpr int lanes_of = vector_bytes / static_cast<int>(sizeof(T));

KOKKOSIRIS_GEMM_INLINE std::int64_t min64(std::int64_t a, std::int64_t b) { return a < b ? a : b; }
KOKKOSIRIS_GEMM_INLINE std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}
KOKKOSIRIS_GEMM_INLINE std::int64_t round_up(std::int64_t a, std::int64_t b) {
  return ceil_div(a, b) * b;
}

KOKKOSIRIS_GEMM_INLINE float float_of_bits(std::uint32_t bits) {
  return __builtin_bit_cast(float, bits);
}
KOKKOSIRIS_GEMM_INLINE std::uint32_t bits_of_float(float value) {
  return __builtin_bit_cast(std::uint32_t, value);
}

/// binary16 to float without a conversion instruction. Subnormals are scaled by a multiplication
/// that is exact.
KOKKOSIRIS_GEMM_INLINE float half_to_float(std::uint16_t half) {
  const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000u) << 16;
  const std::uint32_t magnitude = half & 0x7fffu;
  const std::uint32_t normal = (magnitude << 13) + (112u << 23);
  const std::uint32_t special =
      (magnitude << 13) | 0x7f800000u;  // infinity, or NaN with its payload
  const std::uint32_t subnormal =
      bits_of_float(static_cast<float>(static_cast<int>(magnitude)) * 0x1p-24f);
  const std::uint32_t quiet = magnitude > 0x7c00u ? 0x00400000u : 0u;
  const std::uint32_t bits = magnitude >= 0x7c00u   ? (special | quiet)
                             : magnitude >= 0x0400u ? normal
                                                    : subnormal;
  return float_of_bits(sign | bits);
}

/// float to binary16, to nearest even, without a conversion instruction.
KOKKOSIRIS_GEMM_INLINE std::uint16_t float_to_half(float value) {
  const std::uint32_t bits = bits_of_float(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000u;
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  // Normal results: rebias, then add half a unit less one plus the last kept bit; a carry goes into
  // the exponent.
  const std::uint32_t normal = (magnitude - (112u << 23) + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
  // Subnormal results: adding 0.5 leaves a multiple of 2^-24, rounded by the addition, in the low
  // mantissa bits.
  const std::uint32_t subnormal = bits_of_float(float_of_bits(magnitude) + 0.5f) - 0x3f000000u;
  const std::uint32_t nan = 0x7e00u | ((magnitude >> 13) & 0x3ffu);
  const std::uint32_t half = magnitude > 0x7f800000u    ? nan
                             : magnitude >= 0x477ff000u ? 0x7c00u  // 65520 and above, infinity
                             : magnitude >= 0x38800000u ? normal
                                                        : subnormal;
  return static_cast<std::uint16_t>(sign | half);
}

KOKKOSIRIS_GEMM_INLINE std::uint16_t float_to_bfloat(float value) {
  const std::uint32_t bits = bits_of_float(value);
  const std::uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  const std::uint32_t nan = (bits >> 16) | 0x40u;
  return static_cast<std::uint16_t>((bits & 0x7fffffffu) > 0x7f800000u ? nan : rounded);
}

/// sum += factor * values, rounded once where the processor can: by its instruction, because
/// compilers contract a product and a sum or not as they tune for a processor, so that bits would
/// depend on the loop around them.
template <class T>
KOKKOSIRIS_GEMM_INLINE void add_product(Vec<T, lanes_of<T>>& sum, T factor,
                                        const Vec<T, lanes_of<T>>& values) {
#if defined(__AVX512F__)
  if constexpr (sizeof(T) == 4) {
    sum = _mm512_fmadd_ps(_mm512_set1_ps(factor), values, sum);
  } else {
    sum = _mm512_fmadd_pd(_mm512_set1_pd(factor), values, sum);
  }
#elif defined(__AVX2__) && defined(__FMA__)
  if constexpr (sizeof(T) == 4) {
    sum = _mm256_fmadd_ps(_mm256_set1_ps(factor), values, sum);
  } else {
    sum = _mm256_fmadd_pd(_mm256_set1_pd(factor), values, sum);
  }
#else
  sum += factor * values;
#endif
}

/// A vector to aligned memory, past the caches where the processor can. Such stores are ordered by
/// order_streams() only.
template <class V>
KOKKOSIRIS_GEMM_INLINE void stream_vector(void* dst, const V& value) {
#if defined(__AVX512F__)
  if constexpr (sizeof(V) == 64) {
    __m512i bits;
    __builtin_memcpy(&bits, &value, sizeof(V));
    _mm512_stream_si512(static_cast<__m512i*>(dst), bits);
    return;
  }
#endif
#if defined(__AVX2__)
  if constexpr (sizeof(V) == 32) {
    __m256i bits;
    __builtin_memcpy(&bits, &value, sizeof(V));
    _mm256_stream_si256(static_cast<__m256i*>(dst), bits);
    return;
  }
#endif
#if defined(__x86_64__)
  if constexpr (sizeof(V) == 16) {
    __m128i bits;
    __builtin_memcpy(&bits, &value, sizeof(V));
    _mm_stream_si128(static_cast<__m128i*>(dst), bits);
    return;
  }
#endif
  __builtin_memcpy(dst, &value, sizeof(V));
}

KOKKOSIRIS_GEMM_INLINE void order_streams() {
#if defined(__x86_64__)
  _mm_sfence();
#endif
}

/// Element traits: the memory type, the accumulator type, and load<N> / store<N> that convert N
/// elements.
template <class T>
struct Native {
  using memory = T;
  using acc = T;
  template <int N>
  static KOKKOSIRIS_GEMM_INLINE void load(Vec<T, N>& out, const void* src) {
    __builtin_memcpy(&out, src, sizeof(out));
  }
  template <int N>
  static KOKKOSIRIS_GEMM_INLINE void store(void* dst, const Vec<T, N>& in) {
    __builtin_memcpy(dst, &in, sizeof(in));
  }
  static KOKKOSIRIS_GEMM_INLINE T to_acc(T value) { return value; }
  static KOKKOSIRIS_GEMM_INLINE T from_acc(T value) { return value; }
};

struct Half {
  using memory = std::uint16_t;
  using acc = float;
  template <int N>
  static KOKKOSIRIS_GEMM_INLINE void load(Vec<float, N>& out, const void* src) {
#if defined(__AVX512F__)
    if constexpr (N == 16) {
      __m256i bits;
      __builtin_memcpy(&bits, src, sizeof(bits));
      const __m512 wide =
          _mm512_maskz_cvtph_ps(0xffff, bits);  // unmasked: GCC 12 warns of its own header
      __builtin_memcpy(&out, &wide, sizeof(out));
      return;
    }
#endif
#if defined(__F16C__)
    if constexpr (N == 8) {
      __m128i bits;
      __builtin_memcpy(&bits, src, sizeof(bits));
      const __m256 wide = _mm256_cvtph_ps(bits);
      __builtin_memcpy(&out, &wide, sizeof(out));
      return;
    }
    if constexpr (N == 4) {
      long long bits;
      __builtin_memcpy(&bits, src, sizeof(bits));
      const __m128 wide = _mm_cvtph_ps(_mm_cvtsi64_si128(bits));
      __builtin_memcpy(&out, &wide, sizeof(out));
      return;
    }
#endif
    memory in[N];
    float wide[N];
    __builtin_memcpy(in, src, sizeof(in));
    for (int i = 0; i < N; ++i) wide[i] = half_to_float(in[i]);
    __builtin_memcpy(&out, wide, sizeof(out));
  }
  template <int N>
  static KOKKOSIRIS_GEMM_INLINE void store(void* dst, const Vec<float, N>& in) {
#if defined(__AVX512F__)
    if constexpr (N == 16) {
      const __m256i bits =
          _mm512_maskz_cvtps_ph(0xffff, (__m512)in, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
      __builtin_memcpy(dst, &bits, sizeof(bits));
      return;
    }
#endif
#if defined(__F16C__)
    if constexpr (N == 8) {
      const __m128i bits =
          _mm256_cvtps_ph((__m256)in, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
      __builtin_memcpy(dst, &bits, sizeof(bits));
      return;
    }
#endif
    memory out[N];
    for (int i = 0; i < N; ++i) out[i] = float_to_half(in[i]);
    __builtin_memcpy(dst, out, sizeof(out));
  }
  static KOKKOSIRIS_GEMM_INLINE float to_acc(memory value) { return half_to_float(value); }
  static KOKKOSIRIS_GEMM_INLINE memory from_acc(float value) { return float_to_half(value); }
};

struct Bfloat {
  using memory = std::uint16_t;
  using acc = float;
  template <int N>
  static KOKKOSIRIS_GEMM_INLINE void load(Vec<float, N>& out, const void* src) {
    Vec<std::uint16_t, N> in;
    __builtin_memcpy(&in, src, sizeof(in));
    const Vec<std::uint32_t, N> wide = __builtin_convertvector(in, Vec<std::uint32_t, N>) << 16;
    __builtin_memcpy(&out, &wide, sizeof(out));
  }
  /// In integers: the conversion instructions of AVX512_BF16 flush subnormals.
  template <int N>
  static KOKKOSIRIS_GEMM_INLINE void store(void* dst, const Vec<float, N>& in) {
    using Bits = Vec<std::uint32_t, N>;
    Bits bits;
    __builtin_memcpy(&bits, &in, sizeof(bits));
    const Bits rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
    const Bits nan = (bits >> 16) | 0x40u;
    const Bits result = (bits & 0x7fffffffu) > 0x7f800000u ? nan : rounded;
    const Vec<std::uint16_t, N> out = __builtin_convertvector(result, Vec<std::uint16_t, N>);
    __builtin_memcpy(dst, &out, sizeof(out));
  }
  static KOKKOSIRIS_GEMM_INLINE float to_acc(memory value) {
    return float_of_bits(static_cast<std::uint32_t>(value) << 16);
  }
  static KOKKOSIRIS_GEMM_INLINE memory from_acc(float value) { return float_to_bfloat(value); }
};

}  // namespace
}  // namespace KokkosIris::Impl

#endif
