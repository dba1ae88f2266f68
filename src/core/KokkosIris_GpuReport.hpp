// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// What this process sees of GPUs, for programs that say so. Exists in builds with a GPU backend
/// only.

#ifndef KOKKOSIRIS_GPU_REPORT_HPP
#define KOKKOSIRIS_GPU_REPORT_HPP

#include <string>
#include <vector>

namespace KokkosIris::Impl {

/// Number of GPUs that this process sees: 0 also without a driver. Can be called before Kokkos is
/// initialised, which ends the process where there is none.
int visible_gpus() noexcept;

/// One line for each GPU that this process sees: ordinal, name, UUID, bus address, and which others
/// its kernels can reach, as far as the runtime tells.
/// \throws Error (system)
std::vector<std::string> describe_gpus(int rank);

/// The vendor's name and a version each, "CUDA 13.0": what the driver supports, and the runtime.
struct GpuVersions {
  std::string driver, runtime;
};
/// Of a process that sees a GPU. \throws Error (system)
GpuVersions gpu_versions(int rank);

}  // namespace KokkosIris::Impl

#endif
