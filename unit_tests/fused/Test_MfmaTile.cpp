// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Tiles of the engine for AMD's matrix cores, on the host with the instructions emulated: extents
// around tiles and stages of K, any layout, stride and alignment, poisoned memory around operands.
//
// ranks: 1
// timeout: 60

#include <sys/mman.h>

#include <FusedBench.hpp>
#include <fused/KokkosIris_TileEngine_Mfma.hpp>
#include <limits>
#include <stdexcept>

/// Not unnamed: what only devices call would be an unused function there.
namespace MfmaTileTest {

/// A team that looks at its barriers which halves of scratch memory have changed since the one
/// before. (On the host phases follow each other, so that a missing barrier would not be noticed
/// otherwise.)
struct WatchfulTeam {
  std::vector<char>* scratch;
  std::vector<char>* before;
  std::vector<std::string>* changes;  ///< of each barrier: the numbers of the halves

  KOKKOS_FUNCTION void team_barrier() const { KOKKOS_IF_ON_HOST((look();)) }
  KOKKOS_FUNCTION int team_rank() const { return 0; }
  void look() const {
    const std::size_t half = scratch->size() / 2;
    std::string changed;
    for (std::size_t h = 0; h < 2; ++h) {
      const auto begin = static_cast<std::ptrdiff_t>(h * half);
      const auto end = begin + static_cast<std::ptrdiff_t>(half);
      if (!std::equal(scratch->begin() + begin, scratch->begin() + end, before->begin() + begin)) {
        changed += std::to_string(h);
      }
    }
    changes->push_back(changed);
    *before = *scratch;
  }
};

}  // namespace MfmaTileTest

namespace {

using MfmaTileTest::WatchfulTeam;

using namespace ::Test;
using KokkosIris::Impl::AccTile;
using KokkosIris::Impl::ItemSchedule;
using KokkosIris::Impl::MatrixRef;
using KokkosIris::Impl::MfmaTileEngine;
using KokkosIris::Impl::PanelShards;

using Exec = Kokkos::DefaultHostExecutionSpace;
using Policy = Kokkos::TeamPolicy<Exec>;
using Team = Policy::member_type;

/// Calls body(team) with one team that has the engine's scratch memory.
template <class Engine, class Body>
void with_team(const Body& body) {
  Policy policy(1, 1);
  policy.set_scratch_size(0, Kokkos::PerTeam(static_cast<int>(Engine::scratch_bytes())));
  Kokkos::parallel_for(policy, [&](const Team& team) { body(team); });
  Kokkos::fence();
}

template <class T>
MatrixRef<const T> matrix(const Operand& o) {
  return {static_cast<const T*>(o.data), o.rows, o.cols, o.row_stride, o.col_stride};
}

/// One product; operands have their own arenas.
struct Case {
  std::int64_t m, n, k;
  Layout a = Layout::right, b = Layout::right;
  std::int64_t a_offset = 0, b_offset = 0;  ///< elements
  std::int64_t ld = 0;                      ///< of the tile; 0: n
  std::int64_t out_offset = 0;              ///< elements
};

/// A tile of accumulators among sentinels, which are NaN like the tile before.
template <class Acc>
class Tile {
 public:
  explicit Tile(const Case& c)
      : m_ld(c.ld == 0 ? c.n : c.ld),
        m_memory(static_cast<std::size_t>(c.m * m_ld + c.n + 256),
                 std::numeric_limits<Acc>::quiet_NaN()),
        m_case(c) {
    // So that out_offset alone decides about the alignment.
    Acc* begin = m_memory.data() + 64;
    while (reinterpret_cast<std::uintptr_t>(begin) % 64 != 0) ++begin;
    m_begin = begin + c.out_offset;
  }
  AccTile<Acc> tile() { return {m_begin, m_ld, m_case.m, m_case.n}; }
  double at(std::int64_t i, std::int64_t j) { return static_cast<double>(m_begin[i * m_ld + j]); }
  bool sentinels_live() {
    const AccTile<Acc> t = tile();
    for (std::int64_t i = 0; i < t.rows; ++i) {
      for (std::int64_t j = 0; j < t.cols; ++j) t.data[i * t.ld + j] = std::nan("");
    }
    return std::all_of(m_memory.begin(), m_memory.end(), [](Acc x) { return std::isnan(x); });
  }

 private:
  std::int64_t m_ld;
  std::vector<Acc> m_memory;
  Acc* m_begin = nullptr;
  Case m_case;
};

template <class T>
class Product {
  using Engine = MfmaTileEngine<T>;
  using Acc = typename Engine::Acc;

 public:
  explicit Product(Element element) : m_element(element) {}

  void run(const Case& c) {
    const Problem problem{
        m_element, FusedOperation::matmul_all_reduce, c.m, c.n, c.k, BiasAxis::none, -1, m_seed++};
    const auto a_values = operand_values(problem, 0, 'a', c.m * c.k);
    const auto b_values = operand_values(problem, 0, 'b', c.k * c.n);
    const Operand a = m_a.place(m_element, laid_out(c.a, c.m, c.k), c.a_offset);
    const Operand b = m_b.place(m_element, laid_out(c.b, c.k, c.n), c.b_offset);
    m_a.write(a_values);
    m_b.write(b_values);
    Tile<Acc> out(c);
    const ItemSchedule schedule = ItemSchedule::make(c.m, c.n, 1, 1024, 1024, 16, 1);
    const Engine engine{{{matrix<T>(b), schedule, false}}};
    with_team<Engine>(
        [&](const Team& team) { engine.compute(team, matrix<T>(a), 0, 0, out.tile()); });
    check(c, out, a_values, b_values);
    EXPECT_TRUE(out.sentinels_live()) << "written outside of the tile: " << describe(c);
    EXPECT_TRUE(m_a.clear()) << "written near A: " << describe(c);
    EXPECT_TRUE(m_b.clear()) << "written near B: " << describe(c);
  }

 private:
  static constexpr std::size_t arena_bytes = std::size_t(4) << 20;

  std::string describe(const Case& c) const {
    return std::string(name_of(m_element)) + ", M = " + std::to_string(c.m) +
           ", N = " + std::to_string(c.n) + ", K = " + std::to_string(c.k) + ", layouts " +
           std::to_string(int(c.a)) + " and " + std::to_string(int(c.b)) + ", offsets " +
           std::to_string(c.a_offset) + " and " + std::to_string(c.b_offset);
  }
  void check(const Case& c, Tile<Acc>& out, const std::vector<double>& a,
             const std::vector<double>& b) {
    const double unit = std::is_same_v<Acc, double> ? 0x1.0p-53 : 0x1.0p-24;
    std::vector<double> sums(static_cast<std::size_t>(c.n)), magnitudes(sums.size());
    for (std::int64_t i = 0; i < c.m; ++i) {
      std::fill(sums.begin(), sums.end(), 0.0);
      std::fill(magnitudes.begin(), magnitudes.end(), 0.0);
      for (std::int64_t k = 0; k < c.k; ++k) {
        const double factor = a[static_cast<std::size_t>(i * c.k + k)];
        for (std::int64_t j = 0; j < c.n; ++j) {
          const double term = factor * b[static_cast<std::size_t>(k * c.n + j)];
          sums[static_cast<std::size_t>(j)] += term;
          magnitudes[static_cast<std::size_t>(j)] += std::abs(term);
        }
      }
      for (std::int64_t j = 0; j < c.n; ++j) {
        // A term has a rounding of the product and one of the sum; the oracle's come on top.
        const auto at = static_cast<std::size_t>(j);
        const double tolerance =
            (2.0 * unit + 0x1.0p-52) * static_cast<double>(c.k) * magnitudes[at];
        ASSERT_LE(std::abs(out.at(i, j) - sums[at]), tolerance)
            << "(" << i << ", " << j << ") is " << out.at(i, j) << ", not " << sums[at] << ": "
            << describe(c);
      }
    }
  }

  Element m_element;
  std::uint64_t m_seed = 1;
  std::vector<char> m_a_memory = std::vector<char>(arena_bytes),
                    m_b_memory = std::vector<char>(arena_bytes);
  Arena m_a{m_a_memory.data(), arena_bytes}, m_b{m_b_memory.data(), arena_bytes};
};

template <class T>
struct ElementOf;
template <>
struct ElementOf<double> {
  static constexpr Element value = Element::f64;
};
template <>
struct ElementOf<float> {
  static constexpr Element value = Element::f32;
};
template <>
struct ElementOf<KokkosIris::half_t> {
  static constexpr Element value = Element::f16;
};
template <>
struct ElementOf<KokkosIris::bhalf_t> {
  static constexpr Element value = Element::bf16;
};

template <class T>
class MfmaTile : public testing::Test {
 public:
  static constexpr Element element = ElementOf<T>::value;
  static constexpr std::int64_t stage = KokkosIris::Impl::Mfma::stage_k<T>;
  Product<T> product{element};
};
using Types = testing::Types<double, float, KokkosIris::half_t, KokkosIris::bhalf_t>;
TYPED_TEST_SUITE(MfmaTile, Types);

TYPED_TEST(MfmaTile, OneDimensionAtATime) {
  for (const std::int64_t extent : {1, 2, 15, 16, 17, 31, 33, 63, 64, 65, 97, 127, 128, 129, 257}) {
    this->product.run({extent, 37, 19});
    this->product.run({37, extent, 19, Layout::left, Layout::left});
  }
  const std::int64_t stage = TestFixture::stage;
  for (const std::int64_t k : {std::int64_t(0), std::int64_t(1), stage - 1, stage, stage + 1,
                               2 * stage, 3 * stage - 1, 4 * stage + 3}) {
    this->product.run({19, 37, k});
    this->product.run({19, 37, k, Layout::left, Layout::left});
  }
  this->product.run({0, 5, 7});
  this->product.run({5, 0, 7});
}

/// Whole tiles and whole stages are loaded without masks; the stages behind them are not.
TYPED_TEST(MfmaTile, WholeTilesInEveryLayout) {
  const std::int64_t stage = TestFixture::stage;
  for (int a = 0; a < layout_count; ++a) {
    for (int b = 0; b < layout_count; ++b) {
      for (const std::int64_t k : {3 * stage, 2 * stage + 5}) {
        this->product.run({128, 128, k, static_cast<Layout>(a), static_cast<Layout>(b)});
      }
    }
  }
}

/// Bases that are and are not multiples of 16 bytes, with rows that are.
TYPED_TEST(MfmaTile, EveryAlignment) {
  const std::int64_t stage = TestFixture::stage;
  const std::int64_t chunk = 16 / static_cast<std::int64_t>(sizeof(TypeParam));
  for (std::int64_t offset = 0; offset <= chunk; ++offset) {
    for (const Layout layout : {Layout::right, Layout::left}) {
      Case c{128, 128, 2 * stage, layout, layout};
      c.a_offset = offset;
      this->product.run(c);
      c.b_offset = chunk - offset;
      c.out_offset = offset;
      c.ld = 128 + offset;
      this->product.run(c);
      this->product.run({129, 61, stage + 1, layout, layout, offset, offset, 64, offset});
    }
  }
}

/// Other layouts than the two operands' common ones, and primes.
TYPED_TEST(MfmaTile, MixedLayoutsAndPrimes) {
  int number = 0;
  for (const std::int64_t m : {1, 61, 131}) {
    for (const std::int64_t n : {1, 67, 127}) {
      for (const std::int64_t k : {1, 13, 71}) {
        ++number;
        this->product.run({m, n, k, static_cast<Layout>(number % layout_count),
                           static_cast<Layout>(number / 2 % layout_count), number % 9, number % 7,
                           n + number % 5, number % 4});
      }
    }
  }
}

/// Memory that ends, or begins, where a page begins that must not be touched.
class GuardedPage {
 public:
  GuardedPage() {
    m_begin =
        static_cast<char*>(mmap(nullptr, 3 * bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (m_begin == MAP_FAILED || mprotect(m_begin + bytes, bytes, PROT_READ | PROT_WRITE) != 0) {
      throw std::runtime_error("no memory between guards");
    }
  }
  ~GuardedPage() { munmap(m_begin, 3 * bytes); }
  GuardedPage(const GuardedPage&) = delete;

  /// A matrix of ones at the begin or at the end.
  template <class T>
  MatrixRef<const T> ones(const Operand& o, bool at_end) {
    const auto count =
        static_cast<std::size_t>((o.rows - 1) * o.row_stride + (o.cols - 1) * o.col_stride + 1);
    T* const data =
        reinterpret_cast<T*>(m_begin + (at_end ? 2 * bytes - count * sizeof(T) : bytes));
    std::fill(data, data + count, T(1));
    return {data, o.rows, o.cols, o.row_stride, o.col_stride};
  }

 private:
  static constexpr std::size_t bytes = std::size_t(1) << 20;
  char* m_begin;
};

TYPED_TEST(MfmaTile, NothingIsReadOutsideOfOperands) {
  using Engine = MfmaTileEngine<TypeParam>;
  GuardedPage a_page, b_page;
  const std::int64_t stage = TestFixture::stage;
  for (const bool at_end : {true, false}) {
    for (const Layout layout : {Layout::right, Layout::left, Layout::strided}) {
      for (const std::int64_t extent : {1, 113, 127, 128, 131}) {
        for (const std::int64_t k : {stage - 1, stage, 2 * stage, 2 * stage + 3}) {
          const auto a = a_page.ones<TypeParam>(laid_out(layout, extent, k), at_end);
          const auto b = b_page.ones<TypeParam>(laid_out(layout, k, extent), at_end);
          Tile<typename Engine::Acc> out(Case{extent, extent, k});
          const Engine engine{
              {{b, ItemSchedule::make(extent, extent, 1, 1024, 1024, 16, 1), false}}};
          with_team<Engine>([&](const Team& team) { engine.compute(team, a, 0, 0, out.tile()); });
          for (std::int64_t i = 0; i < extent; ++i) {
            for (std::int64_t j = 0; j < extent; ++j) ASSERT_EQ(out.at(i, j), double(k));
          }
        }
      }
    }
  }
}

/// What is written between two barriers is one half of scratch memory, and it is read between the
/// next two, when the other half is written.
TYPED_TEST(MfmaTile, BarriersSeparateWritingAndReading) {
  using TileProduct = typename MfmaTileEngine<TypeParam>::Product;
  using Acc = typename TileProduct::Acc;
  const std::int64_t stage = TestFixture::stage;
  const auto changes = [&](std::int64_t rows, std::int64_t k) {
    // Rows begin at multiples of 16 bytes.
    const std::int64_t ld = (k + 15) / 16 * 16;
    const Problem problem{TestFixture::element, FusedOperation::matmul_all_reduce, rows, rows, ld};
    std::vector<TypeParam> a, b;
    for (const double x : operand_values(problem, 0, 'a', rows * ld)) a.push_back(TypeParam(x));
    for (const double x : operand_values(problem, 0, 'b', rows * ld)) b.push_back(TypeParam(x));
    Tile<Acc> out(Case{rows, rows, k});
    std::vector<char> scratch(KokkosIris::Impl::Mfma::scratch_bytes), before = scratch;
    std::vector<std::string> result;
    TileProduct::compute(WatchfulTeam{&scratch, &before, &result}, scratch.data(),
                         {a.data(), rows, k, ld, 1}, {b.data(), rows, k, ld, 1}, out.tile());
    return result;
  };
  using Changes = std::vector<std::string>;
  // Not whole tiles, then whole tiles, then those with a rest of K, which is a loop of its own.
  EXPECT_EQ(changes(100, 4 * stage), (Changes{"0", "1", "0", "1", ""}));
  EXPECT_EQ(changes(128, 5 * stage), (Changes{"0", "1", "0", "1", "0", ""}));
  EXPECT_EQ(changes(128, 3 * stage + 1), (Changes{"0", "1", "0", "", "0", ""}));
  EXPECT_EQ(changes(1, 1), (Changes{"0", ""}));
  EXPECT_EQ(changes(1, 0), (Changes{""}));
}

/// Columns of a chunk that begins in the middle of B.
TYPED_TEST(MfmaTile, ChunksOfColumns) {
  using Engine = MfmaTileEngine<TypeParam>;
  using Acc = typename Engine::Acc;
  constexpr std::int64_t m = 21, n = 95, k = 40;
  const Problem problem{TestFixture::element, FusedOperation::matmul_all_reduce, m, n, k};
  std::vector<TypeParam> a, b;
  for (const double x : operand_values(problem, 0, 'a', m * k)) a.push_back(TypeParam(x));
  for (const double x : operand_values(problem, 0, 'b', k * n)) b.push_back(TypeParam(x));
  // Owners have 32, 32 and 31 columns, in blocks of 16.
  const ItemSchedule schedule = ItemSchedule::make(m, n, 3, m, 16, 16, 1);
  ASSERT_EQ(schedule.block_columns, 16);
  const Engine engine{{{{b.data(), k, n, n, 1}, schedule, false}}};
  for (int owner = 0; owner < 3; ++owner) {
    const std::int64_t cols = schedule.columns_of(owner, 1);
    Tile<Acc> out(Case{m, cols, k});
    with_team<Engine>([&](const Team& team) {
      engine.compute(team, {a.data(), m, k, k, 1}, owner, 16, out.tile());
    });
    for (std::int64_t i = 0; i < m; ++i) {
      for (std::int64_t j = 0; j < cols; ++j) {
        double sum = 0.0;
        for (std::int64_t l = 0; l < k; ++l) {
          sum += double(a[std::size_t(i * k + l)]) *
                 double(b[std::size_t(l * n + schedule.chunk_begin(owner) + 16 + j)]);
        }
        ASSERT_NEAR(out.at(i, j), sum, 1e-3) << owner << ": " << i << ", " << j;
      }
    }
  }
}

/// Shards in an array, and waits that write down what for; one of them may be given up.
template <class T>
struct ShardArray {
  const MatrixRef<const T>* shards;
  KOKKOS_FUNCTION MatrixRef<const T> operator()(int s) const { return shards[s]; }
};
struct Waits {
  int* waited;
  int* count;
  int given_up;
  KOKKOS_FUNCTION bool operator()(int s) const {
    waited[(*count)++] = s;
    return s != given_up;
  }
};

/// Shards of any layout become one panel, whose rows begin at multiples of 16 bytes; what lies
/// between them stays untouched.
TYPED_TEST(MfmaTile, ShardsMakeAPanel) {
  using Engine = MfmaTileEngine<TypeParam>;
  constexpr std::int64_t rows = 19;
  for (const std::int64_t shard_k : {1, 7, 16, 24}) {
    for (int layout = 0; layout < layout_count; ++layout) {
      constexpr int count = 3;
      const Problem problem{TestFixture::element, FusedOperation::all_gather_matmul, rows, 1,
                            shard_k};
      std::vector<std::vector<char>> memory(count, std::vector<char>(std::size_t(1) << 16));
      std::vector<Arena> arenas;
      std::vector<MatrixRef<const TypeParam>> shards;
      for (int s = 0; s < count; ++s) {
        arenas.emplace_back(memory[std::size_t(s)].data(), memory[std::size_t(s)].size());
        shards.push_back(matrix<TypeParam>(arenas.back().place(
            TestFixture::element, laid_out(static_cast<Layout>(layout), rows, shard_k), s)));
        arenas.back().write(operand_values(problem, s, 'a', rows * shard_k));
      }
      const PanelShards<TypeParam, ShardArray<TypeParam>, true> panel_shards{
          {shards.data()}, rows, shard_k, count, 1};
      const ItemSchedule schedule = ItemSchedule::make(rows, 1, 1, rows, 1, 16, 1);
      const Engine engine{{{{}, schedule, true}}};
      const std::size_t bytes = Engine::panel_bytes(schedule, count * shard_k, true);
      std::vector<char> buffer(bytes + 128, char(0xff));
      char* begin = buffer.data();
      while (reinterpret_cast<std::uintptr_t>(begin) % 64 != 0) ++begin;
      std::vector<int> waited(count);
      int waits = 0;
      typename Engine::Panel panel;
      with_team<Engine>([&](const Team& team) {
        EXPECT_TRUE(
            engine.load(team, begin, panel_shards, Waits{waited.data(), &waits, -1}, panel));
      });
      EXPECT_EQ(waited, (std::vector<int>{1, 2, 0}));
      ASSERT_EQ(panel.cols, count * shard_k);
      EXPECT_EQ(panel.col_stride, 1);
      EXPECT_EQ(panel.row_stride * std::int64_t(sizeof(TypeParam)) % 16, 0);
      for (std::int64_t i = 0; i < rows; ++i) {
        for (std::int64_t j = 0; j < panel.cols; ++j) {
          const int s = static_cast<int>(j / shard_k);
          ASSERT_EQ(double(*panel.at(i, j)),
                    operand_value(problem, s, 'a', i * shard_k + j % shard_k));
        }
        std::memset(begin + i * panel.row_stride * std::int64_t(sizeof(TypeParam)), 0xff,
                    std::size_t(panel.cols) * sizeof(TypeParam));
      }
      EXPECT_TRUE(
          std::all_of(buffer.begin(), buffer.end(), [](char byte) { return byte == char(0xff); }));
      waits = 0;
      with_team<Engine>([&](const Team& team) {
        EXPECT_FALSE(
            engine.load(team, begin, panel_shards, Waits{waited.data(), &waits, 2}, panel));
      });
      EXPECT_EQ(waits, 2);
    }
  }
}

}  // namespace
