// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// ranks: 1
// no_gpu: *

#include <TestUtilities.hpp>
#include <heap/KokkosIris_OffsetAllocator.hpp>
#include <iterator>
#include <map>
#include <vector>

namespace {

using KokkosIris::Impl::OffsetAllocator;

TEST(OffsetAllocator, StartsEmpty) {
  const OffsetAllocator allocator(1000);
  EXPECT_EQ(allocator.capacity(), 1000u);
  EXPECT_EQ(allocator.used(), 0u);
  EXPECT_EQ(allocator.largest_free_block(), 1000u);
  EXPECT_EQ(allocator.block_count(), 0u);
}

TEST(OffsetAllocator, NoCapacity) {
  OffsetAllocator allocator(0);
  EXPECT_EQ(allocator.allocate(1, 1), std::nullopt);
  EXPECT_EQ(allocator.allocate(0, 1), std::nullopt);
  EXPECT_EQ(allocator.largest_free_block(), 0u);
  EXPECT_FALSE(allocator.free(0));
}

TEST(OffsetAllocator, FillsUpExactly) {
  OffsetAllocator allocator(1000);
  EXPECT_EQ(allocator.allocate(600, 1), 0u);
  EXPECT_EQ(allocator.allocate(401, 1), std::nullopt);
  EXPECT_EQ(allocator.allocate(400, 1), 600u);
  EXPECT_EQ(allocator.allocate(1, 1), std::nullopt);
  EXPECT_EQ(allocator.used(), 1000u);
  EXPECT_EQ(allocator.largest_free_block(), 0u);
}

TEST(OffsetAllocator, Alignment) {
  OffsetAllocator allocator(1024);
  EXPECT_EQ(allocator.allocate(1, 256), 0u);
  EXPECT_EQ(allocator.allocate(1, 256), 256u);
  EXPECT_EQ(allocator.allocate(255, 1), 1u) << "the gap left by alignment is used";
  EXPECT_EQ(allocator.allocate(513, 256), std::nullopt);
  EXPECT_EQ(allocator.allocate(512, 256), 512u);
}

TEST(OffsetAllocator, SizesNearTheEndOfTheRange) {
  OffsetAllocator allocator(std::size_t(1) << 46);
  EXPECT_EQ(allocator.allocate(std::numeric_limits<std::size_t>::max(), 256), std::nullopt);
  EXPECT_EQ(allocator.allocate(std::numeric_limits<std::size_t>::max() - 100, 1), std::nullopt);
  EXPECT_EQ(allocator.allocate(std::size_t(5) << 32, 256), 0u);
  EXPECT_EQ(allocator.allocate(1, 256), std::size_t(5) << 32);
}

TEST(OffsetAllocator, EmptyBlocksHaveAddressesOfTheirOwn) {
  OffsetAllocator allocator(1024);
  const auto first = allocator.allocate(0, 256);
  const auto second = allocator.allocate(0, 256);
  ASSERT_TRUE(first && second);
  EXPECT_NE(*first, *second);
  EXPECT_TRUE(allocator.free(*first));
  EXPECT_TRUE(allocator.free(*second));
  EXPECT_EQ(allocator.used(), 0u);
}

TEST(OffsetAllocator, RefusesToFreeWhatIsNotABlock) {
  OffsetAllocator allocator(1024);
  ASSERT_EQ(allocator.allocate(100, 1), 0u);
  EXPECT_FALSE(allocator.free(50));
  EXPECT_FALSE(allocator.free(100));
  EXPECT_TRUE(allocator.free(0));
  EXPECT_FALSE(allocator.free(0)) << "freed twice";
  EXPECT_EQ(allocator.used(), 0u);
  EXPECT_EQ(allocator.largest_free_block(), 1024u);
}

TEST(OffsetAllocator, CoalescesInEveryOrder) {
  std::vector<int> order = {0, 1, 2, 3};
  do {
    OffsetAllocator allocator(400);
    for (int i = 0; i < 4; ++i) ASSERT_EQ(allocator.allocate(100, 1), 100u * unsigned(i));
    for (const int i : order) EXPECT_TRUE(allocator.free(100u * unsigned(i)));
    EXPECT_EQ(allocator.largest_free_block(), 400u);
    EXPECT_EQ(allocator.allocate(400, 1), 0u);
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST(OffsetAllocator, FragmentationIsReported) {
  OffsetAllocator allocator(1000);
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(allocator.allocate(100, 1));
  for (std::size_t offset = 0; offset < 1000; offset += 200) ASSERT_TRUE(allocator.free(offset));
  EXPECT_EQ(allocator.used(), 500u);
  EXPECT_EQ(allocator.largest_free_block(), 100u);
  EXPECT_EQ(allocator.allocate(101, 1), std::nullopt);
  EXPECT_TRUE(allocator.free(100));
  EXPECT_EQ(allocator.largest_free_block(), 300u);
  EXPECT_EQ(allocator.allocate(300, 1), 0u);
}

/// Random calls beside a model that knows every block, on two allocators that must agree.
TEST(OffsetAllocator, RandomCallsAgainstAModel) {
  constexpr std::size_t capacity = 1 << 20;
  OffsetAllocator allocator(capacity);
  OffsetAllocator twin(capacity);
  std::map<std::size_t, std::size_t> model;  // offset -> bytes
  std::size_t used = 0;
  for (std::uint64_t i = 0; i < 20000; ++i) {
    const std::uint64_t random = ::Test::random_bits(3, i);
    if (random % 5 < 3 || model.empty()) {
      const std::size_t bytes = (random >> 8) % ((random >> 40) % 8 == 0 ? 60000 : 3000);
      const std::size_t alignment = std::size_t(1) << (random >> 32) % 10;
      const auto offset = allocator.allocate(bytes, alignment);
      ASSERT_EQ(twin.allocate(bytes, alignment), offset);
      if (!offset) continue;
      const std::size_t size = std::max<std::size_t>(bytes, 1);
      ASSERT_EQ(*offset % alignment, 0u);
      ASSERT_LE(*offset + size, capacity);
      const auto next = model.lower_bound(*offset);
      if (next != model.end()) {
        ASSERT_LE(*offset + size, next->first) << "overlap";
      }
      if (next != model.begin()) {
        const auto previous = std::prev(next);
        ASSERT_LE(previous->first + previous->second, *offset) << "overlap";
      }
      model.emplace(*offset, size);
      used += size;
    } else {
      const auto victim = std::next(model.begin(), long((random >> 8) % model.size()));
      ASSERT_TRUE(allocator.free(victim->first));
      ASSERT_TRUE(twin.free(victim->first));
      used -= victim->second;
      model.erase(victim);
    }
    ASSERT_EQ(allocator.used(), used);
    ASSERT_EQ(allocator.block_count(), model.size());
  }
  for (const auto& [offset, bytes] : model) ASSERT_TRUE(allocator.free(offset));
  EXPECT_EQ(allocator.used(), 0u);
  EXPECT_EQ(allocator.largest_free_block(), capacity);
}

}  // namespace
