// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// From extents to a SymmetricView: layouts, sizes and ownership. The public functions are in
/// Context.

#ifndef KOKKOSIRIS_CREATION_HPP
#define KOKKOSIRIS_CREATION_HPP

#include <Kokkos_Core.hpp>
#include <core/KokkosIris_Error.hpp>
#include <core/KokkosIris_GpuSpace.hpp>
#include <core/KokkosIris_HalfTypes.hpp>
#include <cstddef>
#include <cstdint>
#include <heap/KokkosIris_ContextState.hpp>
#include <heap/KokkosIris_Fill.hpp>
#include <heap/KokkosIris_ManagedView.hpp>
#include <heap/KokkosIris_SymmetricView.hpp>
#include <iterator>
#include <limits>
#include <memory>
#include <string>
#include <type_traits>
#include <typeinfo>

namespace KokkosIris::Impl {

/// Collective. \throws Error (misuse) on all ranks if Kokkos is not running on one of them
void require_running_kokkos(Bootstrap& bootstrap);

/// \throws Error (invalid_argument) on all ranks
[[noreturn]] void fail_no_sequence(Runtime& runtime, const std::string& start,
                                   const std::string& end, const std::string& step);

/// Number of elements of arange. \throws Error (invalid_argument) on all ranks if there is no such
/// sequence
std::size_t arange_count(Runtime& runtime, double start, double end, double step);

/// As above for integers, exact for all of them.
template <class T>
requires std::is_integral_v<T> std::size_t arange_count(Runtime& runtime, T start, T end, T step) {
  bool backward = false;
  if constexpr (std::is_signed_v<T>) backward = step < T(0);
  if (step == T(0) || (backward ? end > start : end < start)) {
    fail_no_sequence(runtime, std::to_string(start), std::to_string(end), std::to_string(step));
  }
  const auto wide = [](T value) { return static_cast<std::uint64_t>(value); };
  const std::uint64_t distance = backward ? wide(start) - wide(end) : wide(end) - wide(start);
  const std::uint64_t stride = backward ? std::uint64_t(0) - wide(step) : wide(step);
  return distance / stride + (distance % stride != 0 ? 1 : 0);
}

/// \throws Error (invalid_argument) on all ranks unless low < high, both finite
void require_interval(Runtime& runtime, const char* operation, double low, double high);

/// high - low. \throws Error (invalid_argument) on all ranks if the interval is empty, or if not
/// `fits`
std::uint64_t randint_count(Runtime& runtime, std::int64_t low, std::int64_t high, bool fits);

/// True if the integer type T has all numbers of [low, high).
template <class T>
constexpr bool interval_fits(std::int64_t low, std::int64_t high) {
  constexpr T smallest = std::numeric_limits<T>::min();
  constexpr T largest = std::numeric_limits<T>::max();
  if (low >= high) return true;  // no numbers
  if constexpr (std::is_signed_v<T>) {
    return low >= std::int64_t(smallest) && high - 1 <= std::int64_t(largest);
  } else {
    return low >= 0 && static_cast<std::uint64_t>(high - 1) <= std::uint64_t(largest);
  }
}

template <class T>
inline constexpr bool is_real_v = std::is_floating_point_v<T> || is_half_v<T>;

/// What sequences are computed in; integers modulo 2^64, so that no intermediate overflows.
template <class T>
using sequence_type = std::conditional_t<std::is_integral_v<T>, std::uint64_t, double>;

/// An extent as given. Negative ones stay recognizable (is_negative()) until the ranks meet, when
/// they are an error of all; larger ones than can be addressed become the largest of those.
template <class Extent>
std::size_t given_extent(Extent extent) {
  static_assert(std::is_integral_v<Extent>, "extents are integers");
  if constexpr (std::is_signed_v<Extent>) {
    return static_cast<std::size_t>(static_cast<std::ptrdiff_t>(extent));
  } else {
    constexpr std::size_t largest = std::numeric_limits<std::ptrdiff_t>::max();
    return extent < largest ? static_cast<std::size_t>(extent) : largest;
  }
}

/// Layout of a View with the given run-time extents; compile-time extents are filled in.
template <class View, class... Extents>
typename View::array_layout make_layout(Extents... extents) {
  static_assert(sizeof...(Extents) == View::rank_dynamic,
                "give one extent for each run-time dimension of the data type");
  const std::size_t given[] = {given_extent(extents)..., 0};
  typename View::array_layout layout;
  for (std::size_t r = 0; r != View::rank(); ++r) {
    layout.dimension[r] = r + 1 < std::size(given) ? given[r] : View::static_extent(r);
  }
  return layout;
}

/// SymmetricView with the data type of `Source`; a strided layout becomes LayoutRight.
template <class Source, class MemorySpace>
using symmetric_counterpart = SymmetricView<
    typename Source::non_const_data_type,
    std::conditional_t<std::is_same_v<typename Source::array_layout, Kokkos::LayoutLeft>,
                       Kokkos::LayoutLeft, Kokkos::LayoutRight>,
    MemorySpace>;

template <class Result, class Source>
typename Result::array_layout counterpart_layout(const Source& source) {
  typename Result::array_layout layout;
  for (std::size_t r = 0; r != Result::rank(); ++r) layout.dimension[r] = source.extent(r);
  return layout;
}

/// Bytes of a contiguous view, or the largest size_t if they cannot be counted.
template <class View>
std::size_t layout_bytes(const typename View::array_layout& layout) {
  std::size_t bytes = sizeof(typename View::value_type);
  bool overflow = false;
  bool none = false;
  for (std::size_t r = 0; r != View::rank(); ++r) {
    if (is_negative(layout.dimension[r])) return std::numeric_limits<std::size_t>::max();
    none = none || layout.dimension[r] == 0;
    overflow = __builtin_mul_overflow(bytes, layout.dimension[r], &bytes) || overflow;
  }
  if (none) return 0;
  return overflow ? std::numeric_limits<std::size_t>::max() : bytes;
}

/// What the ranks must agree on before a view of this type and layout is made.
template <class View>
HeapRequest request_of(const typename View::array_layout& layout) {
  HeapRequest request;
  request.bytes = layout_bytes<View>(layout);
  request.type = typeid(View).hash_code();
  request.rank = View::rank();
  for (std::size_t r = 0; r != View::rank(); ++r) request.extents[r] = layout.dimension[r];
  return request;
}

/// Collective: allocates the memory of a symmetric view; its block is dropped when the last copy
/// dies.
template <class Result>
Result create(const std::shared_ptr<ContextState>& state, const char* operation,
              const std::string& label, const typename Result::array_layout& layout) {
  using View = typename Result::view_type;
  using T = typename View::value_type;
  static_assert(std::is_trivially_copyable_v<T> && !std::is_const_v<T>,
                "elements of symmetric views are moved between processes as bytes: they must be "
                "trivially copyable and not const");
  static_assert(alignof(T) <= SymmetricHeap::alignment,
                "blocks of the symmetric heap are aligned to 256 bytes, which is less than this "
                "type asks for");
  static_assert(!is_gpu_space_v<typename View::memory_space> || !std::is_same_v<T, long double>,
                "long double has another size in kernels on a GPU than on the host");
  const HeapBlock block = state->heap().allocate(operation, request_of<View>(layout));
  const auto space = Kokkos::Tools::make_space_handle(
      (std::string("KokkosIris::") + View::memory_space::name()).c_str());
  if (Kokkos::Tools::profileLibraryLoaded()) {
    Kokkos::Tools::allocateData(space, label, block.data, block.bytes);
  }
  auto release = [state, block, space, label] {
    if (Kokkos::Tools::profileLibraryLoaded()) {
      Kokkos::Tools::deallocateData(space, label, block.data, block.bytes);
    }
    // As Kokkos does when it frees device memory: kernels that use it may still run.
    if constexpr (is_gpu_space_v<typename View::memory_space>) {
      if (Kokkos::is_initialized() && !Kokkos::is_finalized()) Kokkos::fence("KokkosIris::free");
    }
    state->heap().drop(block.sequence);
  };
  return Result(make_managed_view<View>(label, reinterpret_cast<T*>(block.data), block.bytes,
                                        layout, std::move(release)),
                state->device());
}

/// Copies a local view, of any memory space and layout, into a new symmetric view.
template <class Result, class Source>
void copy_in(const Result& view, const Source& local) {
  const typename Result::execution_space exec;
  if constexpr (std::is_same_v<typename Result::array_layout, typename Source::array_layout>) {
    if (local.span_is_contiguous()) {
      Kokkos::deep_copy(exec, view.view(), local);
      exec.fence("KokkosIris::as_symmetric");
      return;
    }
  }
  // Across memory spaces Kokkos copies only between equal layouts without gaps.
  auto contiguous = Kokkos::View<typename Source::non_const_data_type,
                                 typename Result::array_layout, typename Source::memory_space>(
      Kokkos::view_alloc(Kokkos::WithoutInitializing, "KokkosIris::as_symmetric"),
      counterpart_layout<Result>(local));
  const typename Source::memory_space::execution_space local_exec;
  Kokkos::deep_copy(local_exec, contiguous, local);
  local_exec.fence("KokkosIris::as_symmetric");
  Kokkos::deep_copy(exec, view.view(), contiguous);
  exec.fence("KokkosIris::as_symmetric");
}

}  // namespace KokkosIris::Impl

#endif
