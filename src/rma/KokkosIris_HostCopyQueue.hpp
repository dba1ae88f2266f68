// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// How the host hands copies to the copy engine of a GPU: to the stream of the peer, not to a ring.

#ifndef KOKKOSIRIS_HOST_COPY_QUEUE_HPP
#define KOKKOSIRIS_HOST_COPY_QUEUE_HPP

#include <core/KokkosIris_GpuSpace.hpp>
#include <rma/KokkosIris_CopyEngineRing.hpp>

namespace KokkosIris::Impl {

/// Any thread of the host; calls for one peer are carried out in the order in which they are made.
/// \throws Error (system) if the GPU's runtime refuses
class HostCopyQueue {
 public:
  virtual ~HostCopyQueue() = default;
  /// Copies to `peer` that are submitted from here on begin after the work that is in `exec` now,
  /// and after the copies that kernels had committed to the ring of the peer before.
  virtual void follow(int peer, const GpuExecutionSpace& exec) = 0;
  /// Hands over a copy and its signal.
  virtual void submit(int peer, const CopyWork& work) = 0;
  /// Has the GPU write down when all copies to `peer` are complete that were submitted here before.
  /// The first half of quiet, apart so that waiting for kernels comes between and takes the time.
  virtual void mark(int peer) = 0;
  /// The second half: waits until the copies before the last mark() are complete, and those that
  /// kernels submitted which have ended.
  /// \return false if given up
  virtual bool wait(int peer) = 0;
};

}  // namespace KokkosIris::Impl

#endif
