// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// Configuration of the fused operations, and the memory that they keep between calls.

#ifndef KOKKOSIRIS_FUSED_WORKSPACE_HPP
#define KOKKOSIRIS_FUSED_WORKSPACE_HPP

#include <Kokkos_Core.hpp>
#include <cstdint>
#include <fused/KokkosIris_ItemSchedule.hpp>
#include <fused/KokkosIris_TileExchange.hpp>
#include <heap/KokkosIris_ContextState.hpp>
#include <memory>
#include <string>
#include <utility>

namespace KokkosIris {

/// What computes the tiles of a fused operation.
enum class TileEngine : std::int32_t {
  automatic,  ///< KOKKOSIRIS_ENGINE, else the fastest one for the backend
  packed,     ///< packed panels and vector kernels chosen at run time; host backends
  blas,       ///< calls of the BLAS library; host backends, if built with one
  portable,   ///< Kokkos Kernels' batched GEMM; every backend
  sm90,       ///< tensor cores of Hopper GPUs (compute capability 9.0); 16-bit types
  mfma,  ///< matrix cores of AMD's CDNA2 and CDNA3 GPUs (gfx90a, gfx942); host backends emulate
         ///< it, which is slow and serves tests only
  sm80   ///< tensor cores, in float multiply-adds, of NVIDIA GPUs from compute capability 8.0 on
};

/// Tuning of a fused operation; never changes which rank owns what. All ranks give the same values,
/// 0 meaning the engine's choice. An engine that cannot serve a call (its element type, extents or
/// the sizes given here) is replaced by one that can; FusedWorkspace::engine() names it.
struct FusedConfig {
  TileEngine engine = TileEngine::automatic;
  std::int32_t panel_rows = 0;  ///< rows of the product that a team computes at a time
  /// Columns that a flag stands for, at most. An engine whose tiles have certain widths takes the
  /// widest of them, also where the rows are so few that a narrower one would be faster.
  std::int32_t block_columns = 0;
  std::int32_t teams = 0;  ///< teams of the kernel, at most the instance's concurrency

  bool operator==(const FusedConfig&) const = default;
};

namespace Impl {

enum class FusedOperation : std::int32_t {
  matmul_all_reduce,
  all_gather_matmul,
  matmul_all_gather,
  matmul_reduce_scatter
};
const char* to_string(FusedOperation operation) noexcept;
const char* to_string(TileEngine engine) noexcept;

/// Sizes of tiles: the same on all ranks, or their items would not be the same.
struct TileSizes {
  std::int64_t panel_rows = 0;
  std::int64_t block_columns = 0;
  std::int64_t granularity = 0;  ///< blocks begin at multiples of this
  bool operator==(const TileSizes&) const = default;
};

/// What a workspace was prepared for; equal on all ranks.
struct FusedSignature {
  FusedOperation operation;
  std::int32_t element;  ///< number of the element type
  std::int64_t m, n, k;  ///< of one rank's product
  FusedConfig config;    ///< as given
  TileEngine engine;     ///< as chosen
  std::int32_t padding = 0;
  /// As chosen; the packed engine's depend on its instruction set. Of sm80 only what is given: it
  /// chooses with the number of teams, on which the ranks agree together with this.
  TileSizes sizes;

  bool operator==(const FusedSignature&) const = default;
};

struct Sm90Workspace;

/// Memory of a prepared workspace.
struct WorkspaceState {
  FusedSignature signature;
  std::weak_ptr<ContextState> context;
  std::uint64_t epoch = 0;   ///< recoveries of the context before the preparation
  std::uint32_t number = 0;  ///< of the preparation, the same on all ranks; not 0

  int sm80_tile = 0;  ///< rows and columns of that engine's tiles
  ItemSchedule schedule;
  TileExchange exchange;
  std::int64_t tile_bytes = 0;   ///< one tile of accumulators
  std::int64_t panel_bytes = 0;  ///< one prepared panel of A
  char* tiles = nullptr;         ///< [team][2]
  char* panels = nullptr;        ///< [team], or [panel] where teams share panels
  char* prepared_b = nullptr;
  int league = 1;  ///< teams of this rank's kernel

  std::shared_ptr<Sm90Workspace> sm90;  ///< instead of schedule to prepared_b, for that engine

  // In this order: freeing local memory waits for this rank's kernels, and only then may the block
  // of the heap go, which others' kernels may still read until they drop it, too.
  std::shared_ptr<void> symmetric_memory;
  std::shared_ptr<void> local_memory;
};

}  // namespace Impl

/// Memory and flags of a fused operation, returned by its call and reusable by later calls with the
/// same operation, shape, element type and configuration; those do no communication between hosts
/// and allocate nothing (but for the first operands that an engine has to copy, see
/// KokkosIris_Sm90Engine.hpp). Copies refer to the same workspace. It serves one call at a time,
/// and all ranks pass the workspaces of the same earlier call. A workspace that does not fit is
/// prepared anew, which is collective. Its memory is freed with the last copy. Ranks that pass
/// workspaces of different calls get an error that names both by number(). After an error calls
/// prepare anew; a graph that has captured a call with a workspace whose kernel gave up is an error
/// when it is launched again.
class FusedWorkspace {
 public:
  FusedWorkspace() = default;
  explicit FusedWorkspace(std::shared_ptr<Impl::WorkspaceState> state)
      : m_state(std::move(state)) {}

  /// False for a default-constructed workspace.
  explicit operator bool() const { return m_state != nullptr; }
  /// Name of the operation it was prepared for, or "none".
  std::string operation() const;
  /// Name of the tile engine that serves it, or "none".
  std::string engine() const;

  /// Number of the call that prepared it: equal on all ranks, and different for every preparation
  /// of a context; 0 for a default-constructed workspace. Errors about workspaces name it.
  std::uint32_t number() const { return m_state ? m_state->number : 0; }

  /// For the layers of the library.
  const std::shared_ptr<Impl::WorkspaceState>& state() const { return m_state; }

 private:
  std::shared_ptr<Impl::WorkspaceState> m_state;
};

}  // namespace KokkosIris

#endif
