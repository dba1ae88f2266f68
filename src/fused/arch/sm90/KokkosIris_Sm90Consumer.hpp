// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// The warpgroups that compute large tiles: half a tile each, from registers to an image in shared
/// memory.

#ifndef KOKKOSIRIS_SM90_CONSUMER_HPP
#define KOKKOSIRIS_SM90_CONSUMER_HPP

#include <cstdint>
#include <fused/arch/sm90/KokkosIris_Sm90Copies.hpp>
#include <fused/arch/sm90/KokkosIris_Sm90Matrices.hpp>
#include <fused/arch/sm90/KokkosIris_Sm90Products.hpp>

namespace KokkosIris::Impl::Sm90 {

/// One of the two consumer warpgroups; all its threads call.
template <class T, int Columns, bool TransposedA, bool TransposedB>
struct Consumer : Products<T, Columns, TransposedA, TransposedB, false> {
  using Base = Products<T, Columns, TransposedA, TransposedB, false>;
  using Layout = typename Base::Layout;
  using Image = TileImage<Columns>;
  using Base::arguments;
  using Base::half;
  using Base::lane;
  using Base::shared;
  using Base::warp;

  PhasedBarrier ready{shared + Layout::ready + 8 * half};

  __device__ void run() {
    TileWalk walk = arguments.walk(blockIdx.x, gridDim.x);
    float sums[Columns / 2];
    Task task{}, following{};
    // Large tiles have the whole of K.
    const int blocks = arguments.blocks_of(0).count();
    for (bool more = walk.next(task); more; task = following) {
      if (!arguments.has_rows(task, half)) {
        more = walk.next(following);
        this->pass_stages(blocks);
      } else {
        this->template accumulate<1>(sums, this->position, half, blocks, [&] {
          more = walk.next(following);
          ready.wait();
        });
        add_bias(sums, task);
        if (arguments.sums(task)) add_partials(sums);
        write_image(sums);
      }
      this->position.advance(blocks, Layout::most_stages);
    }
  }

 private:
  __device__ SharedAddress image() const { return shared + Layout::images + half * Image::bytes; }
  __device__ __forceinline__ void add_bias(float (&sums)[Columns / 2], const Task& task) const {
    if (arguments.bias_axis == BiasAxis::none) return;
    if (arguments.bias_axis == BiasAxis::rows) {
      const int row = this->upper_row(task);
      const float upper = row < arguments.rows ? this->bias_at(row) : 0.0f;
      const float lower = row + 8 < arguments.rows ? this->bias_at(row + 8) : 0.0f;
#pragma unroll
      for (int i = 0; i < Columns / 2; ++i) sums[i] += (i & 2) == 0 ? upper : lower;
      return;
    }
    const std::int64_t first = task.column + this->column_in_group();
    const int left = static_cast<int>(arguments.tiles.columns - first);
    const std::uint16_t* next = arguments.bias + first * arguments.bias_stride;
#pragma unroll
    for (int j = 0; j < Columns / 8; ++j, next += 8 * arguments.bias_stride) {
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        const float bias = 8 * j + e < left ? to_float<T>(next[e * arguments.bias_stride]) : 0.0f;
        sums[4 * j + e] += bias;
        sums[4 * j + 2 + e] += bias;
      }
    }
  }

  /// Where this lane's row of the matrices (0, 1) of write_image() lies.
  __device__ SharedAddress first_row(bool column_major) const {
    const int below = lane() / 8 % 2, next = lane() / 16, row = lane() % 8;
    return image() + (column_major ? Image::offset(true, warp() * 16 + below * 8, 8 * next + row)
                                   : Image::offset(false, warp() * 16 + below * 8 + row, 8 * next));
  }
  /// The same of the matrices (j, j + 1), of groups of 8 columns; j is even.
  template <bool ColumnMajor>
  __device__ __forceinline__ static SharedAddress matrix_row(SharedAddress first, int j) {
    return ColumnMajor ? first + 8 * 128 * j : (first ^ (j % 8 * 16)) + j / 8 * Image::block_bytes;
  }

  /// Adds the other ranks' partial tiles, which the courier brings one after the other.
  __device__ __forceinline__ void add_partials(float (&sums)[Columns / 2]) {
    for (int step = 1; step < arguments.exchange.size(); ++step) {
      if (step > 1) {
        arrive_filled();
        ready.wait();
      }
      const bool column_major = load_shared(shared + Layout::orientation + 4 * half) != 0;
      const SharedAddress first = first_row(column_major);
#pragma unroll
      for (int j = 0; j < Columns / 8; j += 2) {
        std::uint32_t pairs[4];
        if (column_major) {
          load_matrices<true>(pairs, matrix_row<true>(first, j));
        } else {
          load_matrices<false>(pairs, matrix_row<false>(first, j));
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
    fence_async_shared();
    arrive_filled();
  }
  template <bool ColumnMajor>
  __device__ __forceinline__ void write_matrices(const float (&sums)[Columns / 2]) const {
    const SharedAddress first = first_row(ColumnMajor);
#pragma unroll
    for (int j = 0; j < Columns / 8; j += 2) {
      std::uint32_t pairs[4];
#pragma unroll
      for (int e = 0; e < 4; ++e) pairs[e] = pack<T>(sums[4 * j + 2 * e], sums[4 * j + 2 * e + 1]);
      store_matrices<ColumnMajor>(matrix_row<ColumnMajor>(first, j), pairs);
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
