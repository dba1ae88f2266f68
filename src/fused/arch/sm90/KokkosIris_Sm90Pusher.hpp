// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// The warps that send a small shard of A to the other ranks, for which copy engines take too long
/// to begin.

#ifndef KOKKOSIRIS_SM90_PUSHER_HPP
#define KOKKOSIRIS_SM90_PUSHER_HPP

#include <Kokkos_Core.hpp>
#include <cstdint>
#include <fused/arch/sm90/KokkosIris_Sm90Arguments.hpp>

namespace KokkosIris::Impl::Sm90 {

/// A warp, of which each block has as many; all its lanes call. All warps take the pieces of the
/// shard in turns. The peers have read what the call before sent: their `done` was waited for at
/// its end.
struct Pusher {
  const Arguments& arguments;
  int lane;
  int warp;   ///< number of the warp among those of its block that push
  int warps;  ///< how many there are

  __device__ void run() const {
    const Exchange& exchange = arguments.exchange;
    const int workers = warps * static_cast<int>(gridDim.x);
    int next = warp * static_cast<int>(gridDim.x) + static_cast<int>(blockIdx.x);
    for (int chunk = 0; chunk < exchange.chunks; ++chunk) {
      const int pieces = exchange.pieces_of(chunk);
      for (; next < pieces; next += workers) {
        for (int step = 1; step < exchange.size(); ++step) push(chunk, next, exchange.peer(step));
      }
      next -= pieces;
    }
  }

 private:
  __device__ void push(int chunk, int piece, int peer) const {
    const Exchange& exchange = arguments.exchange;
    const int end = min(exchange.rows, (chunk + 1) * exchange.chunk_rows);
    const int begin = chunk * exchange.chunk_rows + piece * exchange.piece_rows;
    const int row_vectors = arguments.shard_vectors;
    const int count = min(exchange.piece_rows, end - begin) * row_vectors;
    const auto* const from =
        reinterpret_cast<const uint4*>(arguments.shard) + begin * arguments.shard_pitch;
    auto* const there =
        reinterpret_cast<uint4*>(exchange.context.translate(exchange.gathered_for(peer), peer)) +
        std::int64_t(begin) * row_vectors;
    // As many loads under way as there are registers for.
    constexpr int together = 8;
    for (int first = lane; first < count; first += 32 * together) {
      uint4 vectors[together];
#pragma unroll
      for (int i = 0; i < together; ++i) {
        const int at = first + 32 * i, row = at / row_vectors;
        if (at < count) vectors[i] = from[row * arguments.shard_pitch + (at - row * row_vectors)];
      }
#pragma unroll
      for (int i = 0; i < together; ++i) {
        if (first + 32 * i < count) there[first + 32 * i] = vectors[i];
      }
    }
    // All lanes' stores before the count, which the peer acquires.
    __syncwarp();
    if (lane != 0) return;
    begin_release();
    desul::atomic_inc(exchange.context.translate(exchange.arrived_for(chunk), peer),
                      desul::MemoryOrderRelaxed{}, desul::MemoryScopeNode{});
  }
};

}  // namespace KokkosIris::Impl::Sm90

#endif
