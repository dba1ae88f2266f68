// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// From a call of a collective operation to its kernel.

#ifndef KOKKOSIRIS_COLLECTIVE_LAUNCH_HPP
#define KOKKOSIRIS_COLLECTIVE_LAUNCH_HPP

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <ccl/KokkosIris_CollectiveOptions.hpp>
#include <ccl/KokkosIris_CollectivePreparation.hpp>
#include <ccl/KokkosIris_CollectiveProblem.hpp>
#include <ccl/KokkosIris_DirectKernel.hpp>
#include <ccl/KokkosIris_PacketKernel.hpp>
#include <ccl/KokkosIris_SumWords.hpp>
#include <core/KokkosIris_Concurrency.hpp>
#include <cstddef>
#include <cstdint>
#include <heap/KokkosIris_Context.hpp>
#include <heap/KokkosIris_OperationRun.hpp>
#include <rma/KokkosIris_Sharing.hpp>
#include <rma/KokkosIris_ViewTraits.hpp>
#include <string>
#include <type_traits>
#include <typeinfo>

namespace KokkosIris::Impl {

/// Compile-time rules for the operands.
template <CollectiveOperation operation, class ExecutionSpace, class MemorySpace, class Dst,
          class Src>
constexpr void check_collective_types() {
  using T = typename Dst::value_type;
  static_assert(!std::is_const_v<T>, "dst is written: its View must not be const");
  static_assert(std::is_same_v<typename Src::non_const_value_type, T>,
                "dst and src have the same element type");
  static_assert(Dst::rank() == Src::rank(), "dst and src have the same number of dimensions");
  if constexpr (operation == CollectiveOperation::all_gather) {
    static_assert(is_movable_v<T>, "elements that move between ranks must be trivially copyable");
  } else {
    static_assert(is_summable_v<T>,
                  "reductions take double, float, KokkosIris::half_t, KokkosIris::bhalf_t and "
                  "integers of 4 and 8 bytes");
  }
  static_assert(operation == CollectiveOperation::all_reduce || Dst::rank() > 0,
                "all_gather and reduce_scatter take Views of at least one dimension");
  static_assert(
      Kokkos::SpaceAccessibility<ExecutionSpace, typename Dst::memory_space>::accessible &&
          Kokkos::SpaceAccessibility<ExecutionSpace, typename Src::memory_space>::accessible &&
          Kokkos::SpaceAccessibility<ExecutionSpace, MemorySpace>::accessible,
      "the execution space must reach the operands and the context's heap");
}

/// What kernels take for elements of type T. all_gather, which only moves them, has a kernel for
/// each width.
template <CollectiveOperation operation, class T>
struct CollectiveElement {
  using type = T;
};
template <class T>
struct CollectiveElement<CollectiveOperation::all_gather, T> {
  using type = std::conditional_t<
      alignof(T) % 8 == 0, std::uint64_t,
      std::conditional_t<alignof(T) % 4 == 0, std::uint32_t,
                         std::conditional_t<alignof(T) % 2 == 0, std::uint16_t, std::uint8_t>>>;
};

/// Launches a kernel with as many teams as have `items` for all their threads, at most `league`.
template <bool Host, class ExecutionSpace, class Kernel>
void launch_collective(const ExecutionSpace& exec, const char* name, std::int64_t items, int league,
                       const Kernel& kernel) {
  // The workspace may come from an instance of more threads: teams wait for other ranks' teams, so
  // there must not be more of them than run at once.
  const std::int64_t most = std::min<std::int64_t>(league, resident_teams(exec));
  const std::int64_t of_team = Host ? elements_worth_a_thread : Kernel::team_threads;
  const auto teams =
      static_cast<int>(std::clamp<std::int64_t>((items + of_team - 1) / of_team, 1, most));
  const std::string label = std::string("KokkosIris::") + name;
  if constexpr (Host) {
    Kokkos::parallel_for(label, Kokkos::TeamPolicy<ExecutionSpace>(exec, teams, 1), kernel);
  } else {
    const Kokkos::TeamPolicy<ExecutionSpace, Kokkos::LaunchBounds<Kernel::team_threads, 1>> policy(
        exec, teams, Kernel::team_threads);
    launch_with_data(label, policy, kernel);
  }
}

/// The part of the elements for which a rank is responsible in all_reduce: a function of their
/// number and the number of ranks only.
struct ReducedPart {
  std::int64_t begin, count;
};
inline ReducedPart reduced_part(std::int64_t elements, std::int64_t element_bytes, int ranks,
                                int rank) {
  // Whole lines, so that ranks write no line together.
  const std::int64_t line = 128 / element_bytes;
  const std::int64_t each = ((elements + ranks - 1) / ranks + line - 1) / line * line;
  const std::int64_t begin = std::min(each * rank, elements);
  return {begin, std::min(each, elements - begin)};
}

template <CollectiveOperation operation, class T, bool Host, class ExecutionSpace>
void launch_packets(const ExecutionSpace& exec, const CollectiveState& state, const T* source,
                    T* destination, std::int64_t block) {
  const PacketKernel<T, operation> kernel{state.buffers, source, destination, {block}};
  launch_collective<Host>(exec, to_string(operation), state.buffers.message, state.league, kernel);
}

template <CollectiveOperation operation, class T, bool Host, class ExecutionSpace>
void launch_direct(const ExecutionSpace& exec, const CollectiveState& state, const T* source,
                   T* destination, std::int64_t block) {
  using Kernel = DirectKernel<T, operation>;
  const int rank = state.flags.context.rank();
  Kernel kernel{state.flags, source, destination, 0, 0, block};
  if constexpr (operation == CollectiveOperation::all_gather) {
    kernel.destination_at = rank * block;
  } else if constexpr (operation == CollectiveOperation::reduce_scatter) {
    kernel.source_at = rank * block;
  } else {
    const ReducedPart part =
        reduced_part(block, std::int64_t(sizeof(T)), state.flags.context.size(), rank);
    kernel.source_at = kernel.destination_at = part.begin;
    kernel.count = part.count;
  }
  constexpr std::int64_t of_thread =
      Host ? 1 : sizeof(Word16) / sizeof(T) * Kernel::words_of_thread;
  launch_collective<Host>(exec, to_string(operation), kernel.count / of_thread, state.league,
                          kernel);
}

template <CollectiveOperation operation, class ExecutionSpace, class MemorySpace, class Dst,
          class Src>
CollectiveWorkspace run_collective(const ExecutionSpace& exec, Context<MemorySpace>& context,
                                   const Dst& dst, const Src& src,
                                   const CollectiveOptions& options) {
  check_collective_types<operation, ExecutionSpace, MemorySpace, Dst, Src>();
  constexpr bool host =
      Kokkos::SpaceAccessibility<Kokkos::HostSpace,
                                 typename ExecutionSpace::memory_space>::accessible;
  using T = typename Dst::value_type;
  using Unit = typename CollectiveElement<operation, T>::type;
  const CollectiveProblem problem{operation,
                                  context.size(),
                                  context.rank(),
                                  describe_collective(context.device(), dst),
                                  describe_collective(context.device(), src),
                                  static_cast<std::int64_t>(sizeof(T)),
                                  typeid(T).hash_code(),
                                  element_name<T>()};
  const CollectiveWorkspace workspace = prepare_collective<host>(exec, context, problem, options);
  const CollectiveState& state = *workspace.state();
  const auto* const source = reinterpret_cast<const Unit*>(src.data());
  auto* const destination = reinterpret_cast<Unit*>(dst.data());
  const std::int64_t block = problem.block() * std::int64_t(sizeof(T) / sizeof(Unit));
  run_operation<host>(exec, context, to_string(operation), options.async_op, [&] {
    if (block == 0) {
      // Nothing to do, on any rank.
    } else if (state.signature.form == CollectiveForm::packets) {
      launch_packets<operation, Unit, host>(exec, state, source, destination, block);
    } else {
      launch_direct<operation, Unit, host>(exec, state, source, destination, block);
    }
  });
  return workspace;
}

template <CollectiveOperation operation, class MemorySpace, class Dst, class Src>
CollectiveWorkspace run_collective_on_default(Context<MemorySpace>& context, const Dst& dst,
                                              const Src& src, const CollectiveOptions& options) {
  const typename Context<MemorySpace>::execution_space exec;
  auto workspace = run_collective<operation>(exec, context, dst, src, options);
  exec.fence("KokkosIris: collective operation on the default instance");
  return workspace;
}

}  // namespace KokkosIris::Impl

#endif
