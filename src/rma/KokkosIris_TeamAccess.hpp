// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// One-sided access by a team: the rules of KokkosIris_Access.hpp, the work shared by its threads.
///
/// All threads of the team call with the same arguments. None of these functions has a barrier,
/// before or after (load of one element excepted): a thread that uses what another thread of the
/// team moved calls `team.team_barrier()` in between, and so does the team before one of its
/// threads releases.

#ifndef KOKKOSIRIS_TEAM_ACCESS_HPP
#define KOKKOSIRIS_TEAM_ACCESS_HPP

#include <Kokkos_Core.hpp>
#include <core/KokkosIris_DeviceContext.hpp>
#include <cstddef>
#include <rma/KokkosIris_Access.hpp>
#include <rma/KokkosIris_BlockCopy.hpp>
#include <rma/KokkosIris_Sharing.hpp>

namespace KokkosIris {
/// Reads one element of rank `peer`; every thread gets the value that one of them read. Ends with
/// the barrier of a team broadcast.
/// \param src symmetric
template <Impl::TeamHandle TeamMember, class T>
KOKKOS_INLINE_FUNCTION T load(const TeamMember& team, const DeviceContext& context, const T* src,
                              int peer) {
  T value{};
  if (team.team_rank() == 0) value = load(context, src, peer);
  team.team_broadcast(value, 0);
  return value;
}

/// One thread of the team writes one element of rank `peer`.
/// \param dst symmetric
template <Impl::TeamHandle TeamMember, class T>
KOKKOS_INLINE_FUNCTION void store(const TeamMember& team, const DeviceContext& context, T* dst,
                                  const std::type_identity_t<T>& value, int peer) {
  Kokkos::single(Kokkos::PerTeam(team), [&] { store(context, dst, value, peer); });
}

/// Gives all elements of dst of rank `peer` (those that the mask selects) the value `value`; dst is
/// symmetric.
/// \param mask nothing, or one View
template <Impl::TeamHandle TeamMember, Impl::ViewLike Dst, Impl::ViewLike... Mask>
KOKKOS_INLINE_FUNCTION void store(const TeamMember& team, const DeviceContext& context,
                                  const Dst& dst, const Impl::element_of<Dst>& value, int peer,
                                  const Mask&... mask) {
  Impl::fill_block(Impl::as_team(team), context, dst, Impl::Place::on(peer), value, mask...);
}

/// dst = src of rank `peer` where the mask is not 0, and `other` elsewhere; src is symmetric.
template <Impl::TeamHandle TeamMember, Impl::ViewLike Dst, Impl::ViewLike Src, Impl::ViewLike Mask>
KOKKOS_INLINE_FUNCTION void load(const TeamMember& team, const DeviceContext& context,
                                 const Dst& dst, const Src& src, int peer, const Mask& mask,
                                 const Impl::element_of<Dst>& other) {
  Impl::load_block(Impl::as_team(team), context, dst, src, Impl::Place::on(peer), mask, other);
}

/// \name Contiguous blocks by a team
///@{

/// dst[i] = src[i] of rank `peer`, for i < n; src is symmetric.
template <Impl::TeamHandle TeamMember, class T, std::size_t Alignment = 1>
KOKKOS_INLINE_FUNCTION void get(const TeamMember& team, const DeviceContext& context, T* dst,
                                const std::type_identity_t<T>* src, std::size_t n, int peer,
                                Aligned<Alignment> = {}) {
  Impl::copy_block<Alignment>(Impl::as_team(team), context, dst, Impl::Place::local(), src,
                              Impl::Place::on(peer), n);
}

/// dst[i] of rank `peer` = src[i], for i < n; dst is symmetric.
template <Impl::TeamHandle TeamMember, class T, std::size_t Alignment = 1>
KOKKOS_INLINE_FUNCTION void put(const TeamMember& team, const DeviceContext& context, T* dst,
                                const std::type_identity_t<T>* src, std::size_t n, int peer,
                                Aligned<Alignment> = {}) {
  Impl::copy_block<Alignment>(Impl::as_team(team), context, dst, Impl::Place::on(peer), src,
                              Impl::Place::local(), n);
}

/// dst[i] of rank `to` = src[i] of rank `from`, for i < n; both are symmetric.
template <Impl::TeamHandle TeamMember, class T, std::size_t Alignment = 1>
KOKKOS_INLINE_FUNCTION void copy(const TeamMember& team, const DeviceContext& context, T* dst,
                                 const std::type_identity_t<T>* src, std::size_t n, int from,
                                 int to, Aligned<Alignment> = {}) {
  Impl::copy_block<Alignment>(Impl::as_team(team), context, dst, Impl::Place::on(to), src,
                              Impl::Place::on(from), n);
}
///@}

/// \name Views by a team
/// Any rank, layout and strides; extents equal on both sides. With a mask, elements whose mask is 0
/// are neither read nor written. Without one an alignment may be promised as the last argument.
///@{

/// dst = src of rank `peer`; src is symmetric.
template <Impl::TeamHandle TeamMember, Impl::ViewLike Dst, Impl::ViewLike Src,
          std::size_t Alignment = 1>
KOKKOS_INLINE_FUNCTION void get(const TeamMember& team, const DeviceContext& context,
                                const Dst& dst, const Src& src, int peer, Aligned<Alignment> = {}) {
  Impl::copy_block<Alignment>(Impl::as_team(team), context, dst, Impl::Place::local(), src,
                              Impl::Place::on(peer));
}
template <Impl::TeamHandle TeamMember, Impl::ViewLike Dst, Impl::ViewLike Src, Impl::ViewLike Mask>
KOKKOS_INLINE_FUNCTION void get(const TeamMember& team, const DeviceContext& context,
                                const Dst& dst, const Src& src, int peer, const Mask& mask) {
  Impl::copy_block(Impl::as_team(team), context, dst, Impl::Place::local(), src,
                   Impl::Place::on(peer), mask);
}

/// dst of rank `peer` = src; dst is symmetric.
template <Impl::TeamHandle TeamMember, Impl::ViewLike Dst, Impl::ViewLike Src,
          std::size_t Alignment = 1>
KOKKOS_INLINE_FUNCTION void put(const TeamMember& team, const DeviceContext& context,
                                const Dst& dst, const Src& src, int peer, Aligned<Alignment> = {}) {
  Impl::copy_block<Alignment>(Impl::as_team(team), context, dst, Impl::Place::on(peer), src,
                              Impl::Place::local());
}
template <Impl::TeamHandle TeamMember, Impl::ViewLike Dst, Impl::ViewLike Src, Impl::ViewLike Mask>
KOKKOS_INLINE_FUNCTION void put(const TeamMember& team, const DeviceContext& context,
                                const Dst& dst, const Src& src, int peer, const Mask& mask) {
  Impl::copy_block(Impl::as_team(team), context, dst, Impl::Place::on(peer), src,
                   Impl::Place::local(), mask);
}

/// dst of rank `to` = src of rank `from`; both are symmetric.
template <Impl::TeamHandle TeamMember, Impl::ViewLike Dst, Impl::ViewLike Src,
          std::size_t Alignment = 1>
KOKKOS_INLINE_FUNCTION void copy(const TeamMember& team, const DeviceContext& context,
                                 const Dst& dst, const Src& src, int from, int to,
                                 Aligned<Alignment> = {}) {
  Impl::copy_block<Alignment>(Impl::as_team(team), context, dst, Impl::Place::on(to), src,
                              Impl::Place::on(from));
}
template <Impl::TeamHandle TeamMember, Impl::ViewLike Dst, Impl::ViewLike Src, Impl::ViewLike Mask>
KOKKOS_INLINE_FUNCTION void copy(const TeamMember& team, const DeviceContext& context,
                                 const Dst& dst, const Src& src, int from, int to,
                                 const Mask& mask) {
  Impl::copy_block(Impl::as_team(team), context, dst, Impl::Place::on(to), src,
                   Impl::Place::on(from), mask);
}
///@}

}  // namespace KokkosIris

#endif
