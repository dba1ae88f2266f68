// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// Matrices as the fused operations see them: a pointer with two strides, and what element types
/// mean.

#ifndef KOKKOSIRIS_MATRIX_HPP
#define KOKKOSIRIS_MATRIX_HPP

#include <Kokkos_Core.hpp>
#include <core/KokkosIris_HalfTypes.hpp>
#include <cstdint>
#include <type_traits>

namespace KokkosIris::Impl {

/// Element (i, j) lies at data + i row_stride + j col_stride. All sizes are 64-bit.
template <class T>
struct MatrixRef {
  T* data = nullptr;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t row_stride = 0;
  std::int64_t col_stride = 0;

  KOKKOS_FUNCTION T* at(std::int64_t i, std::int64_t j) const {
    return data + i * row_stride + j * col_stride;
  }
  /// Rows [i, i + m) and columns [j, j + n).
  KOKKOS_FUNCTION MatrixRef block(std::int64_t i, std::int64_t j, std::int64_t m,
                                  std::int64_t n) const {
    return {at(i, j), m, n, row_stride, col_stride};
  }
};

/// Accumulator type of each element type that the fused operations take.
template <class T>
struct ElementTraits;
template <>
struct ElementTraits<double> {
  using acc_type = double;
};
template <>
struct ElementTraits<float> {
  using acc_type = float;
};
template <>
struct ElementTraits<half_t> {
  using acc_type = float;
};
template <>
struct ElementTraits<bhalf_t> {
  using acc_type = float;
};

template <class T>
using acc_type_t = typename ElementTraits<T>::acc_type;

template <class T>
inline constexpr bool is_fused_element_v =
    std::is_same_v<T, double> || std::is_same_v<T, float> || is_half_v<T>;

/// The matrix that a View of rank 2 describes, whatever its layout.
template <class ViewType>
MatrixRef<typename ViewType::value_type> matrix_ref(const ViewType& view) {
  static_assert(ViewType::rank() == 2, "operands of fused operations are Views of rank 2");
  return {view.data(), static_cast<std::int64_t>(view.extent(0)),
          static_cast<std::int64_t>(view.extent(1)), static_cast<std::int64_t>(view.stride(0)),
          static_cast<std::int64_t>(view.stride(1))};
}

/// The same matrix, not to be written.
template <class T>
MatrixRef<const std::remove_const_t<T>> as_const(const MatrixRef<T>& m) {
  return {m.data, m.rows, m.cols, m.row_stride, m.col_stride};
}

KOKKOS_INLINE_FUNCTION std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}
KOKKOS_INLINE_FUNCTION std::int64_t round_up(std::int64_t a, std::int64_t multiple) {
  return ceil_div(a, multiple) * multiple;
}
KOKKOS_INLINE_FUNCTION std::int64_t min64(std::int64_t a, std::int64_t b) { return a < b ? a : b; }
KOKKOS_INLINE_FUNCTION std::int64_t max64(std::int64_t a, std::int64_t b) { return a > b ? a : b; }

}  // namespace KokkosIris::Impl

#endif
