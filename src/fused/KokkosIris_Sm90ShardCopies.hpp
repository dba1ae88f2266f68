// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// The copy engine's part of all_gather_matmul: this rank's shard to all others, beside the kernel.

#ifndef KOKKOSIRIS_SM90_SHARD_COPIES_HPP
#define KOKKOSIRIS_SM90_SHARD_COPIES_HPP

#include <core/KokkosIris_GpuRuntime.hpp>
#include <cstdint>
#include <fused/KokkosIris_Matrix.hpp>
#include <fused/arch/sm90/KokkosIris_Sm90Exchange.hpp>
#include <vector>

namespace KokkosIris::Impl::Sm90 {

/// Streams of a workspace, one for each other rank. Enqueues only, and can be captured in a graph.
/// So nothing stops the copies of calls that are enqueued behind one that is given up, but then
/// they are announced by a number that is behind every call (Exchange).
class ShardCopies {
 public:
  /// \param exchange of the workspace; addresses of the device
  /// \param rows, columns of a shard
  /// \param pitch elements between rows of gathered shards
  /// \param before_kernel see before_kernel()
  ShardCopies(const Gpu& gpu, const Exchange& exchange, std::int64_t rows, std::int64_t columns,
              std::int64_t pitch, bool before_kernel);
  ~ShardCopies();
  ShardCopies(const ShardCopies&) = delete;
  ShardCopies& operator=(const ShardCopies&) = delete;

  /// True if the copies must end before this rank's kernel begins: between ranks that share a
  /// device, the runtime copies by kernels, which find no room beside one that fills the device.
  /// (Kernels of other ranks do not stop them: the device's processes take turns.)
  bool before_kernel() const { return m_before_kernel; }

  /// Copies will come after what is on `stream` now.
  void follow(GpuStream stream) const;
  /// Sends the shard, rows of adjacent elements, chunk by chunk, each followed by the number of the
  /// call. Later work of `stream` comes after the copies.
  void send(const MatrixRef<const std::uint16_t>& shard, GpuStream stream) const;

 private:
  void release() noexcept;
  void send_chunk(const MatrixRef<const std::uint16_t>& shard, int chunk, int step) const;
  GpuStream stream_of(int step) const { return m_streams[static_cast<std::size_t>(step - 1)]; }

  Gpu m_gpu;
  Exchange m_exchange;
  std::int64_t m_rows, m_columns, m_pitch;
  bool m_before_kernel;
  std::vector<GpuStream> m_streams;
  GpuEvent m_event = nullptr;
};

}  // namespace KokkosIris::Impl::Sm90

#endif
