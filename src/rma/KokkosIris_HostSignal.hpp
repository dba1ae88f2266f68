// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// Signals and waits from the host, ordered with an execution space instance.
///
/// Functions that signal are kernels: ordered in the instance after what was launched there before,
/// and covering it. Functions that wait or test first wait for the instance and then return on the
/// host: kernels launched after them see what was acquired. The forms without an instance use the
/// default one; those that signal return when the signal has been given. Errors, thrown here only:
/// (invalid_argument) for a rank that does not exist, a word or view that is not symmetric, extents
/// that differ. A wait that was given up raises the reason on every rank that waits, or at its next
/// collective call.
///
/// After such an error the ranks are not at the same place: one has thrown in its wait, before a
/// collective call, and another one in that call, which for it is over. To go on, all ranks must
/// make the same collective call next. A handler around a whole step does so, if it makes a call of
/// its own, such as the context's barrier, before the next step begins or the step is repeated;
/// ranks that just go on find a (mismatch), or use each other's later calls for earlier ones.

#ifndef KOKKOSIRIS_HOST_SIGNAL_HPP
#define KOKKOSIRIS_HOST_SIGNAL_HPP

#include <Kokkos_Core.hpp>
#include <core/KokkosIris_Error.hpp>
#include <core/KokkosIris_Runtime.hpp>
#include <cstddef>
#include <heap/KokkosIris_Context.hpp>
#include <rma/KokkosIris_HostAccess.hpp>
#include <rma/KokkosIris_HostChecks.hpp>
#include <rma/KokkosIris_HostWait.hpp>
#include <rma/KokkosIris_Signal.hpp>
#include <rma/KokkosIris_WaitUntil.hpp>
#include <type_traits>

namespace KokkosIris {
namespace Impl {

/// A View of signal words.
template <class T>
concept SignalView = ViewLike<T>;
template <SignalView T>
constexpr void require_signal_words() {
  static_assert(std::is_same_v<element_of<T>, signal_t>,
                "the elements of a View of signal words are KokkosIris::signal_t, which is "
                "std::uint64_t: write zeros<KokkosIris::signal_t*>(...); types of the same size, "
                "such as unsigned long long, are others to the compiler");
}

/// One signal word: a View of rank 0, or a pointer.
template <class T>
concept SignalWord = SignalView<T> || std::is_convertible_v<T, const signal_t*>;

template <SignalWord Flag>
auto* word_pointer(const Flag& flag) {
  if constexpr (SignalView<Flag>) {
    require_signal_words<Flag>();
    static_assert(view_of<Flag>::rank() == 0, "one signal word is a View of rank 0, or a pointer");
    return flag.data();
  } else {
    return flag;
  }
}

/// \throws Error (invalid_argument) if the word is not symmetric
template <SignalWord Flag>
void check_word(const HostChecks& checks, const Flag& flag) {
  if constexpr (SignalView<Flag>) {
    checks.symmetric("flag", as_view(flag));
  } else {
    checks.symmetric("flag", Operand{"", flag, sizeof(signal_t), {}});
  }
}

/// One signal as a kernel.
template <class Operation>
struct SignalKernel {
  DeviceContext m_context;
  signal_t* m_flag;
  signal_t m_value;
  int m_peer;
  KOKKOS_FUNCTION void operator()(int) const {
    signal(m_context, m_flag, m_value, Operation{}, m_peer);
  }
};

template <class ExecutionSpace, class Operation>
void launch_signal(const ExecutionSpace& exec, const char* label,
                   const SignalKernel<Operation>& kernel) {
  Kokkos::parallel_for(label, Kokkos::RangePolicy<ExecutionSpace>(exec, 0, 1), kernel);
}

/// Checks several words.
/// \throws Error (invalid_argument) if they are not symmetric, not adjacent, or the mask does not
///        fit
template <SignalView Flags, ViewLike... Mask>
void check_words(const DeviceContext& context, const char* operation, const Flags& flags,
                 const Mask&... mask) {
  require_signal_words<Flags>();
  static_assert(view_of<Flags>::rank() == 1, "several signal words are a View of rank 1");
  require_accessible<Kokkos::DefaultHostExecutionSpace, Mask...>();
  (require_mask<Flags, Mask>(), ...);
  const HostChecks checks(context, operation);
  checks.symmetric("flags", as_view(flags));
  (checks.same_shape("flags", as_view(flags), "mask", as_view(mask)), ...);
  if (!as_view(flags).span_is_contiguous() || !(as_view(mask).span_is_contiguous() && ...)) {
    throw_error(ErrorCode::invalid_argument, context.rank(), operation,
                "the signal words of one call, and their mask, must be contiguous Views");
  }
}

/// The mask as waits on the host take it; null without one.
inline const bool* mask_data() { return nullptr; }
template <ViewLike Mask>
const element_of<Mask>* mask_data(const Mask& mask) {
  return as_view(mask).data();
}

}  // namespace Impl

/// signal() after all that was launched in the instance.
/// \param flag one symmetric word: a View of rank 0, or a pointer
template <Impl::ExecutionSpaceLike ExecutionSpace, class MemorySpace, Impl::SignalWord Flag,
          Impl::SignalOperation Operation>
void signal(const ExecutionSpace& exec, const Context<MemorySpace>& context, const Flag& flag,
            signal_t value, Operation, int peer) {
  const Impl::HostChecks checks(context.device(), "signal");
  checks.rank_exists(peer);
  Impl::check_word(checks, flag);
  Impl::launch_signal(
      exec, "KokkosIris::signal",
      Impl::SignalKernel<Operation>{context.device(), Impl::word_pointer(flag), value, peer});
}

/// put(), then a signal on the same rank that covers it and all that was launched in the instance.
/// \param flag one symmetric word: a View of rank 0, or a pointer
template <Impl::ExecutionSpaceLike ExecutionSpace, class MemorySpace, Impl::ViewLike Dst,
          Impl::ViewLike Src, Impl::SignalWord Flag, Impl::SignalOperation Operation>
void put_signal(const ExecutionSpace& exec, const Context<MemorySpace>& context, const Dst& dst,
                const Src& src, const Flag& flag, signal_t value, Operation, int peer) {
  Impl::check_word(Impl::HostChecks(context.device(), "put_signal"), flag);
  Impl::launch_copy(exec, context, "put_signal", "KokkosIris::put_signal", dst,
                    Impl::Place::on(peer), src, Impl::Place::local());
  Impl::launch_signal(
      exec, "KokkosIris::put_signal",
      Impl::SignalKernel<Operation>{context.device(), Impl::word_pointer(flag), value, peer});
}

/// Waits for the instance, then until the condition holds for the caller's word.
/// \param flag one symmetric word: a View of rank 0, or a pointer
/// \throws Error if the wait was given up
template <Impl::ExecutionSpaceLike ExecutionSpace, class MemorySpace, Impl::SignalWord Flag>
void wait_until(const ExecutionSpace& exec, const Context<MemorySpace>& context, const Flag& flag,
                Compare condition, signal_t value) {
  Impl::check_word(Impl::HostChecks(context.device(), "wait_until"), flag);
  const Impl::WordWait wait{
      "wait_until", "KokkosIris::wait_until", Impl::word_pointer(flag), 1, condition, value};
  Impl::wait_for_all_on_host(exec, context, wait, Impl::mask_data());
}

/// Waits for the instance, then until the condition holds for one of the words (whose mask is not
/// 0).
/// \param flags symmetric contiguous View of rank 1
/// \param mask nothing, or one View of bool or integers on the host
/// \return index of the word, or the number of words at once if there is none to wait for
/// \throws Error if the wait was given up
template <Impl::ExecutionSpaceLike ExecutionSpace, class MemorySpace, Impl::SignalView Flags,
          Impl::ViewLike... Mask>
std::size_t wait_any(const ExecutionSpace& exec, const Context<MemorySpace>& context,
                     const Flags& flags, Compare condition, signal_t value, const Mask&... mask) {
  Impl::check_words(context.device(), "wait_any", flags, mask...);
  const Impl::WordWait wait{"wait_any",   "KokkosIris::wait_any",
                            flags.data(), Impl::as_view(flags).size(),
                            condition,    value};
  return Impl::wait_for_any_on_host(exec, context, wait, Impl::mask_data(mask...));
}

/// Waits for the instance, then until the condition has held for each word (whose mask is not 0).
/// \param flags symmetric contiguous View of rank 1
/// \param mask nothing, or one View of bool or integers on the host
/// \throws Error if the wait was given up
template <Impl::ExecutionSpaceLike ExecutionSpace, class MemorySpace, Impl::SignalView Flags,
          Impl::ViewLike... Mask>
void wait_all(const ExecutionSpace& exec, const Context<MemorySpace>& context, const Flags& flags,
              Compare condition, signal_t value, const Mask&... mask) {
  Impl::check_words(context.device(), "wait_all", flags, mask...);
  const Impl::WordWait wait{"wait_all",   "KokkosIris::wait_all",
                            flags.data(), Impl::as_view(flags).size(),
                            condition,    value};
  Impl::wait_for_all_on_host(exec, context, wait, Impl::mask_data(mask...));
}

/// Waits for the instance, then looks at the word once.
/// \param flag one symmetric word: a View of rank 0, or a pointer
template <Impl::ExecutionSpaceLike ExecutionSpace, class MemorySpace, Impl::SignalWord Flag>
bool test(const ExecutionSpace& exec, const Context<MemorySpace>& context, const Flag& flag,
          Compare condition, signal_t value) {
  Impl::check_word(Impl::HostChecks(context.device(), "test"), flag);
  const Impl::WordWait look{"test", "KokkosIris::test", Impl::word_pointer(flag),
                            1,      condition,          value};
  return Impl::test_on_host(exec, context, look);
}

/// \name Without an execution space instance
/// As above on the default instance.
///@{
template <class MemorySpace, Impl::SignalWord Flag, Impl::SignalOperation Operation>
void signal(const Context<MemorySpace>& context, const Flag& flag, signal_t value,
            Operation operation, int peer) {
  Impl::with_default_instance(context, "KokkosIris::signal", [&](const auto& exec) {
    signal(exec, context, flag, value, operation, peer);
  });
}
template <class MemorySpace, Impl::ViewLike Dst, Impl::ViewLike Src, Impl::SignalWord Flag,
          Impl::SignalOperation Operation>
void put_signal(const Context<MemorySpace>& context, const Dst& dst, const Src& src,
                const Flag& flag, signal_t value, Operation operation, int peer) {
  Impl::with_default_instance(context, "KokkosIris::put_signal", [&](const auto& exec) {
    put_signal(exec, context, dst, src, flag, value, operation, peer);
  });
}
template <class MemorySpace, Impl::SignalWord Flag>
void wait_until(const Context<MemorySpace>& context, const Flag& flag, Compare condition,
                signal_t value) {
  wait_until(typename Context<MemorySpace>::execution_space(), context, flag, condition, value);
}
template <class MemorySpace, Impl::SignalView Flags, Impl::ViewLike... Mask>
std::size_t wait_any(const Context<MemorySpace>& context, const Flags& flags, Compare condition,
                     signal_t value, const Mask&... mask) {
  return wait_any(typename Context<MemorySpace>::execution_space(), context, flags, condition,
                  value, mask...);
}
template <class MemorySpace, Impl::SignalView Flags, Impl::ViewLike... Mask>
void wait_all(const Context<MemorySpace>& context, const Flags& flags, Compare condition,
              signal_t value, const Mask&... mask) {
  wait_all(typename Context<MemorySpace>::execution_space(), context, flags, condition, value,
           mask...);
}
template <class MemorySpace, Impl::SignalWord Flag>
bool test(const Context<MemorySpace>& context, const Flag& flag, Compare condition,
          signal_t value) {
  return test(typename Context<MemorySpace>::execution_space(), context, flag, condition, value);
}
///@}

}  // namespace KokkosIris

#endif
