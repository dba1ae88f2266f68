// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// put and get by the teams of a kernel on rank 0, with few blocks and with one for each
// multiprocessor, beside plain CUDA kernels of as many blocks.

#include <GpuBench.hpp>
#include <RawBulk.hpp>
#include <RawGpu.hpp>
#include <algorithm>

namespace Bench {
namespace {

using Role = Entrant::Role;
using Policy = Kokkos::TeamPolicy<Kokkos::Cuda>;

constexpr std::size_t bytes = std::size_t(64) << 20;
constexpr std::size_t words = bytes / sizeof(std::uint64_t);
constexpr int launches = 10;

/// Each team moves one part.
template <bool IsPut>
struct TeamCopy {
  KokkosIris::DeviceContext m_context;
  std::uint64_t* m_here;
  std::uint64_t* m_there;
  int m_peer;

  KOKKOS_FUNCTION void operator()(const Policy::member_type& team) const {
    // Parts of whole lines.
    const std::size_t part =
        (words / 16 + std::size_t(team.league_size()) - 1) / std::size_t(team.league_size()) * 16;
    const std::size_t begin = std::size_t(team.league_rank()) * part;
    if (begin >= words) return;
    const std::size_t n = begin + part <= words ? part : words - begin;
    if constexpr (IsPut) {
      put(team, m_context, m_there + begin, m_here + begin, n, m_peer, KokkosIris::aligned<16>);
    } else {
      get(team, m_context, m_here + begin, m_there + begin, n, m_peer, KokkosIris::aligned<16>);
    }
  }
};

/// Neighbouring threads of the whole grid copy neighbouring words.
__global__ void raw_copy_by_grid(uint4* to, const uint4* from, std::size_t n) {
  Raw::copy_words(to, from, n, std::size_t(blockIdx.x) * blockDim.x + threadIdx.x,
                  std::size_t(gridDim.x) * blockDim.x);
}
/// Each block copies one part.
__global__ void raw_copy_by_parts(uint4* to, const uint4* from, std::size_t n) {
  const std::size_t part = (n / 8 + gridDim.x - 1) / gridDim.x * 8;
  const std::size_t begin = blockIdx.x * part;
  if (begin >= n) return;
  Raw::copy_words(to + begin, from + begin, begin + part <= n ? part : n - begin, threadIdx.x,
                  blockDim.x);
}

template <bool IsPut>
class KernelCopy {
 public:
  KernelCopy(GpuBench& bench, int blocks) : m_bench(bench), m_blocks(blocks) {}

  /// Threads of a team: so many, or as many as the kernel's registers allow.
  int team_size(int threads) const {
    return std::min(
        threads,
        Policy(m_bench.exec(), m_blocks, 1).team_size_max(kernel(), Kokkos::ParallelForTag()));
  }
  TeamCopy<IsPut> kernel() const {
    return {m_bench.device(), m_bench.here(words).data(), m_bench.there(words).data(),
            m_bench.peer()};
  }
  double ours(int threads, int count) const {
    const Policy policy(m_bench.exec(), m_blocks, team_size(threads));
    const TeamCopy<IsPut> body = kernel();
    return m_bench.stream_time(count, [&] { Kokkos::parallel_for("team copy", policy, body); });
  }
  double raw(int threads, bool by_parts) const {
    auto* here = reinterpret_cast<uint4*>(m_bench.here(words).data());
    auto* there = reinterpret_cast<uint4*>(m_bench.there_at_peer());
    uint4* const to = IsPut ? there : here;
    const uint4* const from = IsPut ? here : there;
    const std::size_t n = bytes / sizeof(uint4);
    return m_bench.stream_time(launches, [&] {
      if (by_parts) {
        raw_copy_by_parts<<<m_blocks, threads, 0, m_bench.stream()>>>(to, from, n);
      } else {
        raw_copy_by_grid<<<m_blocks, threads, 0, m_bench.stream()>>>(to, from, n);
      }
    });
  }

  double raw_bulk() const {
    auto* here = reinterpret_cast<char*>(m_bench.here(words).data());
    auto* there = reinterpret_cast<char*>(m_bench.there_at_peer());
    check_cuda(cudaFuncSetAttribute(Raw::raw_copy_bulk, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    int(Raw::bulk_scratch)),
               "cudaFuncSetAttribute");
    return m_bench.stream_time(launches, [&] {
      Raw::raw_copy_bulk<<<m_blocks, Raw::bulk_threads, Raw::bulk_scratch, m_bench.stream()>>>(
          IsPut ? there : here, IsPut ? here : there, bytes);
    });
  }

  /// Of a copy by teams, or of the one by bulk copies, which must not be faster than it is right.
  void verify(bool by_teams) const {
    const std::uint64_t seed = std::uint64_t(m_blocks) * 7 + (IsPut ? 1000 : 2000) + by_teams;
    m_bench.require_copy(
        IsPut, words, seed, [&] { by_teams ? ours(512, 1) : raw_bulk(); },
        by_teams ? "gpu: a copy by teams is wrong" : "gpu: a bulk copy by hand is wrong");
  }

  void measure(Target target) const {
    verify(true);
    const std::string blocks = std::to_string(m_blocks) + " x ";
    std::vector<Entrant> entrants;
    for (const int threads : {512, 1024}) {
      entrants.push_back({Role::ours, "team " + blocks + std::to_string(team_size(threads)),
                          m_bench.on_rank_0([this, threads] { return ours(threads, launches); }),
                          target});
    }
    for (const int threads : {256, 512, 1024}) {
      for (const bool by_parts : {false, true}) {
        entrants.push_back(
            {Role::reference,
             "raw " + blocks + std::to_string(threads) + (by_parts ? " parts" : " grid"),
             m_bench.on_rank_0([this, threads, by_parts] { return raw(threads, by_parts); })});
      }
    }
    if (Raw::has_bulk_copies()) {
      verify(false);
      entrants.push_back({Role::reference, "raw " + std::to_string(m_blocks) + " x bulk",
                          m_bench.on_rank_0([this] { return raw_bulk(); })});
    }
    m_bench.session().measure(GpuBench::record(IsPut ? "put" : "get", "uint64", bytes), entrants);
  }

 private:
  GpuBench& m_bench;
  int m_blocks;
};

}  // namespace

void add_gpu_kernel_copies(GpuCells& cells) {
  // What the link of two H200 was measured to carry each way, in bytes a microsecond.
  constexpr double put_limit = 369e3, get_limit = 375e3;
  const auto full_target = [](double limit) {
    return Target::microseconds(double(bytes) / (0.97 * limit));
  };
  for (const int blocks : {16, 132}) {
    const std::string name = "/64MiB/" + std::to_string(blocks);
    const auto target = [&](double limit) {
      return blocks == 16 ? Target::speedup(0.95) : full_target(limit);
    };
    cells.push_back({"gpu/team_put" + name, [blocks, goal = target(put_limit)](GpuBench& bench) {
                       KernelCopy<true>(bench, blocks).measure(goal);
                     }});
    cells.push_back({"gpu/team_get" + name, [blocks, goal = target(get_limit)](GpuBench& bench) {
                       KernelCopy<false>(bench, blocks).measure(goal);
                     }});
  }
}

}  // namespace Bench
