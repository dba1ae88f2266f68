// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// The fused operations: matrix products whose collective is part of the same kernel.
///
/// Common to all. W ranks, r the own rank; M, N, K are the extents of one rank's product. Operands
/// are Views of rank 2 of any layout and stride, of the same element type: double, float, half_t or
/// bhalf_t; 16-bit types are accumulated in float, and results are rounded once (by the engine of
/// Hopper GPUs each rank's part of a sum as well). Extents may be anything, 0 and 1 included.
/// Results are bitwise the same in every run. Operands that peers read or write must lie on the
/// context's heap, at any place; C must not overlap A or B (found, and refused, where it is certain
/// from pointers and strides). On processors with bfloat16 instructions subnormal bhalf_t elements
/// count as zero in the packed engine, as do those of both 16-bit types in the engine for AMD's
/// matrix cores on CDNA2; the other engines, and KOKKOSIRIS_HOST_ISA=avx512, keep them.
///
/// Collective: all ranks call with the same extents, element type and config, each with its own
/// views, layouts and bias. By default the call ends with a barrier; with `async_op` it returns
/// after the launch, and when the instance is fenced this rank's result is complete and its
/// operands may be changed (the kernel ends when no peer needs them any more). The bias, of length
/// M for rows() or N for cols(), is that of this rank's product and is added before the collective.
///
/// \throws Error on all ranks: (invalid_argument) for illegal arguments of any rank, (mismatch) if
///         the ranks' calls differ, (out_of_memory) if the workspace does not fit on the heap; or
///         if a rank fails, is gone or too late. With a workspace of an earlier call, when ranks do
///         not meet before the kernel, the others report (peer_failed) with the text of the one at
///         fault. The context stays usable as Error says.

#ifndef KOKKOSIRIS_MATMUL_HPP
#define KOKKOSIRIS_MATMUL_HPP

#include <fused/KokkosIris_FusedInstances.hpp>
#include <fused/KokkosIris_FusedLaunch.hpp>

namespace KokkosIris {

/// C = sum over ranks of (A B + bias), on every rank, with the same bits.
/// \param c (M, N), symmetric
/// \param a (M, K)
/// \param b (K, N)
/// \return the workspace, for later calls
template <class ExecutionSpace, class MemorySpace, class CView, class AView, class BView>
FusedWorkspace matmul_all_reduce(const ExecutionSpace& exec, Context<MemorySpace>& context,
                                 const CView& c, const AView& a, const BView& b,
                                 const FusedOptions<typename CView::value_type>& options = {}) {
  return Impl::run_fused<Impl::MatmulAllReduce>(exec, context, c, a, b, options);
}

/// C = columns [r N / W, (r + 1) N / W) of the sum over ranks of (A B + bias).
/// \param c (M, N / W)
/// \param a (M, K)
/// \param b (K, N); N is a multiple of W
/// \return the workspace, for later calls
template <class ExecutionSpace, class MemorySpace, class CView, class AView, class BView>
FusedWorkspace matmul_reduce_scatter(const ExecutionSpace& exec, Context<MemorySpace>& context,
                                     const CView& c, const AView& a, const BView& b,
                                     const FusedOptions<typename CView::value_type>& options = {}) {
  return Impl::run_fused<Impl::MatmulReduceScatter>(exec, context, c, a, b, options);
}

/// C = (A_0 A_1 ... A_{W-1}) B + bias, where A_q is rank q's shard: the product with the shards
/// joined along K.
/// \param c (M, N)
/// \param a_sharded (M, K / W), symmetric
/// \param b (K, N)
/// \return the workspace, for later calls
template <class ExecutionSpace, class MemorySpace, class CView, class AView, class BView>
FusedWorkspace all_gather_matmul(const ExecutionSpace& exec, Context<MemorySpace>& context,
                                 const CView& c, const AView& a_sharded, const BView& b,
                                 const FusedOptions<typename CView::value_type>& options = {}) {
  return Impl::run_fused<Impl::AllGatherMatmul>(exec, context, c, a_sharded, b, options);
}

/// Rows [q M, (q + 1) M) of C = rank q's (A B + bias), on every rank.
/// \param c (M W, N), symmetric
/// \param a (M, K)
/// \param b (K, N)
/// \return the workspace, for later calls
template <class ExecutionSpace, class MemorySpace, class CView, class AView, class BView>
FusedWorkspace matmul_all_gather(const ExecutionSpace& exec, Context<MemorySpace>& context,
                                 const CView& c, const AView& a, const BView& b,
                                 const FusedOptions<typename CView::value_type>& options = {}) {
  return Impl::run_fused<Impl::MatmulAllGather>(exec, context, c, a, b, options);
}

/// \name The same on the default instance of the context's execution space, which is fenced.
///@{
template <class MemorySpace, class CView, class AView, class BView>
FusedWorkspace matmul_all_reduce(Context<MemorySpace>& context, const CView& c, const AView& a,
                                 const BView& b,
                                 const FusedOptions<typename CView::value_type>& options = {}) {
  return Impl::run_on_default<Impl::MatmulAllReduce>(context, c, a, b, options);
}
template <class MemorySpace, class CView, class AView, class BView>
FusedWorkspace matmul_reduce_scatter(Context<MemorySpace>& context, const CView& c, const AView& a,
                                     const BView& b,
                                     const FusedOptions<typename CView::value_type>& options = {}) {
  return Impl::run_on_default<Impl::MatmulReduceScatter>(context, c, a, b, options);
}
template <class MemorySpace, class CView, class AView, class BView>
FusedWorkspace all_gather_matmul(Context<MemorySpace>& context, const CView& c,
                                 const AView& a_sharded, const BView& b,
                                 const FusedOptions<typename CView::value_type>& options = {}) {
  return Impl::run_on_default<Impl::AllGatherMatmul>(context, c, a_sharded, b, options);
}
template <class MemorySpace, class CView, class AView, class BView>
FusedWorkspace matmul_all_gather(Context<MemorySpace>& context, const CView& c, const AView& a,
                                 const BView& b,
                                 const FusedOptions<typename CView::value_type>& options = {}) {
  return Impl::run_on_default<Impl::MatmulAllGather>(context, c, a, b, options);
}
///@}

}  // namespace KokkosIris

#endif
