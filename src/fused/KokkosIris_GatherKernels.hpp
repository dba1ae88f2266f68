// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// The kernels of all_gather_matmul (peers' shards of A are fetched) and matmul_all_gather
/// (finished tiles are pushed).

#ifndef KOKKOSIRIS_GATHER_KERNELS_HPP
#define KOKKOSIRIS_GATHER_KERNELS_HPP

#include <Kokkos_Core.hpp>
#include <cstdint>
#include <fused/KokkosIris_FusedKernel.hpp>

namespace KokkosIris::Impl {

/// Loading a panel fetches each rank's shard of it, the own one first: packing, or copying, is the
/// only time that a peer's element is read. A peer's shard may be read once the peer has entered,
/// and the peer's kernel ends only when all others have done reading.
template <class T, class Engine>
struct GatherMatmulKernel : FusedKernel<T, Engine> {
  using Base = FusedKernel<T, Engine>;
  using Base::a;
  using Base::c;
  using Base::exchange;
  using Base::schedule;
  using typename Base::LoadedPanel;
  using typename Base::Tile;
  using Item = ItemSchedule::Item;

  /// A in one shard a rank.
  struct GatheredA {
    static constexpr bool several = true;
    const GatherMatmulKernel& kernel;
    std::uint64_t call;
    KOKKOS_FUNCTION int count() const { return kernel.exchange.size(); }
    KOKKOS_FUNCTION int first() const { return kernel.exchange.rank(); }
    KOKKOS_FUNCTION MatrixRef<const T> operator()(int rank) const {
      return kernel.exchange.operand_of(rank, kernel.a);
    }
    template <class Team>
    KOKKOS_FUNCTION bool wait(const Team& team, int rank) const {
      return rank == kernel.exchange.rank() || kernel.exchange.wait_entry(team, call, rank);
    }
  };

  template <class Team>
  KOKKOS_FUNCTION void operator()(const Team& team) const {
    const std::uint64_t call = exchange.begin(team);
    if (call == 0) return;
    if (team.league_rank() == 0) exchange.enter(team, call, a);
    const GatheredA source{*this, call};
    if (!this->prepare(team, source)) return;
    LoadedPanel held;
    for (std::int64_t number = team.league_rank(); number < schedule.items();
         number += team.league_size()) {
      const Item item = schedule.item(number);
      const std::int64_t cols = schedule.columns_of(0, item.block);
      if (item.rows == 0 || cols == 0) continue;
      if (!this->hold_panel(team, source, item, held)) return;
      const MatrixRef<T> out =
          c.block(item.row, item.block * schedule.block_columns, item.rows, cols);
      const Tile result = this->tile_for(team, out);
      this->compute(team, held, item, 0, result);
      this->finish(team, result, out);
    }
    exchange.leave(team, call);
  }
};

/// Each finished tile is stored to this rank's rows of C on every rank. A peer's C may be written
/// once the peer has entered; its kernel ends when all others have written.
template <class T, class Engine>
struct MatmulGatherKernel : FusedKernel<T, Engine> {
  using Base = FusedKernel<T, Engine>;
  using Base::c;
  using Base::exchange;
  using Base::schedule;
  using typename Base::LoadedPanel;
  using typename Base::LocalA;
  using typename Base::Tile;
  using Item = ItemSchedule::Item;

  template <class Team>
  KOKKOS_FUNCTION void operator()(const Team& team) const {
    const std::uint64_t call = exchange.begin(team);
    if (call == 0) return;
    if (team.league_rank() == 0) exchange.enter(team, call, c);
    const LocalA source{*this};
    if (!this->prepare(team, source)) return;
    LoadedPanel held;
    for (std::int64_t number = team.league_rank(); number < schedule.items();
         number += team.league_size()) {
      const Item item = schedule.item(number);
      const std::int64_t cols = schedule.columns_of(0, item.block);
      if (item.rows == 0 || cols == 0) continue;
      if (!this->hold_panel(team, source, item, held)) return;
      const auto target = [&](int t) {
        return exchange.operand_of(exchange.peer(t), c)
            .block(exchange.rank() * schedule.rows + item.row, item.block * schedule.block_columns,
                   item.rows, cols);
      };
      const Tile tile = this->tile_for(team, target(0));
      this->compute(team, held, item, 0, tile);
      for (int step = 1; step < exchange.size(); ++step) {
        if (!exchange.wait_entry(team, call, exchange.peer(step))) return;
      }
      const int done = this->is_in_place(tile, target(0)) ? 1 : 0;
      this->engine.tile_store().sum(
          team, 1, [&](int) { return tile; }, exchange.size() - done,
          [&](int t) { return target(t + done); }, 1 - done);
    }
    exchange.leave(team, call);
  }
};

}  // namespace KokkosIris::Impl

#endif
