// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// What the engines for matrix and tensor cores have in common: the tiles of a block.

#ifndef KOKKOSIRIS_CHUNK_ENGINE_HPP
#define KOKKOSIRIS_CHUNK_ENGINE_HPP

#include <Kokkos_Core.hpp>
#include <cstdint>
#include <fused/KokkosIris_Matrix.hpp>
#include <fused/KokkosIris_TileStore_Chunks.hpp>
#include <fused/KokkosIris_UnpackedEngine.hpp>

namespace KokkosIris::Impl {

/// \tparam Batch see for_each_batch()
/// \tparam Tile rows and columns of the tiles that the engine computes at a time, at most
template <class T, int Batch, int Tile>
struct ChunkEngine : UnpackedEngine<T, ChunkTileStore<T, Batch>> {
  using Base = UnpackedEngine<T, ChunkTileStore<T, Batch>>;
  using typename Base::Acc;
  using typename Base::Panel;

  /// A narrower tile takes as long.
  static constexpr std::int64_t tile = Tile;

 protected:
  /// Calls product(a, b, out) for each tile of the panel's product with the columns from `column`
  /// of an owner's chunk on; b is transposed.
  template <class Product>
  KOKKOS_FORCEINLINE_FUNCTION void for_each_tile(const Panel& panel, int owner, std::int64_t column,
                                                 const AccTile<Acc>& out,
                                                 const Product& product) const {
    const std::int64_t first = this->schedule.chunk_begin(owner) + column;
    for (std::int64_t i = 0; i < out.rows; i += tile) {
      for (std::int64_t j = 0; j < out.cols; j += tile) {
        const std::int64_t m = min64(tile, out.rows - i);
        const std::int64_t n = min64(tile, out.cols - j);
        const MatrixRef<const T>& b = this->b;
        const MatrixRef<const T> columns{b.at(0, first + j), n, b.rows, b.col_stride, b.row_stride};
        product(panel.block(i, 0, m, panel.cols), columns,
                AccTile<Acc>{out.data + i * out.ld + j, out.ld, m, n});
      }
    }
  }
};

}  // namespace KokkosIris::Impl

#endif
