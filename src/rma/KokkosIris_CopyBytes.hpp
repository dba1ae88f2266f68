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

/// Sixteen bytes that one instruction moves.
struct alignas(16) Word16 {
  std::uint64_t low;
  std::uint64_t high;
};

/// Reads and writes a word through memory of any type.
template <class Word>
KOKKOS_FORCEINLINE_FUNCTION Word read_word(const void* src) {
  KOKKOS_IF_ON_HOST((Word word;
                     std::memcpy(&word, __builtin_assume_aligned(src, sizeof(Word)), sizeof(Word));
                     return word;))
  KOKKOS_IF_ON_DEVICE((return *static_cast<const Word*>(src);))
}
template <class Word>
KOKKOS_FORCEINLINE_FUNCTION void write_word(void* dst, const Word& word) {
  KOKKOS_IF_ON_HOST(
      (std::memcpy(__builtin_assume_aligned(dst, sizeof(Word)), &word, sizeof(Word));))
  KOKKOS_IF_ON_DEVICE((*static_cast<Word*>(dst) = word;))
}

/// Calls call(word) with a word of `width` bytes.
template <class Call>
KOKKOS_FORCEINLINE_FUNCTION void with_word(std::size_t width, const Call& call) {
  if (width == 16) return call(Word16{});
  if (width == 8) return call(std::uint64_t{});
  if (width == 4) return call(std::uint32_t{});
  if (width == 2) return call(std::uint16_t{});
  call(std::uint8_t{});
}

/// Words that a worker has under way at a time. A link is filled by what is under way on it: about
/// a megabyte with NVLink's latency, so that 8 words of 16 bytes let 16 blocks do it.
inline constexpr int words_under_way = 8;

/// Bytes of a line of a device's caches, and of the largest write that crosses a link.
inline constexpr std::size_t line_bytes = 128;

/// The first word of worker number `worker` of `workers`: their numbers are turned so that groups
/// of neighbours write whole lines of the destination, wherever it begins.
template <class Word>
KOKKOS_INLINE_FUNCTION std::size_t first_word(const void* dst, std::size_t worker,
                                              std::size_t workers) {
  constexpr std::size_t line = line_bytes / sizeof(Word);
  if (workers < line) return worker;
  const std::size_t skew = reinterpret_cast<std::uintptr_t>(dst) / sizeof(Word) % line;
  return worker < skew ? worker + workers - skew : worker - skew;
}

/// Worker number `worker` of `workers` copies its share of adjacent words: every one of `workers`
/// from first_word() on, so that neighbouring workers access neighbouring words. All reads of a
/// round are issued before its first write.
template <class Word>
KOKKOS_INLINE_FUNCTION void copy_words(void* dst, const void* src, std::size_t words,
                                       std::size_t worker, std::size_t workers) {
  const std::size_t first = first_word<Word>(dst, worker, workers);
  const std::size_t step = workers * sizeof(Word);
  char* to = static_cast<char*>(dst) + first * sizeof(Word);
  const char* from = static_cast<const char*>(src) + first * sizeof(Word);
  // Words from here on; the pointers advance by steps because that takes the fewest registers.
  auto left = static_cast<std::int64_t>(words - first);
  const auto apart = static_cast<std::int64_t>(workers);
  Word items[words_under_way];
  for (; left > (words_under_way - 1) * apart; left -= words_under_way * apart) {
    for (int k = 0; k < words_under_way; ++k, from += step) items[k] = read_word<Word>(from);
    for (int k = 0; k < words_under_way; ++k, to += step) write_word(to, items[k]);
  }
  if (left <= 0) return;
  // The rest: reads past the end are made reads of the first word, so that none waits for another.
  for (int k = 0; k < words_under_way; ++k) {
    items[k] = read_word<Word>(from + (left > k * apart ? static_cast<std::size_t>(k) * step : 0));
  }
  for (int k = 0; k < words_under_way; ++k, to += step) {
    if (left > k * apart) write_word(to, items[k]);
  }
}

/// The same for items that are not adjacent. \param to,from give the addresses of item i
template <class Item, int under_way, class To, class From>
KOKKOS_INLINE_FUNCTION void copy_items(std::size_t count, std::size_t worker, std::size_t workers,
                                       const To& to, const From& from) {
  Item items[under_way];
  for (std::size_t first = worker; first < count; first += under_way * workers) {
    for (int k = 0; k < under_way; ++k) {
      const std::size_t i = first + static_cast<std::size_t>(k) * workers;
      if (i < count) items[k] = *from(i);
    }
    for (int k = 0; k < under_way; ++k) {
      const std::size_t i = first + static_cast<std::size_t>(k) * workers;
      if (i < count) *to(i) = items[k];
    }
  }
}

/// Copies one word of `width` bytes.
KOKKOS_INLINE_FUNCTION void copy_word(void* dst, const void* src, std::size_t width) {
  with_word(width, [=](auto word) { write_word(dst, read_word<decltype(word)>(src)); });
}

/// Calls call(offset, width) for the pieces of `left` bytes from `address` on. Each is as wide as
/// its address, the rest and `widest`, what the relative alignment of both sides allows, admit: an
/// aligned element of up to 8 bytes is never written in two pieces, and no access is misaligned,
/// wherever the bytes end.
template <class Call>
KOKKOS_INLINE_FUNCTION void for_pieces(std::uintptr_t address, std::size_t widest, std::size_t left,
                                       const Call& call) {
  for (std::size_t offset = 0; left != 0;) {
    const std::uintptr_t bits = (address + offset) | widest;
    auto width = static_cast<std::size_t>(bits & (~bits + 1u));
    while (width > left) width /= 2;
    call(offset, width);
    offset += width;
    left -= width;
  }
}

/// Copies fewer bytes than a word of `widest` bytes.
KOKKOS_INLINE_FUNCTION void copy_few(char* to, const char* from, std::size_t n,
                                     std::size_t widest) {
  for_pieces(
      reinterpret_cast<std::uintptr_t>(to), widest, n,
      [=](std::size_t offset, std::size_t width) { copy_word(to + offset, from + offset, width); });
}

/// Copies the head and the tail of a split.
KOKKOS_INLINE_FUNCTION void copy_ends(void* dst, const void* src, const WordSplit& split) {
  char* const to = static_cast<char*>(dst);
  const char* const from = static_cast<const char*>(src);
  const std::size_t end = split.head + split.words * split.width;
  copy_few(to, from, split.head, split.width);
  copy_few(to + end, from + end, split.tail, split.width);
}

/// Worker number `worker` of `workers` copies its share of n bytes, word by word: what kernels on
/// devices do.
/// \tparam Alignment what dst, src and n are multiples of
template <std::size_t Alignment = 1>
KOKKOS_INLINE_FUNCTION void copy_bytes_by_words(void* dst, const void* src, std::size_t n,
                                                std::size_t worker = 0, std::size_t workers = 1) {
  if constexpr (Alignment >= 16) {
    copy_words<Word16>(dst, src, n / 16, worker, workers);
  } else {
    const WordSplit split(dst, src, n);
    // One worker copies both ends: that of the last number, which seldom has the most words.
    if (worker == workers - 1) copy_ends(dst, src, split);
    void* const to = static_cast<char*>(dst) + split.head;
    const void* const from = static_cast<const char*>(src) + split.head;
    with_word(split.width, [=](auto word) {
      copy_words<decltype(word)>(to, from, split.words, worker, workers);
    });
  }
}

/// The promise of an alignment, checked in validation builds.
template <std::size_t Alignment>
KOKKOS_FORCEINLINE_FUNCTION void validate_alignment([[maybe_unused]] const void* dst,
                                                    [[maybe_unused]] const void* src,
                                                    [[maybe_unused]] std::size_t n) {
#ifdef KOKKOSIRIS_ENABLE_VALIDATION
  if (((reinterpret_cast<std::uintptr_t>(dst) | reinterpret_cast<std::uintptr_t>(src) | n) &
       (Alignment - 1)) != 0) {
    Kokkos::abort("KokkosIris: a copy was promised an alignment that its addresses or size lack");
  }
#endif
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
  validate_alignment<Alignment>(dst, src, n);
  KOKKOS_IF_ON_HOST((copy_bytes_on_host<Alignment>(dst, src, n, destination);))
  KOKKOS_IF_ON_DEVICE((copy_bytes_by_words<Alignment>(dst, src, n);))
}

}  // namespace KokkosIris::Impl

#endif
