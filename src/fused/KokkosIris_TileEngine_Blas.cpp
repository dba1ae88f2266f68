// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include <fused/KokkosIris_TileEngine_Blas.hpp>

#ifdef KOKKOSIRIS_ENABLE_BLAS

// The Fortran interface, which every BLAS has, whatever its C headers are called.
extern "C" {
void dgemm_(const char* transa, const char* transb, const int* m, const int* n, const int* k,
            const double* alpha, const double* a, const int* lda, const double* b, const int* ldb,
            const double* beta, double* c, const int* ldc);
void sgemm_(const char* transa, const char* transb, const int* m, const int* n, const int* k,
            const float* alpha, const float* a, const int* lda, const float* b, const int* ldb,
            const float* beta, float* c, const int* ldc);
}

namespace KokkosIris::Impl {
namespace {

/// Row-major C = A B is column-major C^T = B^T A^T.
template <class T, class Gemm>
void gemm(Gemm* routine, std::int64_t m, std::int64_t n, std::int64_t k, const T* a,
          std::int64_t lda, const T* b, std::int64_t ldb, T* c, std::int64_t ldc) {
  if (m == 0 || n == 0) return;
  if (k == 0) {  // some libraries leave C alone then
    for (std::int64_t i = 0; i < m; ++i) {
      for (std::int64_t j = 0; j < n; ++j) c[i * ldc + j] = T(0);
    }
    return;
  }
  const int rows = static_cast<int>(n);
  const int cols = static_cast<int>(m);
  const int inner = static_cast<int>(k);
  const int ld_left = static_cast<int>(ldb);
  const int ld_right = static_cast<int>(lda);
  const int ld_out = static_cast<int>(ldc);
  const T one(1);
  const T zero(0);
  routine("N", "N", &rows, &cols, &inner, &one, b, &ld_left, a, &ld_right, &zero, c, &ld_out);
}

}  // namespace

void blas_gemm(std::int64_t m, std::int64_t n, std::int64_t k, const double* a, std::int64_t lda,
               const double* b, std::int64_t ldb, double* c, std::int64_t ldc) {
  gemm(&dgemm_, m, n, k, a, lda, b, ldb, c, ldc);
}

void blas_gemm(std::int64_t m, std::int64_t n, std::int64_t k, const float* a, std::int64_t lda,
               const float* b, std::int64_t ldb, float* c, std::int64_t ldc) {
  gemm(&sgemm_, m, n, k, a, lda, b, ldb, c, ldc);
}

}  // namespace KokkosIris::Impl

#endif
