// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// The whole library in one include.

#ifndef KOKKOSIRIS_HPP
#define KOKKOSIRIS_HPP

#include <ccl/KokkosIris_Collectives.hpp>
#include <core/KokkosIris_Config.hpp>
#include <core/KokkosIris_Environment.hpp>
#include <core/KokkosIris_Error.hpp>
#include <core/KokkosIris_HalfTraits.hpp>
#include <core/KokkosIris_HalfTypes.hpp>
#include <core/KokkosIris_MemoryOrder.hpp>
#include <heap/KokkosIris_Context.hpp>
#include <heap/KokkosIris_SymmetricView.hpp>
#include <rma/KokkosIris_Rma.hpp>
#ifdef KOKKOSIRIS_ENABLE_FUSED
#include <fused/KokkosIris_Matmul.hpp>
#endif

#endif
