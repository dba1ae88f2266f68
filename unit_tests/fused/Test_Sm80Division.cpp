// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// no_gpu: *

// Which tiles the engine sm80 takes for which call.
//
// ranks: 1

#include <gtest/gtest.h>

#include <algorithm>
#include <fused/KokkosIris_Sm80Division.hpp>
#include <random>
#include <string>

namespace {

using KokkosIris::FusedConfig;
using KokkosIris::Impl::ceil_div;
using KokkosIris::Impl::ItemSchedule;
using KokkosIris::Impl::round_up;
using KokkosIris::Impl::sm80_divide;
using KokkosIris::Impl::sm80_divide_into;
using KokkosIris::Impl::sm80_large_tile;
using KokkosIris::Impl::sm80_small_tile;
using KokkosIris::Impl::sm80_time;
using KokkosIris::Impl::Sm80Division;
using KokkosIris::Impl::Sm80Work;

using Random = std::mt19937;

std::int64_t draw(Random& random, std::int64_t low, std::int64_t high) {
  return std::uniform_int_distribution<std::int64_t>(low, high)(random);
}

std::string describe(const Sm80Work& w) {
  return std::to_string(w.rows) + " x " + std::to_string(w.columns) + ", " +
         std::to_string(w.owners) + " owners, " + std::to_string(w.teams) + " teams, panels " +
         std::to_string(w.config.panel_rows) + ", blocks " +
         std::to_string(w.config.block_columns) + ", " + std::to_string(w.element_bytes) + " bytes";
}

/// One team a multiprocessor of an H200.
constexpr std::int64_t h200_teams = 132;

int tile_of(std::int64_t rows, std::int64_t columns, int owners, int element_bytes = 8) {
  return sm80_divide({rows, columns, owners, h200_teams, element_bytes}).tile;
}

/// Tiles that the team with most of them computes, item by item.
std::int64_t most_tiles(const Sm80Division& division) {
  const ItemSchedule& s = division.schedule;
  std::int64_t most = 0;
  for (std::int64_t team = 0; team < s.teams; ++team) {
    std::int64_t tiles = 0;
    for (std::int64_t number = team; number < s.items(); number += s.teams) {
      const auto item = s.item(number);
      for (int owner = 0; owner < s.owners; ++owner) {
        tiles += ceil_div(item.rows, division.tile) *
                 ceil_div(s.columns_of(owner, item.block), division.tile);
      }
    }
    most = std::max(most, tiles);
  }
  return most;
}

/// Large tiles where every team has some.
TEST(Sm80Division, LargeProducts) {
  for (const int bytes : {2, 4, 8}) {
    for (const std::int64_t size : {2048, 4095, 4096, 8192}) {
      for (const int owners : {1, 2}) {
        EXPECT_EQ(tile_of(size, size, owners, bytes), sm80_large_tile) << size << ", " << owners;
      }
    }
    EXPECT_EQ(tile_of(2048, 8192, 2, bytes), sm80_large_tile);
    EXPECT_EQ(tile_of(8192, 8192, 8, bytes), sm80_large_tile);
  }
}

/// Small ones where the large ones are fewer than the teams.
TEST(Sm80Division, SmallProducts) {
  for (const int bytes : {2, 4, 8}) {
    for (const std::int64_t size : {1, 100, 512, 1000, 1024}) {
      for (const int owners : {1, 2, 4, 8}) {
        EXPECT_EQ(tile_of(size, size, owners, bytes), sm80_small_tile) << size << ", " << owners;
      }
    }
  }
  // Eight owners: an item has a tile of each of them, so there are few items.
  EXPECT_EQ(tile_of(2048, 2048, 8), sm80_small_tile);
}

/// Half of a large tile would be empty.
TEST(Sm80Division, FewRows) {
  Random random(1);
  for (int round = 0; round < 1000; ++round) {
    const Sm80Work work{draw(random, 1, 64), draw(random, 1, 100000),
                        static_cast<int>(draw(random, 1, 8)), draw(random, 1, 200),
                        2 << draw(random, 0, 2)};
    EXPECT_EQ(sm80_divide(work).tile, sm80_small_tile) << describe(work);
  }
}

/// As many tiles as one team can have.
TEST(Sm80Division, OneTeam) {
  EXPECT_EQ(sm80_divide({256, 256, 1, 1}).tile, sm80_large_tile);
  EXPECT_EQ(sm80_divide({128, 128, 1, 1}).tile, sm80_large_tile);
  EXPECT_EQ(sm80_divide({64, 256, 1, 1}).tile, sm80_small_tile);
  EXPECT_EQ(sm80_divide({130, 130, 1, 1}).tile, sm80_small_tile) << "9 small or 4 large tiles";
}

/// Sizes that are given stay, and decide.
TEST(Sm80Division, GivenSizes) {
  for (const std::int64_t teams : {1, 7, 132}) {
    for (const int owners : {1, 2, 3}) {
      Sm80Work work{1000, 999, owners, teams};
      for (const int tile : {sm80_small_tile, sm80_large_tile}) {
        work.config = {.panel_rows = tile, .block_columns = tile};
        const Sm80Division division = sm80_divide(work);
        EXPECT_EQ(division.tile, tile) << describe(work);
        EXPECT_EQ(division.schedule.panel_rows, tile) << describe(work);
        EXPECT_EQ(division.schedule.block_columns, tile) << describe(work);
      }
      work.config = {.panel_rows = 24, .block_columns = 48};
      const Sm80Division narrow = sm80_divide(work);
      EXPECT_EQ(narrow.tile, sm80_small_tile) << describe(work);
      EXPECT_EQ(narrow.schedule.panel_rows, 24) << describe(work);
      EXPECT_LE(narrow.schedule.block_columns, 48) << describe(work);
    }
  }
}

Sm80Work random_work(Random& random) {
  Sm80Work work{draw(random, 0, 1500), draw(random, 0, 1500), static_cast<int>(draw(random, 1, 5)),
                draw(random, 1, 40), 2 << draw(random, 0, 2)};
  if (draw(random, 0, 2) == 0) {
    work.config.panel_rows = static_cast<std::int32_t>(draw(random, 1, 300));
  }
  if (draw(random, 0, 2) == 0) {
    work.config.block_columns = static_cast<std::int32_t>(draw(random, 1, 300));
  }
  return work;
}

TEST(Sm80Division, BlocksFitTheConfiguration) {
  Random random(2);
  for (int round = 0; round < 2000; ++round) {
    const Sm80Work work = random_work(random);
    const Sm80Division division = sm80_divide(work);
    const ItemSchedule& s = division.schedule;
    ASSERT_EQ(s.teams, work.teams);
    ASSERT_EQ(s.owners, work.owners);
    if (work.config.block_columns > 0) {
      EXPECT_LT(s.block_columns, work.config.block_columns + 16) << describe(work);
    } else {
      EXPECT_EQ(s.block_columns, division.tile) << describe(work);
    }
    const std::int64_t panel = work.config.panel_rows > 0 ? work.config.panel_rows : division.tile;
    EXPECT_EQ(s.panel_rows, std::max<std::int64_t>(1, std::min(panel, work.rows)))
        << describe(work);
  }
}

/// The time is that of the team with most tiles: at least, because the last panel or block may have
/// fewer than the others, and exactly where all are whole.
TEST(Sm80Division, TimeIsThatOfTheBusiestTeam) {
  Random random(3);
  for (int round = 0; round < 1000; ++round) {
    Sm80Work work = random_work(random);
    for (const int tile : {sm80_small_tile, sm80_large_tile}) {
      const Sm80Division division = sm80_divide_into(tile, work);
      const std::int64_t of_tile = sm80_time(sm80_divide_into(tile, {1, 1, 1, 1}), 8);
      EXPECT_GE(sm80_time(division, 8), of_tile * most_tiles(division)) << describe(work);
    }
    work.rows = round_up(work.rows + 1, 128);
    work.columns = round_up(work.columns + 1, 128 * work.owners);
    work.config = {};
    for (const int tile : {sm80_small_tile, sm80_large_tile}) {
      const Sm80Division division = sm80_divide_into(tile, work);
      const std::int64_t of_tile = sm80_time(sm80_divide_into(tile, {1, 1, 1, 1}), 8);
      EXPECT_EQ(sm80_time(division, 8), of_tile * most_tiles(division)) << describe(work);
    }
  }
}

/// Whatever is given, the other tiles would not be faster.
TEST(Sm80Division, TakesTheFaster) {
  Random random(4);
  int small = 0;
  for (int round = 0; round < 2000; ++round) {
    const Sm80Work work = random_work(random);
    const Sm80Division division = sm80_divide(work);
    const std::int64_t time = sm80_time(division, work.element_bytes);
    for (const int tile : {sm80_small_tile, sm80_large_tile}) {
      EXPECT_LE(time, sm80_time(sm80_divide_into(tile, work), work.element_bytes))
          << describe(work);
    }
    if (division.tile == sm80_small_tile) ++small;
  }
  EXPECT_GT(small, 100);
  EXPECT_LT(small, 1900);
}

}  // namespace
