// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include <charconv>
#include <core/KokkosIris_Environment.hpp>
#include <cstdlib>
#include <limits>
#include <locale>
#include <sstream>

namespace KokkosIris {

const std::vector<EnvironmentVariable>& environment_variables() {
  static const std::vector<EnvironmentVariable> table = {
      {"KOKKOSIRIS_TIMEOUT", "120", "seconds after which a wait raises an error; 0: never"},
      {"KOKKOSIRIS_HEAP_SIZE", "1G", "symmetric heap of a rank when Context is given no heap_size"},
      {"KOKKOSIRIS_ENGINE", "auto",
       "tile engine of fused operations: auto, packed, blas, portable, sm90, sm80, mfma"},
      {"KOKKOSIRIS_HOST_ISA", "best",
       "instruction set of the packed engine: generic, avx2, avx512, avx512_bf16, amx"},
  };
  return table;
}

namespace Impl {

std::optional<std::string> environment(const char* name) {
  const char* text = std::getenv(name);
  if (text == nullptr || *text == '\0') return std::nullopt;
  return std::string(text);
}

double environment_timeout(std::string& fault) {
  const auto text = environment("KOKKOSIRIS_TIMEOUT");
  if (!text) return 120.0;
  // The application may have set a locale in which numbers look different.
  std::istringstream stream(*text);
  stream.imbue(std::locale::classic());
  double seconds = 0.0;
  if (!(stream >> seconds) || !stream.eof() || !(seconds >= 0.0)) {
    fault = "KOKKOSIRIS_TIMEOUT is '" + *text + "'; give seconds >= 0 (0: no deadline)";
  }
  return seconds;
}

std::optional<std::size_t> parse_size(const std::string& text) {
  std::size_t value = 0;
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value);
  if (parsed.ec != std::errc()) return std::nullopt;
  int shift = 0;
  if (parsed.ptr != end) {
    if (parsed.ptr + 1 != end) return std::nullopt;
    switch (*parsed.ptr) {
      case 'K':
      case 'k':
        shift = 10;
        break;
      case 'M':
      case 'm':
        shift = 20;
        break;
      case 'G':
      case 'g':
        shift = 30;
        break;
      case 'T':
      case 't':
        shift = 40;
        break;
      default:
        return std::nullopt;
    }
  }
  if (value > (std::numeric_limits<std::size_t>::max() >> shift)) return std::nullopt;
  return value << shift;
}

std::size_t environment_heap_size(std::string& fault) {
  const auto text = environment("KOKKOSIRIS_HEAP_SIZE");
  if (!text) return std::size_t(1) << 30;
  const auto size = parse_size(*text);
  if (!size || *size == 0) {
    fault = "KOKKOSIRIS_HEAP_SIZE is '" + *text + "'; give a size such as 512M or 2G";
  }
  return size.value_or(0);
}

}  // namespace Impl
}  // namespace KokkosIris
