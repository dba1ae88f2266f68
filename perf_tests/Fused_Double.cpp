// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// requires: fused blas

#include <Fused.hpp>

namespace Bench {
namespace {

const Suite suite(41, &measure_fused<double>);

}  // namespace
}  // namespace Bench
