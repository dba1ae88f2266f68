// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include <mpi.h>
#include <unistd.h>

#include <Session.hpp>
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <map>
#include <stdexcept>

namespace Bench {
namespace {

constexpr std::size_t heap_size = std::size_t(1) << 30;
constexpr int most_rounds = 4000;

std::multimap<int, void (*)(Session&)>& suites() {
  static std::multimap<int, void (*)(Session&)> all;
  return all;
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

double maximum_over_ranks(double value) {
  MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return value;
}

/// Rank 0 decides for all.
bool agree_to_go_on(bool go_on) {
  int word = go_on ? 1 : 0;
  MPI_Bcast(&word, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return word != 0;
}

}  // namespace

Session::Session(const Options& options)
    : m_options(options),
      m_filter(options.filter, std::regex::ECMAScript),
      m_context(MPI_COMM_WORLD, {.heap_size = heap_size}) {
  if (rank() != 0) return;
  m_show_on_terminal = isatty(STDERR_FILENO) != 0;
  m_show_progress = options.progress || m_show_on_terminal;
}

Context& Session::alone() {
  if (!m_alone)
    m_alone.emplace(MPI_COMM_SELF, KokkosIris::ContextOptions{.heap_size = heap_size / 2});
  return *m_alone;
}

bool Session::selects(const std::string& cell) const {
  return m_options.filter.empty() || std::regex_search(cell, m_filter);
}

bool Session::wants(const std::string& cell) {
  if (!selects(cell)) return false;
  ++m_cells;
  if (m_show_progress) {
    // On a terminal one line that is written over.
    std::fprintf(stderr, m_show_on_terminal ? "\r\033[K[%d] %s" : "[%d] %s\n", m_cells,
                 cell.c_str());
    std::fflush(stderr);
  }
  return true;
}

void Session::finish_progress() const {
  if (m_show_progress && m_show_on_terminal) std::fprintf(stderr, "\r\033[K");
}

Times Session::measure(const Record& common, const std::vector<Entrant>& entrants,
                       const std::function<double(const std::vector<double>&)>& ideal) {
  const Times times = sample(entrants);
  add_records(common, entrants, times, ideal ? ideal(times.us) : 0.0);
  return times;
}

Times Session::sample(const std::vector<Entrant>& entrants) {
  using Clock = std::chrono::steady_clock;
  const int least_rounds = m_options.quick ? 3 : 7;
  std::vector<std::vector<double>> samples(entrants.size());
  auto begin = Clock::now();
  Times times;
  for (int round = -1;; ++round) {
    if (round == 0) begin = Clock::now();
    const std::chrono::duration<double> elapsed = Clock::now() - begin;
    const bool go_on =
        round < least_rounds || (elapsed.count() < m_options.seconds && round < most_rounds);
    if (!agree_to_go_on(go_on)) {
      times.samples = round;
      break;
    }
    for (std::size_t turn = 0; turn < entrants.size(); ++turn) {
      const std::size_t which = (turn + static_cast<std::size_t>(round + 1)) % entrants.size();
      start();
      const double us = entrants[which].run();
      if (round >= 0) samples[which].push_back(us);
    }
  }
  for (const auto& of_entrant : samples) times.us.push_back(maximum_over_ranks(median(of_entrant)));
  return times;
}

void Session::add_records(const Record& common, const std::vector<Entrant>& entrants,
                          const Times& times, double ideal_us) {
  using Role = Entrant::Role;
  Record base = common;
  if (base.backend.empty()) base.backend = ExecutionSpace::name();
  base.ranks = base.ranks == 0 ? size() : base.ranks;
  base.samples = times.samples;
  base.ideal_us = ideal_us;
  const auto add = [&](std::size_t ours, const Entrant* baseline, double baseline_us,
                       Target target) {
    Record record = base;
    record.form = entrants[ours].name;
    record.time_us = times.us[ours];
    record.baseline = baseline != nullptr ? baseline->name : "";
    record.baseline_us = baseline_us;
    record.target = target;
    m_records.push_back(record);
  };
  const Entrant* best = nullptr;
  double best_us = 0.0;
  for (std::size_t i = 0; i < entrants.size(); ++i) {
    if (entrants[i].role != Role::reference || (best != nullptr && times.us[i] >= best_us))
      continue;
    best = &entrants[i];
    best_us = times.us[i];
  }
  for (std::size_t i = 0; i < entrants.size(); ++i) {
    const bool is_slower = entrants[i].role == Role::reference && &entrants[i] != best;
    if (entrants[i].role == Role::component || is_slower) {
      base.others.emplace_back(entrants[i].name, times.us[i]);
    }
  }
  std::size_t first = entrants.size();
  for (std::size_t i = 0; i < entrants.size(); ++i) {
    if (entrants[i].role != Role::ours) continue;
    first = std::min(first, i);
    add(i, best, best_us, entrants[i].target);
  }
  for (std::size_t i = 0; i < entrants.size(); ++i) {
    if (entrants[i].role == Role::informative) add(first, &entrants[i], times.us[i], {});
  }
}

double Session::put_bandwidth() {
  if (size() == 1) return std::numeric_limits<double>::infinity();
  if (m_put_bandwidth > 0.0) return m_put_bandwidth;
  constexpr std::size_t words = std::size_t(1) << 19;  // 4 MiB
  const int peer = (rank() + 1) % size();
  const auto to = m_context.zeros<std::uint64_t*>("to", words);
  const auto from = m_context.full<std::uint64_t*>("from", 1, words);
  std::vector<double> us;
  std::uint64_t sum = 0;
  for (int round = 0; round < 11; ++round) {
    start();
    us.push_back(timed([&] { put(device(), to.data(), from.data(), words, peer); }));
    start();
    // The next round's destination is then in its reader's cache, as it is in an application.
    for (std::size_t i = 0; i < words; ++i) sum += to(i);
  }
  require_everywhere(sum == 11 * words, "put: the neighbour's data are wrong");
  m_put_bandwidth =
      static_cast<double>(words * sizeof(std::uint64_t)) / maximum_over_ranks(median(us));
  return m_put_bandwidth;
}

Suite::Suite(int order, void (*run)(Session&)) { suites().emplace(order, run); }

void Suite::run_all(Session& session) {
  for (const auto& [order, run] : suites()) run(session);
}

void require_everywhere(bool good, const std::string& text) {
  int word = good ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &word, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (word == 0) throw std::runtime_error(text);
}

}  // namespace Bench
