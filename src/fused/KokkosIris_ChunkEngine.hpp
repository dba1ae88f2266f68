// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// What the engines for matrix and tensor cores have in common: operands, panels of A, tiles.

#ifndef KOKKOSIRIS_CHUNK_ENGINE_HPP
#define KOKKOSIRIS_CHUNK_ENGINE_HPP

#include <Kokkos_Core.hpp>
#include <cstddef>
#include <cstdint>
#include <fused/KokkosIris_ItemSchedule.hpp>
#include <fused/KokkosIris_Matrix.hpp>
#include <fused/KokkosIris_PanelShards.hpp>
#include <fused/KokkosIris_TileStore_Chunks.hpp>

namespace KokkosIris::Impl {

/// Base of the engines; what their members do: KokkosIris_TileEngine_Packed.hpp. B is read where it
/// lies, and A as well unless it comes in shards.
/// \tparam Batch see for_each_run()
template <class T, int Batch>
struct ChunkEngine {
  using Acc = acc_type_t<T>;
  using TileStore = ChunkTileStore<T, Batch>;

  /// The panel where it lies, or the copy of its shards.
  using Panel = MatrixRef<const T>;

  /// Tiles of a call that asks for none. Blocks are whole tiles: a narrower one takes as long.
  static constexpr std::int64_t tile = 128;

  MatrixRef<const T> b;
  ItemSchedule schedule;
  bool gathers = false;  ///< A comes in several shards, which are copied to the buffer

  static std::size_t panel_bytes(const ItemSchedule& schedule, std::int64_t k, bool gathers) {
    return gathers ? static_cast<std::size_t>(schedule.panel_rows * panel_stride(k)) * sizeof(T)
                   : 0;
  }

  KOKKOS_FUNCTION TileStore tile_store() const { return {}; }

  template <class Team>
  KOKKOS_FUNCTION void prepare(const Team&) const {}

  template <class Team, class Shards, class Wait>
  KOKKOS_FUNCTION bool load(const Team& team, char* buffer, const Shards& a, const Wait& wait,
                            Panel& panel) const {
    if (!gathers) {
      panel = a.shard(0);
      return wait(0);
    }
    const std::int64_t k = a.total_k();
    const auto copy = [&](const MatrixRef<const T>& shard, std::int64_t column) {
      copy_rows<Batch>(team, shard, reinterpret_cast<T*>(buffer) + column, panel_stride(k));
    };
    if (!load_shards(team, a, wait, copy)) return false;
    panel = loaded(buffer, a.shard(a.first), k);
    return true;
  }
  KOKKOS_FUNCTION Panel loaded(const char* buffer, const MatrixRef<const T>& rows,
                               std::int64_t k) const {
    if (!gathers) return rows;
    return {reinterpret_cast<const T*>(buffer), rows.rows, k, panel_stride(k), 1};
  }

 protected:
  /// Calls product(a, b, out) for each tile of the panel's product with the columns from `column`
  /// of an owner's chunk on; b is transposed.
  template <class Product>
  KOKKOS_FORCEINLINE_FUNCTION void for_each_tile(const Panel& panel, int owner, std::int64_t column,
                                                 const AccTile<Acc>& out,
                                                 const Product& product) const {
    const std::int64_t first = schedule.chunk_begin(owner) + column;
    for (std::int64_t i = 0; i < out.rows; i += tile) {
      for (std::int64_t j = 0; j < out.cols; j += tile) {
        const std::int64_t m = min64(tile, out.rows - i);
        const std::int64_t n = min64(tile, out.cols - j);
        const MatrixRef<const T> columns{b.at(0, first + j), n, b.rows, b.col_stride, b.row_stride};
        product(panel.block(i, 0, m, panel.cols), columns,
                AccTile<Acc>{out.data + i * out.ld + j, out.ld, m, n});
      }
    }
  }

 private:
  /// Rows of copied panels begin at multiples of 16 bytes.
  KOKKOS_FUNCTION static std::int64_t panel_stride(std::int64_t k) {
    return round_up(k, chunk_elements<T>);
  }
};

}  // namespace KokkosIris::Impl

#endif
