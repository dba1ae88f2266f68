// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// The ranks of a context as a group: meeting, agreeing, failing together, recovering.

#ifndef KOKKOSIRIS_RUNTIME_HPP
#define KOKKOSIRIS_RUNTIME_HPP

#include <atomic>
#include <core/KokkosIris_Bootstrap.hpp>
#include <core/KokkosIris_ControlBlock.hpp>
#include <core/KokkosIris_Error.hpp>
#include <core/KokkosIris_SharedSegment.hpp>
#include <core/KokkosIris_WaitSite.hpp>
#include <cstdint>
#include <cstring>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace KokkosIris::Impl {

/// The group of ranks behind a context. Host only; every member function that says "collective"
/// must be called by all ranks in the same order, from one thread at a time.
///
/// Failing together. A rank that cannot carry on inside a collective operation calls fail(): the
/// reason is written to the control blocks of all ranks, every wait sees it and gives up, and every
/// rank throws exactly one Error for it. The first collective call after that brings the ranks
/// together (recover) and goes on normally. If a process is gone there is no recovery.
class Runtime {
 public:
  /// Collective over the bootstrap.
  /// \param timeout seconds after which waits give up; 0: never
  Runtime(Bootstrap& bootstrap, double timeout);
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  int rank() const { return m_rank; }
  int size() const { return m_size; }
  double timeout() const { return m_timeout; }
  /// Polls before a wait yields: few where ranks outnumber processors.
  int spins() const { return m_spins; }
  /// True if the processors that this rank may run on are at least two for each rank that may run
  /// on one of them: then a thread of the library's own may poll, and no rank misses a processor.
  /// Else such a thread sleeps between its looks.
  bool has_spare_processors() const { return m_has_spare_processors; }
  /// Changes with every recovery: what relied on counters from before must be prepared anew.
  std::uint64_t epoch() const { return m_epoch; }
  /// Number of the last collective call; while catching up, of the one that may have been missed.
  std::uint64_t calls() const { return m_generation; }
  /// Not 0 while an error is pending; for kernels, which give up their waits then.
  const std::uint32_t* abort_word() const;
  /// What rank `rank` shows to the others, as mapped here.
  ControlBlock& control(int rank) const {
    return *static_cast<ControlBlock*>(m_segments[static_cast<std::size_t>(rank)].data());
  }

  /// Collective: returns when all ranks have called it; what a rank's host did before is visible to
  /// all after it.
  /// \throws Error if a rank failed, is gone, or the deadline passed
  void barrier(std::string_view operation);

  /// Collective: as barrier(), and returns the records of all ranks in rank order.
  template <class Record>
  std::vector<Record> agree(std::string_view operation, const Record& mine) {
    return publish_record(operation, mine, 0);
  }
  /// As above for a call that ranks may also be in without meeting the others, waiting in a kernel
  /// for this one: they give up with the text that the array `fault`, a member of the record but
  /// not its first, holds (empty: there is no fault).
  template <class Record, std::size_t N>
  std::vector<Record> agree(std::string_view operation, const Record& mine,
                            char (Record::*fault)[N]) {
    const char* const text = mine.*fault;
    const auto at = text - reinterpret_cast<const char*>(&mine);
    return publish_record(operation, mine, *text == '\0' ? 0 : static_cast<std::uint32_t>(at));
  }

  /// Collective in effect: makes every rank raise an Error for this operation, and raises it here.
  /// To be called where all ranks could call it, also instead of a collective call.
  [[noreturn]] void fail(ErrorCode code, std::string_view operation, const std::string& message);

  /// Gives up the current operation on all ranks without throwing: for threads and kernels that
  /// must not throw. The first reason stands.
  void raise_abort(ErrorCode code, std::string_view operation, const std::string& message) noexcept;

  /// Throws the pending error of a rank that failed, if there is one this rank has not thrown yet.
  void check(std::string_view operation);

  /// Throws why a wait outside of a collective call was given up.
  [[noreturn]] void throw_given_up(std::string_view operation);

  /// Begins a collective operation that does not meet the other ranks on the host: throws what is
  /// pending, or, if that was thrown already, comes together with the other ranks.
  void enter(std::string_view operation);

  /// Local: this rank's next launch of a fused or collective operation uses workspace number
  /// `workspace` (not 0). All ranks launch in the same order, so a rank that waits for one that
  /// uses another workspace gives up.
  void begin_launch(std::uint32_t workspace);

  /// Number of allocations that rank `rank` had dropped when it entered the last collective call.
  std::uint64_t dropped_count(int rank) const {
    return rank == m_rank ? m_published_drops[m_generation & 1u] : arrival(rank).dropped;
  }
  /// Local: tells the others, with the next collective call, that an allocation is no longer used.
  void drop(std::uint64_t sequence);

  /// Host part of wait(): does not spin before it yields.
  /// \return false if given up
  bool wait_until(WaitSite site, bool (*ready)(void*), void* argument);

  /// One look of the watch over waits inside kernels on a GPU, from any thread: gives up for those
  /// that passed their deadline, and for one that still waits though the last look has already seen
  /// that it is in vain. (A wait may just have ended well when the other rank left.)
  /// \param last what the last look returned; {} at first
  struct DeviceWaitLook {
    std::uint64_t waiting = 0;
    bool departed = false;           ///< a process is gone
    bool elsewhere = false;          ///< the other rank is in another call
    std::uint64_t other_launch = 0;  ///< the other rank uses another workspace
    bool outdated = false;           ///< the workspace was given up before
  };
  DeviceWaitLook look_at_device_waits(DeviceWaitLook last) noexcept;

  /// True if the process of another rank has ended, however; false also where that is not known.
  bool process_is_gone(int rank) const;

  /// For tests. true: contexts that are made from now on watch processes by their numbers, as where
  /// the system offers nothing better.
  static inline std::atomic<bool> watch_by_number = false;

  /// Local: waits of other ranks for this one fail from now on instead of lasting until the
  /// deadline.
  void leave();

  /// Runs after each recovery, collectively, so that other layers can align their counters.
  void on_recovery(std::function<void()> action) {
    m_recovery_actions.push_back(std::move(action));
  }

  /// Runs in each recovery before all else, not collectively: waits for what still runs beside the
  /// host and might miss that an error was pending.
  void before_recovery(std::function<void()> action) {
    m_before_recovery_actions.push_back(std::move(action));
  }

  /// Runs in each recovery, before the actions above. A collective call may have been given up here
  /// although another rank saw all ranks enter it and went on: then `missed` is true, agreed() and
  /// dropped_count() are those of that call, and what it would have changed here is to be changed
  /// now. Must not make collective calls.
  void on_catch_up(std::function<void(bool missed)> action) {
    m_catch_up_actions.push_back(std::move(action));
  }

  /// The records of all ranks in the last collective call, which was agree<Record>().
  template <class Record>
  std::vector<Record> agreed() const {
    std::vector<Record> all(static_cast<std::size_t>(m_size));
    for (int other = 0; other < m_size; ++other) {
      std::memcpy(&all[static_cast<std::size_t>(other)], arrival(other).data, sizeof(Record));
    }
    return all;
  }

 private:
  template <class Record>
  std::vector<Record> publish_record(std::string_view operation, const Record& mine,
                                     std::uint32_t fault) {
    static_assert(std::is_trivially_copyable_v<Record>);
    static_assert(sizeof(Record) <= agreement_bytes, "raise agreement_bytes");
    meet(operation, &mine, sizeof(Record), fault);
    return agreed<Record>();
  }
  const ArrivalSlot& arrival(int rank) const { return control(rank).arrivals[m_generation & 1u]; }
  void publish_arrival(std::string_view operation, const void* data, std::size_t bytes,
                       std::uint32_t fault);
  void meet(std::string_view operation, const void* data, std::size_t bytes, std::uint32_t fault);
  int find_other_call(std::string_view operation, std::size_t bytes) const;
  void require_same_call(std::string_view operation, std::size_t bytes) const;
  void recover(std::string_view operation);
  void catch_up();
  void clear_abort();
  void spread_abort(int origin, ErrorCode code, const char* text) noexcept;
  void wait_for_recovery(std::string_view operation,
                         std::atomic<std::uint64_t> RecoverySlot::*word);
  [[noreturn]] void throw_abort(std::string_view operation);
  void watch(int rank);
  bool find_departed(WaitSite site, bool& orderly, int& who) const;
  bool peer_is_elsewhere(WaitSite site) const;
  bool peer_will_not_launch(WaitSite site) const;
  std::uint64_t other_launch(WaitSite site) const;
  std::string describe(WaitSite site) const;
  void give_up_on_departed(WaitSite site, bool orderly, int who) noexcept;
  void give_up_on_time(WaitSite site) noexcept;
  void heed_device_report() noexcept;
  void give_up_on_other_call(WaitSite site) noexcept;
  void give_up_on_other_workspace(WaitSite site, std::uint64_t launch) noexcept;
  enum class WaitResult { ready, aborted, peer_left, peer_elsewhere, too_late };
  WaitResult wait_impl(WaitSite site, bool heed_abort, bool (*ready)(void*), void* argument);
  template <class Ready>
  WaitResult spin_and_wait(WaitSite site, bool heed_abort, Ready&& ready);

  int m_rank;
  int m_size;
  int m_spins = 1;
  bool m_has_spare_processors = false;
  double m_timeout;
  std::vector<SharedSegment> m_segments;
  std::vector<int> m_process_descriptors;  // readable when the process has ended; -1: none
  std::vector<pid_t> m_process_numbers;    // watched where there is no descriptor; 0: not watched
  std::uint64_t m_generation = 0;          // number of the last collective call entered
  std::uint64_t m_completed = 0;  // number of the last one that all ranks were seen to enter
  std::mutex m_drop_mutex;
  std::atomic<std::uint64_t> m_dropped = 0;
  std::uint64_t m_published_drops[2] = {};  ///< `dropped` of the own arrivals
  std::uint32_t m_launches = 0;  // of operations with a workspace since the last recovery
  std::uint64_t m_recoveries = 0;
  std::uint64_t m_epoch = 0;
  bool m_recovering = false;  // arrived in a recovery in which others are still missing
  bool m_thrown = false;      // the pending abort has been reported by an exception here
  bool m_dead = false;        // a peer's process is gone
  bool m_left = false;        // leave() was called
  std::vector<std::function<void()>> m_before_recovery_actions;
  std::vector<std::function<void()>> m_recovery_actions;
  std::vector<std::function<void(bool)>> m_catch_up_actions;
};

}  // namespace KokkosIris::Impl

#endif
