// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include <fused/KokkosIris_Matrix.hpp>
#include <fused/KokkosIris_Sm80Division.hpp>

namespace KokkosIris::Impl {

namespace {

/// A small tile has a quarter of a large one's products, but takes longer than a quarter of its
/// time: it reads twice as much for each of them, and adds what groups of warps have. Measured on
/// an H200 with all multiprocessors busy and K from 1024 to 4096: in double 1.11 to 1.17 quarters,
/// in float 1.2 to 1.4, in half 1.65.
std::int64_t time_of_tile(int tile, int element_bytes) {
  if (tile == sm80_large_tile) return 400;
  return element_bytes == 8 ? 115 : element_bytes == 4 ? 130 : 165;
}

/// Blocks are whole tiles where they may be, because a narrower tile takes as long. Sizes that are
/// given are kept as they are as far as that goes.
std::int64_t granularity_of(std::int64_t block_columns) {
  for (const int tile : {sm80_large_tile, sm80_small_tile}) {
    if (block_columns % tile == 0) return tile;
  }
  return 16;
}

}  // namespace

Sm80Division sm80_divide_into(int tile, const Sm80Work& work) {
  const FusedConfig& config = work.config;
  const std::int64_t panel_rows = config.panel_rows > 0 ? config.panel_rows : tile;
  const std::int64_t block_columns = config.block_columns > 0 ? config.block_columns : tile;
  return {tile, ItemSchedule::make(work.rows, work.columns, work.owners, panel_rows, block_columns,
                                   granularity_of(block_columns), work.teams)};
}

std::int64_t sm80_time(const Sm80Division& division, int element_bytes) {
  const ItemSchedule& s = division.schedule;
  const std::int64_t columns = min64(s.block_columns, s.chunk_columns(0));
  const std::int64_t tiles_of_item =
      s.owners * ceil_div(s.panel_rows, division.tile) * ceil_div(columns, division.tile);
  return ceil_div(s.items(), s.teams) * tiles_of_item * time_of_tile(division.tile, element_bytes);
}

Sm80Division sm80_divide(const Sm80Work& work) {
  const Sm80Division large = sm80_divide_into(sm80_large_tile, work);
  const Sm80Division small = sm80_divide_into(sm80_small_tile, work);
  return sm80_time(small, work.element_bytes) < sm80_time(large, work.element_bytes) ? small
                                                                                     : large;
}

}  // namespace KokkosIris::Impl
