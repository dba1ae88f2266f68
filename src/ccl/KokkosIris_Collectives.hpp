// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// Collective operations on Views, each one kernel whose ranks meet inside of it.
///
/// Common to all. W ranks, r the own rank. dst and src are Views of the same element type and
/// number of dimensions whose elements lie in memory without gaps, LayoutRight or LayoutLeft, in
/// the same order on all ranks; extents may be anything, 0 included, and Views may begin at any
/// element. Blocks of ranks follow each other along the dimension that runs slowest: the first one
/// (LayoutRight) or the last one (LayoutLeft). Views that peers read or write must lie on the
/// context's heap, at any place, on each rank at another one if it likes.
///
/// Sums are formed in the order of ranks, so all ranks get the same bits, in every run: in float
/// for half_t and bhalf_t, rounded once; for integers modulo 2^32 or 2^64; else in the element
/// type.
///
/// Collective: all ranks call with the same extents, element type and config. By default the call
/// ends with a barrier; with `async_op` it returns after the launch, and when the instance is
/// fenced this rank's result is complete and its operands may be changed. A call with the workspace
/// of an earlier one does no communication between hosts and can be captured in a CUDA or HIP
/// graph.
///
/// \throws Error on all ranks: (invalid_argument) for illegal arguments of any rank, (mismatch) if
///         the ranks' calls differ, (out_of_memory) if the workspace does not fit on the heap; or
///         if a rank fails, is gone or too late. With a workspace of an earlier call, when ranks do
///         not meet before the kernel, the others report (peer_failed) with the text of the one at
///         fault. The context stays usable as Error says.

#ifndef KOKKOSIRIS_COLLECTIVES_HPP
#define KOKKOSIRIS_COLLECTIVES_HPP

#include <ccl/KokkosIris_CollectiveLaunch.hpp>
#include <ccl/KokkosIris_CollectiveOptions.hpp>

namespace KokkosIris {

/// Block q of dst = rank q's src, on every rank.
/// \param dst the extents of src, the slowest W times; symmetric
/// \param src elements of any trivially copyable type; may be block r of dst
/// \return the workspace, for later calls
template <class ExecutionSpace, class MemorySpace, class Dst, class Src>
CollectiveWorkspace all_gather(const ExecutionSpace& exec, Context<MemorySpace>& context,
                               const Dst& dst, const Src& src,
                               const CollectiveOptions& options = {}) {
  return Impl::run_collective<Impl::CollectiveOperation::all_gather>(exec, context, dst, src,
                                                                     options);
}

/// dst = the sum over ranks of block r of src.
/// \param dst elements of type double, float, half_t, bhalf_t or integers of 4 or 8 bytes; may be
///        block r of src
/// \param src the extents of dst, the slowest W times; symmetric
/// \return the workspace, for later calls
template <class ExecutionSpace, class MemorySpace, class Dst, class Src>
CollectiveWorkspace reduce_scatter(const ExecutionSpace& exec, Context<MemorySpace>& context,
                                   const Dst& dst, const Src& src,
                                   const CollectiveOptions& options = {}) {
  return Impl::run_collective<Impl::CollectiveOperation::reduce_scatter>(exec, context, dst, src,
                                                                         options);
}

/// dst = the sum over ranks of src, on every rank, with the same bits.
/// \param dst element types as for reduce_scatter; symmetric
/// \param src the same extents; symmetric; may be dst
/// \return the workspace, for later calls
template <class ExecutionSpace, class MemorySpace, class Dst, class Src>
CollectiveWorkspace all_reduce(const ExecutionSpace& exec, Context<MemorySpace>& context,
                               const Dst& dst, const Src& src,
                               const CollectiveOptions& options = {}) {
  return Impl::run_collective<Impl::CollectiveOperation::all_reduce>(exec, context, dst, src,
                                                                     options);
}

/// \name The same on the default instance of the context's execution space, which is fenced.
///@{
template <class MemorySpace, class Dst, class Src>
CollectiveWorkspace all_gather(Context<MemorySpace>& context, const Dst& dst, const Src& src,
                               const CollectiveOptions& options = {}) {
  return Impl::run_collective_on_default<Impl::CollectiveOperation::all_gather>(context, dst, src,
                                                                                options);
}
template <class MemorySpace, class Dst, class Src>
CollectiveWorkspace reduce_scatter(Context<MemorySpace>& context, const Dst& dst, const Src& src,
                                   const CollectiveOptions& options = {}) {
  return Impl::run_collective_on_default<Impl::CollectiveOperation::reduce_scatter>(context, dst,
                                                                                    src, options);
}
template <class MemorySpace, class Dst, class Src>
CollectiveWorkspace all_reduce(Context<MemorySpace>& context, const Dst& dst, const Src& src,
                               const CollectiveOptions& options = {}) {
  return Impl::run_collective_on_default<Impl::CollectiveOperation::all_reduce>(context, dst, src,
                                                                                options);
}
///@}

}  // namespace KokkosIris

#endif
