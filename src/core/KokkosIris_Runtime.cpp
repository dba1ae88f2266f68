// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include <sched.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <core/KokkosIris_Runtime.hpp>
#include <core/KokkosIris_Wait.hpp>
#include <cstdio>
#include <memory>

namespace KokkosIris::Impl {
namespace {

int open_process(pid_t process) { return static_cast<int>(syscall(SYS_pidfd_open, process, 0)); }

/// Identifies the name space of this process' number: ranks in containers of their own must not
/// watch a stranger that happens to have a rank's number. 0 if it cannot be known.
std::uint64_t process_namespace() {
  struct stat status {};
  return stat("/proc/self/ns/pid", &status) == 0 ? static_cast<std::uint64_t>(status.st_ino) : 0;
}

/// Waits until nobody is writing the record, as long as a live writer can possibly need: it may
/// have lost its processor in between, or its life.
std::uint32_t settled_state(const AbortRecord& record) {
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  for (;;) {
    const std::uint32_t state = record.state.load(std::memory_order_acquire);
    if (state != AbortRecord::being_written || std::chrono::steady_clock::now() > limit)
      return state;
    sched_yield();
  }
}

/// cpu_set_t has no name of its own, which nvcc cannot put into a vector.
struct Processors {
  cpu_set_t set;
};

/// Those that each rank may run on. Collective.
std::vector<Processors> gather_processors(Bootstrap& bootstrap) {
  Processors mine;
  CPU_ZERO(&mine.set);  // stays so if the call fails: then every rank is taken to share a processor
  sched_getaffinity(0, sizeof(mine.set), &mine.set);
  return bootstrap.all_gather(mine);
}

/// Polls before yielding: long where every rank has a processor of its own, else none to speak of,
/// since the rank that is waited for may need this very processor.
int choose_spins(const std::vector<Processors>& of_ranks) {
  cpu_set_t any;
  CPU_ZERO(&any);
  for (const Processors& one : of_ranks) CPU_OR(&any, &any, &one.set);
  return CPU_COUNT(&any) >= static_cast<int>(of_ranks.size()) ? 2000 : 1;
}

/// See Runtime::has_spare_processors.
bool find_spare_processors(const std::vector<Processors>& of_ranks, const Processors& mine) {
  int sharing = 0;  // this rank, too
  for (const Processors& one : of_ranks) {
    cpu_set_t common;
    CPU_AND(&common, &mine.set, &one.set);
    if (CPU_COUNT(&common) > 0) ++sharing;
  }
  return sharing > 0 && CPU_COUNT(&mine.set) >= 2 * sharing;
}

}  // namespace

Runtime::Runtime(Bootstrap& bootstrap, double timeout)
    : m_rank(bootstrap.rank()), m_size(bootstrap.size()), m_timeout(timeout) {
  const auto versions = bootstrap.all_gather(control_layout_version);
  if (std::any_of(versions.begin(), versions.end(),
                  [](std::uint32_t version) { return version != control_layout_version; })) {
    throw_error(ErrorCode::mismatch, m_rank, "Context",
                "ranks run different versions of KokkosIris; use one installation for all");
  }
  const auto processors = gather_processors(bootstrap);
  m_spins = choose_spins(processors);
  m_has_spare_processors =
      find_spare_processors(processors, processors[static_cast<std::size_t>(m_rank)]);
  m_segments = SharedSegment::create_all(bootstrap, sizeof(ControlBlock), "KokkosIris::control");
  ControlBlock& mine = control(m_rank);
  mine.layout_version = control_layout_version;
  mine.process = getpid();
  mine.process_namespace = process_namespace();
  mine.life.store(ControlBlock::running, std::memory_order_release);
  bootstrap.barrier();
  for (int other = 0; other < m_size; ++other) watch(other);
  bootstrap.barrier();  // nobody leaves, and may end, before its process has been opened
}

/// Prepares process_is_gone(). A process descriptor cannot be mistaken for another process; where
/// there is none (an old kernel, or a container that forbids the call) the number has to do.
void Runtime::watch(int rank) {
  const ControlBlock& mine = control(m_rank);
  const ControlBlock& theirs = control(rank);
  const bool watched = theirs.process_namespace == mine.process_namespace &&
                       theirs.process_namespace != 0 && theirs.process != mine.process;
  const int descriptor = watched && !watch_by_number ? open_process(theirs.process) : -1;
  m_process_descriptors.push_back(descriptor);
  m_process_numbers.push_back(watched && descriptor < 0 ? theirs.process : 0);
}

void Runtime::leave() {
  m_left = true;
  control(m_rank).life.store(ControlBlock::left, std::memory_order_release);
}

Runtime::~Runtime() {
  leave();
  for (const int descriptor : m_process_descriptors) {
    if (descriptor >= 0) close(descriptor);
  }
}

const std::uint32_t* Runtime::abort_word() const {
  return reinterpret_cast<const std::uint32_t*>(&control(m_rank).abort.state);
}

void Runtime::barrier(std::string_view operation) { meet(operation, nullptr, 0, 0); }

void Runtime::enter(std::string_view operation) {
  if (m_left) throw_error(ErrorCode::misuse, m_rank, operation, "the context has been destroyed");
  if (m_dead) {
    throw_error(
        ErrorCode::peer_died, m_rank, operation,
        "the ranks of this context cannot come together again, because a process is gone or "
        "failed in a recovery; destroy the context");
  }
  heed_device_report();
  if (control(m_rank).abort.state.load(std::memory_order_acquire) == AbortRecord::none) return;
  if (!m_thrown) throw_abort(operation);
  recover(operation);
}

void Runtime::publish_arrival(std::string_view operation, const void* data, std::size_t bytes,
                              std::uint32_t fault) {
  ArrivalSlot& mine = control(m_rank).arrivals[m_generation & 1u];
  if (bytes > 0) std::memcpy(mine.data, data, bytes);
  mine.bytes = static_cast<std::uint32_t>(bytes);
  mine.fault = fault;
  const std::size_t letters = std::min(operation.size(), sizeof(mine.operation) - 1);
  std::memcpy(mine.operation, operation.data(), letters);
  mine.operation[letters] = '\0';
  mine.dropped = m_published_drops[m_generation & 1u] = m_dropped.load(std::memory_order_acquire);
  mine.generation.store(m_generation, std::memory_order_release);
}

/// wait_impl() after a short spin, for a callable.
template <class Ready>
Runtime::WaitResult Runtime::spin_and_wait(WaitSite site, bool heed_abort, Ready&& ready) {
  for (int spin = 0; spin < m_spins; ++spin) {
    if (ready()) return WaitResult::ready;
    pause_processor();
  }
  return wait_impl(site, heed_abort, &is_ready<std::remove_reference_t<Ready>>,
                   std::addressof(ready));
}

void Runtime::meet(std::string_view operation, const void* data, std::size_t bytes,
                   std::uint32_t fault) {
  enter(operation);
  const std::uint64_t generation = ++m_generation;
  publish_arrival(operation, data, bytes, fault);
  for (int step = 1; step < m_size; ++step) {
    const int other = rank_after(m_rank, step, m_size);
    const ArrivalSlot& theirs = control(other).arrivals[generation & 1u];
    const WaitResult result = spin_and_wait({WaitPhase::collective_arrival, other}, true, [&] {
      return theirs.generation.load(std::memory_order_acquire) >= generation;
    });
    if (result != WaitResult::ready) throw_abort(operation);
  }
  m_completed = generation;
  require_same_call(operation, bytes);
}

/// A rank in another collective call than this one, or -1. The own slot is not read: the others
/// poll its line, so that it would have to be fetched back.
int Runtime::find_other_call(std::string_view operation, std::size_t bytes) const {
  const std::size_t letters = std::min(operation.size(), sizeof(ArrivalSlot::operation) - 1);
  for (int other = 0; other < m_size; ++other) {
    if (other == m_rank) continue;
    const ArrivalSlot& theirs = arrival(other);
    if (theirs.bytes != bytes || std::memcmp(theirs.operation, operation.data(), letters) != 0 ||
        theirs.operation[letters] != '\0') {
      return other;
    }
  }
  return -1;
}

/// Every rank finds a difference if there is one, so all of them throw.
void Runtime::require_same_call(std::string_view operation, std::size_t bytes) const {
  const int other = find_other_call(operation, bytes);
  if (other < 0) return;
  throw_error(
      ErrorCode::mismatch, m_rank, operation,
      "rank " + std::to_string(other) + " is in the collective call '" + arrival(other).operation +
          "'; all ranks must call the collective operations of a context in the same order");
}

void Runtime::spread_abort(int origin, ErrorCode code, const char* text) noexcept {
  for (int step = 0; step < m_size; ++step) {
    AbortRecord& record = control(rank_after(m_rank, step, m_size)).abort;
    std::uint32_t expected = AbortRecord::none;
    if (!record.state.compare_exchange_strong(expected, AbortRecord::being_written)) continue;
    record.origin = origin;
    record.code = static_cast<std::int32_t>(code);
    std::snprintf(record.text, sizeof(record.text), "%s", text);
    record.state.store(AbortRecord::raised, std::memory_order_release);
  }
}

void Runtime::raise_abort(ErrorCode code, std::string_view operation,
                          const std::string& message) noexcept {
  char text[sizeof(AbortRecord::text)];
  std::snprintf(text, sizeof(text), "%.*s: %s", static_cast<int>(operation.size()),
                operation.data(), message.c_str());
  spread_abort(m_rank, code, text);
}

void Runtime::fail(ErrorCode code, std::string_view operation, const std::string& message) {
  // An error that was thrown before is over with this call, as with any collective one; otherwise
  // the others would take this failure for that one.
  if (m_thrown) enter(operation);
  raise_abort(code, operation, message);
  m_thrown = true;
  throw_error(code, m_rank, operation, message);
}

void Runtime::throw_given_up(std::string_view operation) {
  check(operation);
  throw_error(
      ErrorCode::peer_failed, m_rank, operation,
      "an earlier error is not settled yet, so nothing can be waited for; make a collective "
      "call first, such as the context's barrier, or destroy the context");
}

void Runtime::check(std::string_view operation) {
  heed_device_report();
  if (!m_thrown &&
      control(m_rank).abort.state.load(std::memory_order_acquire) != AbortRecord::none) {
    throw_abort(operation);
  }
}

void Runtime::throw_abort(std::string_view operation) {
  const AbortRecord& record = control(m_rank).abort;
  m_thrown = true;
  if (settled_state(record) != AbortRecord::raised) {
    spread_abort(m_rank, ErrorCode::peer_failed, "a rank failed while it reported an error");
    throw_error(ErrorCode::peer_failed, m_rank, operation, "another rank failed");
  }
  const auto code = static_cast<ErrorCode>(record.code);
  if (code == ErrorCode::peer_died) m_dead = true;
  // Whoever raised it may have met a recovery half-way and reached only some ranks.
  spread_abort(record.origin, code, record.text);
  const std::string origin = "rank " + std::to_string(record.origin);
  if (record.origin == m_rank || code == ErrorCode::timeout || code == ErrorCode::peer_died) {
    throw_error(code, m_rank, operation, "given up by " + origin + " in " + record.text);
  }
  throw_error(ErrorCode::peer_failed, m_rank, operation, origin + " failed in " + record.text);
}

void Runtime::wait_for_recovery(std::string_view operation,
                                std::atomic<std::uint64_t> RecoverySlot::*word) {
  for (int step = 1; step < m_size; ++step) {
    const int other = rank_after(m_rank, step, m_size);
    const auto& theirs = control(other).recovery.*word;
    const WaitResult result = spin_and_wait({WaitPhase::recovery, other}, false, [&] {
      return theirs.load(std::memory_order_acquire) >= m_recoveries;
    });
    if (result == WaitResult::ready) continue;
    // A rank that is only late may still come: until it has, every call tries again. Once all have
    // come and begun to clear there is no way back.
    m_dead = result == WaitResult::peer_left || word == &RecoverySlot::cleared;
    if (result == WaitResult::peer_left) {
      throw_error(
          ErrorCode::peer_died, m_rank, operation,
          "a rank ended, or destroyed its context, after an error, while this one waited for "
          "rank " +
              std::to_string(other) + "; destroy the context");
    }
    throw_error(ErrorCode::timeout, m_rank, operation,
                "rank " + std::to_string(other) +
                    " did not come back after an error on some rank; after an Error every rank "
                    "must go on with the same collective call or destroy the context");
  }
}

void Runtime::recover(std::string_view operation) {
  RecoverySlot& mine = control(m_rank).recovery;
  if (!m_recovering) {
    for (const auto& action : m_before_recovery_actions) action();
    control(m_rank).report.too_late.store(0);  // of waits that ended with this error
    control(m_rank).report.waiting.store(0);
    m_recovering = true;
    ++m_recoveries;
    mine.generation = m_generation;
    mine.completed = m_completed;
    mine.arrived.store(m_recoveries, std::memory_order_release);
  }
  wait_for_recovery(operation, &RecoverySlot::arrived);
  catch_up();
  clear_abort();
  mine.cleared.store(m_recoveries, std::memory_order_release);
  wait_for_recovery(operation, &RecoverySlot::cleared);
  m_recovering = false;
  m_thrown = false;
  ++m_epoch;
  for (const auto& action : m_recovery_actions) action();
}

/// Brings this rank to where the rank that came farthest is: its call numbers, and what the last
/// completed call did. Nobody enters another call before all ranks have cleared, so the arrivals of
/// the completed call are still there.
void Runtime::catch_up() {
  std::uint64_t entered = 0;
  std::uint64_t completed = 0;
  for (int other = 0; other < m_size; ++other) {
    const RecoverySlot& theirs = control(other).recovery;
    entered = std::max(entered, theirs.generation);
    completed = std::max(completed, theirs.completed);
  }
  const bool missed = completed > m_completed;
  m_generation = completed;
  const ArrivalSlot& mine = arrival(m_rank);
  const bool effective = missed && find_other_call(mine.operation, mine.bytes) < 0;
  for (const auto& action : m_catch_up_actions) action(effective);
  m_completed = completed;
  m_generation = entered;
  m_launches = 0;
  for (auto& launch : control(m_rank).launches) launch.store(0, std::memory_order_release);
}

void Runtime::begin_launch(std::uint32_t workspace) {
  ++m_launches;
  control(m_rank).launches[m_launches % shown_launches].store(
      std::uint64_t(m_launches) << 32 | workspace, std::memory_order_release);
}

/// A late report of the failure that is being recovered from may be under way from a thread that
/// waits: its record must be whole before it is taken away.
void Runtime::clear_abort() {
  AbortRecord& record = control(m_rank).abort;
  settled_state(record);
  record.state.store(AbortRecord::none, std::memory_order_release);
}

void Runtime::drop(std::uint64_t sequence) {
  const std::lock_guard<std::mutex> lock(m_drop_mutex);
  const std::uint64_t count = m_dropped.load(std::memory_order_relaxed);
  control(m_rank).dropped[count % (2 * max_live_allocations)] = sequence;
  m_dropped.store(count + 1, std::memory_order_release);
}

}  // namespace KokkosIris::Impl
