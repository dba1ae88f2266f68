// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// kokkosiris_bench: measures one-sided access and the fused operations beside their baselines.
/// scripts/bench.sh runs it with the settings under which the baselines are at their best.

#include <mpi.h>

#include <Blas.hpp>
#include <CLI/CLI.hpp>
#include <DeviceChoice.hpp>
#include <Machine.hpp>
#include <Session.hpp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <stdexcept>

namespace {

struct CommandLine {
  Bench::Options options;
  bool blas_probe = false;
  /// Exit status, if the program is not to go on.
  int status = -1;
};

CommandLine parse(int argc, char** argv) {
  CommandLine line;
  CLI::App app(
      "Measures one-sided access and the fused operations of KokkosIris beside their\n"
      "baselines, in turns. Started with mpiexec: one-sided access needs 2 ranks.");
  Bench::Options& options = line.options;
  app.add_option("--json", options.json, "Write the records to this file, as one array");
  app.add_flag("--append", options.append, "Keep the records that the file has already");
  app.add_option("--filter", options.filter,
                 "Only cells whose name matches this regular expression, such as\n"
                 "handoff/1048576, barrier, matmul_all_reduce/float/2048x2048x64");
  app.add_flag("--quick", options.quick, "A few small cells, 0.1 s each: does everything run?");
  app.add_option("--seconds", options.seconds, "Time for one cell (default 2)")
      ->check(CLI::PositiveNumber);
  app.add_flag("--progress", options.progress, "Progress lines also where there is no terminal");
  app.add_flag("--blas-probe", line.blas_probe,
               "Only print the speed and the name of the BLAS library's kernels");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // Every rank gets here; one of them talks. Before MPI runs only the launcher knows which.
    const char* const rank = std::getenv("OMPI_COMM_WORLD_RANK");
    line.status = error.get_exit_code() != 0 ? 2 : 0;
    if (rank == nullptr || std::strcmp(rank, "0") == 0) app.exit(error);
  }
  if (options.quick && app.count("--seconds") == 0) options.seconds = 0.1;
  return line;
}

int probe_blas() {
#ifdef KOKKOSIRIS_ENABLE_BLAS
  Bench::print_blas_probe();
  return 0;
#else
  std::fprintf(stderr, "kokkosiris_bench: built without BLAS, nothing to probe\n");
  return 2;
#endif
}

/// \return exit status, equal on all ranks
int judge(const Bench::Session& session) {
  const char* const strict = std::getenv("KOKKOSIRIS_PERF_STRICT");
  const bool is_strict = strict != nullptr && std::strcmp(strict, "1") == 0;
  int insane = 0, missed = 0;
  for (const Bench::Record& record : session.records()) {
    insane += record.sane() ? 0 : 1;
    missed += record.met() ? 0 : 1;
  }
  if (session.rank() == 0) {
    std::printf("\n%zu records, %d targets missed, %d without a proper time\n",
                session.records().size(), missed, insane);
  }
  return session.records().empty() || insane > 0 || (is_strict && missed > 0) ? 1 : 0;
}

/// A fast result beside a slow baseline means nothing.
void warn_of_slow_blas() {
#if defined(__x86_64__)
  const std::string name = Bench::blas_name();
  for (const char* const slow : {"Prescott", "Core2", "Penryn", "Nehalem"}) {
    if (name.find(slow) == std::string::npos || !__builtin_cpu_supports("avx2")) continue;
    std::printf(
        "\nNOTE: OpenBLAS uses kernels far below this processor's best (%s), so speedups over\n"
        "it mean nothing. scripts/bench.sh sets OPENBLAS_CORETYPE to the fastest.\n",
        slow);
  }
#endif
}

std::string joined(int argc, char** argv) {
  std::string command;
  for (int i = 0; i < argc; ++i) command += (i == 0 ? "" : " ") + std::string(argv[i]);
  return command;
}

/// Rather now than after half an hour.
void require_writable(const std::string& path) {
  if (path.empty() || std::ofstream(path, std::ios::app)) return;
  throw std::runtime_error("cannot write " + path);
}

int run(const Bench::Options& options, const std::string& command) {
  Bench::Session session(options);
  if (session.rank() == 0) require_writable(options.json);
  Bench::Suite::run_all(session);
  session.finish_progress();
  if (session.rank() == 0) {
    Bench::Surroundings surroundings = Bench::surroundings(command);
    for (const auto& version : session.versions()) surroundings.versions.push_back(version);
    Bench::print_table(session.records(), surroundings);
    warn_of_slow_blas();
    if (!options.json.empty()) {
      Bench::write_json(options.json, options.append, session.records(), surroundings);
    }
  }
  return judge(session);
}

}  // namespace

int main(int argc, char** argv) {
  const CommandLine line = parse(argc, argv);
  if (line.status >= 0) return line.status;
  if (line.blas_probe) return probe_blas();
  const std::string command = joined(argc, argv);
  MPI_Init(&argc, &argv);
  int status = 1;
  try {
    const Kokkos::ScopeGuard guard(Test::kokkos_settings(Test::node_rank()));
    status = run(line.options, command);
  } catch (const std::exception& error) {
    // The other ranks may be anywhere.
    std::fprintf(stderr, "kokkosiris_bench: %s\n", error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return status;
}
