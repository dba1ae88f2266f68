// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Remote atomics of rank 0 on rank 1's memory: many at a time on addresses of their own, and one
// thread that needs each result before the next.

#include <GpuBench.hpp>
#include <RawGpu.hpp>

namespace Bench {
namespace {

using Role = Entrant::Role;
using Range = Kokkos::RangePolicy<Kokkos::Cuda, Kokkos::IndexType<std::size_t>>;

constexpr std::size_t bytes = std::size_t(64) << 20;
constexpr int launches = 10;
constexpr int chain = 1000;

/// CUDA has atomicAdd_system for unsigned long long, which std::uint64_t is not.
__device__ __forceinline__ std::uint32_t raw_add(std::uint32_t* word, std::uint32_t value) {
  return atomicAdd_system(word, value);
}
__device__ __forceinline__ std::uint64_t raw_add(std::uint64_t* word, std::uint64_t value) {
  return atomicAdd_system(reinterpret_cast<unsigned long long*>(word), value);
}

template <class T>
struct AddToEach {
  KokkosIris::DeviceContext m_context;
  T* m_words;
  int m_peer;
  KOKKOS_FUNCTION void operator()(std::size_t i) const {
    KokkosIris::atomic_add(m_context, m_words + i, T(1), m_peer, KokkosIris::relaxed);
  }
};
template <class T>
__global__ void raw_add_to_each(T* words, std::size_t n) {
  const std::size_t i = std::size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) raw_add(words + i, T(1));
}

/// The address depends on the last result, whose highest bit is 0.
template <class Order>
struct AddInChain {
  KokkosIris::DeviceContext m_context;
  std::uint64_t* m_word;
  int m_peer;
  KOKKOS_FUNCTION void operator()(std::size_t) const {
    std::uint64_t last = 0;
    for (int i = 0; i < chain; ++i) {
      last = KokkosIris::atomic_add(m_context, m_word + (last >> 63), std::uint64_t(1), m_peer,
                                    Order{});
    }
    if ((last >> 63) != 0) *m_word = last;
  }
};
__global__ void raw_add_in_chain(std::uint64_t* word) {
  std::uint64_t last = 0;
  for (int i = 0; i < chain; ++i) last = raw_add(word + (last >> 63), std::uint64_t(1));
  if ((last >> 63) != 0) *word = last;
}

template <class T>
void measure_throughput(GpuBench& bench, const char* type) {
  constexpr std::size_t n = bytes / sizeof(T);
  constexpr int threads = 256;
  const auto words = bench.context().zeros<T*>("words", n);
  T* const theirs = words.peer(bench.peer()).data();
  const AddToEach<T> kernel{bench.device(), words.data(), bench.peer()};
  std::vector<Entrant> entrants;
  entrants.push_back({Role::ours, "thread", bench.on_rank_0([&] {
                        return bench.stream_time(launches, [&] {
                          Kokkos::parallel_for("add", Range(bench.exec(), 0, n), kernel);
                        });
                      }),
                      Target::speedup(0.95)});
  entrants.push_back({Role::reference, "atomicAdd_system", bench.on_rank_0([&] {
                        return bench.stream_time(launches, [&] {
                          raw_add_to_each<<<unsigned(n / threads), threads, 0, bench.stream()>>>(
                              theirs, n);
                        });
                      })});
  const Times times =
      bench.session().measure(GpuBench::record("atomic_add", type, bytes), entrants);
  if (bench.rank() == 1) {
    T ends[2] = {};
    check_cuda(cudaMemcpy(&ends[0], words.data(), sizeof(T), cudaMemcpyDeviceToHost), "cudaMemcpy");
    check_cuda(cudaMemcpy(&ends[1], words.data() + n - 1, sizeof(T), cudaMemcpyDeviceToHost),
               "cudaMemcpy");
    const T sum = static_cast<T>(2 * launches * (times.samples + 1));
    if (ends[0] != sum || ends[1] != sum) *bench.failed() = 1;
  }
  bench.require_success("gpu/atomic_add");
}

void measure_chain(GpuBench& bench) {
  const auto word = bench.context().zeros<std::uint64_t*>("word", 2);
  std::uint64_t* const theirs = word.peer(bench.peer()).data();
  const auto ours = [&](auto order) {
    const AddInChain<decltype(order)> kernel{bench.device(), word.data(), bench.peer()};
    return bench.on_rank_0([&bench, kernel] {
      return bench.stream_time(1, [&] {
        Kokkos::parallel_for("chain", Range(bench.exec(), 0, 1), kernel);
      }) / chain;
    });
  };
  std::vector<Entrant> entrants;
  entrants.push_back({Role::ours, "thread", ours(KokkosIris::Relaxed{}), Target::ratio(1.05)});
  entrants.push_back({Role::ours, "thread-acq_rel", ours(KokkosIris::AcqRel{})});
  entrants.push_back({Role::reference, "atomicAdd_system", bench.on_rank_0([&] {
                        return bench.stream_time(1, [&] {
                          raw_add_in_chain<<<1, 1, 0, bench.stream()>>>(theirs);
                        }) / chain;
                      })});
  const Times times = bench.session().measure(GpuBench::record("fetch_add", "uint64", 8), entrants);
  if (bench.rank() == 1) {
    std::uint64_t sum = 0;
    check_cuda(cudaMemcpy(&sum, word.data(), sizeof(sum), cudaMemcpyDeviceToHost), "cudaMemcpy");
    if (sum != std::uint64_t(3 * chain) * std::uint64_t(times.samples + 1)) *bench.failed() = 1;
  }
  bench.require_success("gpu/fetch_add");
}

}  // namespace

void add_gpu_atomics(GpuCells& cells) {
  cells.push_back({"gpu/atomic_add/uint32",
                   [](GpuBench& bench) { measure_throughput<std::uint32_t>(bench, "uint32"); }});
  cells.push_back({"gpu/atomic_add/uint64",
                   [](GpuBench& bench) { measure_throughput<std::uint64_t>(bench, "uint64"); }});
  cells.push_back({"gpu/fetch_add", &measure_chain});
}

}  // namespace Bench
