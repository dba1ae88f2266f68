// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// The fused operations beside the same work in two steps.

#ifndef KOKKOSIRIS_EXAMPLE_COMPARISON_HPP
#define KOKKOSIRIS_EXAMPLE_COMPARISON_HPP

#include "Inference.hpp"

/// Measures each fused operation in float on one larger shape beside a product (of the BLAS library
/// if the build has one, else of plain loops) and the MPI collective. The two are run in turn, in
/// the same process on the same data, and their results are compared. Rank 0 prints a table of
/// medians, each that of the slowest rank. Collective; takes seconds. \throws std::runtime_error if
/// the results differ by more than rounding
void compare_with_mpi(Context& context);

#endif
