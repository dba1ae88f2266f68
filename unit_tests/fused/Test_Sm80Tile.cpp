// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The tiles of the engine sm80, both sizes of them, each by a kernel that does nothing else:
// element types, layouts and alignments of both operands in all combinations, extents up to a
// tile's, K around the stages.
//
// ranks: 1
// requires: cuda

#include <gtest/gtest.h>

#include <Kokkos_Core.hpp>
#include <cmath>
#include <core/KokkosIris_HalfTypes.hpp>
#include <cstdint>
#include <cstring>
#include <fused/KokkosIris_TileEngine_Sm80.hpp>
#include <string>
#include <vector>

namespace {

using KokkosIris::Impl::acc_type_t;
using KokkosIris::Impl::AccTile;
using KokkosIris::Impl::GpuExecutionSpace;
using KokkosIris::Impl::GpuMemorySpace;
using KokkosIris::Impl::MatrixRef;
namespace Sm80 = KokkosIris::Impl::Sm80;

/// How an operand of rows x K (of B: the transposed) lies.
enum class Lies { along_k, along_rows, along_k_odd, along_rows_odd, strided };
constexpr Lies all_lies[] = {Lies::along_k, Lies::along_rows, Lies::along_k_odd,
                             Lies::along_rows_odd, Lies::strided};

struct Case {
  Lies a, b;
  std::int64_t m, n, k;
  std::int64_t ld_more;  ///< of the result beyond N
};

template <class T, int Tile>
struct TileKernel {
  MatrixRef<const T> a, b;
  AccTile<acc_type_t<T>> out;

  template <class Team>
  KOKKOS_FUNCTION void operator()(const Team&) const {
    Sm80::TileProduct<T, Tile>::compute(a, b, out);
  }
};

/// Memory of the GPU and of the host with the same contents.
template <class T>
class Memory {
 public:
  explicit Memory(std::size_t size)
      : m_gpu("memory", size), m_host(Kokkos::create_mirror_view(m_gpu)) {}
  void poison() { std::memset(m_host.data(), 0xff, m_host.size() * sizeof(T)); }
  void push() { Kokkos::deep_copy(m_gpu, m_host); }
  void pull() { Kokkos::deep_copy(m_host, m_gpu); }
  T* gpu() { return m_gpu.data(); }
  T& operator[](std::int64_t i) { return m_host(static_cast<std::size_t>(i)); }
  std::int64_t size() const { return static_cast<std::int64_t>(m_host.size()); }

 private:
  Kokkos::View<T*, GpuMemorySpace> m_gpu;
  typename Kokkos::View<T*, GpuMemorySpace>::HostMirror m_host;
};

/// An operand in poisoned memory, its first element at a multiple of 16 bytes or one off.
template <class T>
class Factor {
 public:
  MatrixRef<const T> place(Lies lies, std::int64_t rows, std::int64_t k, std::uint64_t seed) {
    constexpr std::int64_t chunk = KokkosIris::Impl::chunk_elements<T>;
    const std::int64_t even_k = KokkosIris::Impl::round_up(k, chunk) + chunk;
    const std::int64_t even_rows = KokkosIris::Impl::round_up(rows, chunk) + chunk;
    std::int64_t offset = 4 * chunk;
    m_ref = {nullptr, rows, k, even_k, 1};
    switch (lies) {
      case Lies::along_k:
        break;
      case Lies::along_rows:
        m_ref = {nullptr, rows, k, 1, even_rows};
        break;
      case Lies::along_k_odd:
        m_ref = {nullptr, rows, k, even_k + 1, 1};
        break;
      case Lies::along_rows_odd:
        m_ref = {nullptr, rows, k, 1, even_rows};
        ++offset;
        break;
      case Lies::strided:
        m_ref = {nullptr, rows, k, 2 * even_k, 2};
        break;
    }
    m_memory.poison();
    m_ref.data = &m_memory[offset];
    values.resize(static_cast<std::size_t>(rows * k));
    std::uint64_t state = seed * 2654435761u + 1;
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < k; ++j) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        const double x = static_cast<double>(static_cast<std::int64_t>(state) >> 11) * 0x1.0p-52;
        *const_cast<T*>(m_ref.at(i, j)) = static_cast<T>(x);
        values[static_cast<std::size_t>(i * k + j)] = static_cast<double>(*m_ref.at(i, j));
      }
    }
    m_memory.push();
    MatrixRef<const T> there = m_ref;
    there.data = m_memory.gpu() + offset;
    return there;
  }

  std::vector<double> values;  ///< rounded to the type, row by row

 private:
  MatrixRef<const T> m_ref;
  Memory<T> m_memory{std::size_t(1) << 17};
};

template <class T, int Tile>
class Product {
  using Acc = acc_type_t<T>;

 public:
  void run(const Case& c) {
    const TileKernel<T, Tile> kernel{m_a.place(c.a, c.m, c.k, m_seed),
                                     m_b.place(c.b, c.n, c.k, m_seed + 1),
                                     {m_c.gpu() + guard, c.n + c.ld_more, c.m, c.n}};
    m_seed += 2;
    m_c.poison();
    m_c.push();
    const GpuExecutionSpace exec;
    Sm80::launch(exec, 1, "test", kernel, 0);
    exec.fence("test");
    m_c.pull();
    check(c);
  }

 private:
  static constexpr std::int64_t guard = 64;

  std::string describe(const Case& c) const {
    return "tile of " + std::to_string(Tile) + ", " + std::to_string(sizeof(T)) + " bytes, " +
           std::to_string(c.m) + " x " + std::to_string(c.n) + " x " + std::to_string(c.k) +
           ", lying " + std::to_string(int(c.a)) + " and " + std::to_string(int(c.b));
  }
  void check(const Case& c) {
    const double unit = std::is_same_v<Acc, double> ? 0x1.0p-53 : 0x1.0p-24;
    const std::int64_t ld = c.n + c.ld_more;
    for (std::int64_t at = 0; at < m_c.size(); ++at) {
      const std::int64_t i = (at - guard) / ld, j = (at - guard) % ld;
      if (at >= guard && i < c.m && j < c.n) continue;
      ASSERT_TRUE(std::isnan(m_c[at])) << "written outside of the tile: " << describe(c);
      if (at > guard + c.m * ld + guard) break;
    }
    for (std::int64_t i = 0; i < c.m; ++i) {
      for (std::int64_t j = 0; j < c.n; ++j) {
        const double* const a = m_a.values.data() + i * c.k;
        const double* const b = m_b.values.data() + j * c.k;
        double sum = 0.0, magnitude = 0.0;
        for (std::int64_t k = 0; k < c.k; ++k) {
          sum += a[k] * b[k];
          magnitude += std::abs(a[k] * b[k]);
        }
        // A term has a rounding of the product and one of the sum; the oracle's come on top.
        const double tolerance = (2.0 * unit + 0x1.0p-52) * static_cast<double>(c.k) * magnitude;
        const double value = static_cast<double>(m_c[guard + i * ld + j]);
        ASSERT_LE(std::abs(value - sum), tolerance)
            << "(" << i << ", " << j << ") is " << value << ", not " << sum << ": " << describe(c);
      }
    }
  }

  Factor<T> m_a, m_b;
  Memory<Acc> m_c{std::size_t(1) << 15};
  std::uint64_t m_seed = 1;
};

template <class T, int Tile>
void run_all() {
  if (!KokkosIris::Impl::have_sm80_gpu) GTEST_SKIP() << "this GPU has no such engine";
  Product<T, Tile> product;
  // Stages have 256 bytes of a small tile's K, 128 of a large one's; more than three of them go
  // round.
  constexpr std::int64_t stage = (Tile == 64 ? 256 : 128) / sizeof(T);
  const std::int64_t ks[] = {
      0,         1,         stage / 2 - 1, stage / 2 + 3, stage - 1, stage,
      stage + 1, 2 * stage, 3 * stage + 8, 4 * stage - 7, 5 * stage, 6 * stage + 5};
  const std::int64_t extents[] = {1, Tile, 7, Tile - 1, Tile / 2, 3, Tile / 2 + 1, Tile - 8};
  int number = 0;
  for (const Lies a : all_lies) {
    for (const Lies b : all_lies) {
      for (const std::int64_t k : ks) {
        for (const bool whole : {true, false}) {
          const std::int64_t m = whole ? Tile : extents[number % 8];
          const std::int64_t n = whole ? Tile : extents[number / 3 % 8];
          ++number;
          product.run({a, b, m, n, k, number % 5 == 0 ? 3 : 8});
          if (::testing::Test::HasFatalFailure()) return;
        }
      }
    }
  }
}

TEST(Sm80Tile, LargeDouble) { run_all<double, 128>(); }
TEST(Sm80Tile, LargeFloat) { run_all<float, 128>(); }
TEST(Sm80Tile, LargeHalf) { run_all<KokkosIris::half_t, 128>(); }
TEST(Sm80Tile, LargeBfloat16) { run_all<KokkosIris::bhalf_t, 128>(); }
TEST(Sm80Tile, SmallDouble) { run_all<double, 64>(); }
TEST(Sm80Tile, SmallFloat) { run_all<float, 64>(); }
TEST(Sm80Tile, SmallHalf) { run_all<KokkosIris::half_t, 64>(); }
TEST(Sm80Tile, SmallBfloat16) { run_all<KokkosIris::bhalf_t, 64>(); }

}  // namespace
