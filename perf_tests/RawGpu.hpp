// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// The baselines on NVIDIA GPUs by hand: CUDA kernels on mapped memory, nothing else.

#ifndef KOKKOSIRIS_BENCH_RAW_GPU_HPP
#define KOKKOSIRIS_BENCH_RAW_GPU_HPP

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

namespace Bench::Raw {

__device__ __forceinline__ std::uint64_t load_acquire(const std::uint64_t* word) {
  std::uint64_t value;
  asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(word) : "memory");
  return value;
}
__device__ __forceinline__ void store_release(std::uint64_t* word, std::uint64_t value) {
  asm volatile("st.release.sys.global.u64 [%0], %1;" ::"l"(word), "l"(value) : "memory");
}

/// Spins until the word is at least `value`; false after some tens of seconds.
__device__ __forceinline__ bool spin_until(const std::uint64_t* word, std::uint64_t value) {
  constexpr unsigned most_polls = 1u << 26;
  for (unsigned poll = 0; poll < most_polls; ++poll) {
    if (load_acquire(word) >= value) return true;
  }
  return false;
}

/// Copies n words of 16 bytes, by `workers` threads of which this is number `worker`, with 8 loads
/// of a thread in flight.
__device__ __forceinline__ void copy_words(uint4* to, const uint4* from, std::size_t n,
                                           std::size_t worker, std::size_t workers) {
  constexpr int depth = 8;
  std::size_t i = worker;
  for (; i + (depth - 1) * workers < n; i += depth * workers) {
    uint4 words[depth];
#pragma unroll
    for (int k = 0; k < depth; ++k) words[k] = from[i + k * workers];
#pragma unroll
    for (int k = 0; k < depth; ++k) to[i + k * workers] = words[k];
  }
  for (; i < n; i += workers) to[i] = from[i];
}

}  // namespace Bench::Raw

#endif
