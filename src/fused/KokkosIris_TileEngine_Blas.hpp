// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// The BLAS tile engine for host backends: panels of A and B in row-major accumulator type, tiles
/// by GEMM calls of the library. What an engine is: KokkosIris_TileEngine_Packed.hpp.
///
/// The library is called from all threads of the execution space: it should run single-threaded
/// (OPENBLAS_NUM_THREADS=1 and the like).

#ifndef KOKKOSIRIS_TILE_ENGINE_BLAS_HPP
#define KOKKOSIRIS_TILE_ENGINE_BLAS_HPP

#include <core/KokkosIris_Config.hpp>

#ifdef KOKKOSIRIS_ENABLE_BLAS

#include <core/KokkosIris_DeviceContext.hpp>
#include <cstddef>
#include <cstdint>
#include <fused/KokkosIris_ItemSchedule.hpp>
#include <fused/KokkosIris_Matrix.hpp>
#include <fused/KokkosIris_TileStore_Host.hpp>

namespace KokkosIris::Impl {

/// C = A B, row-major, through the BLAS that the library was built with. Extents and leading
/// dimensions fit in 32 bits; lda >= k, ldb >= n, ldc >= n.
void blas_gemm(std::int64_t m, std::int64_t n, std::int64_t k, const double* a, std::int64_t lda,
               const double* b, std::int64_t ldb, double* c, std::int64_t ldc);
void blas_gemm(std::int64_t m, std::int64_t n, std::int64_t k, const float* a, std::int64_t lda,
               const float* b, std::int64_t ldb, float* c, std::int64_t ldc);

template <class T>
struct BlasTileEngine {
  using Acc = acc_type_t<T>;
  using TileStore = HostTileStore<T>;

  using Panel = MatrixRef<const Acc>;

  const PackedGemm* routines = nullptr;  ///< conversions
  MatrixRef<const T> b;
  ItemSchedule schedule;
  Acc* prepared_b = nullptr;  ///< null: B is row-major in accumulator type already

  static bool uses_b_in_place(const MatrixRef<const T>& b) {
    return std::is_same_v<T, Acc> && b.col_stride == 1 && b.row_stride >= b.cols &&
           b.row_stride <= INT32_MAX;
  }
  static std::size_t panel_bytes(const ItemSchedule& schedule, std::int64_t k) {
    return static_cast<std::size_t>(schedule.panel_rows * k) * sizeof(Acc);
  }
  static std::size_t prepared_bytes(std::int64_t k, std::int64_t n) {
    return static_cast<std::size_t>(k * n) * sizeof(Acc);
  }

  TileStore tile_store() const { return {routines}; }

  template <class Team>
  void prepare(const Team& team) const {
    if (prepared_b == nullptr) return;
    const std::int64_t begin = b.rows * team.league_rank() / team.league_size();
    const std::int64_t end = b.rows * (team.league_rank() + 1) / team.league_size();
    convert(b.block(begin, 0, end - begin, b.cols), prepared_b + begin * b.cols, b.cols);
  }

  template <class Team, class Shards, class Wait>
  bool load(const Team&, char* buffer, const Shards& a, const Wait& wait, Panel& panel) const {
    Acc* const copy = reinterpret_cast<Acc*>(buffer);
    for (int step = 0; step < a.count; ++step) {
      const int s = rank_after(a.first, step, a.count);
      if (!wait(s)) return false;
      convert(a.shard(s), copy + s * a.shard_k, a.total_k());
    }
    panel = loaded(buffer, a.shard(a.first), a.total_k());
    return true;
  }
  Panel loaded(const char* buffer, const MatrixRef<const T>& rows, std::int64_t k) const {
    return {reinterpret_cast<const Acc*>(buffer), rows.rows, k, k, 1};
  }

  template <class Team>
  void compute(const Team&, const Panel& panel, int owner, std::int64_t column,
               const AccTile<Acc>& tile) const {
    const std::int64_t begin = schedule.chunk_begin(owner) + column;
    const Acc* columns = prepared_b == nullptr ? nullptr : prepared_b + begin;  // null too if K = 0
    std::int64_t ldb = b.cols;
    if constexpr (std::is_same_v<T, Acc>) {
      if (prepared_b == nullptr) {
        columns = b.at(0, begin);
        ldb = b.row_stride;
      }
    }
    blas_gemm(tile.rows, tile.cols, panel.cols, panel.data, max64(1, panel.cols), columns,
              max64(1, ldb), tile.data, tile.ld);
  }

 private:
  /// Any matrix to row-major accumulator type.
  void convert(const MatrixRef<const T>& from, Acc* to, std::int64_t ld) const {
    for (std::int64_t i = 0; i < from.rows; ++i) {
      if (from.col_stride == 1) {
        routines->load_convert(to + i * ld, from.at(i, 0), from.cols);
      } else {
        for (std::int64_t j = 0; j < from.cols; ++j) {
          to[i * ld + j] = static_cast<Acc>(*from.at(i, j));
        }
      }
    }
  }
};

}  // namespace KokkosIris::Impl

#endif
#endif
