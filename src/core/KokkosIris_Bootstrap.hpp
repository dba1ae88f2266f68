// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// How the ranks of a new context find each other. Used while a context is constructed, never
/// after.

#ifndef KOKKOSIRIS_BOOTSTRAP_HPP
#define KOKKOSIRIS_BOOTSTRAP_HPP

#include <mpi.h>

#include <cstddef>
#include <type_traits>
#include <vector>

namespace KokkosIris::Impl {

/// Collective operations that need no shared memory yet. The order of the ranks is the order of the
/// communicator that stands behind it.
class Bootstrap {
 public:
  virtual ~Bootstrap() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// Gathers `bytes` bytes of every rank into `all` (size() * bytes), in rank order.
  virtual void all_gather(const void* mine, std::size_t bytes, void* all) = 0;
  virtual void barrier() = 0;

  /// Typed form of all_gather.
  template <class T>
  std::vector<T> all_gather(const T& mine) {
    static_assert(std::is_trivially_copyable_v<T>);
    std::vector<T> all(static_cast<std::size_t>(size()));
    all_gather(&mine, sizeof(T), all.data());
    return all;
  }

  /// Collective: true if `ok` is true on every rank. Errors of one rank during construction become
  /// errors of all through it.
  bool all_ok(bool ok);
};

/// Bootstrap over a duplicate of an MPI communicator, which it frees again.
class MpiBootstrap : public Bootstrap {
 public:
  /// Collective over `comm`.
  /// \throws Error (misuse) before MPI_Init or after MPI_Finalize, or for MPI_COMM_NULL;
  ///         (invalid_argument) on all ranks if they do not share one node's memory
  explicit MpiBootstrap(MPI_Comm comm);
  ~MpiBootstrap() override;
  MpiBootstrap(const MpiBootstrap&) = delete;
  MpiBootstrap& operator=(const MpiBootstrap&) = delete;

  int rank() const override { return m_rank; }
  int size() const override { return m_size; }
  using Bootstrap::all_gather;
  void all_gather(const void* mine, std::size_t bytes, void* all) override;
  void barrier() override;

 private:
  MPI_Comm m_comm = MPI_COMM_NULL;
  int m_rank = 0;
  int m_size = 1;
};

}  // namespace KokkosIris::Impl

#endif
