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
/// See for_each_run(): so many loads of 16 bytes hide a peer's distance.
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

/// How an operand is copied.
enum class Access : std::int32_t {
  along_k,     ///< in chunks along K
  along_rows,  ///< in chunks along the rows
  elements     ///< element by element: what begins at no multiple of 16 bytes, or is not adjacent
};

/// How it lies then.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION constexpr Lines lines_of(Access access) {
  return access == Access::along_rows || std::is_same_v<T, float> ? Lines::ks : Lines::rows;
}

template <class T>
KOKKOS_FUNCTION Access access_of(const MatrixRef<const T>& m) {
  const auto lines_aligned = [&](std::int64_t lines, std::int64_t stride) {
    return is_aligned(m.data) && (lines <= 1 || stride % chunk_elements<T> == 0);
  };
  if (m.row_stride == 1 && lines_aligned(m.cols, m.col_stride)) return Access::along_rows;
  const bool chunks = !std::is_same_v<T, float> && m.col_stride == 1;
  return chunks && lines_aligned(m.rows, m.row_stride) ? Access::along_k : Access::elements;
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
  static constexpr int ks = stretch_k<T> < 32 ? stretch_k<T> / 8 : 4;  ///< warps along K
  static constexpr int row_step = team_threads / (8 * ks);
  static constexpr int column_step = 8 * ks;
  KOKKOS_FORCEINLINE_FUNCTION static constexpr int row(int thread) {
    return thread / 8 % 4 + thread / (32 * ks) * 4;
  }
  KOKKOS_FORCEINLINE_FUNCTION static constexpr int column(int thread) {
    return thread % 8 + thread / 32 % ks * 8;
  }
};

/// A thread's copies of an operand of up to `Tile` rows, a stage at a time, in four parts, so that
/// copies do not queue before the loads of fragments. What is outside the operand becomes zero in
/// shared memory. Ending the groups of copies is the caller's.
template <class T, int Tile, Access How>
class OperandCopy {
  using Plan = CopyPlan<T, Tile, How>;
  static constexpr int n = chunk_elements<T>;
  static constexpr Lines along = lines_of<T>(How);

 public:
  static constexpr int parts = 4;

  KOKKOS_FORCEINLINE_FUNCTION OperandCopy(const MatrixRef<const T>& m, int thread)
      : m_from(m.at(Plan::row(thread), Plan::column(thread))),
        m_row_step(Plan::row_step * m.row_stride),
        m_column_step(Plan::column_step * m.col_stride),
        m_rows(static_cast<int>(m.rows) - Plan::row(thread)),
        m_tail(static_cast<int>((m.cols - 1) % stage_k<T, Tile>) + 1 - Plan::column(thread)),
        m_to(offset(Plan::row(thread), Plan::column(thread))) {}

  /// Starts part `part` of the present stage to its operand in shared memory.
  /// \param is_last the stage may be shorter
  KOKKOS_FORCEINLINE_FUNCTION void start(int part, bool is_last, char* operand) const {
    const int columns = is_last ? m_tail : stage_k<T, Tile>;
    constexpr int rounds = Tile / Plan::row_step * (stage_k<T, Tile> / Plan::column_step);
    static_assert(rounds % parts == 0);
    if constexpr (How != Access::elements) {
      KOKKOSIRIS_UNROLL
      for (int i = part * (rounds / parts); i < (part + 1) * (rounds / parts); ++i) {
        copy_chunk(shared_address(operand) + to(i), from(i), valid_bytes(i, columns));
      }
    } else if constexpr (sizeof(T) > 2) {
      KOKKOSIRIS_UNROLL
      for (int i = part * (rounds / parts); i < (part + 1) * (rounds / parts); ++i) {
        copy_element<sizeof(T)>(shared_address(operand) + to(i), from(i),
                                is_inside(i, columns) ? int(sizeof(T)) : 0);
      }
    } else {
      // There is no asynchronous copy of two bytes.
      T values[rounds / parts];
      KOKKOSIRIS_UNROLL
      for (int i = 0; i < rounds / parts; ++i) {
        const int round = part * (rounds / parts) + i;
        values[i] = is_inside(round, columns) ? *from(round) : T::from_bits(0);
      }
      KOKKOSIRIS_UNROLL
      for (int i = 0; i < rounds / parts; ++i) {
        *reinterpret_cast<T*>(operand + to(part * (rounds / parts) + i)) = values[i];
      }
    }
  }
  /// Goes on to the next stage.
  KOKKOS_FORCEINLINE_FUNCTION void advance() {
    m_from += How == Access::along_k ? stage_k<T, Tile>
                                     : stage_k<T, Tile> / Plan::column_step * m_column_step;
  }

 private:
  KOKKOS_FORCEINLINE_FUNCTION static constexpr int offset(int row, int column) {
    const int line = along == Lines::rows ? row : column;
    const int at = along == Lines::rows ? column : row;
    return chunk_offset<T, Tile, along>(line, at / n) + at % n * int(sizeof(T));
  }
  /// Rows and columns of round `i`, counted from the thread's first.
  KOKKOS_FORCEINLINE_FUNCTION static constexpr int rows_to(int i) {
    return i % (Tile / Plan::row_step) * Plan::row_step;
  }
  KOKKOS_FORCEINLINE_FUNCTION static constexpr int columns_to(int i) {
    return i / (Tile / Plan::row_step) * Plan::column_step;
  }
  KOKKOS_FORCEINLINE_FUNCTION const T* from(int i) const {
    return m_from + i % (Tile / Plan::row_step) * m_row_step +
           i / (Tile / Plan::row_step) * m_column_step;
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
  KOKKOS_FORCEINLINE_FUNCTION bool is_inside(int i, int columns) const {
    return rows_to(i) < m_rows && columns_to(i) < columns;
  }
  /// Bytes of chunk `i` that are in the operand.
  KOKKOS_FORCEINLINE_FUNCTION int valid_bytes(int i, int columns) const {
    if (!is_inside(i, columns)) return 0;
    const int left = How == Access::along_k ? columns - columns_to(i) : m_rows;
    return left >= n ? chunk_bytes : left * int(sizeof(T));
  }

  const T* m_from;             ///< the thread's first element of the stage
  std::int64_t m_row_step;     ///< elements from row to row of its copies
  std::int64_t m_column_step;  ///< and along K
  int m_rows;                  ///< rows from its first one on
  int m_tail;                  ///< columns from its first one on, in the last stage
  std::uint32_t m_to;          ///< offset of its first element in shared memory
};

}  // namespace KokkosIris::Impl::Sm80

#endif
