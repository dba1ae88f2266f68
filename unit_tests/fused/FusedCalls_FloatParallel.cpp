// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include <FusedCallsImpl.hpp>

namespace Test {

FusedWorkspace call_float_parallel(Space space, FusedOperation operation, HostContext& context,
                                   const Operand& c, const Operand& a, const Operand& b,
                                   const Arguments& arguments) {
  return call_parallel<float>(space, operation, context, c, a, b, arguments);
}

}  // namespace Test
