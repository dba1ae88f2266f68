// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// requires: fused

/// \file
/// Recognises 600 handwritten digits with several ranks, in four element types.
///
///     mpiexec -n 4 digits [<folder of the data>]
///
/// For each type it prints one line. `correct` and `mismatches` are about both ways of splitting
/// the work (Inference.hpp) and the worst rank; max_error is relative to the largest reference
/// logit; time_us is the median of the tensor-parallel inferences, on the slowest rank. The exit
/// status is not 0 unless every type recognises the 593 digits that the reference does, by the same
/// answers. Then the four fused operations are compared with a product followed by MPI
/// (Comparison.hpp).

#include <mpi.h>

#include <KokkosIris.hpp>
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "Comparison.hpp"
#include "Inference.hpp"
#include "Network.hpp"

namespace {

constexpr int expected_correct = 593;

/// Largest max_error in an element type. Rounding leaves about one unit of 16-bit types
/// (accumulated in float) and ten of float and double; answers alone would not tell that a bias was
/// forgotten (8e-3).
template <class T>
constexpr double tolerance() {
  if (std::is_same_v<T, KokkosIris::bhalf_t>) return 4.0 / (1 << 8);
  if (std::is_same_v<T, KokkosIris::half_t>) return 4.0 / (1 << 11);
  return 32.0 * static_cast<double>(std::numeric_limits<T>::epsilon());
}

/// Median time of an inference in microseconds; the largest of all ranks.
template <class Inference>
double median_time_us(Context& context, const ExecutionSpace& exec, Inference& infer) {
  std::vector<double> times;
  for (int repetition = 0; repetition < 31; ++repetition) {
    context.barrier(exec);
    const auto begin = std::chrono::steady_clock::now();
    infer(exec);
    exec.fence();
    times.push_back(
        std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin)
            .count());
  }
  std::nth_element(times.begin(), times.begin() + 15, times.end());
  double slowest = times[15];
  MPI_Allreduce(MPI_IN_PLACE, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return slowest;
}

/// Both inferences in one element type. \return true if all ranks have the expected result
template <class T>
bool recognise(Context& context, Context& alone, const Network& network, const char* type) {
  const ExecutionSpace exec;
  TensorParallel<T> tensor_parallel(context, network);
  DataParallel<T> data_parallel(context, alone, network);
  tensor_parallel(exec);
  data_parallel(exec);
  const double time_us = median_time_us(context, exec, tensor_parallel);
  // Looked at last, so that the reuse of workspaces is part of what is checked.
  const auto& split_weights = tensor_parallel(exec);
  const auto& split_pictures = data_parallel(exec);
  exec.fence();
  const Score a = evaluate(split_weights.view(), network);
  const Score b = evaluate(split_pictures.view(), network);

  int correct = std::min(a.correct, b.correct);
  int mismatches = a.mismatches + b.mismatches;
  double max_error = std::max(a.max_error, b.max_error);
  MPI_Allreduce(MPI_IN_PLACE, &correct, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  MPI_Allreduce(MPI_IN_PLACE, &mismatches, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  MPI_Allreduce(MPI_IN_PLACE, &max_error, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  if (context.rank() == 0) {
    std::printf(
        "digits: ranks=%d type=%s correct=%d/%zu mismatches=%d max_error=%.1e time_us=%.0f\n",
        context.size(), type, correct, network.images.rows, mismatches, max_error, time_us);
    std::fflush(stdout);
  }
  return correct == expected_correct && mismatches == 0 && max_error <= tolerance<T>();
}

bool run(const std::string& folder) {
  const Network network(folder);
  Context context(MPI_COMM_WORLD, {.heap_size = std::size_t(256) << 20});
  Context alone(MPI_COMM_SELF, {.heap_size = std::size_t(64) << 20});
  const auto ranks = static_cast<std::size_t>(context.size());
  if (network.images.cols % ranks != 0 || network.w1.cols % ranks != 0 ||
      network.images.rows % ranks != 0) {
    if (context.rank() == 0) std::fprintf(stderr, "digits: run it with 1, 2, 4 or 8 ranks\n");
    return false;
  }
  bool good = recognise<float>(context, alone, network, "float");
  good = recognise<double>(context, alone, network, "double") && good;
  good = recognise<KokkosIris::half_t>(context, alone, network, "half") && good;
  good = recognise<KokkosIris::bhalf_t>(context, alone, network, "bfloat16") && good;
  compare_with_mpi(context);
  return good;
}

}  // namespace

int main(int argc, char* argv[]) {
  MPI_Init(&argc, &argv);
  bool good = false;
  try {
    const Kokkos::ScopeGuard guard(argc, argv);
    good = run(argc > 1 ? argv[1] : KOKKOSIRIS_EXAMPLE_DIR "/data");
  } catch (const std::exception& error) {
    // Not every error is raised on all ranks: a file may be missing on one.
    std::fprintf(stderr, "digits: %s\n", error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return good ? 0 : 1;
}
