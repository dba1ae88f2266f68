// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef KOKKOSIRIS_FUSED_ARCH_HOST_PACKEDGEMMKERNEL_HPP
#define KOKKOSIRIS_FUSED_ARCH_HOST_PACKEDGEMMKERNEL_HPP

#include <fused/arch/host/KokkosIris_PackedGemmVector.hpp>

namespace KokkosIris::Impl {
namespace {

/// What a micro-kernel works on: a micro-panel of A and a sliver of B for `k` packed steps, added
/// to or stored in C.
template <class T>
struct MicroTile {
  std::int64_t k;
  const T* a;  ///< MR values a step
  const T* b;  ///< NR values a step
  T* c;        ///< row-major, leading dimension ld
  std::int64_t ld;
  const char*
      next_b;  ///< what to bring nearer meanwhile: a 64-byte line each `prefetch_steps` steps
  bool accumulate;
};

constexpr std::int64_t prefetch_steps = 8;

/// Step of the micro-kernel in the type itself: acc += a[0] * b.
template <class T>
struct MultiplyAdd {
  using Value = T;
  using V = Vec<T, lanes_of<T>>;
  static KOKKOSIRIS_GEMM_INLINE void step(V& acc, const T* a, const V& b) {
    add_product(acc, *a, b);
  }
};

template <class T, int N>
KOKKOSIRIS_GEMM_INLINE void store_partial(T* c, const Vec<T, N>& value, int columns,
                                          bool accumulate) {
  T lanes[N];
  __builtin_memcpy(lanes, &value, sizeof(lanes));
  for (int j = 0; j < columns; ++j) c[j] = accumulate ? c[j] + lanes[j] : lanes[j];
}

/// R rows by NV vectors of columns, the last vector with `last` columns. R * NV accumulators stay
/// in registers.
template <class Step, int MR, int NR, int R, int NV>
__attribute__((noinline)) void micro_kernel(const MicroTile<typename Step::Value>& tile, int last) {
  using T = typename Step::Value;
  using V = typename Step::V;
  constexpr int width = lanes_of<T>;
  V acc[R][NV] = {};
  const T* a = tile.a;
  const T* b = tile.b;
  T* const c = tile.c;
  const std::int64_t ld = tile.ld;
  for (int r = 0; r < R; ++r)
    for (int v = 0; v < NV; ++v) __builtin_prefetch(c + r * ld + v * width, 1, 3);
  const char* next_b = tile.next_b;
  const auto step = [&]() __attribute__((always_inline)) {
    V bv[NV];
#pragma GCC unroll 4
    for (int v = 0; v < NV; ++v) __builtin_memcpy(&bv[v], b + v * width, sizeof(V));
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
      for (int v = 0; v < NV; ++v) Step::step(acc[r][v], a + r, bv[v]);
    a += MR;
    b += NR;
  };
  std::int64_t k = tile.k;
  for (; k >= prefetch_steps; k -= prefetch_steps) {
    __builtin_prefetch(next_b, 0, 2);
    next_b += 64;
#pragma GCC unroll 8
    for (int s = 0; s < prefetch_steps; ++s) step();
  }
  for (; k > 0; --k) step();

  const int whole = last == width ? NV : NV - 1;
  for (int r = 0; r < R; ++r) {
    for (int v = 0; v < NV; ++v) {
      T* at = c + r * ld + v * width;
      if (v >= whole) {
        store_partial<T, width>(at, acc[r][v], last, tile.accumulate);
      } else {
        V value = acc[r][v];
        if (tile.accumulate) {
          V old;
          __builtin_memcpy(&old, at, sizeof(V));
          value += old;
        }
        __builtin_memcpy(at, &value, sizeof(V));
      }
    }
  }
}

/// The kernel for `rows` of R and `vectors` of NV, found by counting down at compile time.
template <class Step, int MR, int NR, int R, int NV>
KOKKOSIRIS_GEMM_INLINE void dispatch_kernel(const MicroTile<typename Step::Value>& tile, int rows,
                                            int vectors, int last) {
  if constexpr (NV > 1) {
    if (vectors < NV) return dispatch_kernel<Step, MR, NR, R, NV - 1>(tile, rows, vectors, last);
  }
  if constexpr (R > 1) {
    if (rows < R) return dispatch_kernel<Step, MR, NR, R - 1, NV>(tile, rows, NV, last);
  }
  micro_kernel<Step, MR, NR, R, NV>(tile, last);
}

/// A block of K: m by n of C from micro-panels and slivers that are a_stride and b_stride values
/// apart. The sliver of B (NR * k values) stays in the first-level cache while the micro-panels of
/// A stream past it from the second.
template <class Step, int MR, int NR>
void block_kernel(std::int64_t m, std::int64_t n, std::int64_t k, const typename Step::Value* a,
                  std::int64_t a_stride, const typename Step::Value* b, std::int64_t b_stride,
                  typename Step::Value* out, std::int64_t ld, bool accumulate) {
  using T = typename Step::Value;
  constexpr int width = lanes_of<T>;
  for (std::int64_t j = 0; j < n; j += NR) {
    const int columns = static_cast<int>(min64(NR, n - j));
    const int vectors = (columns + width - 1) / width;
    const T* sliver = b + j / NR * b_stride;
    const char* next_b = reinterpret_cast<const char*>(j + NR < n ? sliver + b_stride : b);
    const std::int64_t lines = k * NR * static_cast<std::int64_t>(sizeof(T)) / 64;
    const std::int64_t share = ceil_div(lines, ceil_div(m, MR)) * 64;
    for (std::int64_t i = 0; i < m; i += MR) {
      const MicroTile<T> tile{
          k, a + i / MR * a_stride, sliver, out + i * ld + j, ld, next_b, accumulate};
      dispatch_kernel<Step, MR, NR, MR, NR / width>(tile, static_cast<int>(min64(MR, m - i)),
                                                    vectors, columns - (vectors - 1) * width);
      next_b += share;
    }
  }
}

}  // namespace
}  // namespace KokkosIris::Impl

#endif
