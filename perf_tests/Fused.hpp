// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// The fused operations on elements of one type, beside GEMM and collective one after the other.

#ifndef KOKKOSIRIS_BENCH_FUSED_HPP
#define KOKKOSIRIS_BENCH_FUSED_HPP

#include <Machine.hpp>
#include <Separate.hpp>
#include <Session.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <rma/KokkosIris_Rma.hpp>

namespace Bench {

template <class T>
constexpr const char* type_name() {
  if constexpr (std::is_same_v<T, float>) return "float";
  if constexpr (std::is_same_v<T, double>) return "double";
  if constexpr (std::is_same_v<T, KokkosIris::half_t>) return "half";
  return "bfloat16";
}

/// Relative spacing of T's values.
template <class T>
constexpr double epsilon() {
  if constexpr (std::is_same_v<T, KokkosIris::half_t>) return 0x1p-10;
  if constexpr (std::is_same_v<T, KokkosIris::bhalf_t>) return 0x1p-7;
  if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) {
    return std::numeric_limits<T>::epsilon();
  }
}

/// What is to be reached in two ranks' run. Two shapes have targets of their own where a product is
/// sent or reduced after it was computed.
template <class T>
Target fused_target(const std::string& op, Shape shape) {
  if constexpr (std::is_same_v<T, KokkosIris::half_t>) return Target::speedup(1.0);
  if constexpr (std::is_same_v<T, KokkosIris::bhalf_t>) {
    return has_bfloat16_products() ? Target::speedup(1.5) : Target{};
  }
  const bool sends_product = op != "gemm" && op != "all_gather_matmul";
  if (sends_product && shape.m == 2048 && shape.n == 2048 && shape.k == 512) {
    return Target::speedup(1.08);
  }
  if (sends_product && shape.m == 2048 && shape.n == 2048 && shape.k == 64) {
    return Target::speedup(1.6);
  }
  return Target::speedup(0.97);
}

/// All operations of one shape.
template <class T>
class FusedCells {
 public:
  FusedCells(Session& session, Shape shape)
      : m_session(session), m_shape(shape), m_m(shape.m), m_n(shape.n), m_k(shape.k) {}

  void measure() {
    const int ranks = m_session.size();
    if (wants("gemm")) gemm_of_one_rank();
    if (ranks == 1) return;
    if (wants("matmul_all_reduce")) all_reduce();
    if (m_n % ranks == 0 && wants("matmul_reduce_scatter")) reduce_scatter();
    if (wants("matmul_all_gather")) gather_last();
    if (m_k % ranks == 0 && wants("all_gather_matmul")) gather_first();
  }

 private:
  using Workspace = KokkosIris::FusedWorkspace;
  using Method = void (Separate<T>::*)();
  struct Baseline {
    const char* name;
    Method method;
  };

  bool wants(const std::string& op) {
    return m_session.wants(op + "/" + type_name<T>() + "/" + std::to_string(m_m) + "x" +
                           std::to_string(m_n) + "x" + std::to_string(m_k));
  }
  auto random(const char* label, int rows, int columns) {
    return m_session.context().template uniform<T**>(label, -1, 1, rows, columns);
  }
  double product_bytes() const { return double(m_m) * m_n * sizeof(T); }

  void gemm_of_one_rank() {
    auto& alone = m_session.alone();
    const auto a = alone.template uniform<T**>("a", -1, 1, m_m, m_k);
    const auto b = alone.template uniform<T**>("b", -1, 1, m_k, m_n);
    const auto c = alone.template empty<T**>("c", m_m, m_n);
    Separate<T> separate(m_shape, 1, a.data(), m_k, b.data(), c.size());
    compare("gemm", c, 1, 0.0, separate, {{"BLAS", &Separate<T>::product}}, [&](const auto& ws) {
      return matmul_all_reduce(m_session.exec(), alone, c, a, b, {.workspace = ws});
    });
  }
  void all_reduce() {
    const auto a = random("a", m_m, m_k), b = random("b", m_k, m_n), c = random("c", m_m, m_n);
    Separate<T> separate(m_shape, m_session.size(), a.data(), m_k, b.data(), c.size());
    const double fraction = (m_session.size() - 1.0) / m_session.size();
    // Partial sums to their owners, and sums to all.
    compare("matmul_all_reduce", c, m_session.size(), 2 * fraction * product_bytes(), separate,
            {{"BLAS+Allreduce", &Separate<T>::product_all_reduce}}, [&](const auto& ws) {
              return matmul_all_reduce(m_session.exec(), m_session.context(), c, a, b,
                                       {.workspace = ws});
            });
  }
  void reduce_scatter() {
    const int ranks = m_session.size();
    const auto a = random("a", m_m, m_k), b = random("b", m_k, m_n),
               c = random("c", m_m, m_n / ranks);
    Separate<T> separate(m_shape, ranks, a.data(), m_k, b.data(), c.size());
    compare("matmul_reduce_scatter", c, ranks, (ranks - 1.0) / ranks * product_bytes(), separate,
            {{"BLAS+pack+Reduce_scatter", &Separate<T>::product_pack_reduce_scatter},
             {"BLAS a block+Reduce_scatter", &Separate<T>::products_reduce_scatter}},
            [&](const auto& ws) {
              return matmul_reduce_scatter(m_session.exec(), m_session.context(), c, a, b,
                                           {.workspace = ws});
            });
  }
  void gather_last() {
    const int ranks = m_session.size();
    const auto a = random("a", m_m, m_k), b = random("b", m_k, m_n),
               c = random("c", m_m * ranks, m_n);
    Separate<T> separate(m_shape, ranks, a.data(), m_k, b.data(), c.size());
    compare("matmul_all_gather", c, 1, (ranks - 1) * product_bytes(), separate,
            {{"BLAS+Allgather", &Separate<T>::product_all_gather}}, [&](const auto& ws) {
              return matmul_all_gather(m_session.exec(), m_session.context(), c, a, b,
                                       {.workspace = ws});
            });
  }
  void gather_first() {
    const int ranks = m_session.size();
    const int shard = m_k / ranks;
    const auto a = random("a", m_m, shard), b = random("b", m_k, m_n), c = random("c", m_m, m_n);
    Separate<T> separate(m_shape, ranks, a.data(), shard, b.data(), c.size());
    compare("all_gather_matmul", c, 1, (ranks - 1.0) * m_m * shard * sizeof(T), separate,
            {{"Allgather+unpack+BLAS", &Separate<T>::all_gather_unpack_product},
             {"Allgather+BLAS a shard", &Separate<T>::all_gather_products}},
            [&](const auto& ws) {
              return all_gather_matmul(m_session.exec(), m_session.context(), c, a, b,
                                       {.workspace = ws});
            });
  }

  /// \param summands   products that an element of the result is a sum of, in units of k
  /// \param sent_bytes what this rank has to send to others
  template <class CView, class Fused>
  void compare(const char* op, const CView& c, int summands, double sent_bytes,
               Separate<T>& separate, const std::vector<Baseline>& baselines, const Fused& fused) {
    // All bits set is NaN.
    std::memset(static_cast<void*>(c.data()), 0xff, c.size() * sizeof(T));
    m_session.start();
    Workspace workspace = fused(Workspace{});
    for (const Baseline& baseline : baselines) {
      (separate.*baseline.method)();
      require_equal(op, c, separate.result(), double(summands) * m_k);
    }
    using Role = Entrant::Role;
    std::vector<Entrant> entrants;
    entrants.push_back({Role::ours, "fused",
                        [&] { return timed([&] { workspace = fused(workspace); }); },
                        m_session.size() <= 2 ? fused_target<T>(op, m_shape) : Target{}});
    for (const Baseline& baseline : baselines) {
      entrants.push_back({Role::reference, baseline.name, [&separate, method = baseline.method] {
                            return timed([&] { (separate.*method)(); });
                          }});
    }
    entrants.push_back(
        {Role::component, "BLAS", [&separate] { return timed([&] { separate.only_product(); }); }});
    Record common;
    common.op = op;
    common.type = type_name<T>();
    common.engine = workspace.engine();
    common.m = m_m;
    common.n = m_n;
    common.k = m_k;
    common.ranks = std::strcmp(op, "gemm") == 0 ? 1 : m_session.size();
    const double transfer_us = sent_bytes > 0.0 ? sent_bytes / m_session.put_bandwidth() : 0.0;
    m_session.measure(common, entrants, [&](const std::vector<double>& us) {
      return std::max(us.back(), transfer_us);
    });
  }

  /// Both are sums of `count` products of numbers in [-1, 1), added up in different orders and, for
  /// 16-bit types, rounded once: rounding errors of the order of eps sqrt(count) for sums of the
  /// order of sqrt(count) stay far below 8 eps count.
  template <class CView>
  void require_equal(const char* op, const CView& ours, const T* theirs, double count) {
    using Real = typename Separate<T>::Real;
    bool good = true;
    for (std::size_t i = 0; i < ours.size() && good; ++i) {
      const double a = double(ours.data()[i]), b = double(theirs[i]);
      double tolerance = 8.0 * std::numeric_limits<Real>::epsilon() * count;
      if constexpr (KokkosIris::is_half_v<T>) tolerance += epsilon<T>() * std::abs(b);
      good = std::abs(a - b) <= tolerance;
    }
    require_everywhere(good, std::string(op) + " of " + type_name<T>() + ", " +
                                 std::to_string(m_m) + "x" + std::to_string(m_n) + "x" +
                                 std::to_string(m_k) + ": differs from the baseline");
  }

  Session& m_session;
  Shape m_shape;
  int m_m, m_n, m_k;
};

/// All shapes of one element type.
template <class T>
void measure_fused(Session& session) {
  std::vector<Shape> shapes = {{2048, 2048, 512}, {2048, 2048, 64}, {1024, 1024, 1024},
                               {512, 2048, 1024}, {1, 1024, 1024},  {16, 1024, 1024},
                               {64, 1024, 1024}};
  if (session.options().quick) shapes = {{256, 512, 128}, {1, 256, 256}};
  for (const Shape& shape : shapes) FusedCells<T>(session, shape).measure();
}

}  // namespace Bench

#endif
