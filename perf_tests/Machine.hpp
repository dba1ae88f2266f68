// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// What the measurements ran on and with.

#ifndef KOKKOSIRIS_BENCH_MACHINE_HPP
#define KOKKOSIRIS_BENCH_MACHINE_HPP

#include <Record.hpp>
#include <string>

namespace Bench {

/// Needs running MPI.
/// \param own_command the program's own command line; mpiexec's is taken where that started it
Surroundings surroundings(const std::string& own_command);

/// Adds the GPU and the versions of its driver and runtime; in builds with a GPU backend only.
void describe_gpus(Surroundings& surroundings);

/// Name of the BLAS library and of the kernels it chose, or "unknown".
std::string blas_name();

/// True if the processor says that it has instructions for bfloat16 products.
bool has_bfloat16_products();

}  // namespace Bench

#endif
