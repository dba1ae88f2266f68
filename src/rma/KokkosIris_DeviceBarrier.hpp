// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// The barrier across ranks inside kernels.

#ifndef KOKKOSIRIS_DEVICE_BARRIER_HPP
#define KOKKOSIRIS_DEVICE_BARRIER_HPP

#include <Kokkos_Core.hpp>
#include <core/KokkosIris_DeviceContext.hpp>
#include <core/KokkosIris_DeviceControl.hpp>
#include <core/KokkosIris_MemoryOrder.hpp>
#include <core/KokkosIris_Wait.hpp>
#include <cstdint>
#include <rma/KokkosIris_ViewTraits.hpp>
#include <rma/KokkosIris_WaitUntil.hpp>

namespace KokkosIris {
namespace Impl {

/// Counts one more barrier at another rank, in its memory: part of a release, see begin_release().
///
/// On GPUs by an addition, which needs not know the count: that is in memory, and every acquire
/// empties the first cache, so its latency would come before the way to the peer. On processors a
/// store, which nobody waits for.
KOKKOS_INLINE_FUNCTION void count_arrival(std::uint64_t* there,
                                          [[maybe_unused]] const std::uint64_t& own_count) {
  KOKKOS_IF_ON_HOST((store_in_release(there, own_count + 1);))
  KOKKOS_IF_ON_DEVICE((desul::atomic_add(there, std::uint64_t(1), desul::MemoryOrderRelaxed{},
                                         desul::MemoryScopeNode{});))
}

/// Tells every other rank that this one has entered one more barrier: a release to all of them.
/// \return how many this rank has entered
KOKKOS_INLINE_FUNCTION std::uint64_t announce_arrival(const DeviceContext& context) {
  const DeviceState& state = context.state();
  std::uint64_t& own_count = state.control->barrier_generation.value;
  if (state.size > 1) begin_release();
  for (int step = 1; step < state.size; ++step) {
    DeviceControl* const there = context.translate(state.control, state.peer_at(step));
    count_arrival(&there->arrivals()[state.rank].value, own_count);
  }
  return ++own_count;  // last: the fence would wait until the write has arrived
}

}  // namespace Impl

/// Barrier across ranks: returns when one thread of every rank has called it.
///
/// Orders at system scope: what the calling thread of any rank did or observed before is visible to
/// the calling threads of all ranks after it. Other threads take part through team barriers or
/// kernel boundaries before and after. One thread of a rank at a time; the kernels of all ranks
/// must be able to run at the same time. Copies of the copy engine are not covered (quiet before).
///
/// Every rank keeps the number of barriers it has entered in a word of its own on each rank, so a
/// rank polls its own memory only, and a barrier needs no reset: a rank may be one barrier ahead of
/// another.
/// \return false if given up, see wait_until
KOKKOS_INLINE_FUNCTION bool barrier(const DeviceContext& context) {
  const Impl::DeviceState& state = context.state();
  const std::uint64_t generation = Impl::announce_arrival(context);
  for (int step = 1; step < state.size; ++step) {
    const int peer = state.peer_at(step);
    if (!Impl::wait_counter(context, Impl::WaitSite{Impl::WaitPhase::device_barrier, peer},
                            &state.control->arrivals()[peer].value, generation)) {
      return false;
    }
  }
  return true;
}

/// As barrier(context), by a team of every rank: all threads of the team call it, and what each of
/// them did before on any rank is visible to all threads of all teams after it. One team of a rank
/// at a time.
template <Impl::TeamHandle TeamMember>
KOKKOS_INLINE_FUNCTION bool barrier(const TeamMember& team, const DeviceContext& context) {
  Impl::barrier_before_release(team);
  return Impl::once_for_all(team, [&] { return barrier(context); });
}

}  // namespace KokkosIris

#endif
