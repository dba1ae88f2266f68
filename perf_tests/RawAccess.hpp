// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// The baselines of one-sided access by hand: copies, flags and atomics on mapped memory, nothing
/// else.

#ifndef KOKKOSIRIS_BENCH_RAW_ACCESS_HPP
#define KOKKOSIRIS_BENCH_RAW_ACCESS_HPP

#include <core/KokkosIris_Wait.hpp>
#include <cstddef>
#include <cstdint>

namespace Bench {

/// A way to copy blocks whose stores are ordered before the caller's next release store.
using CopyFunction = void (*)(void* dst, const void* src, std::size_t bytes);

/// `rep movsb`; memcpy on processors other than x86-64.
void copy_string(void* dst, const void* src, std::size_t bytes);
/// Non-temporal stores with the widest vectors of this processor, then a store fence; memcpy on
/// processors other than x86-64.
void copy_non_temporal(void* dst, const void* src, std::size_t bytes);
/// glibc's memcpy.
void copy_memcpy(void* dst, const void* src, std::size_t bytes);

/// Called when a spin has lasted too long: ends all ranks if it is a minute.
void check_spin_deadline(double& since);

/// Spins until the word is at least `value`; acquires. For ranks with a core each.
/// \tparam Pause with the hint for spin loops; which is faster depends on the processor
template <bool Pause = false>
inline void spin_until(const std::uint64_t* word, std::uint64_t value) {
  double since = 0.0;
  for (std::uint64_t poll = 1; __atomic_load_n(word, __ATOMIC_ACQUIRE) < value; ++poll) {
    if constexpr (Pause) KokkosIris::Impl::pause_processor();
    if ((poll & 0xfffffu) == 0) check_spin_deadline(since);
  }
}

inline void release(std::uint64_t* word, std::uint64_t value) {
  __atomic_store_n(word, value, __ATOMIC_RELEASE);
}

/// Reads all words of a block.
std::uint64_t sum_of(const std::uint64_t* words, std::size_t count);

}  // namespace Bench

#endif
