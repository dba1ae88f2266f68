// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// What a warp multiplies of a stage, by element type: 64 x 32 elements by the tensor cores, of a
/// tile of 64 only 32 x 32, or, in float, 32 x 64 elements by fused multiply-adds.
///
/// A tile of 64 has too few of these for eight warps. Smaller ones would keep shared memory as busy
/// as the arithmetic, because a fragment would serve fewer products. So there the warps are in
/// groups, each of which multiplies a part of every stage's K for the whole tile.
///
/// A WarpTile has the lane's sums; `for_each_run(body)` calls body(row, column, values) for those
/// that are adjacent in a row of the result, counted from the tile's first element. A WarpProduct
/// adds products to them, in `steps` of a stage: `read(stage, step, fragment)` loads what
/// `multiply(fragment, half, tile)` multiplies, one half of it at a time.

#ifndef KOKKOSIRIS_SM80_WARP_PRODUCT_HPP
#define KOKKOSIRIS_SM80_WARP_PRODUCT_HPP

#include <Kokkos_Core.hpp>
#include <cstdint>
#include <fused/KokkosIris_Matrix.hpp>
#include <fused/arch/sm80/KokkosIris_Sm80Intrinsics.hpp>
#include <fused/arch/sm80/KokkosIris_Sm80Stage.hpp>
#include <type_traits>

namespace KokkosIris::Impl::Sm80 {

/// Blocks of 16 x 8. A group's warps are in two rows.
template <class Acc, int Tile>
struct TensorCoreTile {
  static constexpr int groups = Tile == 128 ? 1 : 2;
  static constexpr int group_threads = team_threads / groups;
  static constexpr int warp_columns = group_threads / warp_lanes / 2;
  static constexpr int rows = Tile / 2 / 16;  ///< of blocks
  static constexpr int columns = Tile / warp_columns / 8;
  /// Elements between rows of sums in shared memory that let lanes of all rows of a block store
  /// theirs together.
  static constexpr int padding = 8;

  int lane, group, first_row, first_column;
  Acc sums[rows][columns][4] = {};

  KOKKOS_FORCEINLINE_FUNCTION explicit TensorCoreTile(int thread)
      : lane(thread % warp_lanes),
        group(groups == 1 ? 0 : thread / group_threads),
        first_row(thread % group_threads / warp_lanes / warp_columns * (Tile / 2)),
        first_column(thread / warp_lanes % warp_columns * (Tile / warp_columns)) {}

  template <class Body>
  KOKKOS_FORCEINLINE_FUNCTION void for_each_run(const Body& body) const {
    KOKKOSIRIS_UNROLL
    for (int i = 0; i < rows; ++i) {
      KOKKOSIRIS_UNROLL
      for (int half = 0; half < 2; ++half) {
        KOKKOSIRIS_UNROLL
        for (int j = 0; j < columns; ++j) {
          const Acc pair[2] = {sums[i][j][2 * half], sums[i][j][2 * half + 1]};
          body(first_row + i * 16 + half * 8 + lane / 4, first_column + j * 8 + lane % 4 * 2, pair);
        }
      }
    }
  }
};

/// Float has no tensor cores that keep its precision. Each thread has rows 4 x to 4 x + 3 and half
/// a tile on, and such columns. Neighbouring lanes have the same rows, lanes two apart the same
/// columns: so a warp's load of 16 bytes a lane takes two accesses to shared memory, not four.
template <int Tile>
struct MultiplyAddTile {
  static constexpr int groups = Tile == 128 ? 1 : 4;
  static constexpr int group_threads = team_threads / groups;
  static constexpr int warp_columns = Tile / 64;
  static constexpr int far = Tile / 2;
  static constexpr int padding = 4;  ///< see TensorCoreTile

  int group, row_chunk, column_chunk;
  float sums[8][8] = {};

  KOKKOS_FORCEINLINE_FUNCTION explicit MultiplyAddTile(int thread)
      : group(groups == 1 ? 0 : thread / group_threads),
        row_chunk(thread % group_threads / warp_lanes / warp_columns * 4 + thread / 2 % 2 +
                  thread / 16 % 2 * 2),
        column_chunk(thread / warp_lanes % warp_columns * 8 + thread % 2 + thread / 4 % 4 * 2) {}

  template <class Body>
  KOKKOS_FORCEINLINE_FUNCTION void for_each_run(const Body& body) const {
    KOKKOSIRIS_UNROLL
    for (int i = 0; i < 8; ++i) {
      KOKKOSIRIS_UNROLL
      for (int h = 0; h < 2; ++h) {
        const float run[4] = {sums[i][4 * h], sums[i][4 * h + 1], sums[i][4 * h + 2],
                              sums[i][4 * h + 3]};
        body(4 * row_chunk + i % 4 + i / 4 * far, 4 * column_chunk + h * far, run);
      }
    }
  }
};

template <class T, int Tile>
using WarpTile = std::conditional_t<std::is_same_v<T, float>, MultiplyAddTile<Tile>,
                                    TensorCoreTile<acc_type_t<T>, Tile>>;
/// Of a stage's K for a group.
template <class T, int Tile>
inline constexpr int group_k = stage_k<T, Tile> / WarpTile<T, Tile>::groups;

/// \tparam A, B how the operands lie in shared memory
template <class T, int Tile, Lines A, Lines B>
class WarpProduct;

template <int Tile, Lines A, Lines B>
class WarpProduct<double, Tile, A, B> {
  using Sums = WarpTile<double, Tile>;

 public:
  static constexpr int steps = group_k<double, Tile> / 4;
  struct Fragment {
    double a[2 * Sums::rows];  ///< in turns of a block's upper and lower rows
    double b[Sums::columns];
  };

  KOKKOS_FORCEINLINE_FUNCTION explicit WarpProduct(const Sums& tile)
      : m_a_offset(first_offset<A>(tile.first_row + tile.lane / 4,
                                   tile.group * group_k<double, Tile> + tile.lane % 4)),
        m_b_offset(first_offset<B>(tile.first_column + tile.lane / 4,
                                   tile.group * group_k<double, Tile> + tile.lane % 4)) {}

  KOKKOS_FORCEINLINE_FUNCTION void read(std::uint32_t stage, int step, Fragment& fragment) const {
    KOKKOSIRIS_UNROLL
    for (int i = 0; i < 2 * Sums::rows; ++i) {
      load_shared(fragment.a[i], stage + offset<A>(m_a_offset, i, step));
    }
    KOKKOSIRIS_UNROLL
    for (int j = 0; j < Sums::columns; ++j) {
      load_shared(fragment.b[j], stage + operand_bytes + offset<B>(m_b_offset, j, step));
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION void multiply(const Fragment& fragment, int half, Sums& tile) const {
    KOKKOSIRIS_UNROLL
    for (int i = Sums::rows / 2 * half; i < Sums::rows / 2 * (half + 1); ++i) {
      KOKKOSIRIS_UNROLL
      for (int j = 0; j < Sums::columns; ++j) {
        Sm80::multiply(tile.sums[i][j], fragment.a[2 * i], fragment.a[2 * i + 1], fragment.b[j]);
      }
    }
  }

 private:
  template <Lines Along>
  KOKKOS_FORCEINLINE_FUNCTION static int first_offset(int row, int k) {
    if constexpr (Along == Lines::rows) {
      return chunk_offset<double, Tile, Along>(row, k / 2) + k % 2 * int(sizeof(double));
    } else {
      return chunk_offset<double, Tile, Along>(k, row / 2) + row % 2 * int(sizeof(double));
    }
  }
  /// Of the element 8 i rows and 4 `step` columns on.
  template <Lines Along>
  KOKKOS_FORCEINLINE_FUNCTION static int offset(int first, int i, int step) {
    if constexpr (Along == Lines::rows) {
      return (first ^ (step * 2 * chunk_bytes)) + i * 8 * row_bytes;
    } else {
      // Of the bits that lines exchange, i changes the third and step the first.
      return (first ^ ((i % 2 * 4 ^ step % 2) * chunk_bytes)) + i / 2 * 8 * chunk_bytes +
             step * 4 * line_bytes<double, Tile, Along>;
    }
  }

  int m_a_offset, m_b_offset;  ///< of the lane's element of a block's first row, in step 0
};

template <int Tile>
class WarpProduct<float, Tile, Lines::ks, Lines::ks> {
  using Sums = WarpTile<float, Tile>;

 public:
  static constexpr int steps = group_k<float, Tile>;
  struct Fragment {
    Elements<float> a[2];
    Elements<float> b[2];
  };

  KOKKOS_FORCEINLINE_FUNCTION explicit WarpProduct(const Sums& tile)
      : m_first_line(tile.group * group_k<float, Tile>),
        m_row_chunk(tile.row_chunk),
        m_column_chunk(tile.column_chunk) {}

  KOKKOS_FORCEINLINE_FUNCTION void read(std::uint32_t stage, int step, Fragment& fragment) const {
    // A group's first line is a multiple of eight, so the step alone decides on the exchange.
    const int first = m_first_line * line_bytes<float, Tile, Lines::ks>;
    const std::uint32_t a = stage + first + chunk_offset<float, Tile, Lines::ks>(step, m_row_chunk);
    const std::uint32_t b =
        stage + operand_bytes + first + chunk_offset<float, Tile, Lines::ks>(step, m_column_chunk);
    KOKKOSIRIS_UNROLL
    for (int i = 0; i < 2; ++i) {
      load_shared(fragment.a[i], a + i * Sums::far * int(sizeof(float)));
      load_shared(fragment.b[i], b + i * Sums::far * int(sizeof(float)));
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION void multiply(const Fragment& fragment, int half, Sums& tile) const {
    // Column by column, down and up again, and the row's element as the product's first factor: so
    // the compiler gives registers whose banks do not collide, and operands are reused. Other
    // orders lose up to 15 percent of the arithmetic rate.
    KOKKOSIRIS_UNROLL
    for (int j = 4 * half; j < 4 * half + 4; ++j) {
      KOKKOSIRIS_UNROLL
      for (int n = 0; n < 8; ++n) {
        const int i = j % 2 == 0 ? n : 7 - n;
        tile.sums[i][j] += fragment.a[i / 4].values[i % 4] * fragment.b[j / 4].values[j % 4];
      }
    }
  }

 private:
  int m_first_line, m_row_chunk, m_column_chunk;
};

/// 16-bit elements.
template <class T, int Tile, Lines A, Lines B>
class WarpProduct {
  using Sums = WarpTile<T, Tile>;

 public:
  static constexpr int steps = group_k<T, Tile> / 16;
  struct Fragment {
    std::uint32_t a[Sums::rows][4];
    std::uint32_t b[Sums::columns / 2][4];
  };

  /// Matrices 0 to 3 are of A rows 0-7 and 8-15 at k 0-7, then at k 8-15; of B columns 0-7 at k 0-7
  /// and 8-15, then columns 8-15.
  KOKKOS_FORCEINLINE_FUNCTION explicit WarpProduct(const Sums& tile)
      : m_a_offset(first_offset<A>(tile.first_row + tile.lane / 8 % 2 * 8,
                                   tile.group * group_k<T, Tile> + tile.lane / 16 * 8,
                                   tile.lane % 8)),
        m_b_offset(first_offset<B>(tile.first_column + tile.lane / 16 * 8,
                                   tile.group * group_k<T, Tile> + tile.lane / 8 % 2 * 8,
                                   tile.lane % 8)) {}

  KOKKOS_FORCEINLINE_FUNCTION void read(std::uint32_t stage, int step, Fragment& fragment) const {
    read_operand<A>(stage, m_a_offset, step, fragment.a);
    read_operand<B>(stage + operand_bytes, m_b_offset, step, fragment.b);
  }

  KOKKOS_FORCEINLINE_FUNCTION void multiply(const Fragment& fragment, int half, Sums& tile) const {
    KOKKOSIRIS_UNROLL
    for (int i = Sums::rows / 2 * half; i < Sums::rows / 2 * (half + 1); ++i) {
      KOKKOSIRIS_UNROLL
      for (int j = 0; j < Sums::columns; ++j) {
        Sm80::multiply<T>(tile.sums[i][j], fragment.a[i], fragment.b[j / 2][j % 2 * 2],
                          fragment.b[j / 2][j % 2 * 2 + 1]);
      }
    }
  }

 private:
  /// Line `line` of the 8 x 8 matrix at a row and a k.
  template <Lines Along>
  KOKKOS_FORCEINLINE_FUNCTION static int first_offset(int row, int k, int line) {
    return Along == Lines::rows ? chunk_offset<T, Tile, Along>(row + line, k / 8)
                                : chunk_offset<T, Tile, Along>(k + line, row / 8);
  }
  /// Blocks of 16 rows at k 16 `step`.
  template <Lines Along, int Blocks>
  KOKKOS_FORCEINLINE_FUNCTION static void read_operand(std::uint32_t address, int offset, int step,
                                                       std::uint32_t (&blocks)[Blocks][4]) {
    KOKKOSIRIS_UNROLL
    for (int i = 0; i < Blocks; ++i) {
      const int chunks = 2 * (Along == Lines::rows ? step : i);
      const int lines = 16 * (Along == Lines::rows ? i : step);
      const int place = (offset ^ (chunks * chunk_bytes)) + lines * line_bytes<T, Tile, Along>;
      load_matrices<Along == Lines::ks>(blocks[i], address + static_cast<std::uint32_t>(place));
    }
  }

  int m_a_offset, m_b_offset;
};

}  // namespace KokkosIris::Impl::Sm80

#endif
