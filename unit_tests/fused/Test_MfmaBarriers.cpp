// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Barriers of the team around what the engine for AMD's matrix cores does beside its products:
// bias, sums, copies of shards. (On the host, where one thread does it all, a missing one changes
// no result. Those of products: Test_MfmaTile.)
//
// ranks: 1
// timeout: 60

#include <Kokkos_Core.hpp>
#include <cstdint>
#include <string>
#include <vector>

/// Not unnamed: what only devices call would be an unused function there.
namespace MfmaBarrierTest {

/// A team that writes down its barriers and what its threads share between them: loops.
struct WritingTeam {
  std::vector<std::string>* events;

  KOKKOS_FUNCTION void team_barrier() const { KOKKOS_IF_ON_HOST((events->push_back("barrier");)) }
  KOKKOS_FUNCTION int team_rank() const { return 0; }
  KOKKOS_FUNCTION int team_size() const { return 1; }
};
struct WrittenRange {
  WritingTeam team;
  std::int64_t count;
};

}  // namespace MfmaBarrierTest

// Ahead of the headers that call them with a team of any type.
namespace Kokkos {
inline KOKKOS_FUNCTION MfmaBarrierTest::WrittenRange TeamVectorRange(
    const MfmaBarrierTest::WritingTeam& team, std::int64_t count) {
  return {team, count};
}
template <class Body>
KOKKOS_FUNCTION void parallel_for(const MfmaBarrierTest::WrittenRange& range, const Body& body) {
  KOKKOS_IF_ON_HOST((range.team.events->push_back("loop");))
  for (std::int64_t i = 0; i < range.count; ++i) body(i);
}
}  // namespace Kokkos

#include <gtest/gtest.h>

#include <OneOf.hpp>
#include <fused/KokkosIris_PanelShards.hpp>
#include <fused/KokkosIris_TileEngine_Mfma.hpp>

namespace MfmaBarrierTest {

using KokkosIris::Impl::MatrixRef;

template <class T>
struct Shards {
  const T* data;
  KOKKOS_FUNCTION MatrixRef<const T> operator()(int s) const { return {data + 4 * s, 3, 4, 12, 1}; }
};
struct Waits {
  std::vector<std::string>* events;
  int given_up;
  KOKKOS_FUNCTION bool operator()([[maybe_unused]] int s) const {
    KOKKOS_IF_ON_HOST((events->push_back("wait " + std::to_string(s));))
    return s != given_up;
  }
};

}  // namespace MfmaBarrierTest

namespace {

using namespace MfmaBarrierTest;
using KokkosIris::BiasAxis;
using KokkosIris::Impl::AccTile;
using KokkosIris::Impl::ItemSchedule;
using KokkosIris::Impl::MfmaTileEngine;
using KokkosIris::Impl::PanelShards;
using Events = std::vector<std::string>;

template <class T>
class MfmaBarriers : public testing::Test {
 public:
  using Engine = MfmaTileEngine<T>;
  using Acc = typename Engine::Acc;
  using Bias = KokkosIris::Bias<T>;

  std::vector<Acc> one = std::vector<Acc>(12, Acc(1)), two = one;
  std::vector<T> elements = std::vector<T>(48, T(2));
  Events events;
  WritingTeam team{&events};

  Bias bias_of(BiasAxis axis) const {
    Bias bias;
    bias.data = elements.data();
    bias.axis = axis;
    return bias;
  }
  static AccTile<Acc> tile(std::vector<Acc>& sums) { return {sums.data(), 4, 3, 4}; }
};
using Types = testing::Types<double, float, KokkosIris::half_t, KokkosIris::bhalf_t>;
TYPED_TEST_SUITE(MfmaBarriers, Types);

/// Other threads have stored what the sums come from: the tile of the product.
TYPED_TEST(MfmaBarriers, BiasIsAddedAfterOne) {
  const typename TestFixture::Engine::TileStore store;
  for (const BiasAxis axis : {BiasAxis::rows, BiasAxis::cols}) {
    this->events.clear();
    store.add_bias(this->team, this->tile(this->one), this->bias_of(axis), 0, 0);
    EXPECT_EQ(this->events, (Events{"barrier", "loop"}));
  }
  this->events.clear();
  store.add_bias(this->team, this->tile(this->one), this->bias_of(BiasAxis::none), 0, 0);
  EXPECT_EQ(this->events, Events{});
}

TYPED_TEST(MfmaBarriers, TilesAreSummedAfterOne) {
  const MatrixRef<TypeParam> out{this->elements.data(), 3, 4, 4, 1};
  const ::Test::OneOf<decltype(this->tile(this->one))> parts{this->tile(this->one),
                                                             this->tile(this->two)};
  const ::Test::OneOf<MatrixRef<TypeParam>> targets{out, out};
  typename TestFixture::Engine::TileStore().sum(this->team, 2, parts, 1, targets, 0);
  EXPECT_EQ(this->events, (Events{"barrier", "loop"}));
  EXPECT_EQ(double(this->elements[11]), 2.0);
}

/// Who reads the panel reads what others have copied.
TYPED_TEST(MfmaBarriers, APanelIsCompleteAfterOne) {
  using Engine = typename TestFixture::Engine;
  const PanelShards<TypeParam, Shards<TypeParam>, true> shards{{this->elements.data()}, 3, 4, 3, 1};
  const ItemSchedule schedule = ItemSchedule::make(3, 1, 1, 3, 1, 16, 1);
  const Engine engine{{{{}, schedule, true}}};
  std::vector<double> buffer(Engine::panel_bytes(schedule, 12, true) / sizeof(double) + 2);
  typename Engine::Panel panel;
  char* const memory = reinterpret_cast<char*>(buffer.data());
  EXPECT_TRUE(engine.load(this->team, memory, shards, Waits{&this->events, -1}, panel));
  EXPECT_EQ(this->events,
            (Events{"wait 1", "loop", "wait 2", "loop", "wait 0", "loop", "barrier"}));
  this->events.clear();
  EXPECT_FALSE(engine.load(this->team, memory, shards, Waits{&this->events, 2}, panel));
  EXPECT_EQ(this->events, (Events{"wait 1", "loop", "wait 2"}));
}

}  // namespace
