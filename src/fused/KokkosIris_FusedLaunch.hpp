// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// From a call of a fused operation to its kernel: checks, preparation, choice of engine, launch.

#ifndef KOKKOSIRIS_FUSED_LAUNCH_HPP
#define KOKKOSIRIS_FUSED_LAUNCH_HPP

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cstdint>
#include <fused/KokkosIris_FusedOptions.hpp>
#include <fused/KokkosIris_FusedPreparation.hpp>
#include <fused/KokkosIris_FusedProblem.hpp>
#include <fused/KokkosIris_HostEngine.hpp>
#include <fused/KokkosIris_Sm90Engine.hpp>
#include <heap/KokkosIris_Context.hpp>
#include <heap/KokkosIris_OperationRun.hpp>
#include <string>
#include <type_traits>

namespace KokkosIris::Impl {

/// Compile-time rules for the operands of all fused operations.
template <class ExecutionSpace, class MemorySpace, class CView, class AView, class BView>
constexpr void check_operand_types() {
  using T = typename CView::value_type;
  static_assert(CView::rank() == 2 && AView::rank() == 2 && BView::rank() == 2,
                "operands of fused operations are Views of rank 2");
  static_assert(!std::is_const_v<T>, "C is written: its View must not be const");
  static_assert(std::is_same_v<typename AView::non_const_value_type, T> &&
                    std::is_same_v<typename BView::non_const_value_type, T>,
                "A, B and C have the same element type");
  static_assert(is_fused_element_v<T>,
                "fused operations take double, float, KokkosIris::half_t and KokkosIris::bhalf_t");
  static_assert(
      Kokkos::SpaceAccessibility<ExecutionSpace, typename CView::memory_space>::accessible &&
          Kokkos::SpaceAccessibility<ExecutionSpace, typename AView::memory_space>::accessible &&
          Kokkos::SpaceAccessibility<ExecutionSpace, typename BView::memory_space>::accessible &&
          Kokkos::SpaceAccessibility<ExecutionSpace, MemorySpace>::accessible,
      "the execution space must reach the operands and the context's heap");
}

template <class MemorySpace, class ViewType>
OperandDescription describe_operand(const Context<MemorySpace>& context, const ViewType& view) {
  const auto ref = matrix_ref(view);
  return {
      view.label(),
      reinterpret_cast<const char*>(ref.data),
      ref.rows,
      ref.cols,
      ref.row_stride,
      ref.col_stride,
      static_cast<std::int64_t>(sizeof(typename ViewType::value_type)),
      context.device().is_symmetric(ref.data, view.span() * sizeof(typename ViewType::value_type))};
}

/// Fills in what all kernels have.
template <class Kernel, class T>
void set_operands(Kernel& kernel, const WorkspaceState& workspace, const MatrixRef<T>& c,
                  const MatrixRef<const T>& a, const Bias<T>& bias) {
  kernel.exchange = workspace.exchange;
  kernel.schedule = workspace.schedule;
  kernel.c = c;
  kernel.a = a;
  kernel.bias = bias;
  kernel.tiles = workspace.tiles;
  kernel.panels = workspace.panels;
  kernel.tile_bytes = workspace.tile_bytes;
  kernel.panel_bytes = workspace.panel_bytes;
}

/// Calls `launch(engine)` with the engine of the workspace.
template <class T, class ExecutionSpace, bool Host, class Launch>
void with_engine(const WorkspaceState& workspace, const MatrixRef<const T>& b, bool gathers,
                 const Launch& launch) {
  const ItemSchedule& schedule = workspace.schedule;
  if constexpr (Host) {
    const PackedGemm& routines = packed_gemm(element_kind<T>::value, workspace.signature.m);
    if (workspace.signature.engine == TileEngine::packed) {
      using Engine = PackedTileEngine<T>;
      char* const packed = Engine::uses_b_in_place(routines, b) ? nullptr : workspace.prepared_b;
      return launch(HostOnlyEngine<Engine>{{&routines, b, schedule, packed}});
    }
#ifdef KOKKOSIRIS_ENABLE_BLAS
    if (workspace.signature.engine == TileEngine::blas) {
      using Engine = BlasTileEngine<T>;
      auto* const copy = reinterpret_cast<typename Engine::Acc*>(workspace.prepared_b);
      return launch(HostOnlyEngine<Engine>{
          {&routines, b, schedule, Engine::uses_b_in_place(b) ? nullptr : copy}});
    }
#endif
  }
  if constexpr (mfma_takes_v<ExecutionSpace>) {
    if (workspace.signature.engine == TileEngine::mfma) {
      using Engine = MfmaTileEngine<T>;
      // The emulation is not to be compiled for a GPU.
      using Here = std::conditional_t<Host, HostOnlyEngine<Engine>, Engine>;
      return launch(Here{Engine{{{b, schedule, gathers}}}});
    }
  }
  if constexpr (sm80_takes_v<ExecutionSpace>) {
    if (workspace.signature.engine == TileEngine::sm80) {
      if (workspace.sm80_tile == sm80_small_tile) {
        return launch(Sm80TileEngine<T, sm80_small_tile>{{{b, schedule, gathers}}});
      }
      return launch(Sm80TileEngine<T, sm80_large_tile>{{{b, schedule, gathers}}});
    }
  }
  launch(PortableTileEngine<T>{{b, schedule, gathers}});
}

/// Engines whose kernels Kokkos does not launch.
template <class Engine>
concept LaunchesItself = requires {
  Engine::launches_itself;
};

/// The policy with the scratch memory that the engine uses.
template <class Engine, class Policy>
Policy with_scratch(Policy policy) {
  if constexpr (UsesScratch<Engine>) {
    policy.set_scratch_size(0, Kokkos::PerTeam(static_cast<int>(Engine::scratch_bytes())));
  }
  return policy;
}

/// The teams of a kernel, as its engine wants them. Host teams are single threads, so that a tile's
/// data stays in one core's cache.
template <class Engine, bool Host, class ExecutionSpace>
auto team_policy(const ExecutionSpace& exec, int league) {
  if constexpr (Host) {
    return with_scratch<Engine>(Kokkos::TeamPolicy<ExecutionSpace>(exec, league, 1));
  } else {
    using Bounds = Kokkos::LaunchBounds<Engine::team_threads, 1>;
    return with_scratch<Engine>(
        Kokkos::TeamPolicy<ExecutionSpace, Bounds>(exec, league, Engine::team_threads));
  }
}

/// What is left of a call when its Views have been looked at: depends on few types, so that the
/// library holds it ready (KokkosIris_FusedInstances.hpp) and applications need not compile it.
template <class T>
struct FusedArguments {
  FusedProblem problem;
  MatrixRef<T> c;
  MatrixRef<const T> a;
  MatrixRef<const T> b;
  const FusedOptions<T>& options;
};

/// A call of a fused operation. `Operation` names the operation and its kernel.
template <class Operation, class T, class ExecutionSpace, class MemorySpace>
struct FusedCall {
  static constexpr bool host =
      Kokkos::SpaceAccessibility<Kokkos::HostSpace,
                                 typename ExecutionSpace::memory_space>::accessible;
  static constexpr bool gathers = Operation::operation == FusedOperation::all_gather_matmul;

  static FusedWorkspace run(const ExecutionSpace& exec, Context<MemorySpace>& context,
                            const FusedArguments<T>& arguments);
  static void launch(const ExecutionSpace& exec, const WorkspaceState& workspace,
                     const FusedArguments<T>& arguments);
};

template <class Operation, class T, class ExecutionSpace, class MemorySpace>
void FusedCall<Operation, T, ExecutionSpace, MemorySpace>::launch(
    const ExecutionSpace& exec, const WorkspaceState& workspace,
    const FusedArguments<T>& arguments) {
  Bias<T> bias = arguments.options.bias;
  bias.axis = resolve_bias_axis(arguments.problem);
  if constexpr (sm90_takes_v<T, ExecutionSpace>) {
    if (workspace.signature.engine == TileEngine::sm90) {
      return sm90_launch(
          exec, workspace,
          {as_bits(arguments.c), as_bits(arguments.a), as_bits(arguments.b), as_bits(bias)});
    }
  }
  // The workspace may come from an instance of more threads: teams wait for each other, so there
  // must not be more of them than run at once.
  const int league =
      static_cast<int>(std::min<std::int64_t>(workspace.league, resident_teams(exec)));
  with_engine<T, ExecutionSpace, host>(workspace, arguments.b, gathers, [&](const auto& engine) {
    using Engine = std::decay_t<decltype(engine)>;
    typename Operation::template Kernel<T, Engine> kernel;
    kernel.engine = engine;
    set_operands(kernel, workspace, arguments.c, arguments.a, bias);
    const std::string label = std::string("KokkosIris::") + to_string(Operation::operation);
    if constexpr (host) {
      Kokkos::parallel_for(label, team_policy<Engine, host>(exec, league), kernel);
    } else if constexpr (LaunchesItself<Engine>) {
      Engine::launch(exec, league, label, kernel);
    } else {
      launch_with_data(label, team_policy<Engine, host>(exec, league), kernel);
    }
  });
}

template <class Operation, class T, class ExecutionSpace, class MemorySpace>
FusedWorkspace FusedCall<Operation, T, ExecutionSpace, MemorySpace>::run(
    const ExecutionSpace& exec, Context<MemorySpace>& context, const FusedArguments<T>& arguments) {
  const FusedOptions<T>& options = arguments.options;
  const char* const name = to_string(Operation::operation);
  FusedWorkspace workspace = prepare_workspace<T, host>(exec, context, arguments.problem,
                                                        options.config, options.workspace);
  run_operation<host>(exec, context, name, options.async_op,
                      [&] { launch(exec, *workspace.state(), arguments); });
  return workspace;
}

/// Describes the operands and runs the call.
template <class Operation, class ExecutionSpace, class MemorySpace, class CView, class AView,
          class BView>
FusedWorkspace run_fused(const ExecutionSpace& exec, Context<MemorySpace>& context, const CView& c,
                         const AView& a, const BView& b,
                         const FusedOptions<typename CView::value_type>& options) {
  check_operand_types<ExecutionSpace, MemorySpace, CView, AView, BView>();
  using T = typename CView::value_type;
  const FusedArguments<T> arguments{
      {Operation::operation, context.size(), describe_operand(context, c),
       describe_operand(context, a), describe_operand(context, b), options.bias.axis,
       options.bias.size, element_number<T>(), options.bias.data, options.bias.stride},
      matrix_ref(c),
      as_const(matrix_ref(a)),
      as_const(matrix_ref(b)),
      options};
  return FusedCall<Operation, T, ExecutionSpace, MemorySpace>::run(exec, context, arguments);
}

template <class Operation, class MemorySpace, class CView, class AView, class BView>
FusedWorkspace run_on_default(Context<MemorySpace>& context, const CView& c, const AView& a,
                              const BView& b,
                              const FusedOptions<typename CView::value_type>& options) {
  const typename Context<MemorySpace>::execution_space exec;
  auto workspace = run_fused<Operation>(exec, context, c, a, b, options);
  exec.fence("KokkosIris: fused operation on the default instance");
  return workspace;
}

}  // namespace KokkosIris::Impl

#endif
