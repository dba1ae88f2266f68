// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// Launch of a kernel written for Kokkos' teams whose team has more than 48 KiB of shared memory,
/// which Kokkos does not give.

#ifndef KOKKOSIRIS_SM80_LAUNCH_HPP
#define KOKKOSIRIS_SM80_LAUNCH_HPP

#include <Kokkos_Core.hpp>
#include <core/KokkosIris_GpuSpace.hpp>
#include <fused/arch/sm80/KokkosIris_Sm80Team.hpp>
#include <string>

namespace KokkosIris::Impl::Sm80 {

/// Enqueues `function`, a kernel of `league` blocks of team_threads threads, on the device of the
/// instance.
/// \param arguments pointers to the kernel's arguments
/// \param rank for errors
/// \throws Error (system)
void launch_function(const GpuExecutionSpace& exec, int league, const std::string& label,
                     const void* function, void** arguments, int rank);

/// Enqueues a kernel of `league` teams of team_threads threads.
template <class Kernel>
void launch(const GpuExecutionSpace& exec, int league, const std::string& label,
            const Kernel& kernel, int rank);

#if defined(__CUDACC__)

template <class Kernel>
__global__ __launch_bounds__(team_threads, 1) void run_team(const __grid_constant__ Kernel kernel) {
  // The constructor is for Kokkos' own launches; it is the same in Kokkos 4.7, 5.0 and 5.2.
  using Team = Kokkos::TeamPolicy<Kokkos::Cuda>::member_type;
  kernel(Team(team_memory() - reserved_bytes, reserved_bytes, 0, nullptr, 0,
              static_cast<int>(blockIdx.x), static_cast<int>(gridDim.x)));
}

template <class Kernel>
void launch(const GpuExecutionSpace& exec, int league, const std::string& label,
            const Kernel& kernel, int rank) {
  void* arguments[] = {const_cast<Kernel*>(&kernel)};
  launch_function(exec, league, label, reinterpret_cast<const void*>(&run_team<Kernel>), arguments,
                  rank);
}

#endif

}  // namespace KokkosIris::Impl::Sm80

#endif
