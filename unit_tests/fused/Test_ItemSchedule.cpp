// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// no_gpu: *

// How fused operations are cut into items, and that the waits of the tile exchange cannot form a
// cycle.
//
// ranks: 1

#include <gtest/gtest.h>

#include <algorithm>
#include <fused/KokkosIris_ItemSchedule.hpp>
#include <fused/KokkosIris_TileExchange.hpp>
#include <random>
#include <string>
#include <vector>

namespace {

using KokkosIris::Impl::ItemSchedule;
using KokkosIris::Impl::TileExchange;

using Random = std::mt19937;

std::int64_t draw(Random& random, std::int64_t low, std::int64_t high) {
  return std::uniform_int_distribution<std::int64_t>(low, high)(random);
}

ItemSchedule random_schedule(Random& random, int owners) {
  static constexpr std::int64_t granularities[] = {1, 4, 16, 32};
  return ItemSchedule::make(draw(random, 0, 60), draw(random, 0, 120), owners, draw(random, 1, 70),
                            draw(random, 1, 50), granularities[draw(random, 0, 3)],
                            draw(random, 1, 9));
}

std::string describe(const ItemSchedule& s) {
  return "rows " + std::to_string(s.rows) + ", columns " + std::to_string(s.columns) + ", owners " +
         std::to_string(s.owners) + ", panel_rows " + std::to_string(s.panel_rows) +
         ", block_columns " + std::to_string(s.block_columns) + ", teams " +
         std::to_string(s.teams);
}

TEST(ItemSchedule, ChunksPartitionTheColumns) {
  for (int owners = 1; owners <= 9; ++owners) {
    for (std::int64_t columns = 0; columns <= 40; ++columns) {
      const auto s = ItemSchedule::make(10, columns, owners, 4, 8, 4, 2);
      EXPECT_EQ(s.chunk_begin(0), 0);
      EXPECT_EQ(s.chunk_begin(owners), columns);
      for (int owner = 0; owner < owners; ++owner) {
        const std::int64_t width = s.chunk_columns(owner);
        EXPECT_GE(width, columns / owners);
        EXPECT_LE(width, (columns + owners - 1) / owners);
        EXPECT_LE(width, s.chunk_columns(0)) << "the first chunk is the widest";
      }
    }
  }
}

/// Every element of the result belongs to exactly one item and owner.
TEST(ItemSchedule, ItemsCoverEachElementOnce) {
  Random random(1);
  for (int round = 0; round < 2000; ++round) {
    const auto s = random_schedule(random, static_cast<int>(draw(random, 1, 5)));
    std::vector<int> hits(static_cast<std::size_t>(s.rows * s.columns), 0);
    for (std::int64_t number = 0; number < s.items(); ++number) {
      const auto item = s.item(number);
      ASSERT_LE(item.row + item.rows, std::max(item.row, s.rows));
      for (int owner = 0; owner < s.owners; ++owner) {
        const std::int64_t column = s.chunk_begin(owner) + item.block * s.block_columns;
        for (std::int64_t i = 0; i < item.rows; ++i) {
          for (std::int64_t j = 0; j < s.columns_of(owner, item.block); ++j) {
            ++hits[static_cast<std::size_t>((item.row + i) * s.columns + column + j)];
          }
        }
      }
    }
    ASSERT_EQ(std::count(hits.begin(), hits.end(), 1), std::ssize(hits)) << describe(s);
  }
}

/// A team meets all blocks of a panel one after the other, unless teams share panels.
TEST(ItemSchedule, TeamsStayWithAPanel) {
  Random random(2);
  for (int round = 0; round < 500; ++round) {
    const auto s = random_schedule(random, 2);
    if (s.panels < s.teams) continue;
    for (std::int64_t team = 0; team < s.teams; ++team) {
      std::int64_t count = 0;
      for (std::int64_t number = team; number < s.items(); number += s.teams, ++count) {
        EXPECT_EQ(s.item(number).block, count % s.blocks) << describe(s);
        EXPECT_EQ(s.item(number).panel, count / s.blocks * s.teams + team) << describe(s);
      }
    }
  }
}

/// With fewer panels than teams the columns are divided further, so that no team is idle.
TEST(ItemSchedule, FewPanelsAreShared) {
  for (std::int64_t panels = 1; panels < 8; ++panels) {
    const auto s = ItemSchedule::make(panels * 10, 1000, 2, 10, 500, 4, 8);
    ASSERT_TRUE(s.shares_panels());
    for (std::int64_t team = 0; team < s.teams; ++team) {
      std::int64_t tiles = 0;
      for (std::int64_t number = team; number < s.items(); number += s.teams) {
        if (s.item(number).rows > 0 && s.columns_of(0, s.item(number).block) > 0) ++tiles;
      }
      EXPECT_GE(tiles, 3) << "team " << team << " of " << describe(s);
    }
  }
}

TEST(ItemSchedule, SizesFitTheProblem) {
  Random random(3);
  for (int round = 0; round < 2000; ++round) {
    const auto s = random_schedule(random, 3);
    EXPECT_LE(s.panel_rows, std::max<std::int64_t>(1, s.rows));
    EXPECT_GE(s.blocks, 1);
    EXPECT_LT((s.blocks - 1) * s.block_columns, std::max<std::int64_t>(1, s.chunk_columns(0)));
  }
  const auto huge =
      ItemSchedule::make(5, 7, 2, std::int64_t(1) << 40, std::int64_t(1) << 40, 16, 4);
  EXPECT_EQ(huge.panel_rows, 5);
  EXPECT_LE(huge.block_columns, 16);
}

/// The exchange of matmul_all_reduce and matmul_reduce_scatter as state machines: each team of each
/// rank does its next step when its wait is over, in random order, several calls in a row.
class Exchange {
 public:
  Exchange(const ItemSchedule& schedule, std::int64_t slots, std::vector<std::int64_t> leagues)
      : m_schedule(schedule), m_slots(slots), m_ranks(static_cast<int>(leagues.size())) {
    const auto n = static_cast<std::size_t>(m_ranks);
    m_ready.assign(n * n * static_cast<std::size_t>(slots), 0);
    m_consumed = m_ready;
    m_contents.assign(m_ready.size(), -1);
    for (int rank = 0; rank < m_ranks; ++rank) {
      for (std::int64_t team = 0; team < leagues[static_cast<std::size_t>(rank)]; ++team) {
        m_teams.push_back({rank, steps(team, leagues[static_cast<std::size_t>(rank)], rank), 0});
      }
    }
  }

  /// \return false if nobody can go on, or a tile was overwritten or misread
  bool run(Random& random, std::uint64_t call) {
    for (Team& team : m_teams) team.next = 0;
    std::vector<std::size_t> order(m_teams.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    for (;;) {
      std::shuffle(order.begin(), order.end(), random);
      bool moved = false;
      bool finished = true;
      for (const std::size_t i : order) {
        Team& team = m_teams[i];
        // Now one step, now as many as can be done.
        std::int64_t most = draw(random, 0, 1) == 0 ? 1 : std::int64_t(1) << 40;
        while (most-- > 0 && team.next < team.steps.size() && can_go(team, call)) {
          if (!go(team, call)) return false;
          ++team.next;
          moved = true;
        }
        finished = finished && team.next == team.steps.size();
      }
      if (finished) return true;
      if (!moved) return false;
    }
  }

 private:
  struct Step {
    bool produces;  ///< a tile for `other`; else: the tile of `other` is added
    std::int64_t item;
    int other;
  };
  struct Team {
    int rank;
    std::vector<Step> steps;
    std::size_t next;
  };

  std::vector<Step> steps(std::int64_t team, std::int64_t league, int rank) const {
    std::vector<Step> result;
    const auto add = [&](bool produces, std::int64_t item) {
      for (int step = 1; step < m_ranks; ++step) {
        result.push_back({produces, item, (rank + step) % m_ranks});
      }
    };
    std::int64_t previous = -1;
    for (std::int64_t item = team; item < m_schedule.items(); item += league) {
      add(true, item);
      if (previous >= 0) add(false, previous);
      previous = item;
    }
    if (previous >= 0) add(false, previous);
    return result;
  }
  std::uint64_t sequence(std::uint64_t call, std::int64_t item) const {
    return (call - 1) * static_cast<std::uint64_t>(m_schedule.items()) +
           static_cast<std::uint64_t>(item) + 1;
  }
  std::size_t at(int producer, int consumer, std::int64_t item) const {
    return static_cast<std::size_t>((producer * m_ranks + consumer) * m_slots + item % m_slots);
  }
  bool can_go(const Team& team, std::uint64_t call) const {
    const Step& step = team.steps[team.next];
    if (!step.produces) {
      return m_ready[at(step.other, team.rank, step.item)] >= sequence(call, step.item);
    }
    return step.item < m_slots ||
           m_consumed[at(team.rank, step.other, step.item)] >= sequence(call, step.item - m_slots);
  }
  bool go(const Team& team, std::uint64_t call) {
    const Step& step = team.steps[team.next];
    if (step.produces) {
      const std::size_t slot = at(team.rank, step.other, step.item);
      if (m_contents[slot] >= 0) return false;
      m_contents[slot] = step.item;
      m_ready[slot] = sequence(call, step.item);
      return true;
    }
    const std::size_t slot = at(step.other, team.rank, step.item);
    if (m_contents[slot] != step.item) return false;
    m_contents[slot] = -1;
    m_consumed[slot] = sequence(call, step.item);
    return true;
  }

  ItemSchedule m_schedule;
  std::int64_t m_slots;
  int m_ranks;
  std::vector<Team> m_teams;
  std::vector<std::uint64_t> m_ready, m_consumed;  // [producer][consumer][slot]
  std::vector<std::int64_t> m_contents;            // item whose tile is there; -1: none
};

TEST(TileExchange, AlwaysSomebodyCanGoOn) {
  Random random(4);
  for (int round = 0; round < 3000; ++round) {
    const int ranks = static_cast<int>(draw(random, 2, 5));
    const auto s = random_schedule(random, ranks);
    std::vector<std::int64_t> leagues;
    // A rank may have fewer threads than the one with the most.
    for (int rank = 0; rank < ranks; ++rank) leagues.push_back(draw(random, 1, s.teams));
    Exchange exchange(s, TileExchange::slots_for(s.items(), s.teams), leagues);
    for (std::uint64_t call = 1; call <= 3; ++call) {
      ASSERT_TRUE(exchange.run(random, call)) << describe(s) << ", call " << call;
    }
  }
}

/// The simulation notices a cycle: with one slot, two ranks wait for each other to add the first
/// tile.
TEST(TileExchange, TooFewSlotsAreACycle) {
  Random random(5);
  const auto s = ItemSchedule::make(20, 20, 2, 5, 20, 1, 1);
  EXPECT_FALSE(Exchange(s, 1, {1, 1}).run(random, 1));
  EXPECT_TRUE(Exchange(s, 2, {1, 1}).run(random, 1));
}

}  // namespace
