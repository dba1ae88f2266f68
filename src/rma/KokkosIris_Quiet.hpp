// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// Waiting for the copy engine.

#ifndef KOKKOSIRIS_QUIET_HPP
#define KOKKOSIRIS_QUIET_HPP

#include <Kokkos_Core.hpp>
#include <core/KokkosIris_DeviceContext.hpp>
#include <heap/KokkosIris_Context.hpp>
#include <rma/KokkosIris_CopyEngineRing.hpp>
#include <rma/KokkosIris_HostChecks.hpp>
#include <rma/KokkosIris_HostCopyQueue.hpp>
#include <rma/KokkosIris_Sharing.hpp>
#include <rma/KokkosIris_ViewTraits.hpp>

namespace KokkosIris {

/// \name quiet in kernels
/// Waits until the copies that this rank handed to the copy engine are complete: the data are at
/// their target, and signals that go with them are given.
///
/// Covered is every copy to `peer` (from it, for get) whose submission returned before the call: in
/// the calling thread, or in another thread of this rank if that is ordered before, by a team
/// barrier say. Nothing else is ordered: not copies with other peers, and not ordinary stores and
/// puts, for which there is fence(). After quiet the copied data may be published like the caller's
/// own stores: whoever acquires a flag that the caller releases afterwards sees them.
///
/// On GPUs it covers what kernels submitted; what the host submitted is covered by quiet() there,
/// and by its signals.
///
/// Called by one thread; not collective. The peer takes no part and may be the own rank.
/// \return false if the wait was given up, because a rank failed or the deadline passed: the caller
///         then leaves its kernel, and the host call that launched it raises the error
///@{
KOKKOS_INLINE_FUNCTION bool quiet(const DeviceContext& context, int peer) {
  return Impl::wait_for_copies(context, peer);
}

/// For all peers.
KOKKOS_INLINE_FUNCTION bool quiet(const DeviceContext& context) {
  bool complete = true;
  for (int step = 1; step <= context.size(); ++step) {
    complete = quiet(context, context.state().peer_at(step)) && complete;
  }
  return complete;
}

/// Called by all threads of a team, with equal arguments; covers what any of them submitted before.
/// The result is the same for all. Contains team barriers before and after the wait.
template <Impl::TeamHandle TeamMember>
KOKKOS_INLINE_FUNCTION bool quiet(const TeamMember& team, const DeviceContext& context, int peer) {
  team.team_barrier();
  return Impl::once_for_all(team, [&] { return quiet(context, peer); });
}
template <Impl::TeamHandle TeamMember>
KOKKOS_INLINE_FUNCTION bool quiet(const TeamMember& team, const DeviceContext& context) {
  team.team_barrier();
  return Impl::once_for_all(team, [&] { return quiet(context); });
}
///@}

namespace Impl {

/// Waits for the instance, then for the copies to `peers` ranks from `first` on.
template <class ExecutionSpace, class MemorySpace>
void quiet_on_host(const ExecutionSpace& exec, const Context<MemorySpace>& context, int first,
                   int peers) {
  const auto peer = [&](int i) { return (first + i) % context.size(); };
  const auto wait = [&](int i) {
    if constexpr (is_gpu_space_v<MemorySpace>) {
      return context.state().copy_engine().host_queue()->wait(peer(i));
    } else {
      return quiet(context.device(), peer(i));
    }
  };
  if constexpr (is_gpu_space_v<MemorySpace>) {
    for (int i = 0; i < peers; ++i) context.state().copy_engine().host_queue()->mark(peer(i));
  }
  exec.fence("KokkosIris::quiet");
  for (int i = 0; i < peers; ++i) {
    if (!wait(i)) context.runtime().throw_given_up("quiet");
  }
}

}  // namespace Impl

/// \name quiet on the host
/// Waits for the work in `exec`, which may submit copies, and then as quiet in kernels for every
/// copy to `peer`, or to all peers, that this rank submitted before, from kernels and from the
/// host. Blocks. The forms without an instance use the default one.
///
/// \throws Error (invalid_argument) if there is no rank `peer`; the error of a rank that failed, or
///         (timeout), if the wait was given up
///@{
template <Impl::ExecutionSpaceLike ExecutionSpace, class MemorySpace>
void quiet(const ExecutionSpace& exec, const Context<MemorySpace>& context, int peer) {
  Impl::HostChecks(context.device(), "quiet").rank_exists(peer);
  Impl::quiet_on_host(exec, context, peer, 1);
}
template <Impl::ExecutionSpaceLike ExecutionSpace, class MemorySpace>
void quiet(const ExecutionSpace& exec, const Context<MemorySpace>& context) {
  Impl::quiet_on_host(exec, context, context.rank() + 1, context.size());
}
template <class MemorySpace>
void quiet(const Context<MemorySpace>& context, int peer) {
  quiet(typename Context<MemorySpace>::execution_space(), context, peer);
}
template <class MemorySpace>
void quiet(const Context<MemorySpace>& context) {
  quiet(typename Context<MemorySpace>::execution_space(), context);
}
///@}

}  // namespace KokkosIris

#endif
