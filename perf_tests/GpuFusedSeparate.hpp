// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// The baselines of the fused operations on GPUs: GEMM of cuBLAS and a collective of NCCL, one
/// after the other on a stream.
///
/// NCCL reduces and scatters blocks in one piece, and gathers shards one behind the other; columns
/// are neither. There are several ways, each with its name:
/// - matmul_reduce_scatter: one batch of two GEMMs that leave a block of columns each ("cuBLAS
///   batch+NCCL"), the two one after the other ("cuBLAS x2+NCCL"), or one GEMM and copies of the
///   blocks ("cuBLAS+pack+NCCL");
/// - all_gather_matmul: a GEMM for each shard, the later ones adding to C ("NCCL+cuBLAS x2"), or
///   copies that join the shards and one GEMM ("NCCL+unpack+cuBLAS").
/// The fastest of a shape is chosen before the times are taken.

#ifndef KOKKOSIRIS_BENCH_GPU_FUSED_SEPARATE_HPP
#define KOKKOSIRIS_BENCH_GPU_FUSED_SEPARATE_HPP

#include <GpuFusedBench.hpp>
#include <GpuFusedShapes.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace Bench {

class GpuSeparate {
 public:
  /// Collective. Needs bench.blas().
  /// \param a (M, K), for all_gather_matmul the shard (M, K / ranks); without padding, as B
  /// \param b (K, N)
  GpuSeparate(GpuFusedBench& bench, FusedOp op, Element element, GpuShape shape, const void* a,
              const void* b);
  GpuSeparate(const GpuSeparate&) = delete;
  GpuSeparate& operator=(const GpuSeparate&) = delete;

  /// True if run() can do it: there is NCCL, or it needs none.
  bool is_complete() const { return static_cast<bool>(m_run); }
  const std::string& name() const { return m_name; }

  /// \name Enqueued on the bench's stream
  ///@{
  void run() const { m_run(); }
  void gemm() const { m_gemm(); }
  ///@}
  /// Microseconds of the GEMM alone on the slower rank, measured once, for the choice of targets.
  double gemm_us() const { return m_gemm_us; }

  /// After run(): the result without padding.
  const void* result() const { return m_result.data(); }
  /// This rank's summand of the result, where it is a sum over ranks; else null.
  const void* partial() const { return m_partial; }
  /// True if a sum over K was rounded to the element type on its way.
  bool is_rounded_between() const { return m_is_rounded_between; }

 private:
  using Bytes = Kokkos::View<char*, Kokkos::CudaSpace>;
  using Action = std::function<void()>;

  Bytes allocate(const char* label, std::int64_t elements) const;
  /// As bytes, from the beginning.
  char* at(const Bytes& bytes, std::int64_t element) const {
    return bytes.data() + bytes_of(m_element) * element;
  }

  /// Empty if cuBLAS cannot do it.
  Action plan_if_possible(const GemmProblem& problem) const;
  /// \throws std::runtime_error if cuBLAS cannot do it
  Action plan(const GemmProblem& problem) const;
  /// Everything of one product whose rows are without padding.
  GemmProblem whole(const void* a, void* c) const;
  /// Between W blocks of `columns` columns each and a matrix of W * columns.
  Action copy_blocks(char* blocks, char* matrix, std::int64_t columns, bool joins) const;

  void prepare_gemm();
  void prepare_all_reduce();
  void prepare_reduce_scatter();
  void prepare_all_gather_matmul();
  void prepare_matmul_all_gather();

  GpuFusedBench& m_bench;
  Element m_element;
  std::int64_t m_m, m_n, m_k;
  int m_ranks;
  const void* m_a;
  const void* m_b;
  Bytes m_result, m_product, m_blocks, m_joined;
  std::string m_name;
  Action m_gemm, m_run;
  double m_gemm_us = 0.0;
  const void* m_partial = nullptr;
  bool m_is_rounded_between = false;
};

}  // namespace Bench

#endif
