// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// Small messages whose data carry their own flags, so that they need no fence and no second trip
/// (the idea of NCCL's "LL" protocol). They travel from registers to registers of the same threads
/// of another block, on this or another device, whatever the layout of C.

#ifndef KOKKOSIRIS_SM90_PACKETS_HPP
#define KOKKOSIRIS_SM90_PACKETS_HPP

#include <Kokkos_Core.hpp>
#include <core/KokkosIris_Wait.hpp>
#include <cstdint>

namespace KokkosIris::Impl::Sm90 {

/// Two words, each with its flag. 16 bytes.
struct alignas(16) Packet {
  std::uint64_t first, second;
};

inline constexpr int packet_threads = 128;  ///< of a warpgroup
/// Bytes that a warpgroup's threads send with `words` words each.
KOKKOS_FUNCTION constexpr int packet_bytes(int words) {
  return words / 2 * packet_threads * int(sizeof(Packet));
}

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

/// Words of a thread that are sent and received together: as many as there are registers for beside
/// the sums, because each group that is waited for takes a trip to the memory.
template <int Words>
inline constexpr int packet_group = Words < 32 ? Words : 32;

/// Sends words to the same thread of another warpgroup; `begin` is the number of the first one.
template <int Group>
__device__ __forceinline__ void send_packets(char* to, int begin,
                                             const std::uint32_t (&words)[Group],
                                             std::uint32_t flag, int thread) {
  Packet* const packets = reinterpret_cast<Packet*>(to) + thread;
#pragma unroll
  for (int i = 0; i < Group; i += 2) {
    store_packet(packets + (begin + i) / 2 * packet_threads, words[i], words[i + 1], flag);
  }
}

/// Lane 0 of a warp that waits looks whether to give up. Not inlined: it is rare, and the compiler
/// must see no divergence near products.
__device__ __noinline__ inline bool gives_up(const DeviceWaitSettings& settings, WaitSite site,
                                             std::uint64_t start) {
  const std::uint64_t now = gpu_ticks();
  const DeviceLook look = look_on_device(settings, site, start, now);
  if (look == DeviceLook::late) declare_late(settings, site, now);
  return look != DeviceLook::go_on;
}

/// Waits for words of this thread. All lanes of a warp wait for each other.
/// \param start when the wait for this message began (gpu_ticks)
/// \return false if the wait was given up
template <int Group>
__device__ __forceinline__ bool receive_packets(const DeviceContext& context, WaitSite site,
                                                const char* from, int begin,
                                                std::uint32_t (&words)[Group], std::uint32_t flag,
                                                int thread, std::uint64_t start) {
  constexpr unsigned all_lanes = 0xffffffffu, polls_per_look = 1024;
  const Packet* const packets = reinterpret_cast<const Packet*>(from) + thread;
  for (unsigned polls = 1;; ++polls) {
    bool all = true;
#pragma unroll
    for (int i = 0; i < Group; i += 2) {
      const Packet* const packet = packets + (begin + i) / 2 * packet_threads;
      all = load_packet(packet, flag, words[i], words[i + 1]) && all;
    }
    if (__all_sync(all_lanes, all)) return true;
    if (polls % polls_per_look != 0) continue;
    const bool stop = thread % 32 == 0 && gives_up(context.state().control->wait, site, start);
    if (__any_sync(all_lanes, stop)) return false;
  }
}

}  // namespace KokkosIris::Impl::Sm90

#endif
