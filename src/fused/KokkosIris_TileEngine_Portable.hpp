// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// The portable tile engine: Kokkos Kernels' batched GEMM on tiles in team scratch, for every
/// backend, layout and type. What an engine is: KokkosIris_TileEngine_Packed.hpp.

#ifndef KOKKOSIRIS_TILE_ENGINE_PORTABLE_HPP
#define KOKKOSIRIS_TILE_ENGINE_PORTABLE_HPP

#include <KokkosBatched_Gemm_Decl.hpp>
#include <KokkosBatched_Gemm_Team_Impl.hpp>
#include <Kokkos_Core.hpp>
#include <cstddef>
#include <cstdint>
#include <fused/KokkosIris_Matrix.hpp>
#include <fused/KokkosIris_TileStore.hpp>
#include <fused/KokkosIris_UnpackedEngine.hpp>

namespace KokkosIris::Impl {

template <class T>
struct PortableTileEngine : UnpackedEngine<T, PortableTileStore<T>> {
  using Base = UnpackedEngine<T, PortableTileStore<T>>;
  using typename Base::Acc;
  using typename Base::Panel;

  /// Of a team on a GPU. Kokkos' own choice holds for kernels of up to 1,024 threads, which leaves
  /// a thread too few registers on AMD GPUs.
  static constexpr int team_threads = 256;

  /// Sub-tile of a tile that is accumulated in scratch, and the stretch of K loaded at once: three
  /// tiles of double fit in the 48 KiB that Kokkos gives a team on any device.
  static constexpr int tile_rows = 32;
  static constexpr int tile_cols = 32;
  static constexpr int tile_k = 64;

  static std::size_t scratch_bytes() {
    // A little more than the tiles: each starts at a multiple of its alignment.
    return (tile_rows * tile_k + tile_k * tile_cols + tile_rows * tile_cols) * sizeof(Acc) + 64;
  }

  template <class Team>
  KOKKOS_FUNCTION void compute(const Team& team, const Panel& panel, int owner, std::int64_t column,
                               const AccTile<Acc>& tile) const {
    const std::int64_t first = this->schedule.chunk_begin(owner) + column;
    const MatrixRef<const T> columns = this->b.block(0, first, this->b.rows, tile.cols);
    for (std::int64_t i = 0; i < tile.rows; i += tile_rows) {
      for (std::int64_t j = 0; j < tile.cols; j += tile_cols) {
        const int m = static_cast<int>(min64(tile_rows, tile.rows - i));
        const int n = static_cast<int>(min64(tile_cols, tile.cols - j));
        compute_sub_tile(team, panel.block(i, 0, m, panel.cols),
                         columns.block(0, j, columns.rows, n), tile.data + i * tile.ld + j,
                         tile.ld);
      }
    }
  }

 private:
  template <class Team, int Rows, int Cols>
  using TileView = Kokkos::View<Acc[Rows][Cols], Kokkos::LayoutRight,
                                typename Team::execution_space::scratch_memory_space,
                                Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

  /// Copies to scratch in accumulator type; what lies outside becomes zero.
  template <class Team, class View>
  KOKKOS_FUNCTION static void load_tile(const Team& team, const MatrixRef<const T>& from,
                                        const View& to) {
    constexpr int rows = static_cast<int>(View::static_extent(0));
    constexpr int cols = static_cast<int>(View::static_extent(1));
    Kokkos::parallel_for(Kokkos::TeamVectorRange(team, rows * cols), [&](int index) {
      const int i = index / cols;
      const int j = index % cols;
      to(i, j) = i < from.rows && j < from.cols ? static_cast<Acc>(*from.at(i, j)) : Acc(0);
    });
  }

  template <class Team>
  KOKKOS_FUNCTION void compute_sub_tile(const Team& team, const MatrixRef<const T>& a,
                                        const MatrixRef<const T>& columns, Acc* out,
                                        std::int64_t ld) const {
    const auto scratch = team.team_scratch(0);
    const TileView<Team, tile_rows, tile_k> a_tile(scratch);
    const TileView<Team, tile_k, tile_cols> b_tile(scratch);
    const TileView<Team, tile_rows, tile_cols> sums(scratch);
    Kokkos::parallel_for(Kokkos::TeamVectorRange(team, tile_rows * tile_cols),
                         [&](int index) { sums(index / tile_cols, index % tile_cols) = Acc(0); });
    for (std::int64_t k = 0; k < a.cols; k += tile_k) {
      const std::int64_t depth = min64(tile_k, a.cols - k);
      load_tile(team, a.block(0, k, a.rows, depth), a_tile);
      load_tile(team, columns.block(k, 0, depth, columns.cols), b_tile);
      team.team_barrier();
      KokkosBatched::TeamGemm<Team, KokkosBatched::Trans::NoTranspose,
                              KokkosBatched::Trans::NoTranspose,
                              KokkosBatched::Algo::Gemm::Blocked>::invoke(team, Acc(1), a_tile,
                                                                          b_tile, Acc(1), sums);
      team.team_barrier();
    }
    team.team_barrier();
    Kokkos::parallel_for(Kokkos::TeamVectorRange(team, a.rows * columns.cols),
                         [&](std::int64_t index) {
                           const std::int64_t i = index / columns.cols;
                           const std::int64_t j = index % columns.cols;
                           out[i * ld + j] = sums(i, j);
                         });
    team.team_barrier();
  }
};

}  // namespace KokkosIris::Impl

#endif
