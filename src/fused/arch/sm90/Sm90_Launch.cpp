// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include <fused/arch/sm90/KokkosIris_Sm90Launch.hpp>

namespace KokkosIris::Impl::Sm90 {
namespace {

KernelEntry find(const Variant& variant) {
  return variant.is_half ? half_kernel(variant) : bfloat16_kernel(variant);
}

/// The configuration of a launch, whose attribute it refers to.
struct Launch {
  cudaLaunchAttribute cluster{};
  cudaLaunchConfig_t config{};

  Launch(const KernelEntry& kernel, int blocks, int cluster_blocks, cudaStream_t stream) {
    cluster.id = cudaLaunchAttributeClusterDimension;
    cluster.val.clusterDim = {static_cast<unsigned>(cluster_blocks), 1, 1};
    config.gridDim = dim3(static_cast<unsigned>(blocks));
    config.blockDim = dim3(threads);
    config.dynamicSmemBytes = static_cast<std::size_t>(kernel.shared_bytes);
    config.stream = stream;
    config.attrs = &cluster;
    config.numAttrs = cluster_blocks > 1 ? 1 : 0;
  }
  Launch(const Launch&) = delete;
  Launch& operator=(const Launch&) = delete;
};

}  // namespace

cudaError_t prepare_kernel(const Variant& variant) {
  const KernelEntry kernel = find(variant);
  return cudaFuncSetAttribute(kernel.function, cudaFuncAttributeMaxDynamicSharedMemorySize,
                              kernel.shared_bytes);
}

RingShape small_ring(int columns, int a_bytes, int rows, bool one_tile) {
  return columns == 64 ? SharedLayout<64, true>::small_ring(a_bytes, rows, one_tile)
                       : SharedLayout<128, true>::small_ring(a_bytes, rows, one_tile);
}

cudaError_t count_clusters(const Variant& variant, int blocks, int& clusters) {
  const KernelEntry kernel = find(variant);
  Launch launch(kernel, blocks, blocks, nullptr);
  return cudaOccupancyMaxActiveClusters(&clusters, kernel.function, &launch.config);
}

cudaError_t launch_kernel(const Variant& variant, int blocks, cudaStream_t stream,
                          const Arguments& arguments) {
  const KernelEntry kernel = find(variant);
  Launch launch(kernel, blocks, arguments.tiles.parts, stream);
  void* parameters[] = {const_cast<Arguments*>(&arguments)};
  return cudaLaunchKernelExC(&launch.config, kernel.function, parameters);
}

}  // namespace KokkosIris::Impl::Sm90
