// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include <fused/arch/sm90/KokkosIris_Sm90KernelTable.hpp>

namespace KokkosIris::Impl::Sm90 {

KernelEntry bfloat16_kernel(const Variant& variant) { return kernel_of<bhalf_t>(variant); }

}  // namespace KokkosIris::Impl::Sm90
