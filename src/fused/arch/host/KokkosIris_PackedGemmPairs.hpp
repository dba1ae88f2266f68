// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef KOKKOSIRIS_FUSED_ARCH_HOST_PACKEDGEMMPAIRS_HPP
#define KOKKOSIRIS_FUSED_ARCH_HOST_PACKEDGEMMPAIRS_HPP

#include <fused/arch/host/KokkosIris_PackedGemmPack.hpp>

/// \file
/// Packing of 16-bit elements for dot products of pairs: two consecutive k of a lane lie side by
/// side. Needs AVX512BW.

namespace KokkosIris::Impl {
namespace {

/// W lanes of two consecutive k, each row contiguous, to W pairs.
template <int W>
KOKKOSIRIS_GEMM_INLINE void interleave_rows(std::uint16_t* dst, const char* row0,
                                            const char* row1) {
  static_assert(W % 4 == 0);
  constexpr int step = W % 16 == 0 ? 16 : 4;
  for (int lane = 0; lane < W; lane += step) {
    Vec<std::uint16_t, step> even, odd;
    __builtin_memcpy(&even, row0 + 2 * lane, sizeof(even));
    __builtin_memcpy(&odd, row1 + 2 * lane, sizeof(odd));
    const Vec<std::uint32_t, step> pairs =
        __builtin_convertvector(even, Vec<std::uint32_t, step>) |
        (__builtin_convertvector(odd, Vec<std::uint32_t, step>) << 16);
    __builtin_memcpy(dst + 2 * lane, &pairs, sizeof(pairs));
  }
}

/// Packs as pack_lanes() does, in the layout [k / 2][lane][2].
template <int W>
struct PairPacker {
  std::uint16_t* dst;
  PackedLayout layout;
  const std::uint16_t* src;
  std::int64_t lane_stride, k_stride, group0, lanes, k_begin;

  /// Column k of all lanes, element by element; zeros if `padding`.
  void scatter(std::int64_t k, bool padding) const {
    for (std::int64_t lane0 = 0; lane0 < lanes; lane0 += W) {
      std::uint16_t* to = dst + layout.offset(group0 + lane0 / W, k & ~std::int64_t(1)) + (k & 1);
      for (int lane = 0; lane < W; ++lane) {
        const bool valid = !padding && lane0 + lane < lanes;
        to[2 * lane] =
            valid ? src[(lane0 + lane) * lane_stride + (k - k_begin) * k_stride] : std::uint16_t(0);
      }
    }
  }

  /// Whole pairs [k0, k1) of one group of lanes, inside one block.
  void pairs(std::int64_t lane0, std::int64_t k0, std::int64_t k1) const {
    std::uint16_t* to = dst + layout.offset(group0 + lane0 / W, k0);
    const std::uint16_t* from = src + lane0 * lane_stride + (k0 - k_begin) * k_stride;
    const int valid = static_cast<int>(min64(W, lanes - lane0));
    if (k_stride == 1) {
      transposed(to, from, valid, (k1 - k0) / 2);
      return;
    }
    for (std::int64_t k = k0; k < k1; k += 2, to += 2 * W, from += 2 * k_stride) {
      if (lane_stride == 1 && valid == W) {
        interleave_rows<W>(to, reinterpret_cast<const char*>(from),
                           reinterpret_cast<const char*>(from + k_stride));
        continue;
      }
      for (int lane = 0; lane < W; ++lane) {
        to[2 * lane] = lane < valid ? from[lane * lane_stride] : std::uint16_t(0);
        to[2 * lane + 1] = lane < valid ? from[lane * lane_stride + k_stride] : std::uint16_t(0);
      }
    }
  }

  /// A pair is then one 32-bit value in the source, too.
  void transposed(std::uint16_t* to, const std::uint16_t* from, int valid,
                  std::int64_t count) const {
    pack_transposed<Native<std::uint32_t>, W>(reinterpret_cast<std::uint32_t*>(to),
                                              reinterpret_cast<const char*>(from), 2 * lane_stride,
                                              valid, count);
  }

  void run(std::int64_t k_count, std::int64_t k_total) const {
    const std::int64_t k_end = k_begin + k_count;
    const std::int64_t first = k_begin + (k_begin & 1), last = k_end - (k_end & 1);
    if (k_begin & 1) scatter(k_begin, false);
    const std::int64_t chunk = lane_stride == 1 ? 32 : layout.k_padded;
    for (std::int64_t k0 = first; k0 < last;) {
      const std::int64_t k1 = min64(min64(k0 + chunk, layout.block_end(k0)), last);
      for (std::int64_t lane0 = 0; lane0 < lanes; lane0 += W) pairs(lane0, k0, k1);
      k0 = k1;
    }
    if ((k_end & 1) && last >= k_begin) scatter(k_end - 1, false);
    if (k_end == k_total && (k_total & 1)) scatter(k_total, true);
  }
};

}  // namespace
}  // namespace KokkosIris::Impl

#endif
