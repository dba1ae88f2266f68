// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include <sched.h>

#include <core/KokkosIris_Runtime.hpp>
#include <core/KokkosIris_ServiceThread.hpp>
#include <cstring>
#include <rma/KokkosIris_CopyBytes.hpp>
#include <rma/KokkosIris_CopyEngine_Host.hpp>

namespace KokkosIris::Impl {
namespace {

/// A copy up to this size costs less than waking the proxy (two system calls and two switches).
constexpr std::uint64_t small_copy_bytes = 16384;

/// Some ten microseconds: copies often come in bursts, and each wake-up avoided saves a few.
constexpr int idle_polls = 256;

bool is_bound_to_one_processor() {
  cpu_set_t mine;
  CPU_ZERO(&mine);
  return sched_getaffinity(0, sizeof(mine), &mine) != 0 || CPU_COUNT(&mine) == 1;
}

/// Rows of `width` bytes known at compile time: the elements of a strided view.
template <std::size_t width>
void copy_elements(const CopyWork& work) noexcept {
  char* destination = work.destination;
  const char* source = work.source;
  for (std::uint64_t row = 0; row < work.height; ++row) {
    std::memcpy(destination, source, width);
    destination += work.destination_pitch;
    source += work.source_pitch;
  }
}

void copy_rows(const CopyWork& work) noexcept {
  for (std::uint64_t row = 0; row < work.height; ++row) {
    copy_bytes(work.destination + row * work.destination_pitch,
               work.source + row * work.source_pitch, work.width, work.reader);
  }
}

void copy_data(const CopyWork& work) noexcept {
  if (work.width == 0) return;
  if (work.height == 1) return copy_rows(work);
  switch (work.width) {
    case 1:
      return copy_elements<1>(work);
    case 2:
      return copy_elements<2>(work);
    case 4:
      return copy_elements<4>(work);
    case 8:
      return copy_elements<8>(work);
    case 16:
      return copy_elements<16>(work);
    default:
      return copy_rows(work);
  }
}

}  // namespace

CopyRingStorage::CopyRingStorage(int peers, std::size_t entries, CopyEngine* engine,
                                 std::uint64_t first)
    : m_counters(2 * static_cast<std::size_t>(peers), PaddedFlag{first}),
      // `first` is the sequence number of the position before the first: committed by nobody.
      m_entries(static_cast<std::size_t>(peers) * entries, CopyRingEntry{first, {}}) {
  for (std::size_t peer = 0; peer < static_cast<std::size_t>(peers); ++peer) {
    m_rings.push_back(CopyRing{&m_counters[2 * peer].value, &m_counters[2 * peer + 1].value,
                               &m_entries[peer * entries]});
  }
  m_queues = CopyEngineQueues{m_rings.data(), entries, engine};
}

void carry_out(const CopyWork& work) noexcept {
  copy_data(work);
  if (work.signal_action == CopySignal::set) {
    __atomic_store_n(work.signal, work.signal_value, __ATOMIC_RELEASE);
  } else if (work.signal_action == CopySignal::add) {
    __atomic_fetch_add(work.signal, work.signal_value, __ATOMIC_ACQ_REL);
  }
}

HostCopyEngine::HostCopyEngine(int rank, int size, bool may_poll, std::size_t entries,
                               std::uint64_t first)
    : m_storage(size, entries, this, first),
      m_holders(static_cast<std::size_t>(size)),
      m_peers(size),
      m_idle_polls(may_poll ? idle_polls : 0),
      m_one_processor(is_bound_to_one_processor()) {
  m_proxy = start_service_thread(rank, "KokkosIris:copy", [this] { run(); });
}

HostCopyEngine::~HostCopyEngine() {
  m_stop.store(true);
  wake();
  m_proxy.join();
}

bool HostCopyEngine::is_ready(int peer) noexcept {
  return next_copy(m_storage.queues(), m_storage.queues().rings[peer]) != nullptr;
}

/// Carries out the oldest copy of a ring. False if there is none or another thread holds the ring.
bool HostCopyEngine::take_one(int peer) noexcept {
  if (!is_ready(peer)) return false;
  std::atomic<bool>& held = m_holders[static_cast<std::size_t>(peer)].held;
  if (held.exchange(true)) return false;
  const CopyRing& ring = m_storage.queues().rings[peer];
  const CopyWork* const work = next_copy(m_storage.queues(), ring);
  if (work != nullptr) {
    carry_out(*work);
    finish_copy(ring);
  }
  held.store(false);
  // The proxy passes by a ring that is held and may fall asleep over it, so who lets go looks once
  // more, whether it found a copy or not.
  if (is_ready(peer)) wake();
  return work != nullptr;
}

void HostCopyEngine::progress(int peer) noexcept {
  // Whoever holds the ring can do nothing while we look on from its processor.
  if (!take_one(peer) && m_one_processor) sched_yield();
}

void HostCopyEngine::submitted(int peer, std::uint64_t position, const CopyWork& work) noexcept {
  const std::uint64_t* const completed = m_storage.queues().rings[peer].completed;
  if (work.width * work.height <= small_copy_bytes && load_acquire(completed) == position &&
      take_one(peer)) {
    return;
  }
  wake();
}

void HostCopyEngine::wake() noexcept {
  if (m_asleep.load() != 0 && m_asleep.exchange(0) != 0) m_asleep.notify_one();
}

/// True if there is a copy that no thread is about to see. Called after m_asleep was set: whoever
/// commits, or lets go of a ring, after this look sees m_asleep and wakes the proxy (all accesses
/// involved are sequentially consistent).
bool HostCopyEngine::work_is_left() noexcept {
  for (int peer = 0; peer < m_peers; ++peer) {
    // In this order: a ring found free is seen as its last holder left it.
    if (!m_holders[static_cast<std::size_t>(peer)].held.load() && is_ready(peer)) return true;
  }
  return false;
}

void HostCopyEngine::sleep() noexcept {
  m_asleep.store(1);
  if (work_is_left() || m_stop.load()) {
    m_asleep.store(0);
  } else {
    m_asleep.wait(1);
  }
}

void HostCopyEngine::run() noexcept {
  int idle = 0;
  for (;;) {
    // Read before the look at the rings: what was submitted before the end is finished.
    const bool stop = m_stop.load();
    bool worked = false;
    for (int peer = 0; peer < m_peers; ++peer) worked = take_one(peer) || worked;
    if (worked) {
      idle = 0;
    } else if (stop) {
      return;
    } else if (++idle <= m_idle_polls) {
      pause_processor();
    } else {
      sleep();
    }
  }
}

template <>
std::unique_ptr<CopyEngine> make_copy_engine<Kokkos::HostSpace>(Runtime& runtime,
                                                                std::size_t entries) {
  return std::make_unique<HostCopyEngine>(runtime.rank(), runtime.size(),
                                          runtime.has_spare_processors(), entries);
}

}  // namespace KokkosIris::Impl
