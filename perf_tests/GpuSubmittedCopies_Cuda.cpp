// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Copies that a kernel on rank 0 submits to the copy engine and waits for.

#include <GpuBench.hpp>
#include <rma/KokkosIris_CopyEnginePut.hpp>
#include <rma/KokkosIris_Quiet.hpp>

namespace Bench {
namespace {

using Role = Entrant::Role;

/// One thread submits and waits, `m_count` times.
struct SubmitAndWait {
  KokkosIris::DeviceContext m_context;
  std::uint64_t* m_here;
  std::uint64_t* m_there;
  std::size_t m_words;
  int m_count;
  int m_peer;
  int* m_failed;

  KOKKOS_FUNCTION void operator()(int) const {
    for (int i = 0; i < m_count; ++i) {
      if (!put(m_context, m_there, m_here, m_words, m_peer, KokkosIris::copy_engine) ||
          !quiet(m_context, m_peer)) {
        *m_failed = 1;
        return;
      }
    }
  }
};

void measure(GpuBench& bench, std::size_t words, int count, Target target) {
  const std::size_t bytes = words * sizeof(std::uint64_t);
  const SubmitAndWait kernel{bench.device(),
                             bench.here(words).data(),
                             bench.there(words).data(),
                             words,
                             count,
                             bench.peer(),
                             bench.failed()};
  const auto ours = [&bench, kernel, count] {
    return bench.stream_time(1, [&] {
      Kokkos::parallel_for("submit and wait", Kokkos::RangePolicy<Kokkos::Cuda>(bench.exec(), 0, 1),
                           kernel);
    }) / count;
  };
  const auto copy = [&bench, bytes] {
    check_cuda(
        cudaMemcpyPeerAsync(bench.there_at_peer(), bench.peer_ordinal(), bench.here(1).data(),
                            bench.own_ordinal(), bytes, bench.stream()),
        "cudaMemcpyPeerAsync");
  };
  bench.require_copy(true, words, 5 * words, ours, "gpu: a copy that a kernel submitted is wrong");
  std::vector<Entrant> entrants;
  entrants.push_back({Role::ours, "engine", bench.on_rank_0(ours), target});
  // The host waits for each, as the kernel does.
  entrants.push_back({Role::reference, "cudaMemcpyPeerAsync+sync", bench.on_rank_0([&] {
                        return timed([&] {
                                 for (int i = 0; i < count; ++i) {
                                   copy();
                                   check_cuda(cudaStreamSynchronize(bench.stream()),
                                              "cudaStreamSynchronize");
                                 }
                               }) /
                               count;
                      })});
  bench.session().measure(GpuBench::record("engine_put_quiet", "uint64", bytes), entrants);
  bench.require_success("gpu/engine_put_quiet");
}

}  // namespace

void add_gpu_submitted_copies(GpuCells& cells) {
  cells.push_back({"gpu/engine_put_quiet/8", [](GpuBench& bench) { measure(bench, 1, 100, {}); }});
  cells.push_back({"gpu/engine_put_quiet/256MiB", [](GpuBench& bench) {
                     measure(bench, std::size_t(1) << 25, 4, Target::speedup(0.98));
                   }});
}

}  // namespace Bench
