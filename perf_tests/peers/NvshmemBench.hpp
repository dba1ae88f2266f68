// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// What the measurements of peers_nvshmem.cu share: symmetric memory, times and checks. Included by
/// that one file.

#ifndef KOKKOSIRIS_PEERS_NVSHMEM_BENCH_HPP
#define KOKKOSIRIS_PEERS_NVSHMEM_BENCH_HPP

#include <mpi.h>
#include <nvshmem.h>
#include <nvshmemx.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

namespace Peers {

using Word = std::uint64_t;

constexpr std::size_t most_words = std::size_t(8) << 20;  // 64 MiB
constexpr double longest_wait_s = 20.0;

/// Ends the program on both ranks: the other one may never come to a collective call again.
[[noreturn]] inline void fail(const std::string& what) {
  std::fprintf(stderr, "peers_nvshmem: %s\n", what.c_str());
  std::fflush(stderr);
  MPI_Abort(MPI_COMM_WORLD, 1);
  std::abort();
}

inline void check(cudaError_t status, const char* call) {
  if (status != cudaSuccess) fail(std::string(call) + ": " + cudaGetErrorString(status));
}

inline void require(bool good, const std::string& what) {
  if (!good) fail(what);
}

__device__ inline Word word_at(Word seed, std::size_t i) {
  return (i + seed) * 0x9e3779b97f4a7c15ull ^ seed;
}

static __global__ void fill(Word* words, std::size_t count, Word seed) {
  const std::size_t stride = std::size_t(gridDim.x) * blockDim.x;
  for (std::size_t i = std::size_t(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += stride) {
    words[i] = word_at(seed, i);
  }
}

static __global__ void find_wrong(const Word* words, std::size_t count, Word seed, int* wrong) {
  const std::size_t stride = std::size_t(gridDim.x) * blockDim.x;
  for (std::size_t i = std::size_t(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += stride) {
    if (words[i] != word_at(seed, i)) *wrong = 1;
  }
}

class Bench {
 public:
  explicit Bench(double seconds) : m_seconds(seconds) {
    MPI_Comm_rank(MPI_COMM_WORLD, &m_rank);
    m_there = static_cast<Word*>(nvshmem_malloc(most_words * sizeof(Word)));
    m_here = static_cast<Word*>(nvshmem_malloc(most_words * sizeof(Word)));
    m_flags = static_cast<Word*>(nvshmem_calloc(64, sizeof(Word)));
    require(m_there && m_here && m_flags, "no symmetric memory; see NVSHMEM_SYMMETRIC_SIZE");
    check(cudaMallocHost(&m_wrong, sizeof(int)), "cudaMallocHost");
    *m_wrong = 0;
    check(cudaEventCreate(&m_begin), "cudaEventCreate");
    check(cudaEventCreate(&m_end), "cudaEventCreate");
  }

  int rank() const { return m_rank; }
  int peer() const { return 1 - m_rank; }
  Word* there() const { return m_there; }
  Word* here() const { return m_here; }
  Word* flag(int i) const { return m_flags + 32 * i; }
  int* wrong() const { return m_wrong; }

  /// Microseconds from before the first to behind the last thing that action launches.
  double stream_time(const std::function<void()>& action) const {
    check(cudaEventRecord(m_begin), "cudaEventRecord");
    action();
    check(cudaGetLastError(), "launch");
    wait();
    float ms = 0;
    check(cudaEventElapsedTime(&ms, m_begin, m_end), "cudaEventElapsedTime");
    return 1e3 * double(ms);
  }

  /// NVSHMEM's waits in kernels have no end of their own.
  void wait() const {
    using Clock = std::chrono::steady_clock;
    check(cudaEventRecord(m_end), "cudaEventRecord");
    const auto begin = Clock::now();
    for (;;) {
      const cudaError_t status = cudaEventQuery(m_end);
      if (status == cudaSuccess) return;
      if (status != cudaErrorNotReady) check(status, "kernel");
      const std::chrono::duration<double> elapsed = Clock::now() - begin;
      require(elapsed.count() < longest_wait_s, "a kernel does not end");
    }
  }

  /// Both ranks' devices are idle and their words in place when this returns.
  void together() const {
    wait();
    MPI_Barrier(MPI_COMM_WORLD);
  }

  /// Runs action with fresh data in source_rank's source and looks at target on the other rank.
  void check_copy(const std::string& op, int source_rank, Word* source, Word* target,
                  std::size_t words, const std::function<void()>& action) {
    const Word seed = 0x1234567 * ++m_cells;
    if (m_rank == source_rank) {
      fill<<<256, 256>>>(source, words, seed);
    } else {
      fill<<<256, 256>>>(target, words, ~seed);
    }
    together();
    action();
    together();
    if (m_rank != source_rank) find_wrong<<<256, 256>>>(target, words, seed, m_wrong);
    require_right(op);
  }

  void require_right(const std::string& op) const {
    wait();
    require(*m_wrong == 0, op + ": words that arrived are wrong");
    MPI_Barrier(MPI_COMM_WORLD);
  }

  /// \param sample microseconds of one operation; 0 on a rank that has none
  /// \return the number of calls of sample
  int cell(const char* op, const std::string& form, std::size_t bytes,
           const std::function<double()>& sample) const {
    using Clock = std::chrono::steady_clock;
    std::vector<double> samples;
    auto begin = Clock::now();
    int calls = 0;
    for (int more = 1; more != 0; ++calls) {
      together();
      const double us = sample();
      if (calls >= warm_up) samples.push_back(us);
      if (calls == warm_up) begin = Clock::now();
      const std::chrono::duration<double> elapsed = Clock::now() - begin;
      more = samples.size() < 7 || (elapsed.count() < m_seconds && samples.size() < 4000);
      MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    const auto middle = samples.begin() + std::ptrdiff_t(samples.size() / 2);
    std::nth_element(samples.begin(), middle, samples.end());
    double us = *middle;
    MPI_Allreduce(MPI_IN_PLACE, &us, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    if (m_rank == 0) {
      std::printf("@record\top=%s\tform=%s\ttype=%s\tbytes=%zu\ttime_us=%.6f\tsamples=%zu\n", op,
                  form.c_str(), bytes != 0 ? "uint64" : "", bytes, us, samples.size());
      std::fflush(stdout);
    }
    return calls;
  }

 private:
  static constexpr int warm_up = 2;
  double m_seconds;
  int m_rank = 0;
  Word m_cells = 0;
  Word *m_there = nullptr, *m_here = nullptr, *m_flags = nullptr;
  int* m_wrong = nullptr;
  cudaEvent_t m_begin{}, m_end{};
};

}  // namespace Peers

#endif
