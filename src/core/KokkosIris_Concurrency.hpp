// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// How many threads of an execution space instance run at the same time.

#ifndef KOKKOSIRIS_CONCURRENCY_HPP
#define KOKKOSIRIS_CONCURRENCY_HPP

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <core/KokkosIris_GpuSpace.hpp>
#include <cstdint>

namespace KokkosIris::Impl {

/// Threads of a kernel on `exec` that run at the same time.
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

/// Teams of a kernel on `exec` that run at once, whatever the kernel is, so that they may wait for
/// each other: on a GPU one a multiprocessor, which holds any team that can be launched; on the
/// host one a thread.
/// \param ranks how many ranks run such a kernel on the same GPU, whose teams wait for those of
///        this one: where they do not take turns each gets its part of the multiprocessors
template <class ExecutionSpace>
std::int64_t resident_teams(const ExecutionSpace& exec, [[maybe_unused]] int ranks = 1) {
  if constexpr (is_gpu_space_v<ExecutionSpace>) {
    const std::int64_t all = gpu_multiprocessors(exec);
    return gpu_processes_take_turns ? all : std::max<std::int64_t>(all / ranks, 1);
  } else {
    return concurrency_of(exec);
  }
}

}  // namespace KokkosIris::Impl

#endif
