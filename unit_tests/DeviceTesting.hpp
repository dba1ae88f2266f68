// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// What tests need to run on GPUs with the bodies that run on the host.

#ifndef KOKKOSIRIS_DEVICE_TESTING_HPP
#define KOKKOSIRIS_DEVICE_TESTING_HPP

#include <TestUtilities.hpp>
#include <type_traits>
#include <vector>

/// TYPED_TEST whose body is a function template outside of the test's class, as CUDA requires of
/// functions with kernels: `self` is the fixture, `TypeParam` the execution space. Members that it
/// uses are public. Kernels are not inside of other lambdas.
#define DEVICE_TYPED_TEST(Suite, Name)                      \
  template <class TypeParam>                                \
  void Suite##_##Name##_body(Suite<TypeParam>& self);       \
  TYPED_TEST(Suite, Name) { Suite##_##Name##_body(*this); } \
  template <class TypeParam>                                \
  void Suite##_##Name##_body([[maybe_unused]] Suite<TypeParam>& self)

namespace Test {

template <class Types, class... More>
struct Appended;
template <class... Types, class... More>
struct Appended<testing::Types<Types...>, More...> {
  using type = testing::Types<Types..., More...>;
};

/// The execution spaces of the host and, where there is one, of the GPU. (With
/// KOKKOSIRIS_TEST_GPU_ONLY only the GPU's, which halves the time that nvcc takes.)
#if defined(KOKKOSIRIS_TEST_GPU_ONLY)
using AllExecutionSpaces = testing::Types<KokkosIris::Impl::GpuExecutionSpace>;
#else
using AllExecutionSpaces =
    typename std::conditional_t<KokkosIris::Impl::has_gpu_v,
                                Appended<ExecutionSpaces, KokkosIris::Impl::GpuExecutionSpace>,
                                Appended<ExecutionSpaces>>::type;
#endif

/// One execution space for each memory that heaps lie in: for tests that do not depend on who runs
/// the kernels.
using HeapSpaces = std::conditional_t<
    KokkosIris::Impl::has_gpu_v,
    testing::Types<Kokkos::DefaultHostExecutionSpace, Kokkos::DefaultExecutionSpace>,
    testing::Types<Kokkos::DefaultHostExecutionSpace>>;

/// Memory that kernels of ExecutionSpace and the host reach at the same address.
template <class ExecutionSpace>
using SharedSpace = std::conditional_t<KokkosIris::Impl::is_gpu_space_v<ExecutionSpace>,
                                       Kokkos::SharedSpace, Kokkos::HostSpace>;
template <class DataType, class ExecutionSpace, class Layout = Kokkos::LayoutRight>
using SharedView = Kokkos::View<DataType, Layout, SharedSpace<ExecutionSpace>>;

template <class View>
inline constexpr bool on_host_v =
    Kokkos::SpaceAccessibility<Kokkos::HostSpace, typename View::memory_space>::accessible;

/// A view of any layout and strides as the host sees it: the view itself where the host can reach
/// it, else a copy of its memory, made at once. push() writes the copy back.
template <class DataType, class... Properties>
class Staged {
  using View = Kokkos::View<DataType, Properties...>;
  using T = typename View::non_const_value_type;
  template <class Space, class Element>
  using Memory =
      Kokkos::View<Element*, Kokkos::LayoutRight, Space, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

 public:
  using host_view = Kokkos::View<typename View::non_const_data_type, typename View::array_layout,
                                 Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  static constexpr std::size_t rank() { return View::rank(); }

  explicit Staged(const View& view) : m_view(view) {
    if constexpr (!on_host_v<View>) {
      m_memory = Kokkos::View<T*, Kokkos::LayoutRight, Kokkos::HostSpace>(
          Kokkos::view_alloc(Kokkos::WithoutInitializing, "staged"), view.span());
      if (view.span() != 0) {
        Kokkos::deep_copy(m_memory,
                          Memory<typename View::memory_space, const T>(view.data(), view.span()));
      }
    }
  }
  void push() const {
    if constexpr (!on_host_v<View>) {
      if (m_view.span() == 0) return;
      Kokkos::deep_copy(Memory<typename View::memory_space, T>(m_view.data(), m_view.span()),
                        m_memory);
    }
  }
  host_view view() const { return host_view(data(), m_view.layout()); }
  template <class... Indices>
  T& operator()(Indices... indices) const {
    return view()(indices...);
  }
  T* data() const {
    if constexpr (on_host_v<View>) {
      return const_cast<T*>(m_view.data());
    } else {
      return m_memory.data();
    }
  }

 private:
  View m_view;
  Kokkos::View<T*, Kokkos::LayoutRight, Kokkos::HostSpace> m_memory;
};

template <class DataType, class... Properties>
Staged<DataType, Properties...> staged(const Kokkos::View<DataType, Properties...>& view) {
  return Staged<DataType, Properties...>(view);
}

/// The Kokkos::View of what may be a SymmetricView.
template <class DataType, class... Properties>
const Kokkos::View<DataType, Properties...>& plain(
    const Kokkos::View<DataType, Properties...>& view) {
  return view;
}

/// random_fill and poison_fill for views that the host may not reach.
template <class View>
void random_fill_anywhere(const View& view, std::uint64_t stream) {
  const auto host = staged(view);
  random_fill(host.view(), stream);
  host.push();
}
template <class View>
void poison_fill_anywhere(const View& view) {
  const auto host = staged(view);
  poison_fill(host.view());
  host.push();
}

/// Copies one element to the host or from it, wherever it lies.
template <class MemorySpace, class T>
T fetch(const T* element) {
  if constexpr (Kokkos::SpaceAccessibility<Kokkos::HostSpace, MemorySpace>::accessible) {
    return *element;
  } else {
    T value;
    Kokkos::deep_copy(
        Kokkos::View<T, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>(&value),
        Kokkos::View<const T, MemorySpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>(element));
    return value;
  }
}
template <class MemorySpace, class T>
void place(T* element, const T& value) {
  if constexpr (Kokkos::SpaceAccessibility<Kokkos::HostSpace, MemorySpace>::accessible) {
    *element = value;
  } else {
    Kokkos::deep_copy(
        Kokkos::View<T, MemorySpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>(element),
        Kokkos::View<const T, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>(&value));
  }
}

/// Address of view(indices...), which operator() gives for memory that the host reaches only.
template <class View, class... Indices>
typename View::pointer_type address_of(const View& view, Indices... indices) {
  static_assert(sizeof...(Indices) == View::rank());
  const std::size_t at[] = {static_cast<std::size_t>(indices)..., 0};
  std::size_t offset = 0;
  for (std::size_t r = 0; r != View::rank(); ++r) offset += at[r] * view.stride(r);
  return view.data() + offset;
}

/// view(indices...) of a view in any memory, read by the host.
template <class View, class... Indices>
typename View::non_const_value_type get_at(const View& view, Indices... indices) {
  return fetch<typename View::memory_space, typename View::non_const_value_type>(
      address_of(view, indices...));
}
/// view(indices...) = value for a view in any memory, written by the host.
template <class View, class... Indices>
void set_at(const View& view, const typename View::non_const_value_type& value,
            Indices... indices) {
  place<typename View::memory_space>(address_of(view, indices...), value);
}

}  // namespace Test

#endif
