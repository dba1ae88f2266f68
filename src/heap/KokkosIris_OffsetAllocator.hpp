// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// Deterministic allocation of offsets in a heap whose memory the allocator never touches.

#ifndef KOKKOSIRIS_OFFSET_ALLOCATOR_HPP
#define KOKKOSIRIS_OFFSET_ALLOCATOR_HPP

#include <cstddef>
#include <map>
#include <optional>

namespace KokkosIris::Impl {

/// First-fit allocator over [0, capacity). The same sequence of calls gives the same offsets on
/// every rank, which is what makes a heap symmetric. Blocks may be freed in any order; neighbours
/// coalesce.
class OffsetAllocator {
 public:
  explicit OffsetAllocator(std::size_t capacity);

  /// Lowest offset where `bytes` bytes fit with the alignment (a power of two). Zero bytes take one
  /// byte, so that every block has an address of its own.
  /// \return nothing if no free block is large enough
  std::optional<std::size_t> allocate(std::size_t bytes, std::size_t alignment);

  /// Frees the block at `offset`; it must be one that allocate() returned and not be free already.
  /// \return false, without effect, if it is not
  bool free(std::size_t offset);

  std::size_t capacity() const { return m_capacity; }
  /// Bytes in blocks, padding for alignment not counted.
  std::size_t used() const { return m_used; }
  /// Largest size that allocate() can serve at alignment 1.
  std::size_t largest_free_block() const;
  std::size_t block_count() const { return m_blocks.size(); }

 private:
  std::size_t m_capacity;
  std::size_t m_used = 0;
  std::map<std::size_t, std::size_t> m_free;    // offset -> bytes, never adjacent
  std::map<std::size_t, std::size_t> m_blocks;  // offset -> bytes
};

}  // namespace KokkosIris::Impl

#endif
