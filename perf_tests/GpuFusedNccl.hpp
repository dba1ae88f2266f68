// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// The collectives of NCCL, loaded when the program runs.

#ifndef KOKKOSIRIS_BENCH_GPU_FUSED_NCCL_HPP
#define KOKKOSIRIS_BENCH_GPU_FUSED_NCCL_HPP

#include <cuda_runtime.h>

#include <GpuFusedLibrary.hpp>
#include <cstddef>
#include <memory>
#include <string>

namespace Bench {

/// A communicator of all ranks on their current devices. NVLink multicast is switched off
/// (NCCL_NVLS_ENABLE=0) unless the variable is set.
class Nccl {
 public:
  /// Collective.
  /// \return null on all ranks if one of them does not find libnccl.so.2
  static std::unique_ptr<Nccl> open();
  ~Nccl();
  Nccl(const Nccl&) = delete;
  Nccl& operator=(const Nccl&) = delete;

  /// Such as "2.28.9".
  std::string version() const;
  const std::string& folder() const;

  /// \name Enqueued on the stream; counts are of elements of a rank
  ///@{
  void all_reduce(const void* from, void* to, std::size_t count, Element element,
                  cudaStream_t stream) const;
  /// \param received elements of the result
  void reduce_scatter(const void* from, void* to, std::size_t received, Element element,
                      cudaStream_t stream) const;
  /// \param sent elements of one rank; `from` may be the rank's place in `to`
  void all_gather(const void* from, void* to, std::size_t sent, Element element,
                  cudaStream_t stream) const;
  ///@}

 private:
  struct Functions;
  explicit Nccl(std::unique_ptr<Functions> functions);

  std::unique_ptr<Functions> m_functions;
  void* m_communicator = nullptr;
};

}  // namespace Bench

#endif
