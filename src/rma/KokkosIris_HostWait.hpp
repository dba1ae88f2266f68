// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// How the host waits for signal words: by looking itself where it can read them, else through
/// short kernels on the execution space instance.

#ifndef KOKKOSIRIS_HOST_WAIT_HPP
#define KOKKOSIRIS_HOST_WAIT_HPP

#include <Kokkos_Core.hpp>
#include <core/KokkosIris_Runtime.hpp>
#include <core/KokkosIris_Wait.hpp>
#include <cstddef>
#include <cstdint>
#include <heap/KokkosIris_Context.hpp>
#include <memory>
#include <rma/KokkosIris_Signal.hpp>
#include <rma/KokkosIris_WaitUntil.hpp>
#include <type_traits>

namespace KokkosIris::Impl {

/// What the host waits for.
struct WordWait {
  const char* operation;
  const char* label;
  const signal_t* flags;
  std::size_t n;
  Compare condition;
  signal_t value;
};

/// Words that one kernel looks at. Their mask travels in its arguments, so that a wait needs no
/// memory.
inline constexpr std::size_t words_a_look = 1024;

/// Looks of a kernel before it ends without success: some ten microseconds, so that the answer
/// comes as fast as it would from a kernel that waits, and the host keeps watching the other ranks,
/// the deadline and the abort word.
inline constexpr int looks_a_kernel = 64;

/// One thread looks at up to words_a_look words, several times.
struct LookKernel {
  const signal_t* m_flags;
  std::size_t m_n;
  Compare m_condition;
  signal_t m_value;
  bool m_all;
  int m_looks;
  std::uint32_t m_mask[words_a_look / 32];

  KOKKOS_FUNCTION bool counts(std::size_t i) const {
    return (m_mask[i / 32] >> (i % 32) & 1u) != 0;
  }
  KOKKOS_FUNCTION bool holds_at(std::size_t i) const {
    return holds(load_acquire(m_flags + i), m_condition, m_value);
  }

  /// \param sum receives, for one of the words: the first word that counts and meets the condition;
  ///        for all of them: the first that counts and has not met it. m_n if there is none.
  KOKKOS_FUNCTION void operator()(int, std::size_t& sum) const {
    std::size_t at = 0;
    for (int look = 0; look < m_looks; ++look) {
      if (!m_all) at = 0;
      while (at < m_n && !(counts(at) && holds_at(at) != m_all)) ++at;
      if ((at == m_n) == m_all) break;
    }
    sum += at;
  }
};

/// Launches looks at words [first, first + n) and waits for the result.
template <class ExecutionSpace, class M>
std::size_t look_by_kernel(const ExecutionSpace& exec, const WordWait& wait, std::size_t first,
                           const M* mask, bool all, int looks) {
  LookKernel kernel{wait.flags + first, wait.n - first, wait.condition, wait.value, all, looks, {}};
  if (kernel.m_n > words_a_look) kernel.m_n = words_a_look;
  for (std::size_t i = 0; i < kernel.m_n; ++i) {
    if (mask == nullptr || mask[first + i] != M(0)) kernel.m_mask[i / 32] |= 1u << (i % 32);
  }
  std::size_t found = 0;
  Kokkos::parallel_reduce(wait.label, Kokkos::RangePolicy<ExecutionSpace>(exec, 0, 1), kernel,
                          found);
  return first + found;
}

template <class MemorySpace>
inline constexpr bool host_reads_v =
    Kokkos::SpaceAccessibility<Kokkos::HostSpace, MemorySpace>::accessible;

/// Runs ready() as a wait of the host for a user's condition.
template <class MemorySpace, class Ready>
void wait_or_throw(const Context<MemorySpace>& context, const WordWait& wait, Ready&& ready) {
  const bool met = context.runtime().wait_until(
      user_wait, &is_ready<std::remove_reference_t<Ready>>, std::addressof(ready));
  if (!met) context.runtime().throw_given_up(wait.operation);
}

template <class M>
bool any_counts_on_host(std::size_t n, const M* mask) {
  return n != 0 && (mask == nullptr || any_counts(n, MaskedWords<M>{mask}));
}

/// Waits for the instance, then until the condition holds for one of the words that count.
/// \param mask null: all count
/// \return its index, or n at once if no word counts
/// \throws Error if the wait was given up
template <class ExecutionSpace, class MemorySpace, class M>
std::size_t wait_for_any_on_host(const ExecutionSpace& exec, const Context<MemorySpace>& context,
                                 const WordWait& wait, const M* mask) {
  exec.fence(wait.label);
  if (!any_counts_on_host(wait.n, mask)) return wait.n;
  std::size_t found = wait.n;
  wait_or_throw(context, wait, [&] {
    if constexpr (host_reads_v<MemorySpace>) {
      const auto search = [&](const auto& words) {
        return find_word(wait.flags, wait.n, wait.condition, wait.value, words);
      };
      found = mask == nullptr ? search(AllWords{}) : search(MaskedWords<M>{mask});
    } else {
      // Words beyond the first kernel's: none of the kernels may keep the others waiting.
      const int looks = wait.n > words_a_look ? 1 : looks_a_kernel;
      for (std::size_t first = 0; first < wait.n; first += words_a_look) {
        const std::size_t end = wait.n - first < words_a_look ? wait.n : first + words_a_look;
        found = look_by_kernel(exec, wait, first, mask, false, looks);
        if (found != end) return true;
      }
      found = wait.n;
    }
    return found != wait.n;
  });
  return found;
}

/// Waits for the instance, then until the condition has held for each of the words that count.
/// \param mask null: all count
/// \throws Error if the wait was given up
template <class ExecutionSpace, class MemorySpace, class M>
void wait_for_all_on_host(const ExecutionSpace& exec, const Context<MemorySpace>& context,
                          const WordWait& wait, const M* mask) {
  exec.fence(wait.label);
  if (!any_counts_on_host(wait.n, mask)) return;
  std::size_t met = 0;  // words before this one have met the condition
  wait_or_throw(context, wait, [&] {
    if constexpr (host_reads_v<MemorySpace>) {
      const auto counts = [&](std::size_t i) { return mask == nullptr || mask[i] != M(0); };
      while (met < wait.n &&
             (!counts(met) || holds(load_acquire(wait.flags + met), wait.condition, wait.value))) {
        ++met;
      }
    } else {
      met = look_by_kernel(exec, wait, met, mask, true, looks_a_kernel);
    }
    return met == wait.n;
  });
}

/// Waits for the instance, then looks at one word once.
template <class ExecutionSpace, class MemorySpace>
bool test_on_host(const ExecutionSpace& exec, const Context<MemorySpace>&, const WordWait& look) {
  exec.fence(look.label);
  if constexpr (host_reads_v<MemorySpace>) {
    return holds(load_acquire(look.flags), look.condition, look.value);
  } else {
    return look_by_kernel<ExecutionSpace, bool>(exec, look, 0, nullptr, false, 1) == 0;
  }
}

}  // namespace KokkosIris::Impl

#endif
