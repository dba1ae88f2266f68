// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// Signals, puts with a signal, and the fence: how one rank tells another that data are there.

#ifndef KOKKOSIRIS_SIGNAL_HPP
#define KOKKOSIRIS_SIGNAL_HPP

#include <Kokkos_Core.hpp>
#include <core/KokkosIris_DeviceContext.hpp>
#include <core/KokkosIris_MemoryOrder.hpp>
#include <cstddef>
#include <cstdint>
#include <rma/KokkosIris_Access.hpp>
#include <rma/KokkosIris_AtomicOps.hpp>
#include <rma/KokkosIris_TeamAccess.hpp>
#include <rma/KokkosIris_ViewTraits.hpp>
#include <type_traits>

namespace KokkosIris {

/// A signal word. It lies on the symmetric heap and is changed only by signals, by remote atomics,
/// or while nobody waits for it. Best a word never goes back: a count of events, waited for with
/// `reached` (see wait_until), needs no reset and so no agreement about when to reset.
using signal_t = std::uint64_t;

/// What a signal does with the word: `signal_set` stores the value, `signal_add` adds it.
struct SignalSet {};
struct SignalAdd {};
inline constexpr SignalSet signal_set{};
inline constexpr SignalAdd signal_add{};

namespace Impl {
template <class T>
concept SignalOperation = std::is_same_v<T, SignalSet> || std::is_same_v<T, SignalAdd>;
}  // namespace Impl

/// Release at system scope: everything that the calling thread wrote or read before, on any rank's
/// memory, and everything it observed before (through a team barrier, an acquire), is visible to
/// who acquires the signalled value (wait_until, test, an atomic with acquire order).
///
/// Called by one thread. For a team: all its writers write, then `team.team_barrier()`, then one
/// thread signals. Copies of the copy engine are not covered; see put_signal(..., copy_engine) and
/// quiet. The operation is signal_set, or signal_add where several threads or ranks signal one
/// word: the acquire of a sum covers all signals that are part of it.
/// \param flag symmetric
template <Impl::SignalOperation Operation>
KOKKOS_FORCEINLINE_FUNCTION void signal(const DeviceContext& context, signal_t* flag,
                                        signal_t value, Operation, int peer) {
  signal_t* const word = context.translate(flag, peer);
  if constexpr (std::is_same_v<Operation, SignalSet>) {
    Impl::store_release(word, value);
  } else {
    Impl::AddOp::fetch<Release, SystemScope>(word, value);
  }
}

/// Sequentially consistent fence at system scope of the calling thread: its earlier reads and
/// writes, on any rank's memory, are ordered before its later ones, for every rank. (A release
/// signal is enough, and cheaper, to hand data over; the fence also orders a store before a later
/// load.)
///
/// Called by the threads whose accesses are to be ordered. Copies of the copy engine are not
/// covered.
KOKKOS_FORCEINLINE_FUNCTION void fence(const DeviceContext&) { Impl::fence_system(); }

/// \name put_signal
/// A put, then a signal on the same rank that covers it: who acquires the signalled value sees the
/// data. Like signal(), it also covers what the caller did before.
///@{

/// By one thread: dst[i] of rank `peer` = src[i] for i < n.
template <class T, Impl::SignalOperation Operation>
KOKKOS_INLINE_FUNCTION void put_signal(const DeviceContext& context, T* dst,
                                       const std::type_identity_t<T>* src, std::size_t n,
                                       signal_t* flag, signal_t value, Operation operation,
                                       int peer) {
  put(context, dst, src, n, peer);
  signal(context, flag, value, operation, peer);
}
/// By one thread: dst of rank `peer` = src, Views of equal extents.
template <Impl::ViewLike Dst, Impl::ViewLike Src, Impl::SignalOperation Operation>
KOKKOS_INLINE_FUNCTION void put_signal(const DeviceContext& context, const Dst& dst, const Src& src,
                                       signal_t* flag, signal_t value, Operation operation,
                                       int peer) {
  put(context, dst, src, peer);
  signal(context, flag, value, operation, peer);
}

/// By a team: all threads call it and share the put; after a team barrier one of them signals,
/// which covers what every thread of the team did before. No barrier after the signal.
template <Impl::TeamHandle TeamMember, class T, Impl::SignalOperation Operation>
KOKKOS_INLINE_FUNCTION void put_signal(const TeamMember& team, const DeviceContext& context, T* dst,
                                       const std::type_identity_t<T>* src, std::size_t n,
                                       signal_t* flag, signal_t value, Operation operation,
                                       int peer) {
  put(team, context, dst, src, n, peer);
  Impl::barrier_before_release(team);
  Kokkos::single(Kokkos::PerTeam(team), [&] { signal(context, flag, value, operation, peer); });
}
template <Impl::TeamHandle TeamMember, Impl::ViewLike Dst, Impl::ViewLike Src,
          Impl::SignalOperation Operation>
KOKKOS_INLINE_FUNCTION void put_signal(const TeamMember& team, const DeviceContext& context,
                                       const Dst& dst, const Src& src, signal_t* flag,
                                       signal_t value, Operation operation, int peer) {
  put(team, context, dst, src, peer);
  Impl::barrier_before_release(team);
  Kokkos::single(Kokkos::PerTeam(team), [&] { signal(context, flag, value, operation, peer); });
}
///@}

}  // namespace KokkosIris

#endif
