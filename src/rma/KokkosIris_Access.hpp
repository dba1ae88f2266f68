// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// One-sided access by one thread: load, store, get, put, copy.
///
/// Rules for all of them, at every level:
///  - Pointers and views called symmetric lie in the caller's own heap; they are translated to the
///    rank that is named. Anything else there is undefined, and ends the program with a message in
///    builds with KokkosIris_ENABLE_VALIDATION (at host level: always an Error).
///  - Elements are trivially copyable. Whole elements are read and written; two accesses to one
///    element at the same time, one of them a write, are a data race: use atomics or signals.
///  - They order nothing. What was stored is visible to another rank after a release signal, fence
///    or quiet, or the end of the kernel with a barrier; what is loaded is what an acquire before
///    it made visible. Loads may be hoisted out of loops: poll with wait_until or test.
///  - Source and destination of a block do not overlap. Blocks of length 0 are fine.

#ifndef KOKKOSIRIS_ACCESS_HPP
#define KOKKOSIRIS_ACCESS_HPP

#include <Kokkos_Core.hpp>
#include <core/KokkosIris_DeviceContext.hpp>
#include <cstddef>
#include <rma/KokkosIris_BlockCopy.hpp>
#include <rma/KokkosIris_ViewTraits.hpp>
#include <type_traits>

namespace KokkosIris {

/// Reads one element of rank `peer`.
/// \param src symmetric
template <class T>
KOKKOS_FORCEINLINE_FUNCTION T load(const DeviceContext& context, const T* src, int peer) {
  static_assert(Impl::is_movable_v<T>, "remote elements must be trivially copyable");
  return *context.translate(src, peer);
}

/// As load() where `mask` is true; otherwise nothing is read and the result is `other`.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION T load(const DeviceContext& context, const T* src, int peer, bool mask,
                                   const std::type_identity_t<T>& other) {
  static_assert(Impl::is_movable_v<T>, "remote elements must be trivially copyable");
  return mask ? *context.translate(src, peer) : other;
}

/// Writes one element of rank `peer`.
/// \param dst symmetric
template <class T>
KOKKOS_FORCEINLINE_FUNCTION void store(const DeviceContext& context, T* dst,
                                       const std::type_identity_t<T>& value, int peer) {
  static_assert(Impl::is_movable_v<T>, "remote elements must be trivially copyable");
  *context.translate(dst, peer) = value;
}

/// As store() where `mask` is true; otherwise nothing is written.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION void store(const DeviceContext& context, T* dst,
                                       const std::type_identity_t<T>& value, int peer, bool mask) {
  if (mask) store(context, dst, value, peer);
}

/// \name Contiguous blocks by one thread
/// The calling thread moves all n elements. An alignment may be promised: `aligned<16>` as the last
/// argument.
///@{

/// dst[i] = src[i] of rank `peer`, for i < n; src is symmetric.
template <class T, std::size_t Alignment = 1>
KOKKOS_INLINE_FUNCTION void get(const DeviceContext& context, T* dst,
                                const std::type_identity_t<T>* src, std::size_t n, int peer,
                                Aligned<Alignment> = {}) {
  Impl::copy_block<Alignment>(Impl::RunAlone{}, context, dst, Impl::Place::local(), src,
                              Impl::Place::on(peer), n);
}

/// dst[i] of rank `peer` = src[i], for i < n; dst is symmetric.
template <class T, std::size_t Alignment = 1>
KOKKOS_INLINE_FUNCTION void put(const DeviceContext& context, T* dst,
                                const std::type_identity_t<T>* src, std::size_t n, int peer,
                                Aligned<Alignment> = {}) {
  Impl::copy_block<Alignment>(Impl::RunAlone{}, context, dst, Impl::Place::on(peer), src,
                              Impl::Place::local(), n);
}

/// dst[i] of rank `to` = src[i] of rank `from`, for i < n; both are symmetric. The caller may be a
/// third rank.
template <class T, std::size_t Alignment = 1>
KOKKOS_INLINE_FUNCTION void copy(const DeviceContext& context, T* dst,
                                 const std::type_identity_t<T>* src, std::size_t n, int from,
                                 int to, Aligned<Alignment> = {}) {
  Impl::copy_block<Alignment>(Impl::RunAlone{}, context, dst, Impl::Place::on(to), src,
                              Impl::Place::on(from), n);
}
///@}

/// \name Views by one thread
/// The calling thread moves all elements of Views of any rank, layout and strides; extents are
/// equal on both sides. With a mask (a View of bool or integers with the same extents), elements
/// whose mask is 0 are neither read nor written; without one an alignment may be promised as the
/// last argument. A symmetric view gives the place; its strides are the same on the other rank.
///@{

/// dst = src of rank `peer`; src is symmetric.
template <Impl::ViewLike Dst, Impl::ViewLike Src, std::size_t Alignment = 1>
KOKKOS_INLINE_FUNCTION void get(const DeviceContext& context, const Dst& dst, const Src& src,
                                int peer, Aligned<Alignment> = {}) {
  Impl::copy_block<Alignment>(Impl::RunAlone{}, context, dst, Impl::Place::local(), src,
                              Impl::Place::on(peer));
}
template <Impl::ViewLike Dst, Impl::ViewLike Src, Impl::ViewLike Mask>
KOKKOS_INLINE_FUNCTION void get(const DeviceContext& context, const Dst& dst, const Src& src,
                                int peer, const Mask& mask) {
  Impl::copy_block(Impl::RunAlone{}, context, dst, Impl::Place::local(), src, Impl::Place::on(peer),
                   mask);
}

/// dst of rank `peer` = src; dst is symmetric.
template <Impl::ViewLike Dst, Impl::ViewLike Src, std::size_t Alignment = 1>
KOKKOS_INLINE_FUNCTION void put(const DeviceContext& context, const Dst& dst, const Src& src,
                                int peer, Aligned<Alignment> = {}) {
  Impl::copy_block<Alignment>(Impl::RunAlone{}, context, dst, Impl::Place::on(peer), src,
                              Impl::Place::local());
}
template <Impl::ViewLike Dst, Impl::ViewLike Src, Impl::ViewLike Mask>
KOKKOS_INLINE_FUNCTION void put(const DeviceContext& context, const Dst& dst, const Src& src,
                                int peer, const Mask& mask) {
  Impl::copy_block(Impl::RunAlone{}, context, dst, Impl::Place::on(peer), src, Impl::Place::local(),
                   mask);
}

/// dst of rank `to` = src of rank `from`; both are symmetric.
template <Impl::ViewLike Dst, Impl::ViewLike Src, std::size_t Alignment = 1>
KOKKOS_INLINE_FUNCTION void copy(const DeviceContext& context, const Dst& dst, const Src& src,
                                 int from, int to, Aligned<Alignment> = {}) {
  Impl::copy_block<Alignment>(Impl::RunAlone{}, context, dst, Impl::Place::on(to), src,
                              Impl::Place::on(from));
}
template <Impl::ViewLike Dst, Impl::ViewLike Src, Impl::ViewLike Mask>
KOKKOS_INLINE_FUNCTION void copy(const DeviceContext& context, const Dst& dst, const Src& src,
                                 int from, int to, const Mask& mask) {
  Impl::copy_block(Impl::RunAlone{}, context, dst, Impl::Place::on(to), src, Impl::Place::on(from),
                   mask);
}
///@}

}  // namespace KokkosIris

#endif
