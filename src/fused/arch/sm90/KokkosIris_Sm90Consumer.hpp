// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// The warpgroups that compute: half a tile each, in registers, from the ring of stages to an image
/// in shared memory.

#ifndef KOKKOSIRIS_SM90_CONSUMER_HPP
#define KOKKOSIRIS_SM90_CONSUMER_HPP

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <fused/arch/sm90/KokkosIris_Sm90Arguments.hpp>
#include <fused/arch/sm90/KokkosIris_Sm90Copies.hpp>
#include <fused/arch/sm90/KokkosIris_Sm90Matrices.hpp>
#include <fused/arch/sm90/KokkosIris_Sm90Wgmma.hpp>

namespace KokkosIris::Impl::Sm90 {

/// One of the two consumer warpgroups; all its threads call.
template <class T, int Columns, bool TransposedA, bool TransposedB>
struct Consumer {
  using Layout = SharedLayout<Columns>;
  using Image = TileImage<Columns>;

  const Arguments& arguments;
  SharedAddress shared;
  int half;    ///< of the tile: 0 or 1
  int thread;  ///< in the warpgroup
  RingPosition<Layout::stages> position{0};
  PhasedBarrier ready{shared + Layout::ready + 8 * half};

  __device__ void run() {
    TileWalk walk = arguments.walk(blockIdx.x, gridDim.x);
    float sums[Columns / 2];
    for (Task task; walk.next(task);) {
      const int blocks = arguments.blocks_of(task.part).count();
      if (!arguments.has_rows(task, half)) {
        pass_stages(blocks);
        continue;
      }
      accumulate(sums, blocks);
      add_bias(sums, task);
      ready.wait();
      if (arguments.sums(task)) add_partials(sums);
      write_image(sums);
    }
  }

 protected:
  __device__ SharedAddress image() const { return shared + Layout::images + half * Image::bytes; }
  __device__ int warp() const { return thread / 32; }
  __device__ int lane() const { return thread % 32; }

  /// sums = the products of all stages of one tile. The stage before is released when its products
  /// are complete, while the next ones run.
  __device__ __forceinline__ void accumulate(float (&sums)[Columns / 2], int blocks) {
    const std::uint32_t half_bytes = Layout::a_bytes / 2;
    int before = 0;
    for (int block = 0; block < blocks; ++block) {
      barrier_wait(shared + Layout::full + 8 * position.stage, position.parity);
      const SharedAddress stage = shared + position.stage * Layout::stage_bytes;
      const std::uint64_t a = operand_descriptor(stage + half * half_bytes, half_bytes);
      const std::uint64_t b = operand_descriptor(stage + Layout::a_bytes, 64 * 128);
      multiply_fence();
#pragma unroll
      for (int i = 0; i < block_k / 16; ++i) {
        multiply<T, TransposedA, TransposedB>(sums, a + i * descriptor_step<TransposedA>,
                                              b + i * descriptor_step<TransposedB>, block | i);
      }
      multiply_commit();
      if (block > 0) {
        multiply_wait<1>();
        release(before);
      }
      before = position.stage;
      position.advance();
    }
    multiply_wait<0>();
    release(before);
  }
  /// The stages of a tile whose half here has no rows.
  __device__ void pass_stages(int blocks) {
    for (; blocks > 0; --blocks) {
      barrier_wait(shared + Layout::full + 8 * position.stage, position.parity);
      release(position.stage);
      position.advance();
    }
  }
  /// One arrival a warp: nothing else keeps the warps of a warpgroup within a lap of each other.
  __device__ void release(int stage) const {
    __syncwarp();
    if (lane() == 0) barrier_arrive(shared + Layout::empty + 8 * stage);
  }

  __device__ float bias_at(std::int64_t i) const {
    return to_float<T>(arguments.bias[i * arguments.bias_stride]);
  }
  __device__ __forceinline__ void add_bias(float (&sums)[Columns / 2], const Task& task) const {
    if (arguments.bias_axis == BiasAxis::none) return;
    if (arguments.bias_axis == BiasAxis::rows) {
      const int row = task.row + half * half_rows + warp() * 16 + lane() / 4;
      const float upper = row < arguments.rows ? bias_at(row) : 0.0f;
      const float lower = row + 8 < arguments.rows ? bias_at(row + 8) : 0.0f;
#pragma unroll
      for (int i = 0; i < Columns / 2; ++i) sums[i] += (i & 2) == 0 ? upper : lower;
      return;
    }
    const std::int64_t first = task.column + 2 * (lane() % 4);
#pragma unroll
    for (int j = 0; j < Columns / 8; ++j) {
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        const std::int64_t column = first + 8 * j + e;
        const float bias = column < arguments.tiles.columns ? bias_at(column) : 0.0f;
        sums[4 * j + e] += bias;
        sums[4 * j + 2 + e] += bias;
      }
    }
  }

  /// Where this lane's row of the matrices (j, j + 1) of write_image() lies.
  __device__ SharedAddress matrix_row(bool column_major, int j) const {
    const int below = lane() / 8 % 2, next = lane() / 16, row = lane() % 8;
    return image() + (column_major
                          ? Image::offset(true, warp() * 16 + below * 8, 8 * (j + next) + row)
                          : Image::offset(false, warp() * 16 + below * 8 + row, 8 * (j + next)));
  }

  /// Adds the other ranks' partial tiles, which the courier brings one after the other.
  __device__ __forceinline__ void add_partials(float (&sums)[Columns / 2]) {
    for (int step = 1; step < arguments.exchange.size(); ++step) {
      if (step > 1) {
        arrive_filled();
        ready.wait();
      }
      const bool column_major = load_shared(shared + Layout::orientation + 4 * half) != 0;
#pragma unroll
      for (int j = 0; j < Columns / 8; j += 2) {
        std::uint32_t pairs[4];
        const SharedAddress row = matrix_row(column_major, j);
        if (column_major) {
          load_matrices<true>(pairs, row);
        } else {
          load_matrices<false>(pairs, row);
        }
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          const float2 pair = unpack<T>(pairs[e]);
          sums[4 * j + 2 * e] += pair.x;
          sums[4 * j + 2 * e + 1] += pair.y;
        }
      }
    }
    // The image may have lain otherwise than the one that is written in its place now.
    sync_warpgroup(1 + half);
  }

  __device__ __forceinline__ void write_image(const float (&sums)[Columns / 2]) {
    if (arguments.c_column_major) {
      write_matrices<true>(sums);
    } else {
      write_matrices<false>(sums);
    }
    fence_async();
    arrive_filled();
  }
  template <bool ColumnMajor>
  __device__ __forceinline__ void write_matrices(const float (&sums)[Columns / 2]) const {
#pragma unroll
    for (int j = 0; j < Columns / 8; j += 2) {
      std::uint32_t pairs[4];
#pragma unroll
      for (int e = 0; e < 4; ++e) pairs[e] = pack<T>(sums[4 * j + 2 * e], sums[4 * j + 2 * e + 1]);
      store_matrices<ColumnMajor>(matrix_row(ColumnMajor, j), pairs);
    }
  }
  /// One arrival a warp.
  __device__ void arrive_filled() const {
    __syncwarp();
    if (lane() == 0) barrier_arrive(shared + Layout::filled + 8 * half);
  }
};

}  // namespace KokkosIris::Impl::Sm90

#endif
