// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include <cmath>
#include <heap/KokkosIris_Creation.hpp>

namespace KokkosIris::Impl {

void require_running_kokkos(Bootstrap& bootstrap) {
  const bool running = Kokkos::is_initialized() && !Kokkos::is_finalized();
  if (bootstrap.all_ok(running)) return;
  throw_error(ErrorCode::misuse, bootstrap.rank(), "Context",
              std::string("Kokkos is not running") + (running ? " on another rank" : "") +
                  "; construct a Context between Kokkos::initialize and Kokkos::finalize");
}

namespace {

std::string half_open_interval(const std::string& low, const std::string& high) {
  return std::string("[").append(low).append(", ").append(high).append(")");
}

}  // namespace

void fail_no_sequence(Runtime& runtime, const std::string& start, const std::string& end,
                      const std::string& step) {
  runtime.fail(ErrorCode::invalid_argument, "arange",
               "no sequence goes from " + start + " to " + end + " in steps of " + step);
}

std::size_t arange_count(Runtime& runtime, double start, double end, double step) {
  const double count = std::ceil((end - start) / step);
  const bool towards_end = step > 0.0 ? end >= start : (step < 0.0 && end <= start);
  if (!towards_end || !(count <= 0x1.0p53)) {
    fail_no_sequence(runtime, std::to_string(start), std::to_string(end), std::to_string(step));
  }
  return static_cast<std::size_t>(count);
}

void require_interval(Runtime& runtime, const char* operation, double low, double high) {
  if (low < high && std::isfinite(low) && std::isfinite(high)) return;
  runtime.fail(ErrorCode::invalid_argument, operation,
               "there are no numbers to draw from in " +
                   half_open_interval(std::to_string(low), std::to_string(high)) +
                   "; give finite bounds, the lower one first");
}

std::uint64_t randint_count(Runtime& runtime, std::int64_t low, std::int64_t high, bool fits) {
  const std::string interval = half_open_interval(std::to_string(low), std::to_string(high));
  if (low >= high) {
    runtime.fail(ErrorCode::invalid_argument, "randint", "the interval " + interval + " is empty");
  }
  if (!fits) {
    runtime.fail(ErrorCode::invalid_argument, "randint",
                 "the interval " + interval + " holds numbers that the element type does not have");
  }
  return static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
}

}  // namespace KokkosIris::Impl
