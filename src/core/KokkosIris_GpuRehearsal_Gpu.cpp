// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Work of each kind on a stream before it matters: Gpu::rehearse_stream_work.

#include <core/KokkosIris_GpuRuntime.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

namespace KokkosIris::Impl {
namespace {

/// Copies between two places, both ways and in all forms, of which each runtime has its own idea.
void rehearse_copies(const Gpu& gpu, GpuStream stream, char* one, char* other, std::size_t bytes,
                     Gpu::Where where) {
  for (int way = 0; way < 2; ++way, std::swap(one, other)) {
    for (const std::size_t n : {std::size_t(1), std::size_t(4096), bytes}) {
      gpu.copy(one, other, n, stream, where);
    }
    gpu.copy(one + 1, other + 3, bytes - 3, stream, where);
    gpu.copy_2d(one, 7, other, 5, 3, 4, stream, where);
    gpu.copy_2d(one, 512, other, 1024, 256, 16, stream, where);
  }
}

}  // namespace

void Gpu::rehearse_stream_work(GpuStream stream, Where where) const {
  static std::mutex mutex;
  static std::set<int> rehearsed;
  const std::lock_guard<std::mutex> lock(mutex);
  if (rehearsed.count(m_device) != 0) return;
  // More than what runtimes send with the command itself.
  constexpr std::size_t bytes = std::size_t(1) << 18;
  using Memory = std::unique_ptr<char, std::function<void(char*)>>;
  const auto release = [this](char* memory) { free(memory); };
  const Memory device(static_cast<char*>(allocate(2 * bytes, where)), release);
  const Memory managed(static_cast<char*>(allocate_managed(bytes)), release);
  const Memory pinned(static_cast<char*>(allocate_host(bytes, where)),
                      [this](char* memory) { free_host(memory); });
  std::vector<char> pageable(bytes);
  if (managed != nullptr) std::memset(managed.get(), 0, bytes);
  set(device.get(), 0, 2 * bytes, stream, where);
  for (char* const other : {device.get() + bytes, pinned.get(), pageable.data(), managed.get()}) {
    if (other != nullptr) rehearse_copies(*this, stream, device.get(), other, bytes, where);
  }
  auto* const word = reinterpret_cast<std::uint64_t*>(device.get());
  write_word(stream, word, 1, where);
  add_to_word(stream, word, 1, where);
  synchronize(stream, where);
  rehearsed.insert(m_device);
}

}  // namespace KokkosIris::Impl
