// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// How a fused operation is cut into items, and in which order teams take them.

#ifndef KOKKOSIRIS_ITEM_SCHEDULE_HPP
#define KOKKOSIRIS_ITEM_SCHEDULE_HPP

#include <Kokkos_Core.hpp>
#include <cstdint>
#include <fused/KokkosIris_Matrix.hpp>

namespace KokkosIris::Impl {

/// The division of the M x N result of one rank's product.
///
/// Rows are cut into panels, columns into one chunk for each owner (a function of N and the number
/// of ranks only), and each chunk into the same number of blocks. An *item* is one panel with block
/// c of every chunk. Items are numbered so that team t of `teams` takes items t, t + teams, ... and
/// meets all blocks of a panel one after the other:
///     item = (panel / stripe * blocks + block) * stripe + panel % stripe,
/// where stripe is the number of teams, or of panels if they are fewer: then teams share them.
/// Every rank uses the same numbers, which is what makes the waits of the exchanges free of cycles:
/// an item waits only for items of lower number (see KokkosIris_TileExchange.hpp).
struct ItemSchedule {
  std::int64_t rows = 0;        ///< M
  std::int64_t columns = 0;     ///< N
  int owners = 1;               ///< chunks of columns
  std::int64_t panel_rows = 1;  ///< rows of all panels but the last
  std::int64_t panels = 0;
  std::int64_t block_columns = 1;  ///< columns of all blocks but the last of a chunk
  std::int64_t blocks = 1;
  std::int64_t teams = 1;
  std::int64_t stripe = 1;

  struct Item {
    std::int64_t panel;
    std::int64_t block;
    std::int64_t row;   ///< first row
    std::int64_t rows;  ///< 0: no work
  };

  /// \param granularity blocks begin at multiples of this in their chunk
  static ItemSchedule make(std::int64_t rows, std::int64_t columns, int owners,
                           std::int64_t panel_rows, std::int64_t most_block_columns,
                           std::int64_t granularity, std::int64_t teams) {
    ItemSchedule s;
    s.rows = rows;
    s.columns = columns;
    s.owners = owners;
    s.panel_rows = max64(1, min64(panel_rows, rows));
    s.panels = ceil_div(rows, s.panel_rows);
    s.teams = teams;
    s.stripe = max64(1, min64(teams, s.panels));
    const std::int64_t widest = max64(1, ceil_div(columns, owners));
    std::int64_t blocks = ceil_div(widest, most_block_columns);
    // Few panels: narrower blocks, so that every team gets about four items.
    if (s.panels > 0 && s.panels < teams) blocks = max64(blocks, ceil_div(4 * teams, s.panels));
    s.block_columns = round_up(ceil_div(widest, blocks), granularity);
    s.blocks = ceil_div(widest, s.block_columns);
    return s;
  }

  KOKKOS_FUNCTION std::int64_t items() const { return ceil_div(panels, stripe) * blocks * stripe; }

  KOKKOS_FUNCTION Item item(std::int64_t number) const {
    const std::int64_t round = number / stripe;
    const std::int64_t panel = round / blocks * stripe + number % stripe;
    const std::int64_t row = panel * panel_rows;
    return {panel, round % blocks, row, max64(0, min64(panel_rows, rows - row))};
  }

  /// First column of the chunk of an owner; chunk_begin(owners) is N.
  KOKKOS_FUNCTION std::int64_t chunk_begin(int owner) const {
    const std::int64_t quotient = columns / owners;
    return owner * quotient + min64(owner, columns % owners);
  }
  KOKKOS_FUNCTION std::int64_t chunk_columns(int owner) const {
    return chunk_begin(owner + 1) - chunk_begin(owner);
  }
  /// Columns of a block of an owner's chunk; 0 if the chunk ends before it.
  KOKKOS_FUNCTION std::int64_t columns_of(int owner, std::int64_t block) const {
    return max64(0, min64(block_columns, chunk_columns(owner) - block * block_columns));
  }

  /// Leading dimension of tiles in buffers of the library: rows a power of two apart would compete
  /// for a few lines of the first-level cache.
  KOKKOS_FUNCTION std::int64_t tile_stride() const { return block_columns + 16; }

  /// True if teams share panels, so that each operand panel is prepared once for all of them.
  KOKKOS_FUNCTION bool shares_panels() const { return panels < teams && blocks > 1; }
};

}  // namespace KokkosIris::Impl

#endif
