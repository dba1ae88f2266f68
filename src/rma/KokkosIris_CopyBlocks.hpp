// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// Views as sets of equal rows: what the copy engine is told to move.

#ifndef KOKKOSIRIS_COPY_BLOCKS_HPP
#define KOKKOSIRIS_COPY_BLOCKS_HPP

#include <Kokkos_Core.hpp>
#include <cstddef>
#include <cstdint>
#include <rma/KokkosIris_CopyEngineRing.hpp>
#include <rma/KokkosIris_StridedLoop.hpp>

namespace KokkosIris::Impl {

/// A copy between two strided arrays as rectangles: `block`, repeated at the offsets that the outer
/// dimensions say. Any set of equal contiguous rows is one rectangle. Elements that are not
/// neighbours in both arrays are rows of one element, which is correct and slow.
struct CopyBlocks {
  CopyWork block;
  std::uint64_t count = 1;  ///< rectangles; 0: nothing to copy
  int outer_rank = 0;
  std::uint64_t extent[8];
  std::uint64_t destination_step[8];  ///< bytes, as the steps in `block`
  std::uint64_t source_step[8];
};

/// \param loop over destination and source, in elements
template <class T, int Rank>
KOKKOS_INLINE_FUNCTION CopyBlocks make_copy_blocks(const StridedLoop<Rank, 2>& loop, T* destination,
                                                   const T* source) {
  CopyBlocks blocks;
  blocks.block.destination = reinterpret_cast<char*>(destination);
  blocks.block.source = reinterpret_cast<const char*>(source);
  blocks.block.width = sizeof(T);
  // Known to be true, but not to compilers, which would warn of what lies beyond.
  int dims = loop.dims < loop.capacity ? loop.dims : loop.capacity;
  if (loop.unit_rows(2)) blocks.block.width *= loop.extent[--dims];
  // The longest of the other dimensions becomes the height, so that there are few rectangles.
  int tallest = 0;
  for (int r = 1; r < dims; ++r) {
    if (loop.extent[r] > loop.extent[tallest]) tallest = r;
  }
  if (loop.total == 0) blocks.count = 0;
  for (int r = 0; r < dims; ++r) {
    const std::uint64_t destination_step = loop.stride[0][r] * sizeof(T);
    const std::uint64_t source_step = loop.stride[1][r] * sizeof(T);
    if (r == tallest) {
      blocks.block.height = loop.extent[r];
      blocks.block.destination_pitch = destination_step;
      blocks.block.source_pitch = source_step;
    } else {
      blocks.count *= loop.extent[r];
      blocks.extent[blocks.outer_rank] = loop.extent[r];
      blocks.destination_step[blocks.outer_rank] = destination_step;
      blocks.source_step[blocks.outer_rank++] = source_step;
    }
  }
  return blocks;
}

/// Rectangle number `index` of a copy.
KOKKOS_INLINE_FUNCTION CopyWork rectangle(const CopyBlocks& blocks, std::uint64_t index) {
  CopyWork work = blocks.block;
  for (int r = 0; r < blocks.outer_rank; ++r) {
    const std::uint64_t step = index % blocks.extent[r];
    index /= blocks.extent[r];
    work.destination += step * blocks.destination_step[r];
    work.source += step * blocks.source_step[r];
  }
  return work;
}

/// Calls action(work) for every run of elements whose mask is set, in each row of the loop, until
/// one of the calls returns false.
/// \param loop over destination, source and mask
/// \return false if a call did
template <class T, class M, int Rank, class Action>
KOKKOS_INLINE_FUNCTION bool for_masked_runs(const StridedLoop<Rank, 3>& loop, T* destination,
                                            const T* source, const M* mask, const Action& action) {
  bool going = true;
  const std::size_t destination_stride = loop.row_stride(0);
  const std::size_t source_stride = loop.row_stride(1);
  const std::size_t mask_stride = loop.row_stride(2);
  const bool contiguous = loop.unit_rows(2);
  loop.for_rows(0, loop.total, [&](const std::size_t(&offsets)[3], std::size_t length) {
    for (std::size_t end = 0; going && end < length; ++end) {
      const std::size_t begin = end;
      while (end < length && mask[offsets[2] + end * mask_stride]) ++end;
      if (end == begin) continue;
      CopyWork work;
      work.destination =
          reinterpret_cast<char*>(destination + offsets[0] + begin * destination_stride);
      work.source = reinterpret_cast<const char*>(source + offsets[1] + begin * source_stride);
      if (contiguous) {
        work.width = (end - begin) * sizeof(T);
      } else {
        work.width = sizeof(T);
        work.height = end - begin;
        work.destination_pitch = destination_stride * sizeof(T);
        work.source_pitch = source_stride * sizeof(T);
      }
      going = action(work);
    }
  });
  return going;
}

}  // namespace KokkosIris::Impl

#endif
