// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Compile options of this file: -O3 -ffp-contract=fast -mavx2 -mfma -mf16c -mavx512f -mavx512bw
// -mavx512vl -mavx512dq -mamx-tile -mamx-bf16

#include <fused/arch/host/KokkosIris_PackedGemmEngine.hpp>
#include <fused/arch/host/KokkosIris_PackedGemmIsa.hpp>
#include <fused/arch/host/KokkosIris_PackedGemmPairs.hpp>

namespace KokkosIris::Impl {
namespace {

/// A unit of packed memory is what one tile register holds: 16 lanes by 32 k of bfloat16, 1 KiB. A
/// has its lanes as the tile's rows, B has 16 rows of 16 pairs. f16 has two units in its place: a =
/// high + low exactly, see split_half().
constexpr int tile_lanes = 16, tile_k = 32, tile_elements = tile_lanes * tile_k;

/// Shapes of all eight tile registers (palette 1); loaded for the time of a call because other code
/// of the thread may use the tiles for other shapes, and released so that the kernel need not save
/// them later.
struct alignas(64) TileConfig {
  std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
  std::uint16_t column_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};

struct TileScope {
  TileScope() {
    const TileConfig config;
    __asm__ volatile("" ::"m"(config) : "memory");
    _tile_loadconfig(&config);
  }
  ~TileScope() { _tile_release(); }
  TileScope(const TileScope&) = delete;
  TileScope& operator=(const TileScope&) = delete;
};

/// Writes 16 lanes by 32 k in tile order, all of them valid. Strides in elements.
template <bool is_a>
void fill_tile(std::uint16_t* tile, const std::uint16_t* src, std::int64_t lane_stride,
               std::int64_t k_stride) {
  const char* from = reinterpret_cast<const char*>(src);
  if (k_stride == 1 && is_a) {
    for (int lane = 0; lane < tile_lanes; ++lane)
      __builtin_memcpy(tile + lane * tile_k, src + lane * lane_stride, 64);
  } else if (k_stride == 1) {
    pack_transposed<Native<std::uint32_t>, 16>(reinterpret_cast<std::uint32_t*>(tile), from,
                                               2 * lane_stride, 16, 16);
  } else if (lane_stride == 1) {
    alignas(64) std::uint16_t rows[tile_elements];
    std::uint16_t* pairs = is_a ? rows : tile;
    for (int k = 0; k < tile_k; k += 2)
      interleave_rows<16>(pairs + k * 16, from + 2 * k * k_stride, from + 2 * (k + 1) * k_stride);
    if (is_a)
      pack_transposed<Native<std::uint32_t>, 16>(reinterpret_cast<std::uint32_t*>(tile),
                                                 reinterpret_cast<const char*>(rows), 64, 16, 16);
  } else {
    for (int k = 0; k < tile_k; ++k)
      for (int lane = 0; lane < tile_lanes; ++lane)
        tile[is_a ? lane * tile_k + k : k / 2 * 32 + 2 * lane + k % 2] =
            src[lane * lane_stride + k * k_stride];
  }
}

/// Sixteen binary16 values as sums of two bfloat16 values, exactly. The high part has the leading 8
/// significant bits, the low part the other 3. A value that needs no low part is halved instead:
/// both parts then have its sign and neither is zero unless the value is, so that the four products
/// of two split values give infinity or NaN exactly when the product does.
KOKKOSIRIS_GEMM_INLINE void split_half(std::uint16_t* high, std::uint16_t* low,
                                       const std::uint16_t* half) {
  using Bits = Vec<std::uint32_t, 16>;
  using V = Vec<float, 16>;
  V value;
  Half::load<16>(value, half);
  Bits bits;
  __builtin_memcpy(&bits, &value, sizeof(bits));
  const V half_value = value * 0.5f;
  const Bits top_bits = bits & 0xffff0000u;
  V top;
  __builtin_memcpy(&top, &top_bits, sizeof(top));
  const V rest = value - top;
  const V first = bits == top_bits ? half_value : top,
          second = bits == top_bits ? half_value : rest;
  Bits first_bits, second_bits;
  __builtin_memcpy(&first_bits, &first, sizeof(first));
  __builtin_memcpy(&second_bits, &second, sizeof(second));
  const Vec<std::uint16_t, 16> h =
      __builtin_convertvector(first_bits >> 16, Vec<std::uint16_t, 16>);
  const Vec<std::uint16_t, 16> l =
      __builtin_convertvector(second_bits >> 16, Vec<std::uint16_t, 16>);
  __builtin_memcpy(high, &h, sizeof(h));
  __builtin_memcpy(low, &l, sizeof(l));
}

template <class E, int Units, bool is_a>
struct TilePacker {
  std::uint16_t* dst;
  PackedLayout layout;
  const std::uint16_t* src;
  std::int64_t lane_stride, k_stride, group0, lanes, k_begin;

  /// The part [k0, k1) of the group of k that begins at `base`, for one group of lanes; `valid_end`
  /// and above are padding.
  void unit(std::int64_t lane0, std::int64_t base, std::int64_t k0, std::int64_t k1,
            std::int64_t valid_end) const {
    std::uint16_t* to = dst + layout.offset(group0 + lane0 / tile_lanes, base) * Units;
    alignas(64) std::uint16_t raw[tile_elements];
    const bool whole = k1 - k0 == tile_k;
    if (whole && valid_end >= k1 && lanes - lane0 >= tile_lanes) {
      std::uint16_t* tile = Units == 1 ? to : raw;
      fill_tile<is_a>(tile, src + lane0 * lane_stride + (k0 - k_begin) * k_stride, lane_stride,
                      k_stride);
      if constexpr (Units == 2)
        for (int i = 0; i < tile_elements; i += 16)
          split_half(to + i, to + tile_elements + i, raw + i);
      return;
    }
    partial(to, raw, lane0, base, k0, k1, valid_end);
  }

  void partial(std::uint16_t* to, std::uint16_t* raw, std::int64_t lane0, std::int64_t base,
               std::int64_t k0, std::int64_t k1, std::int64_t valid_end) const {
    alignas(64) std::uint16_t split[2 * tile_elements];
    const auto place = [base](int lane, std::int64_t k) {
      const int kk = static_cast<int>(k - base);
      return is_a ? lane * tile_k + kk : kk / 2 * 32 + 2 * lane + kk % 2;
    };
    if constexpr (Units == 2)
      for (int i = 0; i < tile_elements; ++i) raw[i] = 0;
    for (int lane = 0; lane < tile_lanes; ++lane)
      for (std::int64_t k = k0; k < k1; ++k) {
        const bool valid = lane0 + lane < lanes && k < valid_end;
        (Units == 1 ? to : raw)[place(lane, k)] =
            valid ? src[(lane0 + lane) * lane_stride + (k - k_begin) * k_stride] : std::uint16_t(0);
      }
    if constexpr (Units == 2) {
      for (int i = 0; i < tile_elements; i += 16)
        split_half(split + i, split + tile_elements + i, raw + i);
      for (int lane = 0; lane < tile_lanes; ++lane)
        for (std::int64_t k = k0; k < k1; ++k)
          for (int u = 0; u < 2; ++u)
            to[u * tile_elements + place(lane, k)] = split[u * tile_elements + place(lane, k)];
    }
  }

  void run(std::int64_t k_count, std::int64_t k_total) const {
    const std::int64_t valid_end = k_begin + k_count,
                       k_end = valid_end == k_total ? layout.k_padded : valid_end;
    const std::int64_t first = k_begin / tile_k * tile_k;
    const bool copied = lane_stride == 1;
    // Rows of the source one group of k after the other over all lanes, or lanes one after the
    // other over all k.
    const std::int64_t groups_k = ceil_div(k_end - first, tile_k),
                       groups_lanes = ceil_div(lanes, tile_lanes);
    for (std::int64_t i = 0; i < groups_k * groups_lanes; ++i) {
      const std::int64_t base = first + (copied ? i / groups_lanes : i % groups_k) * tile_k;
      const std::int64_t lane0 = (copied ? i % groups_lanes : i / groups_k) * tile_lanes;
      unit(lane0, base, base > k_begin ? base : k_begin, min64(base + tile_k, k_end), valid_end);
    }
  }
};

/// ROWS by COLS tile registers of C, ROWS and COLS 1 or 2, for `k` columns: registers 0 to 3 hold
/// C, 4 and 5 A, 6 and 7 B.
template <int Units, int Rows, int Cols>
__attribute__((noinline)) void tile_kernel(std::int64_t k, const std::uint16_t* a,
                                           std::int64_t a_stride, const std::uint16_t* b,
                                           std::int64_t b_stride, float* c, std::int64_t ld,
                                           const char* next_b, std::int64_t lines,
                                           bool accumulate) {
  __asm__ volatile(
      "" ::
          : "memory");  // the tile loads do not tell the compiler that they read memory
  const std::int64_t c_bytes = ld * 4;
  if (accumulate) {
    _tile_loadd(0, c, c_bytes);
    if constexpr (Cols > 1) _tile_loadd(1, c + 16, c_bytes);
    if constexpr (Rows > 1) _tile_loadd(2, c + 16 * ld, c_bytes);
    if constexpr (Rows > 1 && Cols > 1) _tile_loadd(3, c + 16 * ld + 16, c_bytes);
  } else {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
  }
  const std::uint16_t* a1 = a + a_stride;
  const std::uint16_t* b1 = b + b_stride;
  const auto products = []() __attribute__((always_inline)) {
    _tile_dpbf16ps(0, 4, 6);
    if constexpr (Cols > 1) _tile_dpbf16ps(1, 4, 7);
    if constexpr (Rows > 1) _tile_dpbf16ps(2, 5, 6);
    if constexpr (Rows > 1 && Cols > 1) _tile_dpbf16ps(3, 5, 7);
  };
  const auto load_a = [&](int unit) __attribute__((always_inline)) {
    _tile_loadd(4, a + unit * tile_elements, 64);
    if constexpr (Rows > 1) _tile_loadd(5, a1 + unit * tile_elements, 64);
  };
  const auto load_b = [&](int unit) __attribute__((always_inline)) {
    _tile_loadd(6, b + unit * tile_elements, 64);
    if constexpr (Cols > 1) _tile_loadd(7, b1 + unit * tile_elements, 64);
  };
  for (std::int64_t step = 0; step < k; step += tile_k) {
    load_b(0);
    load_a(0);
    for (std::int64_t line = 0; line < lines; ++line, next_b += 64)
      __builtin_prefetch(next_b, 0, 2);
    products();
    if constexpr (Units == 2) {
      load_a(1);
      products();
      load_b(1);
      products();
      load_a(0);
      products();
    }
    a += Units * tile_elements;
    a1 += Units * tile_elements;
    b += Units * tile_elements;
    b1 += Units * tile_elements;
  }
  _tile_stored(0, c, c_bytes);
  if constexpr (Cols > 1) _tile_stored(1, c + 16, c_bytes);
  if constexpr (Rows > 1) _tile_stored(2, c + 16 * ld, c_bytes);
  if constexpr (Rows > 1 && Cols > 1) _tile_stored(3, c + 16 * ld + 16, c_bytes);
}

template <class E, int Units, int Depth>
struct TileEngine {
  using Element = E;
  using Unit = std::uint16_t;
  static constexpr int units = Units;
  static constexpr int MR = 32, NR = 32, KC = Depth, KG = tile_k, KU = tile_k;
  static constexpr int WA = tile_lanes, WB = tile_lanes, direct_k = 64;
  static constexpr bool packs_elements = false;
  using Scope = TileScope;

  template <int W, bool is_a>
  static void pack(Unit* dst, const PackedLayout& layout, const std::uint16_t* src,
                   std::int64_t lane_stride, std::int64_t k_stride, std::int64_t group0,
                   std::int64_t lanes, std::int64_t k_begin, std::int64_t k_count,
                   std::int64_t k_total) {
    TilePacker<E, Units, is_a>{dst, layout, src, lane_stride, k_stride, group0, lanes, k_begin}.run(
        k_count, k_total);
  }

  static void kernel(std::int64_t rows, std::int64_t cols, std::int64_t k, const Unit* a,
                     std::int64_t a_stride, const Unit* b, std::int64_t b_stride, float* c,
                     std::int64_t ld, const char* next_b, std::int64_t lines, bool accumulate) {
    const auto kernel_for =
        rows > 16 ? (cols > 16 ? &tile_kernel<Units, 2, 2> : &tile_kernel<Units, 2, 1>)
                  : (cols > 16 ? &tile_kernel<Units, 1, 2> : &tile_kernel<Units, 1, 1>);
    kernel_for(k, a, a_stride, b, b_stride, c, ld, next_b, lines, accumulate);
  }

  /// A tile at the edge goes through a buffer of full size.
  static void edge(std::int64_t rows, std::int64_t cols, std::int64_t k, const Unit* a,
                   std::int64_t a_stride, const Unit* b, std::int64_t b_stride, float* c,
                   std::int64_t ld, const char* next_b, std::int64_t lines, bool accumulate) {
    alignas(64) float buffer[MR * NR];
    if (accumulate) {
      for (int i = 0; i < MR; ++i)
        for (int j = 0; j < NR; ++j)
          buffer[i * NR + j] = i < rows && j < cols ? c[i * ld + j] : 0.0f;
    }
    kernel(rows, cols, k, a, a_stride, b, b_stride, buffer, NR, next_b, lines, accumulate);
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < cols; ++j) c[i * ld + j] = buffer[i * NR + j];
  }

  static void block(std::int64_t m, std::int64_t n, std::int64_t k, const Unit* a,
                    std::int64_t a_stride, const Unit* b, std::int64_t b_stride, float* out,
                    std::int64_t ld, bool accumulate) {
    a_stride *= Units;
    b_stride *= Units;
    // The next sliver is brought nearer in equal parts, a few lines with each step of each
    // micro-tile.
    const std::int64_t steps = k / tile_k, panels = ceil_div(m, MR);
    const std::int64_t lines = ceil_div(2 * steps * Units * 16, panels * steps);
    for (std::int64_t j = 0; j < n; j += NR) {
      const Unit* sliver = b + j / WB * b_stride;
      const char* next_b = reinterpret_cast<const char*>(j + NR < n ? sliver + 2 * b_stride : b);
      const std::int64_t cols = min64(NR, n - j);
      for (std::int64_t i = 0; i < m; i += MR) {
        const std::int64_t rows = min64(MR, m - i);
        const bool full = rows == MR && cols == NR;
        (full ? kernel : edge)(rows, cols, k, a + i / WA * a_stride, a_stride, sliver, b_stride,
                               out + i * ld + j, ld, next_b, lines, accumulate);
        next_b += lines * steps * 64;
      }
    }
  }
};

constexpr PackedGemm f16 = make_table<TileEngine<Half, 2, 512>>("amx", ElementKind::f16, 256, 512);
constexpr PackedGemm bf16 =
    make_table<TileEngine<Bfloat, 1, 1024>>("amx", ElementKind::bf16, 256, 512);

}  // namespace

const PackedGemm* packed_gemm_amx(ElementKind kind) {
  switch (kind) {
    case ElementKind::f16:
      return &f16;
    case ElementKind::bf16:
      return &bf16;
    default:
      return nullptr;
  }
}

}  // namespace KokkosIris::Impl
