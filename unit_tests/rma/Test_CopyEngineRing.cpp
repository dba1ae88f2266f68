// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// ranks: 1 2
// no_gpu: *FillsDrainsAndWraps:*HoldsBackLaterEntries:*FourGigabytes:CopyBlocks.*

// The rings and the host's copy engine by themselves: no data goes to another rank here.

#include <sys/mman.h>
#include <unistd.h>

#include <TestUtilities.hpp>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <rma/KokkosIris_CopyBlocks.hpp>
#include <rma/KokkosIris_CopyEngineRing.hpp>
#include <rma/KokkosIris_CopyEngine_Host.hpp>
#include <rma/KokkosIris_Quiet.hpp>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace KokkosIris::Impl;
using KokkosIris::DeviceContext;

/// A consumer that does nothing until it is told to, and then one copy at a time.
class SteppedEngine : public CopyEngine {
 public:
  SteppedEngine(int peers, std::size_t entries, std::uint64_t first = 0)
      : m_storage(peers, entries, this, first) {}
  CopyEngineQueues* queues() noexcept override { return &m_storage.queues(); }
  void submitted(int, std::uint64_t position, const CopyWork&) noexcept override {
    m_last = position;
  }
  void progress(int peer) noexcept override {
    if (!m_may_progress.load()) return;
    if (!m_held.test_and_set()) {
      step(peer);
      m_held.clear();
    }
  }
  bool step(int peer) {
    const CopyWork* const work = next_copy(m_storage.queues(), m_storage.queues().rings[peer]);
    if (work == nullptr) return false;
    carry_out(*work);
    finish_copy(m_storage.queues().rings[peer]);
    return true;
  }
  std::uint64_t last() const { return m_last; }

  std::atomic<bool> m_may_progress = false;

 private:
  CopyRingStorage m_storage;
  std::atomic<std::uint64_t> m_last = 0;
  std::atomic_flag m_held;
};

/// The context of the calling rank with other queues.
template <class Context>
DeviceContext with_queues(const Context& context, CopyEngineQueues* queues) {
  DeviceState state = context.device().state();
  state.queues = queues;
  return DeviceContext(state);
}

/// A context of one rank for what never waits, so that it needs neither Kokkos nor a heap.
DeviceContext alone_with_queues(CopyEngineQueues* queues) {
  DeviceState state;
  state.queues = queues;
  return DeviceContext(state);
}

CopyWork copy_of(std::uint64_t& destination, const std::uint64_t& source) {
  CopyWork work;
  work.destination = reinterpret_cast<char*>(&destination);
  work.source = reinterpret_cast<const char*>(&source);
  work.width = sizeof(destination);
  return work;
}

KOKKOS_FUNCTION CopyWork adds_to(std::uint64_t& word, std::uint64_t value) {
  CopyWork work;
  work.height = 0;
  work.signal = &word;
  work.signal_value = value;
  work.signal_action = CopySignal::add;
  return work;
}

/// Positions to begin with: usual, shortly before the counters wrap around, and before the sign bit
/// of differences changes.
const std::uint64_t first_positions[] = {0, ~std::uint64_t(0) - 2, ~std::uint64_t(0),
                                         (std::uint64_t(1) << 63) - 2};

TEST(CopyEngineRing, FillsDrainsAndWraps) {
  for (const std::uint64_t first : first_positions) {
    for (const std::size_t entries : {2u, 4u, 8u}) {
      SteppedEngine engine(1, entries, first);
      const DeviceContext d = alone_with_queues(engine.queues());
      const CopyRing& ring = engine.queues()->rings[0];
      std::vector<std::uint64_t> source(entries), destination(entries, 0);
      std::uint64_t position = 0;
      for (std::uint64_t lap = 0; lap < 5; ++lap) {
        EXPECT_EQ(next_copy(*engine.queues(), ring), nullptr);
        EXPECT_TRUE(KokkosIris::quiet(d, 0));
        for (std::size_t i = 0; i < entries; ++i) {
          source[i] = ::Test::random_bits(lap, i);
          ASSERT_TRUE(submit(d, 0, copy_of(destination[i], source[i])));
          EXPECT_EQ(engine.last(), first + lap * entries + i);
        }
        EXPECT_FALSE(try_reserve(ring, entries, position)) << "the ring is full";
        for (std::size_t i = 0; i < entries; ++i) {
          ASSERT_TRUE(engine.step(0));
          EXPECT_EQ(destination[i], source[i]);
          if (i + 1 < entries) {
            EXPECT_NE(destination[i + 1], source[i + 1]);
          }
        }
        EXPECT_FALSE(engine.step(0));
      }
    }
  }
}

TEST(CopyEngineRing, ReservedButNotCommittedHoldsBackLaterEntries) {
  SteppedEngine engine(1, 4);
  const DeviceContext d = alone_with_queues(engine.queues());
  const CopyRing& ring = engine.queues()->rings[0];
  std::uint64_t slow = 0;
  ASSERT_TRUE(try_reserve(ring, 4, slow));
  const std::uint64_t value = 7;
  std::uint64_t first = 0, second = 0;
  ASSERT_TRUE(submit(d, 0, copy_of(second, value)));
  EXPECT_FALSE(engine.step(0));
  EXPECT_EQ(second, 0u);
  commit(*engine.queues(), 0, slow, copy_of(first, value));
  EXPECT_TRUE(engine.step(0));
  EXPECT_EQ(first, 7u);
  EXPECT_EQ(second, 0u);
  EXPECT_TRUE(engine.step(0));
  EXPECT_EQ(second, 7u);
}

/// Nobody serves the ring: waits end at the deadline, name what they waited for, and the submission
/// that was given up has left no trace in the ring.
TEST(CopyEngineRing, WaitsAreBounded) {
  auto context = ::Test::make_context({.timeout = 0.2});
  SteppedEngine engine(1, 2);
  const DeviceContext d = with_queues(context, engine.queues());
  const std::uint64_t source = 1;
  std::uint64_t destination[3] = {0, 0, 0};
  const auto start = std::chrono::steady_clock::now();
  ASSERT_TRUE(submit(d, 0, copy_of(destination[0], source)));
  ASSERT_TRUE(submit(d, 0, copy_of(destination[1], source)));
  EXPECT_FALSE(submit(d, 0, copy_of(destination[2], source)));
  EXPECT_FALSE(KokkosIris::quiet(d, 0));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
  ::Test::expect_error(
      KokkosIris::ErrorCode::timeout, [&] { context.runtime().throw_given_up("put"); },
      "copy engine", "KOKKOSIRIS_TIMEOUT");
  ::Test::expect_error(KokkosIris::ErrorCode::peer_failed,
                       [&] { context.runtime().throw_given_up("put"); });
  context.barrier();  // recovers
  EXPECT_TRUE(engine.step(0));
  EXPECT_TRUE(engine.step(0));
  EXPECT_FALSE(engine.step(0));
  EXPECT_EQ(destination[2], 0u);
  EXPECT_TRUE(KokkosIris::quiet(d, 0));
}

TEST(CopyEngineRing, QuietCoversWhatWasSubmittedBeforeIt) {
  auto context = ::Test::make_context();
  SteppedEngine engine(2, 8);
  const DeviceContext d = with_queues(context, engine.queues());
  std::uint64_t word = 0;
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(submit(d, 1, adds_to(word, 1)));
  std::atomic<int> done = 0;
  std::thread waiter([&] { done = KokkosIris::quiet(d, 1) ? 1 : -1; });
  ::Test::delay(20);
  EXPECT_EQ(done.load(), 0);
  EXPECT_TRUE(KokkosIris::quiet(d, 0)) << "another peer's copies are no reason to wait";
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(engine.step(1));
  ::Test::delay(20);
  EXPECT_EQ(done.load(), 0);
  ASSERT_TRUE(submit(d, 1, adds_to(word, 1)));  // after the quiet: not covered
  EXPECT_TRUE(engine.step(1));
  waiter.join();
  EXPECT_EQ(done.load(), 1);
  EXPECT_EQ(__atomic_load_n(&word, __ATOMIC_RELAXED), 3u);
  EXPECT_TRUE(engine.step(1));
}

template <class ExecutionSpace>
class CopyEngineProducers : public testing::Test {};
TYPED_TEST_SUITE(CopyEngineProducers, ::Test::ExecutionSpaces, ::Test::ExecutionSpaceNames);

using Words = Kokkos::View<std::uint64_t*, Kokkos::HostSpace>;
constexpr int producers = 64;
constexpr int each = 200;

/// Every team adds 1 to words of its own and their indices to one of two sums. Returns the number
/// of failures. (Outside of the test's class, as CUDA requires of kernels.)
template <class ExecutionSpace>
int submit_from_teams(const DeviceContext& d, const Words& words, const Words& sums) {
  int failures = 0;
  Kokkos::parallel_reduce(
      Kokkos::TeamPolicy<ExecutionSpace>(producers, 1),
      KOKKOS_LAMBDA(const typename Kokkos::TeamPolicy<ExecutionSpace>::member_type& team,
                    int& failed) {
        const int producer = team.league_rank();
        for (int i = 0; i < each; ++i) {
          const int index = producer * each + i;
          if (!submit(d, index % 2, adds_to(words(index), 1))) ++failed;
          if (!submit(d, index % 2, adds_to(sums(index % 2), std::uint64_t(index)))) ++failed;
          if (i % 50 == 49 && !KokkosIris::quiet(d, index % 2)) ++failed;
          if (i % 50 == 49 && words(index) != 1) ++failed;
        }
      },
      failures);
  return failures;
}

/// Many threads and teams submit to one small ring at once; every entry arrives exactly once.
TYPED_TEST(CopyEngineProducers, EveryEntryArrivesOnce) {
  auto context = ::Test::make_context<TypeParam>();
  for (const std::uint64_t first : {std::uint64_t(0), ~std::uint64_t(0) - 5000}) {
    for (const std::size_t entries : {2u, 4u, 64u}) {
      HostCopyEngine engine(0, 2, false, entries, first);
      const DeviceContext d = with_queues(context, engine.queues());
      const Words words("words", producers * each);
      const Words sums("sums", 2);
      EXPECT_EQ(submit_from_teams<TypeParam>(d, words, sums), 0);
      EXPECT_TRUE(KokkosIris::quiet(d, 0));
      EXPECT_TRUE(KokkosIris::quiet(d, 1));
      int wrong = 0;
      for (int i = 0; i < producers * each; ++i) wrong += words(i) != 1 ? 1 : 0;
      EXPECT_EQ(wrong, 0);
      const std::uint64_t half = producers * each / 2;
      EXPECT_EQ(sums(0), half * (half - 1));
      EXPECT_EQ(sums(1), half * half);
    }
  }
}

/// Copies of one ring are carried out in the order in which they were submitted, while the proxy
/// and waiting threads take turns.
TYPED_TEST(CopyEngineProducers, CompletesInOrder) {
  auto context = ::Test::make_context<TypeParam>();
  HostCopyEngine engine(0, 1, true, 4);
  const DeviceContext d = with_queues(context, engine.queues());
  constexpr int rounds = 3000;
  std::vector<std::uint64_t> value(rounds);
  std::vector<char> big_source(40000, 1), big_destination(40000);
  std::uint64_t same = 0;
  for (int i = 0; i < rounds; ++i) {
    value[std::size_t(i)] = std::uint64_t(i) + 1;
    if (i % 7 == 0) {  // too large for the submitting thread: the proxy's
      CopyWork big;
      big.destination = big_destination.data();
      big.source = big_source.data();
      big.width = big_source.size();
      ASSERT_TRUE(submit(d, 0, big));
    }
    ASSERT_TRUE(submit(d, 0, copy_of(same, value[std::size_t(i)])));
    if (i % 5 == 0) {
      ASSERT_TRUE(KokkosIris::quiet(d, 0));
      ASSERT_EQ(same, value[std::size_t(i)]);
    }
  }
  ASSERT_TRUE(KokkosIris::quiet(d, 0));
  EXPECT_EQ(same, value.back());
}

/// Processor time of the proxies of this process. (Not of the process: idle threads of
/// Kokkos::Threads never stop to poll.)
double proxy_seconds() {
  double ticks = 0.0;
  int proxies = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    // "number (name) state ...", the 12th and 13th value after the name being the times.
    std::string line;
    std::getline(std::ifstream(task.path() / "stat"), line);
    if (line.find("(KokkosIris:copy)") == std::string::npos) continue;
    ++proxies;
    std::istringstream values(line.substr(line.rfind(')') + 1));
    std::string skipped;
    for (int i = 0; i < 11; ++i) values >> skipped;
    double user = 0.0, system = 0.0;
    EXPECT_TRUE(values >> user >> system) << line;
    ticks += user + system;
  }
  EXPECT_GT(proxies, 0);
  return ticks / double(sysconf(_SC_CLK_TCK));
}

/// A copy makes progress although nobody waits in the engine: the proxy sleeps, is woken, and
/// sleeps again; its idling costs no processor time to speak of.
TEST(HostCopyEngine, ProxyProgressesAlone) {
  auto context = ::Test::make_context();
  HostCopyEngine engine(0, 1, true, 8);
  const DeviceContext d = with_queues(context, engine.queues());
  std::vector<char> source(100000, 'x'), destination(100000, 'y');
  for (int round = 0; round < 50; ++round) {
    std::uint64_t flag = 0;
    CopyWork work;
    work.destination = destination.data();
    work.source = source.data();
    work.width = source.size();
    work.signal = &flag;
    work.signal_value = 5;
    work.signal_action = CopySignal::set;
    if (round % 10 == 0) ::Test::delay(5);
    ASSERT_TRUE(submit(d, 0, work));
    const auto start = std::chrono::steady_clock::now();
    while (__atomic_load_n(&flag, __ATOMIC_ACQUIRE) != 5) {
      ASSERT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
      std::this_thread::yield();
    }
    EXPECT_EQ(destination.back(), 'x');
  }
  ::Test::delay(20);
  const double before = proxy_seconds();
  ::Test::delay(200);
  EXPECT_LT(proxy_seconds() - before, 0.05);
}

/// Threads that submit, help and leave at any moment never leave a copy to a sleeping proxy: all
/// are carried out although in the end nobody waits in the engine.
TEST(HostCopyEngine, NoCopyIsForgotten) {
  auto context = ::Test::make_context();
  HostCopyEngine engine(0, 1, true, 4);
  const DeviceContext d = with_queues(context, engine.queues());
  std::uint64_t word = 0;
  std::vector<char> source(20000, 'x'), destination(20000);
  CopyWork large;
  large.destination = destination.data();
  large.source = source.data();
  large.width = source.size();
  large.signal = &word;
  large.signal_value = 1;
  large.signal_action = CopySignal::add;
  constexpr int rounds = 300;
  for (std::uint64_t round = 1; round <= rounds; ++round) {
    std::thread both([&] {
      submit(d, 0, large);
      submit(d, 0, adds_to(word, 1));
    });
    std::thread small([&] { submit(d, 0, adds_to(word, 1)); });
    KokkosIris::quiet(d, 0);
    submit(d, 0, round % 2 == 0 ? large : adds_to(word, 1));
    both.join();
    small.join();
    const auto start = std::chrono::steady_clock::now();
    while (__atomic_load_n(&word, __ATOMIC_ACQUIRE) != 4 * round) {
      ASSERT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
      std::this_thread::yield();
    }
  }
}

TEST(HostCopyEngine, DestructionFinishesSubmittedWork) {
  auto context = ::Test::make_context();
  for (int round = 0; round < 200; ++round) {
    std::vector<char> source(30000, char('a' + round % 20)), destination(30000, ' ');
    std::uint64_t count = 0;
    {
      HostCopyEngine engine(0, 2, false, 16);
      const DeviceContext d = with_queues(context, engine.queues());
      CopyWork work;
      work.destination = destination.data();
      work.source = source.data();
      work.width = source.size();
      for (int i = 0; i < 5; ++i) ASSERT_TRUE(submit(d, 0, work));
      for (int i = 0; i < 5; ++i) ASSERT_TRUE(submit(d, 1, adds_to(count, 1)));
    }
    EXPECT_EQ(count, 5u);
    EXPECT_EQ(destination, source);
  }
}

/// Rectangles further apart than 4 GiB, with pitches that are larger, equal and smaller than rows:
/// by address space alone, of which a few pages are touched.
TEST(HostCopyEngine, OffsetsBeyondFourGigabytes) {
  const std::size_t pitch = (std::size_t(3) << 30) + 4096;
  const std::size_t rows = 4;
  const std::size_t bytes = pitch * rows;
  auto map = [&] {
    void* const p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return p == MAP_FAILED ? nullptr : static_cast<char*>(p);
  };
  char* const source = map();
  char* const destination = map();
  ASSERT_TRUE(source != nullptr && destination != nullptr);
  for (const std::size_t width : {1u, 4u, 16u, 100u}) {
    const std::size_t at = 1000 + width;
    for (std::size_t r = 0; r < rows; ++r) {
      for (std::size_t i = 0; i < width; ++i) source[r * pitch + at + i] = char(r * 50 + i);
    }
    CopyWork work;
    work.destination = destination + at;
    work.source = source + at;
    work.width = width;
    work.height = rows;
    work.destination_pitch = work.source_pitch = pitch;
    carry_out(work);
    for (std::size_t r = 0; r < rows; ++r) {
      for (std::size_t i = 0; i < width; ++i) {
        ASSERT_EQ(destination[r * pitch + at + i], char(r * 50 + i));
      }
      EXPECT_EQ(destination[r * pitch + at - 1], 0);
      EXPECT_EQ(destination[r * pitch + at + width], 0);
    }
    work.source_pitch = 0;  // one row to all
    carry_out(work);
    EXPECT_EQ(destination[3 * pitch + at], source[at]);
  }
  munmap(source, bytes);
  munmap(destination, bytes);
}

/// The decomposition of views in 64-bit arithmetic, without memory behind it.
TEST(CopyBlocks, ShapesAndOffsets) {
  using View3 = Kokkos::View<double***, Kokkos::LayoutStride, Kokkos::HostSpace,
                             Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  using Shape = Kokkos::LayoutStride;  // extent, stride, extent, stride, ...
  double base = 0.0;
  const std::size_t n = std::size_t(1) << 18;
  auto blocks_of = [&](const Shape& to, const Shape& from) {
    const View3 dst(&base, to);
    const View3 src(&base, from);
    return make_copy_blocks(make_strided_loop(dst, src), &base, static_cast<const double*>(&base));
  };
  const auto origin = reinterpret_cast<std::uintptr_t>(&base);
  auto offset = [&](const void* p) { return reinterpret_cast<std::uintptr_t>(p) - origin; };

  // Contiguous in both: one row.
  auto blocks = blocks_of(Shape(4, n * n, n, n, n, 1), Shape(4, n * n, n, n, n, 1));
  EXPECT_EQ(blocks.count, 1u);
  EXPECT_EQ(blocks.block.height, 1u);
  EXPECT_EQ(blocks.block.width, n * n * 4 * sizeof(double));  // 2 TiB

  // Equal rows at equal distances: one rectangle, whatever the rank.
  blocks = blocks_of(Shape(n, n * n, n, n, 64, 1), Shape(n, 64 * n, n, 64, 64, 1));
  EXPECT_EQ(blocks.count, 1u);
  EXPECT_EQ(blocks.block.width, 64u * sizeof(double));
  EXPECT_EQ(blocks.block.height, n * n);
  EXPECT_EQ(blocks.block.destination_pitch, n * sizeof(double));
  EXPECT_EQ(blocks.block.source_pitch, 64u * sizeof(double));

  // Rows at two distances: rectangles.
  blocks = blocks_of(Shape(n, 4 * n * n, 2 * n, n, 64, 1), Shape(n, 128 * n, 2 * n, 64, 64, 1));
  EXPECT_EQ(blocks.count, n);
  EXPECT_EQ(blocks.block.width, 64u * sizeof(double));
  EXPECT_EQ(blocks.block.height, 2 * n);
  EXPECT_EQ(offset(rectangle(blocks, n - 1).destination), (n - 1) * 4 * n * n * sizeof(double));
  EXPECT_EQ(offset(rectangle(blocks, n - 1).source), (n - 1) * 128 * n * sizeof(double));

  // Transposed: element by element.
  blocks = blocks_of(Shape(8, n, n, 1, 1, 1), Shape(8, 1, n, 8, 1, 1));
  EXPECT_EQ(blocks.block.width, sizeof(double));
  EXPECT_EQ(blocks.block.height, n);
  EXPECT_EQ(blocks.count, 8u);
  EXPECT_EQ(offset(rectangle(blocks, 7).destination), 7 * n * sizeof(double));
  EXPECT_EQ(offset(rectangle(blocks, 7).source), 7 * sizeof(double));

  // Empty in one dimension.
  EXPECT_EQ(blocks_of(Shape(n, n, 0, 1, n, n), Shape(n, n, 0, 1, n, n)).count, 0u);
}

/// A full ring of the kernel's own making: producers that wait do the proxy's work.
TEST(CopyEngineRing, WaitingProducersHelp) {
  auto context = ::Test::make_context();
  SteppedEngine engine(1, 2);
  engine.m_may_progress = true;  // only from within waits
  const DeviceContext d = with_queues(context, engine.queues());
  std::uint64_t word = 0;
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(submit(d, 0, adds_to(word, 1)));
  ASSERT_TRUE(KokkosIris::quiet(d, 0));
  EXPECT_EQ(word, 1000u);
}

}  // namespace
