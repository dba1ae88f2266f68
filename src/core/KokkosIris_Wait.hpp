// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// The one place that waits inside kernels: bounded, and given up when a rank fails.

#ifndef KOKKOSIRIS_WAIT_HPP
#define KOKKOSIRIS_WAIT_HPP

#include <Kokkos_Core.hpp>
#include <core/KokkosIris_DeviceContext.hpp>
#include <core/KokkosIris_DeviceControl.hpp>
#include <core/KokkosIris_MemoryOrder.hpp>
#include <core/KokkosIris_WaitSite.hpp>
#include <memory>

namespace KokkosIris::Impl {

/// Tells the processor that this is a spin loop.
KOKKOS_FORCEINLINE_FUNCTION void pause_processor() {
#if defined(__x86_64__) || defined(_M_X64)
  KOKKOS_IF_ON_HOST((__builtin_ia32_pause();))
#elif defined(__aarch64__)
  KOKKOS_IF_ON_HOST((__asm__ __volatile__("yield");))
#endif
}

/// Calls a callable of type Ready that was passed as a pointer.
template <class Ready>
bool is_ready(void* ready) {
  return (*static_cast<Ready*>(ready))();
}

/// Host part of wait() after the short spin: yields the processor between polls, watches the abort
/// word, the deadline and whether the peer's process lives. A deadline or a dead peer aborts the
/// operation on all ranks.
/// \return true as soon as `ready(argument)` is; false if the wait was given up
bool wait_on_host(Runtime& runtime, WaitSite site, bool (*ready)(void*), void* argument);

/// What a wait in a kernel on a GPU finds when it looks up.
enum class DeviceLook { go_on, aborted, late };

/// A look of a wait that has lasted since `start` (gpu_ticks): leaves a trace for the host's watch
/// (DeviceWatch), which finds out whether processes live, and reads the abort word, which is host
/// memory.
KOKKOS_INLINE_FUNCTION DeviceLook
look_on_device([[maybe_unused]] const DeviceWaitSettings& settings, [[maybe_unused]] WaitSite site,
               [[maybe_unused]] std::uint64_t start, [[maybe_unused]] std::uint64_t now) {
  KOKKOS_IF_ON_DEVICE((gpu_store_relaxed(settings.waiting, pack_wait_site(site, now));
                       if (gpu_load_relaxed(settings.abort_word) != 0u) return DeviceLook::aborted;
                       if (settings.timeout_ticks != 0 && now - start > settings.timeout_ticks) {
                         return DeviceLook::late;
                       }))
  return DeviceLook::go_on;
}
/// Tells the host that a wait has passed its deadline and gives up.
KOKKOS_INLINE_FUNCTION void declare_late([[maybe_unused]] const DeviceWaitSettings& settings,
                                         [[maybe_unused]] WaitSite site,
                                         [[maybe_unused]] std::uint64_t now) {
  KOKKOS_IF_ON_DEVICE((gpu_store_release(settings.too_late, pack_wait_site(site, now));))
}

/// Part of wait() after the short spin in kernels on a GPU; looks up now and then only.
template <class Ready>
KOKKOS_INLINE_FUNCTION bool wait_on_device([[maybe_unused]] const DeviceWaitSettings& settings,
                                           [[maybe_unused]] WaitSite site,
                                           [[maybe_unused]] Ready& ready) {
  KOKKOS_IF_ON_DEVICE((constexpr unsigned longest_sleep = 256;  // nanoseconds
                       unsigned sleep = 16; const std::uint64_t start = gpu_ticks();
                       std::uint64_t looked = start; for (;;) {
                         if (ready()) return true;
                         gpu_sleep(sleep);
                         if (sleep < longest_sleep) sleep *= 2;
                         const std::uint64_t now = gpu_ticks();
                         if (now - looked < settings.look_ticks) continue;
                         looked = now;
                         const DeviceLook look = look_on_device(settings, site, start, now);
                         if (look == DeviceLook::go_on) continue;
                         if (ready()) return true;
                         if (look == DeviceLook::late) declare_late(settings, site, now);
                         return false;
                       }))
  KOKKOS_IF_ON_HOST((return false;))
}

/// Waits until `ready()` returns true.
///
/// Called by one thread. `ready` reads the flag (once, with load_acquire) and decides by that
/// value.
/// \return true if ready; false if the wait was given up because a rank failed, a process is gone
///         or the deadline passed: the caller then leaves its kernel without touching peers'
///         memory, and the host call that launched it raises the error.
template <class Ready>
KOKKOS_INLINE_FUNCTION bool wait(const DeviceContext& context, WaitSite site, Ready&& ready) {
  const DeviceState& state = context.state();
  for (int spin = 0; spin < state.spins; ++spin) {
    if (ready()) return true;
    pause_processor();
  }
  KOKKOS_IF_ON_HOST((using Callable = std::remove_reference_t<Ready>; return wait_on_host(
                         *state.runtime, site, &is_ready<Callable>,
                         const_cast<void*>(static_cast<const void*>(std::addressof(ready))));))
  KOKKOS_IF_ON_DEVICE((return wait_on_device(state.control->wait, site, ready);))
}

/// Waits until the counter at `flag` has reached `target`; compares by difference, so that counters
/// may wrap around. Acquires what was released with the value read.
template <class Counter>
KOKKOS_INLINE_FUNCTION bool wait_counter(const DeviceContext& context, WaitSite site,
                                         const Counter* flag, Counter target) {
  static_assert(std::is_unsigned_v<Counter>, "generation counters are unsigned");
  using Signed = std::make_signed_t<Counter>;
  return wait(context, site, [=] {
    return static_cast<Signed>(static_cast<Counter>(load_acquire(flag) - target)) >= 0;
  });
}

/// For a kernel that finds its workspace given up in an earlier call: returns when there is an
/// error on this rank. There is one already if the kernel was enqueued behind that call; if a graph
/// repeats it after the ranks have come together again, the host's watch raises one, because
/// nothing of what the kernel leaves is a result. Called by one thread.
KOKKOS_INLINE_FUNCTION void wait_for_error(const DeviceContext& context) {
  wait(context, {WaitPhase::outdated_workspace, -1}, [] { return false; });
}

}  // namespace KokkosIris::Impl

#endif
