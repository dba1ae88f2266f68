// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include <Conversion.hpp>
#include <bit>
#include <cstdint>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace Bench {

using KokkosIris::bhalf_t;
using KokkosIris::half_t;

// The two loops for bfloat16 are plain integer arithmetic that compilers vectorise.

void convert(const bhalf_t* from, float* to, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    to[i] = std::bit_cast<float>(static_cast<std::uint32_t>(from[i].m_bits) << 16);
  }
}

void convert(const float* from, bhalf_t* to, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const auto bits = std::bit_cast<std::uint32_t>(from[i]);
    const std::uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
    const std::uint32_t quiet_nan = (bits >> 16) | 0x40u;
    const bool is_nan = (bits & 0x7fffffffu) > 0x7f800000u;
    to[i].m_bits = static_cast<std::uint16_t>(is_nan ? quiet_nan : rounded);
  }
}

namespace {

template <class From, class To>
void convert_one_by_one(const From* from, To* to, std::size_t begin, std::size_t count) {
  for (std::size_t i = begin; i < count; ++i) to[i] = To(float(from[i]));
}

#if defined(__x86_64__)

/// Both return how many elements are done. (The masked forms, because GCC 12 warns about a variable
/// in the others.)
__attribute__((target("avx512f"))) std::size_t widen(const half_t* from, float* to,
                                                     std::size_t count) {
  std::size_t i = 0;
  for (; i + 16 <= count; i += 16) {
    const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + i));
    _mm512_storeu_ps(to + i, _mm512_maskz_cvtph_ps(0xffff, bits));
  }
  return i;
}
__attribute__((target("avx512f"))) std::size_t narrow(const float* from, half_t* to,
                                                      std::size_t count) {
  std::size_t i = 0;
  for (; i + 16 <= count; i += 16) {
    const __m256i bits = _mm512_maskz_cvtps_ph(0xffff, _mm512_loadu_ps(from + i),
                                               _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + i), bits);
  }
  return i;
}
__attribute__((target("avx,f16c"))) std::size_t widen_by_8(const half_t* from, float* to,
                                                           std::size_t count) {
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    const __m128i bits = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i));
    _mm256_storeu_ps(to + i, _mm256_cvtph_ps(bits));
  }
  return i;
}
__attribute__((target("avx,f16c"))) std::size_t narrow_by_8(const float* from, half_t* to,
                                                            std::size_t count) {
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    const __m128i bits = _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i), bits);
  }
  return i;
}
bool has_avx512() { return __builtin_cpu_supports("avx512f"); }
bool has_f16c() { return __builtin_cpu_supports("f16c"); }

#else

std::size_t widen(const half_t*, float*, std::size_t) { return 0; }
std::size_t narrow(const float*, half_t*, std::size_t) { return 0; }
std::size_t widen_by_8(const half_t*, float*, std::size_t) { return 0; }
std::size_t narrow_by_8(const float*, half_t*, std::size_t) { return 0; }
bool has_avx512() { return false; }
bool has_f16c() { return false; }

#endif

}  // namespace

void convert(const half_t* from, float* to, std::size_t count) {
  std::size_t done = 0;
  if (has_avx512()) {
    done = widen(from, to, count);
  } else if (has_f16c()) {
    done = widen_by_8(from, to, count);
  }
  convert_one_by_one(from, to, done, count);
}

void convert(const float* from, half_t* to, std::size_t count) {
  std::size_t done = 0;
  if (has_avx512()) {
    done = narrow(from, to, count);
  } else if (has_f16c()) {
    done = narrow_by_8(from, to, count);
  }
  convert_one_by_one(from, to, done, count);
}

}  // namespace Bench
