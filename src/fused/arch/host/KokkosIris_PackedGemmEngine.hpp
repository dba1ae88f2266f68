// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef KOKKOSIRIS_FUSED_ARCH_HOST_PACKEDGEMMENGINE_HPP
#define KOKKOSIRIS_FUSED_ARCH_HOST_PACKEDGEMMENGINE_HPP

#include <fused/arch/host/KokkosIris_PackedGemm.hpp>
#include <fused/arch/host/KokkosIris_PackedGemmElementwise.hpp>
#include <fused/arch/host/KokkosIris_PackedGemmKernel.hpp>
#include <fused/arch/host/KokkosIris_PackedGemmPack.hpp>
#include <fused/arch/host/KokkosIris_PackedGemmRows.hpp>

namespace KokkosIris::Impl {
namespace {

/// The drivers that are the same for every engine. An engine gives:
/// - Element (traits), Unit (type of packed memory), units (Units an element takes), MR, NR, KC, KG
/// (group of k), KU (unit
///   of the block length, a multiple of KG that divides KC);
/// - packs_elements: packed memory holds elements of accumulator type, one k after the other;
/// - pack(dst, layout, side, src, lane_stride, k_stride, group0, lanes, k_begin, k_count, k_total);
/// - Scope, an object that lives while blocks are computed, and block(m, n, k, a, a_stride, b,
/// b_stride, out, ld,
///   accumulate) for k steps that begin on a group.
/// Strides of packed memory are in elements.
template <class Engine>
struct Driver {
  using Element = typename Engine::Element;
  using Acc = typename Element::acc;
  using Memory = typename Element::memory;
  using Unit = typename Engine::Unit;
  static constexpr std::int64_t MR = Engine::MR, NR = Engine::NR, KG = Engine::KG;

  static std::int64_t block_k(std::int64_t k) {
    return block_length(round_up(k, KG), Engine::KC, Engine::KU);
  }

  static void pack_a(void* packed, const void* src, std::int64_t row_stride,
                     std::int64_t col_stride, std::int64_t m, std::int64_t k_begin,
                     std::int64_t k_count, std::int64_t k_total) {
    if (m <= 0 || k_count <= 0) return;
    if constexpr (Engine::packs_elements) {
      if (m < MR) {
        return pack_few_rows<Element>(static_cast<Acc*>(packed) + k_begin * m,
                                      static_cast<const Memory*>(src), row_stride, col_stride, m,
                                      k_count);
      }
    }
    const PackedLayout layout{round_up(m, MR), round_up(k_total, KG), block_k(k_total), Engine::WA};
    Engine::template pack<Engine::WA, true>(static_cast<Unit*>(packed), layout,
                                            static_cast<const Memory*>(src), row_stride, col_stride,
                                            0, m, k_begin, k_count, k_total);
  }

  static void pack_b(void* packed, const void* src, std::int64_t row_stride,
                     std::int64_t col_stride, std::int64_t n_begin, std::int64_t n_end,
                     std::int64_t k_begin, std::int64_t k_count, std::int64_t k_total) {
    if (n_end <= n_begin || k_count <= 0) return;
    const std::int64_t k_padded = round_up(k_total, KG);
    const PackedLayout layout{0, k_padded, k_padded, Engine::WB};
    Engine::template pack<Engine::WB, false>(
        static_cast<Unit*>(packed), layout, static_cast<const Memory*>(src), col_stride, row_stride,
        n_begin / Engine::WB, n_end - n_begin, k_begin, k_count, k_total);
  }

  /// k = 0: the sum of nothing.
  static void compute_nothing(std::int64_t m, std::int64_t n, Acc* out, std::int64_t ld,
                              bool accumulate) {
    if (accumulate) return;
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < n; ++j) out[i * ld + j] = Acc(0);
  }

  static void compute(std::int64_t m, std::int64_t n, std::int64_t k, const void* packed_a,
                      const void* packed_b, void* out, std::int64_t ld, bool accumulate) {
    if (m <= 0 || n <= 0) return;
    if (k <= 0) return compute_nothing(m, n, static_cast<Acc*>(out), ld, accumulate);
    const typename Engine::Scope scope;
    const std::int64_t k_padded = round_up(k, KG), step = block_k(k), rows = round_up(m, MR);
    FewRows few;
    const Unit* a = static_cast<const Unit*>(packed_a);
    const Unit* b = static_cast<const Unit*>(packed_b);
    for (std::int64_t k0 = 0; k0 < k_padded; k0 += step) {
      const std::int64_t length = min64(step, k_padded - k0);
      Engine::block(m, n, length, micro_panels(few, m, length, a, k0 * rows, k0),
                    length * Engine::WA, b + k0 * Engine::WB * Engine::units, k_padded * Engine::WB,
                    static_cast<Acc*>(out), ld, accumulate || k0 > 0);
    }
  }

  /// B where it lies, in narrow strips, if its rows are contiguous and the engine can; else by
  /// small pieces through a buffer that stays in cache: rows that are contiguous a few at a time
  /// over the whole width, others by whole slivers.
  static void compute_direct(std::int64_t m, std::int64_t n, std::int64_t k, const void* packed_a,
                             const void* b, std::int64_t row_stride, std::int64_t col_stride,
                             void* out, std::int64_t ld, bool accumulate) {
    if (m <= 0 || n <= 0) return;
    if (k <= 0) return compute_nothing(m, n, static_cast<Acc*>(out), ld, accumulate);
    if constexpr (Engine::packs_elements) {
      if ((Engine::always_direct || m <= Engine::most_direct_rows) && col_stride == 1) {
        return direct_rows(m, n, k, static_cast<const Unit*>(packed_a),
                           static_cast<const Memory*>(b), row_stride, static_cast<Acc*>(out), ld,
                           accumulate);
      }
    }
    const std::int64_t width = col_stride == 1 ? round_up(n, NR) : NR;
    for (std::int64_t j = 0; j < n; j += width)
      direct_columns(m, min64(width, n - j), k, static_cast<const Unit*>(packed_a),
                     static_cast<const Memory*>(b) + j * col_stride, row_stride, col_stride,
                     static_cast<Acc*>(out) + j, ld, accumulate);
  }

 private:
  /// Room for one micro-panel of a block of K, in engines that pack few rows without padding.
  struct FewRows {
    alignas(64) Unit panel[Engine::packs_elements ? Engine::KC * MR : 1];
  };
  /// Micro-panels of `length` columns of packed A.
  /// \param at their place, where they are packed as such
  /// \param k0 the first of the columns
  static const Unit* micro_panels([[maybe_unused]] FewRows& few, [[maybe_unused]] std::int64_t m,
                                  [[maybe_unused]] std::int64_t length, const Unit* a,
                                  std::int64_t at, [[maybe_unused]] std::int64_t k0) {
    if constexpr (Engine::packs_elements) {
      if (m < MR) {
        widen_few_rows<Acc, MR>(few.panel, a + k0 * m, m, length);
        return few.panel;
      }
    }
    return a + at * Engine::units;
  }

  static void direct_rows(std::int64_t m, std::int64_t n, std::int64_t k, const Acc* a,
                          const Memory* b, std::int64_t row_stride, Acc* out, std::int64_t ld,
                          bool accumulate) {
    using Rows = RowsProduct<Element, MR>;
    const std::int64_t block = block_k(k), width = min64(m, MR), rows = round_up(m, width);
    for (std::int64_t begin = 0; begin < k; begin += block) {
      const std::int64_t end = min64(begin + block, k);
      for (std::int64_t k0 = begin; k0 < end; k0 += Rows::most_steps) {
        Rows{m,
             n,
             min64(Rows::most_steps, end - k0),
             a + begin * rows + (k0 - begin) * width,
             (end - begin) * width,
             width,
             reinterpret_cast<const char*>(b + k0 * row_stride),
             row_stride * std::int64_t(sizeof(Memory)),
             out,
             ld,
             accumulate || k0 > 0}
            .add();
      }
    }
  }

  static void direct_columns(std::int64_t m, std::int64_t n, std::int64_t k, const Unit* a,
                             const Memory* b, std::int64_t row_stride, std::int64_t col_stride,
                             Acc* out, std::int64_t ld, bool accumulate) {
    alignas(64) Unit buffer[Engine::KC * NR * Engine::units];
    FewRows few;
    const typename Engine::Scope scope;
    const std::int64_t k_padded = round_up(k, KG), block = block_k(k), rows = round_up(m, MR);
    // With few rows, reading B is what takes time, and short runs of whole rows read it best; with
    // many, updating out is.
    const std::int64_t step = n > NR && m <= 4 * MR ? Engine::direct_k : Engine::KC;
    for (std::int64_t k0 = 0; k0 < k_padded;) {
      const std::int64_t begin = k0 / block * block, end = min64(begin + block, k_padded);
      const std::int64_t length = min64(step, end - k0), valid = min64(length, k - k0);
      const Unit* const panels =
          micro_panels(few, m, length, a, begin * rows + (k0 - begin) * Engine::WA, k0);
      for (std::int64_t j = 0; j < n; j += NR) {
        const std::int64_t columns = min64(NR, n - j);
        pack_b(buffer, b + k0 * row_stride + j * col_stride, row_stride, col_stride, 0, columns, 0,
               valid, valid);
        Engine::block(m, columns, length, panels, (end - begin) * Engine::WA, buffer,
                      length * Engine::WB, out + j, ld, accumulate || k0 > 0);
      }
      k0 += length;
    }
  }
};

/// The engine of vectors in the accumulator type: 16-bit elements are converted while they are
/// packed.
template <class E, int Rows, int Vectors, int Depth>
struct VectorEngine {
  using Element = E;
  using Unit = typename E::acc;
  static constexpr int units = 1;
  static constexpr int MR = Rows, NR = Vectors * lanes_of<Unit>, KC = Depth, KG = 1, KU = 8;
  static constexpr int WA = MR, WB = NR, direct_k = 32;
  static constexpr bool packs_elements = true;
  // Measured at N = K = 1024: with AVX-512 faster than packing B for any panel; with AVX2, which
  // has half the registers for strips, where reading B is what takes time.
  static constexpr bool always_direct = vector_bytes == 64;
  static constexpr std::int64_t most_direct_rows = 12;
  struct Scope {
    Scope() {}
  };
  template <int W, bool is_a>
  static void pack(Unit* dst, const PackedLayout& layout, const typename E::memory* src,
                   std::int64_t lane_stride, std::int64_t k_stride, std::int64_t group0,
                   std::int64_t lanes, std::int64_t k_begin, std::int64_t k_count, std::int64_t) {
    pack_lanes<E, W>(dst, layout, src, lane_stride, k_stride, group0, lanes, k_begin, k_count);
  }
  static void block(std::int64_t m, std::int64_t n, std::int64_t k, const Unit* a,
                    std::int64_t a_stride, const Unit* b, std::int64_t b_stride, Unit* out,
                    std::int64_t ld, bool accumulate) {
    block_kernel<MultiplyAdd<Unit>, MR, NR>(m, n, k, a, a_stride, b, b_stride, out, ld, accumulate);
  }
};

/// The table of an engine; the best panel height and tile width are rounded up to its micro-tile.
template <class Engine>
constexpr PackedGemm make_table(const char* name, ElementKind kind, int panel_rows,
                                int tile_columns) {
  using D = Driver<Engine>;
  using E = typename Engine::Element;
  using W = Elementwise<E>;
  const int rows = (panel_rows + Engine::MR - 1) / Engine::MR * Engine::MR;
  const int columns = (tile_columns + Engine::NR - 1) / Engine::NR * Engine::NR;
  constexpr int unit = static_cast<int>(sizeof(typename Engine::Unit)) * Engine::units;
  int in_place_k = 0;
  if constexpr (Engine::packs_elements) {
    // One pass over a panel, and reading B again from the second-level cache is hidden.
    if (Engine::always_direct) in_place_k = RowsProduct<E, Engine::MR>::most_steps;
  }
  return {name,
          kind,
          static_cast<int>(sizeof(typename E::memory)),
          static_cast<int>(sizeof(typename E::acc)),
          unit,
          unit,
          Engine::KG,
          Engine::MR,
          Engine::NR,
          Engine::KC,
          in_place_k,
          rows,
          columns,
          &D::pack_a,
          &D::pack_b,
          &D::compute,
          &D::compute_direct,
          &W::add,
          &W::convert_store,
          &W::convert_stream,
          &W::stream_fence,
          &W::load_convert};
}

}  // namespace
}  // namespace KokkosIris::Impl

#endif
