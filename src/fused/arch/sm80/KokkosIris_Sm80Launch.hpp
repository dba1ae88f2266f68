// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// Launch of a kernel written for Kokkos' teams whose team has more than 48 KiB of shared memory,
/// which Kokkos does not give.

#ifndef KOKKOSIRIS_SM80_LAUNCH_HPP
#define KOKKOSIRIS_SM80_LAUNCH_HPP

#include <Kokkos_Core.hpp>
#include <core/KokkosIris_GpuSpace.hpp>
#include <core/KokkosIris_ToolRecord.hpp>
#include <fused/arch/sm80/KokkosIris_Sm80Team.hpp>
#include <string>

#if defined(__CUDACC__)
#include <core/KokkosIris_GpuRuntime.hpp>
#endif

namespace KokkosIris::Impl::Sm80 {

/// Enqueues a kernel of `league` teams of team_threads threads.
/// \param rank for errors
template <class Kernel>
void launch(const GpuExecutionSpace& exec, int league, const std::string& label,
            const Kernel& kernel, int rank);

#if defined(__CUDACC__)

template <class Kernel>
__global__ __launch_bounds__(team_threads, 1) void run_team(const __grid_constant__ Kernel kernel) {
  using Team = Kokkos::TeamPolicy<Kokkos::Cuda>::member_type;
  kernel(Team(team_memory() - reserved_bytes, reserved_bytes, 0, nullptr, 0,
              static_cast<int>(blockIdx.x), static_cast<int>(gridDim.x)));
}

template <class Kernel>
void launch(const GpuExecutionSpace& exec, int league, const std::string& label,
            const Kernel& kernel, int rank) {
  const Gpu gpu(gpu_device(exec), rank);
  const ToolRecord record(exec, label);
  gpu.check_call("FuncSetAttribute", [&] {
    return cudaFuncSetAttribute(run_team<Kernel>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                shared_bytes);
  });
  run_team<<<league, dim3(1, team_threads), shared_bytes, gpu_stream(exec)>>>(kernel);
  gpu.check_call("LaunchKernel", [&] { return cudaGetLastError(); });
}

#endif

}  // namespace KokkosIris::Impl::Sm80

#endif
