// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// Tests of the fused operations on the host and on a GPU: their macro, and calls on a GPU for
/// operands in memory of the host.

#ifndef KOKKOSIRIS_TEST_FUSED_GPU_HPP
#define KOKKOSIRIS_TEST_FUSED_GPU_HPP

#include <FusedCalls.hpp>
#include <core/KokkosIris_GpuSpace.hpp>
#include <cstddef>
#include <memory>
#include <vector>

/// A test of both backends: its body is a function of `backend`, registered as Suite.Name and, in
/// builds with a GPU backend, as SuiteGpu.Name. (With KOKKOSIRIS_TEST_GPU_ONLY only as the latter.)
#define FUSED_TEST(Suite, Name)                \
  void Suite##_##Name##_body(::Test::Backend); \
  KOKKOSIRIS_TEST_FUSED_HOST(Suite, Name)      \
  KOKKOSIRIS_TEST_FUSED_GPU(Suite, Name)       \
  void Suite##_##Name##_body([[maybe_unused]] ::Test::Backend backend)

#ifdef KOKKOSIRIS_IMPL_HAS_GPU
#define KOKKOSIRIS_TEST_FUSED_GPU(Suite, Name) \
  TEST(Suite##Gpu, Name) { Suite##_##Name##_body(::Test::Backend::gpu); }
#else
#define KOKKOSIRIS_TEST_FUSED_GPU(Suite, Name)
#endif
#if defined(KOKKOSIRIS_TEST_GPU_ONLY)
#define KOKKOSIRIS_TEST_FUSED_HOST(Suite, Name)
#else
#define KOKKOSIRIS_TEST_FUSED_HOST(Suite, Name) \
  TEST(Suite, Name) { Suite##_##Name##_body(::Test::Backend::host); }
#endif

namespace Test {

/// Where a test runs. Kernels on the host, or on the GPU of this rank.
enum class Backend { host, gpu };

struct HostBytes {
  char* data = nullptr;
  std::size_t size = 0;
};

/// A context on the GPU, and memory there that mirrors two arrays of the host byte for byte. Builds
/// without a GPU backend have no object of this class.
class FusedGpu {
 public:
  /// Collective.
  /// \param symmetric mirrored on the symmetric heap
  /// \param local mirrored in other memory of the GPU
  FusedGpu(HostBytes symmetric, HostBytes local, const KokkosIris::ContextOptions& options);
  ~FusedGpu();
  FusedGpu(const FusedGpu&) = delete;
  FusedGpu& operator=(const FusedGpu&) = delete;

  /// Copies `used`, parts of the two arrays, and the bias to the GPU, calls the operation there on
  /// the mirrors of the operands, waits for it and copies `used` back. Operands elsewhere are
  /// passed as they are, for calls that fail. Runs on the default instance, or on another one for
  /// Space::part.
  FusedWorkspace call(Element element, Space space, FusedOperation operation,
                      const std::vector<HostBytes>& used, const Operand& c, const Operand& a,
                      const Operand& b, const Arguments& arguments);

  KokkosIris::Impl::ContextState& state();
  /// Collective: takes memory from the heap until the pointer is dropped.
  std::shared_ptr<void> reserve(std::size_t bytes);

 private:
  struct State;
  std::unique_ptr<State> m_state;
};

}  // namespace Test

#endif
