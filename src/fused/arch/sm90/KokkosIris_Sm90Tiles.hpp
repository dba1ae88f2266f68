// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// Which tile a block computes next, whose it is, and how a tile lies in memory while it travels.

#ifndef KOKKOSIRIS_SM90_TILES_HPP
#define KOKKOSIRIS_SM90_TILES_HPP

#include <Kokkos_Core.hpp>
#include <core/KokkosIris_DeviceContext.hpp>
#include <cstdint>
#include <fused/KokkosIris_Matrix.hpp>

namespace KokkosIris::Impl::Sm90 {

inline constexpr int tile_rows = 128;  ///< two warpgroups of 64
inline constexpr int half_rows = 64;   ///< what one warpgroup computes: half a tile
inline constexpr int halves = 2;
inline constexpr int block_k = 64;  ///< of K in one stage

/// What becomes of finished tiles.
enum class Form : int {
  product,       ///< to this rank's C: one rank, or the operand was gathered
  sum_to_owner,  ///< partial tiles to the owner of their columns, who adds them
  sum_to_all,    ///< the same, and the owner's sums to all
  send_to_all    ///< every tile to all ranks
};

/// A tile of the product.
struct Task {
  int owner;            ///< rank that the tile's columns belong to
  int slot;             ///< number among the tiles of its chunk
  int row;              ///< first row
  std::int64_t column;  ///< first column
  int part;             ///< of K
  bool empty;           ///< lies outside of the product
};

/// The tiles of an M x N product: columns in one chunk for each owner, each of the same number of
/// tiles ("slots"). Within a chunk, groups of `group` tile rows are walked column by column, so
/// that tiles that are computed at the same time share operands in the cache.
struct TileMap {
  int rows_of_tiles = 0;
  int columns_of_tiles = 0;  ///< of one chunk
  int chunks = 1;
  int group = 8;
  int tile_columns = 256;
  bool alternates = false;  ///< see TileWalk
  int parts = 1;            ///< of K; each computed by a block of its own
  std::int64_t chunk_columns = 0;
  std::int64_t columns = 0;  ///< N

  KOKKOS_FUNCTION int slots() const { return rows_of_tiles * columns_of_tiles; }
  KOKKOS_FUNCTION int tasks() const { return parts * chunks * slots(); }

  /// Tile `slot` of an owner's chunk.
  KOKKOS_FUNCTION Task place(int slot, int owner) const {
    const int per_group = group * columns_of_tiles;
    const int first_row = slot / per_group * group;
    const int within = slot % per_group;
    const int left = rows_of_tiles - first_row;
    const int rows = left < group ? left : group;
    const std::int64_t column =
        (chunks == 1 ? 0 : owner * chunk_columns) + std::int64_t(within / rows) * tile_columns;
    return {owner, slot, (first_row + within % rows) * tile_rows, column, 0, column >= columns};
  }
};

/// The tasks of one block of a grid, in the order in which all its warps go through them. Ranks
/// begin with different peers' chunks, and with what others wait for.
///
/// - One chunk: slots block, block + blocks, ...; parts of K are neighbours.
/// - Chunks of owners: the same through all foreign chunks, then through the own one: what the
///   others add has had half of the call's time to come.
/// - `alternates` (sum_to_all with many tiles): for each of its slots the block computes the tiles
///   of the foreign chunks, then that of the own chunk at the slot *before*. So partial tiles and
///   sums travel all the time.
///
/// Waits for other ranks have no cycle, whatever the grids: the tile of the own chunk at a slot
/// waits for tiles of other ranks at the same slot, and in no block's order does a foreign tile
/// come after an own one of the same or a later slot.
class TileWalk {
 public:
  KOKKOS_FUNCTION TileWalk(const TileMap& tiles, int rank, int block, int blocks)
      : m_tiles(tiles), m_rank(rank), m_block(block), m_blocks(blocks) {}

  /// Goes on to the next tile. \return false if there is none
  KOKKOS_FUNCTION bool next(Task& task) {
    while (next_place(task)) {
      if (!task.empty) return true;
    }
    return false;
  }
  /// The same, with places of tiles that lie outside of the product.
  KOKKOS_FUNCTION bool next_place(Task& task) {
    return m_tiles.alternates ? alternate(task) : advance(task);
  }

 private:
  /// Of the chunk that this rank takes as number `step`: its own one is the last.
  KOKKOS_FUNCTION int owner_at(int step) const {
    return rank_after(m_rank, 1 + step, m_tiles.chunks);
  }
  KOKKOS_FUNCTION bool advance(Task& task) {
    const int number = m_block + m_position++ * m_blocks;
    if (number >= m_tiles.tasks()) return false;
    const int tile = number / m_tiles.parts, slots = m_tiles.slots(), step = tile / slots;
    // Without chunks every tile is this rank's; else its own chunk is the last one.
    task = m_tiles.place(tile - step * slots, m_tiles.chunks == 1 ? m_rank : owner_at(step));
    task.part = number - tile * m_tiles.parts;
    return true;
  }
  KOKKOS_FUNCTION bool alternate(Task& task) {
    for (;;) {
      const int round = m_position / m_tiles.chunks, step = m_position % m_tiles.chunks;
      ++m_position;
      const bool own = step == m_tiles.chunks - 1;
      const int slot = m_block + (own ? round - 1 : round) * m_blocks;
      if (own && slot >= m_tiles.slots()) return false;
      if (slot < 0 || slot >= m_tiles.slots()) continue;
      task = m_tiles.place(slot, owner_at(step));
      return true;
    }
  }

  const TileMap& m_tiles;
  int m_rank, m_block, m_blocks;
  int m_position = 0;
};

/// Half a tile, 64 rows, as it lies in shared memory and travels to other ranks: rows of 128 bytes
/// with the 128-byte swizzle, which maps of tensors take and give.
/// - row-major: a block of 64 rows for each 64 columns;
/// - column-major: a row of 128 bytes for each column.
/// \tparam Columns of the tile
template <int Columns>
struct TileImage {
  static constexpr int bytes = half_rows * Columns * 2;
  static constexpr int block_bytes = half_rows * 128;

  /// Where element (row, column) lies.
  KOKKOS_FUNCTION static int offset(bool column_major, int row, int column) {
    const int line = column_major ? column : (column / 64) * half_rows + row;
    const int place = column_major ? row : column % 64;
    return line * 128 + (((place / 8) ^ (line % 8)) * 16) + place % 8 * 2;
  }
};

}  // namespace KokkosIris::Impl::Sm90

#endif
