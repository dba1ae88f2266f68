// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// Checked collective allocation on the slabs of all ranks.

#ifndef KOKKOSIRIS_SYMMETRIC_HEAP_HPP
#define KOKKOSIRIS_SYMMETRIC_HEAP_HPP

#include <core/KokkosIris_Runtime.hpp>
#include <cstddef>
#include <cstdint>
#include <heap/KokkosIris_OffsetAllocator.hpp>
#include <heap/KokkosIris_PeerMemory.hpp>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace KokkosIris::Impl {

/// A block of the symmetric heap: at the same offset on every rank.
struct HeapBlock {
  char* data;
  std::size_t bytes;
  std::uint64_t sequence;  ///< number of the allocation, the same on every rank
};

/// What a rank asks for. Two requests match if all members are equal: equal sizes alone would let
/// 2 x 3 meet 3 x 2.
struct HeapRequest {
  std::size_t bytes = 0;
  std::size_t type = 0;    ///< any number that differs for other element types and layouts
  std::uint32_t rank = 0;  ///< number of extents that are set
  std::uint32_t unused = 0;
  std::size_t extents[8] = {};
  bool operator==(const HeapRequest&) const = default;
};

/// True for an extent that was given as a negative number.
constexpr bool is_negative(std::size_t extent) { return static_cast<std::ptrdiff_t>(extent) < 0; }

/// The symmetric heap of a context. Host only.
class SymmetricHeap {
 public:
  /// Blocks begin and end at multiples of this: two cache lines of any processor, one memory
  /// transaction group of any GPU.
  static constexpr std::size_t alignment = 256;

  /// \param reserved bytes at the head of each slab that are not part of the heap
  SymmetricHeap(Runtime& runtime, PeerMemory& memory, std::size_t reserved, std::size_t bytes);

  /// Collective: a block of `bytes` bytes on every rank, not initialised.
  /// \throws Error on all ranks: (invalid_argument) for a negative extent, naming it; (mismatch) if
  ///         the ranks ask for different things, naming all;
  ///         (out_of_memory) if no free block is large enough, naming what is free
  HeapBlock allocate(std::string_view operation, std::size_t bytes) {
    HeapRequest request;
    request.bytes = bytes;
    return allocate(operation, request);
  }
  HeapBlock allocate(std::string_view operation, const HeapRequest& request);

  /// Local: this rank no longer uses the block. It is reused when all ranks have said so and have
  /// entered a later collective call.
  void drop(std::uint64_t sequence) { m_runtime.drop(sequence); }

  /// To be called right after a collective call of the runtime: frees what all ranks had dropped by
  /// then. The result is the same on every rank.
  void reclaim();

  /// Bytes that cannot be allocated because blocks take them.
  std::size_t used() const { return m_allocator.used(); }
  std::size_t capacity() const { return m_allocator.capacity(); }
  std::size_t block_count() const { return m_allocator.block_count(); }

 private:
  struct Live {
    std::size_t offset;
    int dropped_by;
  };
  std::optional<HeapBlock> take(std::size_t bytes);
  void catch_up(bool missed);
  void require_valid(std::string_view operation, const std::vector<HeapRequest>& requests) const;
  void require_equal(std::string_view operation, const std::vector<HeapRequest>& requests) const;
  [[noreturn]] void throw_out_of_memory(std::string_view operation, std::size_t bytes) const;

  Runtime& m_runtime;
  char* m_data;
  OffsetAllocator m_allocator;
  std::uint64_t m_sequence = 0;
  std::map<std::uint64_t, Live> m_live;
  std::uint64_t m_asked = 0;          // collective call in which allocate() asked last; 0: none
  std::vector<std::uint64_t> m_seen;  // dropped entries of each rank that are accounted for
};

}  // namespace KokkosIris::Impl

#endif
