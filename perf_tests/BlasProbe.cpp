// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// requires: fused blas

#include <Blas.hpp>
#include <Machine.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <vector>

namespace Bench {
namespace {

/// Best GFLOP/s within half a second.
template <class T>
double rate() {
  using Clock = std::chrono::steady_clock;
  constexpr int m = 1024, n = 1024, k = 512;
  const std::vector<T> a(m * k, T(1)), b(k * n, T(2));
  std::vector<T> c(m * n);
  double best = 0.0;
  const auto end = Clock::now() + std::chrono::milliseconds(500);
  while (Clock::now() < end) {
    const auto begin = Clock::now();
    gemm(m, n, k, {a.data(), k}, {b.data(), n}, T(0), {c.data(), n});
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    best = std::max(best, 2.0 * m * n * k / seconds * 1e-9);
  }
  return c[0] == T(2 * k) ? best : 0.0;
}

}  // namespace

void print_blas_probe() {
  const double score = std::sqrt(rate<float>() * rate<double>());
  std::printf("%.1f %s\n", score, blas_name().c_str());
}

}  // namespace Bench
