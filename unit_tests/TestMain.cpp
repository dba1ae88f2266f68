// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// @file
/// main() of every unit test: one GoogleTest run on all ranks of MPI_COMM_WORLD.
/// Rank 0 prints GoogleTest's usual progress, the others only their failures, each line with its
/// rank. The exit status is the worst of all ranks, so a failure on rank 3 alone fails the test.
///
/// With KOKKOSIRIS_TEST_WITHOUT_KOKKOS in the environment Kokkos is not initialised: a build for
/// GPUs then runs tests of what needs none where there is no GPU.

#include <gtest/gtest.h>
#include <mpi.h>

#include <DeviceChoice.hpp>
#include <Kokkos_Core.hpp>
#include <core/KokkosIris_GpuReport.hpp>
#include <core/KokkosIris_GpuSpace.hpp>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <sstream>
#include <string>

/// Defined by tests that start copies of themselves (see ForkBootstrap.hpp): main() of such a copy,
/// which uses no MPI.
extern "C" __attribute__((weak)) int kokkosiris_test_child(const char* task, int argc,
                                                           char* argv[]);

namespace {

/// Prints failures as one write a line, since several ranks share the terminal.
class RankListener : public testing::EmptyTestEventListener {
 public:
  explicit RankListener(int rank) : m_prefix("[rank " + std::to_string(rank) + "] ") {}

  void OnTestStart(const testing::TestInfo& info) override {
    m_test = std::string(info.test_suite_name()) + "." + info.name();
  }

  void OnTestPartResult(const testing::TestPartResult& result) override {
    if (result.passed()) return;
    std::ostringstream text;
    text << m_test << ": " << (result.file_name() ? result.file_name() : "unknown file") << ":"
         << result.line_number() << (result.skipped() ? ": skipped\n" : ": failure\n")
         << result.message();
    std::istringstream lines(text.str());
    std::string prefixed;
    for (std::string line; std::getline(lines, line);) prefixed += m_prefix + line + "\n";
    std::fputs(prefixed.c_str(), stderr);
  }

 private:
  std::string m_prefix;
  std::string m_test;
};

/// Runs the tests; the return value is this rank's own status.
int run_tests(int rank) {
  auto& listeners = testing::UnitTest::GetInstance()->listeners();
  if (rank != 0) {
    delete listeners.Release(listeners.default_result_printer());
    listeners.Append(new RankListener(rank));
  }
  const int status = RUN_ALL_TESTS();
  if (testing::UnitTest::GetInstance()->test_to_run_count() == 0) {
    std::fprintf(stderr, "[rank %d] no test ran: the filter matches none\n", rank);
    return 1;
  }
  return status;
}

/// In a build for GPUs, says where there is none, which Kokkos would not survive.
/// \return false if nothing can be run
bool check_for_gpus(int rank, bool with_kokkos) {
  if constexpr (KokkosIris::Impl::has_gpu_v) {
    if (KokkosIris::Impl::visible_gpus() > 0) return true;
    if (rank == 0) {
      std::fprintf(stderr, "no GPU is present%s\n",
                   with_kokkos
                       ? ", and these tests need one (ctest -L no_gpu runs those that do not)"
                       : "; these tests need none");
    }
    return !with_kokkos;
  }
  return true;
}

}  // namespace

int main(int argc, char* argv[]) {
  const char* const task = std::getenv("KOKKOSIRIS_TEST_CHILD");
  if (task != nullptr && kokkosiris_test_child != nullptr) {
    return kokkosiris_test_child(task, argc, argv);
  }
  int provided = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int status = 1;
  if (provided < MPI_THREAD_MULTIPLE) {
    std::fprintf(stderr, "[rank %d] this MPI offers thread level %d, the tests need %d\n", rank,
                 provided, MPI_THREAD_MULTIPLE);
  } else if (const bool with_kokkos = std::getenv("KOKKOSIRIS_TEST_WITHOUT_KOKKOS") == nullptr;
             check_for_gpus(rank, with_kokkos)) {
    testing::InitGoogleTest(&argc, argv);
    std::optional<Kokkos::ScopeGuard> guard;
    if (with_kokkos) guard.emplace(::Test::kokkos_settings(::Test::node_rank()));
    status = run_tests(rank);
  }
  int worst = status;
  MPI_Allreduce(&status, &worst, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (worst != 0 && rank == 0 && status == 0) {
    std::fprintf(stderr, "[rank 0] passed here, failed on another rank\n");
  }
  MPI_Finalize();
  return worst;
}
