// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// Ranks as threads of one process: what lets the thread sanitizer see both sides of an exchange.

#ifndef KOKKOSIRIS_TEST_THREAD_BOOTSTRAP_HPP
#define KOKKOSIRIS_TEST_THREAD_BOOTSTRAP_HPP

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <core/KokkosIris_Bootstrap.hpp>
#include <cstring>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

namespace Test {

/// Where the threads of a group meet.
class ThreadMeetingPoint {
 public:
  explicit ThreadMeetingPoint(int size) : m_size(size), m_data(static_cast<std::size_t>(size)) {}

  int size() const { return m_size; }

  /// Returns when all threads have called it. \throws std::runtime_error after 20 seconds
  void barrier() {
    std::unique_lock<std::mutex> lock(m_mutex);
    const unsigned round = m_round;
    if (++m_waiting == m_size) {
      m_waiting = 0;
      ++m_round;
      m_changed.notify_all();
    } else if (!m_changed.wait_for(lock, std::chrono::seconds(20),
                                   [&] { return m_round != round; })) {
      throw std::runtime_error("a thread did not come to the meeting point");
    }
  }

  void all_gather(int rank, const void* mine, std::size_t bytes, void* all) {
    {
      const std::lock_guard<std::mutex> lock(m_mutex);
      const auto* const begin = static_cast<const char*>(mine);
      m_data[static_cast<std::size_t>(rank)].assign(begin, begin + bytes);
    }
    barrier();
    {
      const std::lock_guard<std::mutex> lock(m_mutex);
      for (std::size_t other = 0; other < m_data.size(); ++other) {
        std::memcpy(static_cast<char*>(all) + other * bytes, m_data[other].data(), bytes);
      }
    }
    barrier();
  }

 private:
  const int m_size;
  std::mutex m_mutex;
  std::condition_variable m_changed;
  int m_waiting = 0;
  unsigned m_round = 0;
  std::vector<std::vector<char>> m_data;
};

class ThreadBootstrap : public KokkosIris::Impl::Bootstrap {
 public:
  ThreadBootstrap(ThreadMeetingPoint& point, int rank) : m_point(point), m_rank(rank) {}
  int rank() const override { return m_rank; }
  int size() const override { return m_point.size(); }
  using Bootstrap::all_gather;
  void all_gather(const void* mine, std::size_t bytes, void* all) override {
    m_point.all_gather(m_rank, mine, bytes, all);
  }
  void barrier() override { m_point.barrier(); }

 private:
  ThreadMeetingPoint& m_point;
  int m_rank;
};

/// Runs body(bootstrap) in `size` threads; an exception of one fails the test.
template <class Body>
void run_as_threads(int size, const Body& body) {
  ThreadMeetingPoint point(size);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&point, &body, rank] {
      try {
        ThreadBootstrap bootstrap(point, rank);
        body(bootstrap);
      } catch (const std::exception& error) {
        ADD_FAILURE() << "thread of rank " << rank << ": " << error.what();
      }
    });
  }
  for (auto& thread : threads) thread.join();
}

}  // namespace Test

#endif
