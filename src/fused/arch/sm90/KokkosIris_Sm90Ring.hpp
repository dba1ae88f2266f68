// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// How a block divides its shared memory: a ring of stages, images of finished halves, barriers.

#ifndef KOKKOSIRIS_SM90_RING_HPP
#define KOKKOSIRIS_SM90_RING_HPP

#include <Kokkos_Core.hpp>
#include <cstdint>
#include <fused/arch/sm90/KokkosIris_Sm90Tiles.hpp>

namespace KokkosIris::Impl::Sm90 {

/// The stages of a ring: each a block of A and one of B, in this order.
struct RingShape {
  int stages = 0;
  int a_bytes = 0;  ///< a multiple of 1024
  int stage_bytes = 0;
  int sums = 0;         ///< offset of the sums of a small tile
  int second_sums = 0;  ///< of the second warpgroup's if the two divide K and not rows, else 0
};

/// Floats that are left free behind each row of the sums of a small tile, so that no two of the
/// four rows that half a warp writes at once share banks.
inline constexpr int sums_padding = 8;

/// Offsets from a multiple of 1024 bytes.
/// \tparam Small tiles of few rows: sums instead of images, and a ring whose stages are only as
///         large as the rows of A need, which is known at run time
template <int Columns, bool Small>
struct SharedLayout {
  static constexpr int b_bytes = Columns * block_k * 2;
  static constexpr int most_stages = Small ? 10 : Columns == 256 ? 3 : 6;
  /// Arrivals that make a stage empty: of one lane of each warp, which count twice where only one
  /// of the warpgroups uses a stage.
  static constexpr int releases = 4 * halves;
  /// The full height of a tile.
  static constexpr RingShape full_ring{most_stages, tile_rows* block_k * 2,
                                       tile_rows* block_k * 2 + b_bytes};
  static constexpr int ring_bytes = Small ? 224 * 1024 : most_stages * full_ring.stage_bytes;
  static constexpr int images = ring_bytes;  ///< one for each consumer warpgroup
  static constexpr int full = images + (Small ? 0 : halves * TileImage<Columns>::bytes);
  static constexpr int empty = full + 8 * most_stages;  ///< `full`, `empty`: barrier of a stage
  static constexpr int ready =
      empty + 8 * most_stages;  ///< barrier of a warpgroup: it may use its image
  static constexpr int filled = ready + 8 * halves;         ///< it has done so
  static constexpr int fetched = filled + 8 * halves;       ///< its courier's copy has arrived
  static constexpr int orientation = fetched + 8 * halves;  ///< of the partial image, 4 bytes each
  static constexpr int end = orientation + 4 * halves;
  /// Of the launch: shared memory begins at a multiple of 16.
  static constexpr int bytes = end + 1024;
  static_assert(bytes <= 227 * 1024, "more shared memory than a block can have");

  KOKKOS_FUNCTION static RingShape ring(const RingShape& small_ring) {
    return Small ? small_ring : full_ring;
  }
  /// The ring of small tiles. Products read 64 rows of A, those behind a_bytes from what follows:
  /// garbage that no other row sees.
  /// \param rows of A in a stage
  /// \param one_tile a block has one tile only, whose sums can take the place of its stages
  static RingShape small_ring(int a_bytes, int rows, bool one_tile) {
    static_assert(b_bytes + 1024 >= half_rows * block_k * 2, "products would read past the ring");
    const int stage_bytes = a_bytes + b_bytes;
    const int sums_bytes = rows * (Columns + sums_padding) * int(sizeof(float));
    const bool divides_k = rows <= half_rows;
    const int all_sums_bytes = (divides_k ? 2 : 1) * sums_bytes;
    static_assert(tile_rows * (Columns + sums_padding) * int(sizeof(float)) <= ring_bytes,
                  "no room for the sums of a tile");
    int stages = (ring_bytes - (one_tile ? 0 : all_sums_bytes)) / stage_bytes;
    if (stages > most_stages) stages = most_stages;
    const int sums = one_tile ? 0 : stages * stage_bytes;
    return {stages, a_bytes, stage_bytes, sums, divides_k ? sums + sums_bytes : 0};
  }
};

/// A stage and its parity, of one user of a ring.
struct RingPosition {
  int stage = 0;
  std::uint32_t parity;

  KOKKOS_FUNCTION explicit RingPosition(std::uint32_t first_parity) : parity(first_parity) {}
  KOKKOS_FUNCTION void advance(int stages) {
    if (++stage < stages) return;
    stage = 0;
    parity ^= 1u;
  }
  KOKKOS_FUNCTION void advance(int count, int stages) {
    stage += count;
    parity ^= static_cast<std::uint32_t>(stage / stages) & 1u;
    stage %= stages;
  }
};

}  // namespace KokkosIris::Impl::Sm90

#endif
