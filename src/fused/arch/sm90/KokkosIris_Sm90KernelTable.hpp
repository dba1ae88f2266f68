// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// All kernels of one element type; included by one source for each.

#ifndef KOKKOSIRIS_SM90_KERNEL_TABLE_HPP
#define KOKKOSIRIS_SM90_KERNEL_TABLE_HPP

#include <fused/arch/sm90/KokkosIris_Sm90Kernel.hpp>
#include <fused/arch/sm90/KokkosIris_Sm90Launch.hpp>

namespace KokkosIris::Impl::Sm90 {

template <class T, int Columns, bool Small, bool TransposedA>
const void* kernel_of(bool transposed_b) {
  return transposed_b
             ? reinterpret_cast<const void*>(&fused_matmul<T, Columns, TransposedA, true, Small>)
             : reinterpret_cast<const void*>(&fused_matmul<T, Columns, TransposedA, false, Small>);
}

template <class T, int Columns, bool Small>
KernelEntry kernel_of(const Variant& v) {
  return {v.transposed_a ? kernel_of<T, Columns, Small, true>(v.transposed_b)
                         : kernel_of<T, Columns, Small, false>(v.transposed_b),
          SharedLayout<Columns, Small>::bytes};
}

template <class T>
KernelEntry kernel_of(const Variant& v) {
  if (v.columns == 64) return kernel_of<T, 64, true>(v);
  if (v.columns == 128) return v.small ? kernel_of<T, 128, true>(v) : kernel_of<T, 128, false>(v);
  return kernel_of<T, 256, false>(v);
}

}  // namespace KokkosIris::Impl::Sm90

#endif
