// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// Tags for the order and the scope of atomics, signals and fences, and their desul equivalents.
///
/// Order and scope are types, so that a call chooses its instruction at compile time:
/// `atomic_add(d, p, 1, peer, relaxed, device_scope)`.

#ifndef KOKKOSIRIS_MEMORY_ORDER_HPP
#define KOKKOSIRIS_MEMORY_ORDER_HPP

#include <Kokkos_BitManipulation.hpp>
#include <Kokkos_Core.hpp>
#include <core/KokkosIris_GpuIntrinsics.hpp>
#include <cstdint>
#include <desul/atomics.hpp>
#include <type_traits>

namespace KokkosIris {

/// No ordering; only the access itself is atomic.
struct Relaxed {
  using desul_order = desul::MemoryOrderRelaxed;
};
/// Later accesses of the calling thread are not performed before this one.
struct Acquire {
  using desul_order = desul::MemoryOrderAcquire;
};
/// Earlier accesses of the calling thread are visible, at the scope, before this one.
struct Release {
  using desul_order = desul::MemoryOrderRelease;
};
/// Acquire and release in one read-modify-write; the default of every remote atomic.
struct AcqRel {
  using desul_order = desul::MemoryOrderAcqRel;
};

/// Threads of one team agree on the order.
struct TeamScope {
  using desul_scope = desul::MemoryScopeCore;
};
/// All threads of one device (on the host: of one process) agree on the order.
struct DeviceScope {
  using desul_scope = desul::MemoryScopeDevice;
};
/// All ranks of the context agree on the order; the default, and the only scope that may be used
/// for data which another rank reads or writes. (desul's node scope is `.sys` on CUDA; its system
/// scope has no CUDA code.)
struct SystemScope {
  using desul_scope = desul::MemoryScopeNode;
};

inline constexpr Relaxed relaxed{};
inline constexpr Acquire acquire{};
inline constexpr Release release{};
inline constexpr AcqRel acq_rel{};
inline constexpr TeamScope team_scope{};
inline constexpr DeviceScope device_scope{};
inline constexpr SystemScope system_scope{};

/// True for the four order tags.
template <class T>
inline constexpr bool is_memory_order_v =
    std::is_same_v<T, Relaxed> || std::is_same_v<T, Acquire> || std::is_same_v<T, Release> ||
    std::is_same_v<T, AcqRel>;
/// True for the three scope tags.
template <class T>
inline constexpr bool is_memory_scope_v =
    std::is_same_v<T, TeamScope> || std::is_same_v<T, DeviceScope> ||
    std::is_same_v<T, SystemScope>;

namespace Impl {

/// Reads a flag with acquire order at system scope: what its writer released before is visible.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION T load_acquire(const T* flag) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "flags have 4 or 8 bytes");
  KOKKOS_IF_ON_HOST((return __atomic_load_n(flag, __ATOMIC_ACQUIRE);))
  KOKKOS_IF_ON_DEVICE(
      (return Kokkos::bit_cast<T>(gpu_load_acquire(reinterpret_cast<const word_of<T>*>(flag)));))
}

/// Reads a flag that may change at any time, without ordering anything.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION T load_relaxed(const T* flag) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "flags have 4 or 8 bytes");
  KOKKOS_IF_ON_HOST((return __atomic_load_n(flag, __ATOMIC_RELAXED);))
  KOKKOS_IF_ON_DEVICE(
      (return Kokkos::bit_cast<T>(gpu_load_relaxed(reinterpret_cast<const word_of<T>*>(flag)));))
}

/// Writes a flag that others may read at any time, without ordering anything.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION void store_relaxed(T* flag, T value) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "flags have 4 or 8 bytes");
  KOKKOS_IF_ON_HOST((__atomic_store_n(flag, value, __ATOMIC_RELAXED);))
  KOKKOS_IF_ON_DEVICE((
      gpu_store_relaxed(reinterpret_cast<word_of<T>*>(flag), Kokkos::bit_cast<word_of<T>>(value));))
}

/// Writes a flag with release order at system scope: everything that the calling thread did before,
/// and everything it observed through a team barrier before, is visible to whoever acquires it.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION void store_release(T* flag, T value) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "flags have 4 or 8 bytes");
  KOKKOS_IF_ON_HOST((__atomic_store_n(flag, value, __ATOMIC_RELEASE);))
  KOKKOS_IF_ON_DEVICE((
      gpu_store_release(reinterpret_cast<word_of<T>*>(flag), Kokkos::bit_cast<word_of<T>>(value));))
}

/// Several flags that release the same: begin_release(), then store_in_release() for each, is as
/// store_release() for each. On GPUs a release waits until earlier stores have arrived, those to
/// other flags included, so it is made once.
KOKKOS_FORCEINLINE_FUNCTION void begin_release() { KOKKOS_IF_ON_DEVICE((gpu_fence_release();)) }
template <class T>
KOKKOS_FORCEINLINE_FUNCTION void store_in_release(T* flag, T value) {
  KOKKOS_IF_ON_HOST((store_release(flag, value);))
  KOKKOS_IF_ON_DEVICE((store_relaxed(flag, value);))
}

/// Team barrier after which one thread of the team releases what all of them wrote.
template <class TeamMember>
KOKKOS_FORCEINLINE_FUNCTION void barrier_before_release(const TeamMember& team) {
  KOKKOS_IF_ON_DEVICE((gpu_finish_stores();))
  team.team_barrier();
}

/// Sequentially consistent fence at system scope.
KOKKOS_FORCEINLINE_FUNCTION void fence_system() {
  KOKKOS_IF_ON_HOST((__atomic_thread_fence(__ATOMIC_SEQ_CST);))
  KOKKOS_IF_ON_DEVICE((gpu_fence();))
}

/// \name Read-modify-writes by desul on devices
/// fence_before_atomic() first, then the operation in the order that is left. Where a release is
/// not a fence of its own (gpu_releases_by_fence) there is none, and the order stays. A team needs
/// none: its threads share a cache.
///@{
template <class Order, class Scope>
inline constexpr bool fences_before_atomic_v =
    gpu_releases_by_fence && (std::is_same_v<Order, Release> ||
                              std::is_same_v<Order, AcqRel>)&&!std::is_same_v<Scope, TeamScope>;
template <class Order, class Scope>
using order_after_fence = typename std::conditional_t<
    !fences_before_atomic_v<Order, Scope>, Order,
    std::conditional_t<std::is_same_v<Order, AcqRel>, Acquire, Relaxed>>::desul_order;
template <class Order, class Scope>
KOKKOS_FORCEINLINE_FUNCTION void fence_before_atomic() {
  if constexpr (fences_before_atomic_v<Order, Scope>) {
    if constexpr (std::is_same_v<Scope, SystemScope>) {
      KOKKOS_IF_ON_DEVICE((gpu_fence_release();))
    } else {
      KOKKOS_IF_ON_DEVICE((gpu_fence_release_on_device();))
    }
  }
}
///@}

/// Adds 1 to a counter of the teams of a kernel, in acquire and release order.
/// \return the value before
KOKKOS_FORCEINLINE_FUNCTION std::uint64_t count_team(std::uint64_t* counter) {
  KOKKOS_IF_ON_HOST((return __atomic_fetch_add(counter, std::uint64_t(1), __ATOMIC_ACQ_REL);))
  KOKKOS_IF_ON_DEVICE((fence_before_atomic<AcqRel, DeviceScope>(); return desul::atomic_fetch_add(
                           counter, std::uint64_t(1), order_after_fence<AcqRel, DeviceScope>{},
                           desul::MemoryScopeDevice{});))
}

}  // namespace Impl
}  // namespace KokkosIris

#endif
