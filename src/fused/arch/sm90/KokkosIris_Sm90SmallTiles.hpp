// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// Consumers and couriers for products of few rows, where latency counts: K may be divided among
/// blocks, and everything that blocks exchange travels in packets between the consumers' registers.

#ifndef KOKKOSIRIS_SM90_SMALL_TILES_HPP
#define KOKKOSIRIS_SM90_SMALL_TILES_HPP

#include <cstdint>
#include <fused/arch/sm90/KokkosIris_Sm90Consumer.hpp>
#include <fused/arch/sm90/KokkosIris_Sm90Courier.hpp>
#include <fused/arch/sm90/KokkosIris_Sm90Packets.hpp>

namespace KokkosIris::Impl::Sm90 {

/// One of the two consumer warpgroups; all its threads call. The block of part 0 of K adds the
/// sums of the other parts, in float; then ranks exchange elements, rounded:
/// - sum_to_owner: foreign tiles go to their owner, who adds them to its own sums;
/// - sum_to_all: every tile goes to all, and all add the same in rank order;
/// - send_to_all: every tile goes to all, who store it.
///
/// Blocks that wait for others come later in the order of tasks than those they wait for. Packets
/// for other ranks exist for even and odd calls, as images do (Exchange).
template <class T, int Columns, bool TransposedA, bool TransposedB>
struct SmallTileConsumer : Consumer<T, Columns, TransposedA, TransposedB> {
  using Base = Consumer<T, Columns, TransposedA, TransposedB>;
  using Base::arguments;
  using Base::half;
  using Base::thread;
  static constexpr int sum_words = Columns / 2;   ///< of a thread, in float
  static constexpr int pair_words = Columns / 4;  ///< the same, rounded

  std::uint64_t call;
  bool given_up = false;

  __device__ SmallTileConsumer(const Arguments& a, SharedAddress shared, int half_, int thread_,
                               std::uint64_t call_)
      : Base{a, shared, half_, thread_}, call(call_) {}

  __device__ void run() {
    TileWalk walk = arguments.walk(blockIdx.x, gridDim.x);
    for (Task task; walk.next(task);) {
      const int blocks = arguments.blocks_of(task.part).count();
      if (!arguments.has_rows(task, half)) {
        this->pass_stages(blocks);
        continue;
      }
      float sums[sum_words];
      multiply_tile(sums, blocks);
      if (task.part > 0) {
        send_part(sums, task);
        continue;
      }
      for (int part = 1; part < arguments.tiles.parts; ++part) add_part(sums, task, part);
      this->add_bias(sums, task);
      finish(sums, task);
    }
  }

 private:
  /// Words that travel together: of parts of K, and rounded.
  static constexpr int sum_group = packet_group<sum_words>;
  static constexpr int pair_group = packet_group<pair_words>;
  using SumGroup = std::uint32_t[sum_group];
  using PairGroup = std::uint32_t[pair_group];

  __device__ const Exchange& exchange() const { return arguments.exchange; }
  __device__ std::uint32_t flag() const { return packet_flag(call); }

  /// The products get registers of their own. If what other code writes, after waits that threads
  /// may leave at different times, could flow into them, the compiler would make each product wait
  /// for the one before (ptxas C7514, C7520); it cannot see through the moves.
  __device__ __forceinline__ void multiply_tile(float (&sums)[sum_words], int blocks) {
    float products[sum_words];
#pragma unroll
    for (int i = 0; i < sum_words; ++i) products[i] = 0.0f;
    this->accumulate(products, blocks);
#pragma unroll
    for (int i = 0; i < sum_words; ++i) {
      __asm__ volatile("mov.b32 %0, %1;" : "=f"(sums[i]) : "f"(products[i]));
    }
  }

  __device__ void send_part(const float (&sums)[sum_words], const Task& task) const {
    char* const to = part_packets(task, task.part);
#pragma unroll
    for (int begin = 0; begin < sum_words; begin += sum_group) {
      SumGroup words;
#pragma unroll
      for (int i = 0; i < sum_group; ++i) words[i] = __float_as_uint(sums[begin + i]);
      send_packets(to, begin, words, flag(), thread);
    }
  }
  __device__ void add_part(float (&sums)[sum_words], const Task& task, int part) {
    const char* const from = part_packets(task, part);
    const std::uint64_t start = gpu_ticks();
#pragma unroll
    for (int begin = 0; begin < sum_words; begin += sum_group) {
      SumGroup words;
      receive(words, from, begin, {WaitPhase::operand_packed, -1}, start);
#pragma unroll
      for (int i = 0; i < sum_group; ++i) sums[begin + i] += __uint_as_float(words[i]);
    }
  }
  /// Between blocks of this rank, of one half of a tile and a part of K other than 0.
  __device__ char* part_packets(const Task& task, int part) const {
    const std::int64_t tile =
        std::int64_t(task.owner % arguments.tiles.chunks) * arguments.tiles.slots() + task.slot;
    const std::int64_t number = (tile * (arguments.tiles.parts - 1) + part - 1) * halves + half;
    return exchange().part_packets + number * packet_bytes(sum_words);
  }
  /// Between ranks, of one half of a tile.
  __device__ char* packets(const Task& task, int from, int to) const {
    return exchange().packets_at(call, from, to, task.slot, half, packet_bytes(pair_words));
  }

  template <int Group>
  __device__ __forceinline__ void receive(std::uint32_t (&words)[Group], const char* from,
                                          int begin, WaitSite site, std::uint64_t start) {
    if (given_up) return;
    given_up =
        !receive_packets(exchange().context, site, from, begin, words, flag(), thread, start);
  }

  /// What becomes of a tile whose sums over K are complete.
  __device__ void finish(float (&sums)[sum_words], const Task& task) {
    if (arguments.form == Form::sum_to_owner) {
      if (arguments.is_foreign(task)) return send(sums, task, task.owner);
      add_others(sums, task);
    } else if (arguments.form != Form::product) {
      for (int step = 1; step < exchange().size(); ++step) send(sums, task, exchange().peer(step));
    }
    if (arguments.form == Form::sum_to_all) add_in_rank_order(sums, task);
    emit(sums);
    if (arguments.form != Form::send_to_all) return;
    for (int step = 1; step < exchange().size(); ++step) {
      take(sums, task, exchange().peer(step));
      emit(sums);
    }
  }

  /// Rounded, to another rank.
  __device__ void send(const float (&sums)[sum_words], const Task& task, int to) const {
    if (given_up) return;
    char* const there = packets(task, exchange().rank(), to);
#pragma unroll
    for (int begin = 0; begin < pair_words; begin += pair_group) {
      PairGroup words;
      round(words, sums, begin);
      send_packets(there, begin, words, flag(), thread);
    }
  }
  /// sums += those of all other ranks.
  __device__ void add_others(float (&sums)[sum_words], const Task& task) {
    const std::uint64_t start = gpu_ticks();
    for (int step = 1; step < exchange().size(); ++step) {
      for_received(task, exchange().peer(step), start,
                   [&](int at, std::uint32_t word) { add(sums, at, word); });
    }
  }
  /// sums = the sum of all ranks' rounded ones: the same bits on every rank.
  __device__ void add_in_rank_order(float (&sums)[sum_words], const Task& task) {
    const std::uint64_t start = gpu_ticks();
#pragma unroll
    for (int begin = 0; begin < pair_words; begin += pair_group) {
      PairGroup own;
      round(own, sums, begin);
#pragma unroll
      for (int i = 0; i < 2 * pair_group; ++i) sums[2 * begin + i] = 0.0f;
      for (int from = 0; from < exchange().size(); ++from) {
        PairGroup words;
#pragma unroll
        for (int i = 0; i < pair_group; ++i) words[i] = own[i];
        if (from != exchange().rank()) {
          receive(words, packets(task, from, exchange().rank()), begin,
                  {WaitPhase::peer_partial, from}, start);
        }
#pragma unroll
        for (int i = 0; i < pair_group; ++i) add(sums, 2 * (begin + i), words[i]);
      }
    }
  }
  /// sums = another rank's.
  __device__ void take(float (&sums)[sum_words], const Task& task, int from) {
    for_received(task, from, gpu_ticks(), [&](int at, std::uint32_t word) {
      const float2 pair = unpack<T>(word);
      sums[at] = pair.x;
      sums[at + 1] = pair.y;
    });
  }
  /// Calls body(at, word) for each rounded word of another rank, which holds the sums at and at
  /// + 1.
  template <class Body>
  __device__ __forceinline__ void for_received(const Task& task, int from, std::uint64_t start,
                                               const Body& body) {
    const char* const here = packets(task, from, exchange().rank());
#pragma unroll
    for (int begin = 0; begin < pair_words; begin += pair_group) {
      PairGroup words;
      receive(words, here, begin, {WaitPhase::peer_partial, from}, start);
#pragma unroll
      for (int i = 0; i < pair_group; ++i) body(2 * (begin + i), words[i]);
    }
  }

  __device__ __forceinline__ static void round(PairGroup& words, const float (&sums)[sum_words],
                                               int begin) {
#pragma unroll
    for (int i = 0; i < pair_group; ++i) {
      words[i] = pack<T>(sums[2 * (begin + i)], sums[2 * (begin + i) + 1]);
    }
  }
  __device__ __forceinline__ static void add(float (&sums)[sum_words], int at, std::uint32_t word) {
    const float2 pair = unpack<T>(word);
    sums[at] += pair.x;
    sums[at + 1] += pair.y;
  }
  /// To the courier.
  __device__ void emit(const float (&sums)[sum_words]) {
    this->ready.wait();
    this->write_image(sums);
  }
};

/// The courier that goes with it: images to C.
template <int Columns>
struct SmallTileCourier : Courier<Columns> {
  using Base = Courier<Columns>;
  using Base::arguments;

  __device__ void run() {
    const Exchange& exchange = arguments.exchange;
    TileWalk walk = arguments.walk(blockIdx.x, gridDim.x);
    for (Task task; walk.next(task);) {
      if (!arguments.has_rows(task, this->half) || task.part > 0) continue;
      if (arguments.is_foreign(task)) continue;
      const int images = arguments.form == Form::send_to_all ? exchange.size() : 1;
      for (int step = 0; step < images; ++step) {
        this->hand_over();
        this->filled.wait();
        this->store(task, exchange.peer(step), arguments.c_column_major);
        this->end_fetch();
      }
    }
    this->end();
  }
};

}  // namespace KokkosIris::Impl::Sm90

#endif
