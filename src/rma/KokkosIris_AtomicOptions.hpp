// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// Options of remote atomics: order, scope, mask, old values, hint; in any order, each at most
/// once.

#ifndef KOKKOSIRIS_ATOMIC_OPTIONS_HPP
#define KOKKOSIRIS_ATOMIC_OPTIONS_HPP

#include <Kokkos_Core.hpp>
#include <core/KokkosIris_MemoryOrder.hpp>
#include <cstddef>
#include <rma/KokkosIris_ViewTraits.hpp>
#include <type_traits>

namespace KokkosIris {
namespace Impl {

struct ThreadMask {
  bool value;
};
template <class View>
struct BlockMask {
  View view;
};
template <class View>
struct OldValues {
  View view;
};

}  // namespace Impl

/// Option of an atomic by one thread: with false nothing is accessed, and the result is T{}.
KOKKOS_FORCEINLINE_FUNCTION constexpr Impl::ThreadMask mask(bool value) { return {value}; }

/// Option of a block atomic: a View of bool or integers with the extents of the block; elements
/// whose mask is 0 are not accessed.
template <Impl::ViewLike View>
KOKKOS_FORCEINLINE_FUNCTION Impl::BlockMask<Impl::view_of<View>> mask(const View& view) {
  return {Impl::as_view(view)};
}

/// Option of a block atomic: a View of the caller with the extents of the block that receives the
/// values from before. Elements that are masked out keep what they hold.
template <Impl::ViewLike View>
KOKKOS_FORCEINLINE_FUNCTION Impl::OldValues<Impl::view_of<View>> old_values(const View& view) {
  return {Impl::as_view(view)};
}

/// Option of a block atomic: promises that the block, and every View that goes with it, is
/// contiguous (in the same order of elements), that the block's address is a multiple of N
/// elements, and that it has a multiple of N elements. They are then done in groups of N without
/// address arithmetic. Checked in builds with KokkosIris_ENABLE_VALIDATION, undefined elsewhere if
/// broken.
template <std::size_t N>
struct Hint {
  static_assert(N >= 1 && N <= 64, "hint<N> takes 1 to 64 elements");
  static constexpr std::size_t value = N;
};
template <std::size_t N>
inline constexpr Hint<N> hint{};

namespace Impl {

template <class T>
struct IsOrder : std::bool_constant<is_memory_order_v<T>> {};
template <class T>
struct IsScope : std::bool_constant<is_memory_scope_v<T>> {};
template <class T>
struct IsThreadMask : std::is_same<T, ThreadMask> {};
template <class T>
struct IsBlockMask : std::false_type {};
template <class View>
struct IsBlockMask<BlockMask<View>> : std::true_type {};
template <class T>
struct IsOldValues : std::false_type {};
template <class View>
struct IsOldValues<OldValues<View>> : std::true_type {};
template <class T>
struct IsHint : std::false_type {};
template <std::size_t N>
struct IsHint<Hint<N>> : std::true_type {};

template <template <class> class Kind, class... Options>
inline constexpr int count_options = (0 + ... + int(Kind<Options>::value));

/// The option of a kind, or the default if there is none.
template <template <class> class Kind, class Default>
KOKKOS_FORCEINLINE_FUNCTION constexpr Default option(Default fallback) {
  return fallback;
}
template <template <class> class Kind, class Default, class First, class... More>
KOKKOS_FORCEINLINE_FUNCTION constexpr auto option(Default fallback, const First& first,
                                                  const More&... more) {
  if constexpr (Kind<First>::value) {
    return first;
  } else {
    return option<Kind>(fallback, more...);
  }
}
template <template <class> class Kind, class Default, class... Options>
using option_type =
    decltype(option<Kind>(std::declval<Default>(), std::declval<const Options&>()...));

/// Rules that hold for the options of every atomic.
template <class... Options>
KOKKOS_FORCEINLINE_FUNCTION constexpr void require_distinct_options() {
  static_assert(count_options<IsOrder, Options...> <= 1,
                "give at most one of relaxed, acquire, release, acq_rel");
  static_assert(count_options<IsScope, Options...> <= 1,
                "give at most one of team_scope, device_scope, system_scope");
  static_assert(
      count_options<IsThreadMask, Options...> + count_options<IsBlockMask, Options...> <= 1,
      "give at most one mask");
  static_assert(count_options<IsOldValues, Options...> <= 1, "give at most one old_values");
  static_assert(count_options<IsHint, Options...> <= 1, "give at most one hint");
}
template <class... Options>
KOKKOS_FORCEINLINE_FUNCTION constexpr void require_thread_options() {
  require_distinct_options<Options...>();
  static_assert(
      (true && ... &&
       (IsOrder<Options>::value || IsScope<Options>::value || IsThreadMask<Options>::value)),
      "an atomic by one thread takes an order, a scope and mask(bool)");
}
/// False if there is a mask that is. (Without one nothing is asked: the compiler for AMD GPUs would
/// keep a copy of the default in the block's memory for each thread.)
template <class... Options>
KOKKOS_FORCEINLINE_FUNCTION constexpr bool thread_is_selected(const Options&... options) {
  if constexpr (count_options<IsThreadMask, Options...> == 0) {
    return true;
  } else {
    return option<IsThreadMask>(ThreadMask{true}, options...).value;
  }
}
template <class... Options>
KOKKOS_FORCEINLINE_FUNCTION constexpr void require_block_options() {
  require_distinct_options<Options...>();
  static_assert(
      (true && ... &&
       (IsOrder<Options>::value || IsScope<Options>::value || IsBlockMask<Options>::value ||
        IsOldValues<Options>::value || IsHint<Options>::value)),
      "a block atomic takes an order, a scope, mask(view), old_values(view) and hint<N>");
}

}  // namespace Impl
}  // namespace KokkosIris

#endif
