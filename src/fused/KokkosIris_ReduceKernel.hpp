// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// The kernel of matmul_all_reduce and matmul_reduce_scatter: partial tiles to their owners, who
/// add them in rank order.

#ifndef KOKKOSIRIS_REDUCE_KERNEL_HPP
#define KOKKOSIRIS_REDUCE_KERNEL_HPP

#include <Kokkos_Core.hpp>
#include <cstdint>
#include <fused/KokkosIris_FusedKernel.hpp>

namespace KokkosIris::Impl {

/// Each rank owns a chunk of columns. For each of its items a team computes the tiles of the other
/// owners' chunks into staging, each with a flag to its owner, then the tile of its own chunk; then
/// it adds up the item *before*, whose partial tiles have had that long to arrive. The owner stores
/// the sum: for all_reduce to C of every rank, for reduce_scatter to its own.
///
/// Partial tiles travel in the accumulator type and are added in rank order, so results are rounded
/// once and are the same bits on every rank and in every run.
template <class T, class Engine, bool AllRanks>
struct ReduceKernel : FusedKernel<T, Engine> {
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
    std::int64_t previous = -1;
    int which = 0;
    // One turn more than the team has items, for the sum of the last one: code that is there twice
    // is too much for the compiler, which then makes calls of it, with registers in memory.
    for (std::int64_t number = team.league_rank();; number += team.league_size()) {
      const bool more = number < schedule.items();
      if (more) {
        const Item item = schedule.item(number);
        if (item.rows > 0 && !this->hold_panel(team, source, item, held)) return;
        if (!produce(team, call, number, item, held, which)) return;
      }
      if (previous >= 0 && !reduce(team, call, previous, 1 - which)) return;
      if (!more) break;
      if (!alone()) previous = number;
      which = 1 - which;
    }
    exchange.leave(team, call);
  }

 private:
  /// Alone, a rank has nothing to wait for or to add.
  KOKKOS_FUNCTION bool alone() const { return exchange.size() == 1; }

  /// Partial tiles for the other owners, then the own one, in tile buffer `which` or, alone, at its
  /// final place. Empty tiles are handed over too: whoever uses a slot next waits for the tile that
  /// the slot had before.
  template <class Team>
  KOKKOS_FORCEINLINE_FUNCTION bool produce(const Team& team, std::uint64_t call,
                                           std::int64_t number, const Item& item,
                                           const LoadedPanel& held, int which) const {
    for (int step = 1; step <= exchange.size(); ++step) {
      const int owner = exchange.peer(step);
      const bool own = owner == exchange.rank();
      const std::int64_t cols = schedule.columns_of(owner, item.block);
      if (!own && !exchange.wait_slot(team, call, number, owner)) return false;
      MatrixRef<T> out;
      Tile tile;
      if (!own) {
        tile = this->staged(exchange.rank(), owner, number, item.rows, cols);
      } else if (alone()) {
        out = c.block(item.row, item.block * schedule.block_columns, item.rows, cols);
        tile = this->tile_for(team, out);
      } else {
        tile = this->tile(team, which, item.rows, cols);
      }
      this->compute(team, held, item, owner, tile);
      if (!own) exchange.publish(team, call, number, owner);
      if (alone()) this->finish(team, tile, out);
    }
    return true;
  }

  /// Adds the partial tiles of an item of the own chunk and stores the sum.
  template <class Team>
  KOKKOS_FORCEINLINE_FUNCTION bool reduce(const Team& team, std::uint64_t call, std::int64_t number,
                                          int which) const {
    const Item item = schedule.item(number);
    const int rank = exchange.rank();
    const std::int64_t cols = schedule.columns_of(rank, item.block);
    for (int step = 1; step < exchange.size(); ++step) {
      const int other = exchange.peer(step);
      if (!exchange.wait_partial(team, call, number, other)) return false;
      if (AllRanks && !exchange.wait_entry(team, call, other)) return false;
    }
    const std::int64_t column = item.block * schedule.block_columns;
    const std::int64_t target_column = AllRanks ? schedule.chunk_begin(rank) + column : column;
    const auto part = [&](int p) {
      return p == rank ? this->tile(team, which, item.rows, cols)
                       : this->staged(p, rank, number, item.rows, cols);
    };
    const auto target = [&](int t) {
      return exchange.operand_of(exchange.peer(t), c)
          .block(item.row, target_column, item.rows, cols);
    };
    this->engine.tile_store().sum(team, exchange.size(), part, AllRanks ? exchange.size() : 1,
                                  target, 1);
    for (int step = 1; step < exchange.size(); ++step) {
      exchange.release_slot(team, call, number, exchange.peer(step));
    }
    return true;
  }
};

}  // namespace KokkosIris::Impl

#endif
