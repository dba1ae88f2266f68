// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// put and put_signal through the copy engine, in kernels.

#ifndef KOKKOSIRIS_COPY_ENGINE_PUT_HPP
#define KOKKOSIRIS_COPY_ENGINE_PUT_HPP

#include <Kokkos_Core.hpp>
#include <core/KokkosIris_DeviceContext.hpp>
#include <core/KokkosIris_MemoryOrder.hpp>
#include <cstddef>
#include <rma/KokkosIris_CopyBlocks.hpp>
#include <rma/KokkosIris_CopyEngineRing.hpp>
#include <rma/KokkosIris_Sharing.hpp>
#include <rma/KokkosIris_Signal.hpp>
#include <rma/KokkosIris_ViewTraits.hpp>
#include <type_traits>

namespace KokkosIris {

/// Type of `copy_engine`.
struct CopyEngineTag {};

/// As last argument of put, put_signal and get: the copy engine moves the data, beside the kernel.
///
/// A call submits and returns; it waits only while the ring of the peer is full
/// (ContextOptions::copy_engine_entries). Before it submits, it releases the caller's earlier
/// writes at system scope, so data written just before are copied as written. Until quiet() says
/// that the copy is complete, or its signal has been seen, the source must not change and the
/// destination's contents are unspecified. Copies to one peer complete in the order in which they
/// were submitted, by any thread of this rank; copies to different peers are unordered, and so is
/// everything else. On GPUs, kernels and the host submit in different ways: a copy that the host
/// submits is ordered behind those of kernels that have ended before the call, and one that a
/// kernel submits behind those of the host that quiet() on the host has waited for.
///
/// On GPUs a signal that adds is given by a kernel of one thread, which must find room beside the
/// kernels that wait for it; a signal that sets needs none.
inline constexpr CopyEngineTag copy_engine{};

namespace Impl {

/// Calls action(work) for the rectangles of a copy until one of the calls returns false; the
/// signal, if any, goes with the last.
template <class Action>
KOKKOS_INLINE_FUNCTION bool for_rectangles(const CopyBlocks& blocks, const CopyWork& signal,
                                           const Action& action) {
  const bool has_signal = signal.signal_action != CopySignal::none;
  if (blocks.count == 0) return !has_signal || action(signal);
  for (std::uint64_t index = 0; index < blocks.count; ++index) {
    CopyWork work = rectangle(blocks, index);
    if (has_signal && index + 1 == blocks.count) {
      work.signal = signal.signal;
      work.signal_value = signal.signal_value;
      work.signal_action = signal.signal_action;
    }
    if (!action(work)) return false;
  }
  return true;
}

/// Submits the rectangles of a copy.
KOKKOS_INLINE_FUNCTION bool submit(const DeviceContext& context, int peer, const CopyBlocks& blocks,
                                   const CopyWork& signal = {}) {
  return for_rectangles(blocks, signal,
                        [&](const CopyWork& work) { return submit(context, peer, work); });
}

/// The signal part of a descriptor.
template <SignalOperation Operation>
KOKKOS_INLINE_FUNCTION CopyWork make_copy_signal(const DeviceContext& context, signal_t* flag,
                                                 signal_t value, Operation, int peer) {
  CopyWork work;
  work.height = 0;
  work.signal = context.translate(flag, peer);
  work.signal_value = value;
  work.signal_action = std::is_same_v<Operation, SignalSet> ? CopySignal::set : CopySignal::add;
  return work;
}

/// Who reads next what is copied to `peer`.
KOKKOS_INLINE_FUNCTION Destination reader_of(const DeviceContext& context, int peer) {
  return peer == context.rank() ? Destination::own : Destination::peer;
}

/// The copy of adjacent elements to a peer.
template <class T>
KOKKOS_INLINE_FUNCTION CopyWork make_put(const DeviceContext& context, T* dst, const T* src,
                                         std::size_t n, int peer) {
  static_assert(is_movable_v<T>, "elements that move between ranks must be trivially copyable");
  CopyWork work;
  work.width = n * sizeof(T);
  work.reader = reader_of(context, peer);
  work.source = reinterpret_cast<const char*>(src);
  if (n != 0) {
    work.destination = reinterpret_cast<char*>(context.translate(dst, peer, n * sizeof(T)));
  }
  return work;
}

/// The copy of a view to a peer.
template <class DstView, class SrcView>
KOKKOS_INLINE_FUNCTION CopyBlocks make_put_blocks(const DeviceContext& context, const DstView& dst,
                                                  const SrcView& src, int peer) {
  require_copyable<DstView, SrcView>();
  validate_extents(dst, src);
  CopyBlocks blocks = make_copy_blocks<element_of<DstView>>(
      make_strided_loop(dst, src), translate_view(context, dst, peer), src.data());
  blocks.block.reader = reader_of(context, peer);
  return blocks;
}

/// Submits the copy of a view to a peer.
template <class DstView, class SrcView>
KOKKOS_INLINE_FUNCTION bool submit_put(const DeviceContext& context, const DstView& dst,
                                       const SrcView& src, int peer) {
  return submit(context, peer, make_put_blocks(context, dst, src, peer));
}

/// Calls action(work) for the runs of those elements whose mask is set, as for_masked_runs.
template <class DstView, class SrcView, class MaskView, class Action>
KOKKOS_INLINE_FUNCTION bool for_put_runs(const DeviceContext& context, const DstView& dst,
                                         const SrcView& src, int peer, const MaskView& mask,
                                         const Action& action) {
  require_copyable<DstView, SrcView>();
  require_mask<DstView, MaskView>();
  validate_extents(dst, src);
  validate_extents(dst, mask);
  const Destination reader = reader_of(context, peer);
  return for_masked_runs<element_of<DstView>>(make_strided_loop(dst, src, mask),
                                              translate_view(context, dst, peer), src.data(),
                                              mask.data(), [&](CopyWork& work) {
                                                work.reader = reader;
                                                return action(work);
                                              });
}

/// Submits the runs of those elements whose mask is set.
template <class DstView, class SrcView, class MaskView>
KOKKOS_INLINE_FUNCTION bool submit_put(const DeviceContext& context, const DstView& dst,
                                       const SrcView& src, int peer, const MaskView& mask) {
  return for_put_runs(context, dst, src, peer, mask,
                      [&](const CopyWork& work) { return submit(context, peer, work); });
}

}  // namespace Impl

/// \name put through the copy engine, by one thread
/// Copies n elements from `src`, any memory of this process, to what `dst`, in the caller's
/// symmetric heap, is on rank `peer` (which may be the own rank). The two must not overlap. Any
/// size and alignment; n == 0 and mask == false do nothing.
///
/// The view form takes views of equal extents and any rank and layout. A set of equal contiguous
/// rows is one descriptor of the engine, anything else several; elements that are not adjacent in
/// both views are moved one by one. With a mask (one View of bool or integers with the same
/// extents) only elements whose mask is not 0 are copied, each run of them by a descriptor; no
/// other element is read or written.
///
/// \return false if the wait for room in the ring was given up, because a rank failed or the
///         deadline passed; see quiet()
///@{
template <class T>
KOKKOS_INLINE_FUNCTION bool put(const DeviceContext& context, T* dst,
                                const std::type_identity_t<T>* src, std::size_t n, int peer,
                                CopyEngineTag, bool mask = true) {
  if (!mask || n == 0) return true;
  return Impl::submit(context, peer, Impl::make_put(context, dst, src, n, peer));
}
template <Impl::ViewLike Dst, Impl::ViewLike Src, Impl::ViewLike... Mask>
KOKKOS_INLINE_FUNCTION bool put(const DeviceContext& context, const Dst& dst, const Src& src,
                                int peer, CopyEngineTag, const Mask&... mask) {
  static_assert(sizeof...(Mask) <= 1, "put takes one mask");
  return Impl::submit_put(context, Impl::as_view(dst), Impl::as_view(src), peer,
                          Impl::as_view(mask)...);
}
///@}

/// \name put_signal through the copy engine, by one thread
/// put, then a signal on the peer: when the data are in place, `value` is stored to, or added to,
/// what `flag` is there, with release order at system scope. Who acquires the flag sees these data
/// and those of all copies that this rank submitted to that peer before. Without elements: only the
/// signal, in order with the copies.
///
/// \param flag symmetric
/// \param operation as for signal()
/// \return as put
///@{
template <class T, Impl::SignalOperation Operation>
KOKKOS_INLINE_FUNCTION bool put_signal(const DeviceContext& context, T* dst,
                                       const std::type_identity_t<T>* src, std::size_t n,
                                       signal_t* flag, signal_t value, Operation operation,
                                       int peer, CopyEngineTag) {
  Impl::CopyBlocks blocks;
  blocks.block = Impl::make_put(context, dst, src, n, peer);
  return Impl::submit(context, peer, blocks,
                      Impl::make_copy_signal(context, flag, value, operation, peer));
}
template <Impl::ViewLike Dst, Impl::ViewLike Src, Impl::SignalOperation Operation>
KOKKOS_INLINE_FUNCTION bool put_signal(const DeviceContext& context, const Dst& dst, const Src& src,
                                       signal_t* flag, signal_t value, Operation operation,
                                       int peer, CopyEngineTag) {
  return Impl::submit(context, peer,
                      Impl::make_put_blocks(context, Impl::as_view(dst), Impl::as_view(src), peer),
                      Impl::make_copy_signal(context, flag, value, operation, peer));
}
///@}

/// \name put through the copy engine, by a team
/// As the forms for one thread; called by all threads of a team with equal arguments. What any of
/// them wrote before is copied as written. The result is the same for all. Contains team barriers.
///@{
template <Impl::TeamHandle TeamMember, class T>
KOKKOS_INLINE_FUNCTION bool put(const TeamMember& team, const DeviceContext& context, T* dst,
                                const std::type_identity_t<T>* src, std::size_t n, int peer,
                                CopyEngineTag, bool mask = true) {
  Impl::barrier_before_release(team);
  return Impl::once_for_all(team,
                            [&] { return put(context, dst, src, n, peer, copy_engine, mask); });
}
template <Impl::TeamHandle TeamMember, Impl::ViewLike Dst, Impl::ViewLike Src,
          Impl::ViewLike... Mask>
KOKKOS_INLINE_FUNCTION bool put(const TeamMember& team, const DeviceContext& context,
                                const Dst& dst, const Src& src, int peer, CopyEngineTag,
                                const Mask&... mask) {
  Impl::barrier_before_release(team);
  return Impl::once_for_all(team,
                            [&] { return put(context, dst, src, peer, copy_engine, mask...); });
}
template <Impl::TeamHandle TeamMember, class T, Impl::SignalOperation Operation>
KOKKOS_INLINE_FUNCTION bool put_signal(const TeamMember& team, const DeviceContext& context, T* dst,
                                       const std::type_identity_t<T>* src, std::size_t n,
                                       signal_t* flag, signal_t value, Operation operation,
                                       int peer, CopyEngineTag) {
  Impl::barrier_before_release(team);
  return Impl::once_for_all(team, [&] {
    return put_signal(context, dst, src, n, flag, value, operation, peer, copy_engine);
  });
}
template <Impl::TeamHandle TeamMember, Impl::ViewLike Dst, Impl::ViewLike Src,
          Impl::SignalOperation Operation>
KOKKOS_INLINE_FUNCTION bool put_signal(const TeamMember& team, const DeviceContext& context,
                                       const Dst& dst, const Src& src, signal_t* flag,
                                       signal_t value, Operation operation, int peer,
                                       CopyEngineTag) {
  Impl::barrier_before_release(team);
  return Impl::once_for_all(team, [&] {
    return put_signal(context, dst, src, flag, value, operation, peer, copy_engine);
  });
}
///@}

}  // namespace KokkosIris

#endif
