// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// A tile of up to 128 x 128 elements of a product by the four waves of a team.
///
/// Each wave has 64 x 64 elements, in blocks of the matrix instruction's extents, whose sums stay
/// in registers (64 a lane, 128 for double). While it multiplies one stage from scratch memory, the
/// next is on its way from global memory to registers, and goes to the other half of scratch memory
/// after it: one barrier a stage.
///
/// The instruction is given columns of B as its A and rows of A as its B, so it computes the
/// transposed block: a lane's adjacent registers are then adjacent columns of the result, which is
/// stored in rows, 16 bytes at a time.

#ifndef KOKKOSIRIS_MFMA_PRODUCT_HPP
#define KOKKOSIRIS_MFMA_PRODUCT_HPP

#include <Kokkos_Core.hpp>
#include <cstdint>
#include <fused/KokkosIris_Matrix.hpp>
#include <fused/KokkosIris_TileStore.hpp>
#include <fused/arch/mfma/KokkosIris_MfmaIntrinsics.hpp>
#include <fused/arch/mfma/KokkosIris_MfmaMemory.hpp>
#include <fused/arch/mfma/KokkosIris_MfmaStage.hpp>
#include <fused/arch/mfma/KokkosIris_MfmaWave.hpp>

namespace KokkosIris::Impl::Mfma {

template <class T>
class TileProduct {
  using Shape = typename Instruction<T>::Shape;

 public:
  using Acc = typename Instruction<T>::Acc;
  static constexpr int tile = stage_rows;
  static constexpr int wave_tile = tile / 2;
  static constexpr int blocks = wave_tile / Shape::side;  ///< in each direction
  /// Chunks of a row that the lanes of a wave read at a time, and how often.
  static constexpr int steps = row_chunks / Shape::groups;
  /// Elements of the result that a lane stores at a time.
  static constexpr int run = chunk_elements<Acc>;

  /// out = a b, where a is rows x K and b, transposed, columns x K; at most `tile` of each.
  /// `scratch` has scratch_bytes at a multiple of 16. Ends with a barrier of the team after the
  /// last use of scratch; the tile is not yet visible to other threads.
  template <class Team>
  KOKKOS_FUNCTION static void compute(const Team& team, char* scratch,
                                      const MatrixRef<const T>& rows_of_a,
                                      const MatrixRef<const T>& columns_of_b,
                                      const AccTile<Acc>& out) {
    const MatrixRef<const T> a = uniform(rows_of_a);
    const MatrixRef<const T> b = uniform(columns_of_b);
    Sums sums;
    clear(team, sums);
    const Access a_access = access_of(a);
    const Access b_access = access_of(b);
    const Stages stages{scratch, a, b, a_access, b_access};
    const std::int64_t whole =
        is_regular(a, a_access) && is_regular(b, b_access) ? a.cols - a.cols % stage_k<T> : 0;
    multiply_stages<true>(team, stages, 0, whole, sums);
    multiply_stages<false>(team, stages, whole, a.cols, sums);
    if (a.cols == 0) team.team_barrier();
    store(team, {uniform(out.data), uniform(out.ld), a.rows, b.rows}, sums);
  }

 private:
  struct Stages {
    char* scratch;
    const MatrixRef<const T>& a;
    const MatrixRef<const T>& b;
    Access a_access, b_access;
  };
  struct Sums {
    WaveRegister<Vector<Acc, Shape::registers>> of[held_waves][blocks][blocks];
  };

  /// First row or column of a wave's part of the tile.
  KOKKOS_FORCEINLINE_FUNCTION static int first_row(int wave) { return wave / 2 * wave_tile; }
  KOKKOS_FORCEINLINE_FUNCTION static int first_column(int wave) { return wave % 2 * wave_tile; }

  /// The column that is number `outer` of the instruction's in block j, counted from the wave's
  /// first. Where registers hold no adjacent columns, two blocks take every second column each.
  KOKKOS_FORCEINLINE_FUNCTION static constexpr int column_of(int j, int outer) {
    if constexpr (Shape::adjacent >= run) {
      return j * Shape::side + outer;
    } else {
      return j / run * (run * Shape::side) + run * outer + j % run;
    }
  }

  /// Adds the products of columns [begin, end). Ends with a barrier if there are any.
  template <bool Regular, class Team>
  KOKKOS_FORCEINLINE_FUNCTION static void multiply_stages(const Team& team, const Stages& s,
                                                          std::int64_t begin, std::int64_t end,
                                                          Sums& sums) {
    if (begin >= end) return;
    TeamRegister<Staged> a_staged, b_staged;
    const auto load = [&](std::int64_t k) {
      load_stage<Regular>(team, s.a, s.a_access, k, a_staged);
      load_stage<Regular>(team, s.b, s.b_access, k, b_staged);
    };
    const auto put = [&](char* half) {
      store_stage<T>(team, s.a_access, a_staged, half);
      store_stage<T>(team, s.b_access, b_staged, half + operand_bytes);
    };
    int half = 0;
    load(begin);
    put(s.scratch);
    team.team_barrier();
    for (std::int64_t k = begin; k < end; k += stage_k<T>) {
      const bool more = k + stage_k<T> < end;
      if (more) load(k + stage_k<T>);
      multiply(team, s.scratch + half, static_cast<int>(s.a.rows), static_cast<int>(s.b.rows),
               sums);
      half = 2 * operand_bytes - half;
      if (more) put(s.scratch + half);
      team.team_barrier();
    }
  }

  template <class Team>
  KOKKOS_FORCEINLINE_FUNCTION static void clear(const Team& team, Sums& sums) {
    for_each_wave(team, [&](int, int held) {
      for_each_lane(team, [&](int lane) {
        KOKKOSIRIS_UNROLL
        for (int block = 0; block < blocks * blocks; ++block) {
          KOKKOSIRIS_UNROLL
          for (int r = 0; r < Shape::registers; ++r) {
            sums.of[held][block / blocks][block % blocks][lane][r] = Acc(0);
          }
        }
      });
    });
  }

  /// Adds the products of a stage: a's rows at `scratch`, b's behind them.
  template <class Team>
  KOKKOS_FORCEINLINE_FUNCTION static void multiply(const Team& team, const char* scratch, int rows,
                                                   int columns, Sums& sums) {
    for_each_wave(team, [&](int wave, int held) {
      if (first_row(wave) >= rows || first_column(wave) >= columns) return;
      KOKKOSIRIS_UNROLL
      for (int step = 0; step < steps; ++step) {
        WaveRegister<Chunk> a[blocks], b[blocks];
        for_each_lane(team, [&](int lane) {
          const int byte = (step * Shape::groups + lane / Shape::side) * chunk_bytes;
          KOKKOSIRIS_UNROLL
          for (int i = 0; i < blocks; ++i) {
            const int row = first_row(wave) + i * Shape::side + Shape::outer(lane);
            const int column = first_column(wave) + column_of(i, Shape::outer(lane));
            a[i][lane] = read_lds(scratch, scratch_offset(row, byte));
            b[i][lane] = read_lds(scratch + operand_bytes, scratch_offset(column, byte));
          }
        });
        multiply_chunks(a, b, sums.of[held]);
      }
    });
  }
  KOKKOS_FORCEINLINE_FUNCTION static void multiply_chunks(
      const WaveRegister<Chunk> (&a)[blocks], const WaveRegister<Chunk> (&b)[blocks],
      WaveRegister<Vector<Acc, Shape::registers>> (&sums)[blocks][blocks]) {
    KOKKOSIRIS_UNROLL
    for (int part = 0; part < Instruction<T>::parts; ++part) {
      KOKKOSIRIS_UNROLL
      for (int i = 0; i < blocks; ++i) {
        KOKKOSIRIS_UNROLL
        for (int j = 0; j < blocks; ++j) {
          Instruction<T>::multiply(b[j], a[i], part, sums[i][j]);
        }
      }
    }
  }

  template <class Team>
  KOKKOS_FORCEINLINE_FUNCTION static void store(const Team& team, const AccTile<Acc>& out,
                                                Sums& sums) {
    const bool wide = is_aligned(out.data) && (out.rows <= 1 || out.ld % run == 0);
    const int rows = static_cast<int>(out.rows);
    const int columns = static_cast<int>(out.cols);
    for_each_wave(team, [&](int wave, int held) {
      for_each_lane(team, [&](int lane) {
        KOKKOSIRIS_UNROLL
        for (int i = 0; i < blocks; ++i) {
          const int row = first_row(wave) + i * Shape::side + Shape::column(lane);
          if (row >= rows) continue;
          KOKKOSIRIS_UNROLL
          for (int n = 0; n < blocks * Shape::registers / run; ++n) {
            store_run(out, row, first_column(wave), n, lane, columns, wide, sums.of[held][i]);
          }
        }
      });
    });
  }
  /// Number `n` of the runs of adjacent columns that a lane has in a row of blocks.
  KOKKOS_FORCEINLINE_FUNCTION static void store_run(
      const AccTile<Acc>& out, int row, int first_column, int n, int lane, int columns, bool wide,
      const WaveRegister<Vector<Acc, Shape::registers>> (&sums)[blocks]) {
    constexpr bool in_one_block = Shape::adjacent >= run;
    constexpr int runs = in_one_block ? Shape::registers / run : Shape::registers;
    const int block = in_one_block ? n / runs : n / runs * run;
    const int r = in_one_block ? n % runs * run : n % runs;
    const int column = first_column + column_of(block, Shape::row(lane, r));
    Elements<Acc> values;
    KOKKOSIRIS_UNROLL
    for (int e = 0; e < run; ++e) {
      values.values[e] = in_one_block ? sums[block][lane][r + e] : sums[block + e][lane][r];
    }
    store_elements(out.data + row * out.ld + column, 1, columns - column, wide, values);
  }
};

}  // namespace KokkosIris::Impl::Mfma

#endif
