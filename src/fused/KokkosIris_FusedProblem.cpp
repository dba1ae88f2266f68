// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include <algorithm>
#include <core/KokkosIris_Config.hpp>
#include <core/KokkosIris_Environment.hpp>
#include <core/KokkosIris_Error.hpp>
#include <cstdio>
#include <cstdlib>
#include <fused/KokkosIris_FusedProblem.hpp>
#include <limits>
#include <numeric>

namespace KokkosIris::Impl {
namespace {

std::string shape(const OperandDescription& operand) {
  return std::to_string(operand.rows) + " x " + std::to_string(operand.cols);
}

std::string named(const char* role, const OperandDescription& operand) {
  return std::string(role) + (operand.label.empty() ? "" : " '" + operand.label + "'") + " (" +
         shape(operand) + ")";
}

std::string find_shape_fault(const FusedProblem& p) {
  const std::int64_t w = p.ranks;
  const bool gathers_a = p.operation == FusedOperation::all_gather_matmul;
  const std::int64_t inner = gathers_a ? p.a.cols * w : p.a.cols;
  if (inner != p.b.rows) {
    return "B has " + std::to_string(p.b.rows) + " rows, but A has " + std::to_string(p.a.cols) +
           " columns" + (gathers_a ? " on each of " + std::to_string(w) + " ranks" : "") +
           "; the inner dimensions must agree";
  }
  std::int64_t c_rows = p.m();
  std::int64_t c_cols = p.n();
  if (p.operation == FusedOperation::matmul_all_gather) c_rows *= w;
  if (p.operation == FusedOperation::matmul_reduce_scatter) {
    if (p.n() % w != 0) {
      return "the " + std::to_string(p.n()) + " columns of B cannot be divided by " +
             std::to_string(w) + " ranks; pad N to a multiple";
    }
    c_cols /= w;
  }
  if (p.c.rows != c_rows || p.c.cols != c_cols) {
    return "C must be " + std::to_string(c_rows) + " x " + std::to_string(c_cols) + " for " +
           std::to_string(w) + " ranks";
  }
  return {};
}

std::string find_bias_fault(const FusedProblem& p) {
  const bool fits_rows = p.bias_size == p.m();
  const bool fits_cols = p.bias_size == p.n();
  const std::string length = "the bias has length " + std::to_string(p.bias_size);
  switch (p.bias_axis) {
    case BiasAxis::none:
      return {};
    case BiasAxis::rows:
      return fits_rows ? "" : length + ", rows() needs M = " + std::to_string(p.m());
    case BiasAxis::cols:
      return fits_cols ? "" : length + ", cols() needs N = " + std::to_string(p.n());
    case BiasAxis::from_size:
      break;
  }
  if (fits_rows && fits_cols) {
    return length + ", which is both M and N; say rows(bias) or cols(bias)";
  }
  if (!fits_rows && !fits_cols) {
    return length + "; it must be M = " + std::to_string(p.m()) +
           " or N = " + std::to_string(p.n());
  }
  return {};
}

/// First byte and first byte behind the elements, whatever lies between.
std::pair<const char*, const char*> byte_range(const OperandDescription& o) {
  const std::int64_t last = (o.rows - 1) * o.row_stride + (o.cols - 1) * o.col_stride;
  return {o.data, o.data + (last + 1) * o.element_bytes};
}

/// True only if an element is certainly shared: operands may be interleaved parts of one
/// allocation.
bool surely_overlap(const OperandDescription& x, const OperandDescription& y) {
  if (x.rows * x.cols == 0 || y.rows * y.cols == 0) return false;
  if (x.data == y.data) return true;
  const auto [x_begin, x_end] = byte_range(x);
  const auto [y_begin, y_end] = byte_range(y);
  const auto dense = [](const OperandDescription& o, const char* begin, const char* end) {
    return end - begin == o.rows * o.cols * o.element_bytes;
  };
  return dense(x, x_begin, x_end) && dense(y, y_begin, y_end) && x_begin < y_end && y_begin < x_end;
}

/// True if two elements lie at the same place: if (i, j) and (i', j') do, then (i - i') row_stride
/// = (j' - j) col_stride, whose smallest solution is col_stride / g, row_stride / g.
bool elements_coincide(const OperandDescription& o) {
  if (o.rows * o.cols <= 1) return false;
  const std::int64_t divisor = std::gcd(o.row_stride, o.col_stride);
  if (divisor == 0) return true;
  return std::abs(o.col_stride / divisor) < o.rows && std::abs(o.row_stride / divisor) < o.cols;
}

std::string find_memory_fault(const FusedProblem& p) {
  const auto elements = [](const OperandDescription& o) { return o.rows * o.cols; };
  const bool c_symmetric = p.operation == FusedOperation::matmul_all_reduce ||
                           p.operation == FusedOperation::matmul_all_gather;
  if (c_symmetric && !p.c.symmetric && elements(p.c) > 0) {
    return "C is not on the symmetric heap, but other ranks write it; make it with zeros() or "
           "empty() "
           "of the context";
  }
  if (p.operation == FusedOperation::all_gather_matmul && !p.a.symmetric && elements(p.a) > 0) {
    return "A is not on the symmetric heap, but other ranks read it; make it with the creation "
           "functions of the context or as_symmetric()";
  }
  if (elements_coincide(p.c)) {
    return "elements of C share memory: its strides are " + std::to_string(p.c.row_stride) +
           " and " + std::to_string(p.c.col_stride);
  }
  if (surely_overlap(p.c, p.a) || surely_overlap(p.c, p.b)) {
    return "C shares memory with A or B; the operands are read while C is written";
  }
  return {};
}

struct CallRecord {
  FusedSignature signature;
  std::int64_t teams;
  char fault[600];
};

std::string describe(const FusedSignature& s) {
  static constexpr const char* types[] = {"double", "float", "half", "bfloat16"};
  return std::string(to_string(s.operation)) + " of M = " + std::to_string(s.m) +
         ", N = " + std::to_string(s.n) + ", K = " + std::to_string(s.k) + ", type " +
         types[s.element & 3] + ", engine " + to_string(s.engine) + " with tiles of " +
         std::to_string(s.sizes.panel_rows) + " x " + std::to_string(s.sizes.block_columns);
}

}  // namespace

std::string find_fault(const FusedProblem& problem) {
  for (auto* const find : {find_shape_fault, find_bias_fault, find_memory_fault}) {
    if (std::string fault = find(problem); !fault.empty()) {
      return fault + ". Given: " + named("C", problem.c) + ", " + named("A", problem.a) + ", " +
             named("B", problem.b) + ", " + std::to_string(problem.ranks) + " ranks";
    }
  }
  return {};
}

BiasAxis resolve_bias_axis(const FusedProblem& problem) {
  if (problem.bias_axis != BiasAxis::from_size) return problem.bias_axis;
  return problem.bias_size == problem.m() ? BiasAxis::rows : BiasAxis::cols;
}

TileEngine choose_engine(TileEngine requested, bool host, std::int64_t largest_extent,
                         std::string& fault) {
#ifdef KOKKOSIRIS_ENABLE_BLAS
  constexpr bool have_blas = true;
#else
  constexpr bool have_blas = false;
#endif
  if (requested == TileEngine::automatic) {
    const std::string name = environment("KOKKOSIRIS_ENGINE").value_or("auto");
    if (name == "packed")
      requested = TileEngine::packed;
    else if (name == "blas")
      requested = TileEngine::blas;
    else if (name == "portable")
      requested = TileEngine::portable;
    else if (name != "auto") {
      fault = "KOKKOSIRIS_ENGINE is '" + name + "'; give auto, packed, blas or portable";
    }
  }
  switch (requested) {
    case TileEngine::automatic:
      return host ? TileEngine::packed : TileEngine::portable;
    case TileEngine::portable:
      return requested;
    case TileEngine::packed:
      if (!host) fault = "the packed tile engine serves host backends only";
      return requested;
    case TileEngine::blas:
      // An optional library: without it, or where its 32-bit sizes do not suffice, the packed
      // engine takes its place, and FusedWorkspace::engine() says so.
      if (!host) fault = "the blas tile engine serves host backends only";
      return have_blas && largest_extent <= std::numeric_limits<std::int32_t>::max()
                 ? TileEngine::blas
                 : TileEngine::packed;
  }
  fault = "FusedConfig::engine has an unknown value";
  return TileEngine::portable;
}

std::int64_t agree_on_call(Runtime& runtime, const FusedSignature& signature, std::int64_t teams,
                           const std::string& fault, ErrorCode code) {
  const char* const operation = to_string(signature.operation);
  CallRecord mine{signature, teams, {}};
  std::snprintf(mine.fault, sizeof(mine.fault), "%s", fault.c_str());
  const auto all = runtime.agree(operation, mine);
  for (int rank = 0; rank < runtime.size(); ++rank) {
    const CallRecord& theirs = all[static_cast<std::size_t>(rank)];
    if (theirs.fault[0] == '\0') continue;
    throw_error(code, runtime.rank(), operation,
                fault.empty() ? "rank " + std::to_string(rank) + ": " + theirs.fault : fault);
  }
  std::int64_t most = 1;
  for (int rank = 0; rank < runtime.size(); ++rank) {
    const CallRecord& theirs = all[static_cast<std::size_t>(rank)];
    most = std::max(most, theirs.teams);
    if (theirs.signature == all[0].signature) continue;
    throw_error(ErrorCode::mismatch, runtime.rank(), operation,
                "rank 0 calls " + describe(all[0].signature) + ", rank " + std::to_string(rank) +
                    " calls " + describe(theirs.signature) +
                    (theirs.signature.config == all[0].signature.config ? "" : ", another config") +
                    "; all ranks must give the same");
  }
  return most;
}

}  // namespace KokkosIris::Impl
