// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Compile options of this file: -O3 -ffp-contract=fast -mavx2 -mfma -mf16c -mavx512f -mavx512bw
// -mavx512vl -mavx512dq

#include <fused/arch/host/KokkosIris_PackedGemmEngine.hpp>
#include <fused/arch/host/KokkosIris_PackedGemmIsa.hpp>

namespace KokkosIris::Impl {
namespace {

// 12 x 2 accumulators, 2 vectors of B and a broadcast of A fill the 32 registers but for a few. A
// sliver of 384 steps (48 KiB) may come from the second-level cache in part; longer stretches of k
// save more traffic to the output, which for double is worth 512 steps.
template <class E>
using Engine = VectorEngine<E, 12, 2, 384>;

constexpr PackedGemm f64 =
    make_table<VectorEngine<Native<double>, 12, 2, 512>>("avx512", ElementKind::f64, 256, 512);
constexpr PackedGemm f32 = make_table<Engine<Native<float>>>("avx512", ElementKind::f32, 256, 512);
constexpr PackedGemm f16 = make_table<Engine<Half>>("avx512", ElementKind::f16, 256, 512);
constexpr PackedGemm bf16 = make_table<Engine<Bfloat>>("avx512", ElementKind::bf16, 256, 512);

}  // namespace

const PackedGemm* packed_gemm_avx512(ElementKind kind) {
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
