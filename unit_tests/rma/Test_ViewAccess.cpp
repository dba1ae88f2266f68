// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// get, put, copy, load and store of Views: ranks 0 to 8, mixed layouts, strided subviews, masks
// with holes; by threads, by teams and from the host. Every rank works on the rank after it.

#include <DeviceTesting.hpp>
#include <string>
#include <utility>
#include <vector>

namespace {

using Kokkos::ALL;
using Kokkos::subview;
using KokkosIris::ErrorCode;

enum class Level { thread, team, host, host_default };
enum class Kind { put, get, copy, load, store };

const char* name(Level level) {
  const char* const names[] = {"thread", "team", "host", "host without instance"};
  return names[static_cast<int>(level)];
}
const char* name(Kind kind) {
  const char* const names[] = {"put", "get", "copy", "load", "store"};
  return names[static_cast<int>(kind)];
}

/// One operation on views. Whoever does it, data go from a rank to the one after it.
template <class Dst, class Src, class Mask>
struct Operation {
  using T = typename Dst::non_const_value_type;
  Kind m_kind;
  bool m_masked;
  Dst m_dst;
  Src m_src;
  Mask m_mask;
  int m_rank, m_size;
  T m_value;

  KOKKOS_FUNCTION int rank_after(int steps) const { return (m_rank + steps + m_size) % m_size; }
  /// put, get and copy; `handles` are what stands before dst in a kernel.
  template <class... Handles>
  KOKKOS_FUNCTION void move_in_kernel(const Handles&... handles) const {
    const int next = rank_after(1), after = rank_after(2), previous = rank_after(-1);
    if (m_kind == Kind::put) {
      if (m_masked) KokkosIris::put(handles..., m_dst, m_src, next, m_mask);
      if (!m_masked) KokkosIris::put(handles..., m_dst, m_src, next);
    } else if (m_kind == Kind::get) {
      if (m_masked) KokkosIris::get(handles..., m_dst, m_src, previous, m_mask);
      if (!m_masked) KokkosIris::get(handles..., m_dst, m_src, previous);
    } else if (m_kind == Kind::copy) {
      if (m_masked) KokkosIris::copy(handles..., m_dst, m_src, next, after, m_mask);
      if (!m_masked) KokkosIris::copy(handles..., m_dst, m_src, next, after);
    }
  }
  /// load and store exist for teams only.
  template <class Team>
  KOKKOS_FUNCTION void in_team(const Team& team, const KokkosIris::DeviceContext& d) const {
    if (m_kind == Kind::load) {
      KokkosIris::load(team, d, m_dst, m_src, rank_after(-1), m_mask, m_value);
    } else if (m_kind == Kind::store) {
      if (m_masked) KokkosIris::store(team, d, m_dst, m_value, rank_after(1), m_mask);
      if (!m_masked) KokkosIris::store(team, d, m_dst, m_value, rank_after(1));
    } else {
      move_in_kernel(team, d);
    }
  }
  /// `handles` are a context, or an execution space instance and a context.
  template <class... Handles>
  void on_host(const Handles&... handles) const {
    const int next = rank_after(1), after = rank_after(2), previous = rank_after(-1);
    switch (m_kind) {
      case Kind::put:
        if (m_masked) KokkosIris::put(handles..., m_dst, m_src, next, m_mask);
        if (!m_masked) KokkosIris::put(handles..., m_dst, m_src, next);
        break;
      case Kind::get:
        if (m_masked) KokkosIris::get(handles..., m_dst, m_src, previous, m_mask);
        if (!m_masked) KokkosIris::get(handles..., m_dst, m_src, previous);
        break;
      case Kind::copy:
        if (m_masked) KokkosIris::copy(handles..., m_dst, m_src, next, after, m_mask);
        if (!m_masked) KokkosIris::copy(handles..., m_dst, m_src, next, after);
        break;
      case Kind::load:
        KokkosIris::load(handles..., m_dst, m_src, previous, m_mask, m_value);
        break;
      case Kind::store:
        if (m_masked) KokkosIris::store(handles..., m_dst, m_value, next, m_mask);
        if (!m_masked) KokkosIris::store(handles..., m_dst, m_value, next);
        break;
    }
  }
};

template <class Operation>
struct ByThread {
  Operation m_operation;
  KokkosIris::DeviceContext m_device;
  KOKKOS_FUNCTION void operator()(int) const { m_operation.move_in_kernel(m_device); }
};
template <class Operation>
struct ByTeam {
  Operation m_operation;
  KokkosIris::DeviceContext m_device;
  template <KokkosIris::Impl::TeamHandle Team>
  KOKKOS_FUNCTION void operator()(const Team& team) const {
    m_operation.in_team(team, m_device);
  }
};

template <class ExecutionSpace>
class ViewAccess : public testing::Test {
 public:
  using Context = KokkosIris::Context<typename ExecutionSpace::memory_space>;
  using Team = typename Kokkos::TeamPolicy<ExecutionSpace>::member_type;
  Context m_context = ::Test::make_context<ExecutionSpace>();
  int m_rank = m_context.rank();
  int m_size = m_context.size();
  int m_next = (m_rank + 1) % m_size;
  int m_previous = (m_rank + m_size - 1) % m_size;
  int m_purpose = 0;

  int team_size() const {
    return KokkosIris::Impl::is_gpu_space_v<ExecutionSpace>
               ? 160
               : std::min(3, ExecutionSpace().concurrency());
  }

  template <class Call>
  void at(Level level, const Call& call) {
    const auto d = m_context.device();
    switch (level) {
      case Level::thread:
        Kokkos::parallel_for(Kokkos::RangePolicy<ExecutionSpace>(0, 1), ByThread<Call>{call, d});
        break;
      case Level::team:
        Kokkos::parallel_for(Kokkos::TeamPolicy<ExecutionSpace>(1, team_size()),
                             ByTeam<Call>{call, d});
        break;
      case Level::host:
        call.on_host(ExecutionSpace(), m_context);
        break;
      case Level::host_default:
        call.on_host(m_context);
        break;
    }
  }

  /// One operation between symmetric views of the same extents, `dst` being a part of `whole`.
  /// Nothing else of `whole`, and no masked-out element, may change.
  template <class Whole, class Dst, class Src, class Mask>
  void check(Level level, Kind kind, bool masked, const Whole& whole, const Dst& dst,
             const Src& src, const Mask& mask) {
    using T = typename Dst::non_const_value_type;
    const int purpose = ++m_purpose;
    const auto value = [](int rank, int purpose) {
      return ::Test::random_value<T>(::Test::stream(rank, purpose) + 5, 0);
    };
    ::Test::random_fill_anywhere(::Test::plain(src), ::Test::stream(m_rank, purpose));
    ::Test::poison_fill_anywhere(::Test::plain(whole));
    m_context.barrier();
    at(level, Operation<Dst, Src, Mask>{kind, masked, dst, src, mask, m_rank, m_size,
                                        value(m_rank, purpose)});
    m_context.barrier();
    const std::string what = std::string(name(kind)) + " at level " + name(level) +
                             (masked ? ", masked" : "") + ", rank " + std::to_string(Dst::rank());
    const T poison = ::Test::poison<T>();
    const auto got = ::Test::staged(::Test::plain(dst));
    const auto got_whole = ::Test::staged(::Test::plain(whole));
    std::size_t changed = 0;
    for (std::size_t i = 0; i < ::Test::count(dst); ++i) {
      const bool selected = !masked || ::Test::element(mask, i) != 0;
      T want = ::Test::random_value<T>(::Test::stream(m_previous, purpose), i);
      if (kind == Kind::store) want = value(m_previous, purpose);
      if (!selected) want = kind == Kind::load ? value(m_rank, purpose) : poison;
      ASSERT_TRUE(::Test::same_bits(::Test::element(got.view(), i), want))
          << what << ", element " << i;
      changed += selected || kind == Kind::load;
    }
    for (std::size_t i = 0; i < ::Test::count(whole); ++i) {
      changed -= !::Test::same_bits(::Test::element(got_whole.view(), i), poison);
    }
    ASSERT_EQ(changed, 0u) << what << ": elements around the destination have changed";
    m_context.barrier();
  }

  /// All operations at all levels. \tparam MaskData data type of a mask of the rank of dst
  template <class MaskData, class Whole, class Dst, class Src>
  void exercise(const Whole& whole, const Dst& dst, const Src& src) {
    Kokkos::LayoutRight layout;
    for (std::size_t r = 0; r < Dst::rank(); ++r) layout.dimension[r] = dst.extent(r);
    const ::Test::SharedView<MaskData, ExecutionSpace> mask("mask", layout);
    for (std::size_t i = 0; i < ::Test::count(mask); ++i) {
      ::Test::element(mask, i) = ::Test::random_bits(99, i) % 3 != 0;  // the same on all ranks
    }
    for (const Level level : {Level::thread, Level::team, Level::host, Level::host_default}) {
      if (level == Level::host_default && Dst::rank() != 2) continue;
      for (const bool masked : {false, true}) {
        for (const Kind kind : {Kind::put, Kind::get, Kind::copy, Kind::store}) {
          if (kind == Kind::store && level == Level::thread) continue;
          check(level, kind, masked, whole, dst, src, mask);
        }
      }
      if (level != Level::thread) check(level, Kind::load, true, whole, dst, src, mask);
    }
  }
};

TYPED_TEST_SUITE(ViewAccess, ::Test::AllExecutionSpaces, ::Test::ExecutionSpaceNames);

using Kokkos::LayoutLeft;
using Kokkos::LayoutRight;

DEVICE_TYPED_TEST(ViewAccess, RankZero) {
  auto dst = self.m_context.template empty<double>("dst");
  auto src = self.m_context.template empty<double>("src");
  self.template exercise<bool>(dst, dst.view(), src.view());
}

DEVICE_TYPED_TEST(ViewAccess, RankOne) {
  for (const int n : {0, 1, 2, 67, 1009}) {
    auto dst = self.m_context.template empty<float*>("dst", n + 9);
    auto src = self.m_context.template empty<float*>("src", n);
    self.template exercise<int*>(dst, subview(dst.view(), std::pair(3, 3 + n)), src.view());
  }
}

DEVICE_TYPED_TEST(ViewAccess, RankOneStrided) {
  auto left = self.m_context.template empty<std::uint16_t**, LayoutLeft>("left", 7, 31);
  auto right = self.m_context.template empty<std::uint16_t**, LayoutRight>("right", 31, 7);
  // A row of a LayoutLeft matrix and a column of a LayoutRight one: no element beside another.
  self.template exercise<bool*>(left, subview(left.view(), 2, ALL), subview(right.view(), ALL, 3));
}

DEVICE_TYPED_TEST(ViewAccess, RankTwoAllLayouts) {
  auto left = self.m_context.template empty<double**, LayoutLeft>("left", 13, 6);
  auto right = self.m_context.template empty<double**, LayoutRight>("right", 13, 6);
  auto left2 = self.m_context.template empty<double**, LayoutLeft>("left2", 13, 6);
  auto right2 = self.m_context.template empty<double**, LayoutRight>("right2", 13, 6);
  self.template exercise<bool**>(left, left.view(), left2.view());
  self.template exercise<bool**>(right, right.view(), right2.view());
  self.template exercise<bool**>(left, left.view(), right.view());
  self.template exercise<bool**>(right, right.view(), left.view());
}

DEVICE_TYPED_TEST(ViewAccess, RankTwoPadded) {
  // Rows with unit stride and padding on both sides (other strides on each), then a transposition.
  auto dst = self.m_context.template empty<float**, LayoutRight>("dst", 9, 40);
  auto src = self.m_context.template empty<float**, LayoutRight>("src", 12, 33);
  const auto part = subview(dst.view(), std::pair(1, 8), std::pair(5, 36));
  self.template exercise<char**>(dst, part,
                                 subview(src.view(), std::pair(3, 10), std::pair(1, 32)));
  auto other = self.m_context.template empty<float**, LayoutLeft>("other", 10, 33);
  self.template exercise<char**>(dst, part,
                                 subview(other.view(), std::pair(2, 9), std::pair(2, 33)));
}

DEVICE_TYPED_TEST(ViewAccess, StaticExtentsAndHalves) {
  auto dst = self.m_context.template empty<KokkosIris::half_t* [5]>("dst", 11);
  auto src = self.m_context.template empty<KokkosIris::half_t* [5], LayoutLeft>("src", 11);
  self.template exercise<bool**>(dst, dst.view(), src.view());
}

DEVICE_TYPED_TEST(ViewAccess, RankThreeAndFour) {
  auto a = self.m_context.template empty<int***, LayoutRight>("a", 5, 6, 8);
  auto b = self.m_context.template empty<int***, LayoutLeft>("b", 5, 6, 8);
  const auto pa = subview(a.view(), std::pair(1, 4), ALL, std::pair(2, 7));
  self.template exercise<bool***>(a, pa, subview(b.view(), std::pair(2, 5), ALL, std::pair(0, 5)));
  auto c = self.m_context.template empty<int****, LayoutLeft>("c", 3, 4, 5, 6);
  auto e = self.m_context.template empty<int****, LayoutRight>("e", 3, 4, 5, 6);
  self.template exercise<bool****>(c, subview(c.view(), ALL, std::pair(1, 3), ALL, std::pair(1, 6)),
                                   subview(e.view(), ALL, std::pair(0, 2), ALL, std::pair(0, 5)));
  // A slice through the middle dimension.
  self.template exercise<bool**>(c, subview(c.view(), ALL, 2, std::pair(1, 4), 3),
                                 subview(e.view(), ALL, 1, std::pair(2, 5), 5));
}

DEVICE_TYPED_TEST(ViewAccess, RankEight) {
  auto a = self.m_context.template empty<long********, LayoutRight>("a", 2, 1, 3, 2, 1, 2, 3, 2);
  auto b = self.m_context.template empty<long********, LayoutLeft>("b", 2, 1, 3, 2, 1, 2, 3, 2);
  self.template exercise<bool********>(a, a.view(), b.view());
  const auto part = [](const auto& v) {
    return subview(v.view(), ALL, ALL, std::pair(1, 3), ALL, ALL, ALL, std::pair(0, 2), ALL);
  };
  self.template exercise<bool********>(a, part(a), part(b));
}

DEVICE_TYPED_TEST(ViewAccess, NoElements) {
  auto a = self.m_context.template empty<int**>("a", 0, 7);
  auto b = self.m_context.template empty<int**, LayoutLeft>("b", 0, 7);
  self.template exercise<bool**>(a, a.view(), b.view());
  const Kokkos::View<int**, TypeParam> unallocated;
  const Kokkos::View<int**, TypeParam> none("none", 0, 0);
  KokkosIris::put(self.m_context, unallocated, none, 0);
}

/// Symmetric views, const sources, and sources that are ordinary memory.
DEVICE_TYPED_TEST(ViewAccess, LocalAndConstSources) {
  const int n = 50;
  auto dst = self.m_context.template empty<double*>("dst", n);
  const ::Test::SharedView<double*, TypeParam> local("local", n);
  ::Test::random_fill(local, ::Test::stream(self.m_rank));
  const ::Test::SharedView<const double*, TypeParam> constant = local;
  KokkosIris::put(self.m_context, dst, constant, self.m_next);
  self.m_context.barrier();
  const ::Test::SharedView<double*, TypeParam> back("back", n);
  KokkosIris::get(self.m_context, back, dst, self.m_next);
  const auto got = ::Test::staged(dst.view());
  for (int i = 0; i < n; ++i) {
    const auto at = static_cast<std::size_t>(i);
    EXPECT_EQ(got(at), ::Test::random_value<double>(::Test::stream(self.m_previous), at));
    EXPECT_EQ(back(i), local(i));
  }
}

DEVICE_TYPED_TEST(ViewAccess, LoadOneValueFromTheHost) {
  auto value = self.m_context.template full<int>("value", 100 + self.m_rank);
  EXPECT_EQ(KokkosIris::load(self.m_context, value, self.m_next), 100 + self.m_next);
  EXPECT_EQ(KokkosIris::load(TypeParam(), self.m_context, value, self.m_rank), 100 + self.m_rank);
}

/// Copies between rows of views, with promises of their alignment.
template <class Dst, class Src>
struct AlignedOperations {
  Dst m_dst[3];
  Src m_src[3];
  int m_rank, m_next, m_previous;

  template <class... Handles>
  KOKKOS_FUNCTION void move_in_kernel(const Handles&... handles) const {
    KokkosIris::put(handles..., m_dst[0], m_src[0], m_next, KokkosIris::aligned<64>);
    KokkosIris::get(handles..., m_dst[1], m_src[1], m_previous, KokkosIris::aligned<16>);
    KokkosIris::copy(handles..., m_dst[2], m_src[2], m_previous, m_rank, KokkosIris::aligned<8>);
  }
  template <class Team>
  KOKKOS_FUNCTION void in_team(const Team& team, const KokkosIris::DeviceContext& d) const {
    move_in_kernel(team, d);
  }
  template <class... Handles>
  void on_host(const Handles&... handles) const {
    KokkosIris::put(handles..., m_dst[0], m_src[0], m_next, KokkosIris::aligned<64>);
    KokkosIris::get(handles..., m_dst[1], m_src[1], m_previous, KokkosIris::aligned<16>);
    KokkosIris::copy(handles..., m_dst[2], m_src[2], m_previous, m_rank, KokkosIris::aligned<8>);
  }
};

/// A promise of alignment on rows of views.
DEVICE_TYPED_TEST(ViewAccess, PromisedAlignment) {
  auto& context = self.m_context;
  auto dst = context.template empty<float**, LayoutRight>("dst", 6, 32);
  auto src = context.template empty<float**, LayoutRight>("src", 6, 64);
  ::Test::random_fill_anywhere(src.view(), ::Test::stream(self.m_rank));
  const auto part = [](const auto& view, int first) {
    return subview(view.view(), std::pair(first, first + 2), std::pair(16, 32));
  };
  using Part = decltype(part(dst, 0));
  const AlignedOperations<Part, Part> operations{{part(dst, 0), part(dst, 2), part(dst, 4)},
                                                 {part(src, 0), part(src, 2), part(src, 4)},
                                                 self.m_rank,
                                                 self.m_next,
                                                 self.m_previous};
  for (const Level level : {Level::team, Level::thread, Level::host, Level::host_default}) {
    ::Test::poison_fill_anywhere(dst.view());
    context.barrier();
    self.at(level, operations);
    context.barrier();
    const auto got = ::Test::staged(dst.view());
    for (std::size_t i = 0; i < 6; ++i) {
      for (std::size_t j = 0; j < 32; ++j) {
        const float want =
            j < 16 ? ::Test::poison<float>()
                   : ::Test::random_value<float>(::Test::stream(self.m_previous), i * 64 + j);
        EXPECT_TRUE(::Test::same_bits(got(i, j), want)) << name(level) << ": " << i << " " << j;
      }
    }
    context.barrier();
  }
  ::Test::expect_error(
      ErrorCode::invalid_argument,
      [&] { put(context, part(dst, 0), src, self.m_next, KokkosIris::aligned<4>); }, "put",
      "6 x 64");
}

/// Misuse is an error that names operation, label and sizes, before anything is done; local to the
/// rank.
DEVICE_TYPED_TEST(ViewAccess, Misuse) {
  auto& context = self.m_context;
  const std::string rank = "rank " + std::to_string(self.m_rank);
  auto a = context.template zeros<double**>("alpha", 3, 4);
  auto b = context.template zeros<double**>("beta", 4, 3);
  const Kokkos::View<double**, TypeParam> local("local", 3, 4);
  const Kokkos::View<bool**, TypeParam> mask("mask", 3, 5);
  const auto invalid = ErrorCode::invalid_argument;
  const std::string size = std::to_string(self.m_size);
  ::Test::expect_error(
      invalid, [&] { put(context, a, local, self.m_size); }, "put", rank, "rank " + size);
  ::Test::expect_error(
      invalid, [&] { get(context, local, a, -1); }, "get", "rank -1");
  ::Test::expect_error(
      invalid, [&] { copy(context, a, a, 0, self.m_size); }, "copy", "rank " + size);
  ::Test::expect_error(
      invalid, [&] { copy(context, a, a, -2, 0); }, "copy", "rank -2");
  ::Test::expect_error(
      invalid, [&] { put(context, a, b, 0); }, "put", "alpha", "beta", "3 x 4", "4 x 3");
  ::Test::expect_error(
      invalid, [&] { put(TypeParam(), context, local, a, 0); }, "put", "local", "heap", "96");
  ::Test::expect_error(
      invalid, [&] { get(context, a, local, 0); }, "get", "local", "heap");
  ::Test::expect_error(
      invalid, [&] { copy(context, a, local, 0, 0); }, "copy", "local", "heap");
  ::Test::expect_error(
      invalid, [&] { copy(context, local, a, 0, 0); }, "copy", "local", "heap");
  ::Test::expect_error(
      invalid, [&] { put(context, a, local, 0, mask); }, "put", "mask", "3 x 5");
  ::Test::expect_error(
      invalid, [&] { load(context, local, a, 0, mask, 1.0); }, "load", "mask", "3 x 5");
  ::Test::expect_error(
      invalid, [&] { store(context, local, 1.0, 0); }, "store", "local", "heap");
  ::Test::expect_error(
      invalid, [&] { store(context, a, 1.0, 0, mask); }, "store", "mask", "3 x 5");
  ::Test::expect_error(
      invalid, [&] { store(context, a, 1.0, 99); }, "store", "rank 99");
  const Kokkos::View<double, TypeParam> one("one");
  ::Test::expect_error(
      invalid, [&] { load(context, one, 0); }, "load", "one", "heap");
  context.barrier();  // still usable
  const auto got = ::Test::staged(a.view());
  for (std::size_t i = 0; i < 12; ++i) EXPECT_EQ(::Test::element(got.view(), i), 0.0);
}

}  // namespace
