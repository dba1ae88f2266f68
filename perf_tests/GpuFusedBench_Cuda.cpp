// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// requires: fused

#include <mpi.h>

#include <GpuBench.hpp>
#include <GpuFusedBench.hpp>
#include <algorithm>
#include <array>
#include <cstdio>
#include <limits>
#include <vector>

namespace Bench {
namespace {

constexpr std::size_t heap_size = std::size_t(6) << 30;
constexpr std::size_t alone_heap_size = std::size_t(2) << 30;

bool on_all_ranks(bool word) {
  int all = word ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  return all != 0;
}

void run(Session& session) {
  // One rank alone measures what needs no other.
  if (session.size() != 1 && !has_two_gpus(session)) return;
  std::optional<GpuFusedBench> bench;
  const auto maker = [&]() -> GpuFusedBench& {
    if (!bench) bench.emplace(session);
    return *bench;
  };
  measure_gpu_fused_bfloat16(session, maker);
  measure_gpu_fused_half(session, maker);
  measure_gpu_fused_float(session, maker);
  measure_gpu_fused_double(session, maker);
}

const Suite suite(45, &run);

}  // namespace

GpuFusedBench::GpuFusedBench(Session& session)
    : m_session(session),
      m_context(MPI_COMM_WORLD, {.heap_size = heap_size}),
      // A stream of its own: that of the default instance may be one that cannot be captured.
      m_exec(Kokkos::Experimental::partition_space(Kokkos::Cuda(), 1)[0]),
      m_clock(m_context.device(), m_exec.cuda_stream()) {
  find_libraries();
}

GpuFusedBench::Context& GpuFusedBench::alone() {
  if (!m_alone)
    m_alone.emplace(MPI_COMM_SELF, KokkosIris::ContextOptions{.heap_size = alone_heap_size});
  return *m_alone;
}

void GpuFusedBench::find_libraries() {
  m_blas = CublasLt::open();
  if (!on_all_ranks(m_blas != nullptr)) m_blas.reset();
  m_nccl = Nccl::open();
  if (m_blas) m_session.add_version("cuBLAS", m_blas->version());
  if (m_nccl) m_session.add_version("NCCL", m_nccl->version());
  if (rank() != 0) return;
  const auto tell = [](const char* name, const auto& library) {
    if (library) {
      std::printf("%s: %s in %s\n", name, library->version().c_str(), library->folder().c_str());
    } else {
      std::printf("%s: not found\n", name);
    }
  };
  tell("cuBLAS", m_blas);
  tell("NCCL", m_nccl);
  std::fflush(stdout);
}

double GpuFusedBench::aligned_time(const std::function<void()>& enqueue) {
  return m_clock.time(enqueue);
}

std::size_t GpuFusedBench::fastest(const std::vector<std::function<void()>>& ways) {
  constexpr int rounds = 3;
  std::vector<double> best(ways.size(), std::numeric_limits<double>::infinity());
  for (std::size_t i = 0; i < ways.size(); ++i) {
    if (!on_all_ranks(static_cast<bool>(ways[i]))) continue;
    ways[i]();  // loads the kernels
    m_session.start();
    std::array<double, rounds> us;
    for (double& each : us) each = aligned_time(ways[i]);
    std::sort(us.begin(), us.end());
    best[i] = us[rounds / 2];
  }
  MPI_Allreduce(MPI_IN_PLACE, best.data(), int(best.size()), MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return std::size_t(std::min_element(best.begin(), best.end()) - best.begin());
}

void GpuFusedBench::require_success(const std::string& cell) const {
  m_exec.fence("success");
  m_clock.require_success(cell);
}

}  // namespace Bench
