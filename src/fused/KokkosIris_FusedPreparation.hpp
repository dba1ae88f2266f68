// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// Preparing the workspace of a fused operation: agreement, schedule, memory, flags.

#ifndef KOKKOSIRIS_FUSED_PREPARATION_HPP
#define KOKKOSIRIS_FUSED_PREPARATION_HPP

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <core/KokkosIris_AlignedParts.hpp>
#include <core/KokkosIris_Concurrency.hpp>
#include <exception>
#include <fused/KokkosIris_FusedProblem.hpp>
#include <fused/KokkosIris_FusedWorkspace.hpp>
#include <fused/KokkosIris_Sm80Division.hpp>
#include <fused/KokkosIris_Sm90Engine.hpp>
#include <fused/KokkosIris_TileEngine_Blas.hpp>
#include <fused/KokkosIris_TileEngine_Mfma.hpp>
#include <fused/KokkosIris_TileEngine_Packed.hpp>
#include <fused/KokkosIris_TileEngine_Portable.hpp>
#include <fused/KokkosIris_TileEngine_Sm80.hpp>
#include <heap/KokkosIris_Context.hpp>
#include <memory>
#include <string>

namespace KokkosIris::Impl {

/// Local memory that an engine needs.
struct EngineMemory {
  std::size_t panel_bytes = 0;
  std::size_t prepared_bytes = 0;
};

/// \throws std::runtime_error for a bad KOKKOSIRIS_HOST_ISA
template <class T, bool Host>
TileSizes preferred_sizes(TileEngine engine, const FusedProblem& problem,
                          const FusedConfig& config) {
  // Its sizes follow from the number of teams, on which the ranks have not agreed yet.
  if (engine == TileEngine::sm80) return {};
  if (engine == TileEngine::mfma) {
    // Blocks are whole tiles: a narrower one takes as long.
    constexpr std::int64_t tile = MfmaTileEngine<T>::tile;
    const bool narrow = config.block_columns > 0 && config.block_columns < tile;
    return {tile, tile, narrow ? 16 : tile};
  }
  if constexpr (Host) {
    const PackedGemm& gemm = packed_gemm(element_kind<T>::value, problem.m());
    if (engine == TileEngine::packed) {
      // B is read best along its rows, and tiles of few rows fit in cache even so.
      const std::int64_t rows = std::max<std::int64_t>(1, problem.m());
      const std::int64_t columns = rows <= 2 * gemm.mr ? 4 * gemm.tile_columns : gemm.tile_columns;
      return {gemm.balanced_panel_rows(rows), columns, gemm.nr};
    }
    if (engine == TileEngine::blas) return {256, 1024, 16};
  }
  using Engine = PortableTileEngine<T>;
  return {2 * Engine::tile_rows, 4 * Engine::tile_cols, Engine::tile_cols};
}

/// The sizes of a call's tiles, of all engines but sm90, of sm80 those that are given; without any
/// if the call has a fault, which this may find.
template <class T, bool Host>
TileSizes choose_sizes(TileEngine engine, const FusedProblem& problem, const FusedConfig& config,
                       std::string& fault) {
  if (!fault.empty()) return {};
  try {
    TileSizes sizes = preferred_sizes<T, Host>(engine, problem, config);
    if (config.panel_rows > 0) sizes.panel_rows = config.panel_rows;
    if (config.block_columns > 0) sizes.block_columns = config.block_columns;
    return sizes;
  } catch (const std::exception& error) {
    fault = error.what();
    return {};
  }
}

template <class T, bool Host>
EngineMemory memory_of(TileEngine engine, const ItemSchedule& schedule,
                       const FusedProblem& problem) {
  const std::int64_t k = problem.k();
  if constexpr (Host) {
    const PackedGemm& gemm = packed_gemm(element_kind<T>::value, problem.m());
    if (engine == TileEngine::packed) {
      return {PackedTileEngine<T>::panel_bytes(gemm, schedule, k),
              PackedTileEngine<T>::prepared_bytes(gemm, schedule, k)};
    }
#ifdef KOKKOSIRIS_ENABLE_BLAS
    if (engine == TileEngine::blas) {
      return {BlasTileEngine<T>::panel_bytes(schedule, k),
              BlasTileEngine<T>::prepared_bytes(k, problem.n())};
    }
#endif
  }
  const bool gathers = problem.operation == FusedOperation::all_gather_matmul;
  if (engine == TileEngine::mfma || engine == TileEngine::sm80) {
    return {ChunkEngine<T, 1, 1>::panel_bytes(schedule, k, gathers), 0};
  }
  return {PortableTileEngine<T>::panel_bytes(schedule, k, gathers), 0};
}

/// True if the workspace can serve calls in the context's present state.
inline bool serves(const FusedWorkspace& workspace, const ContextState& context,
                   std::uint64_t epoch) {
  const auto& state = workspace.state();
  return state && state->epoch == epoch && state->context.lock().get() == &context;
}

/// Sets the sizes of the exchange, which follow from the schedule.
template <class T>
void size_exchange(const DeviceContext& context, WorkspaceState& state) {
  const ItemSchedule& schedule = state.schedule;
  const bool reduces = schedule.owners > 1;
  state.tile_bytes = round_up(
      schedule.panel_rows * schedule.tile_stride() * std::int64_t(sizeof(acc_type_t<T>)), 128);
  TileExchange& exchange = state.exchange;
  exchange.context = context;
  exchange.items = schedule.items();
  exchange.slot_bytes = reduces ? state.tile_bytes : 0;
  exchange.slots = reduces ? TileExchange::slots_for(exchange.items, schedule.teams) : 0;
}

/// Allocates and clears the memory of a workspace whose exchange has its sizes. Collective.
template <class ExecutionSpace, class MemorySpace>
void allocate_workspace(const ExecutionSpace& exec, Context<MemorySpace>& context, int ranks,
                        const EngineMemory& memory, WorkspaceState& state) {
  TileExchange& exchange = state.exchange;
  auto block = context.template empty<char*>(
      "KokkosIris::workspace",
      TileExchange::symmetric_bytes(ranks, exchange.slots, exchange.slot_bytes));
  exchange.place(block.data());

  static_assert(AlignedParts::alignment % alignof(LocalWords) == 0);
  AlignedParts parts;
  const std::size_t words_at = parts.add(sizeof(LocalWords));
  const std::int64_t buffers =
      state.schedule.shares_panels() ? state.schedule.panels : state.league;
  const std::size_t panels_at = parts.add(memory.panel_bytes * static_cast<std::size_t>(buffers));
  const std::size_t tiles_at =
      parts.add(static_cast<std::size_t>(2 * state.tile_bytes * state.league));
  const std::size_t b_at = parts.add(memory.prepared_bytes);
  std::string fault;
  Kokkos::View<char*, MemorySpace> local;
  try {
    local = Kokkos::View<char*, MemorySpace>(
        Kokkos::view_alloc(Kokkos::WithoutInitializing, "KokkosIris::workspace"),
        parts.bytes_anywhere());
    fill(exec, AlignedParts::begin_in(local.data()) + words_at, sizeof(LocalWords),
         ConstantValues<char>{0});
    fill(exec, block.data(), TileExchange::flag_bytes(ranks, exchange.slots),
         ConstantValues<char>{0});
    exec.fence("KokkosIris::workspace");
  } catch (const std::exception& error) {
    fault = "no memory for a workspace of " + std::to_string(parts.bytes_anywhere()) +
            " bytes: " + error.what();
  }
  // Also the barrier after which the flags of all ranks are clear.
  agree_on_call(context.runtime(), state.signature, 0, fault, ErrorCode::out_of_memory);

  char* const begin = AlignedParts::begin_in(local.data());
  exchange.local = reinterpret_cast<LocalWords*>(begin + words_at);
  state.panels = begin + panels_at;
  state.panel_bytes = static_cast<std::int64_t>(memory.panel_bytes);
  state.tiles = begin + tiles_at;
  state.prepared_b = memory.prepared_bytes > 0 ? begin + b_at : nullptr;
  state.symmetric_memory = std::make_shared<decltype(block)>(block);
  state.local_memory = std::make_shared<decltype(local)>(local);
}

/// The tiles of the engine for Hopper GPUs for a legal call, if it serves. Those of a workspace for
/// the same call stand, so that repeated calls do not choose again.
template <class MemorySpace>
TileSizes choose_sm90_sizes(const GpuExecutionSpace& exec, const Context<MemorySpace>& context,
                            const FusedProblem& problem, const FusedConfig& config,
                            const FusedSignature* given) {
  if (given != nullptr) {
    const FusedSignature same{problem.operation, problem.element, problem.m(),      problem.n(),
                              problem.k(),       config,          TileEngine::sm90, 0,
                              given->sizes};
    if (same == *given) return given->sizes;
  }
  return sm90_sizes(exec, problem, config, context.heap_capacity());
}

/// What a call asks for, and in `fault` why it is illegal, if so.
/// \param given of a workspace that can serve, or null
template <class T, bool Host, class ExecutionSpace, class MemorySpace>
FusedSignature signature_of(const ExecutionSpace& exec, const Context<MemorySpace>& context,
                            const FusedProblem& problem, const FusedConfig& config,
                            [[maybe_unused]] const FusedSignature* given, std::string& fault) {
  fault = find_fault(problem);
  if (config.panel_rows < 0 || config.block_columns < 0 || config.teams < 0) {
    fault = "a size in FusedConfig is negative; 0 means automatic";
  }
  TileSizes of_sm90;
  if constexpr (sm90_takes_v<T, ExecutionSpace>) {
    if (fault.empty()) of_sm90 = choose_sm90_sizes(exec, context, problem, config, given);
  }
  const EngineChoice choice{Host, of_sm90.panel_rows > 0, sm80_takes_v<ExecutionSpace>,
                            mfma_takes_v<ExecutionSpace>};
  const TileEngine engine = choose_engine(config.engine, choice,
                                          std::max({problem.m(), problem.n(), problem.k()}), fault);
  const TileSizes sizes =
      engine == TileEngine::sm90 ? of_sm90 : choose_sizes<T, Host>(engine, problem, config, fault);
  return {problem.operation,
          problem.element,
          problem.m(),
          problem.n(),
          problem.k(),
          config,
          engine,
          0,
          sizes};
}

/// A new workspace. Collective, and all ranks may have a fault.
template <class T, bool Host, class ExecutionSpace, class MemorySpace>
FusedWorkspace make_workspace(const ExecutionSpace& exec, Context<MemorySpace>& context,
                              const FusedProblem& problem, const FusedSignature& signature,
                              const std::string& fault) {
  Runtime& runtime = context.runtime();
  auto state = std::make_shared<WorkspaceState>();
  const std::int64_t concurrency = resident_teams(exec, context.shared_state()->ranks_on_gpu());
  const std::int64_t asked = signature.config.teams;
  state->league = static_cast<int>(asked > 0 ? std::min(asked, concurrency) : concurrency);
  const std::int64_t teams = agree_on_call(runtime, signature, state->league, fault);

  state->signature = signature;
  if (signature.engine == TileEngine::sm90) {
    if constexpr (sm90_takes_v<T, ExecutionSpace>) sm90_prepare(exec, context, problem, *state);
  } else {
    const bool reduces = problem.operation == FusedOperation::matmul_all_reduce ||
                         problem.operation == FusedOperation::matmul_reduce_scatter;
    const int owners = reduces ? problem.ranks : 1;
    if (signature.engine == TileEngine::sm80) {
      const Sm80Division division =
          sm80_divide({problem.m(), problem.n(), owners, teams, int(sizeof(T)), signature.config});
      state->sm80_tile = division.tile;
      state->schedule = division.schedule;
    } else {
      const TileSizes& sizes = signature.sizes;
      state->schedule = ItemSchedule::make(problem.m(), problem.n(), owners, sizes.panel_rows,
                                           sizes.block_columns, sizes.granularity, teams);
    }
    size_exchange<T>(context.device(), *state);
    allocate_workspace(exec, context, problem.ranks,
                       memory_of<T, Host>(signature.engine, state->schedule, problem), *state);
  }
  state->context = context.shared_state();
  state->epoch = runtime.epoch();
  state->number = std::max(1u, static_cast<std::uint32_t>(runtime.calls()));
  return FusedWorkspace(state);
}

/// The workspace for a call: the given one if it fits, else a new one (collective). The launch
/// comes next.
/// \throws Error on all ranks if one has illegal arguments or they differ
template <class T, bool Host, class ExecutionSpace, class MemorySpace>
FusedWorkspace prepare_workspace(const ExecutionSpace& exec, Context<MemorySpace>& context,
                                 const FusedProblem& problem, const FusedConfig& config,
                                 const FusedWorkspace& given) {
  Runtime& runtime = context.runtime();
  // A recovery from an earlier error, if there is one to make, outdates the given workspace.
  runtime.enter(to_string(problem.operation));
  const bool can_serve = serves(given, context.state(), runtime.epoch());
  std::string fault;
  const FusedSignature signature = signature_of<T, Host>(
      exec, context, problem, config, can_serve ? &given.state()->signature : nullptr, fault);
  if (!fault.empty() && can_serve) {
    // The other ranks may be in the kernel already, where they would wait for this one.
    runtime.fail(ErrorCode::invalid_argument, to_string(problem.operation), fault);
  }
  const FusedWorkspace workspace =
      can_serve && given.state()->signature == signature
          ? given
          : make_workspace<T, Host>(exec, context, problem, signature, fault);
  runtime.begin_launch(workspace.number());
  return workspace;
}

}  // namespace KokkosIris::Impl

#endif
