// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include <core/KokkosIris_Error.hpp>
#include <cstdio>

namespace KokkosIris {

const char* to_string(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::invalid_argument:
      return "invalid argument";
    case ErrorCode::mismatch:
      return "mismatch between ranks";
    case ErrorCode::out_of_memory:
      return "out of memory";
    case ErrorCode::timeout:
      return "timeout";
    case ErrorCode::peer_failed:
      return "error on another rank";
    case ErrorCode::peer_died:
      return "another rank is gone";
    case ErrorCode::system:
      return "system error";
    case ErrorCode::misuse:
      return "misuse";
  }
  return "unknown error";
}

Error::Error(ErrorCode code, int rank, const std::string& message)
    : std::runtime_error(message), m_code(code), m_rank(rank) {}

namespace Impl {

void throw_error(ErrorCode code, int rank, std::string_view operation, const std::string& message,
                 std::source_location location) {
  std::string_view file = location.file_name();
  if (const auto slash = file.rfind('/'); slash != std::string_view::npos) {
    file.remove_prefix(slash + 1);
  }
  std::string text = "KokkosIris::";
  text.append(operation).append(": ").append(message).append(" [");
  if (rank >= 0) text.append("rank ").append(std::to_string(rank)).append(", ");
  text.append(to_string(code)).append(", ").append(file);
  text.append(":").append(std::to_string(location.line())).append("]");
  throw Error(code, rank, text);
}

void report(std::string_view message) noexcept {
  std::fprintf(stderr, "KokkosIris: %.*s\n", static_cast<int>(message.size()), message.data());
}

}  // namespace Impl
}  // namespace KokkosIris
