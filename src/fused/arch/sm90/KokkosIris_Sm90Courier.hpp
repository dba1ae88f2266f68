// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// The warp that carries the finished halves of one consumer warpgroup: to C, to staging, and from
/// other ranks. Consumers never wait for a link.

#ifndef KOKKOSIRIS_SM90_COURIER_HPP
#define KOKKOSIRIS_SM90_COURIER_HPP

#include <cstdint>
#include <fused/arch/sm90/KokkosIris_Sm90Arguments.hpp>
#include <fused/arch/sm90/KokkosIris_Sm90Copies.hpp>
#include <fused/arch/sm90/KokkosIris_Sm90Matrices.hpp>

namespace KokkosIris::Impl::Sm90 {

/// All lanes of the warp call everything; what is asynchronous is done by lane 0 alone, because the
/// groups of bulk copies are a thread's. The image in shared memory is the courier's but for the
/// time between its arrival at `ready` and the consumers' at `filled`.
template <int Columns>
struct Courier {
  using Layout = SharedLayout<Columns, false>;
  using Image = TileImage<Columns>;

  const Arguments& arguments;
  SharedAddress shared;
  std::uint64_t call;
  int half;
  int lane;
  PhasedBarrier filled{shared + Layout::filled + 8 * half};
  PhasedBarrier fetched{shared + Layout::fetched + 8 * half};
  bool given_up = is_given_up(call);

  __device__ void run() {
    TileWalk walk = arguments.walk(blockIdx.x, gridDim.x);
    for (Task task; walk.next_place(task);) {
      if (!arguments.has_rows(task, half)) continue;
      if (!task.empty) {
        if (arguments.sums(task)) {
          bring_partials(task);
        } else {
          hand_over();
        }
        filled.wait();
        deliver(task);
      }
      collect(task);
    }
  }

 private:
  __device__ const Exchange& exchange() const { return arguments.exchange; }
  __device__ SharedAddress image() const { return shared + Layout::images + half * Image::bytes; }
  __device__ SharedAddress ready() const { return shared + Layout::ready + 8 * half; }

  /// The consumers may write the image.
  __device__ void hand_over() const {
    __syncwarp();
    if (lane == 0) barrier_arrive(ready());
  }

  /// Waits, in lane 0, for an image of a rank; the result is all lanes'.
  __device__ bool wait(std::uint64_t* flags, int from, int slot, bool& column_major) {
    int result = 0;
    if (lane == 0 && !given_up) {
      bool orientation = false;
      if (exchange().wait(flags, call, from, slot, half, orientation)) result = orientation ? 3 : 1;
      fence_async();
    }
    result = __shfl_sync(0xffffffffu, result, 0);
    given_up = result == 0;
    column_major = result == 3;
    return !given_up;
  }

  /// Brings the other ranks' partial images of a tile to the consumers, one after the other.
  __device__ void bring_partials(const Task& task) {
    for (int step = 1; step < exchange().size(); ++step) {
      const int from = exchange().peer(step);
      if (step > 1) filled.wait();
      bool column_major = false;
      const bool come = wait(exchange().partial_ready, from, task.slot, column_major);
      if (lane != 0) continue;
      store_shared(shared + Layout::orientation + 4 * half, column_major ? 1 : 0);
      if (come) {
        barrier_arrive_expect(ready(), Image::bytes);
        load_bytes(image(), exchange().partial(call, from, exchange().rank(), task.slot, half),
                   Image::bytes, ready());
      } else {
        barrier_arrive(ready());
      }
    }
    __syncwarp();
  }

  /// Another rank's image to shared memory.
  __device__ void fetch(const char* from) {
    if (lane == 0) {
      barrier_arrive_expect(fetched.address, Image::bytes);
      load_bytes(image(), from, Image::bytes, fetched.address);
    }
    fetched.wait();
  }

  /// What becomes of a tile that the consumers have written.
  __device__ void deliver(const Task& task) {
    const bool foreign = arguments.is_foreign(task);
    if (!foreign) store(task, exchange().rank(), arguments.c_column_major);
    if (lane == 0) {
      if (char* const staged = staging_of(task, foreign)) {
        store_bytes(staged, image(), Image::bytes);
        commit_copies();
        wait_copies();
        announce(task, foreign);
      } else {
        commit_copies();
        wait_copies_read();
      }
    }
    __syncwarp();
  }

  /// From where the other ranks fetch a tile; null if none may.
  __device__ char* staging_of(const Task& task, bool foreign) const {
    if (given_up) return nullptr;
    const int rank = exchange().rank();
    if (foreign) return exchange().partial(call, rank, task.owner, task.slot, half);
    if (arguments.form == Form::sum_to_all) return exchange().sum(call, rank, task.slot, half);
    if (arguments.form != Form::send_to_all) return nullptr;
    return exchange().partial(call, rank, exchange().peer(1), task.slot, half);
  }

  /// Lane 0: tells those who need the staged image.
  __device__ void announce(const Task& task, bool foreign) const {
    const bool column_major = arguments.c_column_major;
    std::uint64_t* const flags = arguments.form == Form::sum_to_all && !foreign
                                     ? exchange().sum_ready
                                     : exchange().partial_ready;
    begin_release();
    if (foreign) {
      exchange().raise(flags, call, task.owner, task.slot, half, column_major);
      return;
    }
    for (int step = 1; step < exchange().size(); ++step) {
      exchange().raise(flags, call, exchange().peer(step), task.slot, half, column_major);
    }
  }

  /// After the place of a tile of this rank, which may be empty: what the other ranks have for it
  /// at the same place in their order. The consumers compute the next tile meanwhile.
  __device__ void collect(const Task& task) {
    const bool sums = arguments.form == Form::sum_to_all;
    if (sums ? arguments.is_foreign(task) : arguments.form != Form::send_to_all) return;
    for (int step = 1; step < exchange().size(); ++step) {
      const int from = exchange().peer(step);
      const Task theirs = sums ? arguments.tiles.place(task.slot, from) : task;
      if (theirs.empty) continue;
      bool column_major = false;
      if (!wait(sums ? exchange().sum_ready : exchange().partial_ready, from, task.slot,
                column_major)) {
        return;
      }
      fetch(sums ? exchange().sum(call, from, task.slot, half)
                 : exchange().partial(call, from, exchange().rank(), task.slot, half));
      store(theirs, from, column_major);
      end_fetch();
    }
  }
  /// The image may be overwritten.
  __device__ void end_fetch() const {
    if (lane == 0) {
      commit_copies();
      wait_copies_read();
    }
    __syncwarp();
  }

  /// First row of this half in the product.
  __device__ int row_of(const Task& task) const { return task.row + half * half_rows; }
  __device__ int column_of(const Task& task) const {
    return static_cast<int>(arguments.column_in_c(task));
  }

  /// The image to the rows of rank `part`'s product in C.
  __device__ void store(const Task& task, int part, bool column_major) const {
    const int z = arguments.form == Form::send_to_all ? part : 0;
    if (!arguments.c_has_map || column_major != arguments.c_column_major) {
      return store_elements(task, z, column_major);
    }
    if (lane != 0) return;
    if (column_major) {
      store_box(&arguments.c, image(), row_of(task), column_of(task), z);
    } else {
      for (int i = 0; i < Columns / 64; ++i) {
        store_box(&arguments.c, image() + i * Image::block_bytes, column_of(task) + 64 * i,
                  row_of(task), z);
      }
    }
  }

  /// Element by element, for any strides of C and any way that the image lies; two at once where
  /// they are neighbours in both and aligned in C. Neighbouring lanes take neighbouring elements of
  /// C where it has such.
  __device__ void store_elements(const Task& task, int part, bool column_major) const {
    const MatrixRef<std::uint16_t>& c = arguments.c_elements;
    const int rows = min(half_rows, arguments.rows - row_of(task));
    const std::int64_t left = c.cols - column_of(task);
    const int columns = left < Columns ? static_cast<int>(left) : Columns;
    if (rows <= 0) return;
    const bool along_rows = c.col_stride <= c.row_stride;
    const int inner = along_rows ? columns : rows, outer = along_rows ? rows : columns;
    const std::int64_t step = along_rows ? c.col_stride : c.row_stride;
    const std::int64_t pitch = along_rows ? c.row_stride : c.col_stride;
    std::uint16_t* const first =
        c.at(std::int64_t(part) * arguments.rows + row_of(task), column_of(task));
    const bool pairs = step == 1 && pitch % 2 == 0 && column_major != along_rows &&
                       reinterpret_cast<std::uintptr_t>(first) % 4 == 0;
    const int width = pairs ? 2 : 1, in_line = (inner + width - 1) / width;
#pragma unroll 4
    for (int i = lane; i < outer * in_line; i += 32) {
      const int line = i / in_line, at = (i - line * in_line) * width;
      const SharedAddress from =
          image() + Image::offset(column_major, along_rows ? line : at, along_rows ? at : line);
      std::uint16_t* const to = first + line * pitch + at * step;
      if (pairs && at + 1 < inner) {
        *reinterpret_cast<std::uint32_t*>(to) = load_shared(from);
      } else {
        *to = load_shared_element(from);
      }
    }
  }
};

}  // namespace KokkosIris::Impl::Sm90

#endif
