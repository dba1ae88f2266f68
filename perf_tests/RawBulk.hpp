// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// A copy by hand through shared memory, with the bulk asynchronous copies of Hopper GPUs: the
/// fastest way to move data with few blocks. Empty kernels on older GPUs.

#ifndef KOKKOSIRIS_BENCH_RAW_BULK_HPP
#define KOKKOSIRIS_BENCH_RAW_BULK_HPP

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

namespace Bench::Raw {

constexpr int bulk_stages = 6;
constexpr unsigned bulk_chunk = 32768;
/// Shared memory of a block of raw_copy_bulk, and its threads.
constexpr std::size_t bulk_scratch = bulk_stages * (bulk_chunk + sizeof(std::uint64_t));
constexpr int bulk_threads = 32;

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900

/// A stage of shared memory and the barrier that tells when it is filled.
struct BulkStage {
  unsigned memory, barrier;
};

__device__ __forceinline__ void fill_bulk_stage(BulkStage stage, const char* from, unsigned bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(stage.barrier),
               "r"(bytes)
               : "memory");
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
          "r"(stage.memory),
      "l"(from), "r"(bytes), "r"(stage.barrier)
      : "memory");
}

/// The instruction itself waits for a while; false if that was too often.
__device__ __forceinline__ bool await_bulk_stage(BulkStage stage, unsigned parity) {
  constexpr int most_tries = 1 << 20;
  for (int i = 0; i < most_tries; ++i) {
    unsigned done;
    asm volatile(
        "{ .reg .pred p;\n"
        "  mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
        "  selp.u32 %0, 1, 0, p; }"
        : "=r"(done)
        : "r"(stage.barrier), "r"(parity)
        : "memory");
    if (done != 0) return true;
  }
  return false;
}

__device__ __forceinline__ void drain_bulk_stage(BulkStage stage, char* to, unsigned bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to),
               "r"(stage.memory), "r"(bytes)
               : "memory");
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

#endif

/// Chunks go round the blocks; one thread of each keeps all but one stage filling while it drains
/// the oldest.
/// \param n a multiple of 16
static __global__ void raw_copy_bulk([[maybe_unused]] char* to, [[maybe_unused]] const char* from,
                                     [[maybe_unused]] std::size_t n) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  extern __shared__ __align__(128) char scratch[];
  if (threadIdx.x != 0) return;
  const unsigned memory = static_cast<unsigned>(__cvta_generic_to_shared(scratch));
  const auto stage_of = [memory](unsigned k) {
    const unsigned s = k % bulk_stages;
    return BulkStage{memory + s * bulk_chunk,
                     memory + bulk_stages * bulk_chunk + s * unsigned(sizeof(std::uint64_t))};
  };
  for (unsigned s = 0; s < bulk_stages; ++s) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(stage_of(s).barrier) : "memory");
  }
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  const auto offset = [](unsigned k) {
    return (std::size_t(k) * gridDim.x + blockIdx.x) * bulk_chunk;
  };
  const auto bytes = [&](unsigned k) {
    const std::size_t left = n - offset(k);
    return left < bulk_chunk ? unsigned(left) : bulk_chunk;
  };
  const auto fill = [&](unsigned k) {
    if (offset(k) < n) fill_bulk_stage(stage_of(k), from + offset(k), bytes(k));
  };
  for (unsigned k = 0; k + 1 < bulk_stages; ++k) fill(k);
  for (unsigned k = 0; offset(k) < n; ++k) {
    if (!await_bulk_stage(stage_of(k), k / bulk_stages & 1)) return;
    drain_bulk_stage(stage_of(k), to + offset(k), bytes(k));
    // The stage before this one has been read, so that it can be filled anew.
    asm volatile("cp.async.bulk.wait_group.read 1;" ::: "memory");
    fill(k + bulk_stages - 1);
  }
  asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
#endif
}

/// Whether that kernel was compiled for a GPU that has such copies, and so is not empty.
inline bool has_bulk_copies() {
  cudaFuncAttributes attributes{};
  return cudaFuncGetAttributes(&attributes, raw_copy_bulk) == cudaSuccess &&
         attributes.ptxVersion >= 90;
}

}  // namespace Bench::Raw

#endif
