// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// How many threads of an execution space instance run at the same time.

#ifndef KOKKOSIRIS_CONCURRENCY_HPP
#define KOKKOSIRIS_CONCURRENCY_HPP

#include <Kokkos_Core.hpp>
#include <cstdint>

namespace KokkosIris::Impl {

/// Threads, or teams of a device, of a kernel on `exec` that run at once: those may wait for each
/// other.
///
/// Where Kokkos has its deprecated code, OpenMP's concurrency() is a static function that means the
/// default instance unless it is given another.
template <class ExecutionSpace>
std::int64_t concurrency_of(const ExecutionSpace& exec) {
  if constexpr (requires { ExecutionSpace::concurrency(exec); }) {
    return ExecutionSpace::concurrency(exec);
  } else {
    return exec.concurrency();
  }
}

}  // namespace KokkosIris::Impl

#endif
