// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// ranks: 1
// no_gpu: HalfTypes.*

#include <DeviceTesting.hpp>
#include <bit>
#include <cmath>
#include <vector>

namespace {

using KokkosIris::bhalf_t;
using KokkosIris::half_t;

std::uint32_t bits_of(float value) { return std::bit_cast<std::uint32_t>(value); }
float float_of(std::uint32_t bits) { return std::bit_cast<float>(bits); }

/// Nearest bfloat16 of a finite double, by search instead of by bit tricks: between the two
/// neighbours the closer one, of equally close ones the even one; 2^128 stands for infinity.
std::uint16_t nearest_bfloat16(double value) {
  const auto magnitude_of = [](std::uint32_t bits) {
    return bits == 0x7f80u ? 0x1.0p128 : double(float_of(bits << 16));
  };
  const double magnitude = std::fabs(value);
  std::uint32_t low = 0;
  std::uint32_t high = 0x7f80u;
  while (high - low > 1) {
    const std::uint32_t middle = (low + high) / 2;
    (magnitude_of(middle) <= magnitude ? low : high) = middle;
  }
  const double below = magnitude - magnitude_of(low);
  const double above = magnitude_of(high) - magnitude;
  const bool up = above < below || (above == below && (high & 1u) == 0u);
  return static_cast<std::uint16_t>((up ? high : low) | (std::signbit(value) ? 0x8000u : 0u));
}

/// Values where rounding goes wrong first: each bit pattern's value, the midpoints between
/// neighbours, and what lies just beside those.
template <class Half>
std::vector<double> boundary_values() {
  std::vector<double> values;
  const std::uint32_t last = std::is_same_v<Half, half_t> ? 0x7bffu : 0x7f7fu;
  for (std::uint32_t bits = 0; bits <= last; ++bits) {
    const double here = float(Half::from_bits(static_cast<std::uint16_t>(bits)));
    const double step = bits == last
                            ? here - float(Half::from_bits(static_cast<std::uint16_t>(bits - 1)))
                            : float(Half::from_bits(static_cast<std::uint16_t>(bits + 1))) - here;
    const double middle = here + step / 2;
    for (const double value :
         {here, middle, std::nextafter(middle, 0.0), std::nextafter(middle, 1e300),
          double(std::nextafter(float(middle), 0.0f)),
          double(std::nextafter(float(middle), 1e38f))}) {
      values.push_back(value);
      values.push_back(-value);
    }
  }
  return values;
}

TEST(HalfTypes, TwoBytesEverywhere) {
  EXPECT_EQ(sizeof(half_t), 2u);
  EXPECT_EQ(sizeof(bhalf_t), 2u);
  EXPECT_TRUE(std::is_trivially_default_constructible_v<half_t>);
  EXPECT_TRUE(std::is_trivially_copyable_v<bhalf_t>);
  EXPECT_TRUE(KokkosIris::is_half_v<const half_t>);
  EXPECT_FALSE(KokkosIris::is_half_v<float>);
}

TEST(HalfTypes, AllBitPatternsRoundTrip) {
  for (std::uint32_t bits = 0; bits <= 0xffffu; ++bits) {
    const auto pattern = static_cast<std::uint16_t>(bits);
    const half_t half = half_t::from_bits(pattern);
    const bhalf_t bhalf = bhalf_t::from_bits(pattern);
    const float wide = half;
    const float bwide = bhalf;
    if (std::isnan(wide)) {
      ASSERT_TRUE((bits & 0x7c00u) == 0x7c00u && (bits & 0x3ffu) != 0u) << bits;
      ASSERT_TRUE(std::isnan(float(half_t(wide)))) << bits;
    } else {
      ASSERT_EQ(half_t(wide).m_bits, pattern);
      ASSERT_EQ(half_t(double(wide)).m_bits, pattern);
    }
    if (std::isnan(bwide)) {
      ASSERT_TRUE((bits & 0x7f80u) == 0x7f80u && (bits & 0x7fu) != 0u) << bits;
      ASSERT_TRUE(std::isnan(float(bhalf_t(bwide)))) << bits;
    } else {
      ASSERT_EQ(bhalf_t(bwide).m_bits, pattern);
    }
    ASSERT_EQ(bits_of(bwide), bits << 16);
  }
}

#ifdef __FLT16_MAX__
std::uint16_t compiler_bits(_Float16 value) { return std::bit_cast<std::uint16_t>(value); }

TEST(HalfTypes, DecodingIsTheCompilers) {
  for (std::uint32_t bits = 0; bits <= 0xffffu; ++bits) {
    const auto pattern = static_cast<std::uint16_t>(bits);
    const float theirs = static_cast<float>(std::bit_cast<_Float16>(pattern));
    const float ours = half_t::from_bits(pattern);
    if (std::isnan(theirs)) {
      ASSERT_TRUE(std::isnan(ours)) << bits;
    } else {
      ASSERT_EQ(bits_of(ours), bits_of(theirs)) << bits;
    }
  }
}

TEST(HalfTypes, EncodingOfFloatIsTheCompilers) {
  for (std::uint64_t i = 0; i < 2000000; ++i) {
    // Half of them random patterns, half in the range where something happens.
    const auto random = static_cast<std::uint32_t>(::Test::random_bits(1, i));
    const float value = float_of(
        i % 2 == 0 ? random : (random & 0x81ffffffu) + (0x32u << 24) + (random >> 31 << 25));
    if (std::isnan(value)) {
      ASSERT_TRUE(std::isnan(float(half_t(value))));
      continue;
    }
    ASSERT_EQ(half_t(value).m_bits, compiler_bits(static_cast<_Float16>(value))) << value;
  }
}

TEST(HalfTypes, EncodingOfDoubleRoundsOnce) {
  for (const double value : boundary_values<half_t>()) {
    ASSERT_EQ(half_t(value).m_bits, compiler_bits(static_cast<_Float16>(value))) << value;
    const float narrow = static_cast<float>(value);
    ASSERT_EQ(half_t(narrow).m_bits, compiler_bits(static_cast<_Float16>(narrow))) << narrow;
  }
}
#endif

TEST(HalfTypes, Bfloat16RoundsToNearestEvenOnce) {
  for (const double value : boundary_values<bhalf_t>()) {
    ASSERT_EQ(bhalf_t(value).m_bits, nearest_bfloat16(value)) << value;
    const float narrow = static_cast<float>(value);
    if (std::isfinite(narrow)) {
      ASSERT_EQ(bhalf_t(narrow).m_bits, nearest_bfloat16(narrow)) << narrow;
    }
  }
  for (std::uint64_t i = 0; i < 200000; ++i) {
    const float value = float_of(static_cast<std::uint32_t>(::Test::random_bits(2, i)));
    if (!std::isfinite(value)) continue;
    ASSERT_EQ(bhalf_t(value).m_bits, nearest_bfloat16(value)) << value;
  }
}

TEST(HalfTypes, SpecialValues) {
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(half_t(infinity).m_bits, 0x7c00u);
  EXPECT_EQ(half_t(-infinity).m_bits, 0xfc00u);
  EXPECT_EQ(bhalf_t(infinity).m_bits, 0x7f80u);
  EXPECT_EQ(half_t(65504.0).m_bits, 0x7bffu);
  EXPECT_EQ(half_t(65519.999).m_bits, 0x7bffu);
  EXPECT_EQ(half_t(65520.0).m_bits, 0x7c00u);
  EXPECT_EQ(half_t(1e300).m_bits, 0x7c00u);
  EXPECT_EQ(bhalf_t(1e300).m_bits, 0x7f80u);
  EXPECT_EQ(half_t(-0.0).m_bits, 0x8000u);
  EXPECT_EQ(half_t(1e-300).m_bits, 0u);
  EXPECT_EQ(half_t(0x1.0p-25).m_bits, 0u);
  EXPECT_EQ(half_t(0x1.000001p-25).m_bits, 1u);
  EXPECT_TRUE(std::isnan(float(half_t(std::nan("")))));
  EXPECT_TRUE(std::isnan(float(bhalf_t(float_of(0x7f800001u)))));
}

TEST(HalfTypes, IntegersRoundOnce) {
  EXPECT_EQ(float(half_t(2049)), 2048.0f);
  EXPECT_EQ(float(half_t(2051)), 2052.0f);
  EXPECT_EQ(float(half_t(true)), 1.0f);
  EXPECT_EQ(float(half_t(std::int64_t(-3))), -3.0f);
  // 2^62 + 2^54 is halfway between two bfloat16 values; one more is nearer to the upper one.
  const std::int64_t middle = (std::int64_t(1) << 62) + (std::int64_t(1) << 54);
  EXPECT_EQ(float(bhalf_t(middle)), 0x1.00p62f);
  EXPECT_EQ(float(bhalf_t(middle + 1)), 0x1.02p62f);
  EXPECT_EQ(float(bhalf_t(-middle - 1)), -0x1.02p62f);
  EXPECT_EQ(float(bhalf_t(std::numeric_limits<std::int64_t>::min())), -0x1.0p63f);
  EXPECT_EQ(float(bhalf_t(std::numeric_limits<std::uint64_t>::max())), 0x1.0p64f);
}

TEST(HalfTypes, ArithmeticGoesThroughFloat) {
  half_t a = 1.5;
  a += half_t(0.25);
  EXPECT_EQ(float(a), 1.75f);
  a *= 2;
  a -= 0.5;
  a /= half_t(2);
  EXPECT_EQ(float(a), 1.5f);
  const bhalf_t b = a + bhalf_t(2);
  EXPECT_EQ(float(b), 3.5f);
  EXPECT_TRUE(half_t(1) < half_t(2));
  EXPECT_TRUE(half_t(1) == bhalf_t(1));
}

TEST(HalfTypes, IncrementAndDecrement) {
  half_t a = 1.5;
  EXPECT_EQ(float(++a), 2.5f);
  EXPECT_EQ(float(a++), 2.5f);
  EXPECT_EQ(float(a--), 3.5f);
  EXPECT_EQ(float(--a), 1.5f);
  ++a = half_t(7);
  EXPECT_EQ(float(a), 7.0f);
  bhalf_t b = 255;
  EXPECT_EQ(float(b++), 255.0f);
  EXPECT_EQ(float(++b), 256.0f) << "257 is not a bfloat16, and 256 the even neighbour";
}

/// Through float, so that each value is rounded once.
TEST(HalfTypes, ConversionBetweenTheTwo) {
  static_assert(!std::is_convertible_v<half_t, bhalf_t> && !std::is_convertible_v<bhalf_t, half_t>);
  for (std::uint32_t bits = 0; bits <= 0xffffu; ++bits) {
    const auto pattern = static_cast<std::uint16_t>(bits);
    const half_t h = half_t::from_bits(pattern);
    const bhalf_t b = bhalf_t::from_bits(pattern);
    ASSERT_EQ(bhalf_t(h).m_bits, bhalf_t(float(h)).m_bits) << bits;
    ASSERT_EQ(half_t(b).m_bits, half_t(float(b)).m_bits) << bits;
  }
  EXPECT_EQ(float(bhalf_t(half_t(1.0f + 0x1.0p-10f))), 1.0f);
  EXPECT_EQ(float(half_t(bhalf_t(1e30f))), std::numeric_limits<float>::infinity());
}

/// The limits are what a search through all bit patterns gives.
template <class Half>
void expect_limits() {
  using Limits = std::numeric_limits<Half>;
  static_assert(Limits::is_specialized && Limits::is_signed && !Limits::is_integer);
  static_assert(Limits::radix == 2);
  const auto value = [](Half half) { return double(float(half)); };
  double largest = 0, smallest = 1e300, next_to_one = 2;
  for (std::uint32_t bits = 1; bits < 0x8000u; ++bits) {
    const double here = value(Half::from_bits(static_cast<std::uint16_t>(bits)));
    if (!std::isfinite(here)) continue;
    largest = std::max(largest, here);
    smallest = std::min(smallest, here);
    if (here > 1) next_to_one = std::min(next_to_one, here);
  }
  EXPECT_EQ(value(Limits::max()), largest);
  EXPECT_EQ(value(Limits::lowest()), -largest);
  EXPECT_EQ(value(Limits::denorm_min()), smallest);
  EXPECT_EQ(value(Limits::epsilon()), next_to_one - 1);
  EXPECT_EQ(value(Limits::min()), smallest * std::ldexp(1.0, Limits::digits - 1));
  EXPECT_EQ(value(Limits::min()), std::ldexp(1.0, Limits::min_exponent - 1));
  EXPECT_EQ(value(Limits::epsilon()), std::ldexp(1.0, 1 - Limits::digits));
  EXPECT_EQ(value(Limits::round_error()), 0.5);
  EXPECT_EQ(std::ilogb(largest) + 1, Limits::max_exponent);
  EXPECT_EQ(value(Limits::infinity()), std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(value(Limits::quiet_NaN())));
  EXPECT_TRUE(std::isnan(value(Limits::signaling_NaN())));
  EXPECT_NE(Limits::quiet_NaN().m_bits, Limits::signaling_NaN().m_bits);
  EXPECT_EQ(Limits::digits10, int((Limits::digits - 1) * std::log10(2.0)));
  EXPECT_EQ(Limits::max_digits10, int(std::ceil(Limits::digits * std::log10(2.0) + 1)));
  EXPECT_EQ(Limits::max_exponent10, int(std::floor(std::log10(largest))));
  EXPECT_EQ(Limits::min_exponent10, int(std::ceil(std::log10(value(Limits::min())))));
}

TEST(HalfTypes, Limits) {
  expect_limits<half_t>();
  expect_limits<bhalf_t>();
}

// ---------------------------------------------------------------- in kernels

template <class ExecutionSpace>
class HalfTypesInKernels : public testing::Test {};
TYPED_TEST_SUITE(HalfTypesInKernels, ::Test::AllExecutionSpaces, ::Test::ExecutionSpaceNames);

/// Whatever the host computes from `values`, bit for bit: conversions from double and float, and a
/// chain of arithmetic.
template <class Half>
KOKKOS_FUNCTION std::uint64_t fingerprint(double value) {
  const Half from_double = value;
  const Half from_float = static_cast<float>(value);
  Half chain = from_double;
  chain *= Half(0.75f);
  chain += from_float;
  chain -= 0.3;
  const auto integer = static_cast<std::int64_t>(Kokkos::fmin(Kokkos::fabs(value), 9e18));
  const Half from_integer = integer;
  return std::uint64_t(from_double.m_bits) | std::uint64_t(from_float.m_bits) << 16 |
         std::uint64_t(chain.m_bits) << 32 | std::uint64_t(from_integer.m_bits) << 48;
}

template <class ExecutionSpace, class Half>
void expect_same_bits_in_kernels() {
  const std::vector<double> values = boundary_values<Half>();
  const int n = int(values.size());
  const ::Test::SharedView<double*, ExecutionSpace> in("in", values.size());
  const ::Test::SharedView<std::uint64_t*, ExecutionSpace> out("out", values.size());
  for (int i = 0; i < n; ++i) in(i) = values[std::size_t(i)];
  Kokkos::parallel_for(
      "fingerprint", Kokkos::RangePolicy<ExecutionSpace>(0, n),
      KOKKOS_LAMBDA(int i) { out(i) = fingerprint<Half>(in(i)); });
  ExecutionSpace().fence();
  for (int i = 0; i < n; ++i) ASSERT_EQ(out(i), fingerprint<Half>(in(i))) << in(i);
}

DEVICE_TYPED_TEST(HalfTypesInKernels, SameBitsAsOnTheHost) {
  static_cast<void>(self);
  expect_same_bits_in_kernels<TypeParam, half_t>();
  expect_same_bits_in_kernels<TypeParam, bhalf_t>();
}

template <class ExecutionSpace, class Half>
void expect_same_decoding_in_kernels() {
  const ::Test::SharedView<std::uint32_t*, ExecutionSpace> out("out", 0x10000);
  Kokkos::parallel_for(
      "decode", Kokkos::RangePolicy<ExecutionSpace>(0, 0x10000), KOKKOS_LAMBDA(int i) {
        const float wide = Half::from_bits(static_cast<std::uint16_t>(i));
        out(i) = Kokkos::bit_cast<std::uint32_t>(wide);
      });
  ExecutionSpace().fence();
  for (int i = 0; i < 0x10000; ++i) {
    ASSERT_EQ(out(i), bits_of(Half::from_bits(static_cast<std::uint16_t>(i)))) << i;
  }
}

DEVICE_TYPED_TEST(HalfTypesInKernels, DecodingIsTheSame) {
  static_cast<void>(self);
  expect_same_decoding_in_kernels<TypeParam, half_t>();
  expect_same_decoding_in_kernels<TypeParam, bhalf_t>();
}

template <class ExecutionSpace>
float sum_in_kernels() {
  const Kokkos::View<half_t*, ExecutionSpace> values("values", 100);
  Kokkos::parallel_for(
      "fill", Kokkos::RangePolicy<ExecutionSpace>(0, 100),
      KOKKOS_LAMBDA(int i) { values(i) = half_t(i) * half_t(0.5f); });
  float sum = 0.0f;
  Kokkos::parallel_reduce(
      "sum", Kokkos::RangePolicy<ExecutionSpace>(0, 100),
      KOKKOS_LAMBDA(int i, float& part) { part += values(i); }, sum);
  return sum;
}

TYPED_TEST(HalfTypesInKernels, InViewsAndReductions) {
  EXPECT_EQ(sum_in_kernels<TypeParam>(), 2475.0f);
}

/// Kokkos' reducers take the types as they take float.
template <class ExecutionSpace, class Half>
void expect_reductions() {
  using Policy = Kokkos::RangePolicy<ExecutionSpace>;
  const ::Test::SharedView<Half*, ExecutionSpace> values("values", 9);
  for (int i = 0; i < 9; ++i) values(i) = Half(i - 5);
  Half sum, product, least, greatest;
  Kokkos::parallel_reduce(
      "reduce", Policy(0, 9),
      KOKKOS_LAMBDA(int i, Half& s, Half& p, Half& l, Half& g) {
        s += values(i);
        p *= i == 5 ? Half(2) : Half(1);
        if (values(i) < l) l = values(i);
        if (values(i) > g) g = values(i);
      },
      Kokkos::Sum<Half>(sum), Kokkos::Prod<Half>(product), Kokkos::Min<Half>(least),
      Kokkos::Max<Half>(greatest));
  EXPECT_EQ(float(sum), -9.0f);
  EXPECT_EQ(float(product), 2.0f);
  EXPECT_EQ(float(least), -5.0f);
  EXPECT_EQ(float(greatest), 3.0f);
  // Without a value to reduce the result is the neutral element.
  const auto nothing = KOKKOS_LAMBDA(int, Half&){};
  Kokkos::parallel_reduce("none", Policy(0, 0), nothing, Kokkos::Min<Half>(least));
  Kokkos::parallel_reduce("none", Policy(0, 0), nothing, Kokkos::Max<Half>(greatest));
  EXPECT_EQ(least.m_bits, std::numeric_limits<Half>::max().m_bits);
  EXPECT_EQ(greatest.m_bits, std::numeric_limits<Half>::lowest().m_bits);
}

TYPED_TEST(HalfTypesInKernels, Reductions) {
  expect_reductions<TypeParam, half_t>();
  expect_reductions<TypeParam, bhalf_t>();
}

}  // namespace
