// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include <core/KokkosIris_Error.hpp>
#include <rma/KokkosIris_HostChecks.hpp>

namespace KokkosIris::Impl {
namespace {

/// For example: dst "A" (3 x 4).
std::string text_of(const char* role, const Operand& operand) {
  std::string text = role;
  if (!operand.label.empty()) text += " \"" + operand.label + "\"";
  if (operand.extents.empty()) return text + " (one element)";
  std::string extents;
  for (const std::size_t extent : operand.extents) {
    extents += (extents.empty() ? "" : " x ") + std::to_string(extent);
  }
  return text + " (" + extents + ")";
}

}  // namespace

void HostChecks::refuse(const std::string& message) const {
  throw_error(ErrorCode::invalid_argument, m_context.rank(), m_operation, message);
}

const HostChecks& HostChecks::rank_exists(int rank) const {
  if (rank < 0 || rank >= m_context.size()) {
    refuse("rank " + std::to_string(rank) + " does not exist; the context has ranks 0 to " +
           std::to_string(m_context.size() - 1));
  }
  return *this;
}

const HostChecks& HostChecks::symmetric(const char* role, const Operand& operand) const {
  if (operand.bytes != 0 && !m_context.is_symmetric(operand.data, operand.bytes)) {
    refuse(text_of(role, operand) + " of " + std::to_string(operand.bytes) +
           " bytes is not on the caller's symmetric heap; create it with the context, or copy it "
           "there with as_symmetric");
  }
  return *this;
}

const HostChecks& HostChecks::same_shape(const char* role, const Operand& operand,
                                         const char* other_role, const Operand& other) const {
  if (operand.extents != other.extents) {
    refuse(text_of(role, operand) + " and " + text_of(other_role, other) +
           " have different extents; take a subview of the larger one");
  }
  return *this;
}

}  // namespace KokkosIris::Impl
