// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include <ccl/KokkosIris_CollectiveProblem.hpp>
#include <core/KokkosIris_Error.hpp>
#include <cstdio>
#include <vector>

namespace KokkosIris {
namespace Impl {

const char* to_string(CollectiveOperation operation) noexcept {
  switch (operation) {
    case CollectiveOperation::all_gather:
      return "all_gather";
    case CollectiveOperation::reduce_scatter:
      return "reduce_scatter";
    case CollectiveOperation::all_reduce:
      return "all_reduce";
  }
  return "none";
}

const char* to_string(CollectiveForm form) noexcept {
  switch (form) {
    case CollectiveForm::automatic:
      return "automatic";
    case CollectiveForm::packets:
      return "packets";
    case CollectiveForm::direct:
      return "direct";
  }
  return "none";
}

namespace {

std::string shape(std::uint32_t dimensions, const std::array<std::size_t, 8>& extents) {
  if (dimensions == 0) return "scalar";
  std::string text;
  for (std::uint32_t r = 0; r < dimensions; ++r) {
    text += (r == 0 ? "" : " x ") + std::to_string(extents[r]);
  }
  return text;
}

std::string named(const char* role, const CollectiveOperand& operand) {
  return std::string(role) + (operand.label.empty() ? "" : " '" + operand.label + "'") + " (" +
         shape(operand.dimensions, operand.extents) + ")";
}

/// True if `whole` has the extents of `block`, `times` times along the dimension that runs slowest.
bool is_multiple(const CollectiveOperand& whole, const CollectiveOperand& block, std::size_t times,
                 std::int32_t order) {
  const std::uint32_t slowest = order == ElementOrder::right ? 0 : whole.dimensions - 1;
  for (std::uint32_t r = 0; r < whole.dimensions; ++r) {
    if (whole.extents[r] != block.extents[r] * (r == slowest ? times : 1)) return false;
  }
  return true;
}

std::string find_gaps(const char* role, const CollectiveOperand& operand) {
  if (operand.order != 0) return {};
  return std::string(role) +
         " has strides other than LayoutRight or LayoutLeft without gaps; collective operations "
         "move "
         "one piece of memory: copy it to a View of one of these layouts (Kokkos::deep_copy), or "
         "take "
         "a subview of whole rows (LayoutRight) or columns (LayoutLeft)";
}

/// \param order receives the orders in which the extents fit
std::string find_shape_fault(const CollectiveProblem& p, std::int32_t& order) {
  for (const auto& [role, operand] : {std::pair{"dst", &p.destination}, {"src", &p.source}}) {
    if (std::string fault = find_gaps(role, *operand); !fault.empty()) return fault;
  }
  const std::int32_t common = p.destination.order & p.source.order;
  if (common == 0)
    return "one of dst and src is LayoutRight, the other LayoutLeft; give both the same";
  if (p.operation == CollectiveOperation::all_reduce) {
    if (p.destination.extents != p.source.extents) return "dst and src must have the same extents";
    order = common;
    return {};
  }
  const bool gathers = p.operation == CollectiveOperation::all_gather;
  const CollectiveOperand& whole = gathers ? p.destination : p.source;
  const CollectiveOperand& block = gathers ? p.source : p.destination;
  order = 0;
  for (const std::int32_t one : {ElementOrder::right, ElementOrder::left}) {
    if ((common & one) != 0 && is_multiple(whole, block, std::size_t(p.ranks), one)) order |= one;
  }
  if (order != 0) return {};
  return std::string(gathers ? "dst" : "src") + " must have the extents of " +
         (gathers ? "src" : "dst") + ", but " + std::to_string(p.ranks) + " times the " +
         (common == ElementOrder::left    ? "last"
          : common == ElementOrder::right ? "first"
                                          : "first (LayoutLeft: last)") +
         " one, a block for each rank";
}

std::string find_memory_fault(const CollectiveProblem& p) {
  if (p.source.count == 0) return {};
  const bool writes_all = p.operation != CollectiveOperation::reduce_scatter;
  const bool reads_all = p.operation != CollectiveOperation::all_gather;
  if (writes_all && !p.destination.symmetric) {
    return "dst is not on the symmetric heap, but other ranks write it; make it with empty() or "
           "zeros() of the context";
  }
  if (reads_all && !p.source.symmetric) {
    return "src is not on the symmetric heap, but other ranks read it; make it with the creation "
           "functions of the context or as_symmetric()";
  }
  const std::int64_t block_bytes = p.block() * p.element_bytes;
  const auto bytes = [&](const CollectiveOperand& operand) {
    return static_cast<std::int64_t>(operand.count) * p.element_bytes;
  };
  // They may be the same memory where this rank alone reads and writes it.
  const char* const own_source = p.source.data + (writes_all ? 0 : p.rank * block_bytes);
  const char* const own_destination = p.destination.data + (reads_all ? 0 : p.rank * block_bytes);
  const bool apart = p.destination.data + bytes(p.destination) <= p.source.data ||
                     p.source.data + bytes(p.source) <= p.destination.data;
  if (apart || own_source == own_destination) return {};
  return std::string("dst and src share memory; they may only if ") +
         (p.operation == CollectiveOperation::all_reduce ? "they are the same"
          : writes_all                                   ? "src is this rank's block of dst"
                                                         : "dst is this rank's block of src");
}

struct CollectiveRecord {
  CollectiveSignature signature;
  char type_name[24];
  char fault[600];
};

std::string describe(const CollectiveRecord& record) {
  const CollectiveSignature& s = record.signature;
  const std::string order = s.order == ElementOrder::right  ? ", LayoutRight"
                            : s.order == ElementOrder::left ? ", LayoutLeft"
                                                            : "";
  return std::string(to_string(s.operation)) + " of src " + shape(s.dimensions, s.extents) + order +
         ", type " + record.type_name + " of " + std::to_string(s.element_bytes) + " bytes, form " +
         to_string(s.form);
}

}  // namespace

std::int32_t element_order(std::uint32_t dimensions, const std::array<std::size_t, 8>& extents,
                           const std::array<std::size_t, 8>& strides) {
  std::int32_t order = ElementOrder::any;
  std::size_t right = 1, left = 1;
  for (std::uint32_t r = 0; r < dimensions; ++r) {
    if (extents[r] == 0) return ElementOrder::any;
  }
  for (std::uint32_t r = 0; r < dimensions; ++r) {
    const std::uint32_t back = dimensions - 1 - r;
    if (extents[r] != 1 && strides[r] != left) order &= ~ElementOrder::left;
    if (extents[back] != 1 && strides[back] != right) order &= ~ElementOrder::right;
    left *= extents[r];
    right *= extents[back];
  }
  return order;
}

CollectiveSignature signature_of(const CollectiveProblem& problem, const CollectiveConfig& config,
                                 std::string& fault) {
  CollectiveSignature signature{problem.operation,     problem.source.dimensions,
                                problem.type,          problem.source.extents,
                                problem.element_bytes, 0,
                                config.form,           config};
  fault = find_shape_fault(problem, signature.order);
  if (fault.empty()) fault = find_memory_fault(problem);
  if (!fault.empty()) {
    fault += ". Given: " + named("dst", problem.destination) + ", " + named("src", problem.source) +
             ", " + std::to_string(problem.ranks) + " ranks";
  }
  if (config.teams < 0) fault = "CollectiveConfig::teams is negative; 0 means by the size";
  if (config.form < CollectiveForm::automatic || config.form > CollectiveForm::direct) {
    fault = "CollectiveConfig::form has an unknown value";
  }
  return signature;
}

void agree_on_collective(Runtime& runtime, const CollectiveSignature& signature,
                         const char* type_name, const std::string& fault, ErrorCode code) {
  const char* const operation = to_string(signature.operation);
  CollectiveRecord mine{signature, {}, {}};
  std::snprintf(mine.type_name, sizeof(mine.type_name), "%s", type_name);
  std::snprintf(mine.fault, sizeof(mine.fault), "%s", fault.c_str());
  std::vector<CollectiveRecord> all;
  try {
    all = runtime.agree(operation, mine, &CollectiveRecord::fault);
  } catch (const Error& error) {
    // The others were in the kernel, and have given up because of this rank.
    const bool given_up = error.code() == ErrorCode::peer_failed;
    if (given_up && !fault.empty()) throw_error(code, runtime.rank(), operation, fault);
    throw;
  }
  for (int rank = 0; rank < runtime.size(); ++rank) {
    const CollectiveRecord& theirs = all[static_cast<std::size_t>(rank)];
    if (theirs.fault[0] == '\0') continue;
    throw_error(code, runtime.rank(), operation,
                fault.empty() ? "rank " + std::to_string(rank) + ": " + theirs.fault : fault);
  }
  for (int rank = 0; rank < runtime.size(); ++rank) {
    const CollectiveRecord& theirs = all[static_cast<std::size_t>(rank)];
    if (theirs.signature == all[0].signature) continue;
    throw_error(ErrorCode::mismatch, runtime.rank(), operation,
                "rank 0 calls " + describe(all[0]) + ", rank " + std::to_string(rank) + " calls " +
                    describe(theirs) +
                    (theirs.signature.config == all[0].signature.config ? "" : ", another config") +
                    "; all ranks must give the same");
  }
}

}  // namespace Impl

std::string CollectiveWorkspace::operation() const {
  return m_state ? Impl::to_string(m_state->signature.operation) : "none";
}

std::string CollectiveWorkspace::form() const {
  return m_state ? Impl::to_string(m_state->signature.form) : "none";
}

}  // namespace KokkosIris
