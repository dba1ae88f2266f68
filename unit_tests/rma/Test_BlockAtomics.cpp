// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Atomics on blocks, by teams and from the host: every operation on views and pointers, with values
// or one value, masks, old values, hints, orders and scopes; strided and mixed layouts. Each rank
// works on the rank after it.

#include <DeviceTesting.hpp>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace KokkosIris;  // NOLINT: the names under test

enum class Op { add, sub, xchg, bit_xor, bit_and, bit_or, min, max, cas };
constexpr Op all_ops[] = {Op::add,    Op::sub, Op::xchg, Op::bit_xor, Op::bit_and,
                          Op::bit_or, Op::min, Op::max,  Op::cas};
/// The value that cas compares with.
constexpr int compared = 2;

/// Calls the operation: handles (team and device context, or execution space and context, or
/// context), then dst, values and the rest as given.
template <class T, class A, class Dst, class Values, class... Rest>
void call(Op op, const A& handles, const Dst& dst, const Values& values, const Rest&... rest) {
  handles([&](const auto&... h) {
    switch (op) {
      case Op::add:
        atomic_add(h..., dst, values, rest...);
        return;
      case Op::sub:
        atomic_sub(h..., dst, values, rest...);
        return;
      case Op::xchg:
        atomic_xchg(h..., dst, values, rest...);
        return;
      case Op::min:
        atomic_min(h..., dst, values, rest...);
        return;
      case Op::max:
        atomic_max(h..., dst, values, rest...);
        return;
      case Op::cas:
        atomic_cas(h..., dst, T(compared), values, rest...);
        return;
      default:
        break;
    }
    if constexpr (std::is_integral_v<T>) {
      if (op == Op::bit_xor) atomic_xor(h..., dst, values, rest...);
      if (op == Op::bit_and) atomic_and(h..., dst, values, rest...);
      if (op == Op::bit_or) atomic_or(h..., dst, values, rest...);
    }
  });
}

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
        return old ^ value;
      case Op::bit_and:
        return old & value;
      case Op::bit_or:
        return old | value;
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
      return std::min(old, value);
    case Op::max:
      return std::max(old, value);
    case Op::cas:
      return old == T(compared) ? value : old;
    default:
      return value;
  }
}

template <class T>
T start_value(int purpose, std::size_t i) {
  // A third of the elements compares equal in cas.
  return i % 3 == 0 ? T(compared) : ::Test::random_value<T>(::Test::stream(50, purpose), i);
}

enum class Level { team, host, host_default };
template <Level level>
using At = std::integral_constant<Level, level>;

/// Kernel of a host space: body(handles) by a team.
template <class Body>
struct HostTeam {
  Body m_body;
  DeviceContext m_device;
  template <Impl::TeamHandle Team>
  void operator()(const Team& team) const {
    m_body([&](const auto& f) { f(team, m_device); });
  }
};

template <class ExecutionSpace>
class BlockAtomics : public testing::Test {
 public:
  using Team = typename Kokkos::TeamPolicy<ExecutionSpace>::member_type;
  Context<typename ExecutionSpace::memory_space> m_context = ::Test::make_context<ExecutionSpace>();
  int m_rank = m_context.rank();
  int m_size = m_context.size();
  int m_next = (m_rank + 1) % m_size;
  int m_previous = (m_rank + m_size - 1) % m_size;
  int m_purpose = 0;

  /// body(handles) at a level, where handles(f) calls f with what stands before dst.
  template <Level level, class Body>
  void at(At<level>, const Body& body) {
    const auto d = m_context.device();
    if constexpr (level == Level::team) {
      Kokkos::parallel_for(
          Kokkos::TeamPolicy<ExecutionSpace>(1, std::min(3, ExecutionSpace().concurrency())),
          HostTeam<Body>{body, d});
    } else if constexpr (level == Level::host) {
      body([&](const auto& f) { f(ExecutionSpace(), m_context); });
    } else {
      body([&](const auto& f) { f(m_context); });
    }
  }

  /// One operation; `run(handles)` does it with `values` (or with one value, `scalar`) on dst of
  /// the next rank. Checks dst as changed by the previous rank, all of `whole`, and the old values.
  template <class T, Level level, class Whole, class Dst, class Values, class Mask, class Old,
            class Run>
  void check(At<level> where, Op op, bool scalar, bool masked, bool keeps_old, const Whole& whole,
             const Dst& dst, const Values& values, const Mask& mask, const Old& old,
             const Run& run) {
    check_launch<T>([&] { at(where, run); }, int(level), op, scalar, masked, keeps_old, whole, dst,
                    values, mask, old);
  }
  template <class T, class Whole, class Dst, class Values, class Mask, class Old>
  void check_launch(const std::function<void()>& launch, int level, Op op, bool scalar, bool masked,
                    bool keeps_old, const Whole& whole, const Dst& dst, const Values& values,
                    const Mask& mask, const Old& old) {
    const int purpose = ++m_purpose;
    ::Test::poison_fill(whole);
    ::Test::random_fill(values, ::Test::stream(m_rank, purpose));
    for (std::size_t i = 0; i < ::Test::count(dst); ++i) {
      ::Test::element(dst, i) = start_value<T>(purpose, i);
    }
    ::Test::poison_fill(old);
    m_context.barrier();
    launch();
    m_context.barrier();
    std::size_t intact = 0;
    for (std::size_t i = 0; i < ::Test::count(dst); ++i) {
      const bool selected = !masked || ::Test::element(mask, i) != 0;
      const T before = start_value<T>(purpose, i);
      const T value =
          scalar ? T(3) : ::Test::random_value<T>(::Test::stream(m_previous, purpose), i);
      const T want = selected ? expected(op, before, value) : before;
      ASSERT_TRUE(::Test::same_bits(::Test::element(dst, i), want))
          << "operation " << int(op) << " level " << level << " scalar " << scalar << " masked "
          << masked << " element " << i;
      const T want_old = keeps_old && selected ? before : ::Test::poison<T>();
      ASSERT_TRUE(::Test::same_bits(::Test::element(old, i), want_old))
          << "old value, operation " << int(op) << " level " << level << " element " << i;
    }
    for (std::size_t i = 0; i < ::Test::count(whole); ++i) {
      intact += ::Test::same_bits(::Test::element(whole, i), ::Test::poison<T>());
    }
    ASSERT_EQ(intact, ::Test::count(whole) - ::Test::count(dst)) << "elements around have changed";
    m_context.barrier();
  }

  /// All operations with all combinations of options on one block.
  template <class T, class Whole, class Dst, class Values, class Mask, class Old>
  void exercise(const Whole& whole, const Dst& dst, const Values& values, const Mask& mask,
                const Old& old) {
    for (std::size_t i = 0; i < ::Test::count(mask); ++i) {
      ::Test::element(mask, i) = ::Test::random_bits(7, i) % 4 != 0;  // the same on all ranks
    }
    const int next = m_next;
    // Every kernel below costs compile time, so not every level has every combination.
    for (const Op op : all_ops) {
      if (!std::is_integral_v<T> && (op == Op::bit_xor || op == Op::bit_and || op == Op::bit_or)) {
        continue;
      }
      check<T>(At<Level::team>(), op, false, false, false, whole, dst, values, mask, old,
               [=](const auto& h) { call<T>(op, h, dst, values, next); });
      check<T>(At<Level::host_default>(), op, true, false, true, whole, dst, values, mask, old,
               [=](const auto& h) { call<T>(op, h, dst, T(3), next, old_values(old), relaxed); });
      const auto everything = [=](const auto& h) {
        call<T>(op, h, dst, values, next, KokkosIris::mask(mask), acquire, old_values(old),
                system_scope);
      };
      check<T>(At<Level::team>(), op, false, true, true, whole, dst, values, mask, old, everything);
      check<T>(At<Level::host>(), op, false, true, true, whole, dst, values, mask, old, everything);
      check<T>(At<Level::team>(), op, true, true, false, whole, dst, values, mask, old,
               [=](const auto& h) {
                 call<T>(op, h, dst, 3, next, device_scope, release, KokkosIris::mask(mask));
               });
    }
  }
};

TYPED_TEST_SUITE(BlockAtomics, ::Test::ExecutionSpaces, ::Test::ExecutionSpaceNames);

using Kokkos::ALL;
using Kokkos::LayoutLeft;
using Kokkos::LayoutRight;
using Kokkos::subview;

TYPED_TEST(BlockAtomics, RankOne) {
  const auto exercise = [this](auto type, int n) {
    using T = decltype(type);
    auto whole = this->m_context.template empty<T*>("whole", n + 5);
    const Kokkos::View<T*, TypeParam> values("values", n), old("old", n);
    const Kokkos::View<bool*, TypeParam> mask("mask", n);
    this->template exercise<T>(whole, subview(whole.view(), std::pair(2, n + 2)), values, mask,
                               old);
  };
  exercise(int(), 0);
  exercise(int(), 1);
  exercise(int(), 131);
  exercise(double(), 53);
}

TYPED_TEST(BlockAtomics, StridedAndMixedLayouts) {
  auto whole = this->m_context.template empty<int***, LayoutRight>("whole", 5, 6, 7);
  const auto block = subview(whole.view(), std::pair(1, 4), ALL, std::pair(2, 6));  // 3 x 6 x 4
  const Kokkos::View<int***, LayoutLeft, TypeParam> values("values", 3, 6, 4);
  const Kokkos::View<int***, LayoutRight, TypeParam> old("old", 3, 6, 4);
  const Kokkos::View<unsigned char***, LayoutLeft, TypeParam> mask("mask", 3, 6, 4);
  this->template exercise<int>(whole, block, values, mask, old);
}

TYPED_TEST(BlockAtomics, RankZero) {
  auto word = this->m_context.template empty<float>("word");
  const Kokkos::View<float, TypeParam> values("values"), old("old");
  const Kokkos::View<bool, TypeParam> mask("mask");
  this->template exercise<float>(word, word.view(), values, mask, old);
}

/// Pointers and numbers of elements; a pointer to values or one value.
TYPED_TEST(BlockAtomics, Pointers) {
  const int n = 77;
  auto whole = this->m_context.template empty<long*>("whole", n + 4);
  const auto block = subview(whole.view(), std::pair(3, n + 3));
  const Kokkos::View<long*, TypeParam> values("values", n), old("old", n);
  const Kokkos::View<bool*, TypeParam> mask("mask", n);
  for (int i = 0; i < n; ++i) mask(i) = i % 5 != 1;
  const int next = this->m_next;
  const auto count = static_cast<std::size_t>(n);
  long* const dst = block.data();
  const long* const source = values.data();
  for (const Op op : all_ops) {
    this->template check<long>(
        At<Level::team>(), op, false, false, true, whole, block, values, mask, old,
        [=](const auto& h) { call<long>(op, h, dst, source, count, next, old_values(old)); });
    this->template check<long>(At<Level::team>(), op, true, true, false, whole, block, values, mask,
                               old, [=](const auto& h) {
                                 call<long>(op, h, dst, 3, count, next, KokkosIris::mask(mask),
                                            relaxed);
                               });
  }
}

/// Groups of a hint: everything contiguous, with one value and with values, masks and old values.
TYPED_TEST(BlockAtomics, Hints) {
  const int n = 96;
  auto whole = this->m_context.template empty<float**, LayoutRight>("whole", 3, n);
  const auto block = subview(whole.view(), 1, ALL);
  const Kokkos::View<float*, TypeParam> values("values", n), old("old", n);
  const Kokkos::View<int*, TypeParam> mask("mask", n);
  for (int i = 0; i < n; ++i) mask(i) = i % 7 != 2;
  const int next = this->m_next;
  const auto all_operations = [&](auto level) {
    for (const Op op : {Op::add, Op::xchg, Op::max, Op::cas}) {
      this->template check<float>(
          level, op, false, false, false, whole, block, values, mask, old,
          [=](const auto& h) { call<float>(op, h, block, values, next, hint<4>); });
      this->template check<float>(level, op, true, true, true, whole, block, values, mask, old,
                                  [=](const auto& h) {
                                    call<float>(op, h, block, 3, next, hint<32>, relaxed,
                                                KokkosIris::mask(mask), old_values(old));
                                  });
      this->template check<float>(level, op, false, true, true, whole, block, values, mask, old,
                                  [=](const auto& h) {
                                    call<float>(op, h, block, values, next, KokkosIris::mask(mask),
                                                old_values(old), hint<1>);
                                  });
    }
  };
  all_operations(At<Level::team>());
  all_operations(At<Level::host>());
}

template <class ExecutionSpace>
class SharedBlockAtomics : public testing::Test {
 public:
  Context<typename ExecutionSpace::memory_space> m_context = ::Test::make_context<ExecutionSpace>();
  int m_rank = m_context.rank();
  int m_size = m_context.size();
  int m_team_size =
      Impl::is_gpu_space_v<ExecutionSpace> ? 128 : std::min(3, ExecutionSpace().concurrency());
};
TYPED_TEST_SUITE(SharedBlockAtomics, ::Test::AllExecutionSpaces, ::Test::ExecutionSpaceNames);

template <class Block>
struct AddAndSubtract {
  DeviceContext m_device;
  Block m_block;
  int m_rank;
  template <Impl::TeamHandle Team>
  KOKKOS_FUNCTION void operator()(const Team& team) const {
    atomic_add(team, m_device, m_block, m_rank + 1, 0);
    atomic_sub(team, m_device, m_block.data(), 0.5, m_block.size(), 0);
  }
};

/// All ranks add to one block at once.
DEVICE_TYPED_TEST(SharedBlockAtomics, Contended) {
  const int n = 500;
  auto block = self.m_context.template zeros<double*>("block", n);
  using Kernel = AddAndSubtract<std::remove_cvref_t<decltype(block.view())>>;
  Kokkos::parallel_for(Kokkos::TeamPolicy<TypeParam>(8, self.m_team_size),
                       Kernel{self.m_context.device(), block.view(), self.m_rank});
  self.m_context.barrier();
  if (self.m_rank != 0) return;
  const int size = self.m_size;
  const auto got = ::Test::staged(block.view());
  for (int i = 0; i < n; ++i) EXPECT_EQ(got(i), 8 * (size * (size + 1) / 2 - 0.5 * size)) << i;
}

/// What options of block atomics do, with all of them at once, on a strided block.
template <class Block, class Values, class Mask>
struct AllOptions {
  DeviceContext m_device;
  Block m_block;
  Values m_values, m_old;
  Mask m_mask;
  int m_peer;
  template <Impl::TeamHandle Team>
  KOKKOS_FUNCTION void operator()(const Team& team) const {
    atomic_max(team, m_device, m_block, m_values, m_peer, KokkosIris::mask(m_mask), acquire,
               old_values(m_old), system_scope);
    team.team_barrier();
    atomic_cas(team, m_device, m_block, 7, 8, m_peer, relaxed);
  }
};

DEVICE_TYPED_TEST(SharedBlockAtomics, OptionsByTeam) {
  const int rows = 9, columns = 14;
  auto whole =
      self.m_context.template zeros<int**, Kokkos::LayoutRight>("whole", rows, columns + 3);
  const auto block = Kokkos::subview(whole.view(), Kokkos::ALL, std::pair(2, columns + 2));
  const ::Test::SharedView<int**, TypeParam> values("values", rows, columns);
  const ::Test::SharedView<int**, TypeParam> old("old", rows, columns);
  const ::Test::SharedView<bool**, TypeParam> mask("mask", rows, columns);
  const auto start = [](int r, int c) { return (r * 31 + c * 7) % 13; };
  const auto value = [](int rank, int r, int c) { return (r * 5 + c * 3 + rank) % 13; };
  const auto selected = [](int r, int c) { return (r + c) % 3 != 1; };
  const auto host = ::Test::staged(whole.view());
  for (int r = 0; r < rows; ++r) {
    for (int c = 0; c < columns; ++c) {
      host(r, c + 2) = start(r, c);
      values(r, c) = value(self.m_rank, r, c);
      old(r, c) = -1;
      mask(r, c) = selected(r, c);
    }
  }
  host.push();
  self.m_context.barrier();
  using Kernel =
      AllOptions<std::remove_const_t<decltype(block)>, std::remove_const_t<decltype(values)>,
                 std::remove_const_t<decltype(mask)>>;
  const int next = (self.m_rank + 1) % self.m_size;
  const int previous = (self.m_rank + self.m_size - 1) % self.m_size;
  Kokkos::parallel_for(Kokkos::TeamPolicy<TypeParam>(1, self.m_team_size),
                       Kernel{self.m_context.device(), block, values, old, mask, next});
  self.m_context.barrier();
  // From the host, with a hint, on a contiguous block.
  atomic_add(TypeParam(), self.m_context, whole, 100, next, hint<1>);
  self.m_context.barrier();
  const auto got = ::Test::staged(whole.view());
  for (int r = 0; r < rows; ++r) {
    for (int c = 0; c < columns + 3; ++c) {
      int want = 0;
      const bool inside = c >= 2 && c < columns + 2;
      if (inside) {
        want = start(r, c - 2);
        if (selected(r, c - 2)) want = std::max(want, value(previous, r, c - 2));
        if (want == 7) want = 8;
        EXPECT_EQ(old(r, c - 2), selected(r, c - 2) ? start(r, c - 2) : -1);
      }
      EXPECT_EQ(got(r, c), want + 100) << r << " " << c;
    }
  }
  self.m_context.barrier();
}

TYPED_TEST(BlockAtomics, Misuse) {
  auto& context = this->m_context;
  auto a = context.template zeros<int**>("alpha", 3, 4);
  const Kokkos::View<int**, TypeParam> local("local", 3, 4), other("other", 4, 4);
  const Kokkos::View<bool**, TypeParam> mask("mask", 3, 5);
  const auto expect = [&](auto&& call, const auto&... parts) {
    ::Test::expect_error(ErrorCode::invalid_argument, call, parts...);
  };
  expect([&] { atomic_add(context, a, 1, this->m_size); }, "atomic_add",
         "rank " + std::to_string(this->m_size));
  expect([&] { atomic_sub(TypeParam(), context, local, 1, 0); }, "atomic_sub", "local", "heap");
  expect([&] { atomic_xor(context, a, other, 0); }, "atomic_xor", "other", "4 x 4");
  expect([&] { atomic_min(context, a, 1, 0, KokkosIris::mask(mask)); }, "atomic_min", "mask",
         "3 x 5");
  expect([&] { atomic_xchg(context, a, 1, 0, old_values(other)); }, "atomic_xchg", "old_values");
  expect([&] { atomic_cas(context, a, other, 1, 0); }, "atomic_cas", "compare");
  context.barrier();
  for (std::size_t i = 0; i < 12; ++i) EXPECT_EQ(::Test::element(a, i), 0);
}

}  // namespace
