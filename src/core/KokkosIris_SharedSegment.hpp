// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// Anonymous memory that several processes map: what host heaps and control blocks are made of.

#ifndef KOKKOSIRIS_SHARED_SEGMENT_HPP
#define KOKKOSIRIS_SHARED_SEGMENT_HPP

#include <core/KokkosIris_Bootstrap.hpp>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace KokkosIris::Impl {

/// One mapping of a memfd.
///
/// A memfd has no name in any file system: it is not limited by the size of /dev/shm, and the
/// kernel frees it with the last mapping, whatever way the processes end. Pages come into being
/// when they are first touched.
class SharedSegment {
 public:
  SharedSegment() = default;

  void* data() const noexcept;
  std::size_t bytes() const noexcept;

  /// Collective: creates a zeroed segment of `bytes` bytes on every rank and maps the segments of
  /// all ranks; element r of the result is the segment of rank r. Descriptors travel over Unix
  /// sockets and are closed before it returns. Ranks that are threads of one process share a
  /// mapping, which lasts until the last of them has destroyed its SharedSegment.
  /// \param label shown as the mapping's name in /proc/<pid>/maps
  /// \throws Error on all ranks if one of them fails
  static std::vector<SharedSegment> create_all(Bootstrap& bootstrap, std::size_t bytes,
                                               const std::string& label);

 private:
  struct Mapping;
  explicit SharedSegment(std::shared_ptr<const Mapping> mapping) : m_mapping(std::move(mapping)) {}
  static SharedSegment map(int descriptor, std::size_t bytes);

  std::shared_ptr<const Mapping> m_mapping;
};

}  // namespace KokkosIris::Impl

#endif
