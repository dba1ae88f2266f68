// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// Panels of A that lie in parts on several ranks.

#ifndef KOKKOSIRIS_PANEL_SHARDS_HPP
#define KOKKOSIRIS_PANEL_SHARDS_HPP

#include <Kokkos_Core.hpp>
#include <core/KokkosIris_DeviceContext.hpp>
#include <cstdint>
#include <fused/KokkosIris_Matrix.hpp>

namespace KokkosIris::Impl {

/// Rows of A in shards of equal width along K: shard s has columns [s k, (s + 1) k) of the panel.
/// Shards are computed on demand by `Source`, a callable that gives shard s as a MatrixRef<const
/// T>.
/// \tparam Several false: A is whole, so that kernels need no code for shards
template <class T, class Source, bool Several>
struct PanelShards {
  static constexpr bool several = Several;

  Source source;
  std::int64_t rows;
  std::int64_t shard_k;
  int count;
  int first;  ///< the shard that is there already; the others are taken in order after it

  KOKKOS_FUNCTION MatrixRef<const T> shard(int s) const { return source(s); }
  KOKKOS_FUNCTION std::int64_t total_k() const { return shard_k * count; }
};

/// Copies the shards of a panel, each when `wait(s)` has returned, and ends with a barrier of the
/// team, all of whose threads call this.
/// \param copy copy(shard, column) puts a shard to the columns from `column` on
/// \return false if a wait was given up
template <class Team, class Shards, class Wait, class Copy>
KOKKOS_FUNCTION bool load_shards(const Team& team, const Shards& shards, const Wait& wait,
                                 const Copy& copy) {
  for (int step = 0; step < shards.count; ++step) {
    const int s = rank_after(shards.first, step, shards.count);
    if (!wait(s)) return false;
    copy(shards.shard(s), s * shards.shard_k);
  }
  team.team_barrier();
  return true;
}

}  // namespace KokkosIris::Impl

#endif
