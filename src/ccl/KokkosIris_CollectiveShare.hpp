// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// The collective operations, and how the elements of a call are shared among the threads of its
/// kernel.

#ifndef KOKKOSIRIS_COLLECTIVE_SHARE_HPP
#define KOKKOSIRIS_COLLECTIVE_SHARE_HPP

#include <Kokkos_Core.hpp>
#include <cstddef>
#include <cstdint>
#include <rma/KokkosIris_StridedLoop.hpp>

namespace KokkosIris::Impl {

enum class CollectiveOperation : std::int32_t { all_gather, reduce_scatter, all_reduce };

/// A thread of a kernel among all of them.
struct KernelThread {
  std::int64_t number;
  std::int64_t count;
};

template <class Team>
KOKKOS_FORCEINLINE_FUNCTION KernelThread kernel_thread(const Team& team) {
  KOKKOS_IF_ON_HOST((return {std::int64_t(team.league_rank()) * team.team_size() + team.team_rank(),
                             std::int64_t(team.league_size()) * team.team_size()};))
  // In CUDA and HIP the team is the block, its vector lanes are x, its threads y.
  KOKKOS_IF_ON_DEVICE((const std::int64_t threads = std::int64_t(blockDim.x) * blockDim.y; return {
      team.league_rank() * threads + threadIdx.y * blockDim.x + threadIdx.x,
      team.league_size() * threads};))
}

/// The items first, first + step, ... below `end`.
struct ItemRange {
  std::int64_t first, end, step;
};

/// A thread's share of n items: one range on the host; on devices neighbouring threads have
/// neighbouring items.
KOKKOS_INLINE_FUNCTION ItemRange share_of(const KernelThread& thread, std::int64_t n) {
  KOKKOS_IF_ON_HOST((
      const Part part = part_of(static_cast<std::size_t>(n), static_cast<std::size_t>(thread.count),
                                static_cast<std::size_t>(thread.number));
      return {static_cast<std::int64_t>(part.begin), static_cast<std::int64_t>(part.end), 1};))
  KOKKOS_IF_ON_DEVICE((return {thread.number, n, thread.count};))
}

}  // namespace KokkosIris::Impl

#endif
