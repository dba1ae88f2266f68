// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include <pthread.h>
#include <signal.h>

#include <core/KokkosIris_ServiceThread.hpp>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

namespace KokkosIris::Impl {

std::thread start_service_thread(int rank, const char* name, std::function<void()> run) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread thread;
  std::string problem;
  try {
    thread = std::thread(std::move(run));
    pthread_setname_np(thread.native_handle(), name);
  } catch (const std::system_error& error) {
    problem = error.what();
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (!problem.empty()) {
    throw std::runtime_error(std::string("the thread ") + name + " of rank " +
                             std::to_string(rank) + " cannot be started: " + problem +
                             "; raise the limit on threads (ulimit -u)");
  }
  return thread;
}

}  // namespace KokkosIris::Impl
