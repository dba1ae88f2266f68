// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// Streams and graphs of CUDA, for tests that capture calls and replay them.

#ifndef KOKKOSIRIS_CUDA_GRAPH_HPP
#define KOKKOSIRIS_CUDA_GRAPH_HPP

#include <cuda_runtime.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace Test {

inline void require(cudaError_t status, const char* call) {
  if (status == cudaSuccess) return;
  throw std::runtime_error(std::string(call) + ": " + cudaGetErrorString(status));
}

struct Stream {
  cudaStream_t stream = nullptr;
  Stream() {
    require(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  }
  ~Stream() { cudaStreamDestroy(stream); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
};

/// What the stream was given by `launch`, which must do nothing that a capture forbids.
struct Graph {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;

  template <class Launch>
  Graph(cudaStream_t stream, const Launch& launch) {
    require(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed), "cudaStreamBeginCapture");
    try {
      launch();
    } catch (...) {
      cudaStreamEndCapture(stream, &graph);
      throw;
    }
    require(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
    require(cudaGraphInstantiate(&executable, graph, 0), "cudaGraphInstantiate");
  }
  ~Graph() {
    cudaGraphExecDestroy(executable);
    cudaGraphDestroy(graph);
  }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  std::vector<cudaGraphNodeType> nodes() const {
    std::size_t count = 0;
    require(cudaGraphGetNodes(graph, nullptr, &count), "cudaGraphGetNodes");
    std::vector<cudaGraphNode_t> all(count);
    require(cudaGraphGetNodes(graph, all.data(), &count), "cudaGraphGetNodes");
    std::vector<cudaGraphNodeType> types(count);
    for (std::size_t i = 0; i < count; ++i) {
      require(cudaGraphNodeGetType(all[i], &types[i]), "cudaGraphNodeGetType");
    }
    return types;
  }
};

}  // namespace Test

#endif
