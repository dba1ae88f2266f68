// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// Views of symmetric memory, and of the same memory on other ranks.

#ifndef KOKKOSIRIS_SYMMETRIC_VIEW_HPP
#define KOKKOSIRIS_SYMMETRIC_VIEW_HPP

#include <Kokkos_Core.hpp>
#include <core/KokkosIris_DeviceContext.hpp>
#include <utility>

namespace KokkosIris {

/// What `view`, a View of the caller's symmetric memory (a subview, say), is on rank `peer`: a
/// stock unmanaged Kokkos::View. Callable in kernels and on the host.
///
/// Reads and writes through it are ordinary loads and stores: unordered with respect to other ranks
/// until a release signal, fence, quiet or the end of the kernel with a barrier.
template <class DataType, class... Properties>
KOKKOS_INLINE_FUNCTION auto peer(const DeviceContext& context,
                                 const Kokkos::View<DataType, Properties...>& view, int peer) {
  using View = Kokkos::View<DataType, Properties...>;
  using PeerView =
      Kokkos::View<DataType, typename View::array_layout, typename View::device_type,
                   Kokkos::MemoryTraits<View::memory_traits::impl_value | Kokkos::Unmanaged>>;
  return PeerView(
      context.translate(view.data(), peer, view.span() * sizeof(typename View::value_type)),
      view.layout());
}

/// True if all elements of `view` lie in the caller's heap. A view without elements is symmetric if
/// its data pointer is.
template <class DataType, class... Properties>
KOKKOS_INLINE_FUNCTION bool is_symmetric(const DeviceContext& context,
                                         const Kokkos::View<DataType, Properties...>& view) {
  using View = Kokkos::View<DataType, Properties...>;
  return view.data() != nullptr &&
         context.is_symmetric(view.data(), view.span() * sizeof(typename View::value_type));
}

/// A View of the caller's part of a symmetric allocation that also reaches the other ranks' parts.
///
/// It is a Kokkos::View (managed: the block is freed when the last copy has died on every rank) and
/// is used as one: in deep_copy, subview, mirrors and kernels. Made by the creation functions of
/// Context, which are collective; copying and destroying one is local. It cannot be resized:
/// Kokkos::resize and Kokkos::realloc would give it memory that no other rank has. Make another one
/// on all ranks, copy what is to be kept, and assign it.
template <class DataType, class Layout, class MemorySpace>
class SymmetricView : public Kokkos::View<DataType, Layout, MemorySpace> {
 public:
  using view_type = Kokkos::View<DataType, Layout, MemorySpace>;
  using peer_view_type =
      Kokkos::View<DataType, Layout, MemorySpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

  SymmetricView() = default;
  SymmetricView(view_type local, const DeviceContext& context)
      : view_type(std::move(local)), m_context(context) {}

  /// The View of the caller's own memory, for interfaces that ask for exactly a Kokkos::View.
  KOKKOS_FUNCTION const view_type& view() const { return *this; }

  /// The part of rank `rank`, as KokkosIris::peer().
  KOKKOS_FUNCTION peer_view_type peer(int rank) const {
    return peer_view_type(
        m_context.translate(this->data(), rank,
                            this->span() * sizeof(typename view_type::value_type)),
        this->layout());
  }

  /// The context that the memory belongs to, for kernels.
  KOKKOS_FUNCTION const DeviceContext& context() const { return m_context; }

 private:
  DeviceContext m_context;
};

}  // namespace KokkosIris

namespace Kokkos {
/// \name Deleted: see KokkosIris::SymmetricView
/// In this namespace because these functions are called by their qualified names.
///@{
template <class DataType, class Layout, class MemorySpace, class... Extents>
void resize(KokkosIris::SymmetricView<DataType, Layout, MemorySpace>&, const Extents&...) = delete;
template <class Property, class DataType, class Layout, class MemorySpace, class... Extents>
void resize(const Property&, KokkosIris::SymmetricView<DataType, Layout, MemorySpace>&,
            const Extents&...) = delete;
template <class DataType, class Layout, class MemorySpace, class... Extents>
void realloc(KokkosIris::SymmetricView<DataType, Layout, MemorySpace>&, const Extents&...) = delete;
template <class Property, class DataType, class Layout, class MemorySpace, class... Extents>
void realloc(const Property&, KokkosIris::SymmetricView<DataType, Layout, MemorySpace>&,
             const Extents&...) = delete;
///@}
}  // namespace Kokkos

#endif
