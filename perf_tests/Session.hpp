// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// How everything here is measured: ours and the baselines in turns, in one run.

#ifndef KOKKOSIRIS_BENCH_SESSION_HPP
#define KOKKOSIRIS_BENCH_SESSION_HPP

#include <KokkosIris.hpp>
#include <Record.hpp>
#include <chrono>
#include <functional>
#include <optional>
#include <regex>
#include <string>
#include <utility>
#include <vector>

namespace Bench {

using Context = KokkosIris::Context<Kokkos::HostSpace>;

/// One thread a rank: the space without start-up costs of its own where there is one.
#ifdef KOKKOS_ENABLE_SERIAL
using ExecutionSpace = Kokkos::Serial;
#else
using ExecutionSpace = Kokkos::DefaultHostExecutionSpace;
#endif

/// The command line.
struct Options {
  std::string json;
  bool append = false;
  std::string filter;
  bool quick = false;
  bool progress = false;
  double seconds = 2.0;  ///< for one cell: all entrants of one operation and size
};

/// Microseconds that `action` takes.
template <class Action>
double timed(const Action& action) {
  const auto begin = std::chrono::steady_clock::now();
  action();
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin)
      .count();
}

/// One of the ways of doing the same that take turns.
struct Entrant {
  enum class Role {
    ours,
    reference,    ///< a baseline; targets refer to the fastest of these
    informative,  ///< another baseline, beside the first of ours, without a target
    component     ///< a part, without a record of its own
  };
  Role role;
  std::string name;  ///< the baseline's name; for ours: the form (fused, thread, host, engine)
  /// Called by all ranks. Microseconds of one operation on this rank, 0 if it is not measured here.
  std::function<double()> run;
  Target target = {};
};

/// The medians of a cell's entrants, equal on all ranks.
struct Times {
  std::vector<double> us;
  int samples = 0;
};

class Session {
 public:
  explicit Session(const Options& options);

  const Options& options() const { return m_options; }
  Context& context() { return m_context; }
  const KokkosIris::DeviceContext& device() const { return m_context.device(); }
  const ExecutionSpace& exec() const { return m_exec; }
  int rank() const { return m_context.rank(); }
  int size() const { return m_context.size(); }
  /// A context of this rank alone.
  Context& alone();

  /// True if the filter lets this cell through.
  bool selects(const std::string& cell) const;
  /// The same just before the cell is measured: counts it and shows the progress.
  bool wants(const std::string& cell);

  /// Collective: all ranks leave at the same time.
  void start() { m_context.barrier(m_exec); }

  /// Collective: runs the entrants in turns, the first of a round being the last of the next, after
  /// one round that does not count, until the time for a cell is over. Adds the records. \param
  /// common what the records have in common \param ideal  microseconds, computed from the medians
  /// in the order of the entrants
  Times measure(const Record& common, const std::vector<Entrant>& entrants,
                const std::function<double(const std::vector<double>&)>& ideal = {});

  /// Bytes a microsecond that put() reaches while all ranks put to their neighbours. Collective.
  double put_bandwidth();

  const std::vector<Record>& records() const { return m_records; }

  /// Versions of the libraries that were found while the program ran.
  void add_version(const std::string& name, const std::string& version) {
    m_versions.emplace_back(name, version);
  }
  const std::vector<std::pair<std::string, std::string>>& versions() const { return m_versions; }
  void finish_progress() const;

 private:
  Times sample(const std::vector<Entrant>& entrants);
  void add_records(const Record& common, const std::vector<Entrant>& entrants, const Times& times,
                   double ideal_us);

  Options m_options;
  std::regex m_filter;
  Context m_context;
  std::optional<Context> m_alone;
  ExecutionSpace m_exec;
  double m_put_bandwidth = 0.0;
  bool m_show_progress = false;
  bool m_show_on_terminal = false;
  int m_cells = 0;
  std::vector<Record> m_records;
  std::vector<std::pair<std::string, std::string>> m_versions;
};

/// A file of benchmarks. Constructed as a static object; they are run in the order of `order`.
struct Suite {
  Suite(int order, void (*run)(Session&));
  static void run_all(Session& session);
};

/// Throws std::runtime_error with the text on every rank, if `good` is false on one of them.
/// Collective.
void require_everywhere(bool good, const std::string& text);

}  // namespace Bench

#endif
