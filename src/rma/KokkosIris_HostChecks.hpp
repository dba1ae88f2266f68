// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// Checks of the arguments of host-level one-sided operations; the errors are local to the caller.

#ifndef KOKKOSIRIS_HOST_CHECKS_HPP
#define KOKKOSIRIS_HOST_CHECKS_HPP

#include <Kokkos_Core.hpp>
#include <core/KokkosIris_DeviceContext.hpp>
#include <cstddef>
#include <rma/KokkosIris_ViewTraits.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace KokkosIris::Impl {

/// A view as error messages show it.
struct Operand {
  std::string label;
  const void* data;
  std::size_t bytes;  ///< span, 0 without elements
  std::vector<std::size_t> extents;
};

template <class View>
Operand operand_of(const View& view) {
  Operand operand{view.label(), view.data(), view.span() * sizeof(typename View::value_type), {}};
  for (std::size_t r = 0; r != View::rank(); ++r) operand.extents.push_back(view.extent(r));
  return operand;
}

/// Checks for one call of a host-level operation.
class HostChecks {
 public:
  HostChecks(const DeviceContext& context, std::string_view operation)
      : m_context(context), m_operation(operation) {}

  /// \throws Error (invalid_argument) if there is no such rank
  const HostChecks& rank_exists(int rank) const;
  /// \throws Error (invalid_argument) if elements of the view are outside the caller's heap
  const HostChecks& symmetric(const char* role, const Operand& operand) const;
  /// \throws Error (invalid_argument) if the extents differ
  const HostChecks& same_shape(const char* role, const Operand& operand, const char* other_role,
                               const Operand& other) const;

  template <class View>
  const HostChecks& symmetric(const char* role, const View& view) const {
    // Texts are made for errors only: they would take longer than the launch of a kernel.
    const std::size_t bytes = view.span() * sizeof(typename View::value_type);
    if (bytes == 0 || m_context.is_symmetric(view.data(), bytes)) return *this;
    return symmetric(role, operand_of(view));
  }
  template <class A, class B>
  const HostChecks& same_shape(const char* role, const A& a, const char* other_role,
                               const B& b) const {
    if (same_extents(a, b)) return *this;
    return same_shape(role, operand_of(a), other_role, operand_of(b));
  }

 private:
  [[noreturn]] void refuse(const std::string& message) const;

  const DeviceContext& m_context;
  std::string_view m_operation;
};

/// The execution space must reach the memory of all views.
template <class ExecutionSpace, ViewLike... Views>
constexpr void require_accessible() {
  static_assert((Kokkos::SpaceAccessibility<ExecutionSpace,
                                            typename view_of<Views>::memory_space>::accessible &&
                 ...),
                "kernels of this execution space cannot reach the memory of one of the views");
}

}  // namespace KokkosIris::Impl

#endif
