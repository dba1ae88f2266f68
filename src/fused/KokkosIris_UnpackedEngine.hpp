// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// What the engines have in common that do not pack their operands: B and panels of A are read
/// where they lie, but for panels that come in shards.

#ifndef KOKKOSIRIS_UNPACKED_ENGINE_HPP
#define KOKKOSIRIS_UNPACKED_ENGINE_HPP

#include <Kokkos_Core.hpp>
#include <cstddef>
#include <cstdint>
#include <fused/KokkosIris_ItemSchedule.hpp>
#include <fused/KokkosIris_Matrix.hpp>
#include <fused/KokkosIris_PanelShards.hpp>

namespace KokkosIris::Impl {

/// Base of the engines; what their members do: KokkosIris_TileEngine_Packed.hpp.
/// \tparam Store the engine's TileStore, which also copies shards
template <class T, class Store>
struct UnpackedEngine {
  using Acc = acc_type_t<T>;
  using TileStore = Store;

  /// The panel where it lies, or the copy of its shards.
  using Panel = MatrixRef<const T>;

  MatrixRef<const T> b;
  ItemSchedule schedule;
  bool gathers = false;  ///< A comes in several shards, which are copied to the buffer

  static std::size_t panel_bytes(const ItemSchedule& schedule, std::int64_t k, bool gathers) {
    if (!gathers) return 0;
    return static_cast<std::size_t>(schedule.panel_rows * Store::panel_stride(k)) * sizeof(T);
  }

  /// Teams may load parts of a panel: its rows from `row` on to this place.
  KOKKOS_FUNCTION static char* rows_in_buffer(char* buffer, std::int64_t row, std::int64_t k) {
    return buffer + row * Store::panel_stride(k) * std::int64_t(sizeof(T));
  }

  KOKKOS_FUNCTION TileStore tile_store() const { return {}; }

  template <class Team>
  KOKKOS_FUNCTION void prepare(const Team&) const {}

  template <class Team, class Shards, class Wait>
  KOKKOS_FUNCTION bool load([[maybe_unused]] const Team& team, [[maybe_unused]] char* buffer,
                            const Shards& a, const Wait& wait, Panel& panel) const {
    if constexpr (!Shards::several) {
      panel = a.shard(0);
      return wait(0);
    } else {
      const std::int64_t k = a.total_k();
      const auto copy = [&](const MatrixRef<const T>& shard, std::int64_t column) {
        Store::copy_rows(team, shard, reinterpret_cast<T*>(buffer) + column,
                         Store::panel_stride(k));
      };
      if (!load_shards(team, a, wait, copy)) return false;
      panel = loaded(buffer, a.shard(a.first), k);
      return true;
    }
  }
  KOKKOS_FUNCTION Panel loaded(const char* buffer, const MatrixRef<const T>& rows,
                               std::int64_t k) const {
    if (!gathers) return rows;
    return {reinterpret_cast<const T*>(buffer), rows.rows, k, Store::panel_stride(k), 1};
  }
};

}  // namespace KokkosIris::Impl

#endif
