// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Compile options of this file: -O3 -ffp-contract=fast -mavx2 -mfma -mf16c -mavx512f -mavx512bw
// -mavx512vl -mavx512dq -mavx512bf16

#include <fused/arch/host/KokkosIris_PackedGemmEngine.hpp>
#include <fused/arch/host/KokkosIris_PackedGemmIsa.hpp>
#include <fused/arch/host/KokkosIris_PackedGemmPairs.hpp>

namespace KokkosIris::Impl {
namespace {

/// VDPBF16PS: acc[j] += a[0] b[2 j] + a[1] b[2 j + 1] in float, flushing subnormals. A pair of
/// bfloat16 travels as the bits of a float; no arithmetic is done on it as such.
struct PairDotProduct {
  using Value = float;
  using V = Vec<float, 16>;
  static KOKKOSIRIS_GEMM_INLINE void step(V& acc, const float* a, const V& b) {
    int pair;
    __builtin_memcpy(&pair, a, sizeof(pair));
    acc = (V)_mm512_dpbf16_ps((__m512)acc, (__m512bh)_mm512_set1_epi32(pair), (__m512bh)b);
  }
};

struct PairEngine {
  using Element = Bfloat;
  using Unit = std::uint16_t;
  static constexpr int units = 1;
  static constexpr int MR = 12, NR = 32, KC = 512, KG = 2, KU = 16;
  static constexpr int WA = MR, WB = NR, direct_k = 32;
  static constexpr bool packs_elements = false;
  struct Scope {
    Scope() {}
  };
  template <int W, bool is_a>
  static void pack(Unit* dst, const PackedLayout& layout, const std::uint16_t* src,
                   std::int64_t lane_stride, std::int64_t k_stride, std::int64_t group0,
                   std::int64_t lanes, std::int64_t k_begin, std::int64_t k_count,
                   std::int64_t k_total) {
    PairPacker<W>{dst, layout, src, lane_stride, k_stride, group0, lanes, k_begin}.run(k_count,
                                                                                       k_total);
  }
  static void block(std::int64_t m, std::int64_t n, std::int64_t k, const Unit* a,
                    std::int64_t a_stride, const Unit* b, std::int64_t b_stride, float* out,
                    std::int64_t ld, bool accumulate) {
    block_kernel<PairDotProduct, MR, NR>(m, n, k / 2, reinterpret_cast<const float*>(a),
                                         a_stride / 2, reinterpret_cast<const float*>(b),
                                         b_stride / 2, out, ld, accumulate);
  }
};

constexpr PackedGemm bf16 = make_table<PairEngine>("avx512_bf16", ElementKind::bf16, 252, 512);

}  // namespace

const PackedGemm* packed_gemm_avx512_bf16(ElementKind kind) {
  return kind == ElementKind::bf16 ? &bf16 : nullptr;
}

}  // namespace KokkosIris::Impl
