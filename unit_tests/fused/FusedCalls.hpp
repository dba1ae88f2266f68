// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// The fused operations without template parameters: the tests choose element type, execution space
/// and strides at run time, and the many instantiations are compiled once (FusedCalls_*.cpp).

#ifndef KOKKOSIRIS_TEST_FUSED_CALLS_HPP
#define KOKKOSIRIS_TEST_FUSED_CALLS_HPP

#include <Kokkos_Core.hpp>
#include <cstdint>
#include <fused/KokkosIris_FusedOptions.hpp>
#include <heap/KokkosIris_Context.hpp>

namespace Test {

using HostContext = KokkosIris::Context<Kokkos::HostSpace>;
using KokkosIris::BiasAxis;
using KokkosIris::FusedConfig;
using KokkosIris::FusedWorkspace;
using KokkosIris::TileEngine;
using KokkosIris::Impl::FusedOperation;

enum class Element { f64, f32, f16, bf16 };

/// Where a call runs: all threads of the default host instance, one thread of it (an instance from
/// partition_space), or Serial. Where a build has no Serial, `serial` is as `part`.
enum class Space { serial, parallel, part };

/// A matrix anywhere in memory; strides in elements.
struct Operand {
  void* data = nullptr;
  std::int64_t rows = 0, cols = 0;
  std::int64_t row_stride = 0, col_stride = 0;
};

/// What FusedOptions<T> says, without T.
struct Arguments {
  BiasAxis bias_axis = BiasAxis::none;
  const void* bias = nullptr;
  std::int64_t bias_size = 0;
  std::int64_t bias_stride = 1;
  bool async_op = false;
  FusedConfig config = {};
  FusedWorkspace workspace = {};
};

/// Calls the operation with Views of LayoutStride on the operands.
FusedWorkspace call_fused(Element element, Space space, FusedOperation operation,
                          HostContext& context, const Operand& c, const Operand& a,
                          const Operand& b, const Arguments& arguments);

/// Waits for what call_fused() has launched.
void fence(Space space);

/// The combinations of type and space that are compiled: Serial for all types, the default host
/// space for float and half.
inline bool has(Element element, Space space) {
  return space == Space::serial || element == Element::f32 || element == Element::f16;
}

}  // namespace Test

#endif
