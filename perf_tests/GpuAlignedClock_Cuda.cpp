// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include <GpuAlignedClock.hpp>
#include <RawGpu.hpp>
#include <Session.hpp>
#include <atomic>
#include <rma/KokkosIris_DeviceBarrier.hpp>

namespace Bench {
namespace {

/// One thread of each GPU. The wait for the host has an end, some milliseconds, in case that a call
/// of the host waits for the stream: such a sample then has the host's time in it, and the program
/// goes on.
__global__ void hold_and_meet(KokkosIris::DeviceContext context, const std::uint64_t* submitted,
                              std::uint64_t ticket, std::uint64_t* failed) {
  constexpr int most_polls = 4096;
  for (int poll = 0; poll < most_polls && Raw::load_acquire(submitted) < ticket; ++poll) {
  }
  if (!barrier(context)) *failed = 1;
}

}  // namespace

double GpuAlignedClock::time(const std::function<void()>& enqueue) {
  std::atomic_ref<std::uint64_t> submitted(m_words(0));
  ++m_tickets;
  hold_and_meet<<<1, 1, 0, m_stream>>>(m_context, &m_words(0), m_tickets, &m_words(1));
  m_clock.begin(m_stream);
  enqueue();
  m_clock.end(m_stream);
  submitted.store(m_tickets, std::memory_order_release);
  return m_clock.elapsed();
}

void GpuAlignedClock::require_success(const std::string& cell) const {
  require_everywhere(m_words(1) == 0, cell + ": the GPUs did not meet");
}

}  // namespace Bench
