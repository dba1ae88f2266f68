// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// Ranks as child processes of a test, without MPI: they can be killed without ending the test.

#ifndef KOKKOSIRIS_TEST_FORK_BOOTSTRAP_HPP
#define KOKKOSIRIS_TEST_FORK_BOOTSTRAP_HPP

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <DeviceChoice.hpp>
#include <atomic>
#include <chrono>
#include <core/KokkosIris_Bootstrap.hpp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

extern char** environ;

namespace Test {

using Clock = std::chrono::steady_clock;
inline double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Memory that the parent and its children map; zero bytes are its initial state.
struct ForkPage {
  static constexpr int max_ranks = 8;
  std::atomic<unsigned> arrived;
  std::atomic<int> stage[max_ranks];  ///< how far a child has come, in numbers of its task
  std::atomic<int> go;                ///< what the parent allows
  char data[max_ranks][4096];

  static ForkPage* map(int descriptor) {
    void* const page =
        mmap(nullptr, sizeof(ForkPage), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    if (page == MAP_FAILED) throw std::runtime_error("mmap of the page of the children");
    return static_cast<ForkPage*>(page);
  }
};

/// Polls until `ready()`, at most `limit` seconds. \return false if it never was
template <class Ready>
bool poll_for(double limit, const Ready& ready) {
  const auto start = Clock::now();
  while (!ready()) {
    if (seconds_since(start) > limit) return false;
    usleep(200);
  }
  return true;
}

/// Bootstrap of the children.
class ForkBootstrap : public KokkosIris::Impl::Bootstrap {
 public:
  ForkBootstrap(ForkPage& page, int rank, int size) : m_page(page), m_rank(rank), m_size(size) {}
  int rank() const override { return m_rank; }
  int size() const override { return m_size; }
  using Bootstrap::all_gather;
  void all_gather(const void* mine, std::size_t bytes, void* all) override {
    if (bytes > sizeof(m_page.data[0])) throw std::runtime_error("record larger than the page");
    std::memcpy(m_page.data[m_rank], mine, bytes);
    barrier();
    for (int other = 0; other < m_size; ++other) {
      std::memcpy(static_cast<char*>(all) + std::size_t(other) * bytes, m_page.data[other], bytes);
    }
    barrier();
  }
  void barrier() override {
    m_target += unsigned(m_size);
    m_page.arrived.fetch_add(1);
    if (!poll_for(20.0, [&] { return int(m_page.arrived.load() - m_target) >= 0; })) {
      throw std::runtime_error("another child did not come to the barrier");
    }
  }

 private:
  ForkPage& m_page;
  int m_rank;
  int m_size;
  unsigned m_target = 0;
};

/// The body of kokkosiris_test_child(): calls `run(page, bootstrap)` while Kokkos is initialised.
/// \return exit status
template <class Run>
int run_child(int argc, char* argv[], const Run& run) {
  if (argc != 4) return 91;
  ForkPage& page = *ForkPage::map(std::atoi(argv[3]));
  const int rank = std::atoi(argv[1]);
  ForkBootstrap bootstrap(page, rank, std::atoi(argv[2]));
  const Kokkos::ScopeGuard guard(kokkos_settings(rank));
  run(page, bootstrap);
  std::fflush(stdout);
  return 0;
}

/// A group of copies of this executable that carry out a task: kokkosiris_test_child() is their
/// main().
class ChildGroup {
 public:
  struct Child {
    pid_t pid = -1;
    int output = -1;  ///< read end of a pipe from its standard output
    int status = -1;  ///< as of waitpid()
    bool running = true;
    double ended_at = 0.0;  ///< seconds after the last mark()
    std::string text;       ///< what it wrote
  };

  ChildGroup(const std::string& task, int size) {
    m_descriptor = memfd_create("children", 0);
    if (m_descriptor < 0 || ftruncate(m_descriptor, sizeof(ForkPage)) != 0) {
      throw std::runtime_error("memfd_create");
    }
    m_page = ForkPage::map(m_descriptor);
    for (int rank = 0; rank < size; ++rank) m_children.push_back(start(task, rank, size));
    mark();
  }
  ~ChildGroup() {
    for (auto& child : m_children) {
      if (child.running) {
        kill(child.pid, SIGKILL);
        waitpid(child.pid, nullptr, 0);
      }
      close(child.output);
    }
    munmap(m_page, sizeof(ForkPage));
    close(m_descriptor);
  }
  ChildGroup(const ChildGroup&) = delete;
  ChildGroup& operator=(const ChildGroup&) = delete;

  ForkPage& page() { return *m_page; }
  const Child& operator[](int rank) const { return m_children[std::size_t(rank)]; }
  void signal(int rank, int number) { kill(m_children[std::size_t(rank)].pid, number); }
  void mark() { m_mark = Clock::now(); }

  /// Waits until the given children have reached a stage. \return false after 20 seconds
  bool reached(int stage, const std::vector<int>& ranks) {
    return poll_for(20.0, [&] {
      for (const int rank : ranks) {
        if (m_page->stage[rank].load() < stage) return false;
      }
      return true;
    });
  }

  /// Waits until the given children have ended, collects their output. \return false after `limit`
  bool ended(const std::vector<int>& ranks, double limit) {
    return poll_for(limit, [&] {
      bool all = true;
      for (const int rank : ranks) all = has_ended(m_children[std::size_t(rank)]) && all;
      return all;
    });
  }

 private:
  Child start(const std::string& task, int rank, int size) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("pipe2");
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    std::vector<std::string> variables;
    for (char** variable = environ; *variable != nullptr; ++variable) {
      const std::string text = *variable;
      if (text.rfind("OMPI_", 0) != 0 && text.rfind("PMI", 0) != 0 &&
          text.rfind("OMP_NUM", 0) != 0) {
        variables.push_back(text);
      }
    }
    variables.push_back("OMP_NUM_THREADS=1");
    variables.push_back("KOKKOSIRIS_TEST_CHILD=" + task);
    std::vector<char*> environment;
    for (auto& variable : variables) environment.push_back(variable.data());
    environment.push_back(nullptr);
    std::string words[] = {"child", std::to_string(rank), std::to_string(size),
                           std::to_string(m_descriptor)};
    char* arguments[] = {words[0].data(), words[1].data(), words[2].data(), words[3].data(),
                         nullptr};
    Child child;
    const int failed =
        posix_spawn(&child.pid, "/proc/self/exe", &actions, nullptr, arguments, environment.data());
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    child.output = ends[0];
    if (failed != 0) throw std::runtime_error("posix_spawn");
    return child;
  }

  bool has_ended(Child& child) {
    char buffer[512];
    for (ssize_t n; (n = read(child.output, buffer, sizeof(buffer))) > 0;) {
      child.text.append(buffer, std::size_t(n));
    }
    if (child.running && waitpid(child.pid, &child.status, WNOHANG) == child.pid) {
      child.running = false;
      child.ended_at = seconds_since(m_mark);
      for (ssize_t n; (n = read(child.output, buffer, sizeof(buffer))) > 0;) {
        child.text.append(buffer, std::size_t(n));
      }
    }
    return !child.running;
  }

  int m_descriptor = -1;
  ForkPage* m_page = nullptr;
  std::vector<Child> m_children;
  Clock::time_point m_mark;
};

}  // namespace Test

#endif
