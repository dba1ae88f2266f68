// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The matrix instructions of AMD's GPUs as the host emulates them: lanes, registers and numbers;
// and the scratch memory from which they are fed. (What compilers make of the engine for the GPUs:
// scripts/check_hip.sh.)
//
// ranks: 1
// no_gpu: *
// timeout: 60

#include <gtest/gtest.h>

#include <TestUtilities.hpp>
#include <array>
#include <cmath>
#include <cstring>
#include <fused/arch/mfma/KokkosIris_MfmaIntrinsics.hpp>
#include <fused/arch/mfma/KokkosIris_MfmaStage.hpp>
#include <set>
#include <utility>
#include <vector>

namespace {

using namespace KokkosIris::Impl::Mfma;
using KokkosIris::bhalf_t;
using KokkosIris::half_t;
using KokkosIris::Impl::Chunk;
using KokkosIris::Impl::chunk_bytes;
using KokkosIris::Impl::chunk_elements;
using KokkosIris::Impl::Elements;
using KokkosIris::Impl::HalfChunk;
using KokkosIris::Impl::Vector;

/// Where an element is, as AMD's documents say it: the lane that holds it, and which of the lane's
/// elements (of A, B) or registers (of C) it is. The other way round than in Layout.
struct Held {
  int lane, index;
};
template <class L>
Held operand_place(int outer, int k) {
  constexpr int adjacent_k = L::depth * L::side / wave_lanes;
  return {outer + L::side * (k / adjacent_k), k % adjacent_k};
}
/// Blocks of four rows alternate between the halves of the wave.
template <class L>
Held result_place(int row, int column) {
  if (L::side == 32) return {32 * (row / 4 % 2) + column, 4 * (row / 8) + row % 4};
  // v_mfma_f64_16x16x4: rows alternate between the quarters of the wave.
  return {16 * (row % 4) + column, row / 4};
}

template <class L>
void check_maps() {
  std::set<std::pair<int, int>> operand, result;
  for (int lane = 0; lane < wave_lanes; ++lane) {
    for (int e = 0; e < L::per_lane; ++e) {
      operand.insert({L::outer(lane), L::k(lane, e)});
      const Held held = operand_place<L>(L::outer(lane), L::k(lane, e));
      EXPECT_EQ(held.lane, lane);
      EXPECT_EQ(held.index, e);
    }
    for (int r = 0; r < L::registers; ++r) {
      result.insert({L::row(lane, r), L::column(lane)});
      const Held held = result_place<L>(L::row(lane, r), L::column(lane));
      EXPECT_EQ(held.lane, lane);
      EXPECT_EQ(held.index, r);
    }
  }
  EXPECT_EQ(operand.size(), std::size_t(L::side * L::depth));
  EXPECT_EQ(*operand.begin(), std::pair(0, 0));
  EXPECT_EQ(*operand.rbegin(), std::pair(L::side - 1, L::depth - 1));
  EXPECT_EQ(result.size(), std::size_t(L::side * L::side));
  EXPECT_EQ(*result.rbegin(), std::pair(L::side - 1, L::side - 1));
}

TEST(MfmaIntrinsics, EveryElementHasOnePlace) {
  check_maps<Layout32x32x8>();
  check_maps<Layout32x32x2>();
  check_maps<Layout16x16x4>();
}

template <class T>
T value(int purpose, int i) {
  return static_cast<T>(
      Test::random_value<double>(Test::stream(0, purpose), static_cast<std::uint64_t>(i)));
}

/// Puts element e of a lane's operand.
void put(HalfChunk& operand, int e, half_t x) {
  operand[e / 2] |= std::uint32_t(x.m_bits) << 16 * (e % 2);
}
void put(HalfChunk& operand, int e, bhalf_t x) {
  operand[e / 2] |= std::uint32_t(x.m_bits) << 16 * (e % 2);
}
void put(float& operand, int, float x) { operand = x; }
void put(double& operand, int, double x) { operand = x; }

/// C += A B by an instruction, from the places in AMD's documents, against a plain loop.
template <class L, class T, class Operand, class Acc, class Function>
void check_product(const Function& multiply) {
  constexpr int side = L::side, depth = L::depth;
  WaveRegister<Operand> a{}, b{};
  WaveRegister<Vector<Acc, L::registers>> c{};
  for (int i = 0; i < side; ++i) {
    for (int k = 0; k < depth; ++k) {
      const Held held = operand_place<L>(i, k);
      put(a[held.lane], held.index, value<T>(1, i * depth + k));
      put(b[held.lane], held.index, value<T>(2, k * side + i));
    }
    for (int j = 0; j < side; ++j) {
      const Held held = result_place<L>(i, j);
      c[held.lane][held.index] = value<Acc>(3, i * side + j);
    }
  }
  multiply(a, b, c);
  const double unit = std::is_same_v<Acc, float> ? 0x1.0p-24 : 0x1.0p-53;
  for (int i = 0; i < side; ++i) {
    for (int j = 0; j < side; ++j) {
      double sum = static_cast<double>(value<Acc>(3, i * side + j)), magnitude = std::abs(sum);
      for (int k = 0; k < depth; ++k) {
        const double term = static_cast<double>(value<T>(1, i * depth + k)) *
                            static_cast<double>(value<T>(2, k * side + j));
        sum += term;
        magnitude += std::abs(term);
      }
      const Held held = result_place<L>(i, j);
      ASSERT_NEAR(static_cast<double>(c[held.lane][held.index]), sum,
                  2 * (depth + 1) * unit * magnitude)
          << i << ", " << j;
    }
  }
}

TEST(MfmaIntrinsics, Products) {
  check_product<Layout32x32x8, half_t, HalfChunk, float>(
      [](const auto& a, const auto& b, auto& c) { mfma_f32_32x32x8_f16(a, b, c); });
  check_product<Layout32x32x8, bhalf_t, HalfChunk, float>(
      [](const auto& a, const auto& b, auto& c) { mfma_f32_32x32x8_bf16(a, b, c); });
  check_product<Layout32x32x2, float, float, float>(
      [](const auto& a, const auto& b, auto& c) { mfma_f32_32x32x2_f32(a, b, c); });
  check_product<Layout16x16x4, double, double, double>(
      [](const auto& a, const auto& b, auto& c) { mfma_f64_16x16x4_f64(a, b, c); });
}

/// All parts of the chunks of a wave: lane l has row or column l % side, and the chunks of lanes
/// that differ in l / side are different stretches of K.
template <class T>
void check_parts() {
  using I = Instruction<T>;
  using L = typename I::Shape;
  using Acc = typename I::Acc;
  constexpr int n = chunk_elements<T>;
  WaveRegister<Chunk> x, y;
  for (int lane = 0; lane < wave_lanes; ++lane) {
    Elements<T> a, b;
    for (int e = 0; e < n; ++e) {
      a.values[e] = value<T>(4, lane * n + e);
      b.values[e] = value<T>(5, lane * n + e);
    }
    std::memcpy(&x[lane], &a, sizeof(Chunk));
    std::memcpy(&y[lane], &b, sizeof(Chunk));
  }
  WaveRegister<Vector<Acc, L::registers>> c{};
  for (int part = 0; part < I::parts; ++part) I::multiply(x, y, part, c);
  for (int i = 0; i < L::side; ++i) {
    for (int j = 0; j < L::side; ++j) {
      double sum = 0.0;
      for (int g = 0; g < wave_lanes / L::side; ++g) {
        for (int e = 0; e < n; ++e) {
          sum += static_cast<double>(value<T>(4, (g * L::side + i) * n + e)) *
                 static_cast<double>(value<T>(5, (g * L::side + j) * n + e));
        }
      }
      const Held held = result_place<L>(i, j);
      ASSERT_NEAR(static_cast<double>(c[held.lane][held.index]), sum, 1e-5) << i << ", " << j;
    }
  }
}

TEST(MfmaIntrinsics, PartsOfChunksMakeUpTheirProduct) {
  check_parts<half_t>();
  check_parts<bhalf_t>();
  check_parts<float>();
  check_parts<double>();
}

TEST(MfmaStage, EveryChunkHasOnePlaceInScratchMemory) {
  std::set<int> offsets;
  for (int row = 0; row < stage_rows; ++row) {
    for (int byte = 0; byte < row_bytes; ++byte) {
      const int offset = scratch_offset(row, byte);
      offsets.insert(offset);
      EXPECT_EQ(offset % chunk_bytes, byte % chunk_bytes);
    }
  }
  EXPECT_EQ(offsets.size(), std::size_t(operand_bytes));
  EXPECT_EQ(*offsets.begin(), 0);
  EXPECT_EQ(*offsets.rbegin(), operand_bytes - 1);
}

/// The most accesses that a bank has to serve for these offsets, `bytes` each.
int most_in_a_bank(const std::vector<int>& offsets, int bytes) {
  std::array<int, 32> banks{};
  for (const int offset : offsets) {
    for (int word = 0; word < bytes / 4; ++word) ++banks[std::size_t(offset / 4 + word) % 32];
  }
  return *std::max_element(banks.begin(), banks.end());
}

/// Lanes read 16 bytes each, eight lanes at a time; which eight, AMD's documents do not state.
/// Consecutive ones, and the groups that AMD's library of kernels (CK Tile) names for gfx942.
TEST(MfmaStage, ReadingMeetsEachBankOnce) {
  for (const int side : {16, 32}) {
    for (const int spread : {1, 2}) {
      for (int base = 0; base + spread * side <= stage_rows; base += side) {
        const auto offset = [&](int lane) {
          return scratch_offset(base / (spread * side) * (spread * side) + lane % side * spread,
                                lane / side * chunk_bytes);
        };
        for (int group = 0; group < 8; ++group) {
          std::vector<int> consecutive, split;
          for (int i = 0; i < 8; ++i) {
            consecutive.push_back(offset(8 * group + i));
            const int first = group / 4 * 32 + group % 4 * 4;
            const int second = group / 4 * 32 + 16 + (group % 4 ^ 1) * 4;
            split.push_back(offset(i < 4 ? first + i : second + i - 4));
          }
          EXPECT_EQ(most_in_a_bank(consecutive, 16), 1) << side << ", " << spread << ", " << group;
          EXPECT_EQ(most_in_a_bank(split, 16), 1) << side << ", " << spread << ", " << group;
        }
      }
    }
  }
}

/// The LDS takes 128 bytes at a time: what as many lanes write must be in different banks.
template <class T>
void check_writing(bool along_k) {
  const int bytes = along_k ? 16 : 2 * static_cast<int>(sizeof(T));
  const int at_a_time = 128 / bytes;
  for (int e = 0; e < (along_k ? 2 : chunk_elements<T>); ++e) {
    for (int first = 0; first < team_threads; first += at_a_time) {
      std::vector<int> offsets;
      for (int thread = first; thread < first + at_a_time; ++thread) {
        const Place place = place_of<T>(along_k, thread, along_k ? e : 0);
        offsets.push_back(
            scratch_offset(place.row + (along_k ? 0 : e), place.k * static_cast<int>(sizeof(T))));
      }
      EXPECT_EQ(most_in_a_bank(offsets, bytes), 1) << along_k << ", " << first << ", " << e;
    }
  }
}
TEST(MfmaStage, WritingMeetsEachBankOnce) {
  for (const bool along_k : {true, false}) {
    check_writing<half_t>(along_k);
    check_writing<float>(along_k);
    check_writing<double>(along_k);
  }
}

/// Threads' chunks cover a stage once, in both directions.
template <class T>
void check_places() {
  for (const bool along_k : {true, false}) {
    std::set<std::pair<int, int>> elements;
    for (int thread = 0; thread < team_threads; ++thread) {
      for (int i = 0; i < 2; ++i) {
        const Place place = place_of<T>(along_k, thread, i);
        for (int e = 0; e < chunk_elements<T>; ++e) {
          elements.insert({place.row + (along_k ? 0 : e), place.k + (along_k ? e : 0)});
        }
      }
    }
    EXPECT_EQ(elements.size(), std::size_t(stage_rows * stage_k<T>));
    EXPECT_EQ(*elements.rbegin(), std::pair(stage_rows - 1, stage_k<T> - 1));
  }
}
TEST(MfmaStage, ThreadsLoadEveryElementOnce) {
  check_places<half_t>();
  check_places<float>();
  check_places<double>();
}

}  // namespace
