// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Comparison.hpp"

#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#ifdef KOKKOSIRIS_ENABLE_BLAS
extern "C" void sgemm_(const char* transa, const char* transb, const int* m, const int* n,
                       const int* k, const float* alpha, const float* a, const int* lda,
                       const float* b, const int* ldb, const float* beta, float* c, const int* ldc);
#endif

namespace {

using Kokkos::LayoutLeft;
using Kokkos::LayoutRight;
template <class Layout>
using View = Kokkos::View<float**, Layout, MemorySpace>;

constexpr int m = 1024, n = 1024, k = 256;

#ifdef KOKKOSIRIS_ENABLE_BLAS
constexpr const char* separate_name = "BLAS+MPI";
constexpr int repetitions = 7;
/// Row-major c(rows, cols) = a(rows, depth) b(depth, cols), all contiguous.
void product(int rows, int cols, int depth, const float* a, const float* b, float* c) {
  const float one = 1.0f, zero = 0.0f;
  // BLAS is column-major and sees the transposes.
  sgemm_("N", "N", &cols, &rows, &depth, &one, b, &cols, a, &depth, &zero, c, &cols);
}
#else
constexpr const char* separate_name = "loops+MPI";
constexpr int repetitions = 3;
/// Row-major c(rows, cols) = a(rows, depth) b(depth, cols), all contiguous.
void product(int rows, int cols, int depth, const float* a, const float* b, float* c) {
  Kokkos::parallel_for(
      "product", Kokkos::RangePolicy<ExecutionSpace>(0, rows), KOKKOS_LAMBDA(int i) {
        float* const row = c + std::ptrdiff_t(i) * cols;
        for (int j = 0; j < cols; ++j) row[j] = 0.0f;
        for (int l = 0; l < depth; ++l) {
          const float factor = a[std::ptrdiff_t(i) * depth + l];
          for (int j = 0; j < cols; ++j) row[j] += factor * b[std::ptrdiff_t(l) * cols + j];
        }
      });
  Kokkos::fence();
}
#endif

template <class Layout>
void product(const View<Layout>& c, const View<Layout>& a, const View<Layout>& b) {
  const int rows = static_cast<int>(c.extent(0));
  const int cols = static_cast<int>(c.extent(1));
  const int depth = static_cast<int>(a.extent(1));
  if constexpr (std::is_same_v<Layout, LayoutRight>) {
    product(rows, cols, depth, a.data(), b.data(), c.data());
  } else {
    product(cols, rows, depth, b.data(), a.data(), c.data());
  }
}

double median_of_slowest(std::vector<double> times) {
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  double slowest = *middle;
  MPI_Allreduce(MPI_IN_PLACE, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return slowest;
}

template <class Layout>
void require_equal(const char* operation, const View<Layout>& fused, const View<Layout>& separate) {
  double error = 0.0;
  for (std::size_t i = 0; i < fused.extent(0); ++i) {
    for (std::size_t j = 0; j < fused.extent(1); ++j) {
      const double difference = std::abs(double(fused(i, j)) - double(separate(i, j)));
      error = difference <= error ? error : difference;  // NaN stays
    }
  }
  // Sums of at most 8 k products of numbers below 1, added up in two different orders.
  if (!(error <= 8.0 * k * k * 1.2e-7)) {
    throw std::runtime_error(std::string(operation) + ": differs from the separate form by " +
                             std::to_string(error));
  }
}

/// Runs both forms in turn, the first time without a clock, and prints a line.
template <class Layout, class Fused, class Separate>
void compare(Context& context, const char* operation, const View<Layout>& fused_result,
             const View<Layout>& separate_result, const Fused& fused, const Separate& separate) {
  KokkosIris::FusedWorkspace workspace;
  std::vector<double> fused_us, separate_us;
  const auto timed = [&](std::vector<double>& times, const auto& form) {
    context.barrier();
    const auto begin = std::chrono::steady_clock::now();
    form();
    times.push_back(
        std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin)
            .count());
  };
  for (int repetition = 0; repetition <= repetitions; ++repetition) {
    timed(fused_us, [&] { workspace = fused(workspace); });
    timed(separate_us, separate);
  }
  fused_us.erase(fused_us.begin());
  separate_us.erase(separate_us.begin());
  require_equal(operation, fused_result, separate_result);
  const double a = median_of_slowest(fused_us);
  const double b = median_of_slowest(separate_us);
  if (context.rank() == 0) {
    std::printf("%-22s %10.0f %10.0f %8.2f  %s\n", operation, a, b, b / a,
                workspace.engine().c_str());
    std::fflush(stdout);
  }
}

void compare_all_reduce(Context& context) {
  const auto a = context.uniform<float**, LayoutLeft>("a", -1, 1, m, k);
  const auto b = context.uniform<float**, LayoutLeft>("b", -1, 1, k, n);
  const auto c = context.empty<float**, LayoutLeft>("c", m, n);
  const View<LayoutLeft> partial("partial", m, n), sum("sum", m, n);
  compare(
      context, "matmul_all_reduce", c.view(), sum,
      [&](const auto& workspace) {
        return matmul_all_reduce(context, c, a, b, {.workspace = workspace});
      },
      [&] {
        product(partial, a.view(), b.view());
        MPI_Allreduce(partial.data(), sum.data(), m * n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
      });
}

void compare_reduce_scatter(Context& context) {
  const auto a = context.uniform<float**, LayoutLeft>("a", -1, 1, m, k);
  const auto b = context.uniform<float**, LayoutLeft>("b", -1, 1, k, n);
  const int columns = n / context.size();
  const View<LayoutLeft> c("c", m, columns), partial("partial", m, n), sum("sum", m, columns);
  compare(
      context, "matmul_reduce_scatter", c, sum,
      [&](const auto& workspace) {
        return matmul_reduce_scatter(context, c, a, b, {.workspace = workspace});
      },
      [&] {
        product(partial, a.view(), b.view());
        MPI_Reduce_scatter_block(partial.data(), sum.data(), m * columns, MPI_FLOAT, MPI_SUM,
                                 MPI_COMM_WORLD);
      });
}

void compare_gather_first(Context& context) {
  const int columns = k / context.size();
  const auto a = context.uniform<float**, LayoutLeft>("a", -1, 1, m, columns);
  const auto b = context.uniform<float**, LayoutLeft>("b", -1, 1, k, n);
  const View<LayoutLeft> c("c", m, n), gathered("gathered", m, k), result("result", m, n);
  compare(
      context, "all_gather_matmul", c, result,
      [&](const auto& workspace) {
        return all_gather_matmul(context, c, a, b, {.workspace = workspace});
      },
      [&] {
        MPI_Allgather(a.data(), m * columns, MPI_FLOAT, gathered.data(), m * columns, MPI_FLOAT,
                      MPI_COMM_WORLD);
        product(result, gathered, b.view());
      });
}

void compare_gather_last(Context& context) {
  const int rows = m / context.size();
  const auto a = context.uniform<float**, LayoutRight>("a", -1, 1, rows, k);
  const auto b = context.uniform<float**, LayoutRight>("b", -1, 1, k, n);
  const auto c = context.empty<float**, LayoutRight>("c", m, n);
  const View<LayoutRight> part("part", rows, n), result("result", m, n);
  compare(
      context, "matmul_all_gather", c.view(), result,
      [&](const auto& workspace) {
        return matmul_all_gather(context, c, a, b, {.workspace = workspace});
      },
      [&] {
        product(part, a.view(), b.view());
        MPI_Allgather(part.data(), rows * n, MPI_FLOAT, result.data(), rows * n, MPI_FLOAT,
                      MPI_COMM_WORLD);
      });
}

}  // namespace

void compare_with_mpi(Context& context) {
  if (context.rank() == 0) {
    std::printf(
        "\nfused against separate (%s), float, M=%d N=%d K=%d, ranks=%d, threads a rank=%d,\n"
        "time in us, median of %d\n"
        "%-22s %10s %10s %8s  %s\n",
        separate_name, m, n, k, context.size(), ExecutionSpace().concurrency(), repetitions,
        "operation", "fused", "separate", "speedup", "engine");
  }
  compare_all_reduce(context);
  compare_reduce_scatter(context);
  compare_gather_first(context);
  compare_gather_last(context);
}
