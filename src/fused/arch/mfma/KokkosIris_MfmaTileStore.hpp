// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// PortableTileStore's operations in chunks of 16 bytes, for the teams of the engine for AMD's
/// matrix cores; also how they copy shards of A.
///
/// What peers see of a stored tile. The stores are plain ones. They go through the L1 cache of the
/// team's compute unit to the L2 cache that it shares with others, where lines of this GPU's memory
/// may stay. Whoever raises the tile's flag makes them visible: store_release() at system scope is,
/// on gfx942, `buffer_wbl2 sc0 sc1`, which writes the dirty lines of that L2 cache back, whichever
/// wave wrote them, then `s_waitcnt vmcnt(0)` and the flag's store with `sc0 sc1`; on gfx90a the
/// same without these bits. (The wait is the shim's own, gpu_await_write_back(): compilers have
/// left it out.) Who waits for the flag loads it likewise, then `buffer_inv sc0 sc1` (on
/// gfx90a `buffer_invl2` and `buffer_wbinvl1_vol`) drops the L1 cache of its compute unit, which is
/// that of its whole team, and the lines of the L2 cache that may be stale. A copy engine that is
/// started after such a flag, or after the kernel, reads memory and finds the tile there.
///
/// What the write-back does not cover is a store that has not yet arrived. `s_waitcnt` counts the
/// own wave's only, and a team's barrier does not wait for stores; hence every wave waits before
/// the barrier that precedes a flag: barrier_before_release().
///
/// Source: LLVM, "User Guide for AMDGPU Backend", the memory models of gfx90a and gfx942, which say
/// what each of these instructions does to the caches.

#ifndef KOKKOSIRIS_MFMA_TILE_STORE_HPP
#define KOKKOSIRIS_MFMA_TILE_STORE_HPP

#include <Kokkos_Core.hpp>
#include <cstdint>
#include <fused/KokkosIris_FusedOptions.hpp>
#include <fused/KokkosIris_Matrix.hpp>
#include <fused/KokkosIris_TileStore.hpp>
#include <fused/arch/mfma/KokkosIris_MfmaMemory.hpp>

namespace KokkosIris::Impl::Mfma {

/// body(line, begin) for each run of `step` elements of each of `lines` lines of `length` elements,
/// by all threads of a team; consecutive threads have consecutive runs.
template <class Team, class Body>
KOKKOS_FUNCTION void for_each_run(const Team& team, std::int64_t lines, std::int64_t length,
                                  int step, const Body& body) {
  const std::int64_t runs = ceil_div(length, step);
  Kokkos::parallel_for(Kokkos::TeamVectorRange(team, lines * runs), [&](std::int64_t index) {
    // Division of 64-bit numbers takes a hundred instructions.
    std::int64_t line;
    if (lines * runs <= INT32_MAX) {
      line = static_cast<std::uint32_t>(index) / static_cast<std::uint32_t>(runs);
    } else {
      line = index / runs;
    }
    body(line, (index - line * runs) * step);
  });
}

/// How many of `count` elements from `begin` on a chunk of T takes.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION int valid_from(std::int64_t begin, std::int64_t count) {
  return static_cast<int>(min64(count - begin, chunk_elements<T>));
}

/// Copies a matrix to rows that are adjacent and `ld` apart.
template <class T, class Team>
KOKKOS_FUNCTION void copy_rows(const Team& team, const MatrixRef<const T>& from, T* to,
                               std::int64_t ld) {
  if (from.col_stride != 1 && from.row_stride < from.col_stride) {
    // Reads adjacent rows together, whose copies lie apart.
    for_each_run(team, from.cols, from.rows, 1, [&](std::int64_t j, std::int64_t i) {
      store_element(to + i * ld + j, load_element(from.at(i, j)));
    });
    return;
  }
  for_each_run(team, from.rows, from.cols, chunk_elements<T>, [&](std::int64_t i, std::int64_t j) {
    const T* const source = from.at(i, j);
    T* const target = to + i * ld + j;
    const int valid = valid_from<T>(j, from.cols);
    const Chunk chunk =
        load_elements(source, from.col_stride, valid, from.col_stride == 1 && is_aligned(source));
    store_elements(target, 1, valid, is_aligned(target), elements_of<T>(chunk));
  });
}

/// Rounds to nearest even; on the device by the instruction where there is one.
template <class T, class Acc>
KOKKOS_FORCEINLINE_FUNCTION T rounded_to(Acc value) {
#if defined(KOKKOSIRIS_MFMA_ON_DEVICE)
  if constexpr (std::is_same_v<T, half_t>) {
    return half_t::from_bits(__builtin_bit_cast(std::uint16_t, static_cast<_Float16>(value)));
  }
#endif
  return static_cast<T>(value);
}

/// See PortableTileStore.
template <class T>
struct TileStore {
  using Acc = acc_type_t<T>;

  template <class Team>
  KOKKOS_FUNCTION void add_bias(const Team& team, const AccTile<Acc>& tile, const Bias<T>& bias,
                                std::int64_t row, std::int64_t col) const {
    if (bias.axis == BiasAxis::none) return;
    team.team_barrier();
    const bool of_rows = bias.axis == BiasAxis::rows;
    for_each_run(
        team, tile.rows, tile.cols, chunk_elements<Acc>, [&](std::int64_t i, std::int64_t j) {
          Acc* const place = tile.data + i * tile.ld + j;
          const int valid = valid_from<Acc>(j, tile.cols);
          const bool wide = is_aligned(place);
          auto sums = elements_of<Acc>(load_elements(place, 1, valid, wide));
          KOKKOSIRIS_MFMA_UNROLL
          for (int e = 0; e < chunk_elements<Acc>; ++e) {
            const std::int64_t k = of_rows ? row + i : col + j + e;
            if (e < valid) {
              sums.values[e] += static_cast<Acc>(load_element(bias.data + k * bias.stride));
            }
          }
          store_elements(place, 1, valid, wide, sums);
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
    for_each_run(team, lines, length, chunk_elements<T>, [&](std::int64_t line, std::int64_t at) {
      const std::int64_t i = along_rows ? at : line;
      const std::int64_t j = along_rows ? line : at;
      const int valid = valid_from<T>(at, length);
      Sums sums = sums_of(first, i, j, along_rows, valid);
      for (int p = 1; p < parts; ++p) {
        const Sums more = sums_of(part(p), i, j, along_rows, valid);
        KOKKOSIRIS_MFMA_UNROLL
        for (int e = 0; e < chunk_elements<T>; ++e) sums.values[e] += more.values[e];
      }
      Elements<T> values;
      KOKKOSIRIS_MFMA_UNROLL
      for (int e = 0; e < chunk_elements<T>; ++e) values.values[e] = rounded_to<T>(sums.values[e]);
      for (int t = 0; t < targets; ++t) {
        const MatrixRef<T> out = target(t);
        const std::int64_t stride = along_rows ? out.row_stride : out.col_stride;
        T* const place = out.at(i, j);
        store_elements(place, stride, valid, stride == 1 && is_aligned(place), values);
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
    KOKKOSIRIS_MFMA_UNROLL
    for (int c = 0; c < chunk_elements<T> / n; ++c) {
      const auto values =
          elements_of<Acc>(load_elements(place + c * n * stride, stride, valid - c * n, wide));
      KOKKOSIRIS_MFMA_UNROLL
      for (int e = 0; e < n; ++e) sums.values[c * n + e] = values.values[e];
    }
    return sums;
  }
};

}  // namespace KokkosIris::Impl::Mfma

#endif
