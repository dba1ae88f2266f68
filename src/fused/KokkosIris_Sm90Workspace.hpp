// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// What a workspace of the engine of Hopper GPUs holds.

#ifndef KOKKOSIRIS_SM90_WORKSPACE_HPP
#define KOKKOSIRIS_SM90_WORKSPACE_HPP

#include <Kokkos_Core.hpp>
#include <core/KokkosIris_GpuSpace.hpp>
#include <cstddef>
#include <cstdint>
#include <fused/KokkosIris_FusedProblem.hpp>
#include <fused/KokkosIris_Sm90ShardCopies.hpp>
#include <fused/arch/sm90/KokkosIris_Sm90Arguments.hpp>
#include <fused/arch/sm90/KokkosIris_Sm90Launch.hpp>
#include <memory>

namespace KokkosIris::Impl {

struct Sm90Workspace {
  Sm90::Variant variant{};    ///< but for the layouts, which are a call's
  Sm90::Arguments arguments;  ///< what all calls have in common
  std::int64_t shard_k = 0;   ///< K of a shard
  std::int64_t pitch = 0;     ///< elements between rows of gathered shards
  int blocks = 1;             ///< of the grid, at most
  std::unique_ptr<Sm90::ShardCopies> copies;

  /// Copies of operands that the copy hardware cannot take; allocated when first needed.
  Kokkos::View<std::uint16_t*, GpuMemorySpace> packed_a, packed_b;
};

namespace Sm90 {

/// The division of a product into tiles: a function of the problem and the configuration only.
struct TilePlan {
  int columns = 0;  ///< of a tile; 0: there is no plan for this configuration
  bool small = false;
  int parts = 1;  ///< of K
};
TilePlan plan_tiles(const FusedProblem& problem, const FusedConfig& config);

/// What becomes of tiles.
Form form_of(const FusedProblem& problem);

TileMap tile_map(const FusedProblem& problem, Form form, const TilePlan& plan);

/// Offsets of the parts of an exchange in the symmetric block, in bytes. Flags come first.
struct BlockLayout {
  std::size_t partial_ready, sum_ready, arrived, done;
  std::size_t packets, cleared_end;  ///< all before this begins as zero
  std::size_t partials, sums, gathered;
  std::size_t end;
};

}  // namespace Sm90
}  // namespace KokkosIris::Impl

#endif
