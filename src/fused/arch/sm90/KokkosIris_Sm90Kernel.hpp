// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// The kernel of the fused operations on Hopper GPUs: roles of the warps, begin and end.

#ifndef KOKKOSIRIS_SM90_KERNEL_HPP
#define KOKKOSIRIS_SM90_KERNEL_HPP

#include <Kokkos_Core.hpp>
#include <cstdint>
#include <fused/arch/sm90/KokkosIris_Sm90Consumer.hpp>
#include <fused/arch/sm90/KokkosIris_Sm90Courier.hpp>
#include <fused/arch/sm90/KokkosIris_Sm90Producer.hpp>
#include <fused/arch/sm90/KokkosIris_Sm90SmallTiles.hpp>

namespace KokkosIris::Impl::Sm90 {

/// One thread: the barriers of the block.
template <int Columns>
__device__ void begin_block(const Arguments& arguments, SharedAddress shared) {
  using Layout = SharedLayout<Columns>;
  prefetch_map(&arguments.a);
  prefetch_map(&arguments.b);
  for (int stage = 0; stage < Layout::stages; ++stage) {
    barrier_init(shared + Layout::full + 8 * stage, 1);
    barrier_init(shared + Layout::empty + 8 * stage, 4 * halves);  // one lane of each warp
  }
  for (int half = 0; half < halves; ++half) {
    barrier_init(shared + Layout::ready + 8 * half, 1);
    barrier_init(shared + Layout::filled + 8 * half, 4);  // one lane of each warp
    barrier_init(shared + Layout::fetched + 8 * half, 1);
  }
  fence_barriers();
}

/// One lane of a courier that has ended its work. The last one of the rank ends the call.
__device__ inline void end_courier(const Exchange& exchange, std::uint64_t call) {
  LocalWords& local = *exchange.local;
  const auto before =
      desul::atomic_fetch_add(&local.finished.value, std::uint64_t(1), desul::MemoryOrderAcqRel{},
                              desul::MemoryScopeDevice{});
  if (before + 1 != std::uint64_t(halves) * gridDim.x) return;
  if (exchange.gathered != nullptr) {
    for (int step = 1; step < exchange.size(); ++step) {
      store_release(
          exchange.context.translate(&exchange.done[exchange.rank()].value, exchange.peer(step)),
          call);
    }
    for (int step = 1; step < exchange.size(); ++step) {
      const int peer = exchange.peer(step);
      if (!wait_counter(exchange.context, {WaitPhase::peer_completion, peer},
                        &exchange.done[peer].value, call)) {
        return;
      }
    }
  }
  local.finished.value = 0;
  store_release(&local.call.value, call + 1);
}

/// A block is one warpgroup whose warps are the producer (warp 0), the couriers (1 and 2) and an
/// idle one, and two warpgroups of consumers. All blocks run at once: they wait for each other and
/// for other ranks.
/// \tparam Small see KokkosIris_Sm90SmallTiles.hpp
template <class T, int Columns, bool TransposedA, bool TransposedB, bool Small>
__global__ void __launch_bounds__(threads, 1)
    fused_matmul(const __grid_constant__ Arguments arguments) {
  using Layout = SharedLayout<Columns>;
  extern __shared__ char dynamic_shared[];
  const SharedAddress shared = (shared_address(dynamic_shared) + 1023u) & ~1023u;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, warpgroup = threadIdx.x / 128;
  if (threadIdx.x == 0) begin_block<Columns>(arguments, shared);
  // Every block reads it before the last courier of the rank changes it.
  const std::uint64_t call = load_relaxed(&arguments.exchange.local->call.value);
  __syncthreads();

  if (warpgroup == 0) {
    shrink_registers<carrier_registers>();
    if (warp == 0 && lane == 0) {
      Producer<Columns, TransposedA, TransposedB>{arguments, shared, call}.run();
    } else if (warp == 1 || warp == 2) {
      using Carrier = std::conditional_t<Small, SmallTileCourier<Columns>, Courier<Columns>>;
      Carrier carrier{arguments, shared, call, warp - 1, lane};
      carrier.run();
      if (lane == 0) end_courier(arguments.exchange, call);
    }
  } else {
    grow_registers<consumer_registers>();
    const int half = warpgroup - 1, thread = static_cast<int>(threadIdx.x % 128);
    if constexpr (Small) {
      SmallTileConsumer<T, Columns, TransposedA, TransposedB>(arguments, shared, half, thread, call)
          .run();
    } else {
      Consumer<T, Columns, TransposedA, TransposedB>{arguments, shared, half, thread}.run();
    }
  }
}

}  // namespace KokkosIris::Impl::Sm90

#endif
