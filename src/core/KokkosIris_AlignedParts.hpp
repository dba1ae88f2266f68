// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// Parts of one allocation: where each begins, and what all need.

#ifndef KOKKOSIRIS_ALIGNED_PARTS_HPP
#define KOKKOSIRIS_ALIGNED_PARTS_HPP

#include <cstddef>
#include <cstdint>

namespace KokkosIris::Impl {

/// Puts the parts of a workspace one after the other, each at a multiple of the alignment: of flags
/// (PaddedFlag), of what copy hardware takes, and of blocks of the symmetric heap.
class AlignedParts {
 public:
  static constexpr std::size_t alignment = 256;

  /// \return where the part begins, counted from the begin of the first one
  std::size_t add(std::size_t bytes) {
    const std::size_t at = m_bytes;
    m_bytes += (bytes + alignment - 1) / alignment * alignment;
    return at;
  }

  /// Size of all parts, in memory that is aligned.
  std::size_t bytes() const { return m_bytes; }
  /// The same in memory that may begin anywhere: Kokkos aligns less than the parts need.
  std::size_t bytes_anywhere() const { return m_bytes + alignment; }
  /// Where the first part begins in an allocation of bytes_anywhere().
  static char* begin_in(char* allocation) {
    const auto misplaced = reinterpret_cast<std::uintptr_t>(allocation) % alignment;
    return allocation + (alignment - misplaced) % alignment;
  }

 private:
  std::size_t m_bytes = 0;
};

}  // namespace KokkosIris::Impl

#endif
