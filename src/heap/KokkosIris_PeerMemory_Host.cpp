// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include <core/KokkosIris_SharedSegment.hpp>
#include <heap/KokkosIris_PeerMemory.hpp>
#include <utility>
#include <vector>

namespace KokkosIris::Impl {
namespace {

class HostPeerMemory : public PeerMemory {
 public:
  explicit HostPeerMemory(std::vector<SharedSegment> segments) : m_segments(std::move(segments)) {
    for (const auto& segment : m_segments) m_table.push_back(static_cast<char*>(segment.data()));
  }
  char* slab(int rank) const override { return m_table[static_cast<std::size_t>(rank)]; }
  char* const* table() const override { return m_table.data(); }
  std::string description() const override { return "memfd, mapped by all ranks"; }

 private:
  std::vector<SharedSegment> m_segments;
  std::vector<char*> m_table;
};

}  // namespace

template <>
std::unique_ptr<PeerMemory> make_peer_memory<Kokkos::HostSpace>(Bootstrap& bootstrap,
                                                                std::size_t bytes) {
  return std::make_unique<HostPeerMemory>(
      SharedSegment::create_all(bootstrap, bytes, "KokkosIris::heap"));
}

}  // namespace KokkosIris::Impl
