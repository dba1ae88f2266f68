// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// What the kernels of the fused operations have in common: operands, buffers, panels of A, tiles.

#ifndef KOKKOSIRIS_FUSED_KERNEL_HPP
#define KOKKOSIRIS_FUSED_KERNEL_HPP

#include <Kokkos_Core.hpp>
#include <cstddef>
#include <cstdint>
#include <fused/KokkosIris_FusedOptions.hpp>
#include <fused/KokkosIris_ItemSchedule.hpp>
#include <fused/KokkosIris_Matrix.hpp>
#include <fused/KokkosIris_PanelShards.hpp>
#include <fused/KokkosIris_TileExchange.hpp>
#include <fused/KokkosIris_TileStore.hpp>
#include <type_traits>

namespace KokkosIris::Impl {

/// Engines that use panels where they lie, unless they are in shards, which several teams can load.
template <class Engine>
concept LoadsParts = requires(char* buffer) {
  Engine::rows_in_buffer(buffer, 0, 0);
};

/// Base of the kernels. Teams walk through their items; every function is called by whole teams.
template <class T, class Engine>
struct FusedKernel {
  using Acc = acc_type_t<T>;
  using Tile = AccTile<Acc>;
  using Panel = typename Engine::Panel;

  Engine engine;
  TileExchange exchange;
  ItemSchedule schedule;
  MatrixRef<T> c;
  MatrixRef<const T> a;
  Bias<T> bias;
  char* tiles = nullptr;
  char* panels = nullptr;
  std::int64_t tile_bytes = 0;
  std::int64_t panel_bytes = 0;

  /// The panel that a team holds.
  struct LoadedPanel {
    std::int64_t number = -1;
    Panel panel = {};
  };

  /// A whole on this rank; the form of every operation but all_gather_matmul.
  struct LocalA {
    static constexpr bool several = false;
    const FusedKernel& kernel;
    KOKKOS_FUNCTION int count() const { return 1; }
    KOKKOS_FUNCTION int first() const { return 0; }
    KOKKOS_FUNCTION MatrixRef<const T> operator()(int) const { return kernel.a; }
    template <class Team>
    KOKKOS_FUNCTION bool wait(const Team&, int) const {
      return true;
    }
  };

  /// Prepares B and, where teams share panels, all panels of A; ends with all teams' work visible.
  template <class Team, class Source>
  KOKKOS_FUNCTION bool prepare(const Team& team, const Source& source) const {
    engine.prepare(team);
    if constexpr (Source::several || !LoadsParts<Engine>) {
      if (schedule.shares_panels() && !load_panels(team, source)) return false;
    }
    return exchange.league_barrier(team, 1);
  }

  /// Makes `held` the panel of an item.
  template <class Team, class Source>
  KOKKOS_FUNCTION bool hold_panel(const Team& team, const Source& source,
                                  const ItemSchedule::Item& item, LoadedPanel& held) const {
    if (held.number == item.panel) return true;
    held.number = item.panel;
    if (!schedule.shares_panels()) {
      return load_panel(team, source, item.panel, 0, 1, panels + team.league_rank() * panel_bytes,
                        held.panel);
    }
    held.panel = engine.loaded(panels + item.panel * panel_bytes,
                               source(source.first()).block(item.row, 0, item.rows, a.cols),
                               a.cols * source.count());
    return true;
  }

  /// Tile buffer 0 or 1 of a team.
  template <class Team>
  KOKKOS_FUNCTION Tile tile(const Team& team, int which, std::int64_t rows,
                            std::int64_t cols) const {
    return {reinterpret_cast<Acc*>(tiles + (2 * team.league_rank() + which) * tile_bytes),
            schedule.tile_stride(), rows, cols};
  }
  /// Staging of producer `from` for consumer `to`.
  KOKKOS_FUNCTION Tile staged(int from, int to, std::int64_t item, std::int64_t rows,
                              std::int64_t cols) const {
    return {reinterpret_cast<Acc*>(exchange.slot(from, to, item)), schedule.tile_stride(), rows,
            cols};
  }

  /// tile = A panel times the block's columns of an owner's chunk, plus bias. The tile may be
  /// empty. Kernels call this at one place only: on GPUs it must be part of the kernel, because a
  /// call would keep the kernel's data and the sums in memory.
  template <class Team>
  KOKKOS_FORCEINLINE_FUNCTION void compute(const Team& team, const LoadedPanel& held,
                                           const ItemSchedule::Item& item, int owner,
                                           const Tile& out) const {
    if (out.rows == 0 || out.cols == 0) return;
    const std::int64_t column = item.block * schedule.block_columns;
    engine.compute(team, held.panel, owner, column, out);
    engine.tile_store().add_bias(team, out, bias, item.row, schedule.chunk_begin(owner) + column);
  }

  /// Where a tile is computed whose final place is `out` on this rank: there at once if memory is
  /// as the engine writes it, else in the team's buffer.
  template <class Team>
  KOKKOS_FUNCTION Tile tile_for(const Team& team, const MatrixRef<T>& out) const {
    if constexpr (std::is_same_v<T, Acc>) {
      // A single row may have any row stride; engines take leading dimensions as BLAS does.
      if (out.col_stride == 1 && out.row_stride >= out.cols && out.row_stride <= INT32_MAX) {
        return {out.data, out.row_stride, out.rows, out.cols};
      }
    }
    return tile(team, 0, out.rows, out.cols);
  }

  /// True if tile_for() has given the tile's final place.
  KOKKOS_FUNCTION static bool is_in_place(const Tile& tile, const MatrixRef<T>& out) {
    return static_cast<const void*>(tile.data) == static_cast<const void*>(out.data);
  }

  /// Brings a computed tile that only this rank needs to its final place.
  template <class Team>
  KOKKOS_FUNCTION void finish(const Team& team, const Tile& result, const MatrixRef<T>& out) const {
    if (out.rows == 0 || out.cols == 0 || is_in_place(result, out)) return;
    engine.tile_store().sum(
        team, 1, [&](int) { return result; }, 1, [&](int) { return out; }, 1);
  }

 private:
  /// This team's share of all panels. If they are fewer than teams they are cut into parts, where
  /// the engine can load these.
  template <class Team, class Source>
  KOKKOS_FUNCTION bool load_panels(const Team& team, const Source& source) const {
    const std::int64_t teams = team.league_size();
    std::int64_t parts = 1;
    if constexpr (LoadsParts<Engine>) parts = max64(1, teams / max64(1, schedule.panels));
    for (std::int64_t p = team.league_rank(); p < schedule.panels * parts; p += teams) {
      Panel panel;
      char* const buffer = panels + p / parts * panel_bytes;
      if (!load_panel(team, source, p / parts, p % parts, parts, buffer, panel)) return false;
    }
    return true;
  }

  /// Loads part `part` of `parts` of a panel, whose buffer is given; `panel` is of the part alone.
  template <class Team, class Source>
  KOKKOS_FUNCTION bool load_panel(const Team& team, const Source& source, std::int64_t number,
                                  std::int64_t part, std::int64_t parts, char* buffer,
                                  Panel& panel) const {
    const std::int64_t first = number * schedule.panel_rows;
    const std::int64_t all = min64(schedule.panel_rows, schedule.rows - first);
    const std::int64_t begin = all * part / parts;
    const std::int64_t rows = all * (part + 1) / parts - begin;
    if (rows == 0 && parts > 1) return true;
    if constexpr (LoadsParts<Engine>) {
      buffer = Engine::rows_in_buffer(buffer, begin, a.cols * source.count());
    }
    const auto block = [&](int s) {
      const MatrixRef<const T> shard = source(s);
      return shard.block(first + begin, 0, rows, shard.cols);
    };
    const PanelShards<T, decltype(block), Source::several> shards{block, rows, a.cols,
                                                                  source.count(), source.first()};
    return engine.load(
        team, buffer, shards, [&](int s) { return source.wait(team, s); }, panel);
  }
};

}  // namespace KokkosIris::Impl

#endif
