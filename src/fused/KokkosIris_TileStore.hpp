// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// From accumulator tiles to results: adding partial tiles in rank order, rounding once, storing to
/// any number of ranks.

#ifndef KOKKOSIRIS_TILE_STORE_HPP
#define KOKKOSIRIS_TILE_STORE_HPP

#include <Kokkos_Core.hpp>
#include <cstdint>
#include <fused/KokkosIris_FusedOptions.hpp>
#include <fused/KokkosIris_Matrix.hpp>

namespace KokkosIris::Impl {

/// A tile of accumulators in memory: rows of `ld` elements.
template <class Acc>
struct AccTile {
  Acc* data = nullptr;
  std::int64_t ld = 0;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
};

/// Tile operations for any backend, element by element with all threads of the team.
template <class T>
struct PortableTileStore {
  using Acc = acc_type_t<T>;

  /// Elements from row to row of a copied panel with `k` columns.
  KOKKOS_FUNCTION static std::int64_t panel_stride(std::int64_t k) { return k; }
  /// Copies a matrix to rows that are adjacent and `ld` apart, for other threads to read behind a
  /// team barrier.
  template <class Team>
  KOKKOS_FUNCTION static void copy_rows(const Team& team, const MatrixRef<const T>& from, T* to,
                                        std::int64_t ld) {
    for_each_element(team, from.rows, from.cols,
                     [&](std::int64_t i, std::int64_t j) { to[i * ld + j] = *from.at(i, j); });
  }

  /// tile(i, j) += the bias of row `row` + i or column `col` + j.
  template <class Team>
  KOKKOS_FUNCTION void add_bias(const Team& team, const AccTile<Acc>& tile, const Bias<T>& bias,
                                std::int64_t row, std::int64_t col) const {
    if (bias.axis == BiasAxis::none) return;
    team.team_barrier();
    for_each_element(team, tile.rows, tile.cols, [&](std::int64_t i, std::int64_t j) {
      const std::int64_t k = bias.axis == BiasAxis::rows ? row + i : col + j;
      tile.data[i * tile.ld + j] += static_cast<Acc>(bias.data[k * bias.stride]);
    });
  }

  /// Stores the sum of `parts` tiles of equal extents, added in the order 0, 1, ..., to each of
  /// `targets` blocks. Begins with a team barrier: other threads may have written the tiles.
  /// \param part    part(p) is tile p
  /// \param target  target(t) is block t, of the tile's extents
  /// \param local   the first `local` targets are this rank's memory, the others are peers'
  template <class Team, class Part, class Target>
  KOKKOS_FUNCTION void sum(const Team& team, int parts, const Part& part, int targets,
                           const Target& target, [[maybe_unused]] int local) const {
    team.team_barrier();
    const AccTile<Acc> first = part(0);
    for_each_element(team, first.rows, first.cols, [&](std::int64_t i, std::int64_t j) {
      Acc total = first.data[i * first.ld + j];
      for (int p = 1; p < parts; ++p) {
        const AccTile<Acc> tile = part(p);
        total += tile.data[i * tile.ld + j];
      }
      const T value = static_cast<T>(total);
      for (int t = 0; t < targets; ++t) *target(t).at(i, j) = value;
    });
  }

 private:
  template <class Team, class Body>
  KOKKOS_FUNCTION static void for_each_element(const Team& team, std::int64_t rows,
                                               std::int64_t cols, const Body& body) {
    Kokkos::parallel_for(Kokkos::TeamVectorRange(team, rows * cols),
                         [&](std::int64_t index) { body(index / cols, index % cols); });
  }
};

}  // namespace KokkosIris::Impl

#endif
