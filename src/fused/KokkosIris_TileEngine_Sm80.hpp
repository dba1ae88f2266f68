// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// The tile engine for NVIDIA GPUs of compute capability 8.0 and newer, for all element types:
/// half, bfloat16 and double by their tensor cores, float by fused multiply-adds
/// (src/fused/arch/sm80). What an engine is: KokkosIris_TileEngine_Packed.hpp.

#ifndef KOKKOSIRIS_TILE_ENGINE_SM80_HPP
#define KOKKOSIRIS_TILE_ENGINE_SM80_HPP

#include <Kokkos_Core.hpp>
#include <core/KokkosIris_GpuSpace.hpp>
#include <cstddef>
#include <cstdint>
#include <fused/KokkosIris_ItemSchedule.hpp>
#include <fused/KokkosIris_Matrix.hpp>
#include <fused/KokkosIris_TileStore_Chunks.hpp>
#include <fused/arch/sm80/KokkosIris_Sm80Launch.hpp>
#include <fused/arch/sm80/KokkosIris_Sm80Product.hpp>
#include <string>

namespace KokkosIris::Impl {

/// True if the engine is compiled for an execution space.
template <class ExecutionSpace>
inline constexpr bool sm80_takes_v = is_gpu_space_v<ExecutionSpace>&& have_sm80_gpu;

template <class T>
struct Sm80TileEngine {
  using Acc = acc_type_t<T>;
  using TileStore = ChunkTileStore<T, Sm80::batch>;

  /// The panel where it lies, or the copy of its shards.
  using Panel = MatrixRef<const T>;

  /// Tiles of a call that asks for none. Blocks are whole tiles: a narrower one takes as long.
  static constexpr std::int64_t tile = Sm80::tile;

  MatrixRef<const T> b;
  ItemSchedule schedule;
  bool gathers = false;  ///< A comes in several shards, which are copied to the buffer

  static std::size_t panel_bytes(const ItemSchedule& schedule, std::int64_t k, bool gathers) {
    return gathers ? static_cast<std::size_t>(schedule.panel_rows * panel_stride(k)) * sizeof(T)
                   : 0;
  }

  static constexpr bool launches_itself = true;
  /// Enqueues a kernel of teams of this engine.
  template <class Kernel>
  static void launch(const GpuExecutionSpace& exec, int league, const std::string& label,
                     const Kernel& kernel) {
    Sm80::launch(exec, league, label, kernel, kernel.exchange.rank());
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
    for (int step = 0; step < a.count; ++step) {
      const int s = (a.first + step) % a.count;
      if (!wait(s)) return false;
      copy_rows<Sm80::batch>(team, a.shard(s), reinterpret_cast<T*>(buffer) + s * a.shard_k,
                             panel_stride(k));
    }
    team.team_barrier();
    panel = loaded(buffer, a.shard(a.first), k);
    return true;
  }
  KOKKOS_FUNCTION Panel loaded(const char* buffer, const MatrixRef<const T>& rows,
                               std::int64_t k) const {
    if (!gathers) return rows;
    return {reinterpret_cast<const T*>(buffer), rows.rows, k, panel_stride(k), 1};
  }

  template <class Team>
  KOKKOS_FORCEINLINE_FUNCTION void compute(const Team&, const Panel& panel, int owner,
                                           std::int64_t column, const AccTile<Acc>& out) const {
    const std::int64_t first = schedule.chunk_begin(owner) + column;
    for (std::int64_t i = 0; i < out.rows; i += tile) {
      for (std::int64_t j = 0; j < out.cols; j += tile) {
        const std::int64_t m = min64(tile, out.rows - i);
        const std::int64_t n = min64(tile, out.cols - j);
        const MatrixRef<const T> columns{b.at(0, first + j), n, b.rows, b.col_stride, b.row_stride};
        Sm80::TileProduct<T>::compute(panel.block(i, 0, m, panel.cols), columns,
                                      {out.data + i * out.ld + j, out.ld, m, n});
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
