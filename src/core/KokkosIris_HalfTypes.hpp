// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// Two-byte floating-point storage types that are the same on every backend.
///
/// Kokkos' own half types are aliases of float where no device offers them, so they can neither
/// be exchanged between builds nor be relied on to have two bytes. These store the bit pattern and
/// compute through float.

#ifndef KOKKOSIRIS_HALF_TYPES_HPP
#define KOKKOSIRIS_HALF_TYPES_HPP

#include <Kokkos_BitManipulation.hpp>
#include <Kokkos_Core.hpp>
#include <cstdint>
#include <type_traits>

namespace KokkosIris {
namespace Impl {

/// bfloat16 bits of a float, round to nearest even; NaN stays NaN.
KOKKOS_INLINE_FUNCTION constexpr std::uint16_t bfloat16_bits(std::uint32_t x) {
  if ((x & 0x7fffffffu) > 0x7f800000u) return static_cast<std::uint16_t>((x >> 16) | 0x0040u);
  return static_cast<std::uint16_t>((x + 0x7fffu + ((x >> 16) & 1u)) >> 16);
}

/// IEEE binary16 bits of a float, round to nearest even; overflow gives infinity, NaN stays NaN.
KOKKOS_INLINE_FUNCTION constexpr std::uint16_t binary16_bits(std::uint32_t x) {
  const std::uint32_t sign = (x >> 16) & 0x8000u;
  const std::uint32_t magnitude = x & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<std::uint16_t>(sign | 0x7e00u);
  if (magnitude >= 0x47800000u) return static_cast<std::uint16_t>(sign | 0x7c00u);
  if (magnitude < 0x33000000u) return static_cast<std::uint16_t>(sign);  // below half the smallest
  const std::uint32_t exponent = magnitude >> 23;
  const std::uint32_t mantissa = (magnitude & 0x7fffffu) | 0x800000u;
  // Normal results drop 13 bits; below 2^-14 one more for each power of two.
  const std::uint32_t drop = exponent >= 113u ? 13u : 126u - exponent;
  const std::uint32_t bias = exponent >= 113u ? (exponent - 113u) << 10 : 0u;
  const std::uint32_t half = 1u << (drop - 1u);
  const std::uint32_t kept = mantissa >> drop;
  const std::uint32_t rest = mantissa & ((1u << drop) - 1u);
  const std::uint32_t up = (rest > half || (rest == half && (kept & 1u) != 0u)) ? 1u : 0u;
  // A carry out of the mantissa moves into the exponent, up to infinity, as it should.
  return static_cast<std::uint16_t>(sign | (bias + kept + up));
}

/// float bits of an IEEE binary16 bit pattern (exact).
KOKKOS_INLINE_FUNCTION constexpr std::uint32_t float_bits_of_binary16(std::uint16_t h) {
  const std::uint32_t sign = static_cast<std::uint32_t>(h & 0x8000u) << 16;
  std::uint32_t exponent = (h >> 10) & 0x1fu;
  std::uint32_t mantissa = h & 0x3ffu;
  if (exponent == 31u) return sign | 0x7f800000u | (mantissa << 13);
  if (exponent == 0u) {
    if (mantissa == 0u) return sign;
    exponent = 1u;
    while ((mantissa & 0x400u) == 0u) {
      mantissa <<= 1;
      --exponent;
    }
    mantissa &= 0x3ffu;
  }
  return sign | ((exponent + 112u) << 23) | (mantissa << 13);
}

/// float next to `value`, rounded to odd where it is inexact: the last bit then stands for all that
/// was cut off, so that rounding the result to a still narrower type gives what rounding `value`
/// itself would. (Rounding to nearest twice does not.)
template <class T>
KOKKOS_INLINE_FUNCTION std::uint32_t odd_float_bits(T value) {
  if constexpr (std::is_same_v<T, float>) {
    return Kokkos::bit_cast<std::uint32_t>(value);
  } else if constexpr (std::is_integral_v<T> && sizeof(T) == 8) {
    bool negative = false;
    if constexpr (std::is_signed_v<T>) negative = value < T(0);
    std::uint64_t magnitude = static_cast<std::uint64_t>(value);
    if (negative) magnitude = std::uint64_t(0) - magnitude;
    // Reduced to 53 bits likewise.
    double wide = static_cast<double>(magnitude);
    if (magnitude >> 53 != 0) {
      const std::uint64_t rest = (magnitude & 0x7ffu) != 0 ? 1u : 0u;
      wide = 2048.0 * static_cast<double>(magnitude >> 11 | rest);
    }
    return odd_float_bits(negative ? -wide : wide);
  } else {
    const double wide = static_cast<double>(value);
    const float narrow = static_cast<float>(wide);
    std::uint32_t bits = Kokkos::bit_cast<std::uint32_t>(narrow);
    const double back = static_cast<double>(narrow);
    if (back == wide || wide != wide) return bits;
    const bool away = wide < 0.0 ? back < wide : back > wide;
    if (away) --bits;
    return bits | 1u;
  }
}

/// What the two types share: storage, conversion through float, arithmetic in float.
///
/// Numbers convert to them and they convert to float without a cast, so the two branches of
/// `condition ? x : 1.0f` could each take the type of the other: write `condition ? x : half_t(1)`.
/// \tparam Derived half_t or bhalf_t, which supply `encode` and `decode`
template <class Derived>
struct HalfStorage {
  std::uint16_t m_bits;

  HalfStorage() = default;

  KOKKOS_FUNCTION operator float() const {
    return Kokkos::bit_cast<float>(Derived::decode(m_bits));
  }

  /// Compound assignment: computed in the wider of float and the operand's type, rounded once.
  template <class T>
  KOKKOS_FUNCTION Derived& operator+=(const T& other) {
    return assign(float(*this) + other);
  }
  template <class T>
  KOKKOS_FUNCTION Derived& operator-=(const T& other) {
    return assign(float(*this) - other);
  }
  template <class T>
  KOKKOS_FUNCTION Derived& operator*=(const T& other) {
    return assign(float(*this) * other);
  }
  template <class T>
  KOKKOS_FUNCTION Derived& operator/=(const T& other) {
    return assign(float(*this) / other);
  }

  KOKKOS_FUNCTION Derived& operator++() { return *this += 1.0f; }
  KOKKOS_FUNCTION Derived& operator--() { return *this -= 1.0f; }
  KOKKOS_FUNCTION Derived operator++(int) {
    const Derived before = static_cast<const Derived&>(*this);
    ++*this;
    return before;
  }
  KOKKOS_FUNCTION Derived operator--(int) {
    const Derived before = static_cast<const Derived&>(*this);
    --*this;
    return before;
  }

 protected:
  KOKKOS_FUNCTION explicit constexpr HalfStorage(std::uint16_t bits) : m_bits(bits) {}

 private:
  template <class T>
  KOKKOS_FUNCTION Derived& assign(const T& value) {
    return static_cast<Derived&>(*this) = Derived(value);
  }
};

}  // namespace Impl

struct bhalf_t;

/// IEEE binary16 in two bytes: 11 significant bits, largest value 65504.
struct half_t : Impl::HalfStorage<half_t> {
  half_t() = default;
  template <class T, std::enable_if_t<std::is_arithmetic_v<T>, int> = 0>
  KOKKOS_FUNCTION half_t(T value)
      : Impl::HalfStorage<half_t>(Impl::binary16_bits(Impl::odd_float_bits(value))) {}
  /// Rounded: half_t has more significant bits, bhalf_t a larger range.
  KOKKOS_FUNCTION explicit half_t(const bhalf_t& value);

  /// Value with the given bit pattern.
  KOKKOS_FUNCTION static constexpr half_t from_bits(std::uint16_t bits) { return half_t(bits, 0); }
  KOKKOS_FUNCTION static constexpr std::uint32_t decode(std::uint16_t bits) {
    return Impl::float_bits_of_binary16(bits);
  }

 private:
  KOKKOS_FUNCTION constexpr half_t(std::uint16_t bits, int) : Impl::HalfStorage<half_t>(bits) {}
};

/// bfloat16 in two bytes: 8 significant bits, the exponent range of float.
struct bhalf_t : Impl::HalfStorage<bhalf_t> {
  bhalf_t() = default;
  template <class T, std::enable_if_t<std::is_arithmetic_v<T>, int> = 0>
  KOKKOS_FUNCTION bhalf_t(T value)
      : Impl::HalfStorage<bhalf_t>(Impl::bfloat16_bits(Impl::odd_float_bits(value))) {}
  /// Rounded to 8 significant bits.
  KOKKOS_FUNCTION explicit bhalf_t(const half_t& value) : bhalf_t(float(value)) {}

  /// Value with the given bit pattern.
  KOKKOS_FUNCTION static constexpr bhalf_t from_bits(std::uint16_t bits) {
    return bhalf_t(bits, 0);
  }
  KOKKOS_FUNCTION static constexpr std::uint32_t decode(std::uint16_t bits) {
    return static_cast<std::uint32_t>(bits) << 16;
  }

 private:
  KOKKOS_FUNCTION constexpr bhalf_t(std::uint16_t bits, int) : Impl::HalfStorage<bhalf_t>(bits) {}
};

KOKKOS_INLINE_FUNCTION half_t::half_t(const bhalf_t& value) : half_t(float(value)) {}

static_assert(sizeof(half_t) == 2 && sizeof(bhalf_t) == 2);
static_assert(std::is_trivially_copyable_v<half_t> && std::is_trivially_copyable_v<bhalf_t>);

/// True for half_t and bhalf_t.
template <class T>
inline constexpr bool is_half_v =
    std::is_same_v<std::remove_cv_t<T>, half_t> || std::is_same_v<std::remove_cv_t<T>, bhalf_t>;

}  // namespace KokkosIris

#endif
