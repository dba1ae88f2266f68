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

/// Copies a block. Rows that are contiguous on both sides go through the byte mover.
/// \tparam Alignment promised alignment in bytes, 1 for none
template <std::size_t Alignment, class T, class Loop>
class BlockCopy {
 public:
  KOKKOS_INLINE_FUNCTION BlockCopy(const Loop& loop, T* dst, const T* src, Destination destination,
                                   Grain grain)
      : m_loop(loop), m_dst(dst), m_src(src), m_destination(destination) {
    m_unit_rows = loop.unit_rows(2);
    m_by_words = grain == Grain::words && m_unit_rows && loop.dims == 1;
  }

  KOKKOS_INLINE_FUNCTION std::size_t units() const {
    return m_by_words ? split().words + 1 : m_loop.total;
  }

  KOKKOS_INLINE_FUNCTION void operator()(std::size_t begin, std::size_t end) const {
    if (m_by_words) {
      copy_units(begin, end);
      return;
    }
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

 private:
  KOKKOS_INLINE_FUNCTION WordSplit split() const {
    return WordSplit(m_dst, m_src, m_loop.total * sizeof(T));
  }
  /// Unit i is word i; the unit after the last word is both ends.
  KOKKOS_INLINE_FUNCTION void copy_units(std::size_t begin, std::size_t end) const {
    const WordSplit parts = split();
    void* const dst = m_dst;
    const void* const src = m_src;
    for (std::size_t i = begin; i < end; ++i) {
      if (i < parts.words) {
        copy_word(static_cast<char*>(dst) + parts.head, static_cast<const char*>(src) + parts.head,
                  parts.width, i);
      } else {
        copy_ends(dst, src, parts);
      }
    }
  }

  Loop m_loop;
  T* m_dst;
  const T* m_src;
  Destination m_destination;
  bool m_unit_rows;
  bool m_by_words;
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
/// `run` is what carries a work object out: RunAlone, RunAsTeam or RunOnSpace.
///@{

/// dst at `to` = src at `from`.
template <std::size_t Alignment = 1, class Run, ViewLike Dst, ViewLike Src>
KOKKOS_INLINE_FUNCTION void copy_block(const Run& run, const DeviceContext& context,
                                       const Dst& dst_argument, Place to, const Src& src_argument,
                                       Place from) {
  require_copyable<Dst, Src>();
  const auto& dst = as_view(dst_argument);
  const auto& src = as_view(src_argument);
  validate_extents(dst, src);
  using Loop = decltype(make_strided_loop(dst, src));
  run(BlockCopy<Alignment, element_of<Dst>, Loop>(
      make_strided_loop(dst, src), to.address(context, dst), from.address(context, src),
      destination_of(context, to), run.grain()));
}

/// The same for the elements that a mask selects.
template <class Run, ViewLike Dst, ViewLike Src, ViewLike Mask>
KOKKOS_INLINE_FUNCTION void copy_block(const Run& run, const DeviceContext& context,
                                       const Dst& dst_argument, Place to, const Src& src_argument,
                                       Place from, const Mask& mask_argument) {
  require_copyable<Dst, Src>();
  require_mask<Dst, Mask>();
  const auto& dst = as_view(dst_argument);
  const auto& src = as_view(src_argument);
  const auto& mask = as_view(mask_argument);
  validate_extents(dst, src);
  validate_extents(dst, mask);
  using Loop = decltype(make_strided_loop(dst, src, mask));
  run(MaskedCopy<element_of<Dst>, element_of<Mask>, Loop>{make_strided_loop(dst, src, mask),
                                                          to.address(context, dst),
                                                          from.address(context, src), mask.data()});
}

/// The same for n adjacent elements.
template <std::size_t Alignment = 1, class Run, class T>
KOKKOS_INLINE_FUNCTION void copy_block(const Run& run, const DeviceContext& context, T* dst,
                                       Place to, const T* src, Place from, std::size_t n) {
  static_assert(is_movable_v<T>, "elements that move between ranks must be trivially copyable");
  run(BlockCopy<Alignment, T, StridedLoop<1, 2>>(
      make_contiguous_loop<2>(n), to.address(context, dst, n), from.address(context, src, n),
      destination_of(context, to), run.grain()));
}

/// dst in memory of the caller = src at `from` where the mask is not 0, and `other` elsewhere.
template <class Run, ViewLike Dst, ViewLike Src, ViewLike Mask>
KOKKOS_INLINE_FUNCTION void load_block(const Run& run, const DeviceContext& context,
                                       const Dst& dst_argument, const Src& src_argument, Place from,
                                       const Mask& mask_argument, const element_of<Dst>& other) {
  require_copyable<Dst, Src>();
  require_mask<Dst, Mask>();
  const auto& dst = as_view(dst_argument);
  const auto& src = as_view(src_argument);
  const auto& mask = as_view(mask_argument);
  validate_extents(dst, src);
  validate_extents(dst, mask);
  using Loop = decltype(make_strided_loop(dst, src, mask));
  run(MaskedLoad<element_of<Dst>, element_of<Mask>, Loop>{make_strided_loop(dst, src, mask),
                                                          dst.data(), from.address(context, src),
                                                          mask.data(), other});
}

/// dst at `to` = value.
template <class Run, ViewLike Dst>
KOKKOS_INLINE_FUNCTION void fill_block(const Run& run, const DeviceContext& context,
                                       const Dst& dst_argument, Place to,
                                       const element_of<Dst>& value) {
  require_copyable<Dst, Dst>();
  const auto& dst = as_view(dst_argument);
  using Loop = decltype(make_strided_loop(dst, AllElements{}));
  run(BlockFill<element_of<Dst>, AllElements, Loop>{
      make_strided_loop(dst, AllElements{}), to.address(context, dst), {}, value});
}
template <class Run, ViewLike Dst, ViewLike Mask>
KOKKOS_INLINE_FUNCTION void fill_block(const Run& run, const DeviceContext& context,
                                       const Dst& dst_argument, Place to,
                                       const element_of<Dst>& value, const Mask& mask_argument) {
  require_copyable<Dst, Dst>();
  require_mask<Dst, Mask>();
  const auto& dst = as_view(dst_argument);
  const auto& mask = as_view(mask_argument);
  validate_extents(dst, mask);
  using Loop = decltype(make_strided_loop(dst, mask));
  run(BlockFill<element_of<Dst>, const element_of<Mask>*, Loop>{
      make_strided_loop(dst, mask), to.address(context, dst), mask.data(), value});
}
///@}

}  // namespace KokkosIris::Impl

#endif
