// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// Matrices of 16-bit elements as the copy hardware takes them.

#ifndef KOKKOSIRIS_SM90_TENSOR_MAP_HPP
#define KOKKOSIRIS_SM90_TENSOR_MAP_HPP

#include <cuda.h>

#include <cstdint>
#include <fused/KokkosIris_Matrix.hpp>
#include <optional>

namespace KokkosIris::Impl::Sm90 {

/// A matrix, or several of the same extents, whose elements are adjacent along one dimension.
struct Mappable {
  void* data;
  bool column_major;            ///< adjacent along columns, that is from row to row
  std::int64_t inner, outer;    ///< extents along and across that dimension
  std::int64_t pitch;           ///< elements between neighbours across it
  std::int64_t parts = 1;       ///< number of matrices
  std::int64_t part_pitch = 0;  ///< elements between them
};

/// How the copy hardware can take a matrix, or nothing if it cannot: elements are adjacent along
/// one dimension, and everything else lies at multiples of 16 bytes.
std::optional<Mappable> mappable(const MatrixRef<const std::uint16_t>& matrix);

/// The same of a matrix that is cut into equal parts: along its rows or along its columns.
std::optional<Mappable> mappable_parts(const MatrixRef<const std::uint16_t>& matrix, int parts,
                                       bool along_rows);

/// The descriptor for boxes of 64 elements along and `box_outer` across, in rows of 128 bytes with
/// the 128-byte swizzle.
/// \param is_half half_t, else bhalf_t
/// \param rank for the text of errors
/// \throws Error (system)
CUtensorMap encode_map(const Mappable& matrix, int box_outer, bool is_half, int rank);

}  // namespace KokkosIris::Impl::Sm90

#endif
