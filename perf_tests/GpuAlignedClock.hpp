// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// The clock of work that begins on all GPUs at the same time.

#ifndef KOKKOSIRIS_BENCH_GPU_ALIGNED_CLOCK_HPP
#define KOKKOSIRIS_BENCH_GPU_ALIGNED_CLOCK_HPP

#include <GpuStream.hpp>
#include <KokkosIris.hpp>
#include <cstdint>
#include <functional>
#include <string>

namespace Bench {

/// Before the first event of a sample a kernel on the same stream waits until the host has
/// submitted everything, and then meets the other GPUs' in a barrier across ranks: so no time of
/// the hosts is part of a sample.
class GpuAlignedClock {
 public:
  /// \param context of all ranks that take part, as long as the clock
  GpuAlignedClock(const KokkosIris::DeviceContext& context, cudaStream_t stream)
      : m_context(context), m_stream(stream), m_words("words") {}

  /// Microseconds of what `enqueue` puts on the stream. Collective.
  double time(const std::function<void()>& enqueue);

  /// \throws std::runtime_error on all ranks if GPUs did not meet, after the stream was fenced
  void require_success(const std::string& cell) const;

 private:
  KokkosIris::DeviceContext m_context;
  cudaStream_t m_stream;
  StreamClock m_clock;
  Kokkos::View<std::uint64_t[2], Kokkos::SharedHostPinnedSpace> m_words;
  std::uint64_t m_tickets = 0;
};

}  // namespace Bench

#endif
