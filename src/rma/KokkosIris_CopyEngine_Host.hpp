// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// The copy engine of host backends: a proxy thread, helped by the threads that wait for it.

#ifndef KOKKOSIRIS_COPY_ENGINE_HOST_HPP
#define KOKKOSIRIS_COPY_ENGINE_HOST_HPP

#include <atomic>
#include <core/KokkosIris_CopyEngine.hpp>
#include <core/KokkosIris_DeviceControl.hpp>
#include <cstddef>
#include <cstdint>
#include <rma/KokkosIris_CopyEngineRing.hpp>
#include <thread>
#include <vector>

namespace KokkosIris::Impl {

/// Host memory of the rings.
class CopyRingStorage {
 public:
  /// \param peers number of rings
  /// \param entries entries of each, a power of two
  /// \param first position that the rings begin with; they work from any, so that tests can begin
  ///        shortly before the counters wrap around
  CopyRingStorage(int peers, std::size_t entries, CopyEngine* engine, std::uint64_t first = 0);
  CopyRingStorage(const CopyRingStorage&) = delete;
  CopyRingStorage& operator=(const CopyRingStorage&) = delete;

  CopyEngineQueues& queues() noexcept { return m_queues; }

 private:
  std::vector<PaddedFlag> m_counters;  // reserved and completed of each ring
  std::vector<CopyRingEntry> m_entries;
  std::vector<CopyRing> m_rings;
  CopyEngineQueues m_queues;
};

/// Copies the rows, then sets or raises the signal word. Returns when the copy is visible to
/// whoever acquires the signal or what the calling thread releases later.
void carry_out(const CopyWork& work) noexcept;

/// A thread that carries out copies.
///
/// Any thread may take the oldest copy of a ring while it holds that ring; the proxy does it for
/// whatever is submitted, a thread that waits (for room or in quiet) does it rather than idle, and
/// a small copy that finds its ring empty is carried out by the thread that submits it, since
/// waking the proxy takes longer. So a rank with one processor loses no time to switches between
/// threads.
class HostCopyEngine : public CopyEngine {
 public:
  /// Starts the proxy.
  /// \param rank of the calling rank, for texts
  /// \param size number of ranks, hence of rings
  /// \param may_poll a thread that polls is a gain only where no rank misses the processor
  /// \param first as in CopyRingStorage
  /// \throws std::runtime_error if the thread cannot be started
  HostCopyEngine(int rank, int size, bool may_poll, std::size_t entries, std::uint64_t first = 0);
  /// Finishes what was submitted. Other threads must not submit or wait any more.
  ~HostCopyEngine() override;
  HostCopyEngine(const HostCopyEngine&) = delete;
  HostCopyEngine& operator=(const HostCopyEngine&) = delete;

  CopyEngineQueues* queues() noexcept override { return &m_storage.queues(); }
  void submitted(int peer, std::uint64_t position, const CopyWork& work) noexcept override;
  void progress(int peer) noexcept override;

 private:
  struct alignas(128) Holder {
    std::atomic<bool> held = false;
  };

  void run() noexcept;
  void sleep() noexcept;
  void wake() noexcept;
  bool take_one(int peer) noexcept;
  bool is_ready(int peer) noexcept;
  bool work_is_left() noexcept;

  CopyRingStorage m_storage;
  std::vector<Holder> m_holders;  // one a ring
  alignas(128) std::atomic<std::uint32_t> m_asleep = 0;
  std::atomic<bool> m_stop = false;
  int m_peers;
  int m_idle_polls;      // of the proxy before it sleeps
  bool m_one_processor;  // the threads of this rank take turns
  std::thread m_proxy;
};

}  // namespace KokkosIris::Impl

#endif
