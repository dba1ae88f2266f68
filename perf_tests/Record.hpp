// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// What one measurement found, and what all of them together are turned into: a table and a JSON
/// file.

#ifndef KOKKOSIRIS_BENCH_RECORD_HPP
#define KOKKOSIRIS_BENCH_RECORD_HPP

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace Bench {

/// What a measurement is to reach.
struct Target {
  enum class Kind {
    none,
    speedup_at_least,     ///< baseline time / our time
    time_ratio_at_most,   ///< our time / baseline time
    microseconds_at_most  ///< our time
  };
  Kind kind = Kind::none;
  double value = 0.0;
  double most_us = 0.0;      ///< our time is not to exceed this either; 0: no limit
  double most_ideals = 0.0;  ///< nor this many times the ideal, where there is one; 0: no limit

  static Target speedup(double value) { return {Kind::speedup_at_least, value, 0.0, 0.0}; }
  static Target ratio(double value) { return {Kind::time_ratio_at_most, value, 0.0, 0.0}; }
  static Target microseconds(double value) { return {Kind::microseconds_at_most, value, 0.0, 0.0}; }
  /// The same with a limit on our time besides.
  Target within(double us) const { return {kind, value, us, most_ideals}; }
  /// The same with a limit on our time / ideal besides.
  Target within_ideals(double ratio) const { return {kind, value, most_us, ratio}; }
};

/// One measurement beside one baseline. Times are in microseconds: the maximum over the ranks of
/// the rank's median. 0 stands for "there is none" in all numbers but the times of what was
/// measured.
struct Record {
  std::string op;
  std::string form;     ///< fused; or the level of a one-sided call: thread, host, engine
  std::string backend;  ///< empty: that of the host's cells
  std::string type;
  std::string engine;  ///< tile engine of a fused operation
  int ranks = 0;
  std::int64_t m = 0, n = 0, k = 0;
  std::int64_t bytes = 0;
  int samples = 0;
  double time_us = 0.0;
  double ideal_us = 0.0;
  std::string baseline;
  double baseline_us = 0.0;
  Target target;
  /// What else took turns without a record of its own: parts, and baselines that were not the
  /// fastest.
  std::vector<std::pair<std::string, double>> others;

  double speedup() const {
    return baseline_us > 0.0 && time_us > 0.0 ? baseline_us / time_us : 0.0;
  }
  /// Our time / ideal.
  double ideals() const { return ideal_us > 0.0 ? time_us / ideal_us : 0.0; }
  /// False if there is a target and it is missed.
  bool met() const;
  /// True if the times are positive and finite.
  bool sane() const;
};

/// Key and value pairs that describe where and how the records were made.
struct Surroundings {
  std::string processor;
  int cores = 0;
  std::string gpu;  ///< empty in builds without a GPU backend
  int gpus = 0;     ///< that this process sees
  std::vector<std::pair<std::string, std::string>> versions;
  std::vector<std::pair<std::string, std::string>> environment;
  std::string command;
  std::string date;
};

/// Prints the records as a table to standard output.
void print_table(const std::vector<Record>& records, const Surroundings& surroundings);

/// Writes the records as one JSON array, behind those that the file has already if `append`.
/// \throws std::runtime_error if the file cannot be read or written
void write_json(const std::string& path, bool append, const std::vector<Record>& records,
                const Surroundings& surroundings);

}  // namespace Bench

#endif
