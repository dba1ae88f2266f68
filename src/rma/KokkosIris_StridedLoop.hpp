// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// One walk over several strided operands of the same shape: the addressing of every block
/// operation.

#ifndef KOKKOSIRIS_STRIDED_LOOP_HPP
#define KOKKOSIRIS_STRIDED_LOOP_HPP

#include <Kokkos_Core.hpp>
#include <cstddef>

namespace KokkosIris::Impl {

/// The index space of a block operation on `Operands` operands (destination, source, mask, ...) of
/// at most `Rank` dimensions, in 64-bit element offsets.
///
/// Dimensions of extent 1 are dropped, the others ordered by the stride of operand 0, and
/// neighbours merged wherever all operands allow it; so operands that are contiguous in the same
/// order end as one dimension of stride 1, whatever their rank and layout. An operand with strides
/// 0 is a scalar.
template <int Rank, int Operands>
struct StridedLoop {
  static constexpr int capacity = Rank > 0 ? Rank : 1;

  int dims = 0;  ///< at least 1 after finish(); the last is the innermost
  std::size_t extent[capacity];
  std::size_t stride[Operands][capacity];
  std::size_t total = 1;  ///< number of elements

  /// Adds a dimension. To be called for each, then finish().
  KOKKOS_INLINE_FUNCTION void add(std::size_t length, const std::size_t (&strides)[Operands]) {
    total *= length;
    if (length == 1) return;
    int at = dims++;
    // Insertion sort, largest stride of operand 0 first: any order of the dimensions is correct.
    if constexpr (Rank > 1) {
      for (; at > 0 && stride[0][at - 1] < strides[0]; --at) move(at - 1, at);
    }
    extent[at] = length;
    for (int k = 0; k < Operands; ++k) stride[k][at] = strides[k];
  }

  KOKKOS_INLINE_FUNCTION void finish() {
    if (dims == 0) {  // one element
      dims = 1;
      extent[0] = 1;
      for (int k = 0; k < Operands; ++k) stride[k][0] = 1;
      return;
    }
    if constexpr (Rank > 1) {
      int last = 0;
      for (int r = 1; r < dims; ++r) {
        if (mergeable(last, r)) {
          extent[last] *= extent[r];
          for (int k = 0; k < Operands; ++k) stride[k][last] = stride[k][r];
        } else {
          move(r, ++last);
        }
      }
      dims = last + 1;
    }
  }

  /// Elements in a row, the innermost dimension.
  KOKKOS_INLINE_FUNCTION std::size_t row_length() const { return extent[dims - 1]; }
  /// Distance of operand k's elements in a row.
  KOKKOS_INLINE_FUNCTION std::size_t row_stride(int k) const { return stride[k][dims - 1]; }
  /// True if the rows of the first `operands` operands are contiguous.
  KOKKOS_INLINE_FUNCTION bool unit_rows(int operands) const {
    for (int k = 0; k < operands; ++k) {
      if (row_stride(k) != 1) return false;
    }
    return true;
  }

  /// Offsets of the first element of row number `row` in each operand.
  KOKKOS_INLINE_FUNCTION void row_offsets(std::size_t row, std::size_t (&offsets)[Operands]) const {
    for (int k = 0; k < Operands; ++k) offsets[k] = 0;
    for (int r = dims - 2; r >= 0; --r) {
      const std::size_t next = row / extent[r];
      const std::size_t index = row - next * extent[r];
      for (int k = 0; k < Operands; ++k) offsets[k] += index * stride[k][r];
      row = next;
    }
  }

  /// Visits elements [begin, end): calls row(offsets, length) for each part of a row, where
  /// offsets[k] is the offset of its first element in operand k.
  template <class Row>
  KOKKOS_INLINE_FUNCTION void for_rows(std::size_t begin, std::size_t end, const Row& row) const {
    const std::size_t length = row_length();
    std::size_t offsets[Operands];
    while (begin < end) {
      const std::size_t number = dims == 1 ? 0 : begin / length;  // divisions take long on devices
      const std::size_t first = begin - number * length;
      const std::size_t count = end - begin < length - first ? end - begin : length - first;
      row_offsets(number, offsets);
      for (int k = 0; k < Operands; ++k) offsets[k] += first * row_stride(k);
      row(offsets, count);
      begin += count;
    }
  }

 private:
  KOKKOS_INLINE_FUNCTION void move(int from, int to) {
    extent[to] = extent[from];
    for (int k = 0; k < Operands; ++k) stride[k][to] = stride[k][from];
  }
  KOKKOS_INLINE_FUNCTION bool mergeable(int outer, int inner) const {
    for (int k = 0; k < Operands; ++k) {
      if (stride[k][outer] != stride[k][inner] * extent[inner]) return false;
    }
    return true;
  }
};

/// Stride of an operand that is a View, or 0 for anything else (a scalar that all elements share).
template <class Operand>
KOKKOS_FORCEINLINE_FUNCTION std::size_t operand_stride(const Operand& operand, std::size_t r) {
  if constexpr (Kokkos::is_view_v<Operand>) {
    return operand.stride(r);
  } else {
    return 0;
  }
}

/// The loop over views of equal extents; operands that are no views are scalars.
template <class First, class... More>
KOKKOS_INLINE_FUNCTION auto make_strided_loop(const First& first, const More&... more) {
  constexpr int rank = static_cast<int>(First::rank());
  StridedLoop<rank, 1 + sizeof...(More)> loop;
  for (int r = 0; r < rank; ++r) {
    const auto dimension = static_cast<std::size_t>(r);
    loop.add(first.extent(dimension),
             {first.stride(dimension), operand_stride(more, dimension)...});
  }
  loop.finish();
  return loop;
}

/// The loop over `n` adjacent elements.
template <int Operands>
KOKKOS_INLINE_FUNCTION StridedLoop<1, Operands> make_contiguous_loop(std::size_t n) {
  StridedLoop<1, Operands> loop;
  loop.dims = 1;
  loop.total = loop.extent[0] = n;
  for (int k = 0; k < Operands; ++k) loop.stride[k][0] = 1;
  return loop;
}

/// Part number `part` of [0, n) cut into `parts` parts at multiples of 64 elements, so that no two
/// workers write to one cache line of contiguous data.
struct Part {
  std::size_t begin;
  std::size_t end;
};
KOKKOS_INLINE_FUNCTION Part part_of(std::size_t n, std::size_t parts, std::size_t part) {
  const std::size_t blocks = (n + 63) / 64;
  const std::size_t each = (blocks + parts - 1) / parts * 64;
  const std::size_t begin = part * each;
  if (begin >= n) return {n, n};
  return {begin, n - begin < each ? n : begin + each};
}

}  // namespace KokkosIris::Impl

#endif
