// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// The cells of the fused operations on two GPUs: which shapes, and what is to be reached.

#ifndef KOKKOSIRIS_BENCH_GPU_FUSED_SHAPES_HPP
#define KOKKOSIRIS_BENCH_GPU_FUSED_SHAPES_HPP

#include <GpuFusedLibrary.hpp>
#include <Record.hpp>
#include <algorithm>
#include <vector>

namespace Bench {

enum class FusedOp { gemm, all_reduce, reduce_scatter, all_gather_matmul, matmul_all_gather };

inline constexpr FusedOp all_fused_ops[] = {FusedOp::gemm, FusedOp::all_reduce,
                                            FusedOp::reduce_scatter, FusedOp::all_gather_matmul,
                                            FusedOp::matmul_all_gather};

constexpr const char* to_string(FusedOp op) {
  constexpr const char* names[] = {"gemm", "matmul_all_reduce", "matmul_reduce_scatter",
                                   "all_gather_matmul", "matmul_all_gather"};
  return names[static_cast<int>(op)];
}

/// Extents of one rank's product. For all_gather_matmul k is that of all shards together, for
/// matmul_all_gather m is what one rank contributes.
struct GpuShape {
  int m, n, k;
  bool operator==(const GpuShape&) const = default;
};

/// All combinations.
struct ShapeGrid {
  std::vector<int> m, n, k;
};

inline ShapeGrid grid_of(FusedOp op) {
  switch (op) {
    case FusedOp::gemm:
    case FusedOp::all_reduce:
    case FusedOp::reduce_scatter:
      return {.m = {1, 16, 64, 128, 512, 2048, 4096, 8192},
              .n = {4096, 8192},
              .k = {1024, 3584, 4096, 8192, 14336}};
    case FusedOp::all_gather_matmul:
      return {
          .m = {128, 1024, 2048, 4096, 8192}, .n = {3584, 4096, 14336}, .k = {4096, 8192, 16384}};
    case FusedOp::matmul_all_gather:
      return {.m = {64, 512, 1024, 2048, 4096}, .n = {4096, 8192}, .k = {4096, 8192}};
  }
  return {};
}

/// True if the bytes of rows are not a multiple of 16.
constexpr bool is_unaligned(GpuShape shape) { return shape.n % 8 != 0 || shape.k % 8 != 0; }

/// \param bytes of an element: wide ones have no wide range of shapes
inline std::vector<GpuShape> shapes_of(FusedOp op, int bytes, bool quick) {
  if (quick) return {{16, 256, 256}, {256, 512, 512}, {255, 254, 510}};
  std::vector<GpuShape> shapes;
  if (bytes > 2) {
    for (const int size : {1024, 2048, 4096, 8192}) shapes.push_back({size, size, size});
    shapes.push_back({2048, 8192, 4096});
    shapes.push_back({4095, 4094, 8190});
    return shapes;
  }
  const ShapeGrid grid = grid_of(op);
  for (const int m : grid.m) {
    for (const int n : grid.n) {
      for (const int k : grid.k) shapes.push_back({m, n, k});
    }
  }
  for (const int size : {1024, 2048, 4096, 8192, 16384}) {
    const GpuShape square = {size, size, size};
    if (std::find(shapes.begin(), shapes.end(), square) == shapes.end()) shapes.push_back(square);
  }
  // Unaligned; for reduce_scatter and all_gather_matmul the halves have odd leading dimensions.
  shapes.push_back({4095, 4094, 8190});
  return shapes;
}

/// Bytes that a rank of two must send.
inline double sent_bytes(FusedOp op, int bytes, GpuShape shape) {
  switch (op) {
    case FusedOp::gemm:
      return 0.0;
    case FusedOp::all_reduce:
    case FusedOp::matmul_all_gather:
      return 1.0 * bytes * shape.m * shape.n;
    case FusedOp::reduce_scatter:
      return 1.0 * bytes * shape.m * shape.n / 2;
    case FusedOp::all_gather_matmul:
      return 1.0 * bytes * shape.m * shape.k / 2;
  }
  return 0.0;
}

/// Time over ideal that a fused operation may take at most.
struct IdealLimits {
  double large;   ///< GEMM of 1 ms and more
  double medium;  ///< GEMM of 0.3 ms and more
  double small;   ///< shorter ones of 512 to 2048 rows
};

inline IdealLimits ideal_limits(FusedOp op) {
  switch (op) {
    case FusedOp::gemm:
      break;
    case FusedOp::all_reduce:
      return {1.02, 1.10, 1.33};
    case FusedOp::reduce_scatter:
      return {1.01, 1.05, 1.05};
    case FusedOp::all_gather_matmul:
      return {1.01, 1.00, 1.05};
    case FusedOp::matmul_all_gather:
      return {1.02, 1.08, 1.23};
  }
  return {};
}

/// \param gemm_us time of cuBLAS' GEMM
inline Target gpu_fused_target(FusedOp op, Element element, GpuShape shape, double gemm_us) {
  if (bytes_of(element) > 2) {
    if (op == FusedOp::gemm) return shape.m >= 4096 ? Target::speedup(0.9) : Target{};
    return shape.m >= 4096 && !is_unaligned(shape) ? Target::speedup(1.0).within_ideals(1.08)
                                                   : Target::speedup(0.95);
  }
  if (op == FusedOp::gemm) {
    if (shape.m <= 128) return Target::speedup(0.9);
    return shape.m >= 512 ? Target::speedup(0.93) : Target{};
  }
  if (is_unaligned(shape)) return Target::speedup(0.95);
  // A decode step.
  if (shape.m <= 128) return Target::ratio(0.97);
  const IdealLimits limits = ideal_limits(op);
  const Target target = Target::speedup(1.0);
  if (gemm_us >= 1000.0) return target.within_ideals(limits.large);
  if (gemm_us >= 300.0) return target.within_ideals(limits.medium);
  return shape.m >= 512 && shape.m <= 2048 ? target.within_ideals(limits.small) : target;
}

}  // namespace Bench

#endif
