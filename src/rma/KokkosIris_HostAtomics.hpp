// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// Remote atomics on the elements of a block, from the host: one kernel on an execution space.
///
/// The arguments are those of the block atomics of a team, with Views. Every kernel is ordered in
/// its execution space instance like any other; the form without an instance uses the default one
/// and returns when it is done. Only the calling rank takes part. Errors (invalid_argument), thrown
/// here only, before anything is done: no such rank, extents that differ, a block that is not
/// symmetric.

#ifndef KOKKOSIRIS_HOST_ATOMICS_HPP
#define KOKKOSIRIS_HOST_ATOMICS_HPP

#include <Kokkos_Core.hpp>
#include <heap/KokkosIris_Context.hpp>
#include <rma/KokkosIris_BlockAtomicWork.hpp>
#include <rma/KokkosIris_HostAccess.hpp>
#include <rma/KokkosIris_HostChecks.hpp>
#include <rma/KokkosIris_Sharing.hpp>

namespace KokkosIris {
namespace Impl {

/// Checks an operand that may be a View, or hold one.
template <class ExecutionSpace, class Dst, class Argument>
void check_atomic_operand(const HostChecks& checks, const char* role, const Dst& dst,
                          const Argument& argument) {
  if constexpr (Kokkos::is_view_v<std::remove_cvref_t<decltype(shape_of(argument))>>) {
    const auto& shape = shape_of(argument);
    require_accessible<ExecutionSpace, std::remove_cvref_t<decltype(shape)>>();
    checks.same_shape("dst", dst, role, shape);
  }
}

/// Checks and launches a block atomic.
template <class Op, class ExecutionSpace, class MemorySpace, ViewLike Dst, class Compare,
          class Values, class... Options>
void launch_atomic(const ExecutionSpace& exec, const Context<MemorySpace>& context,
                   const char* operation, const char* label, const Dst& dst, const Compare& compare,
                   const Values& values, int peer, const Options&... options) {
  require_accessible<ExecutionSpace, Dst>();
  require_block_options<Options...>();
  const HostChecks checks(context.device(), operation);
  check_operand(checks, "dst", dst, Place::on(peer));
  check_atomic_operand<ExecutionSpace>(checks, "compare", as_view(dst), compare);
  check_atomic_operand<ExecutionSpace>(checks, "values", as_view(dst), values);
  check_atomic_operand<ExecutionSpace>(checks, "mask", as_view(dst),
                                       option<IsBlockMask>(AllElements{}, options...));
  check_atomic_operand<ExecutionSpace>(checks, "old_values", as_view(dst),
                                       option<IsOldValues>(NoOperand{}, options...));
  RunOnSpace{exec, label}(
      atomic_work<Op>(context.device(), dst, compare, values, Place::on(peer), options...));
}

}  // namespace Impl

/// Element += value. Integers wrap around.
template <Impl::ExecutionSpaceLike ExecutionSpace, class MemorySpace, Impl::ViewLike Dst,
          class Values, class... Options>
void atomic_add(const ExecutionSpace& exec, const Context<MemorySpace>& context, const Dst& dst,
                const Values& values, int peer, const Options&... options) {
  Impl::launch_atomic<Impl::AddOp>(exec, context, "atomic_add", "KokkosIris::atomic_add", dst,
                                   Impl::NoOperand{}, values, peer, options...);
}
template <class MemorySpace, Impl::ViewLike Dst, class Values, class... Options>
void atomic_add(const Context<MemorySpace>& context, const Dst& dst, const Values& values, int peer,
                const Options&... options) {
  Impl::with_default_instance(context, "KokkosIris::atomic_add", [&](const auto& exec) {
    atomic_add(exec, context, dst, values, peer, options...);
  });
}

/// Element -= value. Integers wrap around, unsigned ones below 0 too.
template <Impl::ExecutionSpaceLike ExecutionSpace, class MemorySpace, Impl::ViewLike Dst,
          class Values, class... Options>
void atomic_sub(const ExecutionSpace& exec, const Context<MemorySpace>& context, const Dst& dst,
                const Values& values, int peer, const Options&... options) {
  Impl::launch_atomic<Impl::SubOp>(exec, context, "atomic_sub", "KokkosIris::atomic_sub", dst,
                                   Impl::NoOperand{}, values, peer, options...);
}
template <class MemorySpace, Impl::ViewLike Dst, class Values, class... Options>
void atomic_sub(const Context<MemorySpace>& context, const Dst& dst, const Values& values, int peer,
                const Options&... options) {
  Impl::with_default_instance(context, "KokkosIris::atomic_sub", [&](const auto& exec) {
    atomic_sub(exec, context, dst, values, peer, options...);
  });
}

/// Element = value.
template <Impl::ExecutionSpaceLike ExecutionSpace, class MemorySpace, Impl::ViewLike Dst,
          class Values, class... Options>
void atomic_xchg(const ExecutionSpace& exec, const Context<MemorySpace>& context, const Dst& dst,
                 const Values& values, int peer, const Options&... options) {
  Impl::launch_atomic<Impl::ExchangeOp>(exec, context, "atomic_xchg", "KokkosIris::atomic_xchg",
                                        dst, Impl::NoOperand{}, values, peer, options...);
}
template <class MemorySpace, Impl::ViewLike Dst, class Values, class... Options>
void atomic_xchg(const Context<MemorySpace>& context, const Dst& dst, const Values& values,
                 int peer, const Options&... options) {
  Impl::with_default_instance(context, "KokkosIris::atomic_xchg", [&](const auto& exec) {
    atomic_xchg(exec, context, dst, values, peer, options...);
  });
}

/// Element ^= value; integers.
template <Impl::ExecutionSpaceLike ExecutionSpace, class MemorySpace, Impl::ViewLike Dst,
          class Values, class... Options>
void atomic_xor(const ExecutionSpace& exec, const Context<MemorySpace>& context, const Dst& dst,
                const Values& values, int peer, const Options&... options) {
  Impl::launch_atomic<Impl::XorOp>(exec, context, "atomic_xor", "KokkosIris::atomic_xor", dst,
                                   Impl::NoOperand{}, values, peer, options...);
}
template <class MemorySpace, Impl::ViewLike Dst, class Values, class... Options>
void atomic_xor(const Context<MemorySpace>& context, const Dst& dst, const Values& values, int peer,
                const Options&... options) {
  Impl::with_default_instance(context, "KokkosIris::atomic_xor", [&](const auto& exec) {
    atomic_xor(exec, context, dst, values, peer, options...);
  });
}

/// Element &= value; integers.
template <Impl::ExecutionSpaceLike ExecutionSpace, class MemorySpace, Impl::ViewLike Dst,
          class Values, class... Options>
void atomic_and(const ExecutionSpace& exec, const Context<MemorySpace>& context, const Dst& dst,
                const Values& values, int peer, const Options&... options) {
  Impl::launch_atomic<Impl::AndOp>(exec, context, "atomic_and", "KokkosIris::atomic_and", dst,
                                   Impl::NoOperand{}, values, peer, options...);
}
template <class MemorySpace, Impl::ViewLike Dst, class Values, class... Options>
void atomic_and(const Context<MemorySpace>& context, const Dst& dst, const Values& values, int peer,
                const Options&... options) {
  Impl::with_default_instance(context, "KokkosIris::atomic_and", [&](const auto& exec) {
    atomic_and(exec, context, dst, values, peer, options...);
  });
}

/// Element |= value; integers.
template <Impl::ExecutionSpaceLike ExecutionSpace, class MemorySpace, Impl::ViewLike Dst,
          class Values, class... Options>
void atomic_or(const ExecutionSpace& exec, const Context<MemorySpace>& context, const Dst& dst,
               const Values& values, int peer, const Options&... options) {
  Impl::launch_atomic<Impl::OrOp>(exec, context, "atomic_or", "KokkosIris::atomic_or", dst,
                                  Impl::NoOperand{}, values, peer, options...);
}
template <class MemorySpace, Impl::ViewLike Dst, class Values, class... Options>
void atomic_or(const Context<MemorySpace>& context, const Dst& dst, const Values& values, int peer,
               const Options&... options) {
  Impl::with_default_instance(context, "KokkosIris::atomic_or", [&](const auto& exec) {
    atomic_or(exec, context, dst, values, peer, options...);
  });
}

/// Element = the smaller of element and value, as atomic_min of one element.
template <Impl::ExecutionSpaceLike ExecutionSpace, class MemorySpace, Impl::ViewLike Dst,
          class Values, class... Options>
void atomic_min(const ExecutionSpace& exec, const Context<MemorySpace>& context, const Dst& dst,
                const Values& values, int peer, const Options&... options) {
  Impl::launch_atomic<Impl::MinOp>(exec, context, "atomic_min", "KokkosIris::atomic_min", dst,
                                   Impl::NoOperand{}, values, peer, options...);
}
template <class MemorySpace, Impl::ViewLike Dst, class Values, class... Options>
void atomic_min(const Context<MemorySpace>& context, const Dst& dst, const Values& values, int peer,
                const Options&... options) {
  Impl::with_default_instance(context, "KokkosIris::atomic_min", [&](const auto& exec) {
    atomic_min(exec, context, dst, values, peer, options...);
  });
}

/// Element = the larger of element and value, as atomic_max of one element.
template <Impl::ExecutionSpaceLike ExecutionSpace, class MemorySpace, Impl::ViewLike Dst,
          class Values, class... Options>
void atomic_max(const ExecutionSpace& exec, const Context<MemorySpace>& context, const Dst& dst,
                const Values& values, int peer, const Options&... options) {
  Impl::launch_atomic<Impl::MaxOp>(exec, context, "atomic_max", "KokkosIris::atomic_max", dst,
                                   Impl::NoOperand{}, values, peer, options...);
}
template <class MemorySpace, Impl::ViewLike Dst, class Values, class... Options>
void atomic_max(const Context<MemorySpace>& context, const Dst& dst, const Values& values, int peer,
                const Options&... options) {
  Impl::with_default_instance(context, "KokkosIris::atomic_max", [&](const auto& exec) {
    atomic_max(exec, context, dst, values, peer, options...);
  });
}

/// Element = value where element == compare, as atomic_cas of one element.
template <Impl::ExecutionSpaceLike ExecutionSpace, class MemorySpace, Impl::ViewLike Dst,
          class Compare, class Values, class... Options>
void atomic_cas(const ExecutionSpace& exec, const Context<MemorySpace>& context, const Dst& dst,
                const Compare& compare, const Values& values, int peer, const Options&... options) {
  Impl::launch_atomic<Impl::CasOp>(exec, context, "atomic_cas", "KokkosIris::atomic_cas", dst,
                                   compare, values, peer, options...);
}
template <class MemorySpace, Impl::ViewLike Dst, class Compare, class Values, class... Options>
void atomic_cas(const Context<MemorySpace>& context, const Dst& dst, const Compare& compare,
                const Values& values, int peer, const Options&... options) {
  Impl::with_default_instance(context, "KokkosIris::atomic_cas", [&](const auto& exec) {
    atomic_cas(exec, context, dst, compare, values, peer, options...);
  });
}

}  // namespace KokkosIris

#endif
