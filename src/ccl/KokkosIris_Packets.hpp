// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// Small messages whose words carry their own flags, so that they need neither a fence nor a second
/// trip (the idea of NCCL's "LL" protocol).

#ifndef KOKKOSIRIS_PACKETS_HPP
#define KOKKOSIRIS_PACKETS_HPP

#include <Kokkos_Core.hpp>
#include <core/KokkosIris_DeviceContext.hpp>
#include <core/KokkosIris_DeviceControl.hpp>
#include <core/KokkosIris_GpuPairs.hpp>
#include <core/KokkosIris_Wait.hpp>
#include <cstdint>
#include <type_traits>

namespace KokkosIris::Impl {

/// Two words of four bytes of data and four bytes of flag each.
struct alignas(16) Packet {
  std::uint64_t words[2];
  static constexpr std::int64_t payload_bytes = 8;
};

/// The flag of a call; never that of memory that was cleared.
KOKKOS_INLINE_FUNCTION std::uint32_t packet_flag(std::uint64_t call) {
  return static_cast<std::uint32_t>(call & 0x7fffffffu) + 1u;
}

/// Both words are single-copy atomic, so one whose flag is right has its data. Orders nothing else.
KOKKOS_FORCEINLINE_FUNCTION void store_packet(Packet* to, std::uint64_t payload,
                                              std::uint32_t flag) {
  const std::uint64_t high = std::uint64_t(flag) << 32;
  const std::uint64_t first = high | (payload & 0xffffffffu), second = high | payload >> 32;
  KOKKOS_IF_ON_HOST((__atomic_store_n(&to->words[0], first, __ATOMIC_RELAXED);
                     __atomic_store_n(&to->words[1], second, __ATOMIC_RELAXED);))
  KOKKOS_IF_ON_DEVICE((gpu_store_pair_relaxed(to->words, first, second);))
}

/// \return true if both words have the flag; `payload` is then what was stored with it
KOKKOS_FORCEINLINE_FUNCTION bool load_packet(const Packet* from, std::uint32_t flag,
                                             std::uint64_t& payload) {
  std::uint64_t first = 0, second = 0;
  KOKKOS_IF_ON_HOST((first = __atomic_load_n(&from->words[0], __ATOMIC_RELAXED);
                     second = __atomic_load_n(&from->words[1], __ATOMIC_RELAXED);))
  KOKKOS_IF_ON_DEVICE((gpu_load_pair_relaxed(from->words, first, second);))
  payload = (first & 0xffffffffu) | second << 32;
  return first >> 32 == flag && second >> 32 == flag;
}

/// As wait() for all threads of a kernel at once, each for its own: on GPUs they look up the less
/// often the more they are, because the abort word is host memory.
/// \param crowd threads that wait, about
template <class Ready>
KOKKOS_INLINE_FUNCTION bool wait_in_crowd(const DeviceContext& context, WaitSite site,
                                          [[maybe_unused]] std::uint64_t crowd, Ready&& ready) {
  KOKKOS_IF_ON_HOST((return wait(context, site, ready);))
  KOKKOS_IF_ON_DEVICE((const DeviceState& state = context.state();
                       for (int spin = 0; spin < state.spins; ++spin) {
                         if (ready()) return true;
                       } constexpr std::uint64_t threads_per_look = 64;
                       DeviceWaitSettings settings = state.control->wait;
                       settings.look_ticks *= 1 + crowd / threads_per_look;
                       return wait_on_device(settings, site, ready);))
}

}  // namespace KokkosIris::Impl

#endif
