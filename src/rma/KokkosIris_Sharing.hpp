// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// How a block operation is carried out: by one thread, by a team, by a kernel of its own.
///
/// A work object has units(), and operator()(begin, end) for a range of them; all units together
/// are the operation. On the host every worker gets one contiguous range, on devices neighbouring
/// threads get neighbouring units.

#ifndef KOKKOSIRIS_SHARING_HPP
#define KOKKOSIRIS_SHARING_HPP

#include <Kokkos_Core.hpp>
#include <core/KokkosIris_Concurrency.hpp>
#include <cstddef>
#include <rma/KokkosIris_StridedLoop.hpp>
#include <type_traits>

namespace KokkosIris::Impl {

/// Whether neighbouring workers take neighbouring words of contiguous blocks, or large parts.
enum class Grain { parts, words };

/// The grain inside kernels.
KOKKOS_FORCEINLINE_FUNCTION Grain kernel_grain() {
  KOKKOS_IF_ON_HOST((return Grain::parts;))
  KOKKOS_IF_ON_DEVICE((return Grain::words;))
}

/// The calling thread does everything.
struct RunAlone {
  KOKKOS_FORCEINLINE_FUNCTION Grain grain() const { return Grain::parts; }
  template <class Work>
  KOKKOS_INLINE_FUNCTION void operator()(const Work& work) const {
    work(0, work.units());
  }
};

/// All threads of the team call it: work(begin, end) is called for ranges that make up [0, n).
/// No barrier, before or after.
template <class TeamMember, class Work>
KOKKOS_INLINE_FUNCTION void share_among_team(const TeamMember& team, std::size_t n,
                                             const Work& work) {
  KOKKOS_IF_ON_HOST((const Part part = part_of(n, static_cast<std::size_t>(team.team_size()),
                                               static_cast<std::size_t>(team.team_rank()));
                     if (part.begin < part.end) work(part.begin, part.end);))
  KOKKOS_IF_ON_DEVICE((Kokkos::parallel_for(Kokkos::TeamVectorRange(team, n),
                                            [&](std::size_t i) { work(i, i + 1); });))
}

/// The threads of a team share the work; no barrier.
template <class TeamMember>
struct RunAsTeam {
  const TeamMember& m_team;

  KOKKOS_FORCEINLINE_FUNCTION Grain grain() const { return kernel_grain(); }
  template <class Work>
  KOKKOS_INLINE_FUNCTION void operator()(const Work& work) const {
    share_among_team(m_team, work.units(), work);
  }
};
template <class TeamMember>
RunAsTeam(const TeamMember&) -> RunAsTeam<TeamMember>;

/// Kernel of share_over_space.
template <class Work>
struct SharedWork {
  Work m_work;
  std::size_t m_n;
  std::size_t m_parts;

  KOKKOS_FUNCTION void operator()(std::size_t part) const {
    KOKKOS_IF_ON_HOST((const Part range = part_of(m_n, m_parts, part);
                       if (range.begin < range.end) m_work(range.begin, range.end);))
    KOKKOS_IF_ON_DEVICE((m_work(part, part + 1);))
  }
};

/// Elements below which another thread costs more than it brings.
inline constexpr std::size_t elements_worth_a_thread = 4096;

/// Launches one kernel that calls work(begin, end) for ranges that make up [0, n).
/// \param work trivially copyable function object, KOKKOS_FUNCTION
template <class ExecutionSpace, class Work>
void share_over_space(const ExecutionSpace& exec, const char* label, std::size_t n,
                      const Work& work) {
  if (n == 0) return;
  std::size_t parts = n;
  if constexpr (Kokkos::SpaceAccessibility<ExecutionSpace, Kokkos::HostSpace>::accessible) {
    const auto threads = static_cast<std::size_t>(concurrency_of(exec));
    const std::size_t useful = (n + elements_worth_a_thread - 1) / elements_worth_a_thread;
    parts = useful < threads ? useful : threads;
  }
  Kokkos::parallel_for(label,
                       Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::size_t>,
                                           Kokkos::Schedule<Kokkos::Static>>(exec, 0, parts),
                       SharedWork<Work>{work, n, parts});
}

/// A kernel with a label does the work.
template <class ExecutionSpace>
struct RunOnSpace {
  const ExecutionSpace& m_exec;
  const char* m_label;

  Grain grain() const {
    return Kokkos::SpaceAccessibility<ExecutionSpace, Kokkos::HostSpace>::accessible ? Grain::parts
                                                                                     : Grain::words;
  }
  template <class Work>
  void operator()(const Work& work) const {
    share_over_space(m_exec, m_label, work.units(), work);
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
