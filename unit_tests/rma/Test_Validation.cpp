// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What builds with KokkosIris_ENABLE_VALIDATION catch inside kernels. Each check ends the program,
// so each runs in a child process.
// ranks: 1

#include <TestUtilities.hpp>

namespace {

using namespace KokkosIris;  // NOLINT: the names under test

class Validation : public testing::Test {
 public:
  Context<Kokkos::HostSpace> m_context = ::Test::make_context();
  DeviceContext m_device = m_context.device();
  SymmetricView<double*, Kokkos::LayoutRight, Kokkos::HostSpace> m_view;

  // Not where it is declared: nvcc does not parse template arguments there.
  Validation() { m_view = m_context.zeros<double*, Kokkos::LayoutRight>("view", 64); }

  void SetUp() override {
#ifndef KOKKOSIRIS_ENABLE_VALIDATION
    GTEST_SKIP() << "this build does not check remote pointers";
#endif
  }
};

TEST_F(Validation, PointersOutsideTheHeap) {
  double local = 0.0;
  EXPECT_DEATH(load(m_device, &local, 0), "outside the symmetric heap");
  EXPECT_DEATH(store(m_device, &local, 1.0, 0), "outside the symmetric heap");
  EXPECT_DEATH(atomic_add(m_device, &local, 1.0, 0), "outside the symmetric heap");
  signal_t flag = 0;
  EXPECT_DEATH(signal(m_device, &flag, 1, signal_set, 0), "outside the symmetric heap");
  // The last element is inside, the block is not.
  const DeviceContext& d = m_device;
  auto* const end = reinterpret_cast<char*>(d.state().base) + d.state().bytes;
  char byte[2] = {};
  EXPECT_DEATH(put(d, end - 1, byte, 2, 0), "outside the symmetric heap");
  store(d, &m_view(63), 2.0, 0);
  EXPECT_EQ(m_view(63), 2.0);
}

TEST_F(Validation, RanksOutsideTheContext) {
  EXPECT_DEATH(load(m_device, m_view.data(), 1), "outside the context");
  EXPECT_DEATH(put(m_device, m_view.data(), m_view.data(), 1, -1), "outside the context");
}

TEST_F(Validation, PromisedAlignment) {
  const double source[8] = {};
  EXPECT_DEATH(put(m_device, m_view.data() + 1, source, 4, 0, aligned<64>),
               "promised an alignment");
  EXPECT_DEATH(put(m_device, m_view.data(), m_view.data() + 8, 3, 0, aligned<16>),
               "promised an alignment");
}

#ifdef KOKKOS_ENABLE_SERIAL
using SerialTeam = Kokkos::TeamPolicy<Kokkos::Serial>::member_type;

/// Runs body(team) on Serial: the child process of a death test has no other threads.
template <class Body>
void by_team(const Body& body) {
  Kokkos::parallel_for(Kokkos::TeamPolicy<Kokkos::Serial>(1, 1), body);
}

TEST_F(Validation, ExtentsInKernels) {
  const auto d = m_device;
  const auto view = m_view;
  const Kokkos::View<double*, Kokkos::HostSpace> other("other", 63);
  EXPECT_DEATH(by_team([=](const SerialTeam& team) { put(team, d, view, other, 0); }),
               "different extents");
  EXPECT_DEATH(by_team([=](const SerialTeam& team) { atomic_add(team, d, view, other, 0); }),
               "different extents");
}

TEST_F(Validation, Hints) {
  const auto d = m_device;
  const auto view = m_view;
  const auto at = [=](std::size_t first, std::size_t n) {
    return Kokkos::subview(view.view(), std::pair(first, first + n));
  };
  EXPECT_DEATH(
      by_team([=](const SerialTeam& team) { atomic_add(team, d, at(1, 8), 1.0, 0, hint<4>); }),
      "hint<N>");
  EXPECT_DEATH(
      by_team([=](const SerialTeam& team) { atomic_add(team, d, at(0, 6), 1.0, 0, hint<4>); }),
      "hint<N>");
  by_team([=](const SerialTeam& team) { atomic_add(team, d, at(4, 8), 1.0, 0, hint<4>); });
  EXPECT_EQ(m_view(4), 1.0);
}
#endif

}  // namespace
