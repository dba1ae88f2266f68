// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// Atomic read-modify-writes on one element of any rank's memory.
///
/// Rules for all of them: `ptr` is symmetric and names an element of the caller's heap; the
/// operation is done on the same element of rank `peer`, and the value before it is returned. T is
/// an integer of 4 or 8 bytes, float or double. Options follow in any order:
///  - relaxed, acquire, release or acq_rel (the default);
///  - team_scope, device_scope or system_scope (the default, and the only one for data that another
///    rank accesses too);
///  - mask(bool): with false nothing is accessed and the result is T{}.
/// (They are taken by value: device code can copy a constant like `relaxed` but not refer to it.)
///
/// With release order, what the calling thread did before is visible to who acquires the new value;
/// with acquire order, what was released with the value read is visible to the calling thread.

#ifndef KOKKOSIRIS_ATOMICS_HPP
#define KOKKOSIRIS_ATOMICS_HPP

#include <Kokkos_Core.hpp>
#include <core/KokkosIris_DeviceContext.hpp>
#include <rma/KokkosIris_AtomicOps.hpp>
#include <rma/KokkosIris_AtomicOptions.hpp>
#include <type_traits>

namespace KokkosIris {
namespace Impl {

/// Order and scope of a list of options.
template <class... Options>
using order_of = option_type<IsOrder, AcqRel, Options...>;
template <class... Options>
using scope_of = option_type<IsScope, SystemScope, Options...>;

template <class Op, class T, class... Options>
KOKKOS_FORCEINLINE_FUNCTION T remote_fetch(const DeviceContext& context, T* ptr, T value, int peer,
                                           const Options&... options) {
  require_atomic<T>();
  require_thread_options<Options...>();
  if (!thread_is_selected(options...)) return T{};
  return Op::template fetch<order_of<Options...>, scope_of<Options...>>(
      context.translate(ptr, peer), value);
}

}  // namespace Impl

/// *ptr += value. Integers wrap around.
template <class T, class... Options>
KOKKOS_FORCEINLINE_FUNCTION T atomic_add(const DeviceContext& context, T* ptr,
                                         std::type_identity_t<T> value, int peer,
                                         Options... options) {
  return Impl::remote_fetch<Impl::AddOp>(context, ptr, value, peer, options...);
}

/// *ptr -= value. Integers wrap around, unsigned ones below 0 too.
template <class T, class... Options>
KOKKOS_FORCEINLINE_FUNCTION T atomic_sub(const DeviceContext& context, T* ptr,
                                         std::type_identity_t<T> value, int peer,
                                         Options... options) {
  return Impl::remote_fetch<Impl::SubOp>(context, ptr, value, peer, options...);
}

/// *ptr = value if *ptr == compare; it was exchanged if the result equals `compare`. Floating-point
/// values are compared by their bits, so that a NaN equals itself, and -0 does not equal 0. If
/// nothing is exchanged the operation does not release.
template <class T, class... Options>
KOKKOS_FORCEINLINE_FUNCTION T atomic_cas(const DeviceContext& context, T* ptr,
                                         std::type_identity_t<T> compare,
                                         std::type_identity_t<T> value, int peer,
                                         Options... options) {
  Impl::require_atomic<T>();
  Impl::require_thread_options<Options...>();
  if (!Impl::thread_is_selected(options...)) return T{};
  return Impl::compare_exchange<Impl::order_of<Options...>, Impl::scope_of<Options...>>(
      context.translate(ptr, peer), compare, value);
}

/// *ptr = value.
template <class T, class... Options>
KOKKOS_FORCEINLINE_FUNCTION T atomic_xchg(const DeviceContext& context, T* ptr,
                                          std::type_identity_t<T> value, int peer,
                                          Options... options) {
  return Impl::remote_fetch<Impl::ExchangeOp>(context, ptr, value, peer, options...);
}

/// *ptr ^= value; integers.
template <class T, class... Options>
KOKKOS_FORCEINLINE_FUNCTION T atomic_xor(const DeviceContext& context, T* ptr,
                                         std::type_identity_t<T> value, int peer,
                                         Options... options) {
  return Impl::remote_fetch<Impl::XorOp>(context, ptr, value, peer, options...);
}

/// *ptr &= value; integers.
template <class T, class... Options>
KOKKOS_FORCEINLINE_FUNCTION T atomic_and(const DeviceContext& context, T* ptr,
                                         std::type_identity_t<T> value, int peer,
                                         Options... options) {
  return Impl::remote_fetch<Impl::AndOp>(context, ptr, value, peer, options...);
}

/// *ptr |= value; integers.
template <class T, class... Options>
KOKKOS_FORCEINLINE_FUNCTION T atomic_or(const DeviceContext& context, T* ptr,
                                        std::type_identity_t<T> value, int peer,
                                        Options... options) {
  return Impl::remote_fetch<Impl::OrOp>(context, ptr, value, peer, options...);
}

/// *ptr = the smaller of *ptr and value. A NaN loses against any number, on either side; of -0 and
/// 0 the one that was there stays.
template <class T, class... Options>
KOKKOS_FORCEINLINE_FUNCTION T atomic_min(const DeviceContext& context, T* ptr,
                                         std::type_identity_t<T> value, int peer,
                                         Options... options) {
  return Impl::remote_fetch<Impl::MinOp>(context, ptr, value, peer, options...);
}

/// *ptr = the larger of *ptr and value; NaN and signed zeros as for atomic_min.
template <class T, class... Options>
KOKKOS_FORCEINLINE_FUNCTION T atomic_max(const DeviceContext& context, T* ptr,
                                         std::type_identity_t<T> value, int peer,
                                         Options... options) {
  return Impl::remote_fetch<Impl::MaxOp>(context, ptr, value, peer, options...);
}

}  // namespace KokkosIris

#endif
