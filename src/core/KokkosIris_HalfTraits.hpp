// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// std::numeric_limits and Kokkos::reduction_identity of half_t and bhalf_t.

#ifndef KOKKOSIRIS_HALF_TRAITS_HPP
#define KOKKOSIRIS_HALF_TRAITS_HPP

#include <Kokkos_Core.hpp>
#include <core/KokkosIris_HalfTypes.hpp>
#include <limits>

namespace KokkosIris::Impl {

/// The constants of std::numeric_limits for a type of `Digits` significant bits, whose largest
/// finite value lies below 2^MaxExponent. Both types have a sign bit, then the exponent, then
/// Digits - 1 bits of the fraction.
template <class Half, int Digits, int MaxExponent>
struct HalfLimits {
  static constexpr bool is_specialized = true;
  static constexpr bool is_signed = true;
  static constexpr bool is_integer = false;
  static constexpr bool is_exact = false;
  static constexpr bool has_infinity = true;
  static constexpr bool has_quiet_NaN = true;
  static constexpr bool has_signaling_NaN = true;
  static constexpr std::float_denorm_style has_denorm = std::denorm_present;
  static constexpr bool has_denorm_loss = false;
  static constexpr std::float_round_style round_style = std::round_to_nearest;
  static constexpr bool is_bounded = true;
  static constexpr bool is_modulo = false;
  static constexpr bool traps = false;
  static constexpr bool tinyness_before = false;
  static constexpr int radix = 2;
  static constexpr int digits = Digits;
  static constexpr int max_exponent = MaxExponent;
  static constexpr int min_exponent = 3 - MaxExponent;

  static constexpr Half min() noexcept { return bits(one_ulp); }
  static constexpr Half max() noexcept { return bits(infinity_bits - 1); }
  static constexpr Half lowest() noexcept { return bits(0x8000 | (infinity_bits - 1)); }
  static constexpr Half epsilon() noexcept { return power_of_two(1 - Digits); }
  static constexpr Half round_error() noexcept { return power_of_two(-1); }
  static constexpr Half infinity() noexcept { return bits(infinity_bits); }
  static constexpr Half quiet_NaN() noexcept { return bits(infinity_bits | one_ulp / 2); }
  static constexpr Half signaling_NaN() noexcept { return bits(infinity_bits | one_ulp / 4); }
  static constexpr Half denorm_min() noexcept { return bits(1); }

 private:
  static constexpr int one_ulp = 1 << (Digits - 1);  // of the exponent
  static constexpr int infinity_bits = 0x7fff / one_ulp * one_ulp;
  static constexpr Half bits(int pattern) {
    return Half::from_bits(static_cast<std::uint16_t>(pattern));
  }
  static constexpr Half power_of_two(int exponent) {
    return bits((exponent + MaxExponent - 1) * one_ulp);
  }
};

/// Reductions as for float: minima begin with the largest finite value, maxima with the lowest.
template <class Half>
struct HalfReductionIdentity {
  KOKKOS_FORCEINLINE_FUNCTION static Half sum() { return Half(0.0f); }
  KOKKOS_FORCEINLINE_FUNCTION static Half prod() { return Half(1.0f); }
  KOKKOS_FORCEINLINE_FUNCTION static Half min() { return largest(); }
  KOKKOS_FORCEINLINE_FUNCTION static Half max() {
    return Half::from_bits(static_cast<std::uint16_t>(0x8000u | largest().m_bits));
  }

 private:
  KOKKOS_FORCEINLINE_FUNCTION static Half largest() {
    return Half::from_bits(std::is_same_v<Half, half_t> ? 0x7bff : 0x7f7f);
  }
};

}  // namespace KokkosIris::Impl

template <>
struct std::numeric_limits<KokkosIris::half_t>
    : KokkosIris::Impl::HalfLimits<KokkosIris::half_t, 11, 16> {
  static constexpr bool is_iec559 = true;
  static constexpr int digits10 = 3;
  static constexpr int max_digits10 = 5;
  static constexpr int min_exponent10 = -4;
  static constexpr int max_exponent10 = 4;
};

template <>
struct std::numeric_limits<KokkosIris::bhalf_t>
    : KokkosIris::Impl::HalfLimits<KokkosIris::bhalf_t, 8, 128> {
  static constexpr bool is_iec559 = false;  // not one of the interchange formats
  static constexpr int digits10 = 2;
  static constexpr int max_digits10 = 4;
  static constexpr int min_exponent10 = -37;
  static constexpr int max_exponent10 = 38;
};

template <>
struct Kokkos::reduction_identity<KokkosIris::half_t>
    : KokkosIris::Impl::HalfReductionIdentity<KokkosIris::half_t> {};
template <>
struct Kokkos::reduction_identity<KokkosIris::bhalf_t>
    : KokkosIris::Impl::HalfReductionIdentity<KokkosIris::bhalf_t> {};

#endif
