// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// The read-modify-writes behind remote atomics and signals: desul on devices, the compiler's
/// builtins on the host.
///
/// desul's host functions turn every order but relaxed and sequentially consistent into a loop of
/// compare-exchanges; the builtins give one instruction for all.

#ifndef KOKKOSIRIS_ATOMIC_OPS_HPP
#define KOKKOSIRIS_ATOMIC_OPS_HPP

#include <Kokkos_Core.hpp>
#include <core/KokkosIris_MemoryOrder.hpp>
#include <cstdint>
#include <type_traits>

namespace KokkosIris::Impl {

/// Types with lock-free atomics on every backend.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION constexpr bool is_atomic() {
  if (!std::is_arithmetic_v<T> || !std::is_same_v<T, std::remove_cv_t<T>>) return false;
  return sizeof(T) == 4 || sizeof(T) == 8;
}

template <class T>
KOKKOS_FORCEINLINE_FUNCTION constexpr void require_atomic() {
  static_assert(
      is_atomic<T>(),
      "remote atomics exist for integers of 4 and 8 bytes, float and double: other types "
      "(half_t, bhalf_t, 1- and 2-byte integers, structs) are not lock-free across ranks; "
      "use a wider type, or a signal to hand the data over");
}
template <class T>
KOKKOS_FORCEINLINE_FUNCTION constexpr void require_bitwise() {
  static_assert(!std::is_floating_point_v<T>,
                "atomic_and, atomic_or and atomic_xor are for integers; view the bits of a "
                "floating-point word as an unsigned integer");
}

/// The builtin's order. acq_rel becomes sequentially consistent, which costs nothing more in a
/// read-modify-write on the processors there are.
template <class Order>
constexpr int builtin_order() {
  if constexpr (std::is_same_v<Order, Relaxed>) return __ATOMIC_RELAXED;
  if constexpr (std::is_same_v<Order, Acquire>) return __ATOMIC_ACQUIRE;
  if constexpr (std::is_same_v<Order, Release>) return __ATOMIC_RELEASE;
  return __ATOMIC_SEQ_CST;
}
/// Order of a compare-exchange that fails, and so only reads.
template <class Order>
constexpr int builtin_failure_order() {
  if constexpr (std::is_same_v<Order, Relaxed> || std::is_same_v<Order, Release>) {
    return __ATOMIC_RELAXED;
  }
  if constexpr (std::is_same_v<Order, Acquire>) return __ATOMIC_ACQUIRE;
  return __ATOMIC_SEQ_CST;
}

/// The type of T's size and kind for which desul has instructions: it knows `long` or `long long`,
/// and makes a loop of compare-exchanges for the other one.
template <class T>
struct NativeAtomic {
  using type = std::conditional_t<std::is_signed_v<T>, std::make_signed_t<word_of<T>>, word_of<T>>;
};
template <>
struct NativeAtomic<float> {
  using type = float;
};
template <>
struct NativeAtomic<double> {
  using type = double;
};

/// fetch(ptr, value, order, scope), one of desul's functions, on the native type; for devices.
template <class Order, class Scope, class T, class Fetch>
KOKKOS_FORCEINLINE_FUNCTION T fetch_natively(T* ptr, T value, const Fetch& fetch) {
  using Native = typename NativeAtomic<T>::type;
  fence_before_atomic<Order, Scope>();
  return static_cast<T>(fetch(reinterpret_cast<Native*>(ptr), static_cast<Native>(value),
                              order_after_fence<Order, Scope>{}, typename Scope::desul_scope{}));
}

/// compare_exchange() after fence_before_atomic().
template <class Order, class Scope, class T>
KOKKOS_FORCEINLINE_FUNCTION T compare_exchange_after_fence(T* ptr, T compare, T value) {
  KOKKOS_IF_ON_HOST((__atomic_compare_exchange(ptr, &compare, &value, false, builtin_order<Order>(),
                                               builtin_failure_order<Order>());
                     return compare;))
  KOKKOS_IF_ON_DEVICE(
      (using Word = word_of<T>; return Kokkos::bit_cast<T>(desul::atomic_compare_exchange(
          reinterpret_cast<Word*>(ptr), Kokkos::bit_cast<Word>(compare),
          Kokkos::bit_cast<Word>(value), order_after_fence<Order, Scope>{},
          typename Scope::desul_scope{}));))
}
/// Exchanges *ptr for `value` if it has the bits of `compare`; returns what was there.
template <class Order, class Scope, class T>
KOKKOS_FORCEINLINE_FUNCTION T compare_exchange(T* ptr, T compare, T value) {
  fence_before_atomic<Order, Scope>();
  return compare_exchange_after_fence<Order, Scope>(ptr, compare, value);
}

/// First look of a compare-exchange loop; acquires if the loop may end with it. (At system scope on
/// devices, which is more than a narrower scope asks for.)
template <class Order, class T>
KOKKOS_FORCEINLINE_FUNCTION T load_word(const T* ptr) {
  constexpr bool acquires = std::is_same_v<Order, Acquire>;
  T value;
  KOKKOS_IF_ON_HOST((__atomic_load(ptr, &value, acquires ? __ATOMIC_ACQUIRE : __ATOMIC_RELAXED);))
  KOKKOS_IF_ON_DEVICE((value = acquires ? load_acquire(ptr) : load_relaxed(ptr);))
  return value;
}

/// Read-modify-write by compare-exchange: *ptr = Op::apply(*ptr, value); returns the value before.
template <class Op, class Order, class Scope, class T>
KOKKOS_FORCEINLINE_FUNCTION T fetch_by_exchange(T* ptr, T value) {
  using Word = word_of<T>;
  // A result equal to what is there need not be written, unless the write is what releases.
  constexpr bool must_write = std::is_same_v<Order, Release> || std::is_same_v<Order, AcqRel>;
  fence_before_atomic<Order, Scope>();
  T old = load_word<Order>(ptr);
  while (true) {
    const T next = Op::apply(old, value);
    const Word old_bits = Kokkos::bit_cast<Word>(old);
    if (!must_write && Kokkos::bit_cast<Word>(next) == old_bits) return old;
    const T seen = compare_exchange_after_fence<Order, Scope>(ptr, old, next);
    if (Kokkos::bit_cast<Word>(seen) == old_bits) return old;
    old = seen;
  }
}

/// \name Operations
/// Op::fetch<Order, Scope>(ptr, value) returns the value before. Integers wrap around.
///@{
struct AddOp {
  template <class T>
  KOKKOS_FORCEINLINE_FUNCTION static T apply(T old, T value) {
    return old + value;
  }
  template <class Order, class Scope, class T>
  KOKKOS_FORCEINLINE_FUNCTION static T fetch(T* ptr, T value) {
    KOKKOS_IF_ON_HOST((
        if constexpr (std::is_integral_v<T>) {
          return __atomic_fetch_add(ptr, value, builtin_order<Order>());
        } else { return fetch_by_exchange<AddOp, Order, Scope>(ptr, value); }))
    KOKKOS_IF_ON_DEVICE((
        if constexpr (std::is_integral_v<T> || gpu_adds_floating_point) {
          return fetch_natively<Order, Scope>(
              ptr, value, [](auto... arguments) { return desul::atomic_fetch_add(arguments...); });
        } else { return fetch_by_exchange<AddOp, Order, Scope>(ptr, value); }))
  }
};
struct SubOp {
  template <class T>
  KOKKOS_FORCEINLINE_FUNCTION static T apply(T old, T value) {
    return old - value;
  }
  template <class Order, class Scope, class T>
  KOKKOS_FORCEINLINE_FUNCTION static T fetch(T* ptr, T value) {
    KOKKOS_IF_ON_HOST((
        if constexpr (std::is_integral_v<T>) {
          return __atomic_fetch_sub(ptr, value, builtin_order<Order>());
        } else { return fetch_by_exchange<SubOp, Order, Scope>(ptr, value); }))
    KOKKOS_IF_ON_DEVICE((
        if constexpr (std::is_integral_v<T> || gpu_adds_floating_point) {
          return fetch_natively<Order, Scope>(
              ptr, value, [](auto... arguments) { return desul::atomic_fetch_sub(arguments...); });
        } else { return fetch_by_exchange<SubOp, Order, Scope>(ptr, value); }))
  }
};
struct AndOp {
  template <class Order, class Scope, class T>
  KOKKOS_FORCEINLINE_FUNCTION static T fetch(T* ptr, T value) {
    require_bitwise<T>();
    KOKKOS_IF_ON_HOST((return __atomic_fetch_and(ptr, value, builtin_order<Order>());))
    KOKKOS_IF_ON_DEVICE((return fetch_natively<Order, Scope>(ptr, value, [](auto... arguments) {
                                  return desul::atomic_fetch_and(arguments...);
                                });))
  }
};
struct OrOp {
  template <class Order, class Scope, class T>
  KOKKOS_FORCEINLINE_FUNCTION static T fetch(T* ptr, T value) {
    require_bitwise<T>();
    KOKKOS_IF_ON_HOST((return __atomic_fetch_or(ptr, value, builtin_order<Order>());))
    KOKKOS_IF_ON_DEVICE((return fetch_natively<Order, Scope>(ptr, value, [](auto... arguments) {
                                  return desul::atomic_fetch_or(arguments...);
                                });))
  }
};
struct XorOp {
  template <class Order, class Scope, class T>
  KOKKOS_FORCEINLINE_FUNCTION static T fetch(T* ptr, T value) {
    require_bitwise<T>();
    KOKKOS_IF_ON_HOST((return __atomic_fetch_xor(ptr, value, builtin_order<Order>());))
    KOKKOS_IF_ON_DEVICE((return fetch_natively<Order, Scope>(ptr, value, [](auto... arguments) {
                                  return desul::atomic_fetch_xor(arguments...);
                                });))
  }
};
struct ExchangeOp {
  template <class Order, class Scope, class T>
  KOKKOS_FORCEINLINE_FUNCTION static T fetch(T* ptr, T value) {
    KOKKOS_IF_ON_HOST(
        (T old; __atomic_exchange(ptr, &value, &old, builtin_order<Order>()); return old;))
    KOKKOS_IF_ON_DEVICE((using Word = word_of<T>; fence_before_atomic<Order, Scope>();
                         return Kokkos::bit_cast<T>(desul::atomic_exchange(
                             reinterpret_cast<Word*>(ptr), Kokkos::bit_cast<Word>(value),
                             order_after_fence<Order, Scope>{}, typename Scope::desul_scope{}));))
  }
};
template <class T>
KOKKOS_FORCEINLINE_FUNCTION bool is_nan(T x) {
  if constexpr (std::is_floating_point_v<T>) {
    return x != x;
  } else {
    return false;
  }
}
/// A NaN loses against any number, on either side.
struct MinOp {
  template <class T>
  KOKKOS_FORCEINLINE_FUNCTION static T apply(T old, T value) {
    return value < old || is_nan(old) ? value : old;
  }
  template <class Order, class Scope, class T>
  KOKKOS_FORCEINLINE_FUNCTION static T fetch(T* ptr, T value) {
    // Floating point by exchange: a NaN loses, which no instruction does.
    KOKKOS_IF_ON_HOST((return fetch_by_exchange<MinOp, Order, Scope>(ptr, value);))
    KOKKOS_IF_ON_DEVICE((
        if constexpr (std::is_integral_v<T>) {
          return fetch_natively<Order, Scope>(
              ptr, value, [](auto... arguments) { return desul::atomic_fetch_min(arguments...); });
        } else { return fetch_by_exchange<MinOp, Order, Scope>(ptr, value); }))
  }
};
struct MaxOp {
  template <class T>
  KOKKOS_FORCEINLINE_FUNCTION static T apply(T old, T value) {
    return old < value || is_nan(old) ? value : old;
  }
  template <class Order, class Scope, class T>
  KOKKOS_FORCEINLINE_FUNCTION static T fetch(T* ptr, T value) {
    // Floating point by exchange: a NaN loses, which no instruction does.
    KOKKOS_IF_ON_HOST((return fetch_by_exchange<MaxOp, Order, Scope>(ptr, value);))
    KOKKOS_IF_ON_DEVICE((
        if constexpr (std::is_integral_v<T>) {
          return fetch_natively<Order, Scope>(
              ptr, value, [](auto... arguments) { return desul::atomic_fetch_max(arguments...); });
        } else { return fetch_by_exchange<MaxOp, Order, Scope>(ptr, value); }))
  }
};
///@}

}  // namespace KokkosIris::Impl

#endif
