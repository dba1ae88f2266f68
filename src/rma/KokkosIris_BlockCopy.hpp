// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// Copies and fills of blocks. The work is a function object that threads, teams and kernels share.

#ifndef KOKKOSIRIS_BLOCK_COPY_HPP
#define KOKKOSIRIS_BLOCK_COPY_HPP

#include <Kokkos_Core.hpp>
#include <cstddef>
#include <rma/KokkosIris_CopyBytes.hpp>
#include <rma/KokkosIris_Sharing.hpp>
#include <rma/KokkosIris_StridedLoop.hpp>
#include <rma/KokkosIris_ViewTraits.hpp>

namespace KokkosIris::Impl {

/// Copies adjacent bytes.
/// \tparam Alignment promised alignment in bytes, 1 for none
template <std::size_t Alignment>
struct BytesCopy {
  void* m_dst;
  const void* m_src;
  std::size_t m_bytes;
  Destination m_destination;

  KOKKOS_INLINE_FUNCTION std::size_t units() const { return m_bytes; }
  /// Bytes [begin, end), by one worker. Parts of the whole need not keep the promise, except that
  /// workers' parts begin at multiples of 64.
  KOKKOS_INLINE_FUNCTION void operator()(std::size_t begin, std::size_t end) const {
    copy_bytes<Alignment>(static_cast<char*>(m_dst) + begin,
                          static_cast<const char*>(m_src) + begin, end - begin, m_destination);
  }
  /// The share of one of many workers, as devices do it: neighbours copy neighbouring words.
  KOKKOS_INLINE_FUNCTION void share(std::size_t worker, std::size_t workers) const {
    validate_alignment<Alignment>(m_dst, m_src, m_bytes);
    copy_bytes_by_words<Alignment>(m_dst, m_src, m_bytes, worker, workers);
  }
};

/// Copies a block. Rows that are contiguous on both sides go through the byte mover.
/// \tparam Alignment promised alignment in bytes, 1 for none
template <std::size_t Alignment, class T, class Loop>
class BlockCopy {
 public:
  KOKKOS_INLINE_FUNCTION BlockCopy(const Loop& loop, T* dst, const T* src, Destination destination)
      : m_loop(loop), m_dst(dst), m_src(src), m_destination(destination) {
    m_unit_rows = loop.unit_rows(2);
  }

  KOKKOS_INLINE_FUNCTION std::size_t units() const { return m_loop.total; }
  /// Workers that have something to do.
  std::size_t most_workers() const {
    const bool words = m_unit_rows && m_loop.dims == 1;
    return words ? m_loop.total * sizeof(T) / sizeof(Word16) + 1 : m_loop.total;
  }

  /// Elements [begin, end), by one worker.
  KOKKOS_INLINE_FUNCTION void operator()(std::size_t begin, std::size_t end) const {
    m_loop.for_rows(begin, end, [this](const std::size_t(&at)[2], std::size_t n) {
      T* const dst = m_dst + at[0];
      const T* const src = m_src + at[1];
      if (m_unit_rows && n > 1) {
        copy_bytes<Alignment>(dst, src, n * sizeof(T), m_destination);
      } else {
        const std::size_t dst_stride = m_loop.row_stride(0);
        const std::size_t src_stride = m_loop.row_stride(1);
        for (std::size_t i = 0; i < n; ++i) dst[i * dst_stride] = src[i * src_stride];
      }
    });
  }

  /// The share of one of many workers, as devices do it: neighbours copy neighbouring words.
  KOKKOS_INLINE_FUNCTION void share(std::size_t worker, std::size_t workers) const {
    if (m_unit_rows && m_loop.dims == 1) {
      const BytesCopy<Alignment> row{m_dst, m_src, m_loop.total * sizeof(T), m_destination};
      return row.share(worker, workers);
    }
    if constexpr (sizeof(T) < sizeof(Word16)) {
      if (m_unit_rows && rows_are_words()) return share_words(worker, workers);
    }
    const auto offset = [this](int operand, std::size_t i) {
      const std::size_t row = i / m_loop.row_length();
      std::size_t offsets[2];
      m_loop.row_offsets(row, offsets);
      return offsets[operand] + (i - row * m_loop.row_length()) * m_loop.row_stride(operand);
    };
    copy_items<T, (sizeof(T) <= sizeof(Word16) ? 4 : 1)>(
        m_loop.total, worker, workers, [&](std::size_t i) { return m_dst + offset(0, i); },
        [&](std::size_t i) { return m_src + offset(1, i); });
  }

 private:
  /// True if every row begins with a word and consists of words, on both sides.
  KOKKOS_INLINE_FUNCTION bool rows_are_words() const {
    std::uintptr_t bits = reinterpret_cast<std::uintptr_t>(m_dst) |
                          reinterpret_cast<std::uintptr_t>(m_src) |
                          (m_loop.row_length() * sizeof(T));
    for (int r = 0; r < m_loop.dims - 1; ++r) {
      bits |= (m_loop.stride[0][r] | m_loop.stride[1][r]) * sizeof(T);
    }
    return bits % sizeof(Word16) == 0;
  }
  KOKKOS_INLINE_FUNCTION void share_words(std::size_t worker, std::size_t workers) const {
    const std::size_t row_words = m_loop.row_length() * sizeof(T) / sizeof(Word16);
    const std::size_t rows = m_loop.total / m_loop.row_length();
    const auto row_start = [this, row_words](int operand, std::size_t i) {
      std::size_t offsets[2];
      m_loop.row_offsets(i / row_words, offsets);
      return offsets[operand];
    };
    copy_items<Word16, 4>(
        rows * row_words, worker, workers,
        [&](std::size_t i) {
          return reinterpret_cast<Word16*>(m_dst + row_start(0, i)) + i % row_words;
        },
        [&](std::size_t i) {
          return reinterpret_cast<const Word16*>(m_src + row_start(1, i)) + i % row_words;
        });
  }

  Loop m_loop;
  T* m_dst;
  const T* m_src;
  Destination m_destination;
  bool m_unit_rows;
};

/// The mask of an operation without one.
struct AllElements {};
KOKKOS_FORCEINLINE_FUNCTION constexpr bool selected(AllElements, std::size_t) { return true; }
template <class M>
KOKKOS_FORCEINLINE_FUNCTION bool selected(const M* mask, std::size_t at) {
  return mask[at] != M(0);
}

/// Copies the elements of a block that the mask selects, one by one.
template <class T, class M, class Loop>
struct MaskedCopy {
  Loop m_loop;
  T* m_dst;
  const T* m_src;
  const M* m_mask;

  KOKKOS_INLINE_FUNCTION std::size_t units() const { return m_loop.total; }
  KOKKOS_INLINE_FUNCTION void operator()(std::size_t begin, std::size_t end) const {
    m_loop.for_rows(begin, end, [this](const std::size_t(&at)[3], std::size_t n) {
      for (std::size_t i = 0; i < n; ++i) {
        if (!selected(m_mask, at[2] + i * m_loop.row_stride(2))) continue;
        m_dst[at[0] + i * m_loop.row_stride(0)] = m_src[at[1] + i * m_loop.row_stride(1)];
      }
    });
  }
};

/// As MaskedCopy, and gives the elements that the mask leaves out the value `other`.
template <class T, class M, class Loop>
struct MaskedLoad {
  Loop m_loop;
  T* m_dst;
  const T* m_src;
  const M* m_mask;
  T m_other;

  KOKKOS_INLINE_FUNCTION std::size_t units() const { return m_loop.total; }
  KOKKOS_INLINE_FUNCTION void operator()(std::size_t begin, std::size_t end) const {
    m_loop.for_rows(begin, end, [this](const std::size_t(&at)[3], std::size_t n) {
      for (std::size_t i = 0; i < n; ++i) {
        T& dst = m_dst[at[0] + i * m_loop.row_stride(0)];
        if (selected(m_mask, at[2] + i * m_loop.row_stride(2))) {
          dst = m_src[at[1] + i * m_loop.row_stride(1)];
        } else {
          dst = m_other;
        }
      }
    });
  }
};

/// Gives the selected elements of a block the value `value`.
/// \tparam MaskPointer const M*, or AllElements
template <class T, class MaskPointer, class Loop>
struct BlockFill {
  Loop m_loop;
  T* m_dst;
  MaskPointer m_mask;
  T m_value;

  KOKKOS_INLINE_FUNCTION std::size_t units() const { return m_loop.total; }
  KOKKOS_INLINE_FUNCTION void operator()(std::size_t begin, std::size_t end) const {
    m_loop.for_rows(begin, end, [this](const std::size_t(&at)[2], std::size_t n) {
      for (std::size_t i = 0; i < n; ++i) {
        if (!selected(m_mask, at[1] + i * m_loop.row_stride(1))) continue;
        m_dst[at[0] + i * m_loop.row_stride(0)] = m_value;
      }
    });
  }
};

/// How a block that goes to a place is written.
KOKKOS_FORCEINLINE_FUNCTION Destination destination_of(const DeviceContext& context, Place to) {
  return to.symmetric && to.rank != context.rank() ? Destination::peer : Destination::own;
}

/// \name Block operations
/// The work object of each; what carries it out is RunAlone, RunAsTeam or RunOnSpace.
///@{

/// dst at `to` = src at `from`.
template <std::size_t Alignment = 1, ViewLike Dst, ViewLike Src>
KOKKOS_INLINE_FUNCTION auto copy_work(const DeviceContext& context, const Dst& dst_argument,
                                      Place to, const Src& src_argument, Place from) {
  require_copyable<Dst, Src>();
  const auto& dst = as_view(dst_argument);
  const auto& src = as_view(src_argument);
  validate_extents(dst, src);
  using Loop = decltype(make_strided_loop(dst, src));
  return BlockCopy<Alignment, element_of<Dst>, Loop>(
      make_strided_loop(dst, src), to.address(context, dst), from.address(context, src),
      destination_of(context, to));
}

/// The same with a promise of alignment as an argument.
template <ViewLike Dst, ViewLike Src, std::size_t Bytes>
KOKKOS_INLINE_FUNCTION auto copy_work(const DeviceContext& context, const Dst& dst, Place to,
                                      const Src& src, Place from, Aligned<Bytes>) {
  return copy_work<Bytes>(context, dst, to, src, from);
}

/// The same for the elements that a mask selects.
template <std::size_t Alignment = 1, ViewLike Dst, ViewLike Src, ViewLike Mask>
KOKKOS_INLINE_FUNCTION auto copy_work(const DeviceContext& context, const Dst& dst_argument,
                                      Place to, const Src& src_argument, Place from,
                                      const Mask& mask_argument) {
  require_copyable<Dst, Src>();
  require_mask<Dst, Mask>();
  const auto& dst = as_view(dst_argument);
  const auto& src = as_view(src_argument);
  const auto& mask = as_view(mask_argument);
  validate_extents(dst, src);
  validate_extents(dst, mask);
  using Loop = decltype(make_strided_loop(dst, src, mask));
  return MaskedCopy<element_of<Dst>, element_of<Mask>, Loop>{
      make_strided_loop(dst, src, mask), to.address(context, dst), from.address(context, src),
      mask.data()};
}

/// The same for n adjacent elements.
template <std::size_t Alignment = 1, class T>
KOKKOS_INLINE_FUNCTION auto copy_work(const DeviceContext& context, T* dst, Place to, const T* src,
                                      Place from, std::size_t n) {
  static_assert(is_movable_v<T>, "elements that move between ranks must be trivially copyable");
  return BytesCopy<Alignment>{to.address(context, dst, n), from.address(context, src, n),
                              n * sizeof(T), destination_of(context, to)};
}

/// dst in memory of the caller = src at `from` where the mask is not 0, and `other` elsewhere.
template <ViewLike Dst, ViewLike Src, ViewLike Mask>
KOKKOS_INLINE_FUNCTION auto load_work(const DeviceContext& context, const Dst& dst_argument,
                                      const Src& src_argument, Place from,
                                      const Mask& mask_argument, const element_of<Dst>& other) {
  require_copyable<Dst, Src>();
  require_mask<Dst, Mask>();
  const auto& dst = as_view(dst_argument);
  const auto& src = as_view(src_argument);
  const auto& mask = as_view(mask_argument);
  validate_extents(dst, src);
  validate_extents(dst, mask);
  using Loop = decltype(make_strided_loop(dst, src, mask));
  return MaskedLoad<element_of<Dst>, element_of<Mask>, Loop>{make_strided_loop(dst, src, mask),
                                                             dst.data(), from.address(context, src),
                                                             mask.data(), other};
}

/// dst at `to` = value.
template <ViewLike Dst>
KOKKOS_INLINE_FUNCTION auto fill_work(const DeviceContext& context, const Dst& dst_argument,
                                      Place to, const element_of<Dst>& value) {
  require_copyable<Dst, Dst>();
  const auto& dst = as_view(dst_argument);
  using Loop = decltype(make_strided_loop(dst, AllElements{}));
  return BlockFill<element_of<Dst>, AllElements, Loop>{
      make_strided_loop(dst, AllElements{}), to.address(context, dst), {}, value};
}
template <ViewLike Dst, ViewLike Mask>
KOKKOS_INLINE_FUNCTION auto fill_work(const DeviceContext& context, const Dst& dst_argument,
                                      Place to, const element_of<Dst>& value,
                                      const Mask& mask_argument) {
  require_copyable<Dst, Dst>();
  require_mask<Dst, Mask>();
  const auto& dst = as_view(dst_argument);
  const auto& mask = as_view(mask_argument);
  validate_extents(dst, mask);
  using Loop = decltype(make_strided_loop(dst, mask));
  return BlockFill<element_of<Dst>, const element_of<Mask>*, Loop>{
      make_strided_loop(dst, mask), to.address(context, dst), mask.data(), value};
}
///@}

/// dst = src by one thread or a team. \param arguments those of copy_work
template <std::size_t Alignment = 1, class Run, class... Arguments>
KOKKOS_INLINE_FUNCTION void copy_block(const Run& run, const Arguments&... arguments) {
  run(copy_work<Alignment>(arguments...));
}
template <class Run, class... Arguments>
KOKKOS_INLINE_FUNCTION void load_block(const Run& run, const Arguments&... arguments) {
  run(load_work(arguments...));
}
template <class Run, class... Arguments>
KOKKOS_INLINE_FUNCTION void fill_block(const Run& run, const Arguments&... arguments) {
  run(fill_work(arguments...));
}

}  // namespace KokkosIris::Impl

#endif
