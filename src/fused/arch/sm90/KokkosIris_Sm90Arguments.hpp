// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// What a kernel of this folder is given.

#ifndef KOKKOSIRIS_SM90_ARGUMENTS_HPP
#define KOKKOSIRIS_SM90_ARGUMENTS_HPP

#include <cuda.h>

#include <cstdint>
#include <fused/KokkosIris_FusedOptions.hpp>
#include <fused/KokkosIris_Matrix.hpp>
#include <fused/arch/sm90/KokkosIris_Sm90Exchange.hpp>
#include <fused/arch/sm90/KokkosIris_Sm90Ring.hpp>
#include <fused/arch/sm90/KokkosIris_Sm90Tiles.hpp>

namespace KokkosIris::Impl::Sm90 {

/// Blocks of K, counted through all shards, the own one first.
struct BlockRange {
  int begin, end;
  KOKKOS_FUNCTION int count() const { return end - begin; }
};

/// The tensor maps have three dimensions, so that boxes are cut at the ends of each part: shards of
/// K for A and B, ranks' rows for C. The innermost is the one along which elements are adjacent.
struct Arguments {
  CUtensorMap a;         ///< this rank's A, or its shard
  CUtensorMap gathered;  ///< the other shards; third coordinate: distance of the rank - 1
  CUtensorMap b;         ///< third coordinate: shard
  CUtensorMap c;         ///< third coordinate: rank, for send_to_all; unless !c_has_map

  Exchange exchange;
  TileMap tiles;
  Form form = Form::product;
  int shards = 1;    ///< of K
  int k_blocks = 1;  ///< of a shard
  /// Rows of A that are brought to a stage: fewer where the product has fewer than a tile. The
  /// others' results are garbage that nobody takes.
  int box_rows = tile_rows;
  RingShape small_ring;  ///< of small tiles
  /// Columns between the owners' chunks in B as the map has it: copies begin at multiples of 16
  /// bytes, at which chunks need not begin in the operand.
  std::int64_t b_chunk_pitch = 0;

  MatrixRef<std::uint16_t> c_elements;  ///< as the map has it, all ranks' rows one after the other
  int rows = 0;                         ///< M; C has as many for each rank
  bool c_has_map = false;
  bool c_column_major = false;  ///< how images of this rank lie

  /// This rank's shard of A, if blocks send it: rows of so many times 16 bytes, so many apart.
  const std::uint16_t* shard = nullptr;
  std::int64_t shard_pitch = 0;
  int shard_vectors = 0;

  const std::uint16_t* bias = nullptr;
  std::int64_t bias_stride = 0;
  BiasAxis bias_axis = BiasAxis::none;

  /// True if this rank adds partial tiles of others to its own tile.
  KOKKOS_FUNCTION bool sums(const Task& task) const {
    return (form == Form::sum_to_owner || form == Form::sum_to_all) &&
           task.owner == exchange.rank();
  }
  /// First column of a tile in C: an owner's C has its chunk alone.
  KOKKOS_FUNCTION std::int64_t column_in_c(const Task& task) const {
    return task.column - (form == Form::sum_to_owner ? task.owner * tiles.chunk_columns : 0);
  }
  /// The tasks of a block, for each of its warps.
  KOKKOS_FUNCTION TileWalk walk(int block, int blocks) const {
    return {tiles, exchange.rank(), block, blocks};
  }
  /// The blocks of a part of K.
  KOKKOS_FUNCTION BlockRange blocks_of(int part) const {
    const int blocks = shards * k_blocks;
    if (tiles.parts == 1) return {0, blocks};  // divisions take long
    return {blocks * part / tiles.parts, blocks * (part + 1) / tiles.parts};
  }
  /// False if half a tile lies below the product: then nobody computes, sends or waits for it.
  KOKKOS_FUNCTION bool has_rows(const Task& task, int half) const {
    return task.row + half * half_rows < rows;
  }
  /// True if the tile is another rank's to store.
  KOKKOS_FUNCTION bool is_foreign(const Task& task) const { return task.owner != exchange.rank(); }
};

inline constexpr int threads = 384;  ///< a warpgroup of producer and couriers, two of consumers

/// Registers of a thread after the warpgroups have divided them: 168 were given to each of 384.
inline constexpr int carrier_registers = 72;
inline constexpr int consumer_registers = 216;

}  // namespace KokkosIris::Impl::Sm90

#endif
