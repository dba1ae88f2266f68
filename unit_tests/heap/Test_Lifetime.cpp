// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Who owns the blocks of the heap, when they are free again, and that all ranks see the same heap.

#include <DeviceTesting.hpp>
#include <algorithm>
#include <any>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

namespace {

using KokkosIris::ErrorCode;

template <class ExecutionSpace>
class Lifetime : public testing::Test {
 public:
  using Context = KokkosIris::Context<typename ExecutionSpace::memory_space>;
  using Ints = typename Context::template view_type<int*>;
  Context m_context = ::Test::make_context<ExecutionSpace>({.heap_size = std::size_t(1) << 20});

  /// Two meetings: dropped before the first, told to all in it, free after the second at the
  /// latest.
  void settle() {
    m_context.barrier();
    m_context.barrier();
  }
  void expect_same_heap() {
    for (const auto used : m_context.runtime().agree("used", m_context.heap_used())) {
      EXPECT_EQ(used, m_context.heap_used());
    }
  }
  std::ptrdiff_t offset(const Ints& view) const {
    return reinterpret_cast<const char*>(view.data()) - m_context.device().state().base;
  }
};
TYPED_TEST_SUITE(Lifetime, ::Test::HeapSpaces, ::Test::ExecutionSpaceNames);

DEVICE_TYPED_TEST(Lifetime, LastCopyFrees) {
  auto& m_context = self.m_context;
  auto view = m_context.template zeros<int*>("x", 100);
  EXPECT_EQ(m_context.heap_used(), 512u);
  EXPECT_EQ(view.use_count(), 1);
  auto copy = view;
  Kokkos::View<int*, typename TypeParam::memory_space> stock = view.view();
  auto part = Kokkos::subview(view, std::pair(10, 20));
  EXPECT_EQ(view.use_count(), 4);
  view = {};
  copy = {};
  stock = {};
  self.settle();
  EXPECT_EQ(m_context.heap_used(), 512u) << "the subview still refers to it";
  EXPECT_EQ(part.use_count(), 1);
  ::Test::set_at(part, 3, 0);
  part = {};
  self.settle();
  EXPECT_EQ(m_context.heap_used(), 0u);
}

DEVICE_TYPED_TEST(Lifetime, PeerViewsOwnNothing) {
  auto& m_context = self.m_context;
  auto view = m_context.template zeros<int*>("x", 100);
  const auto theirs = view.peer(0);
  EXPECT_EQ(view.use_count(), 1);
  EXPECT_EQ(theirs.use_count(), 0);
  view = {};
  self.settle();
  EXPECT_EQ(m_context.heap_used(), 0u);
}

DEVICE_TYPED_TEST(Lifetime, MovedAndAssigned) {
  auto& m_context = self.m_context;
  auto first = m_context.template full<int*>("first", 1, 10);
  auto second = m_context.template full<int*>("second", 2, 10);
  second = std::move(first);
  first = {};  // a moved-from View may have got the other's contents
  self.settle();
  EXPECT_EQ(m_context.heap_used(), 256u);
  EXPECT_EQ(::Test::get_at(second, 9), 1);
  auto& alias = second;
  second = alias;
  EXPECT_EQ(::Test::get_at(second, 9), 1);
  std::swap(first, second);
  first = m_context.template full<int*>("third", 3, 10);
  second = {};
  self.settle();
  EXPECT_EQ(m_context.heap_used(), 256u);
}

DEVICE_TYPED_TEST(Lifetime, HeldInsideOtherThings) {
  auto& m_context = self.m_context;
  std::map<std::string, std::any> things;
  things["vector"] =
      std::vector<typename Lifetime<TypeParam>::Ints>(5, m_context.template zeros<int*>("a", 10));
  things["shared"] =
      std::make_shared<typename Lifetime<TypeParam>::Ints>(m_context.template zeros<int*>("b", 10));
  things["closure"] = std::function<int()>(
      [v = m_context.template zeros<int*>("c", 10)] { return ::Test::get_at(v, 0); });
  const auto functor_view = m_context.template zeros<int*>("d", 10);
  Kokkos::parallel_for(
      "use", Kokkos::RangePolicy<TypeParam>(0, 10), KOKKOS_LAMBDA(int i) { functor_view(i) = i; });
  TypeParam().fence();
  EXPECT_EQ(functor_view.use_count(), 1) << "kernels give back their copies";
  EXPECT_EQ(m_context.heap_used(), 1024u);
  for (const char* name : {"closure", "vector", "shared"}) {
    things.erase(name);
    self.settle();
  }
  EXPECT_EQ(m_context.heap_used(), 256u);
}

DEVICE_TYPED_TEST(Lifetime, FreeOnlyWhenAllRanksHaveDropped) {
  auto& m_context = self.m_context;
  auto view = m_context.template zeros<int*>("x", 100);
  const int keeper = m_context.size() - 1;
  if (m_context.rank() != keeper) view = {};
  self.settle();
  EXPECT_EQ(m_context.heap_used(), 512u);
  auto other = m_context.template zeros<int*>("y", 100);
  EXPECT_EQ(m_context.heap_used(), 1024u);
  if (m_context.rank() == keeper) {
    EXPECT_NE(view.data(), other.data());
    view = {};
  }
  self.settle();
  EXPECT_EQ(m_context.heap_used(), 512u);
}

DEVICE_TYPED_TEST(Lifetime, DroppedInDifferentOrderOnEachRank) {
  auto& m_context = self.m_context;
  constexpr std::size_t count = 200;
  std::vector<typename Lifetime<TypeParam>::Ints> views;
  for (std::size_t i = 0; i < count; ++i)
    views.push_back(m_context.template empty<int*>("v", 1 + i % 17));
  std::vector<std::size_t> order(count);
  for (std::size_t i = 0; i < count; ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const auto stream = ::Test::stream(m_context.rank());
    return ::Test::random_bits(stream, a) < ::Test::random_bits(stream, b);
  });
  for (std::size_t i = 0; i < count; ++i) {
    views[order[i]] = {};
    if (i % 20 == 0) {
      m_context.barrier();
      self.expect_same_heap();
    }
  }
  self.settle();
  EXPECT_EQ(m_context.heap_used(), 0u);
  EXPECT_EQ(m_context.state().heap().block_count(), 0u);
}

DEVICE_TYPED_TEST(Lifetime, DroppedByOtherThreads) {
  auto& m_context = self.m_context;
  constexpr int threads = 4;
  std::vector<std::vector<typename Lifetime<TypeParam>::Ints>> views(threads);
  for (int i = 0; i < 400; ++i)
    views[i % threads].push_back(m_context.template empty<int*>("v", 3));
  std::vector<std::thread> droppers;
  for (auto& mine : views) droppers.emplace_back([&mine] { mine.clear(); });
  for (auto& dropper : droppers) dropper.join();
  self.settle();
  EXPECT_EQ(m_context.heap_used(), 0u);
}

/// Ten thousand random allocations and frees; the order of frees differs between the ranks, the
/// offsets may not. A model keeps what is alive on any rank.
DEVICE_TYPED_TEST(Lifetime, TenThousandRandomCycles) {
  auto& m_context = self.m_context;
  std::vector<typename Lifetime<TypeParam>::Ints> live;
  std::uint64_t mismatches = 0;
  std::uint64_t full = 0;
  for (std::uint64_t i = 0; i < 10000; ++i) {
    const std::uint64_t shared_choice = ::Test::random_bits(77, i);
    const std::uint64_t own_choice = ::Test::random_bits(::Test::stream(m_context.rank()), i);
    if (!live.empty() && live.size() > own_choice % 60) {
      const std::size_t victim = (own_choice >> 8) % live.size();
      std::swap(live[victim], live.back());
      live.pop_back();
    }
    const std::size_t n = (shared_choice >> 8) % (shared_choice % 50 == 0 ? 40000 : 900);
    try {
      auto view = m_context.template empty<int*>("v", n);
      if (n > 0 && (::Test::on_host_v<decltype(view)> || i % 16 == 0)) {
        ::Test::set_at(view, int(i), n - 1);
      }
      live.push_back(view);
      if (i % 64 == 0) {
        for (const auto other : m_context.runtime().agree("offset", self.offset(view))) {
          mismatches += other != self.offset(view);
        }
      }
    } catch (const KokkosIris::Error& error) {
      ASSERT_EQ(error.code(), ErrorCode::out_of_memory) << error.what();
      ++full;
      live.clear();
    }
  }
  EXPECT_EQ(mismatches, 0u);
  EXPECT_LT(full, 5000u);
  self.expect_same_heap();
  live.clear();
  self.settle();
  EXPECT_EQ(m_context.heap_used(), 0u);
  EXPECT_EQ(m_context.state().heap().block_count(), 0u);
  const auto everything = m_context.template empty<char*>("all", m_context.heap_capacity());
  EXPECT_EQ(everything.extent(0), std::size_t(1) << 20) << "one hole again, not many";
}

DEVICE_TYPED_TEST(Lifetime, Fragmentation) {
  auto& m_context = self.m_context;
  std::vector<std::optional<typename Lifetime<TypeParam>::Ints>> views;
  for (int i = 0; i < 16; ++i)
    views.push_back(m_context.template empty<int*>("v", 16384));  // 64 KiB each
  EXPECT_EQ(m_context.heap_used(), m_context.heap_capacity());
  for (std::size_t i = 0; i < 16; i += 2) views[i].reset();
  self.settle();
  EXPECT_EQ(m_context.heap_used(), m_context.heap_capacity() / 2);
  ::Test::expect_error(
      ErrorCode::out_of_memory, [&] { m_context.template empty<int*>("big", 16385); },
      "65540 bytes", "524288 of 1048576 bytes are free", "largest free block has 65536",
      "KOKKOSIRIS_HEAP_SIZE");
  EXPECT_EQ(m_context.heap_used(), m_context.heap_capacity() / 2);
  views[1].reset();
  self.settle();
  auto three = m_context.template empty<int*>("three", 3 * 16384);
  EXPECT_EQ(self.offset(three) % 256, 0);
  EXPECT_EQ(reinterpret_cast<char*>(views[3]->data()) - reinterpret_cast<char*>(three.data()),
            3 * 65536);
}

DEVICE_TYPED_TEST(Lifetime, OutOfMemoryIsRaisedOnAllRanksAgainAndAgain) {
  auto& m_context = self.m_context;
  const auto half = m_context.template empty<char*>("half", m_context.heap_capacity() / 2);
  for (int i = 0; i < 50; ++i) {
    if (i % 7 == m_context.rank()) ::Test::delay(1);
    ::Test::expect_error(
        ErrorCode::out_of_memory,
        [&] { m_context.template empty<char*>("more", m_context.heap_capacity() / 2 + 1); },
        "empty", "rank " + std::to_string(m_context.rank()));
    const auto fits =
        m_context.template full<char*>("fits", char(i), m_context.heap_capacity() / 2);
    ASSERT_EQ(::Test::get_at(fits, 0), char(i));
  }
}

DEVICE_TYPED_TEST(Lifetime, TooManyAllocations) {
  constexpr std::size_t limit = KokkosIris::Impl::max_live_allocations;
  auto context = ::Test::make_context<TypeParam>({.heap_size = limit * 256});
  std::vector<typename Lifetime<TypeParam>::Ints> views;
  for (std::size_t i = 0; i < limit; ++i) views.push_back(context.template empty<int*>("v", 1));
  ::Test::expect_error(
      ErrorCode::out_of_memory, [&] { context.template empty<int*>("v", 0); },
      std::to_string(limit));
  views.clear();
  context.barrier();
  EXPECT_EQ(context.heap_used(), 0u);
  for (int i = 0; i < 100; ++i) views.push_back(context.template empty<int*>("v", 1));
  EXPECT_EQ(context.heap_used(), 100u * 256u);
}

DEVICE_TYPED_TEST(Lifetime, ReuseOfMemoryIsNotSeenEarly) {
  auto& m_context = self.m_context;
  // What a rank drops may still be read by a slow one until that has met the others.
  const int next = (m_context.rank() + 1) % m_context.size();
  for (int round = 0; round < 100; ++round) {
    const auto view = m_context.template full<int*>("round", round, 64);
    const auto theirs = view.peer(next);
    if (round % m_context.size() == m_context.rank() && round % 10 == 0) ::Test::delay(1);
    const auto seen = ::Test::staged(theirs);
    for (std::size_t i = 0; i < 64; ++i) ASSERT_EQ(seen(i), round);
    m_context.barrier();
  }
}

}  // namespace
