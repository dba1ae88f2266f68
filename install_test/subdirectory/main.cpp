// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include <mpi.h>

#include <KokkosIris.hpp>

int main(int argc, char* argv[]) {
  MPI_Init(&argc, &argv);
  {
    Kokkos::ScopeGuard guard(argc, argv);
    KokkosIris::Context ctx(MPI_COMM_WORLD);
    ctx.barrier();
  }
  MPI_Finalize();
}
