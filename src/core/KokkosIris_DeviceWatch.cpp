// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include <chrono>
#include <core/KokkosIris_DeviceWatch.hpp>
#include <core/KokkosIris_Runtime.hpp>
#include <core/KokkosIris_ServiceThread.hpp>

namespace KokkosIris::Impl {
namespace {

constexpr std::chrono::milliseconds time_between_looks(50);

}  // namespace

DeviceWatch::DeviceWatch(Runtime& runtime)
    : m_runtime(runtime),
      m_thread(start_service_thread(runtime.rank(), "KokkosIris:wait", [this] { run(); })) {}

DeviceWatch::~DeviceWatch() {
  {
    const std::lock_guard<std::mutex> lock(m_mutex);
    m_stop = true;
  }
  m_wake.notify_one();
  m_thread.join();
}

void DeviceWatch::run() noexcept {
  Runtime::DeviceWaitLook look;
  std::unique_lock<std::mutex> lock(m_mutex);
  while (!m_wake.wait_for(lock, time_between_looks, [this] { return m_stop; })) {
    look = m_runtime.look_at_device_waits(look);
  }
}

}  // namespace KokkosIris::Impl
