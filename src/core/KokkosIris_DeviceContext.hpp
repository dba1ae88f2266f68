// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// What a kernel needs to reach the other ranks; the one place that translates a pointer.

#ifndef KOKKOSIRIS_DEVICE_CONTEXT_HPP
#define KOKKOSIRIS_DEVICE_CONTEXT_HPP

#include <Kokkos_Core.hpp>
#include <core/KokkosIris_Config.hpp>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace KokkosIris {
namespace Impl {

class Runtime;
struct DeviceControl;
struct CopyEngineQueues;

/// Rank `step` places after another one, the first coming after the last: where ranks go through
/// all others, each begins with its neighbour, so that they do not all meet at one.
/// \param step from 0 to size
KOKKOS_INLINE_FUNCTION int rank_after(int rank, int step, int size) {
  const int next = rank + step;
  return next < size ? next : next - size;
}

/// The members of a DeviceContext, for the layers of the library.
struct DeviceState {
  static constexpr int near_ranks = 8;
  int rank = 0;
  int size = 1;
  int spins = 1;                       ///< polls of a wait before it yields
  char* base = nullptr;                ///< own slab
  char* const* bases = nullptr;        ///< slabs of all ranks as mapped here; device memory
  char* near_bases[near_ranks] = {};   ///< the first of these, see slab()
  char* const* host_bases = nullptr;   ///< the same for the host
  std::size_t bytes = 0;               ///< size of every slab
  DeviceControl* control = nullptr;    ///< own control words, at the head of the slab
  Runtime* runtime = nullptr;          ///< host pointer; the slow path of waits on the host
  CopyEngineQueues* queues = nullptr;  ///< rings of the copy engine

  KOKKOS_INLINE_FUNCTION int peer_at(int step) const { return rank_after(rank, step, size); }
};

}  // namespace Impl

/// Handle to a context for kernels: trivially copyable, captured by value. Obtained from
/// Context::device(); valid as long as the context.
class DeviceContext {
 public:
  DeviceContext() = default;
  explicit DeviceContext(const Impl::DeviceState& state) : m_state(state) {}

  /// Rank of the caller in the context's communicator.
  KOKKOS_INLINE_FUNCTION int rank() const { return m_state.rank; }
  /// Number of ranks.
  KOKKOS_INLINE_FUNCTION int size() const { return m_state.size; }

  /// True if [p, p + bytes) lies in the caller's own heap, so that it exists on every rank.
  KOKKOS_INLINE_FUNCTION bool is_symmetric(const void* p, std::size_t bytes = 1) const {
    const auto address = reinterpret_cast<std::uintptr_t>(p);
    const auto base = reinterpret_cast<std::uintptr_t>(m_state.base);
    return address >= base && address - base <= m_state.bytes &&
           bytes <= m_state.bytes - (address - base);
  }

  /// Address, in the caller's address space, of what `local` is on rank `peer`.
  /// \param local pointer into the caller's own heap; anything else is undefined, and ends the
  ///        program with a message in builds with KokkosIris_ENABLE_VALIDATION
  /// \param bytes size of what will be accessed there, used by those builds only
  template <class T>
  KOKKOS_FORCEINLINE_FUNCTION T* translate(T* local, int peer,
                                           [[maybe_unused]] std::size_t bytes = sizeof(T)) const {
#ifdef KOKKOSIRIS_ENABLE_VALIDATION
    if (peer < 0 || peer >= m_state.size) {
      Kokkos::abort("KokkosIris: remote access to a rank outside the context");
    }
    if (!is_symmetric(local, bytes)) {
      Kokkos::abort("KokkosIris: remote access through a pointer outside the symmetric heap");
    }
#endif
    using Byte = std::conditional_t<std::is_const_v<T>, const char, char>;
    return reinterpret_cast<T*>(slab(peer) + (reinterpret_cast<Byte*>(local) - m_state.base));
  }

  /// Where the slab of rank `peer` begins in the caller's address space; for the layers of the
  /// library.
  ///
  /// On GPUs every acquire empties the first cache, so that a table in memory would cost its
  /// latency again after every wait; the near ranks come with the arguments of the kernel, which no
  /// acquire empties.
  KOKKOS_FORCEINLINE_FUNCTION char* slab(int peer) const {
    KOKKOS_IF_ON_HOST((return m_state.host_bases[peer];))
    KOKKOS_IF_ON_DEVICE((return peer < Impl::DeviceState::near_ranks ? m_state.near_bases[peer]
                                                                     : m_state.bases[peer];))
  }

  /// For the layers of the library.
  KOKKOS_INLINE_FUNCTION const Impl::DeviceState& state() const { return m_state; }

 private:
  Impl::DeviceState m_state;
};

}  // namespace KokkosIris

#endif
