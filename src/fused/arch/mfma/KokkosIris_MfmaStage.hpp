// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// Operands on their way to the matrix instructions: a stretch of K of 128 rows of A, or columns of
/// B, from global memory to registers, and from there to scratch memory.
///
/// Here both operands are "rows x K": of B the transposed matrix is meant. A stretch of K has 64
/// bytes: 32 elements of 16 bits, 16 of float, 8 of double, so that for all types a row is four
/// chunks of 16 bytes, an operand 8 KiB, and two operands twice 32 KiB.

#ifndef KOKKOSIRIS_MFMA_STAGE_HPP
#define KOKKOSIRIS_MFMA_STAGE_HPP

#include <Kokkos_Core.hpp>
#include <cstddef>
#include <cstdint>
#include <fused/KokkosIris_Matrix.hpp>
#include <fused/arch/mfma/KokkosIris_MfmaMemory.hpp>
#include <fused/arch/mfma/KokkosIris_MfmaWave.hpp>

namespace KokkosIris::Impl::Mfma {

inline constexpr int stage_rows = 128;
inline constexpr int row_bytes = 64;
inline constexpr int row_chunks = row_bytes / chunk_bytes;
inline constexpr int operand_bytes = stage_rows * row_bytes;
/// Two stages of two operands.
inline constexpr std::size_t scratch_bytes = 4 * operand_bytes;
/// What Kokkos adds to a team's LDS: a number for each thread and two more, for reductions, and
/// what its kernels of teams declare (Kokkos_HIP_ParallelFor_Team.hpp; scripts/check_isa.py).
inline constexpr std::size_t kokkos_lds_bytes = sizeof(double) * (team_threads + 2) + 8;
static_assert(scratch_bytes + chunk_bytes + kokkos_lds_bytes <= 65536,
              "a compute unit of gfx90a and gfx942 has 64 KiB of LDS, and a team must fit");
template <class T>
inline constexpr int stage_k = row_bytes / static_cast<int>(sizeof(T));

/// Where byte `byte` of row `row` lies in an operand's scratch memory.
///
/// The LDS has 32 banks of four bytes, so one row fills half of them, and rows of two chunks in the
/// same half and column would conflict. Two exchanges spread what is accessed together:
/// - Chunks: column c of row r is stored at c ^ (r / 2) ^ (r / 16), modulo 4. Reading
/// (ds_read_b128,
///   a column of 8 rows at a time) then meets all banks once, also when every second row is read.
/// - Rows: rows r and r ^ 1 change places where r / 8 is odd. Writing an operand that is adjacent
///   along its rows means that lanes write the same row of different groups of chunk_elements rows:
///   they lie in both halves then.
/// The unit test of this function counts conflicts.
KOKKOS_FORCEINLINE_FUNCTION constexpr int scratch_offset(int row, int byte) {
  const int line = row ^ ((row >> 3) & 1);
  const int chunk = (byte / chunk_bytes) ^ (((row >> 1) ^ (row >> 4)) & 3);
  return line * row_bytes + chunk * chunk_bytes + byte % chunk_bytes;
}

/// How threads read an operand: in chunks along the dimension in which it is adjacent.
struct Access {
  bool along_k;  ///< chunks along K, else along the rows
  bool wide;     ///< chunks are adjacent and begin at multiples of 16 bytes
};
template <class T>
KOKKOS_FUNCTION Access access_of(const MatrixRef<const T>& m) {
  const bool along_k = m.col_stride == 1 || (m.row_stride != 1 && m.col_stride <= m.row_stride);
  const std::int64_t step = along_k ? m.col_stride : m.row_stride;
  const std::int64_t line = along_k ? m.row_stride : m.col_stride;
  const std::int64_t lines = along_k ? m.rows : m.cols;
  const bool lines_aligned = lines <= 1 || line % chunk_elements<T> == 0;
  return {along_k, step == 1 && lines_aligned && is_aligned(m.data)};
}

/// What a thread loads of an operand's stage.
struct Staged {
  Chunk chunks[2];
};

/// Which chunk of a stage is number `i` of a thread: its first element, counted from the stage.
struct Place {
  int row;
  int k;
};
template <class T>
KOKKOS_FORCEINLINE_FUNCTION constexpr Place place_of(bool along_k, int thread, int i) {
  constexpr int n = chunk_elements<T>;
  // Along K four lanes read the 64 bytes of a row.
  if (along_k) return {thread / row_chunks + i * (stage_rows / 2), thread % row_chunks * n};
  // Along the rows eight lanes read 128 bytes at one k, and a thread has the same rows at k and
  // k + 1. The next eight lanes go on along K, because that is how writing meets all banks.
  constexpr int groups_of_8 = stage_rows / n / 8;
  const int high = thread / 32;
  const int group = thread % 8 + high % groups_of_8 * 8;
  const int pair = thread / 8 % 4 + high / groups_of_8 * 4;
  return {group * n, pair * 2 + i};
}

/// True if all chunks of a stage of whole length are read at once.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION bool is_regular(const MatrixRef<const T>& m, const Access& access) {
  return access.wide && m.rows == stage_rows;
}

/// Loads the stage of columns [k, k + stage_k) of m, of up to 128 rows. What lies outside is not
/// read, and zero.
/// \tparam Regular the stage is of whole length, and m is regular
template <bool Regular, class Team, class T>
KOKKOS_FORCEINLINE_FUNCTION void load_stage(const Team& team, const MatrixRef<const T>& m,
                                            const Access& access, std::int64_t k,
                                            TeamRegister<Staged>& staged) {
  if constexpr (Regular) {
    for_each_thread(team, [&](int thread) {
      KOKKOSIRIS_UNROLL
      for (int i = 0; i < 2; ++i) {
        const Place place = place_of<T>(access.along_k, thread, i);
        staged[thread].chunks[i] = load_chunk(m.at(place.row, k + place.k));
      }
    });
  } else {
    const int rows = static_cast<int>(m.rows);
    const int depth = static_cast<int>(min64(stage_k<T>, m.cols - k));
    // Not known to be the same in every stage, or all addresses would be kept in registers.
    const std::int64_t step = opaque(access.along_k ? m.col_stride : m.row_stride);
    for_each_thread(team, [&](int thread) {
      KOKKOSIRIS_UNROLL
      for (int i = 0; i < 2; ++i) {
        const Place place = place_of<T>(access.along_k, thread, i);
        const bool inside = place.row < rows && place.k < depth;
        const int valid = access.along_k ? depth - place.k : rows - place.row;
        staged[thread].chunks[i] = load_elements(inside ? m.at(place.row, k + place.k) : m.data,
                                                 step, inside ? valid : 0, access.wide);
      }
    });
  }
}

/// Element e of two chunks, side by side.
template <class T>
struct alignas(2 * sizeof(T)) Pair {
  T first, second;
};
template <class T>
using PairWords = std::conditional_t<sizeof(T) == 2, std::uint32_t,
                                     std::conditional_t<sizeof(T) == 4, std::uint64_t, Chunk>>;

/// Puts what load_stage() has loaded to an operand's scratch memory, each row adjacent along K.
template <class T, class Team>
KOKKOS_FORCEINLINE_FUNCTION void store_stage(const Team& team, const Access& access,
                                             TeamRegister<Staged>& staged, char* scratch) {
  if (access.along_k) {
    for_each_thread(team, [&](int thread) {
      KOKKOSIRIS_UNROLL
      for (int i = 0; i < 2; ++i) {
        const Place place = place_of<T>(true, thread, i);
        write_lds(scratch, scratch_offset(place.row, place.k * static_cast<int>(sizeof(T))),
                  staged[thread].chunks[i]);
      }
    });
    return;
  }
  for_each_thread(team, [&](int thread) {
    const Place place = place_of<T>(false, thread, 0);
    const Elements<T> first = elements_of<T>(staged[thread].chunks[0]);
    const Elements<T> second = elements_of<T>(staged[thread].chunks[1]);
    KOKKOSIRIS_UNROLL
    for (int e = 0; e < chunk_elements<T>; ++e) {
      const Pair<T> pair{first.values[e], second.values[e]};
      write_lds(scratch, scratch_offset(place.row + e, place.k * static_cast<int>(sizeof(T))),
                Kokkos::bit_cast<PairWords<T>>(pair));
    }
  });
}

}  // namespace KokkosIris::Impl::Mfma

#endif
