// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// Heat in a square plate of 192 x 192 cells with one hot edge. Each rank computes some of the rows
/// and puts its outermost ones into its neighbours' memory, each with a signal that says so.

#include <mpi.h>

#include <KokkosIris.hpp>
#include <Kokkos_Core.hpp>
#include <cmath>
#include <cstdio>
#include <utility>

using Space = Kokkos::DefaultExecutionSpace;
using Context = KokkosIris::Context<Space::memory_space>;
using Plate = Context::view_type<double**, Kokkos::LayoutRight>;
using Rows = Context::view_type<double*>;

constexpr int cells = 192;  // in each direction
constexpr int steps = 400;

/// next = now after one explicit time step; change(i) = sum of the squared changes in row i.
void advance(const Space& space, const Plate& now, const Plate& next, const Rows& change) {
  Kokkos::parallel_for(
      "advance", Kokkos::RangePolicy<Space>(space, 1, change.extent_int(0) + 1),
      KOKKOS_LAMBDA(int i) {
        double sum = 0.0;
        for (int j = 1; j <= cells; ++j) {
          const double d = 0.2 * (now(i - 1, j) + now(i + 1, j) + now(i, j - 1) + now(i, j + 1) -
                                  4.0 * now(i, j));
          next(i, j) = now(i, j) + d;
          sum += d * d;
        }
        change(i - 1) = sum;
      });
}

/// Root of the sum of squared changes in the last step; the same bits for every number of ranks,
/// because rows are added in the order of the plate.
double simulate(Context& ctx) {
  const Space space;
  const int rows = cells / ctx.size();
  const int above = ctx.rank() - 1;
  const int below = ctx.rank() + 1;
  // Rows 0 and rows + 1 belong to the neighbours or, like columns 0 and cells + 1, to the edge.
  auto now = ctx.zeros<double**, Kokkos::LayoutRight>("now", rows + 2, cells + 2);
  auto next = ctx.zeros<double**, Kokkos::LayoutRight>("next", rows + 2, cells + 2);
  const auto row = [](const Plate& plate, int i) { return Kokkos::subview(plate, i, Kokkos::ALL); };
  if (ctx.rank() == 0) {
    Kokkos::deep_copy(row(now, 0), 1.0);
    Kokkos::deep_copy(row(next, 0), 1.0);
  }
  const auto change = ctx.zeros<double*>("change", rows);
  const auto from_above = ctx.zeros<KokkosIris::signal_t>("from_above");
  const auto from_below = ctx.zeros<KokkosIris::signal_t>("from_below");
  using KokkosIris::reached, KokkosIris::signal_set;

  for (KokkosIris::signal_t time = 1; time <= steps; ++time) {
    advance(space, now, next, change);
    // The neighbour has finished the step before (it would not have signalled that otherwise), so
    // it does not read its `next` any more.
    if (above >= 0) {
      put_signal(space, ctx, row(next, rows + 1), row(next, 1), from_below, time, signal_set,
                 above);
    }
    if (below < ctx.size()) {
      put_signal(space, ctx, row(next, 0), row(next, rows), from_above, time, signal_set, below);
    }
    if (above >= 0) wait_until(space, ctx, from_above, reached, time);
    if (below < ctx.size()) wait_until(space, ctx, from_below, reached, time);
    std::swap(now, next);
  }

  ctx.barrier();
  double sum = 0.0;
  for (int rank = 0; rank < ctx.size(); ++rank) {
    const auto theirs = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), change.peer(rank));
    for (int i = 0; i < rows; ++i) sum += theirs(i);
  }
  return std::sqrt(sum);
}

int main(int argc, char* argv[]) {
  MPI_Init(&argc, &argv);
  {
    const Kokkos::ScopeGuard guard(argc, argv);
    Context ctx(MPI_COMM_WORLD, {.heap_size = std::size_t(64) << 20});
    if (cells % ctx.size() != 0) Kokkos::abort("halo: the number of ranks must divide 192");
    const double residual = simulate(ctx);
    if (ctx.rank() == 0) std::printf("halo: ranks=%d residual=%.16e\n", ctx.size(), residual);
  }
  MPI_Finalize();
}
