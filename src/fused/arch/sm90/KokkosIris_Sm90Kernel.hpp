// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// The kernel of the fused operations on Hopper GPUs: roles of the warps, begin and end.

#ifndef KOKKOSIRIS_SM90_KERNEL_HPP
#define KOKKOSIRIS_SM90_KERNEL_HPP

#include <Kokkos_Core.hpp>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <fused/arch/sm90/KokkosIris_Sm90Consumer.hpp>
#include <fused/arch/sm90/KokkosIris_Sm90Courier.hpp>
#include <fused/arch/sm90/KokkosIris_Sm90Producer.hpp>
#include <fused/arch/sm90/KokkosIris_Sm90Pusher.hpp>
#include <fused/arch/sm90/KokkosIris_Sm90SmallTiles.hpp>

namespace KokkosIris::Impl::Sm90 {

/// One thread: the barriers of the block. Reads none of the arguments: the first access to a line
/// of them takes as long as all of this.
template <int Columns, bool Small>
__device__ void begin_block(SharedAddress shared) {
  using Layout = SharedLayout<Columns, Small>;
#pragma unroll
  for (int stage = 0; stage < Layout::most_stages; ++stage) {
    barrier_init(shared + Layout::full + 8 * stage, 1);
    barrier_init(shared + Layout::empty + 8 * stage, Layout::releases);
  }
#pragma unroll
  for (int half = 0; half < (Small ? 0 : halves); ++half) {
    barrier_init(shared + Layout::ready + 8 * half, 1);
    barrier_init(shared + Layout::filled + 8 * half, 4);  // one lane of each warp
    barrier_init(shared + Layout::fetched + 8 * half, 1);
  }
  fence_barriers();
}

/// Each warp fetches another line of the arguments, so that they come all at once and not when each
/// is first needed.
__device__ __forceinline__ void touch_arguments(const Arguments& arguments) {
  constexpr int words_of_line = 16, begin = offsetof(Arguments, exchange) / 4;
  constexpr int end = sizeof(Arguments) / 4;
  const int word = begin + static_cast<int>(threadIdx.x / 32) * words_of_line;
  if (word >= end) return;
  // The compiler must not see that nothing depends on it.
  if (reinterpret_cast<const int*>(&arguments)[word] == INT_MIN + 1) gpu_sleep(1);
}

/// One thread, `arrivals` times in all blocks of the rank: the last arrival ends the call, as far
/// as its number goes. Once the call is given up the count is another one, and no arrival the last.
__device__ inline void end_call(const Exchange& exchange, std::uint64_t call,
                                std::uint64_t arrivals) {
  CallWords& local = *exchange.local;
  const auto before =
      desul::atomic_fetch_add(&local.finished.value, std::uint64_t(1), desul::MemoryOrderAcqRel{},
                              desul::MemoryScopeDevice{});
  if (before + 1 != arrivals) return;
  if (exchange.gathered != nullptr) {
    for (int step = 1; step < exchange.size(); ++step) {
      store_release(
          exchange.context.translate(&exchange.done[exchange.rank()].value, exchange.peer(step)),
          call);
    }
    for (int step = 1; step < exchange.size(); ++step) {
      if (!exchange.wait_done(call, exchange.peer(step))) return;
    }
  }
  local.finished.value = 0;
  // An addition, because another block may be giving up. The next kernel reads it.
  desul::atomic_add(&local.call.value, std::uint64_t(1), desul::MemoryOrderRelaxed{},
                    desul::MemoryScopeDevice{});
}

/// The warps of a block: one warpgroup of the producer (warp 0), the couriers of large tiles (1 and
/// 2) and one for the rest, and two warpgroups of consumers.
template <class T, int Columns, bool TransposedA, bool TransposedB, bool Small>
__device__ void carry(const Arguments& arguments, SharedAddress shared, std::uint64_t call) {
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const Exchange& exchange = arguments.exchange;
  if (warp == 0) {
    if (lane == 0) {
      Producer<Columns, TransposedA, TransposedB, Small>{arguments, shared, call}.run();
    }
    return;
  }
  // All of the block have read the number of the call, which is all that counts unless peers have
  // to be told that this rank has read what they sent. So the end of the kernel is shorter.
  const bool gathers = exchange.gathered != nullptr;
  if (warp == 3 && lane == 0 && !gathers) end_call(exchange, call, gridDim.x);
  if (warp == 3 && lane == 0 && blockIdx.x == 0 && is_given_up(call)) {
    wait_for_error(exchange.context);
  }
  constexpr int pushing_warps = Small ? 3 : 1;
  if (exchange.piece_rows > 0 && !is_given_up(call) && warp > 3 - pushing_warps) {
    Pusher{arguments, lane, 3 - warp, pushing_warps}.run();
  }
  if constexpr (!Small) {
    if (warp < 3) Courier<Columns>{arguments, shared, call, warp - 1, lane}.run();
  }
}
template <class T, int Columns, bool TransposedA, bool TransposedB, bool Small>
__device__ void consume(const Arguments& arguments, SharedAddress shared, std::uint64_t call) {
  const int half = threadIdx.x / 128 - 1, thread = static_cast<int>(threadIdx.x % 128);
  if constexpr (Small) {
    SmallTileConsumer<T, Columns, TransposedA, TransposedB>(arguments, shared, half, thread, call)
        .run();
  } else {
    Consumer<T, Columns, TransposedA, TransposedB>{{arguments, shared, half, thread}}.run();
  }
  // The last products of the last tile have read the last stage.
  const bool gathers = arguments.exchange.gathered != nullptr;
  if (thread == 0 && gathers) end_call(arguments.exchange, call, std::uint64_t(halves) * gridDim.x);
}

/// All blocks run at once: they wait for each other and for other ranks.
/// \tparam Small see KokkosIris_Sm90SmallTiles.hpp
template <class T, int Columns, bool TransposedA, bool TransposedB, bool Small>
__global__ void __launch_bounds__(threads, 1)
    fused_matmul(const __grid_constant__ Arguments arguments) {
  extern __shared__ char dynamic_shared[];
  const SharedAddress shared = (shared_address(dynamic_shared) + 1023u) & ~1023u;
  if (threadIdx.x == 0) {
    begin_block<Columns, Small>(shared);
  } else {
    touch_arguments(arguments);
  }
  if (threadIdx.x == 32) prefetch_map(&arguments.a);
  if (threadIdx.x == 64) prefetch_map(&arguments.b);
  // Every thread reads it before the last arrival changes it.
  const std::uint64_t call = load_relaxed(&arguments.exchange.local->call.value);
  __syncthreads();
  if (threadIdx.x < 128) {
    shrink_registers<carrier_registers>();
    carry<T, Columns, TransposedA, TransposedB, Small>(arguments, shared, call);
  } else {
    grow_registers<consumer_registers>();
    consume<T, Columns, TransposedA, TransposedB, Small>(arguments, shared, call);
  }
}

}  // namespace KokkosIris::Impl::Sm90

#endif
