// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include <mpi.h>

#include <KokkosIris.hpp>
#include <cstdio>

int main(int argc, char* argv[]) {
  MPI_Init(&argc, &argv);
  bool good = false;
  {
    Kokkos::ScopeGuard guard(argc, argv);
    KokkosIris::Context ctx(MPI_COMM_WORLD);    // collective; any communicator
    auto A = ctx.ones<double**>("A", 100, 50);  // on every rank, within reach of every rank
    auto B = ctx.ones<double**>("B", 50, 70);
    auto C = ctx.zeros<double**>("C", 100, 70);
    auto count = ctx.zeros<int>("count");

    const int next = (ctx.rank() + 1) % ctx.size();
    const auto d = ctx.device();  // for kernels, by value
    Kokkos::parallel_for(
        100, KOKKOS_LAMBDA(int i) {
          A.peer(next)(i, 0) = 2.0;  // a stock Kokkos::View on the neighbour's memory
          KokkosIris::atomic_add(d, &count(), 1, next);
        });
    ctx.barrier();  // everybody sees what everybody did

    KokkosIris::matmul_all_reduce(ctx, C, A, B);  // C = sum of all ranks' A B, in one kernel

    good = count() == 100 && C(99, 69) == 51.0 * ctx.size();
    if (ctx.rank() == 0) std::printf("%d ranks: %s\n", ctx.size(), good ? "good" : "wrong");
  }
  MPI_Finalize();
  return good ? 0 : 1;
}
