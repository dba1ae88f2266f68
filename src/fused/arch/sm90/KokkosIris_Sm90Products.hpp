// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// The part of the warpgroups that compute which is common to all kinds of tiles: products of
/// stages in registers.

#ifndef KOKKOSIRIS_SM90_PRODUCTS_HPP
#define KOKKOSIRIS_SM90_PRODUCTS_HPP

#include <cstdint>
#include <fused/arch/sm90/KokkosIris_Sm90Arguments.hpp>
#include <fused/arch/sm90/KokkosIris_Sm90Barrier.hpp>
#include <fused/arch/sm90/KokkosIris_Sm90Matrices.hpp>
#include <fused/arch/sm90/KokkosIris_Sm90Wgmma.hpp>

namespace KokkosIris::Impl::Sm90 {

/// For Products::accumulate() where there is nothing to do meanwhile.
struct Nothing {
  __device__ void operator()() const {}
};

/// One of the two consumer warpgroups, each with half of the rows of a tile; all its threads call.
///
/// A thread's sums: for each group j of 8 columns of the tile, in sums[4 j] and sums[4 j + 1] those
/// of upper_row() and the columns 8 j + column_in_group() and the next, in sums[4 j + 2] and sums[4
/// j + 3] those of the row 8 further down.
template <class T, int Columns, bool TransposedA, bool TransposedB, bool Small>
struct Products {
  using Layout = SharedLayout<Columns, Small>;

  const Arguments& arguments;
  SharedAddress shared;
  int half;    ///< of the tile: 0 or 1
  int thread;  ///< in the warpgroup
  RingShape ring = Layout::ring(arguments.small_ring);
  RingPosition position{0};  ///< of the first stage of the tile

  __device__ int warp() const { return thread / 32; }
  __device__ int lane() const { return thread % 32; }
  __device__ int upper_row_in_half() const { return warp() * 16 + lane() / 4; }
  /// In the product, of a tile.
  __device__ int upper_row(const Task& task) const {
    return task.row + half * half_rows + upper_row_in_half();
  }
  __device__ int column_in_group() const { return 2 * (lane() % 4); }

  /// Adds the products of `count` stages from `at` on, of which this warpgroup takes every
  /// `Step`-th, to the sums; where it takes every one, they begin as zero. The stage before is
  /// released when its products are complete, while the next ones run.
  /// \param row_half of the rows of A
  /// \param meanwhile called while the last products run
  template <int Step, class Meanwhile = Nothing>
  __device__ __forceinline__ void accumulate(float (&sums)[Columns / 2], RingPosition at,
                                             int row_half, int count,
                                             const Meanwhile& meanwhile = {}) const {
    constexpr int half_bytes = half_rows * block_k * 2;
    const RingShape shape = ring;  // in registers
    const SharedAddress first_a = shared + row_half * half_bytes, first_b = shared + shape.a_bytes;
    int before = 0;
    for (int i = 0; i < count; ++i) {
      barrier_wait(shared + Layout::full + 8 * at.stage, at.parity);
      const std::uint64_t a =
          operand_descriptor(first_a + at.stage * shape.stage_bytes, half_bytes);
      const std::uint64_t b = operand_descriptor(first_b + at.stage * shape.stage_bytes, 64 * 128);
      multiply_fence();
#pragma unroll
      for (int k = 0; k < block_k / 16; ++k) {
        multiply<T, TransposedA, TransposedB>(sums, a + k * descriptor_step<TransposedA>,
                                              b + k * descriptor_step<TransposedB>,
                                              Step == 1 ? i | k : 1);
      }
      multiply_commit();
      if (i > 0) {
        multiply_wait<1>();
        release(before, Step);
      }
      before = at.stage;
#pragma unroll
      for (int step = 0; step < Step; ++step) at.advance(shape.stages);
    }
    meanwhile();
    multiply_wait<0>();
    if (Step == 1 || count > 0) release(before, Step);
  }
  /// The stages of a tile whose half here has no rows.
  __device__ void pass_stages(int count) const {
    for (RingPosition at = position; count > 0; --count) {
      barrier_wait(shared + Layout::full + 8 * at.stage, at.parity);
      release(at.stage);
      at.advance(ring.stages);
    }
  }

  __device__ float bias_at(std::int64_t i) const {
    return to_float<T>(arguments.bias[i * arguments.bias_stride]);
  }

 private:
  /// One lane of each warp: nothing else keeps the warps of a warpgroup within a lap of each other.
  __device__ void release(int stage, int arrivals = 1) const {
    __syncwarp();
    if (lane() == 0) barrier_arrive(shared + Layout::empty + 8 * stage, arrivals);
  }
};

}  // namespace KokkosIris::Impl::Sm90

#endif
