// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// Conversion of arrays between the 16-bit types and float, as fast as the processor can: the
/// baseline of the 16-bit types converts, computes in float, and converts back.

#ifndef KOKKOSIRIS_BENCH_CONVERSION_HPP
#define KOKKOSIRIS_BENCH_CONVERSION_HPP

#include <core/KokkosIris_HalfTypes.hpp>
#include <cstddef>

namespace Bench {

void convert(const KokkosIris::bhalf_t* from, float* to, std::size_t count);
void convert(const float* from, KokkosIris::bhalf_t* to, std::size_t count);
void convert(const KokkosIris::half_t* from, float* to, std::size_t count);
void convert(const float* from, KokkosIris::half_t* to, std::size_t count);

}  // namespace Bench

#endif
