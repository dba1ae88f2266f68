// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// Managed Kokkos::View objects over memory that Kokkos did not allocate. Everything that depends
/// on how a Kokkos release represents ownership is in this file.

#ifndef KOKKOSIRIS_MANAGED_VIEW_HPP
#define KOKKOSIRIS_MANAGED_VIEW_HPP

#include <Kokkos_Core.hpp>
#include <cstddef>
#include <functional>
#include <string>
#include <utility>

namespace KokkosIris::Impl {

/// Shared ownership of memory by Views: runs an action when the last View that refers to it dies.
class OwnershipRecord : public Kokkos::Impl::SharedAllocationRecord<void, void> {
  using Base = Kokkos::Impl::SharedAllocationRecord<void, void>;

 public:
  OwnershipRecord(std::string label, void* data, std::size_t bytes, std::function<void()> release)
      : Base(
#ifdef KOKKOS_ENABLE_DEBUG
            root(),
#endif
            // Kokkos finds the memory behind the header that it would have placed before it; the
            // header itself is never read, because get_label() is overridden.
            static_cast<Kokkos::Impl::SharedAllocationHeader*>(data) - 1,
            bytes + sizeof(Kokkos::Impl::SharedAllocationHeader), &OwnershipRecord::destroy, label),
        m_name(std::move(label)),
        m_release(std::move(release)) {
  }

  std::string get_label() const override { return m_name; }

 private:
  static void destroy(Base* record) {
    auto* const self = static_cast<OwnershipRecord*>(record);
    self->m_release();
    delete self;
  }
#ifdef KOKKOS_ENABLE_DEBUG
  static Base* root() {
    static Base record;
    return &record;
  }
#endif

  std::string m_name;
  std::function<void()> m_release;
};

/// A managed View of `ViewType` over `data`; `release` runs when its last copy dies.
template <class ViewType, class Layout>
ViewType make_managed_view(const std::string& label, typename ViewType::value_type* data,
                           std::size_t bytes, const Layout& layout, std::function<void()> release) {
  Kokkos::Impl::SharedAllocationTracker tracker;
  tracker.assign_allocated_record_to_uninitialized(
      new OwnershipRecord(label, data, bytes, std::move(release)));
  using Handle = Kokkos::Impl::ReferenceCountedDataHandle<typename ViewType::value_type,
                                                          typename ViewType::memory_space>;
  return ViewType(Handle(tracker, data), layout);
}

}  // namespace KokkosIris::Impl

#endif
