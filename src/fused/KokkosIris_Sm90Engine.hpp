// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// The tile engine of Hopper GPUs (compute capability 9.0) for half_t and bhalf_t: what the rest of
/// the fused operations know of it. The kernels are in src/fused/arch/sm90.
///
/// Products of tiles of 128 rows and 256, 128 or 64 columns by the tensor cores, accumulated in
/// float, from operands that the copy hardware brings to shared memory; finished tiles are
/// exchanged in the same kernel. What ranks add travels in the element type: a sum over W ranks has
/// up to W + 1 roundings (of each part and of the sum), where the other engines have one. Operands
/// of any layout and stride: those that the copy hardware cannot take (no dimension of stride 1, or
/// rows not a multiple of 16 bytes apart) are copied before the kernel, in memory that the first
/// such call allocates, so it must not be captured in a graph; a C of that kind is stored element
/// by element.

#ifndef KOKKOSIRIS_SM90_ENGINE_HPP
#define KOKKOSIRIS_SM90_ENGINE_HPP

#include <Kokkos_Core.hpp>
#include <core/KokkosIris_Config.hpp>
#include <core/KokkosIris_GpuSpace.hpp>
#include <cstddef>
#include <cstdint>
#include <fused/KokkosIris_FusedOptions.hpp>
#include <fused/KokkosIris_FusedProblem.hpp>
#include <fused/KokkosIris_FusedWorkspace.hpp>
#include <fused/KokkosIris_Matrix.hpp>
#include <heap/KokkosIris_Context.hpp>
#include <type_traits>

namespace KokkosIris::Impl {

#ifdef KOKKOSIRIS_ENABLE_SM90
inline constexpr bool have_sm90 = true;
#else
inline constexpr bool have_sm90 = false;
#endif

/// True if the engine serves calls on elements of type T on an execution space, as far as their
/// types tell.
template <class T, class ExecutionSpace>
inline constexpr bool sm90_takes_v = have_sm90&& is_half_v<T>&& is_gpu_space_v<ExecutionSpace>;

/// The engine's tiles for a legal call, if the device, the extents and the sizes asked for suit it,
/// and, unless it is asked for by name, its staging takes at most half of the heap: where tiles are
/// large, two products for matmul_all_reduce and matmul_all_gather, one (of W = 2) for
/// matmul_reduce_scatter, the others' shards for all_gather_matmul. Else no sizes. Equal on ranks
/// that give the same and have such devices.
TileSizes sm90_sizes(const GpuExecutionSpace& exec, const FusedProblem& problem,
                     const FusedConfig& config, std::size_t heap_bytes);

/// Memory, flags and streams of a workspace whose signature is set. Collective.
void sm90_prepare(const GpuExecutionSpace& exec, Context<GpuMemorySpace>& context,
                  const FusedProblem& problem, WorkspaceState& state);

/// The call's operands; elements are bits.
struct Sm90Operands {
  MatrixRef<std::uint16_t> c;
  MatrixRef<const std::uint16_t> a;
  MatrixRef<const std::uint16_t> b;
  Bias<std::uint16_t> bias;
};

/// Enqueues a call. Local; waits for nothing.
/// \throws Error (system, out_of_memory)
void sm90_launch(const GpuExecutionSpace& exec, const WorkspaceState& state,
                 const Sm90Operands& operands);

template <class T>
MatrixRef<std::conditional_t<std::is_const_v<T>, const std::uint16_t, std::uint16_t>> as_bits(
    const MatrixRef<T>& m) {
  static_assert(sizeof(T) == 2, "elements have 16 bits");
  using Bits = std::conditional_t<std::is_const_v<T>, const std::uint16_t, std::uint16_t>;
  return {reinterpret_cast<Bits*>(m.data), m.rows, m.cols, m.row_stride, m.col_stride};
}
template <class T>
Bias<std::uint16_t> as_bits(const Bias<T>& bias) {
  Bias<std::uint16_t> bits;
  bits.data = reinterpret_cast<const std::uint16_t*>(bias.data);
  bits.size = bias.size;
  bits.stride = bias.stride;
  bits.axis = bias.axis;
  return bits;
}

}  // namespace KokkosIris::Impl

#endif
