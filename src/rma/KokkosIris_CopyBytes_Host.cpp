// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Writing blocks that another process reads next, on x86.
//
// The reader's core holds the lines of a reused buffer. An ordinary store first fetches each of
// them back; `rep movsb` (for whole lines) and non-temporal stores claim or bypass them without the
// fetch. Which of the two is faster depends on the processor and the size: choose_method() is the
// one place that says so.

#include <cstdint>
#include <cstring>
#include <rma/KokkosIris_CopyBytes.hpp>

// Sanitizers see memcpy, but neither assembly nor what it orders.
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define KOKKOSIRIS_STREAM_BY_HAND 1
#include <cpuid.h>
#include <emmintrin.h>
#endif

namespace KokkosIris::Impl {

#if KOKKOSIRIS_STREAM_BY_HAND
namespace {

constexpr std::size_t line = 64;

struct Method {
  std::size_t non_temporal_from;  ///< `rep movsb` below this size, non-temporal stores from it on
  void (*stream_lines)(char* dst, const char* src, std::size_t lines);
};

/// Non-temporal stores of whole lines with what every x86-64 has. dst is a multiple of 64.
void stream_lines_sse2(char* dst, const char* src, std::size_t lines) {
  for (std::size_t i = 0; i < lines; ++i, dst += line, src += line) {
    __m128i part[4];
    for (int k = 0; k < 4; ++k)
      part[k] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(src) + k);
    for (int k = 0; k < 4; ++k) _mm_stream_si128(reinterpret_cast<__m128i*>(dst) + k, part[k]);
  }
}

/// The same with one store a line. Assembly instead of intrinsics, so that the library needs no
/// compiler flags for it; it is called only where the processor and the system support AVX-512.
void stream_lines_avx512(char* dst, const char* src, std::size_t lines) {
  if (lines == 0) return;
  __asm__ volatile(
      "1:\n\t"
      "vmovdqu64 (%[src]), %%zmm0\n\t"
      "vmovntdq %%zmm0, (%[dst])\n\t"
      "add $64, %[src]\n\t"
      "add $64, %[dst]\n\t"
      "dec %[lines]\n\t"
      "jnz 1b\n\t"
      "vzeroupper"
      : [dst] "+r"(dst), [src] "+r"(src), [lines] "+r"(lines)
      :
      // vzeroupper clears the upper parts of all these.
      : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10",
        "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "cc", "memory");
}

/// True if the processor says that `rep movsb` is fast ("enhanced rep movsb").
bool has_fast_string_copy() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b & (1u << 9)) != 0;
}

/// The table of sizes. Measured as hand-off (write, release, the peer reads all, flag back) between
/// two cores of an Intel Emerald Rapids: `rep movsb` leads from 128 KiB to 4 MiB by up to 1.5, and
/// non-temporal stores by a little from 8 MiB on.
Method choose_method() {
  const bool avx512 = __builtin_cpu_supports("avx512f") != 0;
  const bool string_copy = __builtin_cpu_is("intel") != 0 && has_fast_string_copy();
  return {string_copy ? std::size_t(8) << 20 : std::size_t(0),
          avx512 ? stream_lines_avx512 : stream_lines_sse2};
}

}  // namespace

void stream_bytes_on_host(void* dst, const void* src, std::size_t n) noexcept {
  static const Method method = choose_method();
  if (n < method.non_temporal_from) {
    // Later stores are not reordered with those of the string instruction (Intel SDM, volume 3,
    // "Memory-ordering model for string operations").
    __asm__ volatile("rep movsb" : "+D"(dst), "+S"(src), "+c"(n) : : "memory");
    return;
  }
  char* const to = static_cast<char*>(dst);
  const char* const from = static_cast<const char*>(src);
  std::size_t head = -reinterpret_cast<std::uintptr_t>(to) & (line - 1);
  if (head > n) head = n;
  std::memcpy(to, from, head);
  const std::size_t lines = (n - head) / line;
  method.stream_lines(to + head, from + head, lines);
  const std::size_t done = head + lines * line;
  std::memcpy(to + done, from + done, n - done);
  // Non-temporal stores are not ordered by a release store; this fence makes them so.
  _mm_sfence();
}

#else

void stream_bytes_on_host(void* dst, const void* src, std::size_t n) noexcept {
  std::memcpy(dst, src, n);
}

#endif

}  // namespace KokkosIris::Impl
