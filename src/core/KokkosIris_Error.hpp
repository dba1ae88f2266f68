// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// The one exception type of the library and the one place that composes its message.

#ifndef KOKKOSIRIS_ERROR_HPP
#define KOKKOSIRIS_ERROR_HPP

#include <source_location>
#include <stdexcept>
#include <string>
#include <string_view>

namespace KokkosIris {

/// What kind of failure an Error reports; the text says the rest.
enum class ErrorCode : int {
  invalid_argument,  ///< the call cannot be carried out with these arguments
  mismatch,          ///< ranks called a collective operation with different arguments
  out_of_memory,     ///< the symmetric heap or the system has no room
  timeout,           ///< a wait exceeded KOKKOSIRIS_TIMEOUT
  peer_failed,       ///< another rank reported an error inside a collective operation
  peer_died,         ///< the process of another rank is gone; the context cannot be used again
  system,            ///< an operating system or runtime call failed
  misuse,            ///< a call outside the life time of MPI, Kokkos or the context
};

/// Name of an error code, for messages and logs.
const char* to_string(ErrorCode code) noexcept;

/// Every error that KokkosIris reports on the host.
///
/// Errors inside collective calls are raised on every rank of the context. Unless the code is
/// `peer_died` the context stays usable: the next collective call brings the ranks together again.
class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, int rank, const std::string& message);

  ErrorCode code() const noexcept { return m_code; }
  /// Rank that raised this exception (the text names the rank that is at fault, if another).
  int rank() const noexcept { return m_rank; }

 private:
  ErrorCode m_code;
  int m_rank;
};

namespace Impl {

/// Throws an Error whose text is `KokkosIris::<operation>: <message> [rank R, file:line]`.
/// \param rank rank in the context, or -1 where there is none yet
[[noreturn]] void throw_error(ErrorCode code, int rank, std::string_view operation,
                              const std::string& message,
                              std::source_location location = std::source_location::current());

/// Writes one line `KokkosIris: <message>` to standard error: for places that must not throw.
void report(std::string_view message) noexcept;

}  // namespace Impl
}  // namespace KokkosIris

#endif
