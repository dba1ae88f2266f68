// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// Operands on their way to the products: a stage, which is a part of K of a tile's rows of A, or
/// columns of B, from global to shared memory by asynchronous copies.
///
/// Here both operands are "rows x K": of B the transposed matrix is meant. Tiles have `Tile` rows
/// and columns: 128, or 64 where those leave multiprocessors without work
/// (KokkosIris_Sm80Division.hpp). A stage has one stretch of K of 128 bytes, of a tile of 64 two: a
/// stretch is 64 elements of 16 bits, 32 of float, 16 of double.

#ifndef KOKKOSIRIS_SM80_STAGE_HPP
#define KOKKOSIRIS_SM80_STAGE_HPP

#include <Kokkos_Core.hpp>
#include <cstdint>
#include <fused/KokkosIris_Matrix.hpp>
#include <fused/arch/sm80/KokkosIris_Sm80Intrinsics.hpp>
#include <type_traits>

namespace KokkosIris::Impl::Sm80 {

inline constexpr int team_threads = 256;
/// See for_each_batch(): so many loads of 16 bytes hide a peer's distance.
inline constexpr int batch = 8;
inline constexpr int row_bytes = 128;  ///< of a stretch
inline constexpr int row_chunks = row_bytes / chunk_bytes;
template <int Tile>
inline constexpr int stretches = 128 / Tile;
inline constexpr int operand_bytes = 128 * row_bytes;
inline constexpr int stage_bytes = 2 * operand_bytes;
/// Two stages are under way while one is multiplied. More than 99 KB is not to be had everywhere.
inline constexpr int stages = 3;
template <class T>
inline constexpr int stretch_k = row_bytes / static_cast<int>(sizeof(T));
template <class T, int Tile>
inline constexpr int stage_k = stretches<Tile>* stretch_k<T>;

/// How an operand lies in shared memory, in lines of chunks: a line for each row of a stretch, with
/// chunks along K, or a line for each k, with chunks along the rows. Float is multiplied from the
/// latter only.
enum class Lines : std::int32_t { rows, ks };

/// Chunk c of line l is stored at place c ^ spread(l) of the line: the last three bits of l,
/// reversed. So eight lines' same chunk, four lines' two adjacent ones, and two lines' four
/// adjacent ones each lie in all banks once.
KOKKOS_FORCEINLINE_FUNCTION constexpr int spread(int line) {
  return ((line & 1) << 2) | (line & 2) | ((line >> 2) & 1);
}
template <class T, int Tile, Lines Along>
inline constexpr int line_bytes = Along == Lines::rows ? row_bytes : Tile* int(sizeof(T));
/// Offset of a chunk in an operand; chunks along K are counted through all stretches.
template <class T, int Tile, Lines Along>
KOKKOS_FORCEINLINE_FUNCTION constexpr int chunk_offset(int line, int chunk) {
  const int stretch = Along == Lines::rows ? chunk / row_chunks : 0;
  return stretch * (Tile * row_bytes) + line * line_bytes<T, Tile, Along> +
         (((chunk - stretch * row_chunks) ^ spread(line)) * chunk_bytes);
}

/// How an operand is copied. Chunks are whole: one that ends within a chunk is copied by elements.
enum class Access : std::int32_t {
  along_k,           ///< in chunks along K; not in float
  along_rows,        ///< in chunks along the rows
  elements_along_k,  ///< element by element, which are adjacent along K: float
  elements           ///< element by element, whatever else there is
};

/// How it lies then.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION constexpr Lines lines_of(Access access) {
  return access == Access::along_rows || std::is_same_v<T, float> ? Lines::ks : Lines::rows;
}

template <class T>
KOKKOS_FUNCTION Access access_of(const MatrixRef<const T>& m) {
  constexpr int n = chunk_elements<T>;
  const auto in_chunks = [&](std::int64_t length, std::int64_t lines, std::int64_t stride) {
    return is_aligned(m.data) && length % n == 0 && (lines <= 1 || stride % n == 0);
  };
  if (m.row_stride == 1 && in_chunks(m.rows, m.cols, m.col_stride)) return Access::along_rows;
  if (m.col_stride != 1) return Access::elements;
  if (std::is_same_v<T, float>) return Access::elements_along_k;
  return in_chunks(m.cols, m.rows, m.row_stride) ? Access::along_k : Access::elements;
}

/// Which chunks, or elements, of a stage a thread copies: those at a first row and column (along
/// K), then at further ones a fixed step away.
template <class T, int Tile, Access How>
struct CopyPlan;

/// Eight lanes a row, one stretch after the other.
template <class T, int Tile>
struct CopyPlan<T, Tile, Access::along_k> {
  static constexpr int row_step = team_threads / row_chunks;
  static constexpr int column_step = stretch_k<T>;
  KOKKOS_FORCEINLINE_FUNCTION static constexpr int row(int thread) { return thread / row_chunks; }
  KOKKOS_FORCEINLINE_FUNCTION static constexpr int column(int thread) {
    return thread % row_chunks * chunk_elements<T>;
  }
};
/// All rows at one k, then at the next.
template <class T, int Tile>
struct CopyPlan<T, Tile, Access::along_rows> {
  static constexpr int line_chunks = Tile / chunk_elements<T>;
  static constexpr int row_step = Tile;
  static constexpr int column_step = team_threads / line_chunks;
  KOKKOS_FORCEINLINE_FUNCTION static constexpr int row(int thread) {
    return thread % line_chunks * chunk_elements<T>;
  }
  KOKKOS_FORCEINLINE_FUNCTION static constexpr int column(int thread) {
    return thread / line_chunks;
  }
};
/// The lanes of a warp have 8 elements along K of 4 rows, which lie in different banks.
template <class T, int Tile>
struct CopyPlan<T, Tile, Access::elements> {
  static constexpr int column_step = 8;
  static constexpr int row_step = team_threads / column_step;
  KOKKOS_FORCEINLINE_FUNCTION static constexpr int row(int thread) { return thread / column_step; }
  KOKKOS_FORCEINLINE_FUNCTION static constexpr int column(int thread) {
    return thread % column_step;
  }
};
template <class T, int Tile>
struct CopyPlan<T, Tile, Access::elements_along_k> : CopyPlan<T, Tile, Access::elements> {};

/// A thread's copies of an operand of up to `Tile` rows, a stage at a time, in four parts, so that
/// copies do not queue before the loads of fragments. Behind the end of K there are zeros in shared
/// memory, and in place of rows behind the last one copies of it: their products are not stored.
/// Whatever can be is done before: the loop of a float product has three instructions for anything
/// but multiply-adds in twenty of those. Ending the groups of copies is the caller's.
template <class T, int Tile, Access How>
class OperandCopy {
  using Plan = CopyPlan<T, Tile, How>;
  static constexpr int n = chunk_elements<T>;
  static constexpr Lines along = lines_of<T>(How);
  static constexpr bool in_chunks = How == Access::along_k || How == Access::along_rows;
  static constexpr bool is_adjacent_along_k =
      How == Access::along_k || How == Access::elements_along_k;
  static constexpr int k = stage_k<T, Tile>;
  static constexpr int row_rounds = Tile / Plan::row_step;
  static constexpr int column_rounds = k / Plan::column_step;

 public:
  static constexpr int parts = 4;

  /// \param count stages that K has; those behind them are all zero
  KOKKOS_FORCEINLINE_FUNCTION OperandCopy(const MatrixRef<const T>& m, int count, int thread)
      : m_column_step(Plan::column_step * m.col_stride),
        m_left(count),
        m_tail(static_cast<int>((m.cols - 1) % k) + 1 - Plan::column(thread)),
        m_to(offset(Plan::row(thread), Plan::column(thread))) {
    const std::int64_t last = m.rows - (How == Access::along_rows ? n : 1);
    KOKKOSIRIS_UNROLL
    for (int r = 0; r < row_rounds; ++r) {
      m_from[r] = m.at(min64(Plan::row(thread) + r * Plan::row_step, last), Plan::column(thread));
    }
    set_columns();
  }

  /// Starts part `part` of the present stage to its operand in shared memory.
  KOKKOS_FORCEINLINE_FUNCTION void start(int part, std::uint32_t operand) const {
    constexpr int rounds = row_rounds * column_rounds / parts;
    static_assert(row_rounds * column_rounds % parts == 0);
    if constexpr (in_chunks || sizeof(T) > 2) {
      KOKKOSIRIS_UNROLL
      for (int i = part * rounds; i < (part + 1) * rounds; ++i) {
        if constexpr (in_chunks) {
          copy_chunk(operand + to(i), from(i), is_inside(i));
        } else {
          copy_element<sizeof(T)>(operand + to(i), from(i), is_inside(i));
        }
      }
    } else {
      // There is no asynchronous copy of two bytes.
      std::uint16_t values[rounds];
      KOKKOSIRIS_UNROLL
      for (int i = 0; i < rounds; ++i) {
        values[i] = is_inside(part * rounds + i) ? from(part * rounds + i)->m_bits : 0;
      }
      KOKKOSIRIS_UNROLL
      for (int i = 0; i < rounds; ++i) store_shared(operand + to(part * rounds + i), values[i]);
    }
  }
  /// Goes on to the next stage.
  KOKKOS_FORCEINLINE_FUNCTION void advance() {
    KOKKOSIRIS_UNROLL
    for (int r = 0; r < row_rounds; ++r) {
      m_from[r] += is_adjacent_along_k ? k : column_rounds * m_column_step;
    }
    --m_left;
    set_columns();
  }

 private:
  KOKKOS_FORCEINLINE_FUNCTION static constexpr int offset(int row, int column) {
    const int line = along == Lines::rows ? row : column;
    const int at = along == Lines::rows ? column : row;
    return chunk_offset<T, Tile, along>(line, at / n) + at % n * int(sizeof(T));
  }
  /// Rows and columns of round `i`, counted from the thread's first.
  KOKKOS_FORCEINLINE_FUNCTION static constexpr int rows_to(int i) {
    return i % row_rounds * Plan::row_step;
  }
  KOKKOS_FORCEINLINE_FUNCTION static constexpr int columns_to(int i) {
    return i / row_rounds * Plan::column_step;
  }
  KOKKOS_FORCEINLINE_FUNCTION const T* from(int i) const {
    return m_from[i % row_rounds] +
           (is_adjacent_along_k ? columns_to(i) : i / row_rounds * m_column_step);
  }
  /// Offset of round `i`. What a step adds to the last three bits of a line or a chunk they do not
  /// have yet, so it is the same to exchange places by both.
  KOKKOS_FORCEINLINE_FUNCTION std::uint32_t to(int i) const {
    const int lines = along == Lines::rows ? rows_to(i) : columns_to(i);
    const int chunks = (along == Lines::rows ? columns_to(i) : rows_to(i)) / n;
    return (m_to ^ ((spread(lines) ^ (chunks % 8)) * chunk_bytes)) +
           chunk_offset<T, Tile, along>(lines & ~7, chunks & ~7) +
           (lines & 7) * line_bytes<T, Tile, along>;
  }
  KOKKOS_FORCEINLINE_FUNCTION bool is_inside(int i) const { return columns_to(i) < m_columns; }
  KOKKOS_FORCEINLINE_FUNCTION void set_columns() {
    m_columns = m_left > 1 ? k : m_left == 1 ? m_tail : 0;
  }

  const T* m_from[row_rounds];  ///< the thread's first elements of the stage
  std::int64_t m_column_step;   ///< elements from column to column of its copies
  int m_left;                   ///< stages from the present one on
  int m_tail;                   ///< columns from the thread's first one on, in the last stage
  int m_columns;                ///< and in the present one, if there are fewer than in a stage
  std::uint32_t m_to;           ///< offset of its first element in shared memory
};

}  // namespace KokkosIris::Impl::Sm80

#endif
