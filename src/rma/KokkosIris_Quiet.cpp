// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include <rma/KokkosIris_Quiet.hpp>

namespace KokkosIris::Impl {

void throw_given_up(Runtime& runtime, const char* operation) {
  runtime.check(operation);
  throw_error(ErrorCode::peer_failed, runtime.rank(), operation,
              "given up because of the error that was reported before; go on with the next "
              "collective call, or destroy the context");
}

}  // namespace KokkosIris::Impl
