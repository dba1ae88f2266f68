// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// How the threads of both consumer warpgroups divide a small tile whose sums lie in shared memory.

#ifndef KOKKOSIRIS_SM90_UNITS_HPP
#define KOKKOSIRIS_SM90_UNITS_HPP

#include <cstdint>
#include <fused/arch/sm90/KokkosIris_Sm90Arguments.hpp>

namespace KokkosIris::Impl::Sm90 {

inline constexpr int consumer_threads = 256;
__device__ __forceinline__ int consumer_thread() { return static_cast<int>(threadIdx.x) - 128; }

/// Eight adjacent columns of a row: 16 bytes of C where its rows are contiguous.
inline constexpr int unit_columns = 8;
struct Unit {
  int row, column;  ///< in the tile
};

/// The units of a tile that one block finishes: all, or where the blocks of several parts of K
/// share them, groups of 32, which are a warp's, in turns. In the order in which lanes take them:
/// along the rows of C, or along its columns where these are contiguous.
template <int Columns>
struct TileUnits {
  static constexpr int in_row = Columns / unit_columns;
  static constexpr int most = tile_rows * in_row;
  static constexpr int pitch = Columns + sums_padding;  ///< floats between rows in shared memory

  int rows;
  int count;  ///< of the tile; along columns also of rows that it does not have, to fill a warp
  bool along_columns;
  int part;
  int shift;  ///< there are 1 << shift parts

  __device__ TileUnits(const Arguments& arguments, const Task& task)
      : rows(min(tile_rows, arguments.rows - task.row)),
        along_columns(arguments.c_elements.row_stride < arguments.c_elements.col_stride),
        part(task.part),
        shift(arguments.tiles.parts / 2) {
    count = (along_columns ? (rows + 31) / 32 * 32 : rows) * in_row;
  }

  /// Unit i of the tile. \return false if there is none
  __device__ bool find(int i, Unit& unit) const {
    const int group = i >> 5;
    const int row = along_columns ? group / in_row * 32 + i % 32 : i / in_row;
    unit = {row, (along_columns ? group % in_row : i % in_row) * unit_columns};
    return i < count && row < rows;
  }
  /// Unit `number` of this block's share.
  __device__ bool find_in_share(int number, Unit& unit) const {
    return find((((number >> 5) << shift) + part) * 32 + number % 32, unit);
  }
  /// Whether any lane of the caller's warp may have a unit when this one looks for `number`.
  __device__ bool reach(int number) const { return (((number >> 5) << shift) + part) * 32 < count; }
  /// The same on all ranks, whatever the layouts of their C.
  __device__ static int number(const Unit& unit) {
    return unit.row * in_row + unit.column / unit_columns;
  }
};

}  // namespace KokkosIris::Impl::Sm90

#endif
