// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// The few instructions that kernels need and Kokkos does not offer: clock, sleep, and plain loads
/// and stores with an order at system scope. (desul's atomic_load is a read-modify-write, which
/// does not work on host memory across PCIe and is slow everywhere.)
///
/// One instruction, one function. The bodies are device code; on the host they do nothing, and must
/// not be called.

#ifndef KOKKOSIRIS_GPU_INTRINSICS_HPP
#define KOKKOSIRIS_GPU_INTRINSICS_HPP

#include <Kokkos_Core.hpp>
#include <cstdint>
#include <type_traits>

namespace KokkosIris::Impl {

#if defined(KOKKOS_ENABLE_CUDA)

#if defined(__CUDA_ARCH__)
#define KOKKOSIRIS_PTX(...) __asm__ volatile(__VA_ARGS__)
#else
#define KOKKOSIRIS_PTX(...)
#endif

/// Ticks of a clock that all multiprocessors of the device share (nanoseconds; it advances in steps
/// of up to a microsecond). See Gpu::ticks_per_second.
KOKKOS_FORCEINLINE_FUNCTION std::uint64_t gpu_ticks() {
  std::uint64_t ticks = 0;
  KOKKOSIRIS_PTX("mov.u64 %0, %%globaltimer;" : "=l"(ticks));
  return ticks;
}

/// Suspends the thread for about `nanoseconds`, at most twice as long and at most a millisecond.
KOKKOS_FORCEINLINE_FUNCTION void gpu_sleep([[maybe_unused]] unsigned nanoseconds) {
  KOKKOSIRIS_PTX("nanosleep.u32 %0;" ::"r"(nanoseconds));
}

/// ld.relaxed.sys: single-copy atomic, never from a stale cache, orders nothing.
KOKKOS_FORCEINLINE_FUNCTION std::uint32_t gpu_load_relaxed(
    [[maybe_unused]] const std::uint32_t* p) {
  std::uint32_t value = 0;
  KOKKOSIRIS_PTX("ld.relaxed.sys.u32 %0, [%1];" : "=r"(value) : "l"(p) : "memory");
  return value;
}
KOKKOS_FORCEINLINE_FUNCTION std::uint64_t gpu_load_relaxed(
    [[maybe_unused]] const std::uint64_t* p) {
  std::uint64_t value = 0;
  KOKKOSIRIS_PTX("ld.relaxed.sys.u64 %0, [%1];" : "=l"(value) : "l"(p) : "memory");
  return value;
}

/// ld.acquire.sys: what was released with the value read, by any GPU or the host, is visible to
/// later accesses of this thread.
KOKKOS_FORCEINLINE_FUNCTION std::uint32_t gpu_load_acquire(
    [[maybe_unused]] const std::uint32_t* p) {
  std::uint32_t value = 0;
  KOKKOSIRIS_PTX("ld.acquire.sys.u32 %0, [%1];" : "=r"(value) : "l"(p) : "memory");
  return value;
}
KOKKOS_FORCEINLINE_FUNCTION std::uint64_t gpu_load_acquire(
    [[maybe_unused]] const std::uint64_t* p) {
  std::uint64_t value = 0;
  KOKKOSIRIS_PTX("ld.acquire.sys.u64 %0, [%1];" : "=l"(value) : "l"(p) : "memory");
  return value;
}

/// st.relaxed.sys: single-copy atomic, orders nothing.
KOKKOS_FORCEINLINE_FUNCTION void gpu_store_relaxed([[maybe_unused]] std::uint32_t* p,
                                                   [[maybe_unused]] std::uint32_t value) {
  KOKKOSIRIS_PTX("st.relaxed.sys.u32 [%0], %1;" ::"l"(p), "r"(value) : "memory");
}
KOKKOS_FORCEINLINE_FUNCTION void gpu_store_relaxed([[maybe_unused]] std::uint64_t* p,
                                                   [[maybe_unused]] std::uint64_t value) {
  KOKKOSIRIS_PTX("st.relaxed.sys.u64 [%0], %1;" ::"l"(p), "l"(value) : "memory");
}

/// st.release.sys: earlier accesses of this thread, and what it observed through a barrier of its
/// block, are visible to whoever acquires the value, on any GPU or the host.
KOKKOS_FORCEINLINE_FUNCTION void gpu_store_release([[maybe_unused]] std::uint32_t* p,
                                                   [[maybe_unused]] std::uint32_t value) {
  KOKKOSIRIS_PTX("st.release.sys.u32 [%0], %1;" ::"l"(p), "r"(value) : "memory");
}
KOKKOS_FORCEINLINE_FUNCTION void gpu_store_release([[maybe_unused]] std::uint64_t* p,
                                                   [[maybe_unused]] std::uint64_t value) {
  KOKKOSIRIS_PTX("st.release.sys.u64 [%0], %1;" ::"l"(p), "l"(value) : "memory");
}

/// fence.acq_rel.sys: makes relaxed stores that follow it releases of what
/// st.release.sys covers.
KOKKOS_FORCEINLINE_FUNCTION void gpu_fence_release() {
  KOKKOSIRIS_PTX("fence.acq_rel.sys;" ::: "memory");
}
/// fence.acq_rel.gpu: the same for the threads of this device.
KOKKOS_FORCEINLINE_FUNCTION void gpu_fence_release_on_device() {
  KOKKOSIRIS_PTX("fence.acq_rel.gpu;" ::: "memory");
}

/// Sequentially consistent fence at system scope.
KOKKOS_FORCEINLINE_FUNCTION void gpu_fence() { KOKKOSIRIS_PTX("fence.sc.sys;" ::: "memory"); }

/// True if a read-modify-write of release order is to be made of a fence and one without: see the
/// fences for AMD.
inline constexpr bool gpu_releases_by_fence = false;

/// True if additions to float and double are right in all memory of heaps.
inline constexpr bool gpu_adds_floating_point = true;

/// Before a barrier of the block after which one thread releases what all wrote: nothing, because
/// bar.sync makes a release cover what the other threads did (PTX ISA, "Causality order").
KOKKOS_FORCEINLINE_FUNCTION void gpu_finish_stores() {}

/// Returns its argument, of which the compiler knows nothing afterwards.
KOKKOS_FORCEINLINE_FUNCTION int gpu_opaque(int value) {
  KOKKOSIRIS_PTX("" : "+r"(value));
  return value;
}

#undef KOKKOSIRIS_PTX

#elif defined(KOKKOS_ENABLE_HIP)

#if defined(__HIP_DEVICE_COMPILE__)
#define KOKKOSIRIS_HIP_CODE(...) __VA_ARGS__
#else
#define KOKKOSIRIS_HIP_CODE(...)
#endif

/// Ticks of a clock that all compute units share, see Gpu::ticks_per_second.
KOKKOS_FORCEINLINE_FUNCTION std::uint64_t gpu_ticks() {
  KOKKOSIRIS_HIP_CODE(return static_cast<std::uint64_t>(wall_clock64());)
  return 0;
}

/// Suspends the wave for about 128 cycles (s_sleep counts in 64s; AMD's instruction set documents);
/// gfx9 has no sleep of a given time.
KOKKOS_FORCEINLINE_FUNCTION void gpu_sleep(unsigned) {
  KOKKOSIRIS_HIP_CODE(__builtin_amdgcn_s_sleep(2);)
}

// The instructions of loads, stores and fences are LLVM's, from the memory models of gfx90a and
// gfx942 in its "User Guide for AMDGPU Backend": at system scope a release writes the second cache
// back (buffer_wbl2, with sc0 sc1 on gfx942) and waits before it stores; an acquire invalidates the
// caches after its load (buffer_invl2 and buffer_wbinvl1_vol; buffer_inv sc0 sc1).
//
// That wait for the write-back, s_waitcnt vmcnt(0), is not left to the compiler: LLVM of before
// February 2026 deletes it where it knows of no access of the wave that is still under way, as
// after gpu_finish_stores(), because it does not count the write-back as one
// (llvm/llvm-project, pull request 178316). So a release is a fence, the wait, and a relaxed
// access, here and wherever gpu_releases_by_fence is asked for.

/// Single-copy atomic at system scope, orders nothing.
template <class Word>
KOKKOS_FORCEINLINE_FUNCTION Word gpu_load_relaxed([[maybe_unused]] const Word* p) {
  KOKKOSIRIS_HIP_CODE(return __hip_atomic_load(p, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);)
  return Word(0);
}
/// What was released with the value read is visible to later accesses of this thread.
template <class Word>
KOKKOS_FORCEINLINE_FUNCTION Word gpu_load_acquire([[maybe_unused]] const Word* p) {
  KOKKOSIRIS_HIP_CODE(return __hip_atomic_load(p, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_SYSTEM);)
  return Word(0);
}
/// Single-copy atomic at system scope, orders nothing.
template <class Word>
KOKKOS_FORCEINLINE_FUNCTION void gpu_store_relaxed([[maybe_unused]] Word* p,
                                                   [[maybe_unused]] Word value) {
  KOKKOSIRIS_HIP_CODE(__hip_atomic_store(p, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);)
}

/// The wave waits until its stores and write-backs of caches have arrived.
KOKKOS_FORCEINLINE_FUNCTION void gpu_await_write_back() {
#if defined(__GFX9__)
  KOKKOSIRIS_HIP_CODE(__asm__ volatile("s_waitcnt vmcnt(0)" ::: "memory");)
#endif
}
/// Makes relaxed stores that follow it releases at system scope.
KOKKOS_FORCEINLINE_FUNCTION void gpu_fence_release() {
  KOKKOSIRIS_HIP_CODE(__builtin_amdgcn_fence(__ATOMIC_RELEASE, "");)
  gpu_await_write_back();
}
/// The same for the threads of this device.
KOKKOS_FORCEINLINE_FUNCTION void gpu_fence_release_on_device() {
  KOKKOSIRIS_HIP_CODE(__builtin_amdgcn_fence(__ATOMIC_RELEASE, "agent");)
  gpu_await_write_back();
}
/// Earlier accesses of this thread, and what it observed through a barrier of its block, are
/// visible to whoever acquires the value.
template <class Word>
KOKKOS_FORCEINLINE_FUNCTION void gpu_store_release([[maybe_unused]] Word* p,
                                                   [[maybe_unused]] Word value) {
  gpu_fence_release();
  gpu_store_relaxed(p, value);
}

/// Sequentially consistent fence at system scope: later loads, too, come after the write-back.
KOKKOS_FORCEINLINE_FUNCTION void gpu_fence() {
  gpu_fence_release();
  KOKKOSIRIS_HIP_CODE(__builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "");)
}

/// True if a read-modify-write of release order is to be made of a fence and one without.
inline constexpr bool gpu_releases_by_fence = true;

/// True if additions to float and double are right in all memory of heaps. On gfx90a the
/// instruction does nothing in fine-grained memory (ROCm documentation, "Hardware atomics operation
/// support"), and the compiler takes it all the same, as it knows nothing of the memory.
#if defined(__gfx90a__)
inline constexpr bool gpu_adds_floating_point = false;
#else
inline constexpr bool gpu_adds_floating_point = true;
#endif

/// Before a barrier of the block after which one thread releases what all wrote: the wave waits
/// until its stores have arrived. A barrier does not wait for them (LLVM emits s_barrier alone on
/// gfx9), and the release waits for those of its own wave only: on newer architectures it did not
/// cover those of the others (llvm/llvm-project, pull request 160501).
KOKKOS_FORCEINLINE_FUNCTION void gpu_finish_stores() {
#if defined(__GFX9__)
  // Nothing is ever exported here, so expcnt(0) costs nothing: by it scripts/check_isa.py tells
  // this from the compiler's own waits.
  KOKKOSIRIS_HIP_CODE(__asm__ volatile("s_waitcnt vmcnt(0) expcnt(0)" ::: "memory");)
#else
  KOKKOSIRIS_HIP_CODE(__builtin_amdgcn_fence(__ATOMIC_RELEASE, "agent");)
#endif
}

/// Returns its argument, of which the compiler knows nothing afterwards.
KOKKOS_FORCEINLINE_FUNCTION int gpu_opaque(int value) {
  KOKKOSIRIS_HIP_CODE(__asm__ volatile("" : "+v"(value));)
  return value;
}

#undef KOKKOSIRIS_HIP_CODE

#else
inline constexpr bool gpu_releases_by_fence = false;
inline constexpr bool gpu_adds_floating_point = true;
#endif

/// The unsigned type of four or eight bytes that carries a T through the functions above.
template <class T>
using word_of = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

}  // namespace KokkosIris::Impl

#endif
