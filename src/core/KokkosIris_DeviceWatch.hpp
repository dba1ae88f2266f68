// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// The host's eye on waits inside kernels of a GPU, which cannot find out whether a process lives.

#ifndef KOKKOSIRIS_DEVICE_WATCH_HPP
#define KOKKOSIRIS_DEVICE_WATCH_HPP

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

namespace KokkosIris::Impl {

class Runtime;

/// A thread that looks, twenty times a second, whether a kernel of this rank waits, and if one
/// does, whether a process is gone and whether a deadline has passed. It then aborts the operation
/// on all ranks, which ends the waits of all. A look costs a microsecond while nobody waits.
class DeviceWatch {
 public:
  /// \throws std::runtime_error if the thread cannot be started
  explicit DeviceWatch(Runtime& runtime);
  ~DeviceWatch();
  DeviceWatch(const DeviceWatch&) = delete;
  DeviceWatch& operator=(const DeviceWatch&) = delete;

 private:
  void run() noexcept;

  Runtime& m_runtime;
  std::mutex m_mutex;
  std::condition_variable m_wake;
  bool m_stop = false;
  std::thread m_thread;
};

}  // namespace KokkosIris::Impl

#endif
