// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// What fused and collective operations have in common once their workspace is there: the launch of
/// the kernel and the end of the call.

#ifndef KOKKOSIRIS_OPERATION_RUN_HPP
#define KOKKOSIRIS_OPERATION_RUN_HPP

#include <Kokkos_Core.hpp>
#include <core/KokkosIris_Error.hpp>
#include <exception>
#include <heap/KokkosIris_Context.hpp>
#include <string>

namespace KokkosIris::Impl {

/// Launches a kernel of teams on a GPU. Its data travels with the launch and not through Kokkos'
/// one buffer in constant memory, for which the host would wait until the kernel before has ended,
/// and which a captured launch cannot use.
template <class Policy, class Kernel>
void launch_with_data(const std::string& label, const Policy& policy, const Kernel& kernel) {
  using Property = Kokkos::Experimental::WorkItemProperty;
  Kokkos::parallel_for(label, Kokkos::Experimental::require(policy, Property::HintLightWeight),
                       kernel);
}

/// Calls launch(), which enqueues the kernel; then, without `async_op`, waits for it and for the
/// other ranks. Every rank does so whose workspace is prepared.
/// \throws Error on all ranks if the launch fails, or the error of a rank that failed
template <bool Host, class ExecutionSpace, class MemorySpace, class Launch>
void run_operation(const ExecutionSpace& exec, Context<MemorySpace>& context, const char* name,
                   bool async_op, const Launch& launch) {
  try {
    launch();
  } catch (const std::exception& error) {
    // The other ranks are in their kernels, waiting for this one.
    context.runtime().fail(ErrorCode::system, name, std::string("no launch: ") + error.what());
  }
  if (!async_op) {
    exec.fence(std::string("KokkosIris::") + name);
    context.runtime().check(name);
    context.state().barrier(name);
  } else if (Host) {
    context.runtime().check(name);
  }
}

}  // namespace KokkosIris::Impl

#endif
