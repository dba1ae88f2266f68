// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// How bytes are moved: the one place that knows about vectors, alignment and caches.

#ifndef KOKKOSIRIS_COPY_BYTES_HPP
#define KOKKOSIRIS_COPY_BYTES_HPP

#include <Kokkos_Core.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace KokkosIris::Impl {

/// Where the bytes go, which decides how the host writes them.
enum class Destination {
  own,   ///< this rank reads them next: through the caches
  peer,  ///< another rank reads them next: past the caches where that is faster
};

/// Host: copies n bytes for another process to read without taking the reader's cache lines back
/// first. The stores are ordered before any later store of this thread, as those of memcpy are.
void stream_bytes_on_host(void* dst, const void* src, std::size_t n) noexcept;

/// Blocks from this size on are worth stream_bytes_on_host.
inline constexpr std::size_t smallest_streamed_block = 4096;

/// A copy as bytes before the first aligned word, words, and bytes after the last. The word is the
/// widest that the relative alignment of both sides allows.
struct WordSplit {
  std::size_t head;
  std::size_t words;
  std::size_t tail;
  std::size_t width;  ///< 1, 2, 4, 8 or 16

  KOKKOS_INLINE_FUNCTION WordSplit(const void* dst, const void* src, std::size_t n) {
    const auto to = reinterpret_cast<std::uintptr_t>(dst);
    const auto from = reinterpret_cast<std::uintptr_t>(src);
    const std::uintptr_t bits = (to ^ from) | 16u;
    width = static_cast<std::size_t>(bits & (~bits + 1u));
    head = static_cast<std::size_t>(-to & (width - 1u));
    if (head > n) head = n;
    words = (n - head) / width;
    tail = n - head - words * width;
  }
};

/// Copies one word of Width bytes between addresses that are multiples of Width.
template <std::size_t Width>
KOKKOS_FORCEINLINE_FUNCTION void copy_word(void* dst, const void* src) {
  std::memcpy(__builtin_assume_aligned(dst, Width), __builtin_assume_aligned(src, Width), Width);
}

/// Copies word number i of a split; `dst` and `src` are the addresses of the first word.
KOKKOS_INLINE_FUNCTION void copy_word(void* dst, const void* src, std::size_t width,
                                      std::size_t i) {
  char* const to = static_cast<char*>(dst) + i * width;
  const char* const from = static_cast<const char*>(src) + i * width;
  if (width == 16) return copy_word<16>(to, from);
  if (width == 8) return copy_word<8>(to, from);
  if (width == 4) return copy_word<4>(to, from);
  if (width == 2) return copy_word<2>(to, from);
  copy_word<1>(to, from);
}

/// Copies the head and the tail of a split. Each store is as wide as its address allows, so that an
/// aligned element of up to 8 bytes is never written in two pieces.
KOKKOS_INLINE_FUNCTION void copy_ends(void* dst, const void* src, const WordSplit& split) {
  char* to = static_cast<char*>(dst);
  const char* from = static_cast<const char*>(src);
  std::size_t left = split.head;
  for (std::size_t width = 1; left != 0; width *= 2) {
    if ((left & width) == 0) continue;
    copy_word(to, from, width, 0);
    to += width;
    from += width;
    left -= width;
  }
  to += split.words * split.width;
  from += split.words * split.width;
  left = split.tail;
  for (std::size_t width = 8; left != 0; width /= 2) {
    if ((left & width) == 0) continue;
    copy_word(to, from, width, 0);
    to += width;
    from += width;
    left -= width;
  }
}

/// One thread copies n bytes word by word: what kernels on devices do.
/// \tparam Alignment what dst, src and n are multiples of
template <std::size_t Alignment = 1>
KOKKOS_INLINE_FUNCTION void copy_bytes_by_words(void* dst, const void* src, std::size_t n) {
  if constexpr (Alignment >= 16) {
    for (std::size_t i = 0; i < n / 16; ++i) copy_word(dst, src, 16, i);
  } else {
    const WordSplit split(dst, src, n);
    copy_ends(dst, src, split);
    char* const to = static_cast<char*>(dst) + split.head;
    const char* const from = static_cast<const char*>(src) + split.head;
    for (std::size_t i = 0; i < split.words; ++i) copy_word(to, from, split.width, i);
  }
}

/// One thread copies n bytes on the host.
template <std::size_t Alignment>
void copy_bytes_on_host(void* dst, const void* src, std::size_t n, Destination destination) {
  if (n == 0) return;
  if (destination == Destination::peer && n >= smallest_streamed_block) {
    stream_bytes_on_host(dst, src, n);
  } else {
    std::memcpy(__builtin_assume_aligned(dst, Alignment), __builtin_assume_aligned(src, Alignment),
                n);
  }
}

/// One thread copies n bytes; the ranges do not overlap.
/// \tparam Alignment what dst, src and n are multiples of
template <std::size_t Alignment = 1>
KOKKOS_INLINE_FUNCTION void copy_bytes(
    void* dst, const void* src, std::size_t n,
    [[maybe_unused]] Destination destination = Destination::own) {
#ifdef KOKKOSIRIS_ENABLE_VALIDATION
  if (((reinterpret_cast<std::uintptr_t>(dst) | reinterpret_cast<std::uintptr_t>(src) | n) &
       (Alignment - 1)) != 0) {
    Kokkos::abort("KokkosIris: a copy was promised an alignment that its addresses or size lack");
  }
#endif
  KOKKOS_IF_ON_HOST((copy_bytes_on_host<Alignment>(dst, src, n, destination);))
  KOKKOS_IF_ON_DEVICE((copy_bytes_by_words<Alignment>(dst, src, n);))
}

}  // namespace KokkosIris::Impl

#endif
