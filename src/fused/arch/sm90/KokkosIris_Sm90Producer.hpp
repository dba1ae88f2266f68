// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// The thread that brings operands to shared memory.

#ifndef KOKKOSIRIS_SM90_PRODUCER_HPP
#define KOKKOSIRIS_SM90_PRODUCER_HPP

#include <cstdint>
#include <fused/arch/sm90/KokkosIris_Sm90Arguments.hpp>
#include <fused/arch/sm90/KokkosIris_Sm90Copies.hpp>

namespace KokkosIris::Impl::Sm90 {

/// Fills the ring of stages with blocks of A and B for all tiles of this block of the grid. One
/// thread.
///
/// \tparam TransposedA rows of A's stage run along M, else along K; for B along N
template <int Columns, bool TransposedA, bool TransposedB, bool Small>
struct Producer {
  using Layout = SharedLayout<Columns, Small>;

  const Arguments& arguments;
  SharedAddress shared;
  std::uint64_t call;
  RingShape ring = Layout::ring(arguments.small_ring);
  RingPosition position{1};  ///< all stages are empty at first
  bool given_up = is_given_up(call);

  __device__ void run() {
    TileWalk walk = arguments.walk(blockIdx.x, gridDim.x);
    Task task{};
    bool more = walk.next(task);
    for (Tile tile = tile_of(task); more;) {
      Tile following{};
      load_operands(tile, [&] {
        more = walk.next(task);
        if (more) following = tile_of(task);
      });
      tile = following;
    }
  }

 private:
  /// What the stages of a tile have in common: computed once and a tile ahead, because the loop
  /// below must keep ahead of the tensor cores, and at small tiles of the memory. Finding a tile
  /// takes as long as the products of a stage.
  struct Tile {
    BlockRange blocks;
    int step;  ///< shard of the first block, counted from this rank's
    int row, column;
    bool second_box;      ///< A has more than 64 rows here, which matters where they are adjacent
    std::uint32_t bytes;  ///< of a stage
  };
  __device__ Tile tile_of(const Task& task) const {
    const TileMap& tiles = arguments.tiles;
    const std::int64_t shift =
        tiles.chunks == 1 ? 0 : task.owner * (arguments.b_chunk_pitch - tiles.chunk_columns);
    // Rows of 128 bytes: one for each row of A, or one for each of K and 64 rows.
    const bool second_box = arguments.box_rows > 64;
    const int a_rows = TransposedA ? (second_box ? 2 : 1) * block_k : arguments.box_rows;
    const BlockRange blocks = arguments.blocks_of(task.part);
    return {blocks,     blocks.begin == 0 ? 0 : blocks.begin / arguments.k_blocks,
            task.row,   static_cast<int>(task.column + shift),
            second_box, static_cast<std::uint32_t>(128 * a_rows + Layout::b_bytes)};
  }

  /// The own shard of K first: the others' are still coming. A wait that was given up ends the
  /// operation with an error, but the other warps still count on their stages.
  /// \param look_ahead called once, when there are copies under way to all stages
  template <class LookAhead>
  __device__ __forceinline__ void load_operands(const Tile& tile, const LookAhead& look_ahead) {
    const Exchange& exchange = arguments.exchange;
    const int full = tile.blocks.begin + min(ring.stages, tile.blocks.count());
    int step = tile.step;
    for (int begin = tile.blocks.begin; begin < tile.blocks.end; ++step) {
      const int shard_begin = step * arguments.k_blocks;
      const int end = min(tile.blocks.end, shard_begin + arguments.k_blocks);
      const int shard = arguments.shards == 1 ? 0 : exchange.peer(step);
      if (step > 0 && !given_up) {
        given_up = !exchange.wait_rows(call, shard, tile.row);
        fence_async();
      }
      const CUtensorMap* const map = step == 0 ? &arguments.a : &arguments.gathered;
      const int part = step == 0 ? 0 : step - 1;
      const auto load_until = [&](int limit) {
        for (; begin < limit; ++begin) {
          load_stage(tile, map, part, shard, (begin - shard_begin) * block_k);
        }
      };
      if (begin < full) {
        load_until(min(end, full));
        if (begin == full) look_ahead();
      }
      load_until(end);
    }
  }

  __device__ __forceinline__ void load_stage(const Tile& tile, const CUtensorMap* map_a, int part,
                                             int shard, int k) {
    const SharedAddress full = shared + Layout::full + 8 * position.stage;
    const SharedAddress a = shared + position.stage * ring.stage_bytes;
    const SharedAddress b = a + ring.a_bytes;
    barrier_wait(shared + Layout::empty + 8 * position.stage, position.parity);
    barrier_arrive_expect(full, tile.bytes);
    if constexpr (TransposedA) {
      load_box(a, map_a, full, tile.row, k, part);
      if (tile.second_box) load_box(a + 64 * 128, map_a, full, tile.row + 64, k, part);
    } else {
      load_box(a, map_a, full, k, tile.row, part);
    }
    if constexpr (TransposedB) {
#pragma unroll
      for (int i = 0; i < Columns; i += 64) {
        load_box(b + 128 * i, &arguments.b, full, tile.column + i, k, shard);
      }
    } else {
      load_box(b, &arguments.b, full, k, tile.column, shard);
    }
    position.advance(ring.stages);
  }
};

}  // namespace KokkosIris::Impl::Sm90

#endif
