// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include <algorithm>
#include <core/KokkosIris_Config.hpp>
#include <core/KokkosIris_Environment.hpp>
#include <core/KokkosIris_Error.hpp>
#include <cstdio>
#include <cstdlib>
#include <fused/KokkosIris_FusedProblem.hpp>
#include <fused/arch/host/KokkosIris_PackedGemm.hpp>
#include <iterator>
#include <limits>
#include <numeric>
#include <string_view>
#include <utility>

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
  if (p.bias_axis != BiasAxis::none && p.bias_stride < 0) {
    return "the bias has stride " + std::to_string(p.bias_stride) + "; it must not be negative";
  }
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

struct Range {
  std::int64_t first, last;
};

/// Products of an offset and an inverse, which need not fit into 64 bits.
__extension__ typedef __int128 Wide;

/// x with a x = 1 modulo m, for coprime a in [0, m) and m >= 1.
std::int64_t inverse(std::int64_t a, std::int64_t m) {
  std::int64_t r0 = m, r1 = a, t0 = 0, t1 = 1;
  while (r1 != 0) {
    const std::int64_t q = r0 / r1;
    r0 = std::exchange(r1, r0 - q * r1);
    t0 = std::exchange(t1, t0 - q * t1);
  }
  return m == 1 ? 0 : (t0 + m) % m;
}

std::int64_t floor_div(Wide a, std::int64_t b) {
  return static_cast<std::int64_t>(a / b - (a % b < 0 ? 1 : 0));
}

/// True if there are p and q in their ranges with a p + b q = c, for a, b >= 0.
bool has_solution(std::int64_t a, Range p, std::int64_t b, Range q, std::int64_t c) {
  if (b == 0) {
    if (a == 0) return c == 0;
    return has_solution(b, q, a, p, c);
  }
  const std::int64_t divisor = std::gcd(a, b);
  if (c % divisor != 0) return false;
  a /= divisor;
  b /= divisor;
  c /= divisor;
  // The solutions are p0 + t b, q0 - t a for all integers t.
  const std::int64_t c_mod = (c % b + b) % b;
  const auto p0 = static_cast<std::int64_t>(Wide(c_mod) * inverse(a % b, b) % b);
  const Wide q0 = (Wide(c) - Wide(a) * p0) / b;
  std::int64_t first = -floor_div(Wide(p0) - p.first, b);
  std::int64_t last = floor_div(Wide(p.last) - p0, b);
  if (a == 0) return q0 >= q.first && q0 <= q.last && first <= last;
  first = std::max(first, -floor_div(Wide(q.last) - q0, a));
  last = std::min(last, floor_div(q0 - q.first, a));
  return first <= last;
}

/// The strides that both matrices have; none if they differ. A dimension of one element has any.
bool common_stride(std::int64_t x_extent, std::int64_t x_stride, std::int64_t y_extent,
                   std::int64_t y_stride, std::int64_t& stride) {
  stride = x_extent == 1 ? y_stride : x_stride;
  return x_extent == 1 || y_extent == 1 || x_stride == y_stride;
}

/// Whether two matrices share an element, if they have the same strides.
/// \return false if they have not
bool overlap_of_equal_strides(const OperandDescription& x, const OperandDescription& y,
                              bool& overlap) {
  std::int64_t row_stride = 0, col_stride = 0;
  if (!common_stride(x.rows, x.row_stride, y.rows, y.row_stride, row_stride) ||
      !common_stride(x.cols, x.col_stride, y.cols, y.col_stride, col_stride)) {
    return false;
  }
  // Elements (i, j) of x and (k, l) of y coincide if (i - k) row_stride + (j - l) col_stride is
  // the distance of the first ones.
  const std::int64_t distance = (y.data - x.data) / x.element_bytes;
  overlap = has_solution(row_stride, {1 - y.rows, x.rows - 1}, col_stride, {1 - y.cols, x.cols - 1},
                         distance);
  return true;
}

/// Exact where the strides are equal, also after a transposition. Otherwise true only if an element
/// is certainly shared: operands may be interleaved parts of one allocation.
bool surely_overlap(const OperandDescription& x, const OperandDescription& y) {
  if (x.rows * x.cols == 0 || y.rows * y.cols == 0) return false;
  if (x.data == y.data) return true;
  OperandDescription transposed = y;
  std::swap(transposed.rows, transposed.cols);
  std::swap(transposed.row_stride, transposed.col_stride);
  bool overlap = false;
  if (overlap_of_equal_strides(x, y, overlap) || overlap_of_equal_strides(x, transposed, overlap)) {
    return overlap;
  }
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
  if (p.bias_axis != BiasAxis::none) {
    const OperandDescription bias{"",
                                  static_cast<const char*>(p.bias_data),
                                  p.bias_size,
                                  1,
                                  p.bias_stride,
                                  1,
                                  p.c.element_bytes,
                                  false};
    if (surely_overlap(p.c, bias)) {
      return "C shares memory with the bias, which is read while C is written";
    }
  }
  return {};
}

struct CallRecord {
  FusedSignature signature;
  std::int64_t teams;
  char isa[16];  ///< instruction set of the packed engine
  char fault[600];
};

/// Instruction set of the packed engine, on which its tile sizes depend; "" for other engines.
const char* isa_of(const FusedSignature& signature) {
  if (signature.engine != TileEngine::packed) return "";
  return packed_gemm(static_cast<ElementKind>(signature.element), signature.m).name;
}

/// "sm90 on rank 0 2, portable on rank 1".
std::string engines_of_ranks(const std::vector<CallRecord>& all) {
  std::string text;
  std::vector<bool> listed(all.size(), false);
  for (std::size_t first = 0; first < all.size(); ++first) {
    if (listed[first]) continue;
    const TileEngine engine = all[first].signature.engine;
    text += (first == 0 ? "" : ", ") + std::string(to_string(engine)) + " on rank";
    for (std::size_t rank = first; rank < all.size(); ++rank) {
      if (all[rank].signature.engine != engine) continue;
      text += " " + std::to_string(rank);
      listed[rank] = true;
    }
  }
  return text;
}

/// What to do about a rank whose call differs from that of rank 0. If only the engine or the tiles
/// do, both were given the same.
std::string advice(const std::vector<CallRecord>& all, std::size_t rank) {
  const CallRecord &x = all[0], &y = all[rank];
  FusedSignature given = y.signature;
  given.sizes = x.signature.sizes;
  const bool same_isa = std::string_view(x.isa) == y.isa;
  if (given == x.signature && !same_isa) {
    return std::string("; the packed engine uses instruction set ") + x.isa + " on the one and " +
           y.isa + " on the other: set KOKKOSIRIS_HOST_ISA to one that all ranks have";
  }
  given.engine = x.signature.engine;
  if (given == x.signature && x.signature.engine != y.signature.engine) {
    return "; each rank chose the tile engine by its KOKKOSIRIS_ENGINE and its GPU: " +
           engines_of_ranks(all) +
           "; give all ranks the same one by FusedConfig::engine or KOKKOSIRIS_ENGINE, such as "
           "portable, which serves everywhere";
  }
  return "; all ranks must give the same";
}

/// " with tiles of 128 x 64", with "any" for what the engine chooses; "" if that is all.
std::string describe(const TileSizes& sizes) {
  if (sizes.panel_rows == 0 && sizes.block_columns == 0) return "";
  const auto extent = [](std::int64_t n) { return n > 0 ? std::to_string(n) : std::string("any"); };
  return " with tiles of " + extent(sizes.panel_rows) + " x " + extent(sizes.block_columns);
}

std::string describe(const FusedSignature& s) {
  static constexpr const char* types[] = {"double", "float", "half", "bfloat16"};
  return std::string(to_string(s.operation)) + " of M = " + std::to_string(s.m) +
         ", N = " + std::to_string(s.n) + ", K = " + std::to_string(s.k) + ", type " +
         types[s.element & 3] + ", engine " + to_string(s.engine) + describe(s.sizes);
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

TileEngine choose_engine(TileEngine requested, const EngineChoice& choice,
                         std::int64_t largest_extent, std::string& fault) {
  const bool host = choice.host;
#ifdef KOKKOSIRIS_ENABLE_BLAS
  constexpr bool have_blas = true;
#else
  constexpr bool have_blas = false;
#endif
  if (requested == TileEngine::automatic) {
    const std::string name = environment("KOKKOSIRIS_ENGINE").value_or("auto");
    constexpr TileEngine engines[] = {TileEngine::packed, TileEngine::blas, TileEngine::portable,
                                      TileEngine::sm90,   TileEngine::sm80, TileEngine::mfma};
    const auto named = std::find_if(std::begin(engines), std::end(engines),
                                    [&](TileEngine engine) { return name == to_string(engine); });
    if (named != std::end(engines)) {
      requested = *named;
    } else if (name != "auto") {
      fault = "KOKKOSIRIS_ENGINE is '" + name + "'; give auto, packed, blas, portable, sm90, " +
              "sm80 or mfma";
    }
  }
  // What every element type and extent can have.
  const TileEngine general = choice.sm80   ? TileEngine::sm80
                             : choice.mfma ? TileEngine::mfma
                                           : TileEngine::portable;
  switch (requested) {
    case TileEngine::automatic:
      if (host) return TileEngine::packed;
      return choice.sm90 ? TileEngine::sm90 : general;
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
    case TileEngine::sm90:
      if (host) fault = "the sm90 tile engine serves Hopper GPUs only";
      return choice.sm90 ? TileEngine::sm90 : general;
    case TileEngine::mfma:
      if (!choice.mfma) {
        fault =
            "the mfma tile engine serves AMD GPUs in builds of Kokkos for gfx90a or gfx942, and "
            "host backends, where it is emulated for tests";
      }
      return requested;
    case TileEngine::sm80:
      if (!choice.sm80) {
        fault =
            "the sm80 tile engine serves NVIDIA GPUs in builds of Kokkos for compute capability "
            "8.0 or newer";
      }
      return requested;
  }
  fault = "FusedConfig::engine has an unknown value";
  return TileEngine::portable;
}

std::int64_t agree_on_call(Runtime& runtime, const FusedSignature& signature, std::int64_t teams,
                           const std::string& fault, ErrorCode code) {
  const char* const operation = to_string(signature.operation);
  CallRecord mine{signature, teams, {}, {}};
  std::snprintf(mine.fault, sizeof(mine.fault), "%s", fault.c_str());
  if (fault.empty()) std::snprintf(mine.isa, sizeof(mine.isa), "%s", isa_of(signature));
  std::vector<CallRecord> all;
  try {
    all = runtime.agree(operation, mine, &CallRecord::fault);
  } catch (const Error& error) {
    // The others were in the kernel, and have given up because of this rank.
    const bool given_up = error.code() == ErrorCode::peer_failed;
    if (given_up && !fault.empty()) throw_error(code, runtime.rank(), operation, fault);
    throw;
  }
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
                    advice(all, static_cast<std::size_t>(rank)));
  }
  return most;
}

}  // namespace KokkosIris::Impl
