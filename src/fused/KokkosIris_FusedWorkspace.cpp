// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include <fused/KokkosIris_FusedWorkspace.hpp>

namespace KokkosIris {
namespace Impl {

const char* to_string(FusedOperation operation) noexcept {
  switch (operation) {
    case FusedOperation::matmul_all_reduce:
      return "matmul_all_reduce";
    case FusedOperation::all_gather_matmul:
      return "all_gather_matmul";
    case FusedOperation::matmul_all_gather:
      return "matmul_all_gather";
    case FusedOperation::matmul_reduce_scatter:
      return "matmul_reduce_scatter";
  }
  return "none";
}

const char* to_string(TileEngine engine) noexcept {
  switch (engine) {
    case TileEngine::automatic:
      return "automatic";
    case TileEngine::packed:
      return "packed";
    case TileEngine::blas:
      return "blas";
    case TileEngine::portable:
      return "portable";
    case TileEngine::sm90:
      return "sm90";
    case TileEngine::mfma:
      return "mfma";
    case TileEngine::sm80:
      return "sm80";
  }
  return "none";
}

}  // namespace Impl

std::string FusedWorkspace::operation() const {
  return m_state ? Impl::to_string(m_state->signature.operation) : "none";
}

std::string FusedWorkspace::engine() const {
  return m_state ? Impl::to_string(m_state->signature.engine) : "none";
}

}  // namespace KokkosIris
