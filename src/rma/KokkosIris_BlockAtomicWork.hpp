// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// The work of block atomics, which teams and kernels share.

#ifndef KOKKOSIRIS_BLOCK_ATOMIC_WORK_HPP
#define KOKKOSIRIS_BLOCK_ATOMIC_WORK_HPP

#include <Kokkos_Core.hpp>
#include <core/KokkosIris_DeviceContext.hpp>
#include <cstddef>
#include <rma/KokkosIris_AtomicOps.hpp>
#include <rma/KokkosIris_AtomicOptions.hpp>
#include <rma/KokkosIris_Atomics.hpp>
#include <rma/KokkosIris_BlockCopy.hpp>
#include <rma/KokkosIris_StridedLoop.hpp>
#include <rma/KokkosIris_ViewTraits.hpp>
#include <type_traits>
#include <utility>

namespace KokkosIris::Impl {

/// \name Operands of a block atomic beside the block itself
///@{
/// One value for all elements.
template <class T>
struct ScalarOperand {
  T m_value;
  KOKKOS_FORCEINLINE_FUNCTION T operator[](std::size_t) const { return m_value; }
};
/// No old values wanted, or no comparison value.
struct NoOperand {
  KOKKOS_FORCEINLINE_FUNCTION NoOperand operator[](std::size_t) const { return {}; }
};
template <class T>
KOKKOS_FORCEINLINE_FUNCTION void keep_old(NoOperand, std::size_t, T) {}
template <class T>
KOKKOS_FORCEINLINE_FUNCTION void keep_old(T* old, std::size_t at, T value) {
  old[at] = value;
}
///@}

/// Compare-and-exchange as an operation of blocks.
struct CasOp {};

template <class Op, class Order, class Scope, class T, class Compare>
KOKKOS_FORCEINLINE_FUNCTION T apply_atomic(T* ptr, Compare compare, T value) {
  if constexpr (std::is_same_v<Op, CasOp>) {
    return compare_exchange<Order, Scope>(ptr, compare, value);
  } else {
    return Op::template fetch<Order, Scope>(ptr, value);
  }
}

/// One atomic for each selected element of a block.
/// \tparam Group elements of a hint, done together; 0 without a hint
/// \tparam Values, Compare, Mask, Old what is indexed by the offsets of the loop's operands 1 to 4
template <class Op, class Order, class Scope, std::size_t Group, class T, class Loop, class Values,
          class Compare, class Mask, class Old>
struct BlockAtomic {
  Loop m_loop;
  T* m_dst;
  Values m_values;
  Compare m_compare;
  Mask m_mask;
  Old m_old;

  KOKKOS_INLINE_FUNCTION std::size_t units() const {
    if constexpr (Group == 0) {
      return m_loop.total;
    } else {
      return m_loop.total / Group;
    }
  }

  KOKKOS_INLINE_FUNCTION void operator()(std::size_t begin, std::size_t end) const {
    if constexpr (Group == 0) {
      m_loop.for_rows(begin, end, [this](const std::size_t(&at)[5], std::size_t n) {
        for (std::size_t i = 0; i < n; ++i) {
          element(at[0] + i * m_loop.row_stride(0), at[1] + i * m_loop.row_stride(1),
                  at[2] + i * m_loop.row_stride(2), at[3] + i * m_loop.row_stride(3),
                  at[4] + i * m_loop.row_stride(4));
        }
      });
    } else {
      for (std::size_t i = begin; i < end; ++i) group(i * Group, std::make_index_sequence<Group>());
    }
  }

 private:
  KOKKOS_FORCEINLINE_FUNCTION void element(std::size_t dst, std::size_t value, std::size_t compare,
                                           std::size_t mask, std::size_t old) const {
    if (!selected(m_mask, mask)) return;
    keep_old(m_old, old,
             apply_atomic<Op, Order, Scope, T>(m_dst + dst, m_compare[compare], m_values[value]));
  }
  /// Elements first + J for the J of one group, written out.
  template <std::size_t... J>
  KOKKOS_FORCEINLINE_FUNCTION void group(std::size_t first, std::index_sequence<J...>) const {
    (element(first + J, first + J, first + J, first + J, first + J), ...);
  }
};

/// The promise of a hint, checked in validation builds.
template <std::size_t Group, class T, class Loop>
KOKKOS_INLINE_FUNCTION void validate_hint([[maybe_unused]] const Loop& loop,
                                          [[maybe_unused]] const T* dst) {
#ifdef KOKKOSIRIS_ENABLE_VALIDATION
  if constexpr (Group != 0) {
    bool contiguous = loop.total == 0 || loop.dims == 1;
    // Scalars, which all elements share, have stride 0.
    for (int k = 0; k < 5; ++k) contiguous = contiguous && loop.row_stride(k) <= 1;
    if (!contiguous || loop.row_stride(0) != 1 || loop.total % Group != 0 ||
        reinterpret_cast<std::uintptr_t>(dst) % (Group * sizeof(T)) != 0) {
      Kokkos::abort("KokkosIris: hint<N> of a block atomic promises what its operands do not keep");
    }
  }
#endif
}

/// \name From arguments to operands
///@{
template <class T, class Argument>
KOKKOS_FORCEINLINE_FUNCTION auto value_operand(const Argument& argument) {
  if constexpr (ViewLike<Argument>) {
    static_assert(std::is_same_v<element_of<Argument>, T>,
                  "the values of a block atomic must have the element type of the block");
    return static_cast<const T*>(argument.data());
  } else if constexpr (std::is_same_v<Argument, NoOperand>) {
    return argument;
  } else {
    static_assert(std::is_convertible_v<Argument, T>,
                  "the values of a block atomic are a View, or one value of the element type");
    return ScalarOperand<T>{static_cast<T>(argument)};
  }
}
KOKKOS_FORCEINLINE_FUNCTION AllElements mask_operand(AllElements) { return {}; }
template <class View>
KOKKOS_FORCEINLINE_FUNCTION const typename View::non_const_value_type* mask_operand(
    const BlockMask<View>& mask) {
  return mask.view.data();
}
template <class T>
KOKKOS_FORCEINLINE_FUNCTION NoOperand old_operand(NoOperand) {
  return {};
}
template <class T, class View>
KOKKOS_FORCEINLINE_FUNCTION T* old_operand(const OldValues<View>& old) {
  static_assert(std::is_same_v<typename View::value_type, T>,
                "old_values takes a View with the element type of the block, not const");
  return old.view.data();
}

/// What gives an operand its strides: the View in it, or the operand itself.
template <class Argument>
KOKKOS_FORCEINLINE_FUNCTION const auto& shape_of(const Argument& argument) {
  if constexpr (ViewLike<Argument>) {
    return as_view(argument);
  } else if constexpr (IsBlockMask<Argument>::value || IsOldValues<Argument>::value) {
    return argument.view;
  } else {
    return argument;
  }
}
template <class Dst, class Shape>
KOKKOS_FORCEINLINE_FUNCTION void validate_shape(const Dst& dst, const Shape& shape) {
  if constexpr (Kokkos::is_view_v<Shape>) {
    static_assert(Shape::rank() == Dst::rank(), "all Views of a block atomic must have one rank");
    validate_extents(dst, shape);
  }
}
///@}

/// *element <op>= value for the selected elements of dst at `to`.
template <class Op, ViewLike Dst, class Values, class Compare, class... Options>
KOKKOS_INLINE_FUNCTION auto atomic_work(const DeviceContext& context, const Dst& dst_argument,
                                        const Compare& compare, const Values& values, Place to,
                                        const Options&... options) {
  require_block_options<Options...>();
  const auto& dst = as_view(dst_argument);
  using T = typename view_of<Dst>::value_type;
  static_assert(!std::is_const_v<T>,
                "a block atomic changes its block: its elements are not const");
  require_atomic<T>();
  const auto mask = option<IsBlockMask>(AllElements{}, options...);
  const auto old = option<IsOldValues>(NoOperand{}, options...);
  validate_shape(dst, shape_of(values));
  validate_shape(dst, shape_of(compare));
  validate_shape(dst, shape_of(mask));
  validate_shape(dst, shape_of(old));
  const auto loop =
      make_strided_loop(dst, shape_of(values), shape_of(compare), shape_of(mask), shape_of(old));
  constexpr std::size_t group =
      count_options<IsHint, Options...> == 0 ? 0 : option_type<IsHint, Hint<1>, Options...>::value;
  validate_hint<group>(loop, dst.data());
  const auto values_at = value_operand<T>(values);
  const auto compare_at = value_operand<T>(compare);
  const auto mask_at = mask_operand(mask);
  const auto old_at = old_operand<T>(old);
  return BlockAtomic<Op, order_of<Options...>, scope_of<Options...>, group, T,
                     std::remove_const_t<decltype(loop)>, std::remove_const_t<decltype(values_at)>,
                     std::remove_const_t<decltype(compare_at)>,
                     std::remove_const_t<decltype(mask_at)>, std::remove_const_t<decltype(old_at)>>{
      loop, to.address(context, dst), values_at, compare_at, mask_at, old_at};
}

/// The same by a team. \param arguments those of atomic_work
template <class Op, class Run, class... Arguments>
KOKKOS_INLINE_FUNCTION void atomic_block(const Run& run, const Arguments&... arguments) {
  run(atomic_work<Op>(arguments...));
}

/// n adjacent elements as a View, for operations on pointers.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION auto adjacent(T* data, std::size_t n) {
  return Kokkos::View<T*, Kokkos::LayoutRight, Kokkos::AnonymousSpace,
                      Kokkos::MemoryTraits<Kokkos::Unmanaged>>(data, n);
}
/// The values of a block given by pointer: n adjacent values, or one for all.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION auto adjacent_values(const T* values, std::size_t n) {
  return adjacent(values, n);
}
template <class Value>
requires(!std::is_pointer_v<Value>) KOKKOS_FORCEINLINE_FUNCTION Value
    adjacent_values(Value value, std::size_t) {
  return value;
}

}  // namespace KokkosIris::Impl

#endif
