// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include <fused/KokkosIris_FusedInstances.hpp>

KOKKOSIRIS_IMPL_FUSED_ALL_CALLS(template, KokkosIris::bhalf_t)
