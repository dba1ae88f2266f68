// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// The operations with their kernels, and which of them the library has compiled.

#ifndef KOKKOSIRIS_FUSED_INSTANCES_HPP
#define KOKKOSIRIS_FUSED_INSTANCES_HPP

#include <Kokkos_Core.hpp>
#include <fused/KokkosIris_FusedLaunch.hpp>
#include <fused/KokkosIris_GatherKernels.hpp>
#include <fused/KokkosIris_ReduceKernel.hpp>

namespace KokkosIris::Impl {

struct MatmulAllReduce {
  static constexpr FusedOperation operation = FusedOperation::matmul_all_reduce;
  template <class T, class Engine>
  using Kernel = ReduceKernel<T, Engine, true>;
};
struct MatmulReduceScatter {
  static constexpr FusedOperation operation = FusedOperation::matmul_reduce_scatter;
  template <class T, class Engine>
  using Kernel = ReduceKernel<T, Engine, false>;
};
struct AllGatherMatmul {
  static constexpr FusedOperation operation = FusedOperation::all_gather_matmul;
  template <class T, class Engine>
  using Kernel = GatherMatmulKernel<T, Engine>;
};
struct MatmulAllGather {
  static constexpr FusedOperation operation = FusedOperation::matmul_all_gather;
  template <class T, class Engine>
  using Kernel = MatmulGatherKernel<T, Engine>;
};

}  // namespace KokkosIris::Impl

/// Applies PREFIX (`extern template` or `template`) to the calls of all operations for one element
/// type, execution space and memory space of the heap.
#define KOKKOSIRIS_IMPL_FUSED_CALLS(PREFIX, T, SPACE, MEMORY)                                     \
  PREFIX struct KokkosIris::Impl::FusedCall<KokkosIris::Impl::MatmulAllReduce, T, SPACE, MEMORY>; \
  PREFIX struct KokkosIris::Impl::FusedCall<KokkosIris::Impl::MatmulReduceScatter, T, SPACE,      \
                                            MEMORY>;                                              \
  PREFIX struct KokkosIris::Impl::FusedCall<KokkosIris::Impl::AllGatherMatmul, T, SPACE, MEMORY>; \
  PREFIX struct KokkosIris::Impl::FusedCall<KokkosIris::Impl::MatmulAllGather, T, SPACE, MEMORY>;

/// The same for every execution space of this Kokkos.
#ifdef KOKKOS_ENABLE_SERIAL
#define KOKKOSIRIS_IMPL_FUSED_SERIAL(PREFIX, T) \
  KOKKOSIRIS_IMPL_FUSED_CALLS(PREFIX, T, Kokkos::Serial, Kokkos::HostSpace)
#else
#define KOKKOSIRIS_IMPL_FUSED_SERIAL(PREFIX, T)
#endif
#ifdef KOKKOS_ENABLE_OPENMP
#define KOKKOSIRIS_IMPL_FUSED_OPENMP(PREFIX, T) \
  KOKKOSIRIS_IMPL_FUSED_CALLS(PREFIX, T, Kokkos::OpenMP, Kokkos::HostSpace)
#else
#define KOKKOSIRIS_IMPL_FUSED_OPENMP(PREFIX, T)
#endif
#ifdef KOKKOS_ENABLE_THREADS
#define KOKKOSIRIS_IMPL_FUSED_THREADS(PREFIX, T) \
  KOKKOSIRIS_IMPL_FUSED_CALLS(PREFIX, T, Kokkos::Threads, Kokkos::HostSpace)
#else
#define KOKKOSIRIS_IMPL_FUSED_THREADS(PREFIX, T)
#endif
#ifdef KOKKOSIRIS_IMPL_HAS_GPU
#define KOKKOSIRIS_IMPL_FUSED_GPU(PREFIX, T)                                  \
  KOKKOSIRIS_IMPL_FUSED_CALLS(PREFIX, T, KokkosIris::Impl::GpuExecutionSpace, \
                              KokkosIris::Impl::GpuMemorySpace)
#else
#define KOKKOSIRIS_IMPL_FUSED_GPU(PREFIX, T)
#endif
#define KOKKOSIRIS_IMPL_FUSED_ALL_CALLS(PREFIX, T) \
  KOKKOSIRIS_IMPL_FUSED_SERIAL(PREFIX, T)          \
  KOKKOSIRIS_IMPL_FUSED_OPENMP(PREFIX, T)          \
  KOKKOSIRIS_IMPL_FUSED_THREADS(PREFIX, T)         \
  KOKKOSIRIS_IMPL_FUSED_GPU(PREFIX, T)

// Compiled in KokkosIris_FusedInstances_<Type>.cpp.
KOKKOSIRIS_IMPL_FUSED_ALL_CALLS(extern template, double)
KOKKOSIRIS_IMPL_FUSED_ALL_CALLS(extern template, float)
KOKKOSIRIS_IMPL_FUSED_ALL_CALLS(extern template, KokkosIris::half_t)
KOKKOSIRIS_IMPL_FUSED_ALL_CALLS(extern template, KokkosIris::bhalf_t)

#endif
