// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include <algorithm>
#include <cmath>
#include <core/KokkosIris_Bootstrap.hpp>
#include <core/KokkosIris_DeviceControl.hpp>
#include <core/KokkosIris_Environment.hpp>
#include <cstdio>
#include <heap/KokkosIris_ContextState.hpp>
#include <limits>
#include <vector>

namespace KokkosIris::Impl {
namespace {

constexpr std::size_t page_bytes = 4096;

/// Bytes rounded up to whole pages; saturates, so that an absurd size fails in the allocation.
std::size_t whole_pages(std::size_t bytes) {
  if (bytes > std::numeric_limits<std::size_t>::max() / 2) return bytes;
  return (bytes + page_bytes - 1) / page_bytes * page_bytes;
}

struct ResolvedOptions {
  std::size_t heap_size;
  double timeout;
  std::size_t copy_engine_entries;
  std::uint64_t seed;
  bool operator==(const ResolvedOptions&) const = default;
};

std::string describe(const ResolvedOptions& options) {
  return "heap_size " + std::to_string(options.heap_size) + ", timeout " +
         std::to_string(options.timeout) + ", copy_engine_entries " +
         std::to_string(options.copy_engine_entries) + ", seed " + std::to_string(options.seed);
}

/// Fills in the environment's values; what is wrong goes to `reason`.
ResolvedOptions resolve_here(const ContextOptions& options, std::string& reason) {
  ResolvedOptions mine{options.heap_size, options.timeout, options.copy_engine_entries,
                       options.seed};
  if (mine.heap_size == 0) mine.heap_size = environment_heap_size(reason);
  if (mine.timeout < 0.0) mine.timeout = environment_timeout(reason);
  if (!std::isfinite(mine.timeout)) {
    reason = "timeout is " + std::to_string(mine.timeout) + "; give seconds >= 0 (0: no deadline)";
  }
  const std::size_t entries = mine.copy_engine_entries;
  constexpr std::size_t most_entries = std::size_t(1) << 20;
  if (entries < 2 || entries > most_entries || (entries & (entries - 1)) != 0) {
    reason = "copy_engine_entries is " + std::to_string(entries) +
             "; give a power of two from 2 to " + std::to_string(most_entries);
  }
  if (mine.heap_size > (std::size_t(1) << 46)) {
    reason = "heap_size is " + std::to_string(mine.heap_size) + " bytes, more than can be mapped";
  }
  return mine;
}

/// Collective: one rank's fault is an error of all, which names it.
void require_no_fault(Bootstrap& bootstrap, ErrorCode code, const std::string& reason) {
  struct Fault {
    char text[400];
  } mine{};
  std::snprintf(mine.text, sizeof(mine.text), "%s", reason.c_str());
  const auto all = bootstrap.all_gather(mine);
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (all[rank].text[0] == '\0') continue;
    throw_error(code, bootstrap.rank(), "Context",
                reason.empty() ? "rank " + std::to_string(rank) + ": " + all[rank].text : reason);
  }
}

/// Collective, so that one rank's bad value is an error of all.
ResolvedOptions resolve(Bootstrap& bootstrap, const ContextOptions& options) {
  std::string reason;
  const ResolvedOptions mine = resolve_here(options, reason);
  require_no_fault(bootstrap, ErrorCode::invalid_argument, reason);
  const auto all = bootstrap.all_gather(mine);
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    if (all[rank] == all[0]) continue;
    throw_error(ErrorCode::mismatch, bootstrap.rank(), "Context",
                "the options differ: rank 0 gives " + describe(all[0]) + "; rank " +
                    std::to_string(rank) + " gives " + describe(all[rank]) +
                    "; all ranks must give the same");
  }
  return mine;
}

/// Collective: `make` is what each rank does for itself; a failure is one of all.
template <class Make>
void make_together(Bootstrap& bootstrap, const char* what, const Make& make) {
  std::string reason;
  try {
    make();
  } catch (const std::exception& error) {
    reason = error.what();
    if (reason.empty()) reason = std::string("no ") + what;
  }
  require_no_fault(bootstrap, ErrorCode::system, reason);
}

}  // namespace

ContextState::ContextState(Bootstrap& bootstrap, const ContextOptions& options,
                           const MemorySpaceFactory& factory)
    : m_seed(options.seed) {
  const ResolvedOptions resolved = resolve(bootstrap, options);
  m_runtime = std::make_shared<Runtime>(bootstrap, resolved.timeout);
  const std::size_t reserved = whole_pages(DeviceControl::bytes(bootstrap.size()));
  const std::size_t heap_bytes = whole_pages(resolved.heap_size);
  m_memory = factory.peer_memory(bootstrap, m_runtime, reserved + heap_bytes);
  m_heap = std::make_unique<SymmetricHeap>(*m_runtime, *m_memory, reserved, heap_bytes);
  make_together(bootstrap, "copy engine", [&] {
    m_copy_engine = factory.copy_engine(*m_runtime, resolved.copy_engine_entries);
  });
  fill_device_state(reserved + heap_bytes);
  start_watch(bootstrap);
  m_runtime->before_recovery([this] { m_memory->wait_for_kernels(); });
  m_runtime->on_recovery([this] { align_device_control(); });
}

void ContextState::fill_device_state(std::size_t slab_bytes) {
  DeviceState state;
  state.rank = m_runtime->rank();
  state.size = m_runtime->size();
  state.spins = m_memory->spins();
  state.base = m_memory->slab(state.rank);
  state.bases = m_memory->table();
  for (int rank = 0; rank < std::min(state.size, DeviceState::near_ranks); ++rank) {
    state.near_bases[rank] = m_memory->slab(rank);
  }
  state.host_bases = m_memory->host_table();
  state.bytes = slab_bytes;
  state.control = reinterpret_cast<DeviceControl*>(state.base);
  state.runtime = m_runtime.get();
  state.queues = m_copy_engine->queues();
  m_device = DeviceContext(state);
}

/// Prepares waits in kernels of a GPU, and what watches over them.
void ContextState::start_watch(Bootstrap& bootstrap) {
  const auto settings = m_memory->wait_settings();
  if (!settings) return;
  make_together(bootstrap, "watch over waits in kernels", [&] {
    m_memory->write(reinterpret_cast<char*>(&m_device.state().control->wait), &*settings,
                    sizeof(*settings));
    m_watch = std::make_unique<DeviceWatch>(*m_runtime);
  });
}

void ContextState::close() {
  m_copy_engine.reset();
  m_watch.reset();
  m_runtime->leave();
}

void ContextState::barrier(std::string_view operation) {
  m_runtime->barrier(operation);
  m_heap->reclaim();
}

/// After an error the ranks may have entered different numbers of barriers inside kernels: all go
/// on from the largest.
void ContextState::align_device_control() {
  DeviceControl* const control = m_device.state().control;
  PaddedFlag own;
  m_memory->read(&own, reinterpret_cast<const char*>(&control->barrier_generation), sizeof(own));
  const auto counts = m_runtime->agree("recovery", own.value);
  own.value = *std::max_element(counts.begin(), counts.end());
  const std::vector<PaddedFlag> arrivals(counts.size(), own);
  m_memory->write(reinterpret_cast<char*>(&control->barrier_generation), &own, sizeof(own));
  m_memory->write(reinterpret_cast<char*>(control->arrivals()), arrivals.data(),
                  arrivals.size() * sizeof(PaddedFlag));
  m_runtime->barrier("recovery");
}

}  // namespace KokkosIris::Impl
