// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// How a call is cut for the engine sm80: with tiles of 128 x 128 or of 64 x 64.
///
/// A multiprocessor has one team, which computes one tile at a time. Large tiles read each operand
/// less often; small ones keep more teams busy where the product has few tiles, and compute less in
/// vain where it has few rows.

#ifndef KOKKOSIRIS_SM80_DIVISION_HPP
#define KOKKOSIRIS_SM80_DIVISION_HPP

#include <Kokkos_Core.hpp>
#include <cstdint>
#include <fused/KokkosIris_FusedWorkspace.hpp>
#include <fused/KokkosIris_ItemSchedule.hpp>
#include <fused/KokkosIris_Matrix.hpp>

namespace KokkosIris::Impl {

struct Sm80Division {
  int tile = 0;  ///< rows and columns of the tiles
  ItemSchedule schedule;
};

inline constexpr int sm80_large_tile = 128;
inline constexpr int sm80_small_tile = 64;

/// Time of a tile, whatever K is. A small one has a quarter of the products, but takes longer than
/// a quarter: it reads twice as much for each of them, and hands itself over like a large one.
constexpr std::int64_t sm80_time_of_tile(int tile) { return tile == sm80_large_tile ? 400 : 115; }

/// Time of the team that has most to do.
inline std::int64_t sm80_time(const Sm80Division& division) {
  const ItemSchedule& s = division.schedule;
  const std::int64_t columns = min64(s.block_columns, s.chunk_columns(0));
  const std::int64_t tiles_of_item =
      s.owners * ceil_div(s.panel_rows, division.tile) * ceil_div(columns, division.tile);
  return ceil_div(s.items(), s.teams) * tiles_of_item * sm80_time_of_tile(division.tile);
}

/// Panels and blocks are a tile each unless the configuration says otherwise.
inline Sm80Division sm80_divide_into(int tile, std::int64_t rows, std::int64_t columns, int owners,
                                     const FusedConfig& config, std::int64_t teams) {
  const std::int64_t panel_rows = config.panel_rows > 0 ? config.panel_rows : tile;
  const std::int64_t block_columns = config.block_columns > 0 ? config.block_columns : tile;
  // Blocks are whole tiles, because a narrower tile takes as long.
  const std::int64_t granularity = block_columns % tile == 0 ? tile : 16;
  return {tile,
          ItemSchedule::make(rows, columns, owners, panel_rows, block_columns, granularity, teams)};
}

/// The faster division of a product of rows x columns. Depends on nothing but its arguments, which
/// are the same on all ranks.
/// \param owners chunks of columns
/// \param teams of the rank that has most
inline Sm80Division sm80_divide(std::int64_t rows, std::int64_t columns, int owners,
                                const FusedConfig& config, std::int64_t teams) {
  const auto large = sm80_divide_into(sm80_large_tile, rows, columns, owners, config, teams);
  const auto small = sm80_divide_into(sm80_small_tile, rows, columns, owners, config, teams);
  return sm80_time(small) < sm80_time(large) ? small : large;
}

}  // namespace KokkosIris::Impl

#endif
