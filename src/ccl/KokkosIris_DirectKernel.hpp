// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// The kernel of large collective calls: threads read the sources of other ranks and write their
/// destinations, each element once.

#ifndef KOKKOSIRIS_DIRECT_KERNEL_HPP
#define KOKKOSIRIS_DIRECT_KERNEL_HPP

#include <Kokkos_Core.hpp>
#include <ccl/KokkosIris_CallFlags.hpp>
#include <ccl/KokkosIris_CollectiveShare.hpp>
#include <ccl/KokkosIris_SumWords.hpp>
#include <core/KokkosIris_DeviceContext.hpp>
#include <cstddef>
#include <cstdint>
#include <rma/KokkosIris_CopyBytes.hpp>

namespace KokkosIris::Impl {

/// One kernel of a call. Each rank is responsible for a part of the elements: it reads them from
/// its own source (all_gather) or from the sources of all ranks, adds these, and writes the result
/// to its own destination (reduce_scatter) or to those of all ranks. Nobody else reads or writes
/// these elements in the call, and the thread that writes one has read it before: so a destination
/// may be the source.
template <class T, CollectiveOperation operation>
struct DirectKernel {
  /// Threads of a team on a GPU.
  static constexpr int team_threads = 512;
  static constexpr bool reads_all = operation != CollectiveOperation::all_gather;
  static constexpr bool writes_all = operation != CollectiveOperation::reduce_scatter;
  /// Words that a thread has under way from each source, see words_under_way.
  static constexpr int under_way = reads_all ? 4 : 8;
  /// Words that make another thread worth while.
  static constexpr int words_of_thread = 1;

  CallFlags flags;
  const T* source;
  T* destination;
  /// This rank's part: where it begins in sources and in destinations, and its elements.
  std::int64_t source_at, destination_at, count;

  template <class Team>
  KOKKOS_FUNCTION void operator()(const Team& team) const {
    const std::uint64_t call = flags.begin(team);
    if (call == 0) return;
    if (team.league_rank() == 0) flags.enter(team, call, source, destination);
    if (!flags.wait_entries(team, call)) return;
    KOKKOS_IF_ON_HOST((work_on_host(share_of(kernel_thread(team), count));))
    KOKKOS_IF_ON_DEVICE((work_on_device(kernel_thread(team));))
    flags.leave(team, call);
  }

 private:
  KOKKOS_FUNCTION int rank() const { return flags.context.rank(); }
  KOKKOS_FUNCTION int sources() const { return reads_all ? flags.context.size() : 1; }
  KOKKOS_FUNCTION int destinations() const { return writes_all ? flags.context.size() : 1; }

  /// This rank's part in the source number `number`, in the order of ranks.
  KOKKOS_FORCEINLINE_FUNCTION const T* source_part(int number) const {
    if (!reads_all || number == rank()) return source + source_at;
    return reinterpret_cast<const T*>(flags.source_of(number)) + source_at;
  }
  /// And in the destination of the rank `step` places after this one.
  KOKKOS_FORCEINLINE_FUNCTION T* destination_part(int step) const {
    if (!writes_all || step == 0) return destination + destination_at;
    return reinterpret_cast<T*>(flags.destination_of(flags.context.state().peer_at(step))) +
           destination_at;
  }

  /// \name On the host
  ///@{
  void work_on_host(const ItemRange& mine) const {
    for (std::int64_t first = mine.first; first < mine.end; first += block) {
      const std::int64_t n = mine.end - first < block ? mine.end - first : block;
      if constexpr (reads_all) {
        T sums[block];
        add_on_host(first, n, sums);
        write_on_host(first, n, sums);
      } else {
        write_on_host(first, n, source_part(0) + first);
      }
    }
  }
  void add_on_host(std::int64_t first, std::int64_t n, T* result) const {
    sum_type<T> sums[block];
    for (int number = 0; number < sources(); ++number) {
      const T* const from = source_part(number) + first;
      if (number == 0) {
        for (std::int64_t i = 0; i < n; ++i) sums[i] = static_cast<sum_type<T>>(from[i]);
      } else {
        for (std::int64_t i = 0; i < n; ++i) sums[i] += static_cast<sum_type<T>>(from[i]);
      }
    }
    for (std::int64_t i = 0; i < n; ++i) result[i] = static_cast<T>(sums[i]);
  }
  void write_on_host(std::int64_t first, std::int64_t n, const T* from) const {
    for (int step = 0; step < destinations(); ++step) {
      T* const to = destination_part(step) + first;
      if (to == from) continue;
      copy_bytes(to, from, static_cast<std::size_t>(n) * sizeof(T),
                 step == 0 ? Destination::own : Destination::peer);
    }
  }
  /// Elements at a time: sums stay in the first cache, and copies are long enough.
  static constexpr std::int64_t block = 8192 / static_cast<std::int64_t>(sizeof(T));
  ///@}

  /// \name On devices
  ///@{
  /// In words of 16 bytes if they begin at the same elements everywhere, and elements at the ends;
  /// else in elements.
  KOKKOS_FUNCTION void work_on_device(const KernelThread& thread) const {
    constexpr std::int64_t width = sizeof(Word16) / sizeof(T);
    const auto address = reinterpret_cast<std::uintptr_t>(destination_part(0));
    std::int64_t head = count, words = 0;
    if (is_congruent(address)) {
      const auto missing = static_cast<std::int64_t>(-address % sizeof(Word16) / sizeof(T));
      head = missing < count ? missing : count;
      words = (count - head) / width;
    }
    move<Word16>(thread, words, [head](std::int64_t i) { return head + i * width; });
    // The last threads are those that have fewer words, if any has.
    const KernelThread other_end{thread.count - 1 - thread.number, thread.count};
    move<T>(other_end, count - words * width,
            [=](std::int64_t i) { return i < head ? i : i + words * width; });
  }
  KOKKOS_FUNCTION bool is_congruent(std::uintptr_t address) const {
    std::uintptr_t bits = 0;
    for (int number = 0; number < sources(); ++number) {
      bits |= address ^ reinterpret_cast<std::uintptr_t>(source_part(number));
    }
    for (int step = 1; step < destinations(); ++step) {
      bits |= address ^ reinterpret_cast<std::uintptr_t>(destination_part(step));
    }
    return bits % sizeof(Word16) == 0;
  }

  /// A thread's share of `words` words; element_of(i) is the first element of word i.
  template <class Word, class ElementOf>
  KOKKOS_FUNCTION void move(const KernelThread& thread, std::int64_t words,
                            const ElementOf& element_of) const {
    Word some[under_way] = {};
    for (std::int64_t i = thread.number; i < words; i += under_way * thread.count) {
      read(i, thread.count, words, element_of, 0, some);
      if constexpr (reads_all) add(i, thread.count, words, element_of, some);
      for (int step = 0; step < destinations(); ++step) {
        T* const to = destination_part(step);
        for (int k = 0; k < under_way; ++k) {
          const std::int64_t word = i + k * thread.count;
          if (word < words) write_word(to + element_of(word), some[k]);
        }
      }
    }
  }
  /// All reads are issued before the first one is used.
  template <class Word, class ElementOf>
  KOKKOS_FORCEINLINE_FUNCTION void read(std::int64_t i, std::int64_t apart, std::int64_t words,
                                        const ElementOf& element_of, int number,
                                        Word (&some)[under_way]) const {
    const T* const from = source_part(number);
    for (int k = 0; k < under_way; ++k) {
      const std::int64_t word = i + k * apart;
      if (word < words) some[k] = read_word<Word>(from + element_of(word));
    }
  }
  /// Adds the words of the other sources to those of the first one, in the order of ranks. While a
  /// source is added the next one's words are under way.
  template <class Word, class ElementOf>
  KOKKOS_FORCEINLINE_FUNCTION void add(std::int64_t i, std::int64_t apart, std::int64_t words,
                                       const ElementOf& element_of, Word (&some)[under_way]) const {
    if (sources() == 1) return;
    Word next[under_way] = {};
    read(i, apart, words, element_of, 1, next);
    WordSum<T, Word> sums[under_way];
    for (int k = 0; k < under_way; ++k) sums[k].start(some[k]);
    for (int number = 1; number < sources(); ++number) {
      for (int k = 0; k < under_way; ++k) sums[k].add(next[k]);
      if (number + 1 < sources()) read(i, apart, words, element_of, number + 1, next);
    }
    for (int k = 0; k < under_way; ++k) some[k] = sums[k].result();
  }
  ///@}
};

}  // namespace KokkosIris::Impl

#endif
