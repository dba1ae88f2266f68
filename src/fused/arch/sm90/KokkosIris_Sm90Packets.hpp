// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// Small messages whose data carry their own flags, so that they need no fence and no second trip
/// (the idea of NCCL's "LL" protocol). They travel from the registers of one block to those of
/// another, on this or another device.

#ifndef KOKKOSIRIS_SM90_PACKETS_HPP
#define KOKKOSIRIS_SM90_PACKETS_HPP

#include <Kokkos_Core.hpp>
#include <core/KokkosIris_Wait.hpp>
#include <cstdint>
#include <fused/arch/sm90/KokkosIris_Sm90Exchange.hpp>

namespace KokkosIris::Impl::Sm90 {

/// Two words, each with its flag. 16 bytes.
struct alignas(16) Packet {
  std::uint64_t first, second;
};

/// Packets of so many elements of 16 bits.
KOKKOS_FUNCTION constexpr int packets_of(int elements) { return elements / 4; }

/// The flag of a call; never that of memory that was cleared.
__device__ __forceinline__ std::uint32_t packet_flag(std::uint64_t call) {
  return static_cast<std::uint32_t>(call & 0x7fffffffu) + 1u;
}

/// Both halves are single-copy atomic (PTX memory model: 64-bit elements of a vector access), so a
/// half whose flag is right has its data. Orders nothing else.
__device__ __forceinline__ void store_packet(Packet* to, std::uint32_t first, std::uint32_t second,
                                             std::uint32_t flag) {
  const std::uint64_t high = std::uint64_t(flag) << 32;
  __asm__ volatile("st.relaxed.sys.global.v2.b64 [%0], {%1, %2};" ::"l"(to), "l"(high | first),
                   "l"(high | second)
                   : "memory");
}
/// \return true if both halves have the flag
__device__ __forceinline__ bool load_packet(const Packet* from, std::uint32_t flag,
                                            std::uint32_t& first, std::uint32_t& second) {
  std::uint64_t a, b;
  __asm__ volatile("ld.relaxed.sys.global.v2.b64 {%0, %1}, [%2];"
                   : "=l"(a), "=l"(b)
                   : "l"(from)
                   : "memory");
  first = static_cast<std::uint32_t>(a);
  second = static_cast<std::uint32_t>(b);
  return (a >> 32) == flag && (b >> 32) == flag;
}

/// Lane 0 of a warp that waits looks whether to give up, and then gives the workspace up. Not
/// inlined: it is rare, and the compiler must see no divergence near products.
__device__ __noinline__ inline bool gives_up(const Exchange& exchange, WaitSite site,
                                             std::uint64_t start) {
  const DeviceWaitSettings& settings = exchange.context.state().control->wait;
  const std::uint64_t now = gpu_ticks();
  const DeviceLook look = look_on_device(settings, site, start, now);
  if (look == DeviceLook::go_on) return false;
  if (look == DeviceLook::late) declare_late(settings, site, now);
  exchange.give_up();
  return true;
}

/// Waits for packets. All lanes of a warp call, and wait for each other.
/// \tparam Stride packets between those of one message, of which words[] receives one after the
///         other
/// \param from first packets of this lane's messages, null for those that it does without
/// \param start when the wait began (gpu_ticks)
/// \return false if the wait, and so the workspace, was given up
template <int Stride, int Messages, int Words>
__device__ __forceinline__ bool receive_packets(const Exchange& exchange, WaitSite site,
                                                const Packet* const (&from)[Messages],
                                                std::uint32_t (&words)[Words], std::uint32_t flag,
                                                std::uint64_t start) {
  constexpr int packets = Words / Messages / 2;
  constexpr unsigned all_lanes = 0xffffffffu, polls_per_look = 1024;
#pragma unroll 1
  for (unsigned polls = 1;; ++polls) {
    bool all = true;
#pragma unroll
    for (int i = 0; i < Messages * packets; ++i) {
      const Packet* const message = from[i / packets];
      if (message == nullptr) continue;
      all =
          load_packet(message + i % packets * Stride, flag, words[2 * i], words[2 * i + 1]) && all;
    }
    if (__all_sync(all_lanes, all)) return true;
    if (polls % polls_per_look != 0) continue;
    const bool stop = threadIdx.x % 32 == 0 && gives_up(exchange, site, start);
    if (__any_sync(all_lanes, stop)) return false;
  }
}

}  // namespace KokkosIris::Impl::Sm90

#endif
