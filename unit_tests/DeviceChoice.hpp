// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// Which GPU a rank of a test uses: the ranks of a node take turns, so that any number of ranks
/// runs on any number of GPUs.

#ifndef KOKKOSIRIS_DEVICE_CHOICE_HPP
#define KOKKOSIRIS_DEVICE_CHOICE_HPP

#include <mpi.h>

#include <Kokkos_Core.hpp>
#include <core/KokkosIris_GpuSpace.hpp>

namespace Test {

/// Rank among the processes of MPI_COMM_WORLD on this node. Collective.
inline int node_rank() {
  MPI_Comm node = MPI_COMM_NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  int rank = 0;
  MPI_Comm_rank(node, &rank);
  MPI_Comm_free(&node);
  return rank;
}

inline Kokkos::InitializationSettings kokkos_settings([[maybe_unused]] int node_rank) {
  Kokkos::InitializationSettings settings;
#ifdef KOKKOSIRIS_IMPL_HAS_GPU
  if (Kokkos::num_devices() > 0) settings.set_device_id(node_rank % Kokkos::num_devices());
#endif
  return settings;
}

}  // namespace Test

#endif
