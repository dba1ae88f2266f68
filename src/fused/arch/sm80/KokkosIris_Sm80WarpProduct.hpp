// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// What a warp multiplies of a stage, by element type: 64 x 32 elements by the tensor cores, or, in
/// float, 32 x 64 elements by fused multiply-adds.
///
/// A WarpTile has the lane's sums; `for_each_run(body)` calls body(row, column, values) for those
/// that are adjacent in a row of the result, counted from the tile's first element. A WarpProduct
/// adds products to them, in `steps` of a stage: `read(operands, step, fragment)` loads what
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

/// A stage in shared memory.
struct Operands {
  const char* a;
  const char* b;
};

/// Rows 64 (warp / 4) and columns 32 (warp % 4) onwards, in blocks of 16 x 8.
template <class Acc>
struct TensorCoreTile {
  int lane, first_row, first_column;
  Acc sums[4][4][4] = {};

  KOKKOS_FORCEINLINE_FUNCTION explicit TensorCoreTile(int thread)
      : lane(thread % warp_lanes),
        first_row(thread / warp_lanes / 4 * 64),
        first_column(thread / warp_lanes % 4 * 32) {}

  template <class Body>
  KOKKOS_FORCEINLINE_FUNCTION void for_each_run(const Body& body) const {
    KOKKOSIRIS_UNROLL
    for (int i = 0; i < 4; ++i) {
      KOKKOSIRIS_UNROLL
      for (int half = 0; half < 2; ++half) {
        KOKKOSIRIS_UNROLL
        for (int j = 0; j < 4; ++j) {
          const Acc pair[2] = {sums[i][j][2 * half], sums[i][j][2 * half + 1]};
          body(first_row + i * 16 + half * 8 + lane / 4, first_column + j * 8 + lane % 4 * 2, pair);
        }
      }
    }
  }
};

/// Float has no tensor cores that keep its precision. Each thread has rows 4 x to 4 x + 3 and 64
/// rows on, and such columns. Neighbouring lanes have the same rows, lanes two apart the same
/// columns: so a warp's load of 16 bytes a lane takes two accesses to shared memory, not four.
struct MultiplyAddTile {
  static constexpr int far = tile / 2;
  int row_chunk, column_chunk;
  float sums[8][8] = {};

  KOKKOS_FORCEINLINE_FUNCTION explicit MultiplyAddTile(int thread)
      : row_chunk(thread / warp_lanes / 2 * 4 + thread / 2 % 2 + thread / 16 % 2 * 2),
        column_chunk(thread / warp_lanes % 2 * 8 + thread % 2 + thread / 4 % 4 * 2) {}

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

template <class T>
using WarpTile =
    std::conditional_t<std::is_same_v<T, float>, MultiplyAddTile, TensorCoreTile<acc_type_t<T>>>;

/// \tparam A, B how the operands lie in shared memory
template <class T, Lines A, Lines B>
class WarpProduct;

template <Lines A, Lines B>
class WarpProduct<double, A, B> {
 public:
  static constexpr int steps = stage_k<double> / 4;
  struct Fragment {
    double a[8];  ///< in turns of a block's upper and lower rows
    double b[4];
  };

  KOKKOS_FORCEINLINE_FUNCTION explicit WarpProduct(const WarpTile<double>& tile)
      : m_a_offset(first_offset<A>(tile.first_row + tile.lane / 4, tile.lane % 4)),
        m_b_offset(first_offset<B>(tile.first_column + tile.lane / 4, tile.lane % 4)) {}

  KOKKOS_FORCEINLINE_FUNCTION void read(const Operands& operands, int step,
                                        Fragment& fragment) const {
    KOKKOSIRIS_UNROLL
    for (int i = 0; i < 8; ++i) {
      fragment.a[i] = *reinterpret_cast<const double*>(operands.a + offset<A>(m_a_offset, i, step));
    }
    KOKKOSIRIS_UNROLL
    for (int j = 0; j < 4; ++j) {
      fragment.b[j] = *reinterpret_cast<const double*>(operands.b + offset<B>(m_b_offset, j, step));
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION void multiply(const Fragment& fragment, int half,
                                            WarpTile<double>& tile) const {
    KOKKOSIRIS_UNROLL
    for (int i = 2 * half; i < 2 * half + 2; ++i) {
      KOKKOSIRIS_UNROLL
      for (int j = 0; j < 4; ++j) {
        Sm80::multiply(tile.sums[i][j], fragment.a[2 * i], fragment.a[2 * i + 1], fragment.b[j]);
      }
    }
  }

 private:
  template <Lines Along>
  KOKKOS_FORCEINLINE_FUNCTION static int first_offset(int row, int k) {
    if constexpr (Along == Lines::rows) {
      return chunk_offset<double, Along>(row, k / 2) + k % 2 * int(sizeof(double));
    } else {
      return chunk_offset<double, Along>(k, row / 2) + row % 2 * int(sizeof(double));
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
             step * 4 * line_bytes<double, Along>;
    }
  }

  int m_a_offset, m_b_offset;  ///< of the lane's element of a block's first row, in step 0
};

template <>
class WarpProduct<float, Lines::ks, Lines::ks> {
 public:
  static constexpr int steps = stage_k<float>;
  struct Fragment {
    Elements<float> a[2];
    Elements<float> b[2];
  };

  KOKKOS_FORCEINLINE_FUNCTION explicit WarpProduct(const WarpTile<float>& tile)
      : m_row_chunk(tile.row_chunk), m_column_chunk(tile.column_chunk) {}

  KOKKOS_FORCEINLINE_FUNCTION void read(const Operands& operands, int step,
                                        Fragment& fragment) const {
    const char* const a = operands.a + chunk_offset<float, Lines::ks>(step, m_row_chunk);
    const char* const b = operands.b + chunk_offset<float, Lines::ks>(step, m_column_chunk);
    KOKKOSIRIS_UNROLL
    for (int i = 0; i < 2; ++i) {
      fragment.a[i] = *reinterpret_cast<const Elements<float>*>(a + i * MultiplyAddTile::far *
                                                                        int(sizeof(float)));
      fragment.b[i] = *reinterpret_cast<const Elements<float>*>(b + i * MultiplyAddTile::far *
                                                                        int(sizeof(float)));
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION void multiply(const Fragment& fragment, int half,
                                            WarpTile<float>& tile) const {
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
  int m_row_chunk, m_column_chunk;
};

/// 16-bit elements.
template <class T, Lines A, Lines B>
class WarpProduct {
 public:
  static constexpr int steps = stage_k<T> / 16;
  struct Fragment {
    std::uint32_t a[4][4];
    std::uint32_t b[2][4];
  };

  /// Matrices 0 to 3 are of A rows 0-7 and 8-15 at k 0-7, then at k 8-15; of B columns 0-7 at k 0-7
  /// and 8-15, then columns 8-15.
  KOKKOS_FORCEINLINE_FUNCTION explicit WarpProduct(const WarpTile<T>& tile)
      : m_a_offset(first_offset<A>(tile.first_row + tile.lane / 8 % 2 * 8, tile.lane / 16 * 8,
                                   tile.lane % 8)),
        m_b_offset(first_offset<B>(tile.first_column + tile.lane / 16 * 8, tile.lane / 8 % 2 * 8,
                                   tile.lane % 8)) {}

  KOKKOS_FORCEINLINE_FUNCTION void read(const Operands& operands, int step,
                                        Fragment& fragment) const {
    read_operand<A>(shared_address(operands.a), m_a_offset, step, fragment.a);
    read_operand<B>(shared_address(operands.b), m_b_offset, step, fragment.b);
  }

  KOKKOS_FORCEINLINE_FUNCTION void multiply(const Fragment& fragment, int half,
                                            WarpTile<T>& tile) const {
    KOKKOSIRIS_UNROLL
    for (int i = 2 * half; i < 2 * half + 2; ++i) {
      KOKKOSIRIS_UNROLL
      for (int j = 0; j < 4; ++j) {
        Sm80::multiply<T>(tile.sums[i][j], fragment.a[i], fragment.b[j / 2][j % 2 * 2],
                          fragment.b[j / 2][j % 2 * 2 + 1]);
      }
    }
  }

 private:
  /// Line `line` of the 8 x 8 matrix at a row and a k.
  template <Lines Along>
  KOKKOS_FORCEINLINE_FUNCTION static int first_offset(int row, int k, int line) {
    return Along == Lines::rows ? chunk_offset<T, Along>(row + line, k / 8)
                                : chunk_offset<T, Along>(k + line, row / 8);
  }
  /// Blocks of 16 rows at k 16 `step`.
  template <Lines Along, int Blocks>
  KOKKOS_FORCEINLINE_FUNCTION static void read_operand(std::uint32_t address, int offset, int step,
                                                       std::uint32_t (&blocks)[Blocks][4]) {
    KOKKOSIRIS_UNROLL
    for (int i = 0; i < Blocks; ++i) {
      const int chunks = 2 * (Along == Lines::rows ? step : i);
      const int lines = 16 * (Along == Lines::rows ? i : step);
      const int place = (offset ^ (chunks * chunk_bytes)) + lines * line_bytes<T, Along>;
      load_matrices<Along == Lines::ks>(blocks[i], address + static_cast<std::uint32_t>(place));
    }
  }

  int m_a_offset, m_b_offset;
};

}  // namespace KokkosIris::Impl::Sm80

#endif
