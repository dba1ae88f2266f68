// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// Options of the fused operations: bias, configuration, workspace.

#ifndef KOKKOSIRIS_FUSED_OPTIONS_HPP
#define KOKKOSIRIS_FUSED_OPTIONS_HPP

#include <Kokkos_Core.hpp>
#include <cstdint>
#include <fused/KokkosIris_FusedWorkspace.hpp>
#include <type_traits>

namespace KokkosIris {

/// Which way a bias vector runs.
enum class BiasAxis : std::int32_t {
  none,      ///< no bias
  rows,      ///< element i is added to row i
  cols,      ///< element j is added to column j
  from_size  ///< whichever dimension has the vector's length; an error if both have
};

/// A bias vector of the result's element type. It refers to the View's memory, which must live
/// until the operation is complete.
///
/// The formula of each operation is literal: *every* rank's bias is added before a reduction, so to
/// add it once pass it on one rank only.
template <class T>
struct Bias {
  const T* data = nullptr;
  std::int64_t size = 0;
  std::int64_t stride = 1;
  BiasAxis axis = BiasAxis::none;

  Bias() = default;
  /// A View of rank 1 whose length tells the axis; use rows() or cols() where M == N.
  template <class ViewType, std::enable_if_t<ViewType::rank() == 1, int> = 0>
  Bias(const ViewType& view, BiasAxis which = BiasAxis::from_size)
      : data(view.data()),
        size(static_cast<std::int64_t>(view.extent(0))),
        stride(static_cast<std::int64_t>(view.stride(0))),
        axis(which) {
    static_assert(std::is_same_v<std::remove_const_t<typename ViewType::value_type>, T>,
                  "the bias has the element type of the result");
  }
};

/// Bias with one element for each row of the product.
template <class ViewType>
auto rows(const ViewType& view) {
  return Bias<typename ViewType::non_const_value_type>(view, BiasAxis::rows);
}
/// Bias with one element for each column of the product.
template <class ViewType>
auto cols(const ViewType& view) {
  return Bias<typename ViewType::non_const_value_type>(view, BiasAxis::cols);
}

/// Options of a fused operation on elements of type T, given as `{.bias = cols(b), .async_op =
/// true}`.
template <class T>
struct FusedOptions {
  /// Added to the product of this rank before the collective.
  Bias<T> bias = {};
  /// false: the call ends with a barrier, after which the results of all ranks are complete.
  /// true: it returns after the launch; when the execution space instance is fenced this rank's
  /// result is complete and its operands may be changed. All ranks give the same value: the barrier
  /// is collective.
  bool async_op = false;
  FusedConfig config = {};
  /// Result of an earlier call; spares the preparation if operation, shape, type and config are
  /// equal.
  FusedWorkspace workspace = {};
};

}  // namespace KokkosIris

#endif
