// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// Sums of elements in words of any width: what the reductions add, and in which type.

#ifndef KOKKOSIRIS_SUM_WORDS_HPP
#define KOKKOSIRIS_SUM_WORDS_HPP

#include <Kokkos_BitManipulation.hpp>
#include <Kokkos_Core.hpp>
#include <core/KokkosIris_HalfTypes.hpp>
#include <cstddef>
#include <type_traits>

namespace KokkosIris::Impl {

/// Element types of reductions.
template <class T>
inline constexpr bool is_summable_v = std::is_same_v<T, double> || std::is_same_v<T, float> ||
                                      is_half_v<T> ||
                                      (std::is_integral_v<T> && !std::is_same_v<T, bool> &&
                                       (sizeof(T) == 4 || sizeof(T) == 8));

/// In what elements are added: float for 16-bit types, so that a sum is rounded once; integers
/// modulo 2^32 or 2^64, which overflow as unsigned ones do.
template <class T>
struct SumTraits {
  static constexpr auto type_of() {
    if constexpr (is_half_v<T>) {
      return float{};
    } else if constexpr (std::is_integral_v<T>) {
      return std::make_unsigned_t<T>{};
    } else {
      return T{};
    }
  }
  using type = decltype(type_of());
};
template <class T>
using sum_type = typename SumTraits<T>::type;

/// The elements of a word.
template <class T, class Word>
struct WordElements {
  static constexpr int count = static_cast<int>(sizeof(Word) / sizeof(T));
  static_assert(count * sizeof(T) == sizeof(Word));
  T items[count];
};

/// Element by element the sum of words.
template <class T, class Word>
class WordSum {
 public:
  using Elements = WordElements<T, Word>;

  /// Begins with the first word: added to zero, -0 would become 0.
  KOKKOS_FORCEINLINE_FUNCTION void start(const Word& word) {
    const auto elements = Kokkos::bit_cast<Elements>(word);
    for (int i = 0; i < Elements::count; ++i)
      m_sums[i] = static_cast<sum_type<T>>(elements.items[i]);
  }
  KOKKOS_FORCEINLINE_FUNCTION void add(const Word& word) {
    const auto elements = Kokkos::bit_cast<Elements>(word);
    for (int i = 0; i < Elements::count; ++i) {
      m_sums[i] += static_cast<sum_type<T>>(elements.items[i]);
    }
  }
  KOKKOS_FORCEINLINE_FUNCTION Word result() const {
    Elements elements;
    for (int i = 0; i < Elements::count; ++i) elements.items[i] = static_cast<T>(m_sums[i]);
    return Kokkos::bit_cast<Word>(elements);
  }

 private:
  sum_type<T> m_sums[Elements::count];
};

}  // namespace KokkosIris::Impl

#endif
