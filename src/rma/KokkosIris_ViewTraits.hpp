// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// What one-sided operations accept as views: stock Kokkos Views and what derives from them.

#ifndef KOKKOSIRIS_VIEW_TRAITS_HPP
#define KOKKOSIRIS_VIEW_TRAITS_HPP

#include <Kokkos_Core.hpp>
#include <core/KokkosIris_DeviceContext.hpp>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace KokkosIris {

/// Promise, as a template argument, that every run of adjacent elements a copy moves begins at a
/// multiple of Bytes on both sides and is a multiple of Bytes long: `put(d, dst, src, n, peer,
/// aligned<16>)`. Checked in builds with KokkosIris_ENABLE_VALIDATION, undefined elsewhere if
/// broken. Without it the path is chosen by the run-time alignment of both sides and the size.
template <std::size_t Bytes>
struct Aligned {
  static_assert(Bytes != 0 && (Bytes & (Bytes - 1)) == 0 && Bytes <= 64,
                "aligned<Bytes> takes a power of two up to 64");
  static constexpr std::size_t value = Bytes;
};
template <std::size_t Bytes>
inline constexpr Aligned<Bytes> aligned{};

namespace Impl {

/// The stock View that `view` is.
template <class DataType, class... Properties>
KOKKOS_FORCEINLINE_FUNCTION const Kokkos::View<DataType, Properties...>& as_view(
    const Kokkos::View<DataType, Properties...>& view) {
  return view;
}

/// What arguments are. A view is a Kokkos::View, or a class derived from one such as SymmetricView.
template <class T>
concept ViewLike = requires(const T& t) {
  as_view(t);
};

template <class T>
concept ExecutionSpaceLike = Kokkos::is_execution_space_v<T>;

template <class T>
concept TeamHandle = Kokkos::is_team_handle_v<T>;

template <ViewLike T>
using view_of = std::remove_cvref_t<decltype(as_view(std::declval<const T&>()))>;
template <ViewLike T>
using element_of = typename view_of<T>::non_const_value_type;

/// Element types that may be moved as bytes.
template <class T>
inline constexpr bool is_movable_v = std::is_trivially_copyable_v<T> && !std::is_volatile_v<T>;

/// Rules for the two sides of a copy that can be checked at compile time.
template <ViewLike Dst, ViewLike Src>
KOKKOS_FORCEINLINE_FUNCTION constexpr void require_copyable() {
  static_assert(!std::is_const_v<typename view_of<Dst>::value_type>,
                "the destination of a copy must not be a View of const elements");
  static_assert(std::is_same_v<element_of<Dst>, element_of<Src>>,
                "both sides of a copy must have the same element type; convert on one rank first");
  static_assert(view_of<Dst>::rank() == view_of<Src>::rank(),
                "both sides of a copy must have the same rank");
  static_assert(is_movable_v<element_of<Dst>>,
                "elements that move between ranks must be trivially copyable");
}

/// Rules for a mask beside a view.
template <ViewLike Block, ViewLike Mask>
KOKKOS_FORCEINLINE_FUNCTION constexpr void require_mask() {
  static_assert(std::is_integral_v<element_of<Mask>>, "a mask is a View of bool or integers");
  static_assert(view_of<Block>::rank() == view_of<Mask>::rank(),
                "a mask must have the rank of what it masks");
}

/// True if two views of the same rank have the same extents.
template <class A, class B>
KOKKOS_INLINE_FUNCTION bool same_extents(const A& a, const B& b) {
  for (std::size_t r = 0; r != A::rank(); ++r) {
    if (a.extent(r) != b.extent(r)) return false;
  }
  return true;
}

/// Kernel-side check of shapes in validation builds.
template <class A, class B>
KOKKOS_FORCEINLINE_FUNCTION void validate_extents([[maybe_unused]] const A& a,
                                                  [[maybe_unused]] const B& b) {
#ifdef KOKKOSIRIS_ENABLE_VALIDATION
  if (!same_extents(a, b)) Kokkos::abort("KokkosIris: views of different extents in one operation");
#endif
}

/// Address of the elements of a symmetric view on a rank. A view without elements may be anywhere.
template <class View>
KOKKOS_FORCEINLINE_FUNCTION typename View::pointer_type translate_view(const DeviceContext& context,
                                                                       const View& view, int peer) {
  if (view.span() == 0) return view.data();
  return context.translate(view.data(), peer, view.span() * sizeof(typename View::value_type));
}

/// Where an operand of a block operation is: in memory of the caller, whatever it is, or on a rank,
/// at the place that a symmetric pointer or view of the caller names.
struct Place {
  bool symmetric;
  int rank;

  KOKKOS_FORCEINLINE_FUNCTION static Place local() { return {false, 0}; }
  KOKKOS_FORCEINLINE_FUNCTION static Place on(int rank) { return {true, rank}; }

  /// Address of n elements. A block without elements may be anywhere.
  template <class T>
  KOKKOS_FORCEINLINE_FUNCTION T* address(const DeviceContext& context, T* data,
                                         std::size_t n) const {
    return symmetric && n != 0 ? context.translate(data, rank, n * sizeof(T)) : data;
  }
  template <class DataType, class... Properties>
  KOKKOS_FORCEINLINE_FUNCTION auto address(
      const DeviceContext& context, const Kokkos::View<DataType, Properties...>& view) const {
    return symmetric ? translate_view(context, view, rank) : view.data();
  }
};

}  // namespace Impl
}  // namespace KokkosIris

#endif
