// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// One-sided access from the host: one kernel on an execution space for each call.
///
/// The rules of KokkosIris_Access.hpp, and:
///  - Only the calling rank takes part. Every kernel is ordered in its execution space instance
///    like any other; the form without an instance uses the default one and returns when it is
///    done.
///  - When a kernel has completed its stores are performed; the other rank may read them after it
///    has acquired something that this rank releases later (a signal, a barrier).
///  - Views of any rank, layout and strides, with equal extents. With a mask (a View of bool or
///    integers with the same extents) elements whose mask is 0 are neither read nor written. In
///    the place of the mask put, get and copy take a promise of alignment, `aligned<16>`.
///  - Errors (invalid_argument), thrown here only, before anything is done: no such rank, extents
///    that differ, a view that must be symmetric and is not.

#ifndef KOKKOSIRIS_HOST_ACCESS_HPP
#define KOKKOSIRIS_HOST_ACCESS_HPP

#include <Kokkos_Core.hpp>
#include <heap/KokkosIris_Context.hpp>
#include <rma/KokkosIris_Access.hpp>
#include <rma/KokkosIris_BlockCopy.hpp>
#include <rma/KokkosIris_HostChecks.hpp>
#include <rma/KokkosIris_Sharing.hpp>

namespace KokkosIris {
namespace Impl {

/// Runs `call` with the default execution space instance of the context and waits for it.
template <class MemorySpace, class Call>
void with_default_instance(const Context<MemorySpace>&, const char* label, const Call& call) {
  const typename Context<MemorySpace>::execution_space exec;
  call(exec);
  exec.fence(label);
}

/// Checks one operand of a block operation.
template <ViewLike View>
void check_operand(const HostChecks& checks, const char* role, const View& view, Place place) {
  if (place.symmetric) checks.rank_exists(place.rank).symmetric(role, as_view(view));
}

/// The last argument of a copy: a mask, or a promise of alignment.
template <class T>
inline constexpr bool is_aligned_v = false;
template <std::size_t Bytes>
inline constexpr bool is_aligned_v<Aligned<Bytes>> = true;
template <class T>
concept MaskOrAligned = ViewLike<T> || is_aligned_v<T>;

/// Checks the last argument of a copy.
template <class ExecutionSpace, ViewLike Dst, ViewLike Mask>
void check_last(const HostChecks& checks, const Dst& dst, const Mask& mask) {
  require_accessible<ExecutionSpace, Mask>();
  checks.same_shape("dst", as_view(dst), "mask", as_view(mask));
}
template <class ExecutionSpace, ViewLike Dst, std::size_t Bytes>
void check_last(const HostChecks&, const Dst&, Aligned<Bytes>) {}

/// Checks and launches a copy.
template <class ExecutionSpace, class MemorySpace, ViewLike Dst, ViewLike Src,
          MaskOrAligned... Last>
void launch_copy(const ExecutionSpace& exec, const Context<MemorySpace>& context,
                 const char* operation, const char* label, const Dst& dst, Place to, const Src& src,
                 Place from, const Last&... last) {
  require_accessible<ExecutionSpace, Dst, Src>();
  require_copyable<Dst, Src>();
  const HostChecks checks(context.device(), operation);
  check_operand(checks, "dst", dst, to);
  check_operand(checks, "src", src, from);
  checks.same_shape("dst", as_view(dst), "src", as_view(src));
  (check_last<ExecutionSpace>(checks, dst, last), ...);
  RunOnSpace{exec, label}(copy_work(context.device(), dst, to, src, from, last...));
}

}  // namespace Impl

/// dst of rank `peer` = src; dst is symmetric.
/// \param mask nothing, one View, or a promise of alignment
template <Impl::ExecutionSpaceLike ExecutionSpace, class MemorySpace, Impl::ViewLike Dst,
          Impl::ViewLike Src, Impl::MaskOrAligned... Mask>
void put(const ExecutionSpace& exec, const Context<MemorySpace>& context, const Dst& dst,
         const Src& src, int peer, const Mask&... mask) {
  Impl::launch_copy(exec, context, "put", "KokkosIris::put", dst, Impl::Place::on(peer), src,
                    Impl::Place::local(), mask...);
}

/// dst = src of rank `peer`; src is symmetric.
/// \param mask nothing, one View, or a promise of alignment
template <Impl::ExecutionSpaceLike ExecutionSpace, class MemorySpace, Impl::ViewLike Dst,
          Impl::ViewLike Src, Impl::MaskOrAligned... Mask>
void get(const ExecutionSpace& exec, const Context<MemorySpace>& context, const Dst& dst,
         const Src& src, int peer, const Mask&... mask) {
  Impl::launch_copy(exec, context, "get", "KokkosIris::get", dst, Impl::Place::local(), src,
                    Impl::Place::on(peer), mask...);
}

/// dst of rank `to` = src of rank `from`; both are symmetric. The caller may be a third rank.
/// \param mask nothing, one View, or a promise of alignment
template <Impl::ExecutionSpaceLike ExecutionSpace, class MemorySpace, Impl::ViewLike Dst,
          Impl::ViewLike Src, Impl::MaskOrAligned... Mask>
void copy(const ExecutionSpace& exec, const Context<MemorySpace>& context, const Dst& dst,
          const Src& src, int from, int to, const Mask&... mask) {
  Impl::launch_copy(exec, context, "copy", "KokkosIris::copy", dst, Impl::Place::on(to), src,
                    Impl::Place::on(from), mask...);
}

/// dst = src of rank `peer` where the mask is not 0, and `other` elsewhere; src is symmetric.
template <Impl::ExecutionSpaceLike ExecutionSpace, class MemorySpace, Impl::ViewLike Dst,
          Impl::ViewLike Src, Impl::ViewLike Mask>
void load(const ExecutionSpace& exec, const Context<MemorySpace>& context, const Dst& dst,
          const Src& src, int peer, const Mask& mask, const Impl::element_of<Dst>& other) {
  Impl::require_accessible<ExecutionSpace, Dst, Src, Mask>();
  Impl::require_copyable<Dst, Src>();
  const Impl::HostChecks checks(context.device(), "load");
  Impl::check_operand(checks, "src", src, Impl::Place::on(peer));
  checks.same_shape("dst", Impl::as_view(dst), "src", Impl::as_view(src))
      .same_shape("dst", Impl::as_view(dst), "mask", Impl::as_view(mask));
  Impl::RunOnSpace{exec, "KokkosIris::load"}(
      Impl::load_work(context.device(), dst, src, Impl::Place::on(peer), mask, other));
}

/// The value of a symmetric View of rank 0 on rank `peer`. Waits for the instance.
template <Impl::ExecutionSpaceLike ExecutionSpace, class MemorySpace, Impl::ViewLike Src>
Impl::element_of<Src> load(const ExecutionSpace& exec, const Context<MemorySpace>& context,
                           const Src& src, int peer) {
  static_assert(Impl::view_of<Src>::rank() == 0,
                "load of one value takes a View of rank 0; use get for blocks");
  Impl::check_operand(Impl::HostChecks(context.device(), "load"), "src", src,
                      Impl::Place::on(peer));
  Impl::element_of<Src> value;
  Kokkos::deep_copy(exec, value, KokkosIris::peer(context.device(), Impl::as_view(src), peer));
  exec.fence("KokkosIris::load");
  return value;
}

/// All elements of dst of rank `peer` (those that the mask selects) = value; dst is symmetric.
/// \param mask nothing, or one View
template <Impl::ExecutionSpaceLike ExecutionSpace, class MemorySpace, Impl::ViewLike Dst,
          Impl::ViewLike... Mask>
void store(const ExecutionSpace& exec, const Context<MemorySpace>& context, const Dst& dst,
           const Impl::element_of<Dst>& value, int peer, const Mask&... mask) {
  Impl::require_accessible<ExecutionSpace, Dst, Mask...>();
  const Impl::HostChecks checks(context.device(), "store");
  Impl::check_operand(checks, "dst", dst, Impl::Place::on(peer));
  (checks.same_shape("dst", Impl::as_view(dst), "mask", Impl::as_view(mask)), ...);
  Impl::RunOnSpace{exec, "KokkosIris::store"}(
      Impl::fill_work(context.device(), dst, Impl::Place::on(peer), value, mask...));
}

/// \name Without an execution space instance
/// As above on the default instance; they return when the operation is done.
///@{
template <class MemorySpace, Impl::ViewLike Dst, Impl::ViewLike Src, Impl::MaskOrAligned... Mask>
void put(const Context<MemorySpace>& context, const Dst& dst, const Src& src, int peer,
         const Mask&... mask) {
  Impl::with_default_instance(context, "KokkosIris::put", [&](const auto& exec) {
    put(exec, context, dst, src, peer, mask...);
  });
}
template <class MemorySpace, Impl::ViewLike Dst, Impl::ViewLike Src, Impl::MaskOrAligned... Mask>
void get(const Context<MemorySpace>& context, const Dst& dst, const Src& src, int peer,
         const Mask&... mask) {
  Impl::with_default_instance(context, "KokkosIris::get", [&](const auto& exec) {
    get(exec, context, dst, src, peer, mask...);
  });
}
template <class MemorySpace, Impl::ViewLike Dst, Impl::ViewLike Src, Impl::MaskOrAligned... Mask>
void copy(const Context<MemorySpace>& context, const Dst& dst, const Src& src, int from, int to,
          const Mask&... mask) {
  Impl::with_default_instance(context, "KokkosIris::copy", [&](const auto& exec) {
    copy(exec, context, dst, src, from, to, mask...);
  });
}
template <class MemorySpace, Impl::ViewLike Dst, Impl::ViewLike Src, Impl::ViewLike Mask>
void load(const Context<MemorySpace>& context, const Dst& dst, const Src& src, int peer,
          const Mask& mask, const Impl::element_of<Dst>& other) {
  Impl::with_default_instance(context, "KokkosIris::load", [&](const auto& exec) {
    load(exec, context, dst, src, peer, mask, other);
  });
}
template <class MemorySpace, Impl::ViewLike Src>
Impl::element_of<Src> load(const Context<MemorySpace>& context, const Src& src, int peer) {
  return load(typename Context<MemorySpace>::execution_space(), context, src, peer);
}
template <class MemorySpace, Impl::ViewLike Dst, Impl::ViewLike... Mask>
void store(const Context<MemorySpace>& context, const Dst& dst, const Impl::element_of<Dst>& value,
           int peer, const Mask&... mask) {
  Impl::with_default_instance(context, "KokkosIris::store", [&](const auto& exec) {
    store(exec, context, dst, value, peer, mask...);
  });
}
///@}

}  // namespace KokkosIris

#endif
