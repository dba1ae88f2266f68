// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// PortableTileStore's operations for one host thread, by the vector routines of the packed engine.

#ifndef KOKKOSIRIS_TILE_STORE_HOST_HPP
#define KOKKOSIRIS_TILE_STORE_HOST_HPP

#include <cstring>
#include <fused/KokkosIris_TileStore.hpp>
#include <fused/arch/host/KokkosIris_PackedGemm.hpp>

namespace KokkosIris::Impl {

template <class T>
struct element_kind;
template <>
struct element_kind<double> : std::integral_constant<ElementKind, ElementKind::f64> {};
template <>
struct element_kind<float> : std::integral_constant<ElementKind, ElementKind::f32> {};
template <>
struct element_kind<half_t> : std::integral_constant<ElementKind, ElementKind::f16> {};
template <>
struct element_kind<bhalf_t> : std::integral_constant<ElementKind, ElementKind::bf16> {};

/// See PortableTileStore; teams have one thread. Peers' memory is written with stores that bypass
/// the caches, because taking a line back from the peer that read it last costs more than sending
/// it to memory.
template <class T>
struct HostTileStore {
  using Acc = acc_type_t<T>;
  const PackedGemm* routines = nullptr;

  template <class Team>
  void add_bias(const Team&, const AccTile<Acc>& tile, const Bias<T>& bias, std::int64_t row,
                std::int64_t col) const {
    if (bias.axis == BiasAxis::none) return;
    for (std::int64_t i = 0; i < tile.rows; ++i) {
      Acc* const line = tile.data + i * tile.ld;
      if (bias.axis == BiasAxis::rows) {
        const Acc value = static_cast<Acc>(bias.data[(row + i) * bias.stride]);
        for (std::int64_t j = 0; j < tile.cols; ++j) line[j] += value;
      } else {
        const T* const values = bias.data + col * bias.stride;
        for (std::int64_t j = 0; j < tile.cols; ++j) {
          line[j] += static_cast<Acc>(values[j * bias.stride]);
        }
      }
    }
  }

  template <class Team, class Part, class Target>
  void sum(const Team&, int parts, const Part& part, int targets, const Target& target,
           int local) const {
    const AccTile<Acc> first = part(0);
    for (std::int64_t col = 0; col < first.cols; col += strip_columns) {
      const std::int64_t n = min64(strip_columns, first.cols - col);
      for (std::int64_t row = 0; row < first.rows; row += strip_rows) {
        const std::int64_t m = min64(strip_rows, first.rows - row);
        Acc totals[strip_rows][strip_columns];
        const Acc* lines[strip_rows];
        for (std::int64_t i = 0; i < m; ++i) {
          const std::int64_t at = (row + i) * first.ld + col;
          lines[i] = first.data + at;
          if (parts == 1) continue;
          std::memcpy(totals[i], lines[i], static_cast<std::size_t>(n) * sizeof(Acc));
          lines[i] = totals[i];
          for (int p = 1; p < parts; ++p) {
            const AccTile<Acc> tile = part(p);
            routines->add(totals[i], tile.data + (row + i) * tile.ld + col, n);
          }
        }
        for (int t = 0; t < targets; ++t) {
          store(lines, target(t).block(row, col, m, n), /*remote=*/t >= local);
        }
      }
    }
    if (targets > local) routines->stream_fence();
  }

 private:
  static constexpr std::int64_t strip_rows = 8;
  static constexpr std::int64_t strip_columns = 512;

  void store(const Acc* const* lines, const MatrixRef<T>& out, bool remote) const {
    if (out.col_stride == 1) {
      for (std::int64_t i = 0; i < out.rows; ++i) {
        (remote ? routines->convert_stream : routines->convert_store)(out.at(i, 0), lines[i],
                                                                      out.cols);
      }
      return;
    }
    // Column-major or strided: round row by row, then walk the columns, so that each cache line of
    // the result is written once.
    T rounded[strip_rows][strip_columns];
    for (std::int64_t i = 0; i < out.rows; ++i) {
      routines->convert_store(rounded[i], lines[i], out.cols);
    }
    for (std::int64_t j = 0; j < out.cols; ++j) {
      for (std::int64_t i = 0; i < out.rows; ++i) *out.at(i, j) = rounded[i][j];
    }
  }
};

}  // namespace KokkosIris::Impl

#endif
