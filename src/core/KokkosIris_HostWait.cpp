// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The slow path of every wait on the host: what is watched while a rank waits, and what follows.

#include <poll.h>
#include <sched.h>
#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <core/KokkosIris_Runtime.hpp>
#include <core/KokkosIris_Wait.hpp>
#include <cstdio>
#include <cstring>

namespace KokkosIris::Impl {
namespace {

using Clock = std::chrono::steady_clock;

/// Polls between two looks at the clock, and time between two looks at the other processes: system
/// calls cost about as much as a yield, and a dead process may be noticed 10 ms late.
constexpr unsigned polls_per_clock_read = 32;
constexpr double seconds_per_process_check = 0.01;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// True for waits of fused and collective operations for a certain rank.
bool is_in_operation(WaitSite site) {
  switch (site.phase) {
    case WaitPhase::peer_entry:
    case WaitPhase::peer_partial:
    case WaitPhase::peer_space:
    case WaitPhase::peer_completion:
    case WaitPhase::peer_operand:
      return true;
    default:
      return false;
  }
}

}  // namespace

const char* to_string(WaitPhase phase) noexcept {
  switch (phase) {
    case WaitPhase::collective_arrival:
      return "the arrival in a collective call";
    case WaitPhase::recovery:
      return "the return after an error";
    case WaitPhase::device_barrier:
      return "the arrival in a barrier inside a kernel";
    case WaitPhase::user_wait:
      return "a condition of wait_until";
    case WaitPhase::copy_engine_space:
      return "room in the ring of the copy engine";
    case WaitPhase::copy_engine_quiet:
      return "the completion of copies";
    case WaitPhase::peer_entry:
      return "the start of the operation";
    case WaitPhase::other_teams:
      return "the other teams of this rank";
    case WaitPhase::peer_partial:
      return "a partial tile";
    case WaitPhase::peer_space:
      return "room in the staging of tiles";
    case WaitPhase::peer_completion:
      return "the completion of the operation";
    case WaitPhase::peer_operand:
      return "its part of an operand";
    case WaitPhase::outdated_workspace:
      return "nothing, with a workspace that was given up before";
  }
  return "an unknown phase";
}

/// A process watched by its number is gone for us when its parent has collected it, too; one that
/// got the same number later is taken for it.
bool Runtime::process_is_gone(int rank) const {
  const int descriptor = m_process_descriptors[static_cast<std::size_t>(rank)];
  if (descriptor < 0) {
    const pid_t number = m_process_numbers[static_cast<std::size_t>(rank)];
    return number > 0 && kill(number, 0) != 0 && errno == ESRCH;
  }
  pollfd query{descriptor, POLLIN, 0};
  return poll(&query, 1, 0) == 1;
}

bool Runtime::find_departed(WaitSite site, bool& orderly, int& who) const {
  for (int other = 0; other < m_size; ++other) {
    if (other == m_rank) continue;
    // In this order: a rank that leaves and ends in between has left in good order.
    const bool gone = process_is_gone(other);
    const bool left = control(other).life.load(std::memory_order_acquire) == ControlBlock::left;
    // A rank that left in good order matters only to those who wait for it.
    if (left ? other == site.peer : gone) {
      orderly = left;
      who = other;
      return true;
    }
  }
  return false;
}

/// True if this rank waits inside a fused or collective operation for a rank whose host has gone on
/// to a collective call that this rank has not entered. On the host a kernel has ended when its
/// launch returns, so that rank has done its part of the operation, which a last look finds, or was
/// never in it: it will not come.
bool Runtime::peer_is_elsewhere(WaitSite site) const {
  if (!is_in_operation(site)) return false;
  const std::uint64_t next = m_generation + 1;  // unchanged while this rank's host is in a kernel
  return control(site.peer).arrivals[next & 1u].generation.load(std::memory_order_acquire) >= next;
}

/// True if a kernel of this rank waits in a fused or collective operation that the other rank has
/// not launched and will not: it is in a collective call that this rank has not entered, so that
/// the two make their calls in different orders. (Where kernels run beside the host, a rank that is
/// merely in another call may have launched its part before.) Called by any thread.
bool Runtime::peer_will_not_launch(WaitSite site) const {
  if (!is_in_operation(site)) return false;
  const auto entered = [this](int rank) {
    const ControlBlock& block = control(rank);
    return std::max(block.arrivals[0].generation.load(std::memory_order_acquire),
                    block.arrivals[1].generation.load(std::memory_order_acquire));
  };
  const auto launched = [this](int rank) {
    std::uint64_t last = 0;
    for (const auto& launch : control(rank).launches) {
      last = std::max(last, launch.load(std::memory_order_acquire) >> 32);
    }
    return last;
  };
  return entered(site.peer) > entered(m_rank) && launched(site.peer) < launched(m_rank);
}

/// The launch, as in ControlBlock::launches, for which the rank that is waited for inside a fused
/// operation uses another workspace than this rank; 0: none. Launches that are complete on both
/// sides never differ.
std::uint64_t Runtime::other_launch(WaitSite site) const {
  if (!is_in_operation(site)) return 0;
  for (std::uint32_t slot = 0; slot < shown_launches; ++slot) {
    const std::uint64_t mine = control(m_rank).launches[slot].load(std::memory_order_acquire);
    const std::uint64_t theirs = control(site.peer).launches[slot].load(std::memory_order_acquire);
    const bool same_number = mine != 0 && mine >> 32 == theirs >> 32;
    if (same_number && mine != theirs) return theirs;
  }
  return 0;
}

Runtime::WaitResult Runtime::wait_impl(WaitSite site, bool heed_abort, bool (*ready)(void*),
                                       void* argument) {
  // Before giving up there is always one last look: what we wait for may have been the last thing
  // that the other rank did, and the ranks should agree on whether it happened.
  const auto start = Clock::now();
  double next_process_check = seconds_per_process_check;
  for (unsigned poll = 1;; ++poll) {
    if (ready(argument)) return WaitResult::ready;
    if (heed_abort &&
        control(m_rank).abort.state.load(std::memory_order_acquire) != AbortRecord::none) {
      return ready(argument) ? WaitResult::ready : WaitResult::aborted;
    }
    sched_yield();
    if (poll % polls_per_clock_read != 0) continue;
    if (peer_is_elsewhere(site)) {
      if (ready(argument)) return WaitResult::ready;
      give_up_on_other_call(site);
      return WaitResult::peer_elsewhere;
    }
    if (const std::uint64_t launch = other_launch(site); launch != 0) {
      if (ready(argument)) return WaitResult::ready;
      give_up_on_other_workspace(site, launch);
      return WaitResult::peer_elsewhere;
    }
    const double elapsed = seconds_since(start);
    if (elapsed >= next_process_check) {
      next_process_check = elapsed + seconds_per_process_check;
      bool orderly = false;
      int who = -1;
      if (find_departed(site, orderly, who)) {
        if (ready(argument)) return WaitResult::ready;
        give_up_on_departed(site, orderly, who);
        return WaitResult::peer_left;
      }
    }
    if (m_timeout > 0.0 && elapsed > m_timeout) {
      if (ready(argument)) return WaitResult::ready;
      give_up_on_time(site);
      return WaitResult::too_late;
    }
  }
}

/// What the wait was for; names the collective call where there is one.
std::string Runtime::describe(WaitSite site) const {
  std::string text = to_string(site.phase);
  if (site.phase == WaitPhase::collective_arrival) {
    text += std::string(" '") + arrival(m_rank).operation + "'";
  }
  if (site.peer >= 0) text += " of rank " + std::to_string(site.peer);
  return text;
}

void Runtime::give_up_on_departed(WaitSite site, bool orderly, int who) noexcept {
  const std::string rank = "rank " + std::to_string(who);
  raise_abort(
      ErrorCode::peer_died, "wait",
      (orderly ? rank + " has destroyed its context" : "the process of " + rank + " is gone") +
          " while rank " + std::to_string(m_rank) + " waited for " + describe(site));
}

void Runtime::give_up_on_time(WaitSite site) noexcept {
  char limit[32];
  std::snprintf(limit, sizeof(limit), "%g s", m_timeout);
  raise_abort(ErrorCode::timeout, "wait",
              "rank " + std::to_string(m_rank) + " waited longer than " + limit +
                  " (KOKKOSIRIS_TIMEOUT) for " + describe(site));
}

void Runtime::give_up_on_other_call(WaitSite site) noexcept {
  const ArrivalSlot& theirs = control(site.peer).arrivals[(m_generation + 1) & 1u];
  if (theirs.fault != 0) {
    const char* const text = theirs.data + theirs.fault;
    raise_abort(ErrorCode::invalid_argument, theirs.operation,
                "rank " + std::to_string(site.peer) + ": " +
                    std::string(text, strnlen(text, sizeof(theirs.data) - theirs.fault)));
    return;
  }
  raise_abort(ErrorCode::mismatch, "wait",
              "rank " + std::to_string(site.peer) + " is in the collective call '" +
                  theirs.operation + "' while rank " + std::to_string(m_rank) + " waits for " +
                  describe(site) +
                  "; all ranks must call the collective operations of a context in the same order, "
                  "and pass workspaces of the same earlier call");
}

/// A kernel cannot raise an error itself: this does it, at the latest in the first call of the host
/// that follows the kernel.
void Runtime::heed_device_report() noexcept {
  std::atomic<std::uint64_t>& late = control(m_rank).report.too_late;
  if (late.load(std::memory_order_acquire) == 0) return;
  if (const std::uint64_t site = late.exchange(0); site != 0) {
    give_up_on_time(unpack_wait_site(site));
  }
}

Runtime::DeviceWaitLook Runtime::look_at_device_waits(DeviceWaitLook last) noexcept {
  heed_device_report();
  const std::uint64_t waiting = control(m_rank).report.waiting.load(std::memory_order_acquire);
  if (waiting == last.waiting) return last;
  if (waiting == 0) return {};
  const WaitSite site = unpack_wait_site(waiting);
  bool orderly = false;
  int who = -1;
  const DeviceWaitLook look{waiting, find_departed(site, orderly, who), peer_will_not_launch(site),
                            other_launch(site), site.phase == WaitPhase::outdated_workspace};
  if (control(m_rank).abort.state.load(std::memory_order_acquire) != AbortRecord::none) return look;
  if (look.departed && last.departed) {
    give_up_on_departed(site, orderly, who);
  } else if (look.elsewhere && last.elsewhere) {
    give_up_on_other_call(site);
  } else if (look.other_launch != 0 && look.other_launch == last.other_launch) {
    give_up_on_other_workspace(site, look.other_launch);
  } else if (look.outdated && last.outdated) {
    raise_abort(ErrorCode::misuse, "wait",
                "rank " + std::to_string(m_rank) +
                    " repeats a captured call whose workspace an earlier error has outdated; make "
                    "the call anew, and capture it with the new workspace");
  }
  return look;
}

void Runtime::give_up_on_other_workspace(WaitSite site, std::uint64_t launch) noexcept {
  const auto slot = (launch >> 32) % shown_launches;
  const std::uint64_t mine = control(m_rank).launches[slot].load(std::memory_order_acquire);
  raise_abort(ErrorCode::mismatch, "wait",
              "rank " + std::to_string(site.peer) + " uses the workspace of number " +
                  std::to_string(launch & 0xffffffffu) + " and rank " + std::to_string(m_rank) +
                  " that of number " + std::to_string(mine & 0xffffffffu) +
                  " for the same operation (number() of the workspace), while rank " +
                  std::to_string(m_rank) + " waits for " + describe(site) +
                  "; all ranks must pass the workspaces of the same earlier call");
}

bool Runtime::wait_until(WaitSite site, bool (*ready)(void*), void* argument) {
  return wait_impl(site, true, ready, argument) == WaitResult::ready;
}

bool wait_on_host(Runtime& runtime, WaitSite site, bool (*ready)(void*), void* argument) {
  return runtime.wait_until(site, ready, argument);
}

}  // namespace KokkosIris::Impl
