// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Compile options of this file: -O3 -ffp-contract=fast -mavx2 -mfma -mf16c

#include <fused/arch/host/KokkosIris_PackedGemmEngine.hpp>
#include <fused/arch/host/KokkosIris_PackedGemmIsa.hpp>

namespace KokkosIris::Impl {
namespace {

// 4 x 3 accumulators, 3 vectors of B and a broadcast of A: all 16 registers.
template <class E>
using Engine = VectorEngine<E, 4, 3, 256>;

constexpr PackedGemm f64 = make_table<Engine<Native<double>>>("avx2", ElementKind::f64, 256, 512);
constexpr PackedGemm f32 = make_table<Engine<Native<float>>>("avx2", ElementKind::f32, 256, 512);
constexpr PackedGemm f16 = make_table<Engine<Half>>("avx2", ElementKind::f16, 256, 512);
constexpr PackedGemm bf16 = make_table<Engine<Bfloat>>("avx2", ElementKind::bf16, 256, 512);

}  // namespace

const PackedGemm* packed_gemm_avx2(ElementKind kind) {
  switch (kind) {
    case ElementKind::f64:
      return &f64;
    case ElementKind::f32:
      return &f32;
    case ElementKind::f16:
      return &f16;
    case ElementKind::bf16:
      return &bf16;
  }
  return nullptr;
}

}  // namespace KokkosIris::Impl
