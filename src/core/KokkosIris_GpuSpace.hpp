// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// The GPU spaces of this Kokkos under one name, so that no other file asks which vendor it has.

#ifndef KOKKOSIRIS_GPU_SPACE_HPP
#define KOKKOSIRIS_GPU_SPACE_HPP

#include <Kokkos_Core.hpp>
#include <type_traits>

// For the preprocessor what has_gpu_v is for the compiler.
#if defined(KOKKOS_ENABLE_CUDA) || defined(KOKKOS_ENABLE_HIP)
#define KOKKOSIRIS_IMPL_HAS_GPU
#endif

namespace KokkosIris::Impl {

/// Stands for both spaces in a build without a GPU backend; never complete.
struct NoGpu;

#if defined(KOKKOS_ENABLE_CUDA)
using GpuExecutionSpace = Kokkos::Cuda;
using GpuMemorySpace = Kokkos::CudaSpace;
inline int gpu_multiprocessors(const Kokkos::Cuda& exec) {
  return exec.cuda_device_prop().multiProcessorCount;
}
/// True if kernels of processes that share a GPU take turns, each with the whole GPU.
inline constexpr bool gpu_processes_take_turns = true;
#elif defined(KOKKOS_ENABLE_HIP)
using GpuExecutionSpace = Kokkos::HIP;
using GpuMemorySpace = Kokkos::HIPSpace;
inline int gpu_multiprocessors(const Kokkos::HIP& exec) {
  return exec.hip_device_prop().multiProcessorCount;
}
/// They run beside each other as far as there is room, and a team keeps its place until it ends.
inline constexpr bool gpu_processes_take_turns = false;
#else
using GpuExecutionSpace = NoGpu;
using GpuMemorySpace = NoGpu;
inline constexpr bool gpu_processes_take_turns = true;
#endif

/// True in builds with a GPU backend.
inline constexpr bool has_gpu_v = !std::is_same_v<GpuMemorySpace, NoGpu>;

/// True if `Space`, an execution or memory space, is the GPU's.
template <class Space>
inline constexpr bool is_gpu_space_v =
    std::is_same_v<Space, GpuExecutionSpace> || std::is_same_v<Space, GpuMemorySpace>;

/// True if a heap can lie in `MemorySpace`.
template <class MemorySpace>
inline constexpr bool is_heap_space_v =
    std::is_same_v<MemorySpace, Kokkos::HostSpace> || std::is_same_v<MemorySpace, GpuMemorySpace>;

}  // namespace KokkosIris::Impl

#endif
