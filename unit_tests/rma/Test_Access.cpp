// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// load, store and contiguous get, put, copy by threads and teams. Every rank works on the rank
// after it and checks what the rank before it did; all ranks hold different random data.

#include <DeviceTesting.hpp>
#include <iterator>
#include <utility>
#include <vector>

namespace {

/// Three bytes: neither a power of two nor a size of any register.
struct Pixel {
  std::uint8_t r, g, b;
  bool operator==(const Pixel&) const = default;
};
/// Larger than a cache line.
struct Record {
  std::int32_t values[25];
  bool operator==(const Record&) const = default;
};

template <class T>
bool same(const T& a, const T& b) {
  if constexpr (std::is_same_v<T, Pixel> || std::is_same_v<T, Record>) {
    return a == b;
  } else {
    return ::Test::same_bits(a, b);
  }
}

constexpr std::size_t block_sizes[] = {0, 1, 2, 3, 13, 64, 127, 1009, 4096};
constexpr std::size_t guard = 17;

template <class ExecutionSpace>
class Access : public testing::Test {
 public:
  using Team = typename Kokkos::TeamPolicy<ExecutionSpace>::member_type;
  KokkosIris::Context<typename ExecutionSpace::memory_space> m_context =
      ::Test::make_context<ExecutionSpace>();
  int m_rank = m_context.rank();
  int m_size = m_context.size();
  int m_next = (m_rank + 1) % m_size;
  int m_previous = (m_rank + m_size - 1) % m_size;

  /// Team sizes that the space offers, up to 3, and on devices a larger one.
  std::vector<int> team_sizes() const {
    if (KokkosIris::Impl::is_gpu_space_v<ExecutionSpace>) return {1, 3, 224};
    std::vector<int> sizes;
    for (int size = 1; size <= std::min(3, ExecutionSpace().concurrency()); ++size) {
      sizes.push_back(size);
    }
    return sizes;
  }
};

TYPED_TEST_SUITE(Access, ::Test::AllExecutionSpaces, ::Test::ExecutionSpaceNames);

/// load and store of single elements, with and without a mask, by one thread each.
template <class ExecutionSpace, class T>
void scalars(Access<ExecutionSpace>& self) {
  constexpr int n = 101;
  auto source = self.m_context.template empty<T*>("source", n);
  auto target = self.m_context.template empty<T*>("target", n);
  const ::Test::SharedView<T*, ExecutionSpace> loaded("loaded", n), masked("masked", n);
  ::Test::random_fill_anywhere(source.view(), ::Test::stream(self.m_rank));
  ::Test::poison_fill_anywhere(target.view());
  self.m_context.barrier();
  const auto d = self.m_context.device();
  const int next = self.m_next, previous = self.m_previous, rank = self.m_rank;
  const T other = ::Test::random_value<T>(77, 0);
  Kokkos::parallel_for(
      Kokkos::RangePolicy<ExecutionSpace>(0, n), KOKKOS_LAMBDA(int i) {
        loaded(i) = KokkosIris::load(d, &source(i), next);
        masked(i) = KokkosIris::load(d, &source(i), previous, i % 3 == 0, other);
        if (i % 2 == 0)
          KokkosIris::store(d, &target(i), KokkosIris::load(d, &source(i), rank), next);
        KokkosIris::store(d, &target(i), source(i), next, i % 5 == 0);
      });
  self.m_context.barrier();
  const T untouched = ::Test::poison<T>();
  const auto result = ::Test::staged(target.view());
  for (std::size_t i = 0; i < n; ++i) {
    EXPECT_TRUE(same(loaded(i), ::Test::random_value<T>(::Test::stream(self.m_next), i))) << i;
    EXPECT_TRUE(same(masked(i), i % 3 == 0
                                    ? ::Test::random_value<T>(::Test::stream(self.m_previous), i)
                                    : other))
        << i;
    const bool written = i % 2 == 0 || i % 5 == 0;
    EXPECT_TRUE(same(result(i), written
                                    ? ::Test::random_value<T>(::Test::stream(self.m_previous), i)
                                    : untouched))
        << i;
  }
  self.m_context.barrier();
}

template <class... T>
struct TypeList {
  template <class Call>
  static void for_each(const Call& call) {
    (call(T{}), ...);
  }
};
using AllTypes =
    TypeList<char, std::int8_t, std::uint8_t, std::int16_t, std::uint16_t, int, unsigned, long,
             unsigned long, long long, unsigned long long, float, double, KokkosIris::half_t,
             KokkosIris::bhalf_t, Kokkos::complex<float>, Kokkos::complex<double>, Pixel, Record>;
using SomeTypes = TypeList<std::uint8_t, KokkosIris::half_t, float, double, Pixel, Record>;

DEVICE_TYPED_TEST(Access, LoadAndStore) {
  AllTypes::for_each([&](auto type) { scalars<TypeParam, decltype(type)>(self); });
}

enum class Way { put, get, copy };

/// Moves one block, by the thread or the team that calls it.
template <class T>
struct Move {
  Way m_way;
  KokkosIris::DeviceContext m_device;
  T* m_dst;
  const T* m_src;
  std::size_t m_n;
  int m_from, m_to;

  template <class... Team>
  KOKKOS_FUNCTION void move(const Team&... team) const {
    if (m_way == Way::put) KokkosIris::put(team..., m_device, m_dst, m_src, m_n, m_to);
    if (m_way == Way::get) KokkosIris::get(team..., m_device, m_dst, m_src, m_n, m_from);
    if (m_way == Way::copy) KokkosIris::copy(team..., m_device, m_dst, m_src, m_n, m_from, m_to);
  }
  KOKKOS_FUNCTION void operator()(int) const { move(); }
  template <KokkosIris::Impl::TeamHandle Team>
  KOKKOS_FUNCTION void operator()(const Team& team) const {
    move(team);
  }
};

/// Moves blocks of all sizes at several offsets, each with room of its own, by one thread
/// (team_size 0) or one team: in effect, my source goes to the next rank's target. Checks every
/// element, and the sentinels around the blocks.
template <class ExecutionSpace, class T>
void blocks(Access<ExecutionSpace>& self, Way way, int team_size) {
  constexpr std::pair<std::size_t, std::size_t> offsets[] = {{0, 0}, {1, 3}, {2, 2}, {3, 8}};
  std::size_t capacity = guard;
  for (const std::size_t n : block_sizes) capacity += std::size(offsets) * (n + 3 + guard);
  auto source = self.m_context.template empty<T*>("source", capacity + 8);
  auto target = self.m_context.template empty<T*>("target", capacity);
  ::Test::random_fill_anywhere(source.view(), ::Test::stream(self.m_rank));
  ::Test::poison_fill_anywhere(target.view());
  self.m_context.barrier();
  // Rank r copies from rank r + 1 to rank r + 2: with three ranks and more it is neither.
  const int from = way == Way::get ? self.m_previous : self.m_next;
  const int to = way == Way::put ? self.m_next : (self.m_rank + 2) % self.m_size;
  std::vector<long> origin(capacity, -1);  // element of the source that belongs here
  std::size_t at = guard;
  for (const std::size_t n : block_sizes) {
    for (const auto& [dst, src] : offsets) {
      const Move<T> move{
          way, self.m_context.device(), target.data() + at + dst, source.data() + at + src, n, from,
          to};
      if (team_size == 0) {
        Kokkos::parallel_for(Kokkos::RangePolicy<ExecutionSpace>(0, 1), move);
      } else {
        Kokkos::parallel_for(Kokkos::TeamPolicy<ExecutionSpace>(1, team_size), move);
      }
      for (std::size_t i = 0; i < n; ++i) origin[at + dst + i] = static_cast<long>(at + src + i);
      at += n + 3 + guard;
    }
  }
  self.m_context.barrier();
  const T untouched = ::Test::poison<T>();
  const auto result = ::Test::staged(target.view());
  for (std::size_t i = 0; i < capacity; ++i) {
    const T want = origin[i] < 0 ? untouched
                                 : ::Test::random_value<T>(::Test::stream(self.m_previous),
                                                           static_cast<std::uint64_t>(origin[i]));
    ASSERT_TRUE(same(result(i), want)) << "element " << i << ", from " << origin[i];
  }
  self.m_context.barrier();
}

DEVICE_TYPED_TEST(Access, PutByThread) {
  SomeTypes::for_each([&](auto type) { blocks<TypeParam, decltype(type)>(self, Way::put, 0); });
}

DEVICE_TYPED_TEST(Access, PutByTeam) {
  SomeTypes::for_each([&](auto type) {
    for (const int size : self.team_sizes()) {
      blocks<TypeParam, decltype(type)>(self, Way::put, size);
    }
  });
}

/// Gets the previous rank's source to my own target: the same result as a put by the previous rank.
DEVICE_TYPED_TEST(Access, GetByThread) {
  SomeTypes::for_each([&](auto type) { blocks<TypeParam, decltype(type)>(self, Way::get, 0); });
}

DEVICE_TYPED_TEST(Access, GetByTeam) {
  SomeTypes::for_each([&](auto type) {
    for (const int size : self.team_sizes()) {
      blocks<TypeParam, decltype(type)>(self, Way::get, size);
    }
  });
}

DEVICE_TYPED_TEST(Access, CopyBetweenOtherRanks) {
  SomeTypes::for_each([&](auto type) {
    blocks<TypeParam, decltype(type)>(self, Way::copy, 0);
    blocks<TypeParam, decltype(type)>(self, Way::copy, self.team_sizes().back());
  });
}

DEVICE_TYPED_TEST(Access, PromisedAlignment) {
  constexpr std::size_t n = 1024;
  auto source = self.m_context.template empty<float*>("source", n);
  auto target = self.m_context.template empty<float*>("target", n);
  auto back = self.m_context.template empty<float*>("back", n);
  ::Test::random_fill_anywhere(source.view(), ::Test::stream(self.m_rank));
  ::Test::poison_fill_anywhere(target.view());
  ::Test::poison_fill_anywhere(back.view());
  self.m_context.barrier();
  const auto d = self.m_context.device();
  const int next = self.m_next, previous = self.m_previous, rank = self.m_rank;
  const int size = self.team_sizes().back();
  Kokkos::parallel_for(
      Kokkos::TeamPolicy<TypeParam>(1, size),
      KOKKOS_LAMBDA(const typename Access<TypeParam>::Team& team) {
        using KokkosIris::aligned;
        KokkosIris::put(team, d, target.data(), source.data(), n / 2, next, aligned<64>);
        KokkosIris::get(team, d, back.data() + 16, source.data() + 16, 32, next, aligned<16>);
        KokkosIris::copy(team, d, back.data() + 64, source.data() + 64, 32, previous, rank,
                         aligned<4>);
        Kokkos::single(Kokkos::PerTeam(team), [&] {
          KokkosIris::put(d, target.data() + n / 2, source.data() + n / 2, n / 2, next,
                          aligned<32>);
          KokkosIris::get(d, back.data() + 128, source.data() + 128, 64, next, aligned<64>);
          KokkosIris::copy(d, back.data() + 256, source.data() + 256, 8, previous, rank,
                           aligned<32>);
        });
      });
  self.m_context.barrier();
  const auto value = [](int rank, std::size_t i) {
    return ::Test::random_value<float>(::Test::stream(rank), i);
  };
  const auto got = ::Test::staged(target.view());
  const auto got_back = ::Test::staged(back.view());
  for (std::size_t i = 0; i < n; ++i) {
    EXPECT_EQ(got(i), value(self.m_previous, i)) << i;
    const bool from_next = (i >= 16 && i < 48) || (i >= 128 && i < 192);
    const bool from_previous = (i >= 64 && i < 96) || (i >= 256 && i < 264);
    float want = ::Test::poison<float>();
    if (from_next) want = value(self.m_next, i);
    if (from_previous) want = value(self.m_previous, i);
    EXPECT_TRUE(::Test::same_bits(got_back(i), want)) << i;
  }
}

/// Team forms of single elements: every thread gets the value, one of them stores.
DEVICE_TYPED_TEST(Access, SingleElementsByTeam) {
  auto source = self.m_context.template empty<double>("source");
  auto target = self.m_context.template empty<double>("target");
  ::Test::random_fill_anywhere(source.view(), ::Test::stream(self.m_rank));
  ::Test::poison_fill_anywhere(target.view());
  self.m_context.barrier();
  const auto d = self.m_context.device();
  const int next = self.m_next;
  for (const int size : self.team_sizes()) {
    const ::Test::SharedView<double*, TypeParam> loaded("loaded", size);
    Kokkos::parallel_for(
        Kokkos::TeamPolicy<TypeParam>(1, size),
        KOKKOS_LAMBDA(const typename Access<TypeParam>::Team& team) {
          loaded(team.team_rank()) = KokkosIris::load(team, d, source.data(), next);
          KokkosIris::store(team, d, target.data(), 0.5 * source(), next);
        });
    Kokkos::fence();
    for (int thread = 0; thread < size; ++thread) {
      EXPECT_EQ(loaded(thread), ::Test::random_value<double>(::Test::stream(self.m_next), 0));
    }
  }
  self.m_context.barrier();
  EXPECT_EQ(::Test::staged(target.view())(),
            0.5 * ::Test::random_value<double>(::Test::stream(self.m_previous), 0));
}

/// Large blocks take other paths (streaming); every rank's block differs.
DEVICE_TYPED_TEST(Access, LargeBlocks) {
  constexpr std::size_t n = (std::size_t(13) << 20) + 5;
  auto source = self.m_context.template empty<std::uint8_t*>("source", n);
  auto target = self.m_context.template empty<std::uint8_t*>("target", n);
  const auto fill = [&](int rank, std::size_t i) {
    return static_cast<std::uint8_t>((i * 2654435761u >> 7) + static_cast<std::size_t>(rank) * 31u);
  };
  const auto mine = ::Test::staged(source.view());
  for (std::size_t i = 0; i < n; ++i) mine(i) = fill(self.m_rank, i);
  mine.push();
  self.m_context.barrier();
  const Move<std::uint8_t> move{
      Way::put, self.m_context.device(), target.data() + 1, source.data(), n - 1, 0, self.m_next};
  if constexpr (KokkosIris::Impl::is_gpu_space_v<TypeParam>) {
    const int size = self.team_sizes().back();
    Kokkos::parallel_for(Kokkos::TeamPolicy<TypeParam>(1, size), move);
  } else {
    Kokkos::parallel_for(Kokkos::RangePolicy<TypeParam>(0, 1), move);
  }
  self.m_context.barrier();
  std::size_t wrong = 0;
  const auto got = ::Test::staged(target.view());
  for (std::size_t i = 1; i < n; ++i) wrong += got(i) != fill(self.m_previous, i - 1);
  EXPECT_EQ(wrong, 0u);
  EXPECT_EQ(got(0), 0);
}

}  // namespace
