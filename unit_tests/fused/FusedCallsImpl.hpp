// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// How FusedCalls.hpp reaches the library for one element type and execution space.

#ifndef KOKKOSIRIS_TEST_FUSED_CALLS_IMPL_HPP
#define KOKKOSIRIS_TEST_FUSED_CALLS_IMPL_HPP

#include <FusedCalls.hpp>
#include <fused/KokkosIris_Matmul.hpp>

namespace Test {

template <class T, class MemorySpace>
auto view_of(const Operand& operand) {
  const auto size = [](std::int64_t value) { return static_cast<std::size_t>(value); };
  return Kokkos::View<T**, Kokkos::LayoutStride, MemorySpace,
                      Kokkos::MemoryTraits<Kokkos::Unmanaged>>(
      static_cast<T*>(operand.data),
      Kokkos::LayoutStride(size(operand.rows), size(operand.row_stride), size(operand.cols),
                           size(operand.col_stride)));
}

template <class T, class ExecutionSpace, class MemorySpace>
FusedWorkspace call_on(const ExecutionSpace& exec, FusedOperation operation,
                       KokkosIris::Context<MemorySpace>& context, const Operand& c,
                       const Operand& a, const Operand& b, const Arguments& arguments) {
  KokkosIris::FusedOptions<T> options;
  options.bias.data = static_cast<const T*>(arguments.bias);
  options.bias.size = arguments.bias_size;
  options.bias.stride = arguments.bias_stride;
  options.bias.axis = arguments.bias_axis;
  options.async_op = arguments.async_op;
  options.config = arguments.config;
  options.workspace = arguments.workspace;
  const auto c_view = view_of<T, MemorySpace>(c);
  const auto a_view = view_of<const T, MemorySpace>(a);
  const auto b_view = view_of<const T, MemorySpace>(b);
  switch (operation) {
    case FusedOperation::matmul_all_reduce:
      return matmul_all_reduce(exec, context, c_view, a_view, b_view, options);
    case FusedOperation::matmul_reduce_scatter:
      return matmul_reduce_scatter(exec, context, c_view, a_view, b_view, options);
    case FusedOperation::all_gather_matmul:
      return all_gather_matmul(exec, context, c_view, a_view, b_view, options);
    case FusedOperation::matmul_all_gather:
      break;
  }
  return matmul_all_gather(exec, context, c_view, a_view, b_view, options);
}

/// One function for each of FusedCalls_<type>.cpp and FusedCalls_<type>Parallel.cpp.
using Call = FusedWorkspace(Space, FusedOperation, HostContext&, const Operand& c, const Operand& a,
                            const Operand& b, const Arguments&);
Call call_double, call_float, call_half, call_bfloat16, call_float_parallel, call_half_parallel;

/// One thread of the default host instance. It cannot be parted if it has no more than that.
inline Kokkos::DefaultHostExecutionSpace one_thread() {
  const Kokkos::DefaultHostExecutionSpace all;
  return all.concurrency() > 1 ? Kokkos::Experimental::partition_space(all, 1, 1)[0]
                               : Kokkos::Experimental::partition_space(all, 1)[0];
}

template <class T>
FusedWorkspace call_serial(FusedOperation operation, HostContext& context, const Operand& c,
                           const Operand& a, const Operand& b, const Arguments& arguments) {
#ifdef KOKKOS_ENABLE_SERIAL
  return call_on<T>(Kokkos::Serial(), operation, context, c, a, b, arguments);
#else
  return call_on<T>(one_thread(), operation, context, c, a, b, arguments);
#endif
}

template <class T>
FusedWorkspace call_parallel(Space space, FusedOperation operation, HostContext& context,
                             const Operand& c, const Operand& a, const Operand& b,
                             const Arguments& arguments) {
  if (space == Space::parallel) {
    return call_on<T>(Kokkos::DefaultHostExecutionSpace(), operation, context, c, a, b, arguments);
  }
  const auto exec = one_thread();
  auto workspace = call_on<T>(exec, operation, context, c, a, b, arguments);
  exec.fence("end of the instance");
  return workspace;
}

}  // namespace Test

#endif
