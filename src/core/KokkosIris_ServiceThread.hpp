// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// Threads of the library's own.

#ifndef KOKKOSIRIS_SERVICE_THREAD_HPP
#define KOKKOSIRIS_SERVICE_THREAD_HPP

#include <functional>
#include <thread>

namespace KokkosIris::Impl {

/// Starts a thread that gets no signals: those are for the application's threads.
/// \param rank of the calling rank, for the error's text
/// \param name shown by debuggers and top, up to 15 letters
/// \throws std::runtime_error if there is no room for another thread
std::thread start_service_thread(int rank, const char* name, std::function<void()> run);

}  // namespace KokkosIris::Impl

#endif
