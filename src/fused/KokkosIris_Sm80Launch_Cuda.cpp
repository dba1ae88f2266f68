// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include <core/KokkosIris_GpuRuntime.hpp>
#include <core/KokkosIris_ToolRecord.hpp>
#include <fused/arch/sm80/KokkosIris_Sm80Launch.hpp>

namespace KokkosIris::Impl::Sm80 {

void launch_function(const GpuExecutionSpace& exec, int league, const std::string& label,
                     const void* function, void** arguments, int rank) {
  const ToolRecord record(exec, label);
  Gpu(gpu_device(exec), rank).check_call("LaunchKernel", [&] {
    // Costs less than to remember for which kernel and device it was done.
    const cudaError_t status =
        cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes);
    if (status != cudaSuccess) return status;
    return cudaLaunchKernel(function, dim3(static_cast<unsigned>(league)), dim3(1, team_threads),
                            arguments, shared_bytes, gpu_stream(exec));
  });
}

}  // namespace KokkosIris::Impl::Sm80
