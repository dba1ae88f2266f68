// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// The kernels of this folder as functions of the host.

#ifndef KOKKOSIRIS_SM90_LAUNCH_HPP
#define KOKKOSIRIS_SM90_LAUNCH_HPP

#include <cuda_runtime.h>

#include <fused/arch/sm90/KokkosIris_Sm90Arguments.hpp>

namespace KokkosIris::Impl::Sm90 {

/// Which kernel: one for each width of tiles and each way that the operands lie.
struct Variant {
  bool is_half;  ///< half_t, else bhalf_t
  int columns;   ///< of a tile: 128 or 256; for few rows also 64
  bool small;    ///< for few rows, see KokkosIris_Sm90SmallTiles.hpp
  bool transposed_a = false;
  bool transposed_b = false;
};

/// Loads the kernel on the current device and lets it have its shared memory. To be done before
/// kernels of other ranks wait for it: the runtime may wait for all kernels to end when it loads.
cudaError_t prepare_kernel(const Variant& variant);

/// How many clusters of `blocks` blocks of a prepared kernel the current device runs at once.
cudaError_t count_clusters(const Variant& variant, int blocks, int& clusters);

/// Enqueues a kernel of `blocks` blocks, those of a tile's parts of K in a cluster.
cudaError_t launch_kernel(const Variant& variant, int blocks, cudaStream_t stream,
                          const Arguments& arguments);

/// See SharedLayout::small_ring().
RingShape small_ring(int columns, int a_bytes, int rows, bool one_tile);

/// A kernel and the shared memory of a block.
struct KernelEntry {
  const void* function;
  int shared_bytes;
};
KernelEntry half_kernel(const Variant& variant);
KernelEntry bfloat16_kernel(const Variant& variant);

}  // namespace KokkosIris::Impl::Sm90

#endif
