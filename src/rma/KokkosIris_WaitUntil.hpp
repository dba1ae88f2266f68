// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// Waiting for signals and testing them, in kernels.
///
/// All functions read words in the memory of the calling rank, which others change by signals or
/// remote atomics. Reading a value acquires at system scope: what its signaller did before the
/// signal is visible to the calling thread, and through a team barrier to its team.
///
/// Waits return false, and the word may be anything, if they were given up: a rank failed, a
/// process is gone, or the deadline of the context passed. The kernel then ends without using the
/// data, and the next collective call of the host (or quiet) raises the error on all ranks.
///
/// A wait does not know which rank will signal, so a word that only a rank could change which has
/// destroyed its context is waited for until the deadline. A rank whose process has ended without
/// that is noticed within some hundredths of a second.

#ifndef KOKKOSIRIS_WAIT_UNTIL_HPP
#define KOKKOSIRIS_WAIT_UNTIL_HPP

#include <Kokkos_Core.hpp>
#include <core/KokkosIris_DeviceContext.hpp>
#include <core/KokkosIris_Wait.hpp>
#include <cstddef>
#include <cstdint>
#include <rma/KokkosIris_Sharing.hpp>
#include <rma/KokkosIris_Signal.hpp>

namespace KokkosIris {

/// Conditions on a signal word: `word <condition> value`.
enum class Compare : int {
  eq,
  ne,
  gt,
  ge,
  lt,
  le,
  reached,  ///< the word is at `value` or at most 2^63 - 1 past it: ge for counts, which may wrap
            ///< around
};
inline constexpr Compare eq = Compare::eq;
inline constexpr Compare ne = Compare::ne;
inline constexpr Compare gt = Compare::gt;
inline constexpr Compare ge = Compare::ge;
inline constexpr Compare lt = Compare::lt;
inline constexpr Compare le = Compare::le;
inline constexpr Compare reached = Compare::reached;

namespace Impl {

KOKKOS_INLINE_FUNCTION bool holds(signal_t word, Compare condition, signal_t value) {
  switch (condition) {
    case Compare::eq:
      return word == value;
    case Compare::ne:
      return word != value;
    case Compare::gt:
      return word > value;
    case Compare::ge:
      return word >= value;
    case Compare::lt:
      return word < value;
    case Compare::le:
      return word <= value;
    case Compare::reached:
      return static_cast<std::int64_t>(word - value) >= 0;
  }
  return false;
}

/// Which of several words count.
struct AllWords {
  KOKKOS_FORCEINLINE_FUNCTION bool operator()(std::size_t) const { return true; }
};
template <class M>
struct MaskedWords {
  const M* m_mask;
  KOKKOS_FORCEINLINE_FUNCTION bool operator()(std::size_t i) const { return m_mask[i] != M(0); }
};

/// One look at each word: the first that counts and meets the condition, or n.
template <class Words>
KOKKOS_INLINE_FUNCTION std::size_t find_word(const signal_t* flags, std::size_t n,
                                             Compare condition, signal_t value,
                                             const Words& words) {
  for (std::size_t i = 0; i < n; ++i) {
    if (words(i) && holds(load_acquire(flags + i), condition, value)) return i;
  }
  return n;
}

template <class Words>
KOKKOS_INLINE_FUNCTION bool any_counts(std::size_t n, const Words& words) {
  for (std::size_t i = 0; i < n; ++i) {
    if (words(i)) return true;
  }
  return false;
}

inline constexpr WaitSite user_wait{WaitPhase::user_wait, -1};

template <class Words>
KOKKOS_INLINE_FUNCTION std::size_t wait_for_any(const DeviceContext& context, const signal_t* flags,
                                                std::size_t n, Compare condition, signal_t value,
                                                const Words& words) {
  if (!any_counts(n, words)) return n;
  std::size_t found = n;
  wait(context, user_wait, [&] {
    found = find_word(flags, n, condition, value, words);
    return found != n;
  });
  return found;
}

template <class Words>
KOKKOS_INLINE_FUNCTION bool wait_for_all(const DeviceContext& context, const signal_t* flags,
                                         std::size_t n, Compare condition, signal_t value,
                                         const Words& words) {
  for (std::size_t i = 0; i < n; ++i) {
    if (words(i) && !wait(context, user_wait,
                          [&] { return holds(load_acquire(flags + i), condition, value); })) {
      return false;
    }
  }
  return true;
}

template <class Words>
KOKKOS_INLINE_FUNCTION bool all_hold(const signal_t* flags, std::size_t n, Compare condition,
                                     signal_t value, const Words& words) {
  for (std::size_t i = 0; i < n; ++i) {
    if (words(i) && !holds(load_acquire(flags + i), condition, value)) return false;
  }
  return true;
}

}  // namespace Impl

/// \name By one thread
///@{

/// Waits until the condition holds for the word.
/// \return false if given up
KOKKOS_INLINE_FUNCTION bool wait_until(const DeviceContext& context, const signal_t* flag,
                                       Compare condition, signal_t value) {
  return Impl::wait(context, Impl::user_wait,
                    [=] { return Impl::holds(Impl::load_acquire(flag), condition, value); });
}

/// One look at the word, without waiting.
KOKKOS_INLINE_FUNCTION bool test(const DeviceContext&, const signal_t* flag, Compare condition,
                                 signal_t value) {
  return Impl::holds(Impl::load_acquire(flag), condition, value);
}

/// Waits until the condition holds for one of n adjacent words.
/// \return its index (the lowest of those seen), or n if given up, or at once if there is no word
///        to wait for
KOKKOS_INLINE_FUNCTION std::size_t wait_any(const DeviceContext& context, const signal_t* flags,
                                            std::size_t n, Compare condition, signal_t value) {
  return Impl::wait_for_any(context, flags, n, condition, value, Impl::AllWords{});
}
/// As above for the words whose mask is not 0.
template <class M>
KOKKOS_INLINE_FUNCTION std::size_t wait_any(const DeviceContext& context, const signal_t* flags,
                                            std::size_t n, Compare condition, signal_t value,
                                            const M* mask) {
  return Impl::wait_for_any(context, flags, n, condition, value, Impl::MaskedWords<M>{mask});
}

/// Waits until the condition has held for each of n adjacent words (of those whose mask is not 0);
/// true at once if there are none.
/// \return false if given up
KOKKOS_INLINE_FUNCTION bool wait_all(const DeviceContext& context, const signal_t* flags,
                                     std::size_t n, Compare condition, signal_t value) {
  return Impl::wait_for_all(context, flags, n, condition, value, Impl::AllWords{});
}
template <class M>
KOKKOS_INLINE_FUNCTION bool wait_all(const DeviceContext& context, const signal_t* flags,
                                     std::size_t n, Compare condition, signal_t value,
                                     const M* mask) {
  return Impl::wait_for_all(context, flags, n, condition, value, Impl::MaskedWords<M>{mask});
}

/// One look at each of n adjacent words: index of the first that meets the condition, or n.
KOKKOS_INLINE_FUNCTION std::size_t test_any(const DeviceContext&, const signal_t* flags,
                                            std::size_t n, Compare condition, signal_t value) {
  return Impl::find_word(flags, n, condition, value, Impl::AllWords{});
}
template <class M>
KOKKOS_INLINE_FUNCTION std::size_t test_any(const DeviceContext&, const signal_t* flags,
                                            std::size_t n, Compare condition, signal_t value,
                                            const M* mask) {
  return Impl::find_word(flags, n, condition, value, Impl::MaskedWords<M>{mask});
}

/// One look at each of n adjacent words: true if all meet the condition.
KOKKOS_INLINE_FUNCTION bool test_all(const DeviceContext&, const signal_t* flags, std::size_t n,
                                     Compare condition, signal_t value) {
  return Impl::all_hold(flags, n, condition, value, Impl::AllWords{});
}
template <class M>
KOKKOS_INLINE_FUNCTION bool test_all(const DeviceContext&, const signal_t* flags, std::size_t n,
                                     Compare condition, signal_t value, const M* mask) {
  return Impl::all_hold(flags, n, condition, value, Impl::MaskedWords<M>{mask});
}
///@}

/// \name By a team
/// All threads of the team call with the same arguments; one of them waits or looks, and all get
/// its result. They end with a team barrier, so what was acquired is visible to the whole team.
///@{
template <Impl::TeamHandle TeamMember>
KOKKOS_INLINE_FUNCTION bool wait_until(const TeamMember& team, const DeviceContext& context,
                                       const signal_t* flag, Compare condition, signal_t value) {
  return Impl::once_for_all(team, [&] { return wait_until(context, flag, condition, value); });
}
template <Impl::TeamHandle TeamMember>
KOKKOS_INLINE_FUNCTION bool test(const TeamMember& team, const DeviceContext& context,
                                 const signal_t* flag, Compare condition, signal_t value) {
  return Impl::once_for_all(team, [&] { return test(context, flag, condition, value); });
}
template <Impl::TeamHandle TeamMember, class... Mask>
KOKKOS_INLINE_FUNCTION std::size_t wait_any(const TeamMember& team, const DeviceContext& context,
                                            const signal_t* flags, std::size_t n, Compare condition,
                                            signal_t value, const Mask*... mask) {
  return Impl::once_for_all(team,
                            [&] { return wait_any(context, flags, n, condition, value, mask...); });
}
template <Impl::TeamHandle TeamMember, class... Mask>
KOKKOS_INLINE_FUNCTION bool wait_all(const TeamMember& team, const DeviceContext& context,
                                     const signal_t* flags, std::size_t n, Compare condition,
                                     signal_t value, const Mask*... mask) {
  return Impl::once_for_all(team,
                            [&] { return wait_all(context, flags, n, condition, value, mask...); });
}
template <Impl::TeamHandle TeamMember, class... Mask>
KOKKOS_INLINE_FUNCTION std::size_t test_any(const TeamMember& team, const DeviceContext& context,
                                            const signal_t* flags, std::size_t n, Compare condition,
                                            signal_t value, const Mask*... mask) {
  return Impl::once_for_all(team,
                            [&] { return test_any(context, flags, n, condition, value, mask...); });
}
template <Impl::TeamHandle TeamMember, class... Mask>
KOKKOS_INLINE_FUNCTION bool test_all(const TeamMember& team, const DeviceContext& context,
                                     const signal_t* flags, std::size_t n, Compare condition,
                                     signal_t value, const Mask*... mask) {
  return Impl::once_for_all(team,
                            [&] { return test_all(context, flags, n, condition, value, mask...); });
}
///@}

}  // namespace KokkosIris

#endif
