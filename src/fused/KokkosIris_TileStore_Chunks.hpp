// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// PortableTileStore's operations in chunks of 16 bytes, for the teams of the engines for matrix
/// and tensor cores; also how they copy shards of A.
///
/// What peers see of a stored tile, on AMD GPUs. The stores are plain ones. They go through the L1
/// cache of the team's compute unit to the L2 cache that it shares with others, where lines of this
/// GPU's memory may stay. Whoever raises the tile's flag makes them visible: store_release() at
/// system scope is, on gfx942, `buffer_wbl2 sc0 sc1`, which writes the dirty lines of that L2 cache
/// back, whichever wave wrote them, then `s_waitcnt vmcnt(0)` and the flag's store with `sc0 sc1`;
/// on gfx90a the same without these bits. (The wait is the shim's own, gpu_await_write_back():
/// compilers have left it out.) Who waits for the flag loads it likewise, then `buffer_inv sc0 sc1`
/// (on gfx90a `buffer_invl2` and `buffer_wbinvl1_vol`) drops the L1 cache of its compute unit,
/// which is that of its whole team, and the lines of the L2 cache that may be stale. A copy engine
/// that is started after such a flag, or after the kernel, reads memory and finds the tile there.
///
/// What the write-back does not cover is a store that has not yet arrived. `s_waitcnt` counts the
/// own wave's only, and a team's barrier does not wait for stores; hence every wave waits before
/// the barrier that precedes a flag: barrier_before_release().
///
/// On NVIDIA GPUs the team's barrier before the flag makes the stores of all threads happen before
/// it, and the release, at system scope, is cumulative; the acquire by one thread drops the L1
/// cache of its multiprocessor, and the barrier behind it orders the team's loads (PTX ISA, "Memory
/// consistency model").
///
/// Source: LLVM, "User Guide for AMDGPU Backend", the memory models of gfx90a and gfx942, which say
/// what each of these instructions does to the caches.

#ifndef KOKKOSIRIS_TILE_STORE_CHUNKS_HPP
#define KOKKOSIRIS_TILE_STORE_CHUNKS_HPP

#include <Kokkos_Core.hpp>
#include <cstdint>
#include <fused/KokkosIris_FusedOptions.hpp>
#include <fused/KokkosIris_Matrix.hpp>
#include <fused/KokkosIris_TileStore.hpp>
#include <fused/arch/KokkosIris_Chunks.hpp>

namespace KokkosIris::Impl {

/// A run of elements of a line; it may lie behind the last one.
struct Run {
  std::int64_t line, begin;
  bool exists;
};

/// body(runs) for all runs of `step` elements of each of `lines` lines of `length` elements, by all
/// threads of a team, `Batch` at a time; consecutive threads have consecutive runs.
/// \tparam Batch what a thread loads before it uses or stores the first: a peer's memory is far,
///               and loads do not pass stores that might be to the same place
template <int Batch, class Team, class Body>
KOKKOS_FUNCTION void for_each_batch(const Team& team, std::int64_t lines, std::int64_t length,
                                    int step, const Body& body) {
  const std::int64_t runs = ceil_div(length, step);
  const std::int64_t count = lines * runs;
  const auto line_of = [&](std::int64_t number) {
    // Division of 64-bit numbers takes a hundred instructions.
    if (count > INT32_MAX) return number / runs;
    return static_cast<std::int64_t>(static_cast<std::uint32_t>(number) /
                                     static_cast<std::uint32_t>(runs));
  };
  // A thread's runs of a batch are as far apart as the team has threads.
  const std::int64_t threads = Batch > 1 ? team.team_size() : 1;
  const std::int64_t batches = Batch > 1 ? ceil_div(count, Batch * threads) * threads : count;
  Kokkos::parallel_for(Kokkos::TeamVectorRange(team, batches), [&](std::int64_t batch) {
    const std::int64_t first =
        Batch > 1 ? batch / threads * (Batch * threads) + batch % threads : batch;
    Run some[Batch];
    KOKKOSIRIS_UNROLL
    for (int r = 0; r < Batch; ++r) {
      const std::int64_t number = first + r * threads;
      const std::int64_t line = line_of(number);
      some[r] = {line, (number - line * runs) * step, Batch == 1 || number < count};
    }
    body(some);
  });
}

/// store(line, begin, load(line, begin)) for each of these runs.
template <int Batch, class Team, class Load, class Store>
KOKKOS_FUNCTION void for_each_run(const Team& team, std::int64_t lines, std::int64_t length,
                                  int step, const Load& load, const Store& store) {
  for_each_batch<Batch>(team, lines, length, step, [&](const Run(&runs)[Batch]) {
    decltype(load(runs[0].line, runs[0].begin)) values[Batch] = {};
    KOKKOSIRIS_UNROLL
    for (int r = 0; r < Batch; ++r) {
      if (runs[r].exists) values[r] = load(runs[r].line, runs[r].begin);
    }
    KOKKOSIRIS_UNROLL
    for (int r = 0; r < Batch; ++r) {
      if (runs[r].exists) store(runs[r].line, runs[r].begin, values[r]);
    }
  });
}

/// How many of `count` elements from `begin` on a chunk of T takes.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION int valid_from(std::int64_t begin, std::int64_t count) {
  return static_cast<int>(min64(count - begin, chunk_elements<T>));
}

/// See PortableTileStore.
/// \tparam Batch see for_each_batch()
template <class T, int Batch>
struct ChunkTileStore {
  using Acc = acc_type_t<T>;

  /// Rows of copied panels begin at multiples of 16 bytes.
  KOKKOS_FUNCTION static std::int64_t panel_stride(std::int64_t k) {
    return round_up(k, chunk_elements<T>);
  }
  /// Copies a matrix to rows that are adjacent and `ld` apart, for other threads to read behind a
  /// team barrier.
  template <class Team>
  KOKKOS_FUNCTION static void copy_rows(const Team& team, const MatrixRef<const T>& from, T* to,
                                        std::int64_t ld) {
    if (from.col_stride != 1 && from.row_stride < from.col_stride) {
      // Reads adjacent rows together, whose copies lie apart.
      for_each_run<Batch>(
          team, from.cols, from.rows, 1,
          [&](std::int64_t j, std::int64_t i) { return load_element(from.at(i, j)); },
          [&](std::int64_t j, std::int64_t i, T value) { store_element(to + i * ld + j, value); });
      return;
    }
    if (from.col_stride != 1 || (from.rows > 1 && from.row_stride % chunk_elements<T> != 0)) {
      // Elements that are not loaded as a chunk are no faster for being one run.
      for_each_run<Batch>(
          team, from.rows, from.cols, 1,
          [&](std::int64_t i, std::int64_t j) { return load_element(from.at(i, j)); },
          [&](std::int64_t i, std::int64_t j, T value) { store_element(to + i * ld + j, value); });
      return;
    }
    for_each_run<Batch>(
        team, from.rows, from.cols, chunk_elements<T>,
        [&](std::int64_t i, std::int64_t j) {
          const T* const source = from.at(i, j);
          return load_elements(source, 1, valid_from<T>(j, from.cols), is_aligned(source));
        },
        [&](std::int64_t i, std::int64_t j, const Chunk& chunk) {
          T* const target = to + i * ld + j;
          store_elements(target, 1, valid_from<T>(j, from.cols), is_aligned(target),
                         elements_of<T>(chunk));
        });
  }

  template <class Team>
  KOKKOS_FUNCTION void add_bias(const Team& team, const AccTile<Acc>& tile, const Bias<T>& bias,
                                std::int64_t row, std::int64_t col) const {
    if (bias.axis == BiasAxis::none) return;
    team.team_barrier();
    const bool of_rows = bias.axis == BiasAxis::rows;
    const auto load = [&](std::int64_t i, std::int64_t j) {
      const Acc* const place = tile.data + i * tile.ld + j;
      const int valid = valid_from<Acc>(j, tile.cols);
      auto sums = elements_of<Acc>(load_elements(place, 1, valid, is_aligned(place)));
      KOKKOSIRIS_UNROLL
      for (int e = 0; e < chunk_elements<Acc>; ++e) {
        const std::int64_t k = of_rows ? row + i : col + j + e;
        if (e < valid) {
          sums.values[e] += static_cast<Acc>(load_element(bias.data + k * bias.stride));
        }
      }
      return sums;
    };
    for_each_run<Batch>(team, tile.rows, tile.cols, chunk_elements<Acc>, load,
                        [&](std::int64_t i, std::int64_t j, const Elements<Acc>& sums) {
                          Acc* const place = tile.data + i * tile.ld + j;
                          store_elements(place, 1, valid_from<Acc>(j, tile.cols), is_aligned(place),
                                         sums);
                        });
  }

  /// Every rank's C lies as its rank pleases; the last target's, a peer's if there is one, decides
  /// along which dimension chunks are made. Where another target has it otherwise, it gets single
  /// elements.
  template <class Team, class Part, class Target>
  KOKKOS_FUNCTION void sum(const Team& team, int parts, const Part& part, int targets,
                           const Target& target, [[maybe_unused]] int local) const {
    team.team_barrier();
    const AccTile<Acc> first = part(0);
    const MatrixRef<T> last = target(targets - 1);
    const bool along_rows = last.row_stride == 1 && last.col_stride != 1;
    const std::int64_t lines = along_rows ? first.cols : first.rows;
    const std::int64_t length = along_rows ? first.rows : first.cols;
    const auto load = [&](const AccTile<Acc>& tile, const Run& run) {
      return sums_of(tile, along_rows ? run.begin : run.line, along_rows ? run.line : run.begin,
                     along_rows, valid_from<T>(run.begin, length));
    };
    const auto store = [&](const Run& run, const Sums& sums) {
      Elements<T> values;
      KOKKOSIRIS_UNROLL
      for (int e = 0; e < chunk_elements<T>; ++e) values.values[e] = rounded_to<T>(sums.values[e]);
      const std::int64_t i = along_rows ? run.begin : run.line;
      const std::int64_t j = along_rows ? run.line : run.begin;
      const int valid = valid_from<T>(run.begin, length);
      for (int t = 0; t < targets; ++t) {
        const MatrixRef<T> out = target(t);
        const std::int64_t stride = along_rows ? out.row_stride : out.col_stride;
        T* const place = out.at(i, j);
        store_elements(place, stride, valid, stride == 1 && is_aligned(place), values);
      }
    };
    for_each_batch<Batch>(team, lines, length, chunk_elements<T>, [&](const Run(&runs)[Batch]) {
      Sums sums[Batch] = {};
      KOKKOSIRIS_UNROLL
      for (int r = 0; r < Batch; ++r) {
        if (runs[r].exists) sums[r] = load(first, runs[r]);
      }
      // Part by part, so that all loads of a part are under way together.
      for (int p = 1; p < parts; ++p) {
        const AccTile<Acc> tile = part(p);
        Sums more[Batch] = {};
        KOKKOSIRIS_UNROLL
        for (int r = 0; r < Batch; ++r) {
          if (runs[r].exists) more[r] = load(tile, runs[r]);
        }
        KOKKOSIRIS_UNROLL
        for (int r = 0; r < Batch; ++r) {
          KOKKOSIRIS_UNROLL
          for (int e = 0; e < chunk_elements<T>; ++e) {
            sums[r].values[e] += more[r].values[e];
          }
        }
      }
      KOKKOSIRIS_UNROLL
      for (int r = 0; r < Batch; ++r) {
        if (runs[r].exists) store(runs[r], sums[r]);
      }
    });
  }

 private:
  /// The accumulators of a chunk of T.
  struct Sums {
    Acc values[chunk_elements<T>];
  };
  KOKKOS_FORCEINLINE_FUNCTION static Sums sums_of(const AccTile<Acc>& tile, std::int64_t i,
                                                  std::int64_t j, bool along_rows, int valid) {
    constexpr int n = chunk_elements<Acc>;
    const Acc* const place = tile.data + i * tile.ld + j;
    const std::int64_t stride = along_rows ? tile.ld : 1;
    const bool wide = !along_rows && is_aligned(place);
    Sums sums;
    KOKKOSIRIS_UNROLL
    for (int c = 0; c < chunk_elements<T> / n; ++c) {
      const auto values =
          elements_of<Acc>(load_elements(place + c * n * stride, stride, valid - c * n, wide));
      KOKKOSIRIS_UNROLL
      for (int e = 0; e < n; ++e) sums.values[c * n + e] = values.values[e];
    }
    return sums;
  }
};

}  // namespace KokkosIris::Impl

#endif
