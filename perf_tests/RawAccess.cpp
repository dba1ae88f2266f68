// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include <mpi.h>

#include <RawAccess.hpp>
#include <chrono>
#include <cstdio>
#include <cstring>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace Bench {

void check_spin_deadline(double& since) {
  const double now =
      std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  if (since == 0.0) since = now;
  if (now - since < 60.0) return;
  std::fprintf(stderr, "kokkosiris_bench: a rank has waited for another one for a minute\n");
  MPI_Abort(MPI_COMM_WORLD, 1);
}

void copy_memcpy(void* dst, const void* src, std::size_t bytes) { std::memcpy(dst, src, bytes); }

#if defined(__x86_64__)

void copy_string(void* dst, const void* src, std::size_t bytes) {
  __asm__ volatile("rep movsb" : "+D"(dst), "+S"(src), "+c"(bytes) : : "memory");
}

namespace {

/// Copies whole lines; both return how many bytes are done. dst is a multiple of 64.
__attribute__((target("avx512f"))) std::size_t stream_512(char* dst, const char* src,
                                                          std::size_t bytes) {
  std::size_t done = 0;
  for (; done + 256 <= bytes; done += 256) {
    for (int i = 0; i < 256; i += 64) {
      _mm512_stream_si512(reinterpret_cast<__m512i*>(dst + done + i),
                          _mm512_loadu_si512(src + done + i));
    }
  }
  return done;
}
std::size_t stream_128(char* dst, const char* src, std::size_t bytes) {
  std::size_t done = 0;
  for (; done + 64 <= bytes; done += 64) {
    for (int i = 0; i < 64; i += 16) {
      _mm_stream_si128(reinterpret_cast<__m128i*>(dst + done + i),
                       _mm_loadu_si128(reinterpret_cast<const __m128i*>(src + done + i)));
    }
  }
  return done;
}

}  // namespace

void copy_non_temporal(void* dst, const void* src, std::size_t bytes) {
  static const auto stream = __builtin_cpu_supports("avx512f") ? stream_512 : stream_128;
  char* const to = static_cast<char*>(dst);
  const char* const from = static_cast<const char*>(src);
  std::size_t head = -reinterpret_cast<std::uintptr_t>(to) & 63u;
  if (head > bytes) head = bytes;
  std::memcpy(to, from, head);
  const std::size_t done = head + stream(to + head, from + head, bytes - head);
  std::memcpy(to + done, from + done, bytes - done);
  _mm_sfence();
}

#else

void copy_string(void* dst, const void* src, std::size_t bytes) { std::memcpy(dst, src, bytes); }
void copy_non_temporal(void* dst, const void* src, std::size_t bytes) {
  std::memcpy(dst, src, bytes);
}

#endif

std::uint64_t sum_of(const std::uint64_t* words, std::size_t count) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += words[i];
  return sum;
}

}  // namespace Bench
