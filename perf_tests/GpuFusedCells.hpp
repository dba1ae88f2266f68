// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// The cells of the fused operations on GPUs for elements of one type.

#ifndef KOKKOSIRIS_BENCH_GPU_FUSED_CELLS_HPP
#define KOKKOSIRIS_BENCH_GPU_FUSED_CELLS_HPP

#include <GpuFusedBench.hpp>
#include <GpuFusedSeparate.hpp>
#include <GpuFusedShapes.hpp>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace Bench {

template <class T>
inline constexpr Element element_of = std::is_same_v<T, double>               ? Element::float64
                                      : std::is_same_v<T, float>              ? Element::float32
                                      : std::is_same_v<T, KokkosIris::half_t> ? Element::half
                                                                              : Element::bfloat16;

/// A number in [-1, 1) made of the bits of a number; all of a double's are random.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION T number_of_bits(std::uint64_t bits) {
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9ull;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebull;
  if constexpr (std::is_same_v<T, double>) {
    return double(std::int64_t(bits >> 11) - (std::int64_t(1) << 52)) * 0x1p-52;
  } else {
    return T(float(int(bits >> 40) - (1 << 23)) * 0x1p-23f);
  }
}

template <class T>
struct FillRandom {
  T* m_data;
  std::uint64_t m_seed;
  KOKKOS_FUNCTION void operator()(std::size_t i) const {
    m_data[i] = number_of_bits<T>((i + m_seed) * 0x9e3779b97f4a7c15ull);
  }
};

/// Counts the elements in which two results differ by more than roundings. With u the relative
/// error of one rounding, a sum over ranks of rounded summands p and its rounding are wrong by at
/// most u (|p_0| + |p_1| + |c|) on either side; a product without a sum over ranks by u |c|. Sums
/// in float, and roundings within a product, are in `absolute`.
template <class T>
struct CountFar {
  const T* m_ours;
  const T* m_theirs;
  const T* m_partial;  ///< one summand of two, or null
  double m_unit;
  double m_absolute;
  /// 16-bit types convert to float only.
  KOKKOS_FUNCTION static double number(T value) {
    if constexpr (std::is_same_v<T, double>) return value;
    return double(float(value));
  }
  KOKKOS_FUNCTION void operator()(std::size_t i, std::size_t& far) const {
    const double ours = number(m_ours[i]), theirs = number(m_theirs[i]);
    double magnitude = Kokkos::abs(theirs);
    if (m_partial != nullptr) {
      const double partial = number(m_partial[i]);
      magnitude += Kokkos::abs(partial) + Kokkos::abs(theirs - partial);
    }
    // The roundings' errors have roundings, too. NaN counts as far.
    const double tolerance = 1.02 * 2.0 * m_unit * magnitude + m_absolute;
    if (!(Kokkos::abs(ours - theirs) <= tolerance)) ++far;
  }
};

/// One operation of one shape.
template <class T>
class GpuFusedCell {
 public:
  GpuFusedCell(GpuFusedBench& bench, FusedOp op, GpuShape shape, std::string name)
      : m_bench(bench), m_op(op), m_shape(shape), m_name(std::move(name)) {
    const int ranks = bench.size();
    auto& context = op == FusedOp::gemm ? bench.alone() : bench.context();
    const bool shards_a = op == FusedOp::all_gather_matmul;
    const bool scatters = op == FusedOp::reduce_scatter;
    const int rows = op == FusedOp::matmul_all_gather ? shape.m * ranks : shape.m;
    const int columns = scatters ? shape.n / ranks : shape.n;
    // What the operation does not want on the symmetric heap is elsewhere.
    m_a =
        shards_a ? symmetric(context, "a", shape.m, shape.k / ranks) : local("a", shape.m, shape.k);
    m_b = local("b", shape.k, shape.n);
    m_c = shards_a || scatters ? local("c", rows, columns) : symmetric(context, "c", rows, columns);
    fill(m_a, 1);
    fill(m_b, 2);
    if (bench.blas() != nullptr)
      m_separate.emplace(bench, op, element, shape, m_a.data(), m_b.data());
  }

  void measure() {
    verify();
    std::vector<Entrant> entrants;
    entrants.push_back({Entrant::Role::ours, "fused", timed_on_gpu([this] { fused(true); })});
    add_baselines(entrants);
    const bool has_reference = m_separate && m_separate->is_complete();
    if (has_reference) {
      entrants[0].target = gpu_fused_target(m_op, element, m_shape, m_separate->gemm_us());
    }
    m_bench.session().measure(record(), entrants, [&](const std::vector<double>& us) {
      if (!m_separate || m_op == FusedOp::gemm) return 0.0;
      const double transfer_us = sent_bytes(m_op, bytes_of(element), m_shape) / ideal_bytes_per_us;
      return std::max(us.back(), transfer_us) + ideal_latency_us;
    });
    m_bench.require_success(m_name);
  }

 private:
  using Matrix = Kokkos::View<T**, Kokkos::LayoutRight, Kokkos::CudaSpace>;
  static constexpr Element element = element_of<T>;
  /// Relative error of one rounding, and of the additions of a sum.
  static constexpr double units[] = {0x1p-11, 0x1p-8, 0x1p-24, 0x1p-53};
  static constexpr double unit = units[static_cast<int>(element)];
  static constexpr double sum_unit = element == Element::float64 ? 0x1p-53 : 0x1p-24;
  /// Rows up to which a step of an application is worth a CUDA graph.
  static constexpr int most_rows_of_graph = 512;

  static Matrix symmetric(GpuFusedBench::Context& context, const char* label, int rows,
                          int columns) {
    return context.template empty<T**, Kokkos::LayoutRight>(label, rows, columns).view();
  }
  static Matrix local(const char* label, int rows, int columns) {
    return Matrix(Kokkos::view_alloc(std::string(label), Kokkos::WithoutInitializing), rows,
                  columns);
  }
  auto range(const Matrix& matrix) const {
    return Kokkos::RangePolicy<Kokkos::Cuda, Kokkos::IndexType<std::size_t>>(m_bench.exec(), 0,
                                                                             matrix.size());
  }
  void fill(const Matrix& matrix, int number) const {
    const std::uint64_t seed = std::uint64_t(10 * m_bench.rank() + number) << 40;
    Kokkos::parallel_for("fill", range(matrix), FillRandom<T>{matrix.data(), seed});
  }
  std::function<double()> timed_on_gpu(std::function<void()> enqueue) const {
    return [this, enqueue] { return m_bench.aligned_time(enqueue); };
  }

  void fused(bool is_async) {
    const KokkosIris::FusedOptions<T> options = {.async_op = is_async, .workspace = m_workspace};
    const auto& exec = m_bench.exec();
    auto& context = m_bench.context();
    switch (m_op) {
      case FusedOp::gemm:
        m_workspace = matmul_all_reduce(exec, m_bench.alone(), m_c, m_a, m_b, options);
        break;
      case FusedOp::all_reduce:
        m_workspace = matmul_all_reduce(exec, context, m_c, m_a, m_b, options);
        break;
      case FusedOp::reduce_scatter:
        m_workspace = matmul_reduce_scatter(exec, context, m_c, m_a, m_b, options);
        break;
      case FusedOp::all_gather_matmul:
        m_workspace = all_gather_matmul(exec, context, m_c, m_a, m_b, options);
        break;
      case FusedOp::matmul_all_gather:
        m_workspace = matmul_all_gather(exec, context, m_c, m_a, m_b, options);
        break;
    }
  }

  void add_baselines(std::vector<Entrant>& entrants) {
    using Role = Entrant::Role;
    if (!m_separate) return;
    if (m_separate->is_complete()) {
      const auto run = [this] { m_separate->run(); };
      entrants.push_back({Role::reference, m_separate->name(), timed_on_gpu(run)});
      if (m_op != FusedOp::gemm && m_shape.m <= most_rows_of_graph) {
        const auto launch = capture(m_bench.stream(), run);
        launch();
        entrants.push_back({Role::reference, m_separate->name() + " graph", timed_on_gpu(launch)});
      }
    }
    if (m_op == FusedOp::gemm) return;
    // The last one, see measure().
    entrants.push_back({Role::component, "cuBLAS", timed_on_gpu([this] { m_separate->gemm(); })});
  }

  Record record() const {
    Record common;
    common.op = to_string(m_op);
    common.backend = GpuFusedBench::ExecutionSpace::name();
    common.type = to_string(element);
    common.engine = m_workspace.engine();
    common.ranks = m_op == FusedOp::gemm ? 1 : m_bench.size();
    common.m = m_shape.m;
    common.n = m_shape.n;
    common.k = m_shape.k;
    return common;
  }

  /// The first call prepares the workspace; the second is the one that will be measured, into
  /// memory full of NaN.
  void verify() {
    fused(false);
    check_cuda(cudaMemsetAsync(m_c.data(), 0xff, m_c.size() * sizeof(T), m_bench.stream()),
               "cudaMemsetAsync");
    m_bench.context().barrier(m_bench.exec());
    fused(true);
    m_bench.exec().fence("fused");
    if (!m_separate || !m_separate->is_complete()) return;
    m_separate->run();
    // Sums of as many products of numbers in [-1, 1), in any order: far above their errors, which
    // are of the order of eps sqrt(count) times their size of sqrt(count).
    const int summands = m_separate->partial() != nullptr ? m_bench.size() : 1;
    double absolute = 16.0 * sum_unit * double(m_shape.k) * summands;
    // A part of a product has a standard deviation of less than sqrt(k) / 3; six of them.
    if (m_separate->is_rounded_between()) absolute += unit * 2.0 * std::sqrt(double(m_shape.k));
    std::size_t far = 0;
    Kokkos::parallel_reduce(
        "compare", range(m_c),
        CountFar<T>{m_c.data(), static_cast<const T*>(m_separate->result()),
                    static_cast<const T*>(m_separate->partial()), unit, absolute},
        far);
    require_everywhere(far == 0, m_name + ": " + std::to_string(far) + " of " +
                                     std::to_string(m_c.size()) +
                                     " elements differ from cuBLAS and NCCL");
  }

  GpuFusedBench& m_bench;
  FusedOp m_op;
  GpuShape m_shape;
  std::string m_name;
  Matrix m_a, m_b, m_c;
  std::optional<GpuSeparate> m_separate;
  KokkosIris::FusedWorkspace m_workspace;
};

/// All cells of one element type.
template <class T>
void measure_gpu_fused(Session& session, const FusedBenchMaker& bench) {
  const std::string type = to_string(element_of<T>);
  for (const FusedOp op : all_fused_ops) {
    if (session.size() == 1 && op != FusedOp::gemm) continue;
    for (const GpuShape& shape : shapes_of(op, bytes_of(element_of<T>), session.options().quick)) {
      const std::string name = std::string("gpu/fused/") + to_string(op) + "/" + type + "/" +
                               std::to_string(shape.m) + "x" + std::to_string(shape.n) + "x" +
                               std::to_string(shape.k);
      if (!session.wants(name)) continue;
      GpuFusedCell<T>(bench(), op, shape, name).measure();
      // Its memory is free on all ranks before the next one's is made.
      bench().context().barrier(bench().exec());
    }
  }
}

}  // namespace Bench

#endif
