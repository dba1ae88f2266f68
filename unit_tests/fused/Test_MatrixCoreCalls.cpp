// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The fused operations with the engines for matrix and tensor cores: that of AMD GPUs there, and on
// the host with the instructions emulated, where schedule, exchange, epilogues and lane mapping are
// the same text; that of NVIDIA GPUs in general on these.
//
// ranks: 1 2 3 4

#include <FusedBench.hpp>
#include <algorithm>
#include <fused/KokkosIris_TileEngine_Mfma.hpp>
#include <fused/KokkosIris_TileEngine_Sm80.hpp>

namespace {

using namespace ::Test;

struct Extents {
  std::int64_t m, n, k;
};

constexpr std::size_t arena_bytes = std::size_t(2) << 20;

TileEngine engine_of(const FusedBench& bench) {
  return bench.on_gpu() && !KokkosIris::Impl::have_mfma_gpu ? TileEngine::sm80 : TileEngine::mfma;
}
/// True where there is none.
bool refused(const FusedBench& bench) {
  return engine_of(bench) == TileEngine::sm80 && !KokkosIris::Impl::have_sm80_gpu;
}

Layout layout(int number) { return static_cast<Layout>(number % layout_count); }

void run(FusedBench& bench, const Extents& e, FusedOperation operation, int number,
         const FusedConfig& sizes = {}) {
  Problem problem{all_elements[number % 4], operation, e.m, e.n, e.k};
  constexpr BiasAxis axes[] = {BiasAxis::cols, BiasAxis::none, BiasAxis::rows};
  problem.bias = axes[number % 3];
  problem.bias_rank = number % 2 == 0 ? -1 : number / 2 % bench.ranks();
  problem.seed = static_cast<std::uint64_t>(number);
  Way way;
  way.config = sizes;
  way.config.engine = engine_of(bench);
  way.a = layout(number + bench.rank());
  way.b = layout(number / 2 + 3 * bench.rank());
  way.c = layout(number / 3 + bench.rank());
  way.offset = (number + 5 * bench.rank()) % 17;
  way.async_op = number % 5 == 0;
  if (number % 3 == 0 && bench.has(problem.element, Space::parallel)) way.space = Space::parallel;
  const auto workspace = bench.run(problem, way, ", case " + std::to_string(number));
  EXPECT_EQ(workspace.engine(), KokkosIris::Impl::to_string(engine_of(bench)));
  if (operation == FusedOperation::matmul_all_reduce) bench.agreed_hash();
}

/// Every operation and type; extents around the tiles.
FUSED_TEST(MatrixCoreCalls, Shapes) {
  FusedBench bench(backend, arena_bytes);
  if (refused(bench)) GTEST_SKIP() << "this GPU has no such engine";
  int number = 0;
  for (const Extents& extents :
       {Extents{37, 29, 41}, Extents{1, 1, 1}, Extents{130, 17, 33}, Extents{17, 131, 5},
        Extents{0, 3, 4}, Extents{3, 0, 4}, Extents{4, 3, 0}, Extents{64, 128, 32}}) {
    for (const FusedOperation operation : all_operations) {
      for (int type = 0; type < 4; ++type, ++number) run(bench, extents, operation, number);
      ++number;  // other layouts and biases for the same type
    }
  }
}

/// Tiles narrower than the engine's, and so many that staging is used again and again.
FUSED_TEST(MatrixCoreCalls, SmallTiles) {
  FusedBench bench(backend, arena_bytes);
  if (refused(bench)) GTEST_SKIP() << "this GPU has no such engine";
  int number = 0;
  for (const FusedOperation operation : all_operations) {
    for (const int width : {16, 48}) {
      for (const int teams : {1, 2}) {
        for (int i = 0; i < 3; ++i, ++number) {
          run(bench, {71, 65, 19}, operation, number,
              {.panel_rows = 24, .block_columns = width, .teams = teams});
        }
      }
    }
  }
}

/// Operands as the engine likes them: chunks of 16 bytes from the begin to the end, to and from all
/// ranks; both layouts of each operand.
FUSED_TEST(MatrixCoreCalls, AlignedOperands) {
  FusedBench bench(backend, arena_bytes);
  if (refused(bench)) GTEST_SKIP() << "this GPU has no such engine";
  int number = 0;
  for (const FusedOperation operation : all_operations) {
    for (int layouts = 0; layouts < 8; ++layouts, ++number) {
      Problem problem{all_elements[number % 4], operation, 128, 128, 64, BiasAxis::cols};
      problem.seed = static_cast<std::uint64_t>(number);
      Way way;
      way.config.engine = engine_of(bench);
      way.aligned = true;
      way.a = layout(layouts % 2);
      way.b = layout(layouts / 2 % 2);
      way.c = layout(layouts / 4);
      bench.run(problem, way, ", layouts " + std::to_string(layouts));
    }
  }
}

/// Both sizes of tiles that the engine sm80 has, as sizes in the configuration ask for them and as
/// it chooses them: the large ones where one team has to compute everything, the small ones where
/// there are more teams than large tiles. (The engine mfma has one size.)
FUSED_TEST(MatrixCoreCalls, BothTiles) {
  FusedBench bench(backend, std::size_t(8) << 20);
  if (refused(bench)) GTEST_SKIP() << "this GPU has no such engine";
  struct Choice {
    FusedConfig config;
    int tile;
  };
  const Choice choices[] = {{{.panel_rows = 128, .block_columns = 128}, 128},
                            {{.panel_rows = 64, .block_columns = 64}, 64},
                            {{.panel_rows = 250, .block_columns = 128, .teams = 1}, 128},
                            {{.panel_rows = 32, .block_columns = 80, .teams = 3}, 64},
                            {{.teams = 1}, 128},
                            {{}, 64}};
  constexpr Layout layouts[] = {Layout::right, Layout::left, Layout::right_padded,
                                Layout::left_padded, Layout::strided};
  const bool on_gpu = bench.on_gpu();
  int number = 0;
  for (const Choice& choice : choices) {
    for (const FusedOperation operation : all_operations) {
      for (const std::int64_t k : {72, 0, 131}) {
        for (const bool aligned : {true, false}) {
          if (!on_gpu && number % 5 != 0 && ++number > 0) continue;
          // Not quite two rows of large tiles, and one in the chunk of each owner.
          const std::int64_t columns =
              operation == FusedOperation::matmul_reduce_scatter ? 127 : 128 * bench.ranks() - 3;
          Problem problem{all_elements[number % 4], operation, on_gpu ? 250 : 50,
                          on_gpu ? columns : columns / 4, k};
          problem.bias = number % 3 == 0 ? BiasAxis::rows : BiasAxis::none;
          problem.seed = static_cast<std::uint64_t>(number);
          Way way;
          way.config = choice.config;
          way.config.engine = engine_of(bench);
          way.aligned = aligned;
          way.offset = aligned ? 0 : number;
          way.a = layouts[(number + bench.rank()) % 5];
          way.b = layouts[number / 5 % 5];
          way.c = layouts[number / 2 % 4];
          const auto workspace = bench.run(problem, way, ", case " + std::to_string(number));
          if (engine_of(bench) == TileEngine::sm80) {
            EXPECT_EQ(workspace.state()->sm80_tile, choice.tile) << "case " << number;
          }
          ++number;
        }
      }
    }
  }
}

/// Many stretches of K, with and without a tail, of operands in both layouts, with and without
/// chunks of 16 bytes. On the host the emulation would take long.
FUSED_TEST(MatrixCoreCalls, LongProducts) {
  FusedBench bench(backend, arena_bytes);
  if (refused(bench)) GTEST_SKIP() << "this GPU has no such engine";
  const std::int64_t m = bench.on_gpu() ? 129 : 33, n = bench.on_gpu() ? 144 : 48;
  int number = 0;
  for (const std::int64_t k : {16, 24, 64, 72, 128, 200, 320, 456}) {
    for (const Element element : all_elements) {
      for (int layouts = 0; layouts < 4; ++layouts, ++number) {
        if (!bench.on_gpu() && number % 7 != 0) continue;
        Problem problem{element, all_operations[number / 4 % 4], m, n, k, BiasAxis::none};
        problem.seed = static_cast<std::uint64_t>(number);
        Way way;
        way.config.engine = engine_of(bench);
        way.aligned = number / 16 % 3 != 2;
        way.a = layout(layouts % 2);
        way.b = layout(layouts / 2);
        way.c = layout(number / 8 % 2);
        bench.run(problem, way,
                  ", K " + std::to_string(k) + ", layouts " + std::to_string(layouts));
      }
    }
  }
}

/// A bias of nothing, by one team that goes from tile to tile without a product in between.
FUSED_TEST(MatrixCoreCalls, BiasOfEmptyProducts) {
  FusedBench bench(backend, arena_bytes);
  if (refused(bench)) GTEST_SKIP() << "this GPU has no such engine";
  for (const FusedOperation operation : all_operations) {
    for (const Element element : all_elements) {
      Problem problem{element, operation, 100, 300, 0, BiasAxis::cols};
      Way way;
      way.config = {.engine = engine_of(bench), .panel_rows = 32, .block_columns = 48, .teams = 1};
      way.c = Layout::left;
      bench.run(problem, way, ", no products");
    }
  }
}

/// One workspace for calls with other data, layouts and alignments, sometimes with a late rank; the
/// same bits for the same data.
FUSED_TEST(MatrixCoreCalls, ReusedWorkspace) {
  FusedBench bench(backend, arena_bytes);
  if (refused(bench)) GTEST_SKIP() << "this GPU has no such engine";
  for (const FusedOperation operation : all_operations) {
    Way way;
    way.config = {.engine = engine_of(bench), .panel_rows = 32, .block_columns = 16};
    std::uint64_t first = 0;
    for (int number = 0; number < 8; ++number) {
      Problem problem{Element::f16, operation, 70, 40, 24, BiasAxis::rows};
      problem.seed = static_cast<std::uint64_t>(number % 7);  // the last data are the first
      way.a = layout(number + bench.rank());
      way.b = layout(number / 2);
      way.c = layout(number / 3 + bench.rank());
      way.offset = number;
      if (number % 6 == bench.rank()) ::Test::delay(5);
      bench.prepare(problem, way);
      const auto workspace = bench.call(problem, way);
      const std::uint64_t hash = bench.arena_c.hash();
      bench.check(problem, ", call " + std::to_string(number));
      if (number == 0) first = hash;
      if (number == 7) {
        EXPECT_EQ(hash, first);
      }
      if (number > 0) {
        EXPECT_EQ(workspace.state(), way.workspace.state());
      }
      way.workspace = workspace;
    }
  }
}

/// Where an engine is chosen, and where it is not to be had.
TEST(MatrixCoreEngines, Choice) {
  using KokkosIris::Impl::choose_engine;
  using KokkosIris::Impl::EngineChoice;
  const auto choose = [](TileEngine requested, const EngineChoice& choice, std::string& fault) {
    fault.clear();
    return choose_engine(requested, choice, 100, fault);
  };
  const EngineChoice host{.host = true, .mfma = true}, amd{.mfma = true}, other{};
  const EngineChoice ampere{.sm80 = true}, hopper{.sm90 = true, .sm80 = true};
  std::string fault;
  EXPECT_EQ(choose(TileEngine::automatic, amd, fault), TileEngine::mfma);
  EXPECT_EQ(choose(TileEngine::automatic, other, fault), TileEngine::portable);
  EXPECT_EQ(choose(TileEngine::automatic, host, fault), TileEngine::packed);
  EXPECT_EQ(choose(TileEngine::portable, amd, fault), TileEngine::portable);
  EXPECT_EQ(choose(TileEngine::mfma, host, fault), TileEngine::mfma);
  EXPECT_EQ(choose(TileEngine::mfma, amd, fault), TileEngine::mfma);
  EXPECT_EQ(choose(TileEngine::automatic, hopper, fault), TileEngine::sm90);
  EXPECT_EQ(choose(TileEngine::automatic, ampere, fault), TileEngine::sm80);
  EXPECT_EQ(choose(TileEngine::sm90, ampere, fault), TileEngine::sm80);
  EXPECT_EQ(choose(TileEngine::sm90, other, fault), TileEngine::portable);
  EXPECT_EQ(choose(TileEngine::sm80, hopper, fault), TileEngine::sm80);
  EXPECT_EQ(fault, "");
  choose(TileEngine::sm80, amd, fault);
  EXPECT_NE(fault.find("8.0"), std::string::npos) << fault;
  choose(TileEngine::mfma, other, fault);
  EXPECT_NE(fault.find("gfx90a"), std::string::npos) << fault;

  setenv("KOKKOSIRIS_ENGINE", "mfma", 1);
  EXPECT_EQ(choose(TileEngine::automatic, host, fault), TileEngine::mfma);
  EXPECT_EQ(fault, "");
  setenv("KOKKOSIRIS_ENGINE", "mfm", 1);
  choose(TileEngine::automatic, host, fault);
  EXPECT_NE(fault.find("sm80 or mfma"), std::string::npos) << fault;
  unsetenv("KOKKOSIRIS_ENGINE");
}

}  // namespace
