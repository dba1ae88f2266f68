// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// requires: fused blas

#include <Fused.hpp>

namespace Bench {
namespace {

const Suite suite(40, &measure_fused<float>);

}  // namespace
}  // namespace Bench
