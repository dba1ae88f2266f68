// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// Values for new symmetric views: sequences and reproducible random numbers, as functions of an
/// index.

#ifndef KOKKOSIRIS_FILL_HPP
#define KOKKOSIRIS_FILL_HPP

#include <Kokkos_Core.hpp>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace KokkosIris::Impl {

/// Sets data[i] = values(i) for i < n; `values` is a trivially copyable function object.
template <class ExecutionSpace, class T, class Values>
void fill(const ExecutionSpace& exec, T* data, std::size_t n, const Values& values) {
  if (n == 0) return;
  Kokkos::parallel_for(
      "KokkosIris::fill",
      Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::size_t>>(exec, 0, n),
      KOKKOS_LAMBDA(std::size_t i) { data[i] = values(i); });
}

template <class T>
struct ConstantValues {
  T m_value;
  KOKKOS_FUNCTION T operator()(std::size_t) const { return m_value; }
};

/// start + i * step, computed in Step so that rounding errors do not add up.
template <class T, class Step>
struct SequenceValues {
  Step m_start;
  Step m_step;
  KOKKOS_FUNCTION T operator()(std::size_t i) const {
    return static_cast<T>(m_start + static_cast<Step>(i) * m_step);
  }
};

/// `count` numbers from start to end, both exactly included.
template <class T>
struct LinspaceValues {
  double m_start;
  double m_end;
  std::size_t m_count;
  KOKKOS_FUNCTION T operator()(std::size_t i) const {
    if (i == 0) return static_cast<T>(m_start);
    if (i + 1 == m_count) return static_cast<T>(m_end);
    const double intervals = static_cast<double>(m_count - 1);
    return static_cast<T>(m_start + static_cast<double>(i) * ((m_end - m_start) / intervals));
  }
};

/// Counter-based random bits: a bijective mix of (key, index), so that element i has the same value
/// whatever backend and number of threads fills the view. The mixing function is the finaliser of
/// SplitMix64 (Steele, Lea, Flood 2014), applied to two independent combinations.
struct RandomBits {
  std::uint64_t m_key;

  KOKKOS_FUNCTION static std::uint64_t mix(std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
  }
  static RandomBits for_stream(std::uint64_t seed, std::uint64_t rank, std::uint64_t stream) {
    return {mix(mix(mix(seed + 0x9e3779b97f4a7c15ull) + rank) + stream)};
  }
  KOKKOS_FUNCTION std::uint64_t operator()(std::uint64_t i) const {
    return mix(mix(m_key + i * 0x9e3779b97f4a7c15ull) ^ (m_key >> 32 | m_key << 32));
  }
  /// Uniform in [0, 1) with 53 random bits.
  KOKKOS_FUNCTION double unit(std::uint64_t i) const {
    return static_cast<double>((*this)(i) >> 11) * 0x1.0p-53;
  }
};

/// Uniform in [low, high).
template <class T>
struct UniformValues {
  RandomBits m_bits;
  double m_low;
  double m_high;
  KOKKOS_FUNCTION T operator()(std::size_t i) const {
    T value = static_cast<T>(m_low + (m_high - m_low) * m_bits.unit(i));
    // Rounding to a narrow type may reach the upper end, which does not belong to the interval.
    return static_cast<double>(value) < m_high ? value : static_cast<T>(m_low);
  }
};

/// Normal with mean 0 and variance 1 (Box and Muller 1958).
template <class T>
struct NormalValues {
  RandomBits m_bits;
  KOKKOS_FUNCTION T operator()(std::size_t i) const {
    const double radius = Kokkos::sqrt(-2.0 * Kokkos::log(1.0 - m_bits.unit(2 * i)));
    return static_cast<T>(radius * Kokkos::cos(6.283185307179586 * m_bits.unit(2 * i + 1)));
  }
};

/// Integers uniform in [low, high).
template <class T>
struct IntegerValues {
  RandomBits m_bits;
  std::int64_t m_low;
  std::uint64_t m_count;
  KOKKOS_FUNCTION T operator()(std::size_t i) const {
    // The high half of bits * count; its bias is below count / 2^64.
    const std::uint64_t bits = m_bits(i);
    const std::uint64_t low = (bits & 0xffffffffull) * count_low() >> 32;
    const std::uint64_t middle = (bits >> 32) * count_low() + low;
    const std::uint64_t carry =
        ((bits & 0xffffffffull) * count_high() + (middle & 0xffffffffull)) >> 32;
    const std::uint64_t scaled = (bits >> 32) * count_high() + (middle >> 32) + carry;
    return static_cast<T>(static_cast<std::uint64_t>(m_low) + scaled);
  }

  KOKKOS_FUNCTION std::uint64_t count_low() const { return m_count & 0xffffffffull; }
  KOKKOS_FUNCTION std::uint64_t count_high() const { return m_count >> 32; }
};

}  // namespace KokkosIris::Impl

#endif
