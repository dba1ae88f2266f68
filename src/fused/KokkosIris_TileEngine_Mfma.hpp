// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// The tile engine for AMD GPUs with matrix cores, CDNA2 and CDNA3 (gfx90a, gfx942), for all
/// element types; on host backends, for tests, the same text with the matrix instructions emulated
/// (src/fused/arch/mfma). What an engine is: KokkosIris_TileEngine_Packed.hpp.

#ifndef KOKKOSIRIS_TILE_ENGINE_MFMA_HPP
#define KOKKOSIRIS_TILE_ENGINE_MFMA_HPP

#include <Kokkos_Core.hpp>
#include <core/KokkosIris_GpuSpace.hpp>
#include <cstddef>
#include <cstdint>
#include <fused/KokkosIris_ItemSchedule.hpp>
#include <fused/KokkosIris_Matrix.hpp>
#include <fused/KokkosIris_PanelShards.hpp>
#include <fused/arch/mfma/KokkosIris_MfmaProduct.hpp>
#include <fused/arch/mfma/KokkosIris_MfmaTileStore.hpp>

namespace KokkosIris::Impl {

/// True if the engine is compiled for an execution space: a GPU that has the instructions, or a
/// host backend, which emulates them.
template <class ExecutionSpace>
inline constexpr bool mfma_takes_v = !is_gpu_space_v<ExecutionSpace> || have_mfma_gpu;

template <class T>
struct MfmaTileEngine {
  using Acc = acc_type_t<T>;
  using TileStore = Mfma::TileStore<T>;
  using Product = Mfma::TileProduct<T>;

  /// The panel where it lies, or the copy of its shards.
  using Panel = MatrixRef<const T>;

  /// Threads of a team on a GPU: with so many, each may have 512 registers.
  static constexpr int team_threads = Mfma::team_threads;
  /// Tiles of a call that asks for none. Blocks are whole tiles: a narrower one takes as long.
  static constexpr std::int64_t tile = Product::tile;

  MatrixRef<const T> b;
  ItemSchedule schedule;
  bool gathers = false;  ///< A comes in several shards, which are copied to the buffer

  static std::size_t panel_bytes(const ItemSchedule& schedule, std::int64_t k, bool gathers) {
    return gathers ? static_cast<std::size_t>(schedule.panel_rows * panel_stride(k)) * sizeof(T)
                   : 0;
  }
  static std::size_t scratch_bytes() { return Mfma::scratch_bytes + Mfma::chunk_bytes; }

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
      Mfma::copy_rows(team, shard, reinterpret_cast<T*>(buffer) + column, panel_stride(k));
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

  template <class Team>
  KOKKOS_FUNCTION void compute(const Team& team, const Panel& panel, int owner, std::int64_t column,
                               const AccTile<Acc>& out) const {
    // A copy: each call takes the same memory.
    const auto scratch = team.team_scratch(0);
    char* const memory = static_cast<char*>(
        scratch.get_shmem_aligned(std::size_t(Mfma::scratch_bytes), Mfma::chunk_bytes));
    const std::int64_t first = schedule.chunk_begin(owner) + column;
    for (std::int64_t i = 0; i < out.rows; i += tile) {
      for (std::int64_t j = 0; j < out.cols; j += tile) {
        const std::int64_t m = min64(tile, out.rows - i);
        const std::int64_t n = min64(tile, out.cols - j);
        const MatrixRef<const T> columns{b.at(0, first + j), n, b.rows, b.col_stride, b.row_stride};
        Product::compute(team, memory, panel.block(i, 0, m, panel.cols), columns,
                         {out.data + i * out.ld + j, out.ld, m, n});
      }
    }
  }

 private:
  /// Rows of copied panels begin at multiples of 16 bytes.
  KOKKOS_FUNCTION static std::int64_t panel_stride(std::int64_t k) {
    return round_up(k, Mfma::chunk_elements<T>);
  }
};

}  // namespace KokkosIris::Impl

#endif
