// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include <fused/KokkosIris_Sm90ShardCopies.hpp>

namespace KokkosIris::Impl::Sm90 {
namespace {

constexpr std::size_t element_bytes = 2;

/// An address of this rank's slab as it is on rank `peer`, in this process.
template <class T>
T* at_peer(const Exchange& exchange, T* mine, int peer) {
  const DeviceState& state = exchange.context.state();
  return reinterpret_cast<T*>(state.host_bases[peer] +
                              (reinterpret_cast<char*>(mine) - state.base));
}

}  // namespace

ShardCopies::ShardCopies(const Gpu& gpu, const Exchange& exchange, std::int64_t rows,
                         std::int64_t columns, std::int64_t pitch, bool before_kernel)
    : m_gpu(gpu),
      m_exchange(exchange),
      m_rows(rows),
      m_columns(columns),
      m_pitch(pitch),
      m_before_kernel(before_kernel) {
  try {
    m_event = m_gpu.create_event();
    for (int step = 1; step < exchange.size(); ++step) {
      m_streams.push_back(m_gpu.create_stream(1));
      // What the first use of a stream sets up must not wait for a kernel that waits for the
      // copies: a flag of no call, to this rank.
      m_gpu.copy(&m_exchange.done[m_exchange.rank()].value, &m_exchange.local->finished.value,
                 sizeof(std::uint64_t), m_streams.back());
      m_gpu.synchronize(m_streams.back());
    }
  } catch (...) {
    release();
    throw;
  }
}

ShardCopies::~ShardCopies() { release(); }

void ShardCopies::release() noexcept {
  for (const GpuStream stream : m_streams) m_gpu.destroy_stream(stream);
  if (m_event != nullptr) m_gpu.destroy_event(m_event);
}

void ShardCopies::follow(GpuStream stream) const {
  m_gpu.record(m_event, stream);
  for (const GpuStream copies : m_streams) m_gpu.wait(copies, m_event);
}

void ShardCopies::send(const MatrixRef<const std::uint16_t>& shard, GpuStream stream) const {
  for (int chunk = 0; chunk < m_exchange.chunks; ++chunk) {
    for (int step = 1; step < m_exchange.size(); ++step) send_chunk(shard, chunk, step);
  }
  for (const GpuStream copies : m_streams) {
    m_gpu.record(m_event, copies);
    m_gpu.wait(stream, m_event);
  }
}

void ShardCopies::send_chunk(const MatrixRef<const std::uint16_t>& shard, int chunk,
                             int step) const {
  const int peer = m_exchange.peer(step);
  const std::int64_t row = std::int64_t(chunk) * m_exchange.chunk_rows;
  const std::int64_t rows = min64(m_exchange.chunk_rows, m_rows - row);
  const auto pitch = static_cast<std::size_t>(shard.row_stride) * element_bytes;
  const auto there_pitch = static_cast<std::size_t>(m_pitch) * element_bytes;
  const auto width = static_cast<std::size_t>(m_columns) * element_bytes;
  char* const there = at_peer(m_exchange, m_exchange.gathered_for(peer) + row * m_pitch * 2, peer);
  if (pitch == width && there_pitch == width) {
    m_gpu.copy(there, shard.at(row, 0), width * static_cast<std::size_t>(rows), stream_of(step));
  } else {
    m_gpu.copy_2d(there, there_pitch, shard.at(row, 0), rows == 1 ? width : pitch, width,
                  static_cast<std::size_t>(rows), stream_of(step));
  }
  m_gpu.copy(at_peer(m_exchange, m_exchange.arrived_for(chunk), peer),
             &m_exchange.local->call.value, sizeof(std::uint64_t), stream_of(step));
}

}  // namespace KokkosIris::Impl::Sm90
