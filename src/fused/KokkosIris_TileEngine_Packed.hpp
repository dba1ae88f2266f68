// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// The packed vector engine for host backends: operands are packed once, wherever they lie, and
/// tiles computed from packed panels (src/fused/arch/host has the kernels).
///
/// What a tile engine is. An engine is a trivially copyable object in the kernel of a fused
/// operation:
/// - `TileStore`, `tile_store()`: the tile operations that go with it;
/// - `prepare(team)`: this team's share of what all teams need (packed B, say); a barrier of the
///   league follows;
/// - `load(team, buffer, shards, wait, panel)`: makes a panel of A ready, by packing or copying it
///   to the buffer, and sets `panel`, a `Panel`. A comes in shards along K; shard s is read after
///   `wait(s)`. False if a wait was given up;
/// - `loaded(buffer, rows, k)`: a panel that any team has loaded to the buffer before;
/// - `compute(team, panel, owner, column, tile)`: tile = A panel times columns [column, column +
///   tile.cols) of an owner's chunk of B. Only writes the tile, in accumulator type. The team's
///   threads may see each other's part of the tile after a team barrier.

#ifndef KOKKOSIRIS_TILE_ENGINE_PACKED_HPP
#define KOKKOSIRIS_TILE_ENGINE_PACKED_HPP

#include <core/KokkosIris_DeviceContext.hpp>
#include <cstddef>
#include <cstdint>
#include <fused/KokkosIris_ItemSchedule.hpp>
#include <fused/KokkosIris_Matrix.hpp>
#include <fused/KokkosIris_TileStore_Host.hpp>
#include <fused/arch/host/KokkosIris_PackedGemm.hpp>

namespace KokkosIris::Impl {

template <class T>
struct PackedTileEngine {
  using Acc = acc_type_t<T>;
  using TileStore = HostTileStore<T>;

  struct Panel {
    const void* packed;
    std::int64_t rows;
  };

  const PackedGemm* gemm = nullptr;
  MatrixRef<const T> b;
  ItemSchedule schedule;
  char* packed_b = nullptr;  ///< null: B is used where it lies

  /// Bytes of workspace for B: each owner's chunk is packed by itself, so that chunks may begin at
  /// any column.
  static std::size_t prepared_bytes(const PackedGemm& gemm, const ItemSchedule& schedule,
                                    std::int64_t k) {
    if (uses_b_in_place(schedule)) return 0;
    return static_cast<std::size_t>(chunk_bytes(gemm, schedule, k)) *
           static_cast<std::size_t>(schedule.owners);
  }
  static std::size_t panel_bytes(const PackedGemm& gemm, const ItemSchedule& schedule,
                                 std::int64_t k) {
    return static_cast<std::size_t>(round_up(gemm.packed_a_bytes(schedule.panel_rows, k), 64));
  }
  /// Whatever B is, because only one panel meets it: no workspace is needed.
  static bool uses_b_in_place(const ItemSchedule& schedule) { return schedule.panels <= 1; }
  /// Because of what B is: the workspace is left aside.
  static bool uses_b_in_place(const PackedGemm& gemm, const MatrixRef<const T>& b) {
    return b.rows <= gemm.in_place_k && b.col_stride == 1;
  }

  TileStore tile_store() const { return {gemm}; }

  template <class Team>
  void prepare(const Team& team) const {
    if (packed_b == nullptr) return;
    for (int owner = 0; owner < schedule.owners; ++owner) {
      const std::int64_t columns = schedule.chunk_columns(owner);
      const std::int64_t slivers = ceil_div(columns, gemm->nr);
      const std::int64_t begin = slivers * team.league_rank() / team.league_size() * gemm->nr;
      const std::int64_t end =
          min64(columns, slivers * (team.league_rank() + 1) / team.league_size() * gemm->nr);
      if (begin >= end) continue;
      gemm->pack_b(chunk(owner), b.at(0, schedule.chunk_begin(owner) + begin), b.row_stride,
                   b.col_stride, begin, end, 0, b.rows, b.rows);
    }
  }

  template <class Team, class Shards, class Wait>
  bool load(const Team&, char* buffer, const Shards& a, const Wait& wait, Panel& panel) const {
    for (int step = 0; step < a.count; ++step) {
      const int s = rank_after(a.first, step, a.count);
      if (!wait(s)) return false;
      const MatrixRef<const T> shard = a.shard(s);
      gemm->pack_a(buffer, shard.data, shard.row_stride, shard.col_stride, shard.rows,
                   s * a.shard_k, a.shard_k, a.total_k());
    }
    panel = {buffer, a.rows};
    return true;
  }
  /// A panel that a team has loaded to `buffer` before; `rows` are those of its first shard.
  Panel loaded(const char* buffer, const MatrixRef<const T>& rows, std::int64_t) const {
    return {buffer, rows.rows};
  }

  template <class Team>
  void compute(const Team&, const Panel& panel, int owner, std::int64_t column,
               const AccTile<Acc>& tile) const {
    if (packed_b == nullptr) {
      gemm->compute_direct(panel.rows, tile.cols, b.rows, panel.packed,
                           b.at(0, schedule.chunk_begin(owner) + column), b.row_stride,
                           b.col_stride, tile.data, tile.ld, false);
    } else {
      gemm->compute(panel.rows, tile.cols, b.rows, panel.packed,
                    gemm->packed_b_at(chunk(owner), column, b.rows), tile.data, tile.ld, false);
    }
  }

 private:
  static std::int64_t chunk_bytes(const PackedGemm& gemm, const ItemSchedule& schedule,
                                  std::int64_t k) {
    return round_up(gemm.packed_b_bytes(k, schedule.chunk_columns(0)), 64);
  }
  char* chunk(int owner) const { return packed_b + owner * chunk_bytes(*gemm, schedule, b.rows); }
};

}  // namespace KokkosIris::Impl

#endif
