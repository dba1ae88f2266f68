// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// load, store and contiguous get, put, copy by threads and teams. Every rank works on the rank
// after it and checks what the rank before it did; all ranks hold different random data.

#include <TestUtilities.hpp>
#include <functional>
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
 protected:
  using Team = typename Kokkos::TeamPolicy<ExecutionSpace>::member_type;
  KokkosIris::Context<typename ExecutionSpace::memory_space> m_context =
      ::Test::make_context<ExecutionSpace>();
  int m_rank = m_context.rank();
  int m_size = m_context.size();
  int m_next = (m_rank + 1) % m_size;
  int m_previous = (m_rank + m_size - 1) % m_size;

  /// Team sizes that the space offers, up to 3.
  std::vector<int> team_sizes() const {
    std::vector<int> sizes;
    for (int size = 1; size <= std::min(3, ExecutionSpace().concurrency()); ++size) {
      sizes.push_back(size);
    }
    return sizes;
  }

 public:
  template <class T>
  void scalars();
  template <class T>
  void blocks(const std::function<void(T*, const T*, std::size_t)>& move);
};

TYPED_TEST_SUITE(Access, ::Test::ExecutionSpaces, ::Test::ExecutionSpaceNames);

/// load and store of single elements, with and without a mask, by one thread each.
template <class ExecutionSpace>
template <class T>
void Access<ExecutionSpace>::scalars() {
  constexpr int n = 101;
  auto source = m_context.template empty<T*>("source", n);
  auto target = m_context.template empty<T*>("target", n);
  Kokkos::View<T*, ExecutionSpace> loaded("loaded", n), masked("masked", n);
  ::Test::random_fill(source, ::Test::stream(m_rank));
  ::Test::poison_fill(target);
  m_context.barrier();
  const auto d = m_context.device();
  const int next = m_next, previous = m_previous, rank = m_rank;
  const T other = ::Test::random_value<T>(77, 0);
  Kokkos::parallel_for(
      Kokkos::RangePolicy<ExecutionSpace>(0, n), KOKKOS_LAMBDA(int i) {
        loaded(i) = KokkosIris::load(d, &source(i), next);
        masked(i) = KokkosIris::load(d, &source(i), previous, i % 3 == 0, other);
        if (i % 2 == 0)
          KokkosIris::store(d, &target(i), KokkosIris::load(d, &source(i), rank), next);
        KokkosIris::store(d, &target(i), source(i), next, i % 5 == 0);
      });
  m_context.barrier();
  const T untouched = ::Test::poison<T>();
  for (std::size_t i = 0; i < n; ++i) {
    EXPECT_TRUE(same(loaded(i), ::Test::random_value<T>(::Test::stream(m_next), i))) << i;
    EXPECT_TRUE(same(masked(i),
                     i % 3 == 0 ? ::Test::random_value<T>(::Test::stream(m_previous), i) : other))
        << i;
    const bool written = i % 2 == 0 || i % 5 == 0;
    EXPECT_TRUE(same(target(i),
                     written ? ::Test::random_value<T>(::Test::stream(m_previous), i) : untouched))
        << i;
  }
  m_context.barrier();
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

TYPED_TEST(Access, LoadAndStore) {
  AllTypes::for_each([this](auto type) { this->template scalars<decltype(type)>(); });
}

/// Calls move(dst, src, n) for blocks of all sizes at several offsets, each with room of its own:
/// my source goes to the next rank's target. Checks every element, and the sentinels around the
/// blocks.
template <class ExecutionSpace>
template <class T>
void Access<ExecutionSpace>::blocks(const std::function<void(T*, const T*, std::size_t)>& move) {
  constexpr std::pair<std::size_t, std::size_t> offsets[] = {{0, 0}, {1, 3}, {2, 2}, {3, 8}};
  std::size_t capacity = guard;
  for (const std::size_t n : block_sizes) capacity += std::size(offsets) * (n + 3 + guard);
  auto source = m_context.template empty<T*>("source", capacity + 8);
  auto target = m_context.template empty<T*>("target", capacity);
  ::Test::random_fill(source, ::Test::stream(m_rank));
  ::Test::poison_fill(target);
  m_context.barrier();
  std::vector<long> origin(capacity, -1);  // element of the source that belongs here
  std::size_t at = guard;
  for (const std::size_t n : block_sizes) {
    for (const auto& [to, from] : offsets) {
      move(target.data() + at + to, source.data() + at + from, n);
      for (std::size_t i = 0; i < n; ++i) origin[at + to + i] = static_cast<long>(at + from + i);
      at += n + 3 + guard;
    }
  }
  m_context.barrier();
  const T untouched = ::Test::poison<T>();
  for (std::size_t i = 0; i < capacity; ++i) {
    const T want = origin[i] < 0 ? untouched
                                 : ::Test::random_value<T>(::Test::stream(m_previous),
                                                           static_cast<std::uint64_t>(origin[i]));
    ASSERT_TRUE(same(target(i), want)) << "element " << i << ", from " << origin[i];
  }
  m_context.barrier();
}

TYPED_TEST(Access, PutByThread) {
  SomeTypes::for_each([this](auto type) {
    using T = decltype(type);
    const auto d = this->m_context.device();
    const int next = this->m_next;
    this->template blocks<T>([=](T* dst, const T* src, std::size_t n) {
      Kokkos::parallel_for(
          Kokkos::RangePolicy<TypeParam>(0, 1),
          KOKKOS_LAMBDA(int) { KokkosIris::put(d, dst, src, n, next); });
    });
  });
}

TYPED_TEST(Access, PutByTeam) {
  SomeTypes::for_each([this](auto type) {
    using T = decltype(type);
    for (const int size : this->team_sizes()) {
      const auto d = this->m_context.device();
      const int next = this->m_next;
      this->template blocks<T>([=](T* dst, const T* src, std::size_t n) {
        Kokkos::parallel_for(
            Kokkos::TeamPolicy<TypeParam>(1, size),
            KOKKOS_LAMBDA(const typename TestFixture::Team& team) {
              KokkosIris::put(team, d, dst, src, n, next);
            });
      });
    }
  });
}

/// Gets the previous rank's source to my own target: the same result as a put by the previous rank.
TYPED_TEST(Access, GetByThread) {
  SomeTypes::for_each([this](auto type) {
    using T = decltype(type);
    const auto d = this->m_context.device();
    const int previous = this->m_previous;
    this->template blocks<T>([=](T* dst, const T* src, std::size_t n) {
      Kokkos::parallel_for(
          Kokkos::RangePolicy<TypeParam>(0, 1),
          KOKKOS_LAMBDA(int) { KokkosIris::get(d, dst, src, n, previous); });
    });
  });
}

TYPED_TEST(Access, GetByTeam) {
  SomeTypes::for_each([this](auto type) {
    using T = decltype(type);
    for (const int size : this->team_sizes()) {
      const auto d = this->m_context.device();
      const int previous = this->m_previous;
      this->template blocks<T>([=](T* dst, const T* src, std::size_t n) {
        Kokkos::parallel_for(
            Kokkos::TeamPolicy<TypeParam>(1, size),
            KOKKOS_LAMBDA(const typename TestFixture::Team& team) {
              KokkosIris::get(team, d, dst, src, n, previous);
            });
      });
    }
  });
}

/// Rank r moves data from rank r + 1 to rank r + 2: with three ranks and more it is neither.
TYPED_TEST(Access, CopyBetweenOtherRanks) {
  SomeTypes::for_each([this](auto type) {
    using T = decltype(type);
    const auto d = this->m_context.device();
    const int from = this->m_next;
    const int to = (this->m_rank + 2) % this->m_size;
    const int size = this->team_sizes().back();
    this->template blocks<T>([=](T* dst, const T* src, std::size_t n) {
      Kokkos::parallel_for(
          Kokkos::RangePolicy<TypeParam>(0, 1),
          KOKKOS_LAMBDA(int) { KokkosIris::copy(d, dst, src, n, from, to); });
    });
    this->template blocks<T>([=](T* dst, const T* src, std::size_t n) {
      Kokkos::parallel_for(
          Kokkos::TeamPolicy<TypeParam>(1, size),
          KOKKOS_LAMBDA(const typename TestFixture::Team& team) {
            KokkosIris::copy(team, d, dst, src, n, from, to);
          });
    });
  });
}

TYPED_TEST(Access, PromisedAlignment) {
  constexpr std::size_t n = 1024;
  auto source = this->m_context.template empty<float*>("source", n);
  auto target = this->m_context.template empty<float*>("target", n);
  auto back = this->m_context.template empty<float*>("back", n);
  ::Test::random_fill(source, ::Test::stream(this->m_rank));
  ::Test::poison_fill(target);
  ::Test::poison_fill(back);
  this->m_context.barrier();
  const auto d = this->m_context.device();
  const int next = this->m_next, previous = this->m_previous, rank = this->m_rank;
  const int size = this->team_sizes().back();
  Kokkos::parallel_for(
      Kokkos::TeamPolicy<TypeParam>(1, size),
      KOKKOS_LAMBDA(const typename TestFixture::Team& team) {
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
  this->m_context.barrier();
  const auto value = [](int rank, std::size_t i) {
    return ::Test::random_value<float>(::Test::stream(rank), i);
  };
  for (std::size_t i = 0; i < n; ++i) {
    EXPECT_EQ(target(i), value(this->m_previous, i)) << i;
    const bool from_next = (i >= 16 && i < 48) || (i >= 128 && i < 192);
    const bool from_previous = (i >= 64 && i < 96) || (i >= 256 && i < 264);
    float want = ::Test::poison<float>();
    if (from_next) want = value(this->m_next, i);
    if (from_previous) want = value(this->m_previous, i);
    EXPECT_TRUE(::Test::same_bits(back(i), want)) << i;
  }
}

/// Team forms of single elements: every thread gets the value, one of them stores.
TYPED_TEST(Access, SingleElementsByTeam) {
  auto source = this->m_context.template empty<double>("source");
  auto target = this->m_context.template empty<double>("target");
  ::Test::random_fill(source, ::Test::stream(this->m_rank));
  ::Test::poison_fill(target);
  this->m_context.barrier();
  const auto d = this->m_context.device();
  const int next = this->m_next;
  for (const int size : this->team_sizes()) {
    Kokkos::View<double*, TypeParam> loaded("loaded", size);
    Kokkos::parallel_for(
        Kokkos::TeamPolicy<TypeParam>(1, size),
        KOKKOS_LAMBDA(const typename TestFixture::Team& team) {
          loaded(team.team_rank()) = KokkosIris::load(team, d, source.data(), next);
          KokkosIris::store(team, d, target.data(), 0.5 * source(), next);
        });
    for (int thread = 0; thread < size; ++thread) {
      EXPECT_EQ(loaded(thread), ::Test::random_value<double>(::Test::stream(this->m_next), 0));
    }
  }
  this->m_context.barrier();
  EXPECT_EQ(target(), 0.5 * ::Test::random_value<double>(::Test::stream(this->m_previous), 0));
}

/// Large blocks take other paths (streaming); every rank's block differs.
TYPED_TEST(Access, LargeBlocks) {
  constexpr std::size_t n = (std::size_t(13) << 20) + 5;
  auto source = this->m_context.template empty<std::uint8_t*>("source", n);
  auto target = this->m_context.template empty<std::uint8_t*>("target", n);
  const auto fill = [&](int rank, std::size_t i) {
    return static_cast<std::uint8_t>((i * 2654435761u >> 7) + static_cast<std::size_t>(rank) * 31u);
  };
  for (std::size_t i = 0; i < n; ++i) source(i) = fill(this->m_rank, i);
  this->m_context.barrier();
  const auto d = this->m_context.device();
  const int next = this->m_next;
  Kokkos::parallel_for(
      Kokkos::RangePolicy<TypeParam>(0, 1),
      KOKKOS_LAMBDA(int) { KokkosIris::put(d, target.data() + 1, source.data(), n - 1, next); });
  this->m_context.barrier();
  std::size_t wrong = 0;
  for (std::size_t i = 1; i < n; ++i) wrong += target(i) != fill(this->m_previous, i - 1);
  EXPECT_EQ(wrong, 0u);
  EXPECT_EQ(target(0), 0);
}

}  // namespace
