// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// What the cells on GPUs share: a context in device memory, operands, and the clock of a stream.
///
/// Included by sources named *_Cuda.cpp only. The cells' names begin with "gpu/".

#ifndef KOKKOSIRIS_BENCH_GPU_BENCH_HPP
#define KOKKOSIRIS_BENCH_GPU_BENCH_HPP

#include <GpuStream.hpp>
#include <Session.hpp>
#include <core/KokkosIris_GpuRuntime.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace Bench {

/// False, with a word about it where it may surprise, unless there are two ranks with a GPU each.
/// Collective.
bool has_two_gpus(const Session& session);

/// Two ranks with a GPU each. All members are collective unless said otherwise.
class GpuBench {
 public:
  using ExecutionSpace = Kokkos::Cuda;
  using Context = KokkosIris::Context<Kokkos::CudaSpace>;
  using Word = std::uint64_t;
  using Words = Context::view_type<Word*>;
  using LocalWords = Kokkos::View<Word*, Kokkos::CudaSpace>;
  /// Words of each of the two large operands: 1 GiB.
  static constexpr std::size_t most_words = std::size_t(1) << 27;

  explicit GpuBench(Session& session);
  GpuBench(const GpuBench&) = delete;
  GpuBench& operator=(const GpuBench&) = delete;

  Session& session() const { return m_session; }
  Context& context() { return m_context; }
  const KokkosIris::DeviceContext& device() const { return m_context.device(); }
  const ExecutionSpace& exec() const { return m_exec; }
  cudaStream_t stream() const { return m_exec.cuda_stream(); }
  int rank() const { return m_context.rank(); }
  int peer() const { return 1 - m_context.rank(); }
  /// The ordinals of this rank's GPU and the peer's in this process.
  int own_ordinal() const { return m_own_ordinal; }
  int peer_ordinal() const { return m_peer_ordinal; }

  /// The first words of an operand: `there` is symmetric, `here` is plain device memory.
  auto there(std::size_t words) const {
    return Kokkos::subview(m_there.view(), std::make_pair(std::size_t(0), words));
  }
  auto here(std::size_t words) const {
    return Kokkos::subview(m_here, std::make_pair(std::size_t(0), words));
  }
  Word* there_at_peer() const { return m_there.peer(peer()).data(); }

  /// Microseconds between two events around `count` calls of `action`, which enqueues work on the
  /// stream, divided by `count`. Local. Waits for the work.
  template <class Action>
  double stream_time(int count, const Action& action) const {
    return m_clock.time(stream(), count, action);
  }

  /// An entrant that runs on rank 0 alone while rank 1 waits.
  template <class Run>
  std::function<double()> on_rank_0(Run run) const {
    return [this, run] { return rank() == 0 ? run() : 0.0; };
  }

  /// Local: fills device memory with words that differ by `seed`, and counts those that are not so.
  void fill(Word* words, std::size_t count, Word seed) const;
  std::size_t count_wrong(const Word* words, std::size_t count, Word seed) const;

  /// Fills the source with words that differ by rank, lets rank 0 copy, and looks at what arrived.
  /// \param is_put from `here` to the peer's `there`; else from the peer's `there` to `here`
  /// \throws std::runtime_error on all ranks, with the text `fault`, if it is something else
  void require_copy(bool is_put, std::size_t words, Word seed, const std::function<void()>& copy,
                    const char* fault) const;

  /// Kernels set it if a wait was given up or a result is wrong. Host memory.
  int* failed() const { return m_failed.data(); }
  /// \throws std::runtime_error on all ranks if a kernel of one of them has failed
  void require_success(const std::string& cell) const;

  /// A record of these cells.
  static Record record(const char* op, const char* type, std::size_t bytes);

 private:
  void find_ordinals();

  Session& m_session;
  Context m_context;
  ExecutionSpace m_exec;
  Words m_there;
  LocalWords m_here;
  Kokkos::View<int, Kokkos::SharedHostPinnedSpace> m_failed;
  int m_own_ordinal = 0;
  int m_peer_ordinal = 0;
  StreamClock m_clock;
};

/// What the filter chooses from.
struct GpuCell {
  std::string name;
  std::function<void(GpuBench&)> measure;
};
using GpuCells = std::vector<GpuCell>;

/// \name The cells, one function a file
///@{
void add_gpu_host_copies(GpuCells& cells);
void add_gpu_kernel_copies(GpuCells& cells);
void add_gpu_atomics(GpuCells& cells);
void add_gpu_signals(GpuCells& cells);
void add_gpu_submitted_copies(GpuCells& cells);
void add_gpu_overheads(GpuCells& cells);
///@}

}  // namespace Bench

#endif
