// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include <core/KokkosIris_SharedSegment.hpp>
#include <cstring>
#include <heap/KokkosIris_PeerMemory.hpp>
#include <utility>
#include <vector>

namespace KokkosIris::Impl {
namespace {

class HostPeerMemory : public PeerMemory {
 public:
  HostPeerMemory(std::vector<SharedSegment> segments, int spins)
      : m_segments(std::move(segments)), m_spins(spins) {
    for (const auto& segment : m_segments) m_table.push_back(static_cast<char*>(segment.data()));
  }
  char* slab(int rank) const override { return m_table[static_cast<std::size_t>(rank)]; }
  char* const* table() const override { return m_table.data(); }
  char* const* host_table() const override { return m_table.data(); }
  void read(void* to, const char* slab, std::size_t bytes) const override {
    std::memcpy(to, slab, bytes);
  }
  void write(char* slab, const void* from, std::size_t bytes) const override {
    std::memcpy(slab, from, bytes);
  }
  int spins() const override { return m_spins; }
  std::optional<DeviceWaitSettings> wait_settings() const override { return std::nullopt; }
  bool ranks_share_device() const override { return m_table.size() > 1; }
  /// A kernel of a host backend has ended when its launch returned.
  void wait_for_kernels() const override {}
  std::string description() const override { return "memfd, mapped by all ranks"; }

 private:
  std::vector<SharedSegment> m_segments;
  std::vector<char*> m_table;
  int m_spins;
};

}  // namespace

template <>
std::unique_ptr<PeerMemory> make_peer_memory<Kokkos::HostSpace>(
    Bootstrap& bootstrap, const std::shared_ptr<Runtime>& runtime, std::size_t bytes) {
  return std::make_unique<HostPeerMemory>(
      SharedSegment::create_all(bootstrap, bytes, "KokkosIris::heap"), runtime->spins());
}

}  // namespace KokkosIris::Impl
