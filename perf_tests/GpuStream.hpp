// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// CUDA streams as benchmarks use them: checked calls, time between events, captured graphs.

#ifndef KOKKOSIRIS_BENCH_GPU_STREAM_HPP
#define KOKKOSIRIS_BENCH_GPU_STREAM_HPP

#include <cuda_runtime.h>

#include <functional>

namespace Bench {

/// \throws std::runtime_error with the place if a call of the CUDA runtime failed
void check_cuda(cudaError_t status, const char* call);

/// A pair of events.
class StreamClock {
 public:
  StreamClock() {
    check_cuda(cudaEventCreate(&m_begin), "cudaEventCreate");
    check_cuda(cudaEventCreate(&m_end), "cudaEventCreate");
  }
  ~StreamClock() {
    cudaEventDestroy(m_begin);
    cudaEventDestroy(m_end);
  }
  StreamClock(const StreamClock&) = delete;
  StreamClock& operator=(const StreamClock&) = delete;

  void begin(cudaStream_t stream) const {
    check_cuda(cudaEventRecord(m_begin, stream), "cudaEventRecord");
  }
  void end(cudaStream_t stream) const {
    check_cuda(cudaGetLastError(), "launch");
    check_cuda(cudaEventRecord(m_end, stream), "cudaEventRecord");
  }
  /// Microseconds between the two, for whose end it waits.
  double elapsed() const {
    check_cuda(cudaEventSynchronize(m_end), "cudaEventSynchronize");
    float milliseconds = 0.0f;
    check_cuda(cudaEventElapsedTime(&milliseconds, m_begin, m_end), "cudaEventElapsedTime");
    return 1e3 * double(milliseconds);
  }
  /// Microseconds of one of `count` calls of `enqueue`, which puts work on the stream.
  template <class Enqueue>
  double time(cudaStream_t stream, int count, const Enqueue& enqueue) const {
    begin(stream);
    for (int i = 0; i < count; ++i) enqueue();
    end(stream);
    return elapsed() / count;
  }

 private:
  cudaEvent_t m_begin = nullptr;
  cudaEvent_t m_end = nullptr;
};

/// What `enqueue` puts on the stream, as one CUDA graph.
/// \return launches the graph on the stream
std::function<void()> capture(cudaStream_t stream, const std::function<void()>& enqueue);

}  // namespace Bench

#endif
