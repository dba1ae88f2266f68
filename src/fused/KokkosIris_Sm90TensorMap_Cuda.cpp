// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include <core/KokkosIris_Error.hpp>
#include <core/KokkosIris_GpuRuntime.hpp>
#include <fused/arch/sm90/KokkosIris_Sm90TensorMap.hpp>
#include <string>

namespace KokkosIris::Impl::Sm90 {
namespace {

constexpr std::int64_t unit = 8;  ///< elements in 16 bytes
/// Of cuTensorMapEncodeTiled.
constexpr std::int64_t largest_extent = std::int64_t(1) << 31;
constexpr std::int64_t largest_pitch = std::int64_t(1) << 38;

using Encode = decltype(&cuTensorMapEncodeTiled);

}  // namespace

std::optional<Mappable> mappable(const MatrixRef<const std::uint16_t>& m) {
  if (reinterpret_cast<std::uintptr_t>(m.data) % 16 != 0) return {};
  if (m.rows >= largest_extent || m.cols >= largest_extent) return {};
  auto* const data = const_cast<std::uint16_t*>(m.data);
  const auto try_order = [&](bool column_major) -> std::optional<Mappable> {
    const std::int64_t inner = column_major ? m.rows : m.cols;
    const std::int64_t outer = column_major ? m.cols : m.rows;
    const std::int64_t step = column_major ? m.row_stride : m.col_stride;
    // Strides of extents of 1 mean nothing.
    const std::int64_t pitch =
        outer == 1 ? round_up(inner, unit) : (column_major ? m.col_stride : m.row_stride);
    const bool good = (step == 1 || inner == 1) && pitch % unit == 0 && pitch >= inner &&
                      pitch <= largest_pitch / outer;
    if (!good) return {};
    return Mappable{data, column_major, inner, outer, pitch, 1, pitch * outer};
  };
  const auto by_rows = try_order(false);
  return by_rows ? by_rows : try_order(true);
}

std::optional<Mappable> mappable_parts(const MatrixRef<const std::uint16_t>& m, int parts,
                                       bool along_rows) {
  auto map = mappable(m);
  if (!map || parts == 1) return map;
  map->parts = parts;
  // Parts are cut across the dimension of adjacent elements, or along it.
  if (along_rows == map->column_major) {
    map->inner /= parts;
    map->part_pitch = map->inner;
  } else {
    map->outer /= parts;
    map->part_pitch = map->outer * map->pitch;
  }
  return map->part_pitch % unit == 0 ? map : std::nullopt;
}

CUtensorMap encode_map(const Mappable& m, int box_outer, bool is_half, int rank) {
  static const auto encode =
      reinterpret_cast<Encode>(find_driver_function("cuTensorMapEncodeTiled"));
  CUtensorMap map{};
  const cuuint64_t extents[] = {static_cast<cuuint64_t>(m.inner), static_cast<cuuint64_t>(m.outer),
                                static_cast<cuuint64_t>(m.parts)};
  const cuuint64_t pitches[] = {static_cast<cuuint64_t>(2 * m.pitch),
                                static_cast<cuuint64_t>(2 * m.part_pitch)};
  const cuuint32_t box[] = {64, static_cast<cuuint32_t>(box_outer), 1};
  const cuuint32_t steps[] = {1, 1, 1};
  const CUresult result =
      encode == nullptr
          ? CUDA_ERROR_NOT_FOUND
          : encode(&map,
                   is_half ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16 : CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 3,
                   m.data, extents, pitches, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
                   CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                   CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS) {
    throw_error(ErrorCode::system, rank, "fused operation",
                "cuTensorMapEncodeTiled failed with " + std::to_string(result) + " for extents " +
                    std::to_string(m.inner) + " x " + std::to_string(m.outer) + " x " +
                    std::to_string(m.parts) + ", pitch " + std::to_string(m.pitch) +
                    "; KOKKOSIRIS_ENGINE=portable does without");
  }
  return map;
}

}  // namespace KokkosIris::Impl::Sm90
