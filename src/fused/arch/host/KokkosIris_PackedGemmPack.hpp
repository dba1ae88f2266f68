// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef KOKKOSIRIS_FUSED_ARCH_HOST_PACKEDGEMMPACK_HPP
#define KOKKOSIRIS_FUSED_ARCH_HOST_PACKEDGEMMPACK_HPP

#include <fused/arch/host/KokkosIris_PackedGemmVector.hpp>

/// \file
/// Packing. A and B are packed by the same text: "lanes" are the rows of A or the columns of B, W
/// lanes make a group (micro-panel of A, sliver of B), and a packed group holds for each k its W
/// lanes side by side.
///
/// Layouts, with kp = k rounded up to the engine's group and K cut into equal blocks of block_k(k)
/// columns:
/// - A: block, then micro-panel, then k, then row. All that one pass over a block of K reads is
/// contiguous. Fewer rows than a micro-panel, where engines pack single elements: k, then row.
/// - B: sliver, then k, then column, so that any range of slivers has one address.

namespace KokkosIris::Impl {
namespace {

/// Length of the blocks that K is cut into: at most kc, nearly equal, a multiple of `unit`.
KOKKOSIRIS_GEMM_INLINE std::int64_t block_length(std::int64_t k_padded, std::int64_t kc,
                                                 std::int64_t unit) {
  const std::int64_t blocks = ceil_div(k_padded, kc);
  return round_up(ceil_div(k_padded, blocks), unit);
}

/// Where packing goes: the offset, in elements, of lane group `group` and column k (both at the
/// start of their unit).
struct PackedLayout {
  std::int64_t lanes_padded;  ///< lanes, rounded up to W
  std::int64_t k_padded;
  std::int64_t block;  ///< block length; k_padded for B
  int width;           ///< W
  KOKKOSIRIS_GEMM_INLINE std::int64_t block_begin(std::int64_t k) const {
    return k / block * block;
  }
  KOKKOSIRIS_GEMM_INLINE std::int64_t block_end(std::int64_t k) const {
    return min64(block_begin(k) + block, k_padded);
  }
  KOKKOSIRIS_GEMM_INLINE std::int64_t offset(std::int64_t group, std::int64_t k) const {
    const std::int64_t begin = block_begin(k);
    return begin * lanes_padded + group * width * (block_end(k) - begin) + (k - begin) * width;
  }
};

/// Four lanes by four k, transposed. `src` has four consecutive k in a lane; strides in bytes.
template <class E, int W>
KOKKOSIRIS_GEMM_INLINE void transpose_4x4(typename E::acc* dst, const char* src,
                                          std::int64_t lane_bytes) {
  using V = Vec<typename E::acc, 4>;
  V r0, r1, r2, r3;
  E::template load<4>(r0, src);
  E::template load<4>(r1, src + lane_bytes);
  E::template load<4>(r2, src + 2 * lane_bytes);
  E::template load<4>(r3, src + 3 * lane_bytes);
  const V a = __builtin_shufflevector(r0, r1, 0, 4, 2, 6),
          b = __builtin_shufflevector(r0, r1, 1, 5, 3, 7);
  const V c = __builtin_shufflevector(r2, r3, 0, 4, 2, 6),
          d = __builtin_shufflevector(r2, r3, 1, 5, 3, 7);
  const V k0 = __builtin_shufflevector(a, c, 0, 1, 4, 5),
          k1 = __builtin_shufflevector(b, d, 0, 1, 4, 5);
  const V k2 = __builtin_shufflevector(a, c, 2, 3, 6, 7),
          k3 = __builtin_shufflevector(b, d, 2, 3, 6, 7);
  __builtin_memcpy(dst, &k0, sizeof(V));
  __builtin_memcpy(dst + W, &k1, sizeof(V));
  __builtin_memcpy(dst + 2 * W, &k2, sizeof(V));
  __builtin_memcpy(dst + 3 * W, &k3, sizeof(V));
}

/// Any strides, any number of valid lanes; padding lanes are zeroed. Strides in bytes.
template <class E, int W>
void pack_general(typename E::acc* dst, const char* src, std::int64_t lane_bytes,
                  std::int64_t k_bytes, int lane_begin, int lane_end, std::int64_t count) {
  for (std::int64_t k = 0; k < count; ++k) {
    typename E::acc* const to = dst + k * W;
    if (lane_begin == 0) {  // of constant size: a few vector stores
      __builtin_memset(to, 0, sizeof(typename E::acc) * W);
    } else {
      for (int lane = lane_end; lane < W; ++lane) to[lane] = typename E::acc(0);
    }
    for (int lane = lane_begin; lane < lane_end; ++lane) {
      typename E::memory value;
      __builtin_memcpy(&value, src + k * k_bytes + lane * lane_bytes, sizeof(value));
      to[lane] = E::to_acc(value);
    }
  }
}

/// Lanes whose elements are consecutive in k.
template <class E, int W>
void pack_transposed(typename E::acc* dst, const char* src, std::int64_t lane_bytes, int valid,
                     std::int64_t count) {
  constexpr std::int64_t element = sizeof(typename E::memory), chunk = 64;
  const int quads = valid / 4 * 4;
  const std::int64_t fours = count / 4 * 4;
  for (std::int64_t k0 = 0; k0 < fours; k0 += chunk) {
    const std::int64_t k1 = min64(k0 + chunk, fours);
    for (int lane = 0; lane < quads; lane += 4)
      for (std::int64_t k = k0; k < k1; k += 4)
        transpose_4x4<E, W>(dst + k * W + lane, src + lane * lane_bytes + k * element, lane_bytes);
  }
  if (fours < count)
    pack_general<E, W>(dst + fours * W, src + fours * element, lane_bytes, element, 0, valid,
                       count - fours);
  if (quads < W) pack_general<E, W>(dst, src, lane_bytes, element, quads, valid, fours);
}

/// Lanes that are consecutive in memory for each k.
template <class E, int W, bool Streams>
KOKKOSIRIS_GEMM_INLINE void pack_copied(typename E::acc* dst, const char* src, std::int64_t k_bytes,
                                        int valid, std::int64_t count) {
  constexpr std::int64_t element = sizeof(typename E::memory);
  constexpr int full = lanes_of<typename E::acc>, step = W % full == 0 ? full : W % 8 == 0 ? 8 : 4;
  static_assert(W % step == 0);
  using V = Vec<typename E::acc, step>;
  if (valid < W) return pack_general<E, W>(dst, src, element, k_bytes, 0, valid, count);
  for (std::int64_t k = 0; k < count; ++k) {
    for (int lane = 0; lane < W; lane += step) {
      V v;
      E::template load<step>(v, src + k * k_bytes + lane * element);
      if constexpr (Streams) {
        stream_vector(dst + k * W + lane, v);
      } else {
        __builtin_memcpy(dst + k * W + lane, &v, sizeof(V));
      }
    }
  }
}

/// Packs lanes [0, lanes) (the first is the first of group `group0`) and columns [k_begin, k_begin
/// + k_count), one element after the other in k: no group of k. Strides in elements. What is larger
/// than a cache and can be copied as it is goes past the caches: it would only push out what they
/// hold, and lines need not be fetched to be overwritten.
template <class E, int W>
void pack_lanes(typename E::acc* dst, const PackedLayout& layout, const typename E::memory* src,
                std::int64_t lane_stride, std::int64_t k_stride, std::int64_t group0,
                std::int64_t lanes, std::int64_t k_begin, std::int64_t k_count) {
  constexpr std::int64_t element = sizeof(typename E::memory);
  const bool copied = lane_stride == 1, transposed = k_stride == 1 && !copied;
  // Copied: few rows at a time over all lanes, because each row is in another page. Transposed:
  // long runs of k.
  const std::int64_t chunk = copied ? 32 : k_count;
  constexpr std::int64_t worth_streaming = 1 << 20;
  const bool streams = copied && W % lanes_of<typename E::acc> == 0 &&
                       lanes * k_count * std::int64_t(sizeof(typename E::acc)) >= worth_streaming &&
                       reinterpret_cast<std::uintptr_t>(dst) % vector_bytes == 0;
  const std::int64_t k_end = k_begin + k_count;
  for (std::int64_t k0 = k_begin; k0 < k_end;) {
    const std::int64_t k1 = min64(min64(k0 + chunk, layout.block_end(k0)), k_end);
    for (std::int64_t lane = 0; lane < lanes; lane += W) {
      typename E::acc* to = dst + layout.offset(group0 + lane / W, k0);
      const char* from =
          reinterpret_cast<const char*>(src + lane * lane_stride + (k0 - k_begin) * k_stride);
      const int valid = static_cast<int>(min64(W, lanes - lane));
      if (streams) {
        pack_copied<E, W, true>(to, from, k_stride * element, valid, k1 - k0);
      } else if (copied) {
        pack_copied<E, W, false>(to, from, k_stride * element, valid, k1 - k0);
      } else if (transposed) {
        pack_transposed<E, W>(to, from, lane_stride * element, valid, k1 - k0);
      } else {
        pack_general<E, W>(to, from, lane_stride * element, k_stride * element, 0, valid, k1 - k0);
      }
    }
    k0 = k1;
  }
  if (streams) order_streams();
}

/// Fewer rows of A than a micro-panel, side by side without padding. The product of few rows takes
/// as long as reading B, which has pushed the panel out of the caches since it was last written:
/// each line of padding would have to be fetched like one of B. Strides in elements.
template <class E>
void pack_few_rows(typename E::acc* dst, const typename E::memory* src, std::int64_t row_stride,
                   std::int64_t k_stride, std::int64_t rows, std::int64_t count) {
  constexpr int width = lanes_of<typename E::acc>;
  std::int64_t k = 0;
  if (rows == 1 && k_stride == 1) {
    for (; k + width <= count; k += width) {
      Vec<typename E::acc, width> v;
      E::template load<width>(v, reinterpret_cast<const char*>(src + k));
      __builtin_memcpy(dst + k, &v, sizeof(v));
    }
  }
  for (; k < count; ++k)
    for (std::int64_t row = 0; row < rows; ++row) {
      typename E::memory value;
      __builtin_memcpy(&value, src + row * row_stride + k * k_stride, sizeof(value));
      dst[k * rows + row] = E::to_acc(value);
    }
}

/// The same rows as a micro-panel of W rows.
template <class T, int W>
void widen_few_rows(T* dst, const T* src, std::int64_t rows, std::int64_t count) {
  for (std::int64_t k = 0; k < count; ++k, dst += W, src += rows)
    for (std::int64_t row = 0; row < W; ++row) dst[row] = row < rows ? src[row] : T(0);
}

}  // namespace
}  // namespace KokkosIris::Impl

#endif
