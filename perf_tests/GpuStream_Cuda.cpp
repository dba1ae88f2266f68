// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include <GpuStream.hpp>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace Bench {

void check_cuda(cudaError_t status, const char* call) {
  if (status == cudaSuccess) return;
  throw std::runtime_error(std::string(call) + ": " + cudaGetErrorString(status));
}

std::function<void()> capture(cudaStream_t stream, const std::function<void()>& enqueue) {
  // Other threads of the process, the library's among them, may call CUDA meanwhile.
  check_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal),
             "cudaStreamBeginCapture");
  enqueue();
  cudaGraph_t graph = nullptr;
  check_cuda(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
  cudaGraphExec_t executable = nullptr;
  const cudaError_t status = cudaGraphInstantiate(&executable, graph, 0);
  cudaGraphDestroy(graph);
  check_cuda(status, "cudaGraphInstantiate");
  const std::shared_ptr<std::remove_pointer_t<cudaGraphExec_t>> owner(
      executable, [](cudaGraphExec_t handle) { cudaGraphExecDestroy(handle); });
  return [owner, stream] { check_cuda(cudaGraphLaunch(owner.get(), stream), "cudaGraphLaunch"); };
}

}  // namespace Bench
