// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include <fused/arch/sm90/KokkosIris_Sm90Launch.hpp>

namespace KokkosIris::Impl::Sm90 {
namespace {

KernelEntry find(const Variant& variant) {
  return variant.is_half ? half_kernel(variant) : bfloat16_kernel(variant);
}

}  // namespace

cudaError_t prepare_kernel(const Variant& variant) {
  const KernelEntry kernel = find(variant);
  return cudaFuncSetAttribute(kernel.function, cudaFuncAttributeMaxDynamicSharedMemorySize,
                              kernel.shared_bytes);
}

cudaError_t launch_kernel(const Variant& variant, int blocks, cudaStream_t stream,
                          const Arguments& arguments) {
  const KernelEntry kernel = find(variant);
  void* parameters[] = {const_cast<Arguments*>(&arguments)};
  return cudaLaunchKernel(kernel.function, dim3(static_cast<unsigned>(blocks)), dim3(threads),
                          parameters, static_cast<std::size_t>(kernel.shared_bytes), stream);
}

}  // namespace KokkosIris::Impl::Sm90
