// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// How a call is cut for the engine sm80: with tiles of 128 x 128 or of 64 x 64.
///
/// A multiprocessor has one team, which computes one tile at a time. Large tiles read each operand
/// less often; small ones keep more teams busy where the product has few tiles, and compute less in
/// vain where it has few rows.

#ifndef KOKKOSIRIS_SM80_DIVISION_HPP
#define KOKKOSIRIS_SM80_DIVISION_HPP

#include <cstdint>
#include <fused/KokkosIris_FusedWorkspace.hpp>
#include <fused/KokkosIris_ItemSchedule.hpp>

namespace KokkosIris::Impl {

inline constexpr int sm80_large_tile = 128;
inline constexpr int sm80_small_tile = 64;

/// What is to be divided; all of it is the same on all ranks, and so is the division.
struct Sm80Work {
  std::int64_t rows = 0;     ///< M
  std::int64_t columns = 0;  ///< N
  int owners = 1;            ///< chunks of columns
  std::int64_t teams = 1;    ///< of the rank that has most
  int element_bytes = 8;
  FusedConfig config = {};
};

struct Sm80Division {
  int tile = 0;  ///< rows and columns of the tiles
  ItemSchedule schedule;
};

/// The division into tiles of a size. Panels and blocks are a tile each unless the configuration
/// says otherwise.
Sm80Division sm80_divide_into(int tile, const Sm80Work& work);

/// Time of the team that has most to do, in hundredths of a quarter of a large tile's.
std::int64_t sm80_time(const Sm80Division& division, int element_bytes);

/// The faster division.
Sm80Division sm80_divide(const Sm80Work& work);

}  // namespace KokkosIris::Impl

#endif
