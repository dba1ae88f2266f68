// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef KOKKOSIRIS_FUSED_ARCH_HOST_PACKEDGEMM_HPP
#define KOKKOSIRIS_FUSED_ARCH_HOST_PACKEDGEMM_HPP

#include <cstddef>
#include <cstdint>
#include <vector>

/// \file
/// The host tile engine: matrix products from packed panels, in the manner of GotoBLAS and BLIS,
/// with packing separated from computing so that a fused operation packs each operand once,
/// wherever it lies.
///
///     const PackedGemm& gemm = packed_gemm(ElementKind::f32);
///     gemm.pack_b(pb, B, ldb, 1, 0, N, 0, K, K);  // once a call
///     for (each panel of rows m0 .. m0 + m) {
///       gemm.pack_a(pa, A + m0 * lda, lda, 1, m, 0, K, K);  // once a panel; from any rank
///       for (each tile of columns n0 .. n0 + n, n0 a multiple of gemm.nr)
///         gemm.compute(m, n, K, pa, gemm.packed_b_at(pb, n0, K), out, ld, false);
///     }
///
/// Nothing here allocates, locks or throws except packed_gemm(), and all functions of the table may
/// be called from several threads at a time. This header is included by files that are compiled for
/// newer instruction sets: it must hold no inline function, because the linker could pick such a
/// copy for code that runs on every processor.

namespace KokkosIris::Impl {

/// What an element of A, B (and of the result after convert_store()) is in memory.
enum class ElementKind : int {
  f64,  ///< double; accumulated in double
  f32,  ///< float; accumulated in float
  f16,  ///< IEEE binary16 as a std::uint16_t bit pattern; accumulated in float
  bf16  ///< bfloat16 as a std::uint16_t bit pattern; accumulated in float
};

/// One tile engine for one element kind and one instruction set: its blocking parameters and its
/// functions.
///
/// All sizes are in elements, all strides in elements of the operand (any sign, any value), unless
/// bytes are said. "acc" is the accumulator type: double for f64, otherwise float. Packed memory
/// should be aligned to 64 bytes (correct at any multiple of 8). Operands and outputs need only the
/// alignment of their element.
///
/// Memory outside of the operands' elements is never read, and outside of the given output ranges
/// never written. Padding inside packed memory is zero, so whatever the memory around an operand
/// holds cannot reach a result.
///
/// Accuracy: each element of a product is a sum of k terms in the accumulator type in an
/// unspecified but fixed order: the same call on the same data gives the same bits, on any thread,
/// wherever the tile's edges lie in a panel. With the 16-bit kinds products are exact in float. The
/// bf16 engines "amx" and "avx512_bf16" use dot product instructions that flush subnormal bf16
/// inputs and subnormal float sums to zero (as with any sum, no term loses more than 2^-126 times
/// the other factor by this) and round after each pair of products. The f16 engine "amx" splits
/// each element exactly into two bf16 values and sums their four products: nothing is flushed,
/// infinities and NaN are as in IEEE arithmetic, and a sum of k terms has 4 k roundings.
struct PackedGemm {
  const char* name;  ///< instruction set: "generic", "avx2", "avx512", "avx512_bf16" or "amx"
  ElementKind kind;
  int element_bytes;  ///< bytes of an element in an operand
  int acc_bytes;      ///< bytes of an accumulator
  int packed_a_unit;  ///< bytes that an element takes in a packed panel of A ...
  int packed_b_unit;  ///< ... and in packed B
  int k_group;        ///< k is padded to a multiple of this in packed memory
  int mr;  ///< rows of a micro-tile; a packed panel of A is padded to a multiple of it, but for
           ///< fewer rows than that, which some engines pack as they are
  int nr;  ///< columns of a micro-tile (a "sliver"); packed B is padded to a multiple of it
  int kc;  ///< longest stretch of k that is accumulated in registers before the output is updated
  int in_place_k;    ///< with k up to this, compute_direct() is the faster way for any number of
                     ///< panels if B's rows are contiguous; 0: never
  int panel_rows;    ///< best height of a panel of A, a multiple of mr (see balanced_panel_rows())
  int tile_columns;  ///< best width of a tile, a multiple of nr; wider is correct

  /// Bytes of a packed panel of m rows and k columns of A. 0 if m or k is 0.
  std::int64_t packed_a_bytes(std::int64_t m, std::int64_t k) const;
  /// Bytes of packed B of k rows and n columns. 0 if k or n is 0.
  std::int64_t packed_b_bytes(std::int64_t k, std::int64_t n) const;
  /// Where the slivers from column n0 (a multiple of nr) begin in packed B of k rows.
  const void* packed_b_at(const void* packed_b, std::int64_t n0, std::int64_t k) const;
  /// Height for panels that share m rows evenly: at most panel_rows, a multiple of mr, at least mr.
  std::int64_t balanced_panel_rows(std::int64_t m) const;

  /// Packs columns [k_begin, k_begin + k_count) of a panel of m rows of A that has k_total columns
  /// altogether.
  ///
  /// \param packed_a  the panel, packed_a_bytes(m, k_total) bytes
  /// \param src       element (0, k_begin) of the panel; element (i, k) lies at
  ///                  src + i row_stride + (k - k_begin) col_stride
  ///
  /// A panel is complete when every column was packed by some call. Ranges may be of any length,
  /// begin anywhere, come in any order and be packed by several threads at the same time if they
  /// are disjoint: a call writes its own elements, the padding rows of its own columns, and, if it
  /// ends at k_total, the padding columns behind. The memory need not be initialised. Nothing is
  /// done if m or k_count is 0.
  void (*pack_a)(void* packed_a, const void* src, std::int64_t row_stride, std::int64_t col_stride,
                 std::int64_t m, std::int64_t k_begin, std::int64_t k_count, std::int64_t k_total);

  /// Packs rows [k_begin, k_begin + k_count) and columns [n_begin, n_end) of B, which has k_total
  /// rows altogether.
  ///
  /// \param packed_b  packed B as a whole, packed_b_bytes(k_total, n) bytes
  /// \param src       element (k_begin, n_begin) of B; element (k, j) lies at
  ///                  src + (k - k_begin) row_stride + (j - n_begin) col_stride
  /// \param n_begin   a multiple of nr
  /// \param n_end     a multiple of nr, or the number of columns of B
  ///
  /// Disjoint ranges may be packed in any order and by several threads at the same time, as with
  /// pack_a.
  void (*pack_b)(void* packed_b, const void* src, std::int64_t row_stride, std::int64_t col_stride,
                 std::int64_t n_begin, std::int64_t n_end, std::int64_t k_begin,
                 std::int64_t k_count, std::int64_t k_total);

  /// out(i, j) = [out(i, j) +] sum over k of A(i, k) B(k, n0 + j), for i < m and j < n.
  /// \param m           rows of the packed panel: the very m that it was packed with
  /// \param n           any number of columns; n0 + n may be any column of B
  /// \param k           the k_total of both operands; with k = 0 the sum is 0 and they are not read
  /// \param packed_a    the panel
  /// \param packed_b    the slivers from n0 on: packed_b_at(packed_b, n0, k)
  /// \param out         element (i, j) of acc type at out + i ld + j
  /// \param ld          leading dimension of out, at least n. In a buffer of the caller's own take
  ///                    n + 16 rather than a power of two: otherwise the rows of a micro-tile
  ///                    compete for a few lines of the first-level cache.
  /// \param accumulate  false: out is only written, what it held has no effect; true: added to
  void (*compute)(std::int64_t m, std::int64_t n, std::int64_t k, const void* packed_a,
                  const void* packed_b, void* out, std::int64_t ld, bool accumulate);

  /// As compute(), with B where it lies: element (k, j) at b + k row_stride + j col_stride for
  /// j < n. No packed copy of it is needed, because each element is read once, a few columns at a
  /// time: the better choice when B meets one panel only, twice as fast or more for m <= 16.
  /// The sums may be grouped otherwise than in compute(): not the same bits.
  void (*compute_direct)(std::int64_t m, std::int64_t n, std::int64_t k, const void* packed_a,
                         const void* b, std::int64_t row_stride, std::int64_t col_stride, void* out,
                         std::int64_t ld, bool accumulate);

  /// dst[i] += src[i] for i < n; both of acc type. The ranges must not overlap.
  void (*add)(void* dst, const void* src, std::int64_t n);
  /// dst[i] = element(src[i]) for i < n, rounded to nearest even; overflow gives infinity, NaN
  /// stays NaN. src is of acc type.
  void (*convert_store)(void* dst, const void* src, std::int64_t n);
  /// As convert_store(), with stores that bypass the caches where the processor has them: for
  /// memory that a peer reads next. Any alignment. A release store does not order these stores:
  /// call stream_fence() before it.
  void (*convert_stream)(void* dst, const void* src, std::int64_t n);
  /// Orders the stores of convert_stream() of this thread before its later stores.
  void (*stream_fence)();
  /// dst[i] = acc(src[i]) for i < n, exact. dst is of acc type, src of the element type.
  void (*load_convert)(void* dst, const void* src, std::int64_t n);
};

/// The engine for `kind` on this processor. The instruction set is the best that the processor and
/// the operating system support, at most the one that the environment variable KOKKOSIRIS_HOST_ISA
/// names (generic, avx2, avx512, avx512_bf16, amx; each includes those before it, and a kind that
/// gains nothing from it uses the best one before; avx512_bf16 is slower than avx512 on Intel's
/// processors and only used there when it is named). The choice is made at the first call; later
/// calls return the same object. The object lives as long as the process. \throws
/// std::runtime_error if the variable's value is unknown or not supported here; the text lists what
/// is supported.
const PackedGemm& packed_gemm(ElementKind kind);

/// The engine for `kind` under the rule above with `isa` in the place of the environment variable;
/// null or empty: no limit.
const PackedGemm& packed_gemm(ElementKind kind, const char* isa);

/// The engine for products of `m` rows: packed_gemm(kind), or a simpler one where few rows do not
/// pay for the preparation that it needs.
const PackedGemm& packed_gemm(ElementKind kind, std::int64_t m);

/// All engines for `kind` that this processor can run, in the order of the instruction sets.
std::vector<const PackedGemm*> packed_gemm_variants(ElementKind kind);

}  // namespace KokkosIris::Impl

#endif
