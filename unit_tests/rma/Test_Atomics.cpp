// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Atomics on one element: values and old values of every operation, type, order and scope,
// wrap-around, NaN, masks, and exact results under contention of all threads of all ranks.

#include <sched.h>

#include <DeviceTesting.hpp>
#include <cmath>
#include <limits>
#include <vector>

namespace {

using KokkosIris::DeviceContext;

/// The operations as function objects: name(pointer, value) with fixed options.
enum class Op { add, sub, xchg, bit_xor, bit_and, bit_or, min, max };

template <class T, class... Options>
KOKKOS_FUNCTION T apply(Op op, const DeviceContext& d, T* p, T value, int peer,
                        const Options&... options) {
  switch (op) {
    case Op::add:
      return KokkosIris::atomic_add(d, p, value, peer, options...);
    case Op::sub:
      return KokkosIris::atomic_sub(d, p, value, peer, options...);
    case Op::xchg:
      return KokkosIris::atomic_xchg(d, p, value, peer, options...);
    case Op::min:
      return KokkosIris::atomic_min(d, p, value, peer, options...);
    case Op::max:
      return KokkosIris::atomic_max(d, p, value, peer, options...);
    default:
      break;
  }
  if constexpr (std::is_integral_v<T>) {
    if (op == Op::bit_xor) return KokkosIris::atomic_xor(d, p, value, peer, options...);
    if (op == Op::bit_and) return KokkosIris::atomic_and(d, p, value, peer, options...);
    if (op == Op::bit_or) return KokkosIris::atomic_or(d, p, value, peer, options...);
  }
  return T{};
}

/// What the word should hold afterwards. Integers in unsigned arithmetic, which wraps.
template <class T>
T expected(Op op, T old, T value) {
  if constexpr (std::is_integral_v<T>) {
    using U = std::make_unsigned_t<T>;
    switch (op) {
      case Op::add:
        return static_cast<T>(static_cast<U>(old) + static_cast<U>(value));
      case Op::sub:
        return static_cast<T>(static_cast<U>(old) - static_cast<U>(value));
      case Op::bit_xor:
        return static_cast<T>(old ^ value);
      case Op::bit_and:
        return static_cast<T>(old & value);
      case Op::bit_or:
        return static_cast<T>(old | value);
      default:
        break;
    }
  }
  switch (op) {
    case Op::add:
      return old + value;
    case Op::sub:
      return old - value;
    case Op::min:
      return value < old ? value : old;
    case Op::max:
      return old < value ? value : old;
    default:
      return value;
  }
}

/// One call for each pair of an old and a new value, with the options of the template arguments.
template <class T, class... Options>
struct Calls {
  Op m_op;
  DeviceContext m_device;
  int m_peer;
  T* m_words;
  const T* m_values;
  T* m_old;
  KOKKOS_FUNCTION void operator()(int i) const {
    m_old[i] = apply(m_op, m_device, m_words + i, m_values[i], m_peer, Options{}...);
  }
};

template <class ExecutionSpace>
class Atomics : public testing::Test {
 public:
  KokkosIris::Context<typename ExecutionSpace::memory_space> m_context =
      ::Test::make_context<ExecutionSpace>();
  int m_rank = m_context.rank();
  int m_size = m_context.size();
  int m_next = (m_rank + 1) % m_size;
  int m_previous = (m_rank + m_size - 1) % m_size;

  template <class T>
  static std::vector<T> special_values() {
    using Limits = std::numeric_limits<T>;
    std::vector<T> values{T(0), T(1), T(7), Limits::max(), Limits::lowest()};
    values.push_back(static_cast<T>(-1));
    if constexpr (std::is_integral_v<T>) values.push_back(static_cast<T>(Limits::max() - 2));
    for (std::uint64_t i = 0; i < 5; ++i) values.push_back(::Test::random_value<T>(3, i));
    return values;
  }

  /// Every operation on every pair of special values, on words of the next rank.
  template <class T, class... Options>
  void all_pairs() {
    const std::vector<T> special = special_values<T>();
    const int n = static_cast<int>(special.size() * special.size());
    auto words = m_context.template empty<T*>("words", n + 2);
    const ::Test::SharedView<T*, ExecutionSpace> values("values", n), old("old", n);
    const auto host = ::Test::staged(words.view());
    for (const Op op :
         {Op::add, Op::sub, Op::xchg, Op::bit_xor, Op::bit_and, Op::bit_or, Op::min, Op::max}) {
      if (!std::is_integral_v<T> && (op == Op::bit_xor || op == Op::bit_and || op == Op::bit_or)) {
        continue;
      }
      const auto start = [&](int i) {
        return special[static_cast<std::size_t>(i) % special.size()];
      };
      for (int i = 0; i < n; ++i) {
        host(i + 1) = start(i);
        // Another value on each rank.
        values(i) = special[(static_cast<std::size_t>(i) / special.size() +
                             static_cast<std::size_t>(m_rank)) %
                            special.size()];
      }
      host(0) = host(n + 1) = ::Test::poison<T>();
      host.push();
      m_context.barrier();
      Kokkos::parallel_for(Kokkos::RangePolicy<ExecutionSpace>(0, n),
                           Calls<T, Options...>{op, m_context.device(), m_next, words.data() + 1,
                                                values.data(), old.data()});
      m_context.barrier();
      const auto result = ::Test::staged(words.view());
      for (int i = 0; i < n; ++i) {
        const T value = special[(static_cast<std::size_t>(i) / special.size() +
                                 static_cast<std::size_t>(m_previous)) %
                                special.size()];
        EXPECT_TRUE(::Test::same_bits(old(i), start(i)))
            << "operation " << int(op) << " pair " << i;
        EXPECT_TRUE(::Test::same_bits(result(i + 1), expected(op, start(i), value)))
            << "operation " << int(op) << ", " << start(i) << " and " << value << ": "
            << result(i + 1);
      }
      EXPECT_TRUE(::Test::same_bits(result(0), ::Test::poison<T>()));
      EXPECT_TRUE(::Test::same_bits(result(n + 1), ::Test::poison<T>()));
      m_context.barrier();
    }
  }
};

TYPED_TEST_SUITE(Atomics, Test::AllExecutionSpaces, Test::ExecutionSpaceNames);

DEVICE_TYPED_TEST(Atomics, IntegersOf4Bytes) {
  self.template all_pairs<int>();
  self.template all_pairs<unsigned>();
}

DEVICE_TYPED_TEST(Atomics, IntegersOf8Bytes) {
  self.template all_pairs<long>();
  self.template all_pairs<unsigned long>();
  self.template all_pairs<long long>();
  self.template all_pairs<unsigned long long>();
}

DEVICE_TYPED_TEST(Atomics, FloatingPoint) {
  self.template all_pairs<float>();
  self.template all_pairs<double>();
}

DEVICE_TYPED_TEST(Atomics, EveryOrderAndScopeInAnyOrder) {
  using namespace KokkosIris;
  self.template all_pairs<int, Relaxed>();
  self.template all_pairs<unsigned long, Acquire>();
  self.template all_pairs<long, Release>();
  self.template all_pairs<float, AcqRel>();
  self.template all_pairs<double, TeamScope>();
  self.template all_pairs<unsigned, DeviceScope, Relaxed>();
  self.template all_pairs<long, Acquire, SystemScope>();
  self.template all_pairs<double, SystemScope, Release>();
  self.template all_pairs<float, Relaxed, DeviceScope>();
  self.template all_pairs<double, Acquire>();
}

DEVICE_TYPED_TEST(Atomics, CompareAndExchange) {
  auto words = self.m_context.template empty<double*>("words", 4);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double start[] = {1.5, nan, 0.0, -2.0};
  const auto host = ::Test::staged(words.view());
  for (int i = 0; i < 4; ++i) host(i) = start[i];
  host.push();
  self.m_context.barrier();
  const ::Test::SharedView<double*, TypeParam> old("old", 4);
  const auto d = self.m_context.device();
  const int next = self.m_next;
  Kokkos::parallel_for(
      Kokkos::RangePolicy<TypeParam>(0, 1), KOKKOS_LAMBDA(int) {
        old(0) = KokkosIris::atomic_cas(d, &words(0), 1.5, 2, next);
        old(1) = KokkosIris::atomic_cas(d, &words(1), nan, 3.0, next);
        old(2) = KokkosIris::atomic_cas(d, &words(2), -0.0, 4.0, next, KokkosIris::relaxed);
        old(3) = KokkosIris::atomic_cas(d, &words(3), 2.0, 5.0, next, KokkosIris::acquire);
      });
  self.m_context.barrier();
  const auto result = ::Test::staged(words.view());
  const double want[] = {2.0, 3.0, 0.0, -2.0};  // exchanged, exchanged, other bits, other value
  for (int i = 0; i < 4; ++i) {
    EXPECT_TRUE(::Test::same_bits(old(i), start[i])) << i;
    EXPECT_TRUE(::Test::same_bits(result(i), want[i])) << i;
  }
}

DEVICE_TYPED_TEST(Atomics, MinAndMaxOfNanAndZero) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float start[] = {nan, 1.0f, nan, 1.0f, 0.0f, -0.0f, nan};
  const float value[] = {1.0f, nan, -3.0f, nan, -0.0f, 0.0f, nan};
  const float want[] = {1.0f, 1.0f, -3.0f, 1.0f, 0.0f, -0.0f, nan};
  constexpr int n = 7;
  auto words = self.m_context.template empty<float*>("words", n);
  const ::Test::SharedView<float*, TypeParam> values("values", n);
  for (const bool is_min : {true, false}) {
    const auto host = ::Test::staged(words.view());
    for (int i = 0; i < n; ++i) {
      host(i) = start[i];
      values(i) = value[i];
    }
    host.push();
    self.m_context.barrier();
    const auto d = self.m_context.device();
    const int next = self.m_next;
    Kokkos::parallel_for(
        Kokkos::RangePolicy<TypeParam>(0, n), KOKKOS_LAMBDA(int i) {
          if (is_min) KokkosIris::atomic_min(d, &words(i), values(i), next, KokkosIris::relaxed);
          if (!is_min) KokkosIris::atomic_max(d, &words(i), values(i), next);
        });
    self.m_context.barrier();
    const auto result = ::Test::staged(words.view());
    for (int i = 0; i < n; ++i) {
      const bool both_nan = std::isnan(want[i]) && std::isnan(result(i));
      EXPECT_TRUE(both_nan || ::Test::same_bits(result(i), want[i])) << is_min << " " << i;
    }
    self.m_context.barrier();
  }
}

DEVICE_TYPED_TEST(Atomics, MaskedOutIsNotAccessed) {
  auto words = self.m_context.template full<int*>("words", 5, 10);
  const ::Test::SharedView<int*, TypeParam> old("old", 10);
  const auto d = self.m_context.device();
  const int next = self.m_next;
  Kokkos::parallel_for(
      Kokkos::RangePolicy<TypeParam>(0, 10), KOKKOS_LAMBDA(int i) {
        const bool take = i % 2 == 0;
        using KokkosIris::mask;
        old(i) =
            i < 5
                ? KokkosIris::atomic_sub(d, &words(i), 3, next, mask(take), KokkosIris::relaxed)
                : KokkosIris::atomic_cas(d, &words(i), 5, 9, next, KokkosIris::acquire, mask(take));
      });
  self.m_context.barrier();
  const auto result = ::Test::staged(words.view());
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(old(i), i % 2 == 0 ? 5 : 0) << i;
    EXPECT_EQ(result(i), i % 2 != 0 ? 5 : (i < 5 ? 2 : 9)) << i;
  }
}

/// All ranks and threads on one word of each rank: nothing is lost, and no old value is seen twice.
DEVICE_TYPED_TEST(Atomics, ContendedAdd) {
  const int n = 20000;
  const int total = n * self.m_size;
  auto counter = self.m_context.template zeros<unsigned>("counter");
  auto seen = self.m_context.template zeros<unsigned*>("seen", total);
  const auto d = self.m_context.device();
  Kokkos::parallel_for(
      Kokkos::RangePolicy<TypeParam>(0, n), KOKKOS_LAMBDA(int) {
        const unsigned ticket = KokkosIris::atomic_add(d, counter.data(), 1, 0);
        KokkosIris::atomic_add(d, &seen(ticket), 1, 0, KokkosIris::relaxed);
      });
  self.m_context.barrier();
  if (self.m_rank != 0) return;
  EXPECT_EQ(::Test::staged(counter.view())(), static_cast<unsigned>(total));
  const auto result = ::Test::staged(seen.view());
  for (int i = 0; i < total; ++i) ASSERT_EQ(result(i), 1u) << i;
}

DEVICE_TYPED_TEST(Atomics, ContendedFloatingPointAndExchange) {
  const int n = 5000;
  auto sum = self.m_context.template zeros<double>("sum");
  auto smallest = self.m_context.template full<float>("smallest", 1.0e30f);
  auto largest = self.m_context.template full<long>("largest", -1);
  auto chain = self.m_context.template full<long>("chain", -1);
  const ::Test::SharedView<long*, TypeParam> taken("taken", n);
  const auto d = self.m_context.device();
  const int rank = self.m_rank;
  Kokkos::parallel_for(
      Kokkos::RangePolicy<TypeParam>(0, n), KOKKOS_LAMBDA(int i) {
        const long id = static_cast<long>(rank) * n + i;
        KokkosIris::atomic_add(d, sum.data(), 0.25, 0);
        KokkosIris::atomic_sub(d, sum.data(), 0.125, 0);
        KokkosIris::atomic_min(d, smallest.data(), 5.0f - static_cast<float>(id), 0);
        KokkosIris::atomic_max(d, largest.data(), id, 0);
        taken(i) = KokkosIris::atomic_xchg(d, chain.data(), id, 0);
      });
  self.m_context.barrier();
  // Every value that was put into the chain was taken out once, except the last.
  auto count = self.m_context.template zeros<long>("count");
  auto total = self.m_context.template zeros<long>("total");
  long here = 0;
  for (int i = 0; i < n; ++i) here += taken(i);
  KokkosIris::atomic_add(self.m_context, total, here, 0);
  self.m_context.barrier();
  if (self.m_rank != 0) return;
  const long all = static_cast<long>(n) * self.m_size;
  EXPECT_EQ(::Test::staged(sum.view())(), 0.125 * static_cast<double>(all));
  EXPECT_EQ(::Test::staged(smallest.view())(), 5.0f - static_cast<float>(all - 1));
  EXPECT_EQ(::Test::staged(largest.view())(), all - 1);
  EXPECT_EQ(::Test::staged(total.view())() + ::Test::staged(chain.view())() + 1,
            all * (all - 1) / 2);
}

/// A lock of compare-and-exchange around plain data of another rank: acquire and release order
/// them.
DEVICE_TYPED_TEST(Atomics, SpinLock) {
  const int n = 300;
  auto lock = self.m_context.template zeros<int>("lock");
  auto data = self.m_context.template zeros<long*>("data", 3);
  const auto d = self.m_context.device();
  Kokkos::parallel_for(
      Kokkos::RangePolicy<TypeParam>(0, 1), KOKKOS_LAMBDA(int) {
        for (int i = 0; i < n; ++i) {
          // Bounded: ends at the latest when the others have had all their turns.
          while (KokkosIris::atomic_cas(d, lock.data(), 0, 1, 0, KokkosIris::acquire) != 0) {
            KOKKOS_IF_ON_HOST((sched_yield();))
          }
          for (int k = 0; k < 3; ++k) {
            KokkosIris::store(d, &data(k), KokkosIris::load(d, &data(k), 0) + k + 1, 0);
          }
          KokkosIris::atomic_xchg(d, lock.data(), 0, 0, KokkosIris::release);
        }
      });
  self.m_context.barrier();
  if (self.m_rank != 0) return;
  const auto result = ::Test::staged(data.view());
  for (int k = 0; k < 3; ++k) EXPECT_EQ(result(k), static_cast<long>(n) * self.m_size * (k + 1));
}

}  // namespace
