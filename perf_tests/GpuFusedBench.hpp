// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// The fused operations on two GPUs beside cuBLAS and NCCL: what their cells share.
///
/// How it is measured. Two ranks with a GPU each. Everything of a cell runs on one stream of the
/// rank, and takes turns call by call: the fused operation by the public interface with a workspace
/// of an earlier call and `async_op`; cuBLAS and NCCL one after the other; for few rows the same in
/// a CUDA graph; cuBLAS' GEMM alone. A sample is the time between two events around one call.
/// Before the first event a kernel on the same stream waits until the host has submitted the whole
/// call, and then meets the other GPU's in a barrier across ranks, so both GPUs begin together and
/// no time of the hosts is part of a sample, whichever entrant it is. A rank's result is its
/// median, the cell's the larger one of the two ranks.
///
/// The ideal is the GEMM alone or, if that takes longer, the bytes that a rank must send at
/// 370 GB/s; and 6 us. cuBLAS is cublasLt with the fastest of up to 8 algorithms that its
/// heuristics propose, timed for each shape, sums in float (in double of double), and 64 MiB of
/// workspace. Where NCCL takes or leaves blocks of columns, the fastest way of a few is the
/// baseline (GpuFusedSeparate.hpp). Operands are row-major, random in [-1, 1) and different on each
/// rank. Before the times are taken the fused result is compared with the baseline's
/// (GpuFusedCells.hpp).
///
/// Cells are named gpu/fused/<operation>/<type>/<M>x<N>x<K>. "gemm" is the fused kernel in a
/// context of one rank; both GPUs run it at once. A program of one rank measures these cells only.

#ifndef KOKKOSIRIS_BENCH_GPU_FUSED_BENCH_HPP
#define KOKKOSIRIS_BENCH_GPU_FUSED_BENCH_HPP

#include <GpuAlignedClock.hpp>
#include <GpuFusedBlas.hpp>
#include <GpuFusedNccl.hpp>
#include <Session.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace Bench {

/// Bytes a microsecond that a link is counted with, and what is added for the start of a transfer.
inline constexpr double ideal_bytes_per_us = 370e3;
inline constexpr double ideal_latency_us = 6.0;

class GpuFusedBench {
 public:
  using ExecutionSpace = Kokkos::Cuda;
  using Context = KokkosIris::Context<Kokkos::CudaSpace>;

  /// Collective, as all members unless said otherwise. Says which libraries are absent.
  explicit GpuFusedBench(Session& session);

  Session& session() const { return m_session; }
  Context& context() { return m_context; }
  /// A context of this rank alone.
  Context& alone();
  int rank() const { return m_context.rank(); }
  int size() const { return m_context.size(); }
  const ExecutionSpace& exec() const { return m_exec; }
  cudaStream_t stream() const { return m_exec.cuda_stream(); }

  /// Null on all ranks if one has none.
  const CublasLt* blas() const { return m_blas.get(); }
  const Nccl* nccl() const { return m_nccl.get(); }

  /// Microseconds of what `enqueue` puts on the stream, beginning on both GPUs at the same time.
  double aligned_time(const std::function<void()>& enqueue);

  /// Which of the ways is the fastest on the rank where it takes longest, if all ranks begin at the
  /// same time. Ways that are empty on a rank are none; one of them is not.
  std::size_t fastest(const std::vector<std::function<void()>>& ways);

  /// \throws std::runtime_error on all ranks if GPUs did not meet
  void require_success(const std::string& cell) const;

 private:
  void find_libraries();

  Session& m_session;
  Context m_context;
  std::optional<Context> m_alone;
  ExecutionSpace m_exec;
  GpuAlignedClock m_clock;
  std::unique_ptr<CublasLt> m_blas;
  std::unique_ptr<Nccl> m_nccl;
};

/// \name The cells of one element type, one function a file
/// \param bench makes what the cells share, when the first one is wanted
///@{
using FusedBenchMaker = std::function<GpuFusedBench&()>;
void measure_gpu_fused_bfloat16(Session& session, const FusedBenchMaker& bench);
void measure_gpu_fused_half(Session& session, const FusedBenchMaker& bench);
void measure_gpu_fused_float(Session& session, const FusedBenchMaker& bench);
void measure_gpu_fused_double(Session& session, const FusedBenchMaker& bench);
///@}

}  // namespace Bench

#endif
