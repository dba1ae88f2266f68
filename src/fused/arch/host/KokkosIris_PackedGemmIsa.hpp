// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef KOKKOSIRIS_FUSED_ARCH_HOST_PACKEDGEMMISA_HPP
#define KOKKOSIRIS_FUSED_ARCH_HOST_PACKEDGEMMISA_HPP

#include <fused/arch/host/KokkosIris_PackedGemm.hpp>

namespace KokkosIris::Impl {

/// The engines of one instruction set each, defined in the file of that name. Null: nothing for
/// this kind is gained over the instruction set before it. To be called only on a processor that
/// has the instructions.
const PackedGemm* packed_gemm_generic(ElementKind kind);
#if defined(__x86_64__)
const PackedGemm* packed_gemm_avx2(ElementKind kind);
const PackedGemm* packed_gemm_avx512(ElementKind kind);
const PackedGemm* packed_gemm_avx512_bf16(ElementKind kind);
const PackedGemm* packed_gemm_amx(ElementKind kind);
#endif

}  // namespace KokkosIris::Impl

#endif
