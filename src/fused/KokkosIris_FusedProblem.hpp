// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// The arguments of a fused operation without their types: what is legal, and agreeing on it.

#ifndef KOKKOSIRIS_FUSED_PROBLEM_HPP
#define KOKKOSIRIS_FUSED_PROBLEM_HPP

#include <core/KokkosIris_HalfTypes.hpp>
#include <core/KokkosIris_Runtime.hpp>
#include <cstdint>
#include <fused/KokkosIris_FusedOptions.hpp>
#include <fused/KokkosIris_FusedWorkspace.hpp>
#include <string>
#include <type_traits>

namespace KokkosIris::Impl {

/// An operand as error messages and checks need it.
struct OperandDescription {
  std::string label;
  const char* data;
  std::int64_t rows, cols;
  std::int64_t row_stride, col_stride;
  std::int64_t element_bytes;
  bool symmetric;
};

/// Number of an element type in problems and signatures.
template <class T>
constexpr std::int32_t element_number() {
  if constexpr (std::is_same_v<T, double>) return 0;
  if constexpr (std::is_same_v<T, float>) return 1;
  if constexpr (std::is_same_v<T, half_t>) return 2;
  return 3;
}

struct FusedProblem {
  FusedOperation operation;
  int ranks;
  OperandDescription c, a, b;
  BiasAxis bias_axis;
  std::int64_t bias_size;
  std::int32_t element;  ///< number of the element type
  const void* bias_data = nullptr;
  std::int64_t bias_stride = 1;

  /// Of one rank's product: for all_gather_matmul K is that of the gathered operand.
  std::int64_t m() const { return a.rows; }
  std::int64_t n() const { return b.cols; }
  std::int64_t k() const { return b.rows; }
};

/// Why the arguments are illegal, with sizes and what to do; empty if they are legal.
std::string find_fault(const FusedProblem& problem);

/// The axis of a bias that find_fault() has accepted.
BiasAxis resolve_bias_axis(const FusedProblem& problem);

/// What is there for a call.
struct EngineChoice {
  bool host = false;  ///< the backend is a host backend
  bool sm90 = false;  ///< the engine of Hopper GPUs can serve
  bool sm80 = false;  ///< the engine of NVIDIA GPUs from compute capability 8.0 on is there
  bool mfma = false;  ///< the engine of AMD's matrix cores is there, on host backends emulated
};

/// The engine that serves a call.
/// \param fault receives why the requested engine, or KOKKOSIRIS_ENGINE, cannot serve, if so
TileEngine choose_engine(TileEngine requested, const EngineChoice& choice,
                         std::int64_t largest_extent, std::string& fault);

/// Collective: all ranks come with their signature and their fault, if they found one.
/// \return the largest number of teams of any rank
/// \throws Error on all ranks: (`code`) if one has a fault, (mismatch) if signatures differ; names
///         the rank, the operation and the sizes
std::int64_t agree_on_call(Runtime& runtime, const FusedSignature& signature, std::int64_t teams,
                           const std::string& fault, ErrorCode code = ErrorCode::invalid_argument);

}  // namespace KokkosIris::Impl

#endif
