// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// A window of MPI's one-sided operations, as a baseline.

#ifndef KOKKOSIRIS_BENCH_MPI_WINDOW_HPP
#define KOKKOSIRIS_BENCH_MPI_WINDOW_HPP

#include <mpi.h>

#include <cstddef>
#include <cstdint>

namespace Bench {

/// Words of every rank, open for access by all ranks (passive target). Collective.
class MpiWindow {
 public:
  explicit MpiWindow(std::size_t words) {
    MPI_Win_allocate(static_cast<MPI_Aint>(words * sizeof(std::uint64_t)), sizeof(std::uint64_t),
                     MPI_INFO_NULL, MPI_COMM_WORLD, &m_data, &m_window);
    for (std::size_t i = 0; i < words; ++i) m_data[i] = 0;
    MPI_Win_lock_all(MPI_MODE_NOCHECK, m_window);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MpiWindow(const MpiWindow&) = delete;
  MpiWindow& operator=(const MpiWindow&) = delete;
  ~MpiWindow() {
    MPI_Win_unlock_all(m_window);
    MPI_Win_free(&m_window);
  }

  std::uint64_t* data() const { return m_data; }

  /// Both return when the operation is complete at the target.
  void put(const std::uint64_t* src, std::size_t words, int peer) const {
    const int count = static_cast<int>(words);
    MPI_Put(src, count, MPI_UINT64_T, peer, 0, count, MPI_UINT64_T, m_window);
    MPI_Win_flush(peer, m_window);
  }
  void get(std::uint64_t* dst, std::size_t words, int peer) const {
    const int count = static_cast<int>(words);
    MPI_Get(dst, count, MPI_UINT64_T, peer, 0, count, MPI_UINT64_T, m_window);
    MPI_Win_flush(peer, m_window);
  }
  std::uint64_t fetch_add(std::uint64_t value, int peer) const {
    std::uint64_t old = 0;
    MPI_Fetch_and_op(&value, &old, MPI_UINT64_T, peer, 0, MPI_SUM, m_window);
    MPI_Win_flush(peer, m_window);
    return old;
  }
  /// Makes what others put visible to loads.
  void synchronize() const { MPI_Win_sync(m_window); }

 private:
  std::uint64_t* m_data = nullptr;
  MPI_Win m_window = MPI_WIN_NULL;
};

}  // namespace Bench

#endif
