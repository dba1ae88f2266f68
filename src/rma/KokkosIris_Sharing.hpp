// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// How a block operation is carried out: by one thread, by a team, by a kernel of its own.
///
/// A work object has units(), and operator()(begin, end) for a range of them; all units together
/// are the operation. On the host every worker gets one contiguous range, on devices neighbouring
/// threads get neighbouring units. A work object may have a form of its own for that, share(worker,
/// workers).

#ifndef KOKKOSIRIS_SHARING_HPP
#define KOKKOSIRIS_SHARING_HPP

#include <Kokkos_Core.hpp>
#include <core/KokkosIris_Concurrency.hpp>
#include <core/KokkosIris_GpuIntrinsics.hpp>
#include <cstddef>
#include <rma/KokkosIris_StridedLoop.hpp>
#include <type_traits>

namespace KokkosIris::Impl {

/// The calling thread does everything.
struct RunAlone {
  template <class Work>
  KOKKOS_INLINE_FUNCTION void operator()(const Work& work) const {
    work(0, work.units());
  }
};

/// What worker number `worker` of many does on a device.
template <class Work>
KOKKOS_INLINE_FUNCTION void share_on_device(const Work& work, std::size_t worker,
                                            std::size_t workers) {
  if constexpr (requires { work.share(worker, workers); }) {
    work.share(worker, workers);
  } else {
    const std::size_t n = work.units();
    for (std::size_t i = worker; i < n; i += workers) work(i, i + 1);
  }
}

/// All threads of the team call it and share the work. No barrier, before or after.
template <class TeamMember, class Work>
KOKKOS_INLINE_FUNCTION void share_among_team([[maybe_unused]] const TeamMember& team,
                                             const Work& work) {
  KOKKOS_IF_ON_HOST(
      (const Part part = part_of(work.units(), static_cast<std::size_t>(team.team_size()),
                                 static_cast<std::size_t>(team.team_rank()));
       if (part.begin < part.end) work(part.begin, part.end);))
  // In CUDA and HIP the team is the block, its vector lanes are x, its threads y. A loop over
  // TeamVectorRange says the same and takes more registers.
  KOKKOS_IF_ON_DEVICE(
      (share_on_device(work, static_cast<std::size_t>(threadIdx.y * blockDim.x + threadIdx.x),
                       static_cast<std::size_t>(blockDim.x * blockDim.y));))
}

/// The threads of a team share the work; no barrier.
template <class TeamMember>
struct RunAsTeam {
  const TeamMember& m_team;

  template <class Work>
  KOKKOS_INLINE_FUNCTION void operator()(const Work& work) const {
    share_among_team(m_team, work);
    // The application's team barrier comes next, then a release by one thread.
    KOKKOS_IF_ON_DEVICE((gpu_finish_stores();))
  }
};
/// Not a deduction guide: that is a function of the host for HIP's compiler.
template <class TeamMember>
KOKKOS_INLINE_FUNCTION RunAsTeam<TeamMember> as_team(const TeamMember& team) {
  return {team};
}

/// Kernel of share_over_space: worker number `part` of m_parts.
template <class Work>
struct SharedWork {
  Work m_work;
  std::size_t m_n;
  std::size_t m_parts;

  KOKKOS_FUNCTION void operator()(std::size_t part) const {
    KOKKOS_IF_ON_HOST((const Part range = part_of(m_n, m_parts, part);
                       if (range.begin < range.end) m_work(range.begin, range.end);))
    KOKKOS_IF_ON_DEVICE((share_on_device(m_work, part, m_parts);))
  }
};

/// Elements below which another thread costs more than it brings, on the host.
inline constexpr std::size_t elements_worth_a_thread = 4096;

/// Number of threads for a work of n units.
template <class ExecutionSpace, class Work>
std::size_t useful_workers(const ExecutionSpace& exec, [[maybe_unused]] const Work& work,
                           std::size_t n) {
  const auto threads = static_cast<std::size_t>(concurrency_of(exec));
  std::size_t most = threads;
  std::size_t useful = n;
  if constexpr (Kokkos::SpaceAccessibility<ExecutionSpace, Kokkos::HostSpace>::accessible) {
    useful = (n + elements_worth_a_thread - 1) / elements_worth_a_thread;
  } else {
    // Half of what a device can hold fills its memory and its links, each thread having several
    // accesses under way, and runs as one wave also where a kernel needs many registers.
    most = (threads + 1) / 2;
    if constexpr (requires { work.most_workers(); }) useful = work.most_workers();
  }
  return useful < most ? useful : most;
}

/// Launches one kernel in which all units of `work` are done.
/// \param work trivially copyable function object, KOKKOS_FUNCTION
template <class ExecutionSpace, class Work>
void share_over_space(const ExecutionSpace& exec, const char* label, const Work& work) {
  const std::size_t n = work.units();
  if (n == 0) return;
  const std::size_t workers = useful_workers(exec, work, n);
  Kokkos::parallel_for(label,
                       Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::size_t>,
                                           Kokkos::Schedule<Kokkos::Static>>(exec, 0, workers),
                       SharedWork<Work>{work, n, workers});
}

/// A kernel with a label does the work.
template <class ExecutionSpace>
struct RunOnSpace {
  const ExecutionSpace& m_exec;
  const char* m_label;

  template <class Work>
  void operator()(const Work& work) const {
    share_over_space(m_exec, m_label, work);
  }
};
template <class ExecutionSpace>
RunOnSpace(const ExecutionSpace&, const char*) -> RunOnSpace<ExecutionSpace>;

/// One thread of the team runs `action`; all get its result, and see what it acquired. (An action
/// that is to cover what the other threads did before needs a team barrier before it.)
template <class TeamMember, class Action>
KOKKOS_INLINE_FUNCTION auto once_for_all(const TeamMember& team, const Action& action) {
  using Result = decltype(action());
  // Teams of some devices broadcast words only.
  std::conditional_t<std::is_same_v<Result, bool>, int, Result> result{};
  Kokkos::single(
      Kokkos::PerTeam(team), [&](auto& one) { one = action(); }, result);
  // The broadcast carries the value; this barrier orders what the one thread acquired before what
  // the others do next.
  team.team_barrier();
  return static_cast<Result>(result);
}

}  // namespace KokkosIris::Impl

#endif
