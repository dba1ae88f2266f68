// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// GEMM of the BLAS library on row-major matrices.

#ifndef KOKKOSIRIS_BENCH_BLAS_HPP
#define KOKKOSIRIS_BENCH_BLAS_HPP

#include <string>

extern "C" {
void sgemm_(const char*, const char*, const int*, const int*, const int*, const float*,
            const float*, const int*, const float*, const int*, const float*, float*, const int*);
void dgemm_(const char*, const char*, const int*, const int*, const int*, const double*,
            const double*, const int*, const double*, const int*, const double*, double*,
            const int*);
}

namespace Bench {

/// A row-major matrix: its first element, and elements from one row to the next.
template <class T>
struct Rows {
  T* data;
  int stride;
};

/// c(m, n) = a(m, k) b(k, n) + beta c. BLAS is column-major and sees the transposes.
inline void gemm(int m, int n, int k, Rows<const float> a, Rows<const float> b, float beta,
                 Rows<float> c) {
  const float one = 1.0f;
  sgemm_("N", "N", &n, &m, &k, &one, b.data, &b.stride, a.data, &a.stride, &beta, c.data,
         &c.stride);
}
inline void gemm(int m, int n, int k, Rows<const double> a, Rows<const double> b, double beta,
                 Rows<double> c) {
  const double one = 1.0;
  dgemm_("N", "N", &n, &m, &k, &one, b.data, &b.stride, a.data, &a.stride, &beta, c.data,
         &c.stride);
}

/// Runs GEMMs for about a second and prints GFLOP/s (geometric mean of float and double) and the
/// name of the kernels, in one line.
void print_blas_probe();

}  // namespace Bench

#endif
