// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// put, put_signal and get through the copy engine, on the host.

#ifndef KOKKOSIRIS_COPY_ENGINE_HOST_PUT_HPP
#define KOKKOSIRIS_COPY_ENGINE_HOST_PUT_HPP

#include <Kokkos_Core.hpp>
#include <cstddef>
#include <heap/KokkosIris_Context.hpp>
#include <rma/KokkosIris_CopyBlocks.hpp>
#include <rma/KokkosIris_CopyEnginePut.hpp>
#include <rma/KokkosIris_HostAccess.hpp>
#include <rma/KokkosIris_HostChecks.hpp>
#include <rma/KokkosIris_HostCopyQueue.hpp>
#include <rma/KokkosIris_HostSignal.hpp>
#include <rma/KokkosIris_Quiet.hpp>
#include <rma/KokkosIris_ViewTraits.hpp>

namespace KokkosIris {
namespace Impl {

/// Checks of what the compiler cannot check.
/// \param remote the one of the two views that has to be symmetric, and its role
template <class MemorySpace, class DstView, class SrcView, class RemoteView, class... MaskView>
HostChecks check_engine_copy(const Context<MemorySpace>& context, const char* operation,
                             const DstView& dst, const SrcView& src, const char* remote_role,
                             const RemoteView& remote, int peer, const MaskView&... mask) {
  require_copyable<DstView, SrcView>();
  require_accessible<typename Context<MemorySpace>::execution_space, DstView, SrcView>();
  static_assert((Kokkos::SpaceAccessibility<Kokkos::HostSpace,
                                            typename view_of<MaskView>::memory_space>::accessible &&
                 ...),
                "the host must be able to read the mask of a copy by the copy engine");
  const HostChecks checks(context.device(), operation);
  checks.rank_exists(peer).symmetric(remote_role, remote).same_shape("dst", dst, "src", src);
  (checks.same_shape("dst", dst, "mask", mask), ...);
  return checks;
}

/// \name Where the host hands a copy to
/// Callable in kernels only because the functions that call them are.
///@{
struct SubmitToRing {
  DeviceContext m_context;
  int m_peer;
  KOKKOS_FUNCTION bool operator()(const CopyWork& work) const {
    return submit(m_context, m_peer, work);
  }
};
struct SubmitToQueue {
  HostCopyQueue* m_queue;
  int m_peer;
  KOKKOS_FUNCTION bool operator()([[maybe_unused]] const CopyWork& work) const {
    KOKKOS_IF_ON_HOST((m_queue->submit(m_peer, work);))
    return true;
  }
};
///@}

/// Hands copies over behind the work in `exec`: `copies(submit)` calls submit(work) for each.
template <class ExecutionSpace, class MemorySpace, class Copies>
void hand_over_from_host(const ExecutionSpace& exec, const Context<MemorySpace>& context,
                         const char* operation, const char* label, int peer, const Copies& copies) {
  if constexpr (is_gpu_space_v<MemorySpace>) {
    HostCopyQueue& queue = *context.state().copy_engine().host_queue();
    if constexpr (is_gpu_space_v<ExecutionSpace>) {
      queue.follow(peer, exec);
    } else {
      exec.fence(label);
    }
    copies(SubmitToQueue{&queue, peer});
  } else {
    exec.fence(label);
    if (!copies(SubmitToRing{context.device(), peer})) context.runtime().throw_given_up(operation);
  }
}

}  // namespace Impl

/// \name Copies through the copy engine, on the host
/// They wait for the work in `exec`, which may produce the source or use the destination (on GPUs
/// it is the copy that waits for it, not the caller), submit the copy and return; completion is by
/// quiet() on the host or by the signal. Rules and order are those of the
/// forms for kernels, views may have any layouts and be subviews. Called by one rank; the peer,
/// which may be the own rank, takes no part.
///
/// \throws Error (invalid_argument) if there is no rank `peer`, the extents differ, or the view or
///         flag that is on the peer does not lie in the symmetric heap; the error of a rank that
///         failed, or (timeout), if the wait for room in the ring was given up
///@{

/// Copies `src` to what `dst` is on rank `peer`.
/// \param mask nothing, or one View, which the host must be able to read
template <Impl::ExecutionSpaceLike ExecutionSpace, class MemorySpace, Impl::ViewLike Dst,
          Impl::ViewLike Src, Impl::ViewLike... Mask>
void put(const ExecutionSpace& exec, const Context<MemorySpace>& context, const Dst& dst,
         const Src& src, int peer, CopyEngineTag, const Mask&... mask) {
  const auto& to = Impl::as_view(dst);
  Impl::check_engine_copy(context, "put", to, Impl::as_view(src), "dst", to, peer,
                          Impl::as_view(mask)...);
  Impl::hand_over_from_host(exec, context, "put", "KokkosIris::put", peer, [&](const auto& submit) {
    const DeviceContext& device = context.device();
    if constexpr (sizeof...(Mask) == 0) {
      return Impl::for_rectangles(Impl::make_put_blocks(device, to, Impl::as_view(src), peer), {},
                                  submit);
    } else {
      return Impl::for_put_runs(device, to, Impl::as_view(src), peer, Impl::as_view(mask)...,
                                submit);
    }
  });
}

/// As put, then a signal on the peer, see put_signal in kernels. Views without elements: only the
/// signal.
/// \param flag one symmetric word: a View of rank 0, or a pointer
template <Impl::ExecutionSpaceLike ExecutionSpace, class MemorySpace, Impl::ViewLike Dst,
          Impl::ViewLike Src, Impl::SignalWord Flag, Impl::SignalOperation Operation>
void put_signal(const ExecutionSpace& exec, const Context<MemorySpace>& context, const Dst& dst,
                const Src& src, const Flag& flag, signal_t value, Operation operation, int peer,
                CopyEngineTag) {
  const auto& to = Impl::as_view(dst);
  Impl::check_word(
      Impl::check_engine_copy(context, "put_signal", to, Impl::as_view(src), "dst", to, peer),
      flag);
  Impl::hand_over_from_host(
      exec, context, "put_signal", "KokkosIris::put_signal", peer, [&](const auto& submit) {
        const DeviceContext& device = context.device();
        return Impl::for_rectangles(
            Impl::make_put_blocks(device, to, Impl::as_view(src), peer),
            Impl::make_copy_signal(device, Impl::word_pointer(flag), value, operation, peer),
            submit);
      });
}

/// Copies what `src` is on rank `peer` to `dst`, any memory of this process. What the peer wrote
/// must have been released by it and acquired by the caller, as for loads.
template <Impl::ExecutionSpaceLike ExecutionSpace, class MemorySpace, Impl::ViewLike Dst,
          Impl::ViewLike Src>
void get(const ExecutionSpace& exec, const Context<MemorySpace>& context, const Dst& dst,
         const Src& src, int peer, CopyEngineTag) {
  const auto& to = Impl::as_view(dst);
  const auto& from = Impl::as_view(src);
  Impl::check_engine_copy(context, "get", to, from, "src", from, peer);
  Impl::hand_over_from_host(exec, context, "get", "KokkosIris::get", peer, [&](const auto& submit) {
    const Impl::element_of<Src>* const theirs = Impl::translate_view(context.device(), from, peer);
    Impl::CopyBlocks blocks =
        Impl::make_copy_blocks(Impl::make_strided_loop(to, from), to.data(), theirs);
    blocks.block.reader = Impl::Destination::own;
    return Impl::for_rectangles(blocks, {}, submit);
  });
}
///@}

/// \name Copies through the copy engine without an execution space instance
/// As above on the default instance. They return when the copy is submitted, as the forms with an
/// instance do.
///@{
template <class MemorySpace, Impl::ViewLike Dst, Impl::ViewLike Src, Impl::ViewLike... Mask>
void put(const Context<MemorySpace>& context, const Dst& dst, const Src& src, int peer,
         CopyEngineTag, const Mask&... mask) {
  Impl::with_default_instance(context, "KokkosIris::put", [&](const auto& exec) {
    put(exec, context, dst, src, peer, copy_engine, mask...);
  });
}
template <class MemorySpace, Impl::ViewLike Dst, Impl::ViewLike Src, Impl::SignalWord Flag,
          Impl::SignalOperation Operation>
void put_signal(const Context<MemorySpace>& context, const Dst& dst, const Src& src,
                const Flag& flag, signal_t value, Operation operation, int peer, CopyEngineTag) {
  Impl::with_default_instance(context, "KokkosIris::put_signal", [&](const auto& exec) {
    put_signal(exec, context, dst, src, flag, value, operation, peer, copy_engine);
  });
}
template <class MemorySpace, Impl::ViewLike Dst, Impl::ViewLike Src>
void get(const Context<MemorySpace>& context, const Dst& dst, const Src& src, int peer,
         CopyEngineTag) {
  Impl::with_default_instance(context, "KokkosIris::get", [&](const auto& exec) {
    get(exec, context, dst, src, peer, copy_engine);
  });
}
///@}

}  // namespace KokkosIris

#endif
