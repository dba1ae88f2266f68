// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// Runs calls of the fused operations on operands of any layout in poisoned memory, and checks
/// them.

#ifndef KOKKOSIRIS_TEST_FUSED_BENCH_HPP
#define KOKKOSIRIS_TEST_FUSED_BENCH_HPP

#include <FusedGpu.hpp>
#include <FusedOracle.hpp>
#include <TestUtilities.hpp>
#include <algorithm>
#include <fused/arch/mfma/KokkosIris_MfmaWave.hpp>
#include <fused/arch/sm80/KokkosIris_Sm80Intrinsics.hpp>
#include <memory>
#include <optional>
#include <stdexcept>
#include <vector>

namespace Test {

inline constexpr FusedOperation all_operations[] = {
    FusedOperation::matmul_all_reduce, FusedOperation::all_gather_matmul,
    FusedOperation::matmul_all_gather, FusedOperation::matmul_reduce_scatter};
inline constexpr Element all_elements[] = {Element::f64, Element::f32, Element::f16, Element::bf16};
inline constexpr TileEngine all_engines[] = {TileEngine::packed, TileEngine::blas,
                                             TileEngine::portable};

enum class Layout { right, left, right_padded, left_padded, strided, left_strided };
inline constexpr int layout_count = 6;

/// A matrix of rows x cols elements of `layout`; data is set by Arena::place().
inline Operand laid_out(Layout layout, std::int64_t rows, std::int64_t cols) {
  switch (layout) {
    case Layout::right:
      return {nullptr, rows, cols, cols, 1};
    case Layout::left:
      return {nullptr, rows, cols, 1, rows};
    case Layout::right_padded:
      return {nullptr, rows, cols, cols + 3, 1};
    case Layout::left_padded:
      return {nullptr, rows, cols, 1, rows + 5};
    case Layout::strided:
      return {nullptr, rows, cols, 3 * cols + 2, 3};
    case Layout::left_strided:
      break;
  }
  return {nullptr, rows, cols, 2, 2 * rows + 3};
}

/// Memory for one operand at a time. What is not the operand has all bits set, which is NaN in
/// every element type, and is checked to be so after the call.
class Arena {
 public:
  Arena() = default;
  Arena(char* data, std::size_t bytes) : m_data(data), m_bytes(bytes) {}

  /// \param offset elements between the begin of the arena's guard and the operand
  Operand place(Element element, Operand operand, std::int64_t offset) {
    m_element = element;
    const std::int64_t last = std::max<std::int64_t>(0, operand.rows - 1) * operand.row_stride +
                              std::max<std::int64_t>(0, operand.cols - 1) * operand.col_stride;
    m_used = static_cast<std::size_t>(last + 1 + offset + 2 * guard) * bytes_of(element);
    if (m_used > m_bytes) throw std::runtime_error("the test's arena is too small");
    std::memset(m_data, 0xff, m_used);
    operand.data = m_data + static_cast<std::size_t>(guard + offset) * bytes_of(element);
    m_operand = operand;
    return operand;
  }
  void* at(std::int64_t i, std::int64_t j) const {
    const std::int64_t index = i * m_operand.row_stride + j * m_operand.col_stride;
    return static_cast<char*>(m_operand.data) +
           index * static_cast<std::int64_t>(bytes_of(m_element));
  }
  void write(const std::vector<double>& values) const {
    for (std::int64_t i = 0; i < m_operand.rows; ++i) {
      for (std::int64_t j = 0; j < m_operand.cols; ++j) {
        put_value(m_element, at(i, j), values[static_cast<std::size_t>(i * m_operand.cols + j)]);
      }
    }
  }
  /// Poisons the operand as well.
  /// \return true if nothing else in the arena has been written since place()
  bool clear() const {
    for (std::int64_t i = 0; i < m_operand.rows; ++i) {
      for (std::int64_t j = 0; j < m_operand.cols; ++j) {
        std::memset(at(i, j), 0xff, bytes_of(m_element));
      }
    }
    return std::all_of(m_data, m_data + m_used, [](char byte) { return byte == char(0xff); });
  }
  HostBytes used() const { return {m_data, m_used}; }
  /// The elements' bits in row-major order, whatever the layout.
  std::uint64_t hash() const {
    std::uint64_t result = 1469598103934665603ull;
    for (std::int64_t i = 0; i < m_operand.rows; ++i) {
      for (std::int64_t j = 0; j < m_operand.cols; ++j) {
        std::uint64_t bits = 0;
        std::memcpy(&bits, at(i, j), bytes_of(m_element));
        result = (result ^ bits) * 1099511628211ull;
      }
    }
    return result;
  }

 private:
  static constexpr std::int64_t guard = 64;
  char* m_data = nullptr;
  std::size_t m_bytes = 0;
  std::size_t m_used = 0;
  Element m_element = Element::f64;
  Operand m_operand;
};

/// How one call is made.
struct Way {
  Space space = Space::serial;
  FusedConfig config = {};
  Layout c = Layout::right, a = Layout::right, b = Layout::right;
  std::int64_t offset = 0;            ///< of the operands in their arenas, in elements
  bool aligned = false;               ///< operands begin at multiples of 16 elements
  bool symmetric_everything = false;  ///< also operands that need not be
  bool async_op = false;
  FusedWorkspace workspace = {};
};

/// One rank's memory for calls, and its context. The operands lie in memory of the host; with
/// Backend::gpu every call runs on copies of them on the GPU.
class FusedBench {
 public:
  /// Collective.
  explicit FusedBench(Backend backend, std::size_t arena_bytes = std::size_t(1) << 20,
                      double timeout = -1.0, std::size_t heap_bytes = default_heap_size)
      : m_local(3 * arena_bytes), m_bytes(arena_bytes) {
    const KokkosIris::ContextOptions options{.heap_size = heap_bytes, .timeout = timeout};
    if (backend == Backend::gpu) {
      m_mirrored.resize(2 * arena_bytes);
      m_symmetric = m_mirrored.data();
      m_gpu = std::make_unique<FusedGpu>(HostBytes{m_symmetric, m_mirrored.size()},
                                         HostBytes{m_local.data(), m_local.size()}, options);
    } else {
      m_host.emplace(MPI_COMM_WORLD, options);
      m_host_arena = m_host->empty<char*>("arena", 2 * arena_bytes);
      m_symmetric = m_host_arena.data();
    }
  }

  int rank() const { return state().device().rank(); }
  int ranks() const { return state().device().size(); }
  bool on_gpu() const { return m_gpu != nullptr; }
  KokkosIris::Impl::ContextState& state() const { return m_gpu ? m_gpu->state() : m_host->state(); }
  KokkosIris::Impl::Runtime& runtime() const { return state().runtime(); }
  std::size_t heap_used() const { return state().heap().used(); }
  std::size_t heap_capacity() const { return state().heap().capacity(); }
  /// What Context::barrier() does.
  void barrier() const {
    Kokkos::fence("test");
    state().barrier("barrier");
  }
  /// Collective: takes memory from the heap until the pointer is dropped.
  std::shared_ptr<void> reserve(std::size_t bytes) {
    if (m_gpu) return m_gpu->reserve(bytes);
    auto block = m_host->empty<char*>("reserved", bytes);
    return std::make_shared<decltype(block)>(block);
  }

  /// The engines that the backend has, for loops over all of them, and what it has for `engine`.
  /// (On a GPU a more general one serves where its own cannot: FusedConfig.)
  std::vector<TileEngine> engines() const {
    if (on_gpu() && KokkosIris::Impl::have_sm80_gpu) {
      return {TileEngine::portable, TileEngine::sm80, gpu_engine};
    }
    if (on_gpu()) return {TileEngine::portable, gpu_engine};
    std::vector<TileEngine> engines(std::begin(all_engines), std::end(all_engines));
    engines.push_back(TileEngine::mfma);  // emulated
    return engines;
  }
  TileEngine engine(TileEngine wanted) const {
    if (!on_gpu()) return wanted;
    if (wanted == TileEngine::packed) return gpu_engine;
    return wanted == TileEngine::blas ? TileEngine::portable : wanted;
  }
  /// What automatic means for float and double.
  TileEngine default_engine() const {
    if (const char* forced = std::getenv("KOKKOSIRIS_ENGINE")) {
      for (const TileEngine engine : {TileEngine::portable, TileEngine::sm80, TileEngine::mfma}) {
        if (forced == std::string(KokkosIris::Impl::to_string(engine))) return engine;
      }
    }
    if (!on_gpu()) return TileEngine::packed;
    if (KokkosIris::Impl::have_sm80_gpu) return TileEngine::sm80;
    return KokkosIris::Impl::have_mfma_gpu ? TileEngine::mfma : TileEngine::portable;
  }
  /// One that the backend has besides, or the same if there is none.
  TileEngine other_engine() const {
    if (default_engine() != TileEngine::portable) return TileEngine::portable;
    if (!on_gpu()) return TileEngine::packed;
    if (KokkosIris::Impl::have_sm80_gpu) return TileEngine::sm80;
    return KokkosIris::Impl::have_mfma_gpu ? TileEngine::mfma : TileEngine::portable;
  }
  bool has(Element element, Space space) const { return on_gpu() || ::Test::has(element, space); }

  /// Operands with their data, C poisoned. Local.
  void prepare(const Problem& p, const Way& way) {
    const bool symmetric_c = way.symmetric_everything || p.is(FusedOperation::matmul_all_reduce) ||
                             p.is(FusedOperation::matmul_all_gather);
    const bool symmetric_a = way.symmetric_everything || p.is(FusedOperation::all_gather_matmul);
    arena_c = symmetric_c ? Arena(m_symmetric, m_bytes) : Arena(m_local.data(), m_bytes);
    arena_a = symmetric_a ? Arena(m_symmetric + m_bytes, m_bytes)
                          : Arena(m_local.data() + m_bytes, m_bytes);
    arena_b = Arena(m_local.data() + 2 * m_bytes, m_bytes);
    const auto at = [&](std::int64_t offset) { return way.aligned ? offset / 16 * 16 : offset; };
    c = arena_c.place(p.element, laid_out(way.c, p.c_rows(ranks()), p.c_cols(ranks())),
                      at(way.offset));
    a = arena_a.place(p.element, laid_out(way.a, p.m, p.k), at(way.offset / 2));
    b = arena_b.place(p.element, laid_out(way.b, p.b_rows(ranks()), p.b_cols(ranks())),
                      at(way.offset + 1));
    arena_a.write(operand_values(p, rank(), 'a', a.rows * a.cols));
    arena_b.write(operand_values(p, rank(), 'b', b.rows * b.cols));
    prepare_bias(p);
  }

  /// Collective. On a GPU the engines of the host are replaced.
  FusedWorkspace call(const Problem& p, const Way& way) {
    Arguments arguments;
    if (p.has_bias(rank())) {
      arguments.bias_axis = p.bias;
      arguments.bias = m_bias.data();
      arguments.bias_size = p.bias_length(ranks());
      arguments.bias_stride = bias_stride;
    }
    arguments.async_op = way.async_op;
    arguments.config = way.config;
    arguments.config.engine = engine(way.config.engine);
    arguments.workspace = way.workspace;
    return call(p, way.space, arguments);
  }
  /// As above with these arguments, as they are.
  FusedWorkspace call(const Problem& p, Space space, const Arguments& arguments) {
    if (m_gpu) {
      return m_gpu->call(p.element, space, p.operation,
                         {arena_c.used(), arena_a.used(), arena_b.used()}, c, a, b, arguments);
    }
    auto workspace = call_fused(p.element, space, p.operation, *m_host, c, a, b, arguments);
    if (arguments.async_op) fence(space);
    return workspace;
  }

  /// Compares C with the oracle and looks for writes outside of it. Local; poisons all operands.
  void check(const Problem& p, const std::string& more = "", const std::string& engine = "") {
    check_values(p, Oracle(p, rank(), ranks()), more, engine);
    EXPECT_TRUE(arena_c.clear()) << "written outside of C: " << p.describe(ranks()) << more;
    EXPECT_TRUE(arena_a.clear()) << "written near A: " << p.describe(ranks()) << more;
    EXPECT_TRUE(arena_b.clear()) << "written near B: " << p.describe(ranks()) << more;
  }
  void check_values(const Problem& p, const Oracle& oracle, const std::string& more,
                    const std::string& engine = "") const {
    std::int64_t wrong = 0;
    std::string first;
    for (std::int64_t i = 0; i < c.rows; ++i) {
      for (std::int64_t j = 0; j < c.cols; ++j) {
        const double value = get_value(p.element, arena_c.at(i, j));
        const auto at = static_cast<std::size_t>(i * c.cols + j);
        const double tolerance = oracle.tolerance(p.element, at, engine == "sm90");
        if (std::abs(value - oracle.sums[at]) <= tolerance) continue;
        if (wrong++ > 0) continue;
        first = "C(" + std::to_string(i) + ", " + std::to_string(j) + ") is " +
                std::to_string(value) + ", not " + std::to_string(oracle.sums[at]) + " +- " +
                std::to_string(tolerance);
      }
    }
    EXPECT_EQ(wrong, 0) << first << " in " << p.describe(ranks()) << more;
  }

  FusedWorkspace run(const Problem& p, const Way& way, const std::string& more = "") {
    prepare(p, way);
    auto workspace = call(p, way);
    check(p, " (engine " + workspace.engine() + ")" + more, workspace.engine());
    return workspace;
  }

  /// Collective: the bits of C, which are the same on all ranks for matmul_all_reduce and
  /// matmul_all_gather.
  std::uint64_t agreed_hash() {
    const std::uint64_t mine = arena_c.hash();
    for (const std::uint64_t theirs : runtime().agree("hash", mine)) EXPECT_EQ(theirs, mine);
    return mine;
  }

  Arena arena_c, arena_a, arena_b;
  Operand c, a, b;

 private:
  static constexpr std::int64_t bias_stride = 2;
  static constexpr TileEngine gpu_engine =
      KokkosIris::Impl::have_mfma_gpu ? TileEngine::mfma : TileEngine::sm90;

  void prepare_bias(const Problem& p) {
    m_bias.clear();
    if (!p.has_bias(rank())) return;
    const auto values = operand_values(p, rank(), 'v', p.bias_length(ranks()));
    const std::size_t bytes = bytes_of(p.element);
    m_bias.assign((values.size() * bias_stride + 1) * bytes, char(0xff));
    for (std::size_t i = 0; i < values.size(); ++i) {
      put_value(p.element, m_bias.data() + i * bias_stride * bytes, values[i]);
    }
  }

  std::optional<HostContext> m_host;
  KokkosIris::SymmetricView<char*, HostContext::execution_space::array_layout, Kokkos::HostSpace>
      m_host_arena;
  std::vector<char> m_mirrored, m_local, m_bias;
  char* m_symmetric = nullptr;
  std::size_t m_bytes;
  std::unique_ptr<FusedGpu> m_gpu;
};

}  // namespace Test

#endif
