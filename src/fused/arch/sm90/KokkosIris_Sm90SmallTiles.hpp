// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// Consumers for products of few rows, where latency counts: K may be divided among blocks, what
/// ranks exchange travels in packets between registers, and results go from there to C.

#ifndef KOKKOSIRIS_SM90_SMALL_TILES_HPP
#define KOKKOSIRIS_SM90_SMALL_TILES_HPP

#include <cstdint>
#include <fused/arch/sm90/KokkosIris_Sm90Packets.hpp>
#include <fused/arch/sm90/KokkosIris_Sm90Products.hpp>
#include <fused/arch/sm90/KokkosIris_Sm90Units.hpp>

namespace KokkosIris::Impl::Sm90 {

/// Both consumer warpgroups; all their threads call. A thread belongs to a half of the tile while
/// it multiplies; then the sums lie in shared memory and its work is units of them, of any half.
///
/// The blocks of all parts of K of a tile are a cluster. Each adds the sums of all, which it reads
/// in their shared memory, for its share of the units. Then ranks exchange elements, rounded:
/// - sum_to_owner: foreign tiles go to their owner, who adds them to its own sums;
/// - sum_to_all: every tile goes to all, and all add the same in rank order;
/// - send_to_all: every tile goes to all, who store it.
///
/// Tiles that wait for other ranks come
/// later in the order of tasks than those that these wait for. Packets for other ranks exist for
/// even and odd calls, as images do (Exchange).
template <class T, int Columns, bool TransposedA, bool TransposedB>
struct SmallTileConsumer : Products<T, Columns, TransposedA, TransposedB, true> {
  using Base = Products<T, Columns, TransposedA, TransposedB, true>;
  using Base::arguments;
  using Base::half;
  using Base::shared;
  using Units = TileUnits<Columns>;
  static constexpr int unit_words = unit_columns / 2;  ///< rounded
  static constexpr int together = 4;                   ///< units that are waited for at once

  std::uint64_t call;
  bool given_up = is_given_up(call);

  __device__ SmallTileConsumer(const Arguments& a, SharedAddress shared, int half_, int thread_,
                               std::uint64_t call_)
      : Base{a, shared, half_, thread_}, call(call_) {}

  __device__ void run() {
    TileWalk walk = arguments.walk(blockIdx.x, gridDim.x);
    for (Task task; walk.next(task);) {
      multiply_tile(task);
      const bool shared_tile = arguments.tiles.parts > 1;
      if (shared_tile) {
        arrive_at_cluster();
        wait_for_cluster();
      } else {
        sync_consumers();
      }
      const Units units(arguments, task);
      add_up(units, task);
      // Other blocks may still be reading.
      if (shared_tile) arrive_at_cluster();
      finish(units, task);
      if (shared_tile) wait_for_cluster();
      sync_consumers();
    }
  }

 private:
  __device__ const Exchange& exchange() const { return arguments.exchange; }
  __device__ std::uint32_t flag() const { return packet_flag(call); }
  __device__ SharedAddress sums_at(int area, int row, int column) const {
    return shared + area + 4 * (row * Units::pitch + column);
  }

  /// If the rows fit in one half, each warpgroup takes every other stage, else half of the rows.
  __device__ bool divides_k() const { return this->ring.second_sums != 0; }

  __device__ __forceinline__ void multiply_tile(const Task& task) {
    const int blocks = arguments.blocks_of(task.part).count();
    float sums[Columns / 2];
    if (divides_k()) {
#pragma unroll
      for (int i = 0; i < Columns / 2; ++i) sums[i] = 0.0f;
      RingPosition first = this->position;
      if (half == 1) first.advance(this->ring.stages);
      this->template accumulate<2>(sums, first, 0, (blocks + 1 - half) / 2);
      sync_consumers();  // the sums may lie where stages were
      write_sums(sums, task, 0, half == 0 ? this->ring.sums : this->ring.second_sums);
    } else if (arguments.has_rows(task, half)) {
      this->template accumulate<1>(sums, this->position, half, blocks);
      sync_consumers();
      write_sums(sums, task, half, this->ring.sums);
    } else {
      this->pass_stages(blocks);
      sync_consumers();
    }
    this->position.advance(blocks, this->ring.stages);
  }
  __device__ __forceinline__ void write_sums(const float (&sums)[Columns / 2], const Task& task,
                                             int row_half, int area) {
    const int upper = row_half * half_rows + this->upper_row_in_half();
#pragma unroll
    for (int lower = 0; lower < 2; ++lower) {
      const int row = upper + 8 * lower;
      if (task.row + row >= arguments.rows) break;
      const SharedAddress line = sums_at(area, row, this->column_in_group());
#pragma unroll
      for (int j = 0; j < Columns / 8; ++j) {
        store_shared_pair(line + 32 * j,
                          make_float2(sums[4 * j + 2 * lower], sums[4 * j + 2 * lower + 1]));
      }
    }
  }

  /// A unit's sums, in shared memory.
  __device__ __forceinline__ void read(float (&sums)[unit_columns], const Unit& unit) const {
    const SharedAddress from = sums_at(this->ring.sums, unit.row, unit.column);
#pragma unroll
    for (int i = 0; i < unit_columns; i += 4) {
      const float4 four = load_shared_four(from + 4 * i);
      sums[i] = four.x, sums[i + 1] = four.y, sums[i + 2] = four.z, sums[i + 3] = four.w;
    }
  }
  __device__ __forceinline__ void write(const float (&sums)[unit_columns], const Unit& unit) const {
    const SharedAddress to = sums_at(this->ring.sums, unit.row, unit.column);
#pragma unroll
    for (int i = 0; i < unit_columns; i += 4) {
      store_shared_four(to + 4 * i, make_float4(sums[i], sums[i + 1], sums[i + 2], sums[i + 3]));
    }
  }
  /// The sums over all of K: what both warpgroups of all blocks of the cluster have, in one order.
  __device__ __forceinline__ void add_parts(float (&sums)[unit_columns], const Unit& unit) const {
    const SharedAddress first = sums_at(this->ring.sums, unit.row, unit.column);
    const int second = divides_k() ? this->ring.second_sums - this->ring.sums : 0;
#pragma unroll
    for (int i = 0; i < unit_columns; ++i) sums[i] = 0.0f;
#pragma unroll 2
    for (int part = 0; part < arguments.tiles.parts; ++part) {
      const SharedAddress from = address_in_cluster(first, part);
      add_from(sums, from);
      if (second != 0) add_from(sums, from + second);
    }
  }
  __device__ __forceinline__ static void add_from(float (&sums)[unit_columns], SharedAddress from) {
#pragma unroll
    for (int i = 0; i < unit_columns; i += 4) {
      const float4 four = load_cluster_four(from + 4 * i);
      sums[i] += four.x, sums[i + 1] += four.y, sums[i + 2] += four.z, sums[i + 3] += four.w;
    }
  }

  /// Completes the sums of this block's share, and sends them to the ranks that need them.
  __device__ void add_up(const Units& units, const Task& task) {
    const Form form = arguments.form;
#pragma unroll 1
    for (int number = consumer_thread(); units.reach(number); number += consumer_threads) {
      Unit unit;
      if (!units.find_in_share(number, unit)) continue;
      float sums[unit_columns];
      add_parts(sums, unit);
      add_bias(sums, unit, task);
      // Other blocks read other shares only.
      write(sums, unit);
      if (form == Form::product) continue;
      std::uint32_t words[unit_words];
      round(words, sums);
      if (form == Form::sum_to_owner) {
        if (arguments.is_foreign(task)) send(words, unit, task, task.owner);
        continue;
      }
      for (int step = 1; step < exchange().size(); ++step) {
        send(words, unit, task, exchange().peer(step));
      }
    }
  }
  /// What becomes of the share: to C, with what the other ranks have for it.
  __device__ void finish(const Units& units, const Task& task) {
    const Form form = arguments.form;
    const bool foreign = arguments.is_foreign(task);
    if (form == Form::product || form == Form::send_to_all) {
      store(units, consumer_thread(), units.count, task, exchange().rank());
    }
    if (form == Form::product || foreign) return;
    const std::uint64_t start = gpu_ticks();
#pragma unroll 1
    for (int first = consumer_thread(); units.reach(first); first += together * consumer_threads) {
      if (form == Form::send_to_all) {
        take(units, first, task, start);
      } else {
        add_ranks(units, first, task, start);
        store(units, first, together, task, exchange().rank());
      }
    }
  }
  __device__ __forceinline__ void add_bias(float (&sums)[unit_columns], const Unit& unit,
                                           const Task& task) const {
    if (arguments.bias_axis == BiasAxis::none) return;
    const bool by_rows = arguments.bias_axis == BiasAxis::rows;
#pragma unroll
    for (int e = 0; e < unit_columns; ++e) {
      const std::int64_t column = task.column + unit.column + e;
      if (by_rows || column < arguments.tiles.columns) {
        sums[e] += this->bias_at(by_rows ? task.row + unit.row : column);
      }
    }
  }
  __device__ __forceinline__ static void round(std::uint32_t (&words)[unit_words],
                                               const float (&sums)[unit_columns]) {
#pragma unroll
    for (int i = 0; i < unit_words; ++i) words[i] = pack<T>(sums[2 * i], sums[2 * i + 1]);
  }
  __device__ __forceinline__ void send(const std::uint32_t (&words)[unit_words], const Unit& unit,
                                       const Task& task, int to) const {
    if (given_up) return;
    Packet* const there = packet(task, unit, exchange().rank(), to);
#pragma unroll
    for (int p = 0; p < unit_words / 2; ++p) {
      store_packet(there + p * Units::most, words[2 * p], words[2 * p + 1], flag());
    }
  }

  /// The other ranks' elements of some units to C.
  __device__ void take(const Units& units, int first, const Task& task, std::uint64_t start) {
    for (int step = 1; step < exchange().size(); ++step) {
      const int from = exchange().peer(step);
      std::uint32_t words[together * unit_words];
      receive_elements(words, units, first, task, from, start);
      for_units<together>(units, first, [&](int b, const Unit& unit) {
        float sums[unit_columns];
        unpack_unit(sums, words, b);
        write(sums, unit);
      });
      store(units, first, together, task, from);
    }
  }
  /// Adds the other ranks' elements of some units: to the sums of their owner, or all ranks'
  /// rounded ones in the order of ranks, so that all have the same bits.
  __device__ void add_ranks(const Units& units, int first, const Task& task, std::uint64_t start) {
    const bool in_order = arguments.form == Form::sum_to_all;
    float sums[together][unit_columns];
#pragma unroll
    for (int i = 0; i < together * unit_columns; ++i) {
      sums[i / unit_columns][i % unit_columns] = 0.0f;
    }
#pragma unroll 1
    for (int step = 0; step < exchange().size(); ++step) {
      const int from = in_order ? step : exchange().peer(step);
      std::uint32_t words[together * unit_words];
      const bool own = from == exchange().rank();
      if (!own) receive_elements(words, units, first, task, from, start);
      for_units<together>(units, first, [&](int b, const Unit& unit) {
        float theirs[unit_columns];
        if (own) {
          read(theirs, unit);
          std::uint32_t rounded[unit_words];
          round(rounded, theirs);
          if (in_order) unpack_unit(theirs, rounded, 0);
        } else {
          unpack_unit(theirs, words, b);
        }
#pragma unroll
        for (int e = 0; e < unit_columns; ++e) sums[b][e] += theirs[e];
      });
    }
    for_units<together>(units, first, [&](int b, const Unit& unit) { write(sums[b], unit); });
  }
  template <int Words>
  __device__ __forceinline__ static void unpack_unit(float (&sums)[unit_columns],
                                                     const std::uint32_t (&words)[Words], int b) {
#pragma unroll
    for (int i = 0; i < unit_words; ++i) {
      const float2 pair = unpack<T>(words[b * unit_words + i]);
      sums[2 * i] = pair.x, sums[2 * i + 1] = pair.y;
    }
  }
  __device__ __forceinline__ void receive_elements(std::uint32_t (&words)[together * unit_words],
                                                   const Units& units, int first, const Task& task,
                                                   int from, std::uint64_t start) {
    const Packet* packets[together];
#pragma unroll
    for (int b = 0; b < together; ++b) {
      Unit unit;
      packets[b] = units.find_in_share(first + b * consumer_threads, unit)
                       ? packet(task, unit, from, exchange().rank())
                       : nullptr;
    }
    receive<Units::most>(words, packets, {WaitPhase::peer_partial, from}, start);
  }
  template <int Stride, int Words, int Count>
  __device__ __forceinline__ void receive(std::uint32_t (&words)[Words],
                                          const Packet* const (&from)[Count], WaitSite site,
                                          std::uint64_t start) {
    if (given_up) return;
    given_up = !receive_packets<Stride>(exchange(), site, from, words, flag(), start);
  }

  /// Calls body(b, unit) for those of `Count` units of this thread, from `first`, that exist.
  template <int Count, class Body>
  __device__ __forceinline__ static void for_units(const Units& units, int first,
                                                   const Body& body) {
#pragma unroll
    for (int b = 0; b < Count; ++b) {
      Unit unit;
      if (units.find_in_share(first + b * consumer_threads, unit)) body(b, unit);
    }
  }

  /// First packet of a unit's elements from rank to rank, in the memory of the receiver; those
  /// after it are Units::most apart.
  __device__ Packet* packet(const Task& task, const Unit& unit, int from, int to) const {
    constexpr std::int64_t tile_bytes = Units::most * unit_words / 2 * sizeof(Packet);
    char* const tile = exchange().packets_at(call, from, to, task.slot, tile_bytes);
    return reinterpret_cast<Packet*>(tile) + Units::number(unit);
  }

  /// `count` units of this thread, from `first`, rounded to the rows of rank `part`'s product in C.
  __device__ void store(const Units& units, int first, int count, const Task& task,
                        int part) const {
#pragma unroll 1
    for (int b = 0; b < count && units.reach(first + b * consumer_threads); ++b) {
      Unit unit;
      if (!units.find_in_share(first + b * consumer_threads, unit)) continue;
      float sums[unit_columns];
      read(sums, unit);
      std::uint32_t words[unit_words];
      round(words, sums);
      store(words, unit, task, part);
    }
  }
  /// Rounded, to the rows of rank `part`'s product in C.
  __device__ __forceinline__ void store(const std::uint32_t (&words)[unit_words], const Unit& unit,
                                        const Task& task, int part) const {
    const MatrixRef<std::uint16_t>& c = arguments.c_elements;
    const std::int64_t column = arguments.column_in_c(task) + unit.column;
    const int z = arguments.form == Form::send_to_all ? part : 0;
    std::uint16_t* const to = c.at(std::int64_t(z) * arguments.rows + task.row + unit.row, column);
    const std::int64_t left = c.cols - column;
    if (left >= unit_columns && c.col_stride == 1 &&
        reinterpret_cast<std::uintptr_t>(to) % sizeof(uint4) == 0) {
      *reinterpret_cast<uint4*>(to) = {words[0], words[1], words[2], words[3]};
      return;
    }
#pragma unroll
    for (int e = 0; e < unit_columns; ++e) {
      if (e < left) to[e * c.col_stride] = static_cast<std::uint16_t>(words[e / 2] >> (e % 2 * 16));
    }
  }
};

}  // namespace KokkosIris::Impl::Sm90

#endif
