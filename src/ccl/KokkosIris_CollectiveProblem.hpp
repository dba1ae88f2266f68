// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// The arguments of a collective operation without their types: what is legal, and agreeing on it.

#ifndef KOKKOSIRIS_COLLECTIVE_PROBLEM_HPP
#define KOKKOSIRIS_COLLECTIVE_PROBLEM_HPP

#include <Kokkos_Core.hpp>
#include <array>
#include <ccl/KokkosIris_CollectiveOptions.hpp>
#include <core/KokkosIris_HalfTypes.hpp>
#include <core/KokkosIris_Runtime.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <typeinfo>

namespace KokkosIris::Impl {

/// Orders of the elements of a view in memory without gaps, as bits: a vector has both.
struct ElementOrder {
  static constexpr std::int32_t right = 1;  ///< the last index runs fastest
  static constexpr std::int32_t left = 2;   ///< the first one does
  static constexpr std::int32_t any = right | left;
};

/// An operand as checks and error messages need it.
struct CollectiveOperand {
  std::string label;
  const char* data;
  std::uint32_t dimensions;
  std::array<std::size_t, 8> extents;  ///< 0 beyond its dimensions
  std::int32_t order;                  ///< ElementOrder; 0: there are gaps
  std::size_t count;                   ///< of elements
  bool symmetric;
};

/// For messages.
template <class T>
const char* element_name() {
  if constexpr (std::is_same_v<T, double>) return "double";
  if constexpr (std::is_same_v<T, float>) return "float";
  if constexpr (std::is_same_v<T, half_t>) return "half";
  if constexpr (std::is_same_v<T, bhalf_t>) return "bfloat16";
  if constexpr (std::is_integral_v<T>) return std::is_signed_v<T> ? "integer" : "unsigned integer";
  return "other";
}

struct CollectiveProblem {
  CollectiveOperation operation;
  int ranks, rank;
  CollectiveOperand destination, source;
  std::int64_t element_bytes;
  std::size_t type;
  const char* type_name;

  /// Elements that one rank sends to another: a block, or for all_reduce everything.
  std::int64_t block() const {
    const bool scatters = operation == CollectiveOperation::reduce_scatter;
    return static_cast<std::int64_t>(scatters ? destination.count : source.count);
  }
};

/// ElementOrder of a view with these extents and strides.
std::int32_t element_order(std::uint32_t dimensions, const std::array<std::size_t, 8>& extents,
                           const std::array<std::size_t, 8>& strides);

template <class View>
CollectiveOperand describe_collective(const DeviceContext& context, const View& view) {
  CollectiveOperand operand{view.label(),
                            reinterpret_cast<const char*>(view.data()),
                            static_cast<std::uint32_t>(View::rank()),
                            {},
                            0,
                            1,
                            false};
  std::array<std::size_t, 8> strides = {};
  for (std::size_t r = 0; r < View::rank(); ++r) {
    operand.extents[r] = view.extent(r);
    strides[r] = static_cast<std::size_t>(view.stride(r));
    operand.count *= view.extent(r);
  }
  operand.order = element_order(operand.dimensions, operand.extents, strides);
  operand.symmetric =
      context.is_symmetric(view.data(), operand.count * sizeof(typename View::value_type));
  return operand;
}

/// What a call asks for, but for the form. In `fault` why it is illegal, with sizes and what to do,
/// if so.
CollectiveSignature signature_of(const CollectiveProblem& problem, const CollectiveConfig& config,
                                 std::string& fault);

/// Collective: all ranks come with their signature and their fault, if they found one.
/// \throws Error on all ranks: (`code`) if one has a fault, (mismatch) if signatures differ; names
///         the rank, the operation and the sizes
void agree_on_collective(Runtime& runtime, const CollectiveSignature& signature,
                         const char* type_name, const std::string& fault,
                         ErrorCode code = ErrorCode::invalid_argument);

}  // namespace KokkosIris::Impl

#endif
