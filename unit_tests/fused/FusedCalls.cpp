// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include <FusedCallsImpl.hpp>
#include <cstdlib>

namespace Test {

FusedWorkspace call_fused(Element element, Space space, FusedOperation operation,
                          HostContext& context, const Operand& c, const Operand& a,
                          const Operand& b, const Arguments& arguments) {
  const bool serial = space == Space::serial;
  Call* call = nullptr;
  switch (element) {
    case Element::f64:
      call = serial ? call_double : nullptr;
      break;
    case Element::f32:
      call = serial ? call_float : call_float_parallel;
      break;
    case Element::f16:
      call = serial ? call_half : call_half_parallel;
      break;
    case Element::bf16:
      call = serial ? call_bfloat16 : nullptr;
      break;
  }
  if (call == nullptr) std::abort();  // the test asks for what has() denies
  return call(space, operation, context, c, a, b, arguments);
}

void fence(Space space) {
#ifdef KOKKOS_ENABLE_SERIAL
  if (space == Space::serial) return Kokkos::Serial().fence("test");
#endif
  if (space == Space::parallel) Kokkos::DefaultHostExecutionSpace().fence("test");
}

}  // namespace Test
