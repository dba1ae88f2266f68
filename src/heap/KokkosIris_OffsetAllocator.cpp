// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include <algorithm>
#include <heap/KokkosIris_OffsetAllocator.hpp>
#include <iterator>

namespace KokkosIris::Impl {

OffsetAllocator::OffsetAllocator(std::size_t capacity) : m_capacity(capacity) {
  if (capacity > 0) m_free.emplace(0, capacity);
}

std::optional<std::size_t> OffsetAllocator::allocate(std::size_t bytes, std::size_t alignment) {
  bytes = std::max<std::size_t>(bytes, 1);
  for (auto hole = m_free.begin(); hole != m_free.end(); ++hole) {
    const auto [begin, size] = *hole;
    const std::size_t padding = (alignment - begin % alignment) % alignment;
    if (size < padding || size - padding < bytes) continue;
    const std::size_t offset = begin + padding;
    const std::size_t rest = size - padding - bytes;
    m_free.erase(hole);
    if (padding > 0) m_free.emplace(begin, padding);
    if (rest > 0) m_free.emplace(offset + bytes, rest);
    m_blocks.emplace(offset, bytes);
    m_used += bytes;
    return offset;
  }
  return std::nullopt;
}

bool OffsetAllocator::free(std::size_t offset) {
  const auto block = m_blocks.find(offset);
  if (block == m_blocks.end()) return false;
  std::size_t begin = block->first;
  std::size_t size = block->second;
  m_used -= size;
  m_blocks.erase(block);

  auto next = m_free.lower_bound(begin);
  if (next != m_free.end() && next->first == begin + size) {
    size += next->second;
    next = m_free.erase(next);
  }
  if (next != m_free.begin()) {
    const auto previous = std::prev(next);
    if (previous->first + previous->second == begin) {
      begin = previous->first;
      size += previous->second;
      m_free.erase(previous);
    }
  }
  m_free.emplace(begin, size);
  return true;
}

std::size_t OffsetAllocator::largest_free_block() const {
  std::size_t largest = 0;
  for (const auto& [offset, size] : m_free) largest = std::max(largest, size);
  return largest;
}

}  // namespace KokkosIris::Impl
