// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef KOKKOSIRIS_FUSED_ARCH_HOST_PACKEDGEMMROWS_HPP
#define KOKKOSIRIS_FUSED_ARCH_HOST_PACKEDGEMMROWS_HPP

#include <fused/arch/host/KokkosIris_PackedGemmKernel.hpp>
#include <type_traits>

namespace KokkosIris::Impl {
namespace {

/// Some steps of a product of few rows, which takes as long as reading B: B, with contiguous rows,
/// is read where it lies, a strip of columns after the other. The first group of rows leaves the
/// strip in a buffer in the first-level cache for the other groups, in accumulator type.
/// \tparam MR rows of a micro-panel of A
template <class E, int MR>
struct RowsProduct {
  using T = typename E::acc;
  /// Steps at a time. Each reads another page of memory, and the processor remembers the places of
  /// some thousand; and a strip has to fit into the first-level cache.
  static constexpr std::int64_t most_steps = 128;

  std::int64_t rows, columns, steps;
  const T* a;  ///< element (row r, step s) at a[r / MR * a_panel + s * a_step + r % MR]
  std::int64_t a_panel, a_step;  ///< a_step is MR, or the number of rows if that is less
  const char* b;                 ///< the row of the first step
  std::int64_t b_row;            ///< bytes from a row of B to the next
  T* out;
  std::int64_t ld;
  bool accumulate;

  /// out(r, :) [+]= sum of a(r, s) B(s, :) over s < steps, for r < rows.
  void add() const {
    std::int64_t j = 0;
    if (rows == 1)
      for (; j + wide * width <= columns; j += wide * width) strip<wide, false>(j);
    for (; j + vectors * width <= columns; j += vectors * width) strip<vectors, false>(j);
    for (; j + width <= columns; j += width) strip<1, false>(j);
    if (j < columns) strip<1, true>(j);
  }

 private:
  static constexpr int width = lanes_of<T>;
  static constexpr std::int64_t bytes = sizeof(typename E::memory);
  using V = Vec<T, width>;
  // Wide strips read fastest; the sums of a group of rows have to stay in registers.
  static constexpr int vectors = vector_bytes == 64 ? 4 : 2, group = MR % 6 == 0 ? 6 : 4;
  static constexpr int wide = 2 * vectors;  // for a single row
  static_assert(MR % group == 0);

  /// All rows of the columns from j on. An edge is the last strip, of less than a vector.
  template <int Vectors, bool Edge>
  void strip(std::int64_t j) const {
    const char* const from = b + j * bytes;
    const int valid = static_cast<int>(min64(Vectors * width, columns - j));
    if constexpr (Vectors == wide) {
      multiply<1, Vectors, Edge>(a, out + j, FromMemory<false>{from, b_row, nullptr}, valid);
    } else {
      alignas(64) T buffer[most_steps * Vectors * width];
      if (rows <= group && !Edge) {
        return some_rows<group, Vectors, Edge>(rows, 0, j, FromMemory<false>{from, b_row, buffer});
      }
      using First = std::conditional_t<Edge, FromEdge, FromMemory<true>>;
      some_rows<group, Vectors, Edge>(min64(group, rows), 0, j, First{from, b_row, buffer, valid});
      for (std::int64_t r = group; r < rows; r += group)
        some_rows<group, Vectors, Edge>(min64(group, rows - r), r, j, FromBuffer{buffer});
    }
  }
  /// The number of rows is found by counting down at compile time.
  template <int R, int Vectors, bool Edge, class Source>
  void some_rows(std::int64_t count, std::int64_t row, std::int64_t j, const Source& source) const {
    if constexpr (R > 1) {
      if (count < R) return some_rows<R - 1, Vectors, Edge>(count, row, j, source);
    }
    const T* const factors = a + row / MR * a_panel + row % MR;
    multiply<R, Vectors, Edge>(factors, out + row * ld + j, source, columns - j);
  }

  template <int R, int Vectors, bool Edge, class Source>
  void multiply(const T* factors, T* to, Source source, std::int64_t valid) const {
    // With many products a step, too few later loads are in the processor's window.
    constexpr int ahead = R >= 5 ? 8 : 0;
    V sums[R][Vectors] = {};
    const std::size_t last = Edge ? static_cast<std::size_t>(valid) * sizeof(T) : sizeof(V);
    if (accumulate) {
      for (int r = 0; r < R; ++r)
        for (int v = 0; v < Vectors; ++v)
          __builtin_memcpy(&sums[r][v], to + r * ld + v * width, last);
    }
    for (std::int64_t s = 0; s < steps; ++s, factors += a_step) {
      V values[Vectors];
      source.template read<Vectors, ahead>(values);
#pragma GCC unroll 12
      for (int r = 0; r < R; ++r)
#pragma GCC unroll 8
        for (int v = 0; v < Vectors; ++v) add_product(sums[r][v], factors[r], values[v]);
    }
    for (int r = 0; r < R; ++r)
      for (int v = 0; v < Vectors; ++v)
        __builtin_memcpy(to + r * ld + v * width, &sums[r][v], last);
  }

  /// \name Where a strip comes from
  /// read<Vectors, Ahead>(values) gives the vectors of the next step and, with Ahead > 0, brings
  /// those of so many steps later nearer.
  ///@{
  template <bool Copies>
  struct FromMemory {
    const char* from;
    std::int64_t b_row;
    T* buffer;
    int valid = 0;
    template <int Vectors, int Ahead>
    KOKKOSIRIS_GEMM_INLINE void read(V* values) {
#pragma GCC unroll 8
      for (int v = 0; v < Vectors; ++v) {
        E::template load<width>(values[v], from + v * width * bytes);
        if (Copies) __builtin_memcpy(buffer + v * width, &values[v], sizeof(V));
        if (Ahead > 0) __builtin_prefetch(from + Ahead * b_row + v * width * bytes, 0, 2);
      }
      from += b_row;
      if constexpr (Copies) buffer += Vectors * width;
    }
  };
  struct FromEdge {
    const char* from;
    std::int64_t b_row;
    T* buffer;
    int valid;
    template <int Vectors, int Ahead>
    KOKKOSIRIS_GEMM_INLINE void read(V* values) {
      for (int i = 0; i < width; ++i) {
        typename E::memory value{};
        if (i < valid) __builtin_memcpy(&value, from + i * bytes, sizeof(value));
        buffer[i] = E::to_acc(value);
      }
      __builtin_memcpy(values, buffer, sizeof(V));
      from += b_row;
      buffer += width;
    }
  };
  struct FromBuffer {
    const T* buffer;
    template <int Vectors, int Ahead>
    KOKKOSIRIS_GEMM_INLINE void read(V* values) {
#pragma GCC unroll 8
      for (int v = 0; v < Vectors; ++v) __builtin_memcpy(&values[v], buffer + v * width, sizeof(V));
      buffer += Vectors * width;
    }
  };
  ///@}
};

}  // namespace
}  // namespace KokkosIris::Impl

#endif
