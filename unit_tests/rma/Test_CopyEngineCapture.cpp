// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Copies that the host submits behind a stream that is being captured are refused.
//
// requires: cuda

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <KokkosIris.hpp>
#include <string>

namespace {

TEST(CopyEngineCapture, IsRefused) {
  KokkosIris::Context<Kokkos::CudaSpace> context(MPI_COMM_WORLD);
  auto target = context.zeros<double*>("target", 8);
  const Kokkos::View<double*, Kokkos::CudaSpace> source("source", 8);
  Kokkos::deep_copy(source, 1.0 + context.rank());
  const int next = (context.rank() + 1) % context.size();
  const int before = (context.rank() + context.size() - 1) % context.size();
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  {
    const Kokkos::Cuda exec(stream);
    ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed), cudaSuccess);
    std::string text;
    try {
      put(exec, context, target, source, next, KokkosIris::copy_engine);
    } catch (const KokkosIris::Error& error) {
      EXPECT_EQ(error.code(), KokkosIris::ErrorCode::invalid_argument);
      text = error.what();
    }
    EXPECT_NE(text.find("is being captured"), std::string::npos) << text;
    cudaGraph_t graph = nullptr;
    EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
    if (graph != nullptr) EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
    // As good as before.
    put(exec, context, target, source, next, KokkosIris::copy_engine);
    quiet(exec, context, next);
    context.barrier();
  }
  const auto result = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), target.view());
  for (int i = 0; i < 8; ++i) EXPECT_EQ(result(i), 1.0 + before);
  context.barrier();
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
}

}  // namespace
