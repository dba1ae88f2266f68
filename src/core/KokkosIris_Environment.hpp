// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// The environment variables of the library: one table, read by the library and by kokkosiris_info.

#ifndef KOKKOSIRIS_ENVIRONMENT_HPP
#define KOKKOSIRIS_ENVIRONMENT_HPP

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace KokkosIris {

/// One environment variable that the library reads.
struct EnvironmentVariable {
  const char* name;
  const char* default_value;
  const char* meaning;
};

/// All variables that the library reads.
const std::vector<EnvironmentVariable>& environment_variables();

namespace Impl {

/// Text of a variable of the table, or nothing if it is unset or empty.
std::optional<std::string> environment(const char* name);

/// KOKKOSIRIS_TIMEOUT in seconds; 0 means that waits have no deadline.
/// \param fault receives what is wrong if the text is not a non-negative number
double environment_timeout(std::string& fault);

/// KOKKOSIRIS_HEAP_SIZE in bytes (suffixes K, M, G, T are powers of 1024).
/// \param fault receives what is wrong if the text is not a positive size
std::size_t environment_heap_size(std::string& fault);

/// Parses a size such as `4096`, `512M` or `2G`; nothing if it is not one or overflows.
std::optional<std::size_t> parse_size(const std::string& text);

}  // namespace Impl
}  // namespace KokkosIris

#endif
