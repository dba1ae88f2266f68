// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include <mpi.h>

#include <GpuBench.hpp>
#include <array>
#include <cstdio>

namespace Bench {
namespace {

constexpr std::size_t heap_size = (std::size_t(1) << 30) + (std::size_t(256) << 20);

/// The words of an operand.
KOKKOS_FORCEINLINE_FUNCTION std::uint64_t word_at(std::uint64_t seed, std::size_t i) {
  return (i + seed) * 0x9e3779b97f4a7c15ull;
}

struct FillWords {
  std::uint64_t* m_words;
  std::uint64_t m_seed;
  KOKKOS_FUNCTION void operator()(std::size_t i) const { m_words[i] = word_at(m_seed, i); }
};
struct CountWrong {
  const std::uint64_t* m_words;
  std::uint64_t m_seed;
  KOKKOS_FUNCTION void operator()(std::size_t i, std::size_t& wrong) const {
    if (m_words[i] != word_at(m_seed, i)) ++wrong;
  }
};

using Range = Kokkos::RangePolicy<Kokkos::Cuda, Kokkos::IndexType<std::size_t>>;

using KokkosIris::Impl::Gpu;
using KokkosIris::Impl::GpuUuid;

/// The GPU of each of the two ranks.
std::array<GpuUuid, 2> gpus_of_ranks() {
  const GpuUuid own = Gpu::of_default_instance(-1).uuid();
  std::array<GpuUuid, 2> all;
  MPI_Allgather(own.data(), static_cast<int>(own.size()), MPI_BYTE, all.data(),
                static_cast<int>(own.size()), MPI_BYTE, MPI_COMM_WORLD);
  return all;
}

GpuCells all_cells() {
  GpuCells cells;
  add_gpu_host_copies(cells);
  add_gpu_kernel_copies(cells);
  add_gpu_atomics(cells);
  add_gpu_signals(cells);
  add_gpu_submitted_copies(cells);
  add_gpu_overheads(cells);
  return cells;
}

void run(Session& session) {
  // The operands are large, and not every machine can run these cells.
  GpuCells cells = all_cells();
  std::erase_if(cells, [&](const GpuCell& cell) { return !session.selects(cell.name); });
  if (cells.empty()) return;
  if (!has_two_gpus(session)) return;
  GpuBench bench(session);
  for (const GpuCell& cell : cells) {
    if (session.wants(cell.name)) cell.measure(bench);
  }
}

const Suite suite(50, &run);

}  // namespace

bool has_two_gpus(const Session& session) {
  if (session.size() != 2) return false;
  const auto gpus = gpus_of_ranks();
  // A GPU that both use makes every time meaningless.
  const bool distinct = gpus[0] != gpus[1];
  static bool told = false;
  if (!distinct && !told && session.rank() == 0) {
    told = true;
    std::fprintf(stderr, "kokkosiris_bench: the ranks share a GPU; no gpu/ cell is measured\n");
  }
  return distinct;
}

GpuBench::GpuBench(Session& session)
    : m_session(session),
      m_context(MPI_COMM_WORLD, {.heap_size = heap_size}),
      m_there(m_context.zeros<Word*>("there", most_words)),
      m_here("here", most_words),
      m_failed("failed") {
  find_ordinals();
}

void GpuBench::find_ordinals() {
  m_own_ordinal = Gpu::of_default_instance(rank()).device();
  m_peer_ordinal = Gpu::find(gpus_of_ranks()[static_cast<std::size_t>(peer())], rank());
  require_everywhere(m_peer_ordinal >= 0,
                     "gpu: a rank does not see the other rank's GPU, which cudaMemcpyPeerAsync "
                     "needs; let CUDA_VISIBLE_DEVICES name both");
}

void GpuBench::fill(Word* words, std::size_t count, Word seed) const {
  Kokkos::parallel_for("fill", Range(m_exec, 0, count), FillWords{words, seed});
  m_exec.fence("fill");
}

std::size_t GpuBench::count_wrong(const Word* words, std::size_t count, Word seed) const {
  std::size_t wrong = 0;
  Kokkos::parallel_reduce("count", Range(m_exec, 0, count), CountWrong{words, seed}, wrong);
  return wrong;
}

void GpuBench::require_copy(bool is_put, std::size_t words, Word seed,
                            const std::function<void()>& copy, const char* fault) const {
  Word* const own = here(words).data();
  Word* const symmetric = there(words).data();
  fill(is_put ? own : symmetric, words, seed + Word(rank()));
  m_session.start();
  if (rank() == 0) copy();
  m_session.start();
  std::size_t wrong = 0;
  if (is_put && rank() == 1) wrong = count_wrong(symmetric, words, seed);
  if (!is_put && rank() == 0) wrong = count_wrong(own, words, seed + 1);
  require_everywhere(wrong == 0, fault);
}

void GpuBench::require_success(const std::string& cell) const {
  m_exec.fence("success");
  require_everywhere(m_failed() == 0, cell + ": a wait was given up, or a result is wrong");
}

Record GpuBench::record(const char* op, const char* type, std::size_t bytes) {
  Record common;
  common.op = op;
  common.backend = ExecutionSpace::name();
  common.type = type;
  common.bytes = static_cast<std::int64_t>(bytes);
  return common;
}

}  // namespace Bench
