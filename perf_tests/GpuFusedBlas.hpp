// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// The GEMM of cuBLAS with the fastest of the algorithms that its heuristics propose.

#ifndef KOKKOSIRIS_BENCH_GPU_FUSED_BLAS_HPP
#define KOKKOSIRIS_BENCH_GPU_FUSED_BLAS_HPP

#include <cuda_runtime.h>

#include <GpuFusedLibrary.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace Bench {

/// C = A B + beta C, all row-major, sums in float. Strides are of rows, in elements.
struct GemmProblem {
  Element element;
  std::int64_t m, n, k;
  const void* a;
  std::int64_t a_stride;
  const void* b;
  std::int64_t b_stride;
  void* c;
  std::int64_t c_stride;
  float beta = 0.0f;
  /// As many products, whose operands are these numbers of elements apart.
  int batch = 1;
  std::int64_t a_step = 0, b_step = 0, c_step = 0;
};

/// cublasLt, loaded when the program runs. Not collective.
class CublasLt {
 public:
  virtual ~CublasLt() = default;
  /// \return null if it is not found, or if this program was compiled without its header
  static std::unique_ptr<CublasLt> open();

  /// Such as "13.0.2".
  virtual std::string version() const = 0;
  virtual const std::string& folder() const = 0;

  /// Asks for up to 8 algorithms that need no more than 64 MiB of workspace, runs each a few times
  /// (C is written, and left undefined), and takes the fastest. Plans share one workspace, so they
  /// belong on one stream.
  /// \return enqueues the product on the stream, and is valid as long as this object; nothing if
  ///         there is no algorithm
  virtual std::function<void()> plan(const GemmProblem& problem, cudaStream_t stream) const = 0;
};

}  // namespace Bench

#endif
