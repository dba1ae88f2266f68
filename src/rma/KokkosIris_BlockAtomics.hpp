// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// Remote atomics on the elements of a block, by a team.
///
/// All threads of the team call with the same arguments and share the elements; no barrier, before
/// or after. The block is a symmetric View of any rank and strides, or a symmetric pointer and a
/// number of adjacent elements; the operation is done on the same elements of rank `peer`, each of
/// them one atomic of its own (not all together). The values are a View of the same extents (with
/// pointers: a pointer to as many adjacent values), or one value for all. No two elements of the
/// block have the same address. Options follow in any order:
///  - relaxed, acquire, release or acq_rel (the default), for each element;
///  - team_scope, device_scope or system_scope (the default);
///  - mask(view): elements whose mask is 0 are not accessed;
///  - old_values(view): receives the values from before, except of masked-out elements;
///  - hint<N>: a promise of contiguity and alignment.
///
/// With release order an element covers what the thread that does it did before; to cover the whole
/// team, call `team.team_barrier()` first.

#ifndef KOKKOSIRIS_BLOCK_ATOMICS_HPP
#define KOKKOSIRIS_BLOCK_ATOMICS_HPP

#include <Kokkos_Core.hpp>
#include <core/KokkosIris_DeviceContext.hpp>
#include <cstddef>
#include <rma/KokkosIris_BlockAtomicWork.hpp>
#include <rma/KokkosIris_Sharing.hpp>

namespace KokkosIris {

/// Element += value. Integers wrap around.
template <Impl::TeamHandle TeamMember, Impl::ViewLike Dst, class Values, class... Options>
KOKKOS_INLINE_FUNCTION void atomic_add(const TeamMember& team, const DeviceContext& context,
                                       const Dst& dst, const Values& values, int peer,
                                       Options... options) {
  Impl::atomic_block<Impl::AddOp>(Impl::as_team(team), context, dst, Impl::NoOperand{}, values,
                                  Impl::Place::on(peer), options...);
}
template <Impl::TeamHandle TeamMember, class T, class Values, class... Options>
KOKKOS_INLINE_FUNCTION void atomic_add(const TeamMember& team, const DeviceContext& context, T* dst,
                                       Values values, std::size_t n, int peer, Options... options) {
  atomic_add(team, context, Impl::adjacent(dst, n), Impl::adjacent_values(values, n), peer,
             options...);
}

/// Element -= value. Integers wrap around, unsigned ones below 0 too.
template <Impl::TeamHandle TeamMember, Impl::ViewLike Dst, class Values, class... Options>
KOKKOS_INLINE_FUNCTION void atomic_sub(const TeamMember& team, const DeviceContext& context,
                                       const Dst& dst, const Values& values, int peer,
                                       Options... options) {
  Impl::atomic_block<Impl::SubOp>(Impl::as_team(team), context, dst, Impl::NoOperand{}, values,
                                  Impl::Place::on(peer), options...);
}
template <Impl::TeamHandle TeamMember, class T, class Values, class... Options>
KOKKOS_INLINE_FUNCTION void atomic_sub(const TeamMember& team, const DeviceContext& context, T* dst,
                                       Values values, std::size_t n, int peer, Options... options) {
  atomic_sub(team, context, Impl::adjacent(dst, n), Impl::adjacent_values(values, n), peer,
             options...);
}

/// Element = value.
template <Impl::TeamHandle TeamMember, Impl::ViewLike Dst, class Values, class... Options>
KOKKOS_INLINE_FUNCTION void atomic_xchg(const TeamMember& team, const DeviceContext& context,
                                        const Dst& dst, const Values& values, int peer,
                                        Options... options) {
  Impl::atomic_block<Impl::ExchangeOp>(Impl::as_team(team), context, dst, Impl::NoOperand{}, values,
                                       Impl::Place::on(peer), options...);
}
template <Impl::TeamHandle TeamMember, class T, class Values, class... Options>
KOKKOS_INLINE_FUNCTION void atomic_xchg(const TeamMember& team, const DeviceContext& context,
                                        T* dst, Values values, std::size_t n, int peer,
                                        Options... options) {
  atomic_xchg(team, context, Impl::adjacent(dst, n), Impl::adjacent_values(values, n), peer,
              options...);
}

/// Element ^= value; integers.
template <Impl::TeamHandle TeamMember, Impl::ViewLike Dst, class Values, class... Options>
KOKKOS_INLINE_FUNCTION void atomic_xor(const TeamMember& team, const DeviceContext& context,
                                       const Dst& dst, const Values& values, int peer,
                                       Options... options) {
  Impl::atomic_block<Impl::XorOp>(Impl::as_team(team), context, dst, Impl::NoOperand{}, values,
                                  Impl::Place::on(peer), options...);
}
template <Impl::TeamHandle TeamMember, class T, class Values, class... Options>
KOKKOS_INLINE_FUNCTION void atomic_xor(const TeamMember& team, const DeviceContext& context, T* dst,
                                       Values values, std::size_t n, int peer, Options... options) {
  atomic_xor(team, context, Impl::adjacent(dst, n), Impl::adjacent_values(values, n), peer,
             options...);
}

/// Element &= value; integers.
template <Impl::TeamHandle TeamMember, Impl::ViewLike Dst, class Values, class... Options>
KOKKOS_INLINE_FUNCTION void atomic_and(const TeamMember& team, const DeviceContext& context,
                                       const Dst& dst, const Values& values, int peer,
                                       Options... options) {
  Impl::atomic_block<Impl::AndOp>(Impl::as_team(team), context, dst, Impl::NoOperand{}, values,
                                  Impl::Place::on(peer), options...);
}
template <Impl::TeamHandle TeamMember, class T, class Values, class... Options>
KOKKOS_INLINE_FUNCTION void atomic_and(const TeamMember& team, const DeviceContext& context, T* dst,
                                       Values values, std::size_t n, int peer, Options... options) {
  atomic_and(team, context, Impl::adjacent(dst, n), Impl::adjacent_values(values, n), peer,
             options...);
}

/// Element |= value; integers.
template <Impl::TeamHandle TeamMember, Impl::ViewLike Dst, class Values, class... Options>
KOKKOS_INLINE_FUNCTION void atomic_or(const TeamMember& team, const DeviceContext& context,
                                      const Dst& dst, const Values& values, int peer,
                                      Options... options) {
  Impl::atomic_block<Impl::OrOp>(Impl::as_team(team), context, dst, Impl::NoOperand{}, values,
                                 Impl::Place::on(peer), options...);
}
template <Impl::TeamHandle TeamMember, class T, class Values, class... Options>
KOKKOS_INLINE_FUNCTION void atomic_or(const TeamMember& team, const DeviceContext& context, T* dst,
                                      Values values, std::size_t n, int peer, Options... options) {
  atomic_or(team, context, Impl::adjacent(dst, n), Impl::adjacent_values(values, n), peer,
            options...);
}

/// Element = the smaller of element and value, as atomic_min of one element.
template <Impl::TeamHandle TeamMember, Impl::ViewLike Dst, class Values, class... Options>
KOKKOS_INLINE_FUNCTION void atomic_min(const TeamMember& team, const DeviceContext& context,
                                       const Dst& dst, const Values& values, int peer,
                                       Options... options) {
  Impl::atomic_block<Impl::MinOp>(Impl::as_team(team), context, dst, Impl::NoOperand{}, values,
                                  Impl::Place::on(peer), options...);
}
template <Impl::TeamHandle TeamMember, class T, class Values, class... Options>
KOKKOS_INLINE_FUNCTION void atomic_min(const TeamMember& team, const DeviceContext& context, T* dst,
                                       Values values, std::size_t n, int peer, Options... options) {
  atomic_min(team, context, Impl::adjacent(dst, n), Impl::adjacent_values(values, n), peer,
             options...);
}

/// Element = the larger of element and value, as atomic_max of one element.
template <Impl::TeamHandle TeamMember, Impl::ViewLike Dst, class Values, class... Options>
KOKKOS_INLINE_FUNCTION void atomic_max(const TeamMember& team, const DeviceContext& context,
                                       const Dst& dst, const Values& values, int peer,
                                       Options... options) {
  Impl::atomic_block<Impl::MaxOp>(Impl::as_team(team), context, dst, Impl::NoOperand{}, values,
                                  Impl::Place::on(peer), options...);
}
template <Impl::TeamHandle TeamMember, class T, class Values, class... Options>
KOKKOS_INLINE_FUNCTION void atomic_max(const TeamMember& team, const DeviceContext& context, T* dst,
                                       Values values, std::size_t n, int peer, Options... options) {
  atomic_max(team, context, Impl::adjacent(dst, n), Impl::adjacent_values(values, n), peer,
             options...);
}

/// Element = value where element == compare, as atomic_cas of one element. `compare` is what
/// `values` may be: a View or pointer, or one value for all.
template <Impl::TeamHandle TeamMember, Impl::ViewLike Dst, class Compare, class Values,
          class... Options>
KOKKOS_INLINE_FUNCTION void atomic_cas(const TeamMember& team, const DeviceContext& context,
                                       const Dst& dst, const Compare& compare, const Values& values,
                                       int peer, Options... options) {
  Impl::atomic_block<Impl::CasOp>(Impl::as_team(team), context, dst, compare, values,
                                  Impl::Place::on(peer), options...);
}
template <Impl::TeamHandle TeamMember, class T, class Compare, class Values, class... Options>
KOKKOS_INLINE_FUNCTION void atomic_cas(const TeamMember& team, const DeviceContext& context, T* dst,
                                       Compare compare, Values values, std::size_t n, int peer,
                                       Options... options) {
  atomic_cas(team, context, Impl::adjacent(dst, n), Impl::adjacent_values(compare, n),
             Impl::adjacent_values(values, n), peer, options...);
}

}  // namespace KokkosIris

#endif
