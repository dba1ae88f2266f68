// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// get, put, copy, load and store of Views: ranks 0 to 8, mixed layouts, strided subviews, masks
// with holes; by threads, by teams and from the host. Every rank works on the rank after it.

#include <TestUtilities.hpp>
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

/// One operation on views; operator() takes what stands before dst in a call at any level.
template <class Dst, class Src, class Mask>
struct Operation {
  using T = typename Dst::non_const_value_type;
  static constexpr std::size_t rank = Dst::rank();
  Kind m_kind;
  bool m_masked;
  Dst m_dst;
  Src m_src;
  Mask m_mask;
  int m_rank, m_size;
  T m_value;

  /// put, get and copy exist at all levels. Whoever does it, data go from a rank to the one after
  /// it.
  template <class... Handles>
  KOKKOS_FUNCTION void operator()(const Handles&... handles) const {
    const int next = (m_rank + 1) % m_size, after = (m_rank + 2) % m_size;
    const int previous = (m_rank + m_size - 1) % m_size;
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
      default:
        load_or_store(handles...);
    }
  }

 private:
  KOKKOS_FUNCTION void load_or_store(const KokkosIris::DeviceContext&) const {}  // no such form
  template <class... Handles>
  KOKKOS_FUNCTION void load_or_store(const Handles&... handles) const {
    const int next = (m_rank + 1) % m_size, previous = (m_rank + m_size - 1) % m_size;
    if (m_kind == Kind::load) {
      KokkosIris::load(handles..., m_dst, m_src, previous, m_mask, m_value);
    } else if (m_masked) {
      KokkosIris::store(handles..., m_dst, m_value, next, m_mask);
    } else {
      KokkosIris::store(handles..., m_dst, m_value, next);
    }
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

  template <class Call>
  void at(Level level, const Call& call) {
    const auto d = m_context.device();
    const int team_size = std::min(3, ExecutionSpace().concurrency());
    switch (level) {
      case Level::thread:
        Kokkos::parallel_for(
            Kokkos::RangePolicy<ExecutionSpace>(0, 1), KOKKOS_LAMBDA(int) { call(d); });
        break;
      case Level::team:
        Kokkos::parallel_for(
            Kokkos::TeamPolicy<ExecutionSpace>(1, team_size),
            KOKKOS_LAMBDA(const Team& team) { call(team, d); });
        break;
      case Level::host:
        call(ExecutionSpace(), m_context);
        break;
      case Level::host_default:
        call(m_context);
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
    ::Test::random_fill(src, ::Test::stream(m_rank, purpose));
    ::Test::poison_fill(whole);
    m_context.barrier();
    at(level, Operation<Dst, Src, Mask>{kind, masked, dst, src, mask, m_rank, m_size,
                                        value(m_rank, purpose)});
    m_context.barrier();
    const std::string what = std::string(name(kind)) + " at level " + name(level) +
                             (masked ? ", masked" : "") + ", rank " + std::to_string(Dst::rank());
    const T poison = ::Test::poison<T>();
    std::size_t changed = 0;
    for (std::size_t i = 0; i < ::Test::count(dst); ++i) {
      const bool selected = !masked || ::Test::element(mask, i) != 0;
      T want = ::Test::random_value<T>(::Test::stream(m_previous, purpose), i);
      if (kind == Kind::store) want = value(m_previous, purpose);
      if (!selected) want = kind == Kind::load ? value(m_rank, purpose) : poison;
      ASSERT_TRUE(::Test::same_bits(::Test::element(dst, i), want)) << what << ", element " << i;
      changed += selected || kind == Kind::load;
    }
    for (std::size_t i = 0; i < ::Test::count(whole); ++i) {
      changed -= !::Test::same_bits(::Test::element(whole, i), poison);
    }
    ASSERT_EQ(changed, 0u) << what << ": elements around the destination have changed";
    m_context.barrier();
  }

  /// All operations at all levels. \tparam MaskData data type of a mask of the rank of dst
  template <class MaskData, class Whole, class Dst, class Src>
  void exercise(const Whole& whole, const Dst& dst, const Src& src) {
    Kokkos::LayoutRight layout;
    for (std::size_t r = 0; r < Dst::rank(); ++r) layout.dimension[r] = dst.extent(r);
    const Kokkos::View<MaskData, Kokkos::LayoutRight, Kokkos::HostSpace> mask("mask", layout);
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

TYPED_TEST_SUITE(ViewAccess, ::Test::ExecutionSpaces, ::Test::ExecutionSpaceNames);

using Kokkos::LayoutLeft;
using Kokkos::LayoutRight;

TYPED_TEST(ViewAccess, RankZero) {
  auto dst = this->m_context.template empty<double>("dst");
  auto src = this->m_context.template empty<double>("src");
  this->template exercise<bool>(dst, dst.view(), src.view());
}

TYPED_TEST(ViewAccess, RankOne) {
  for (const int n : {0, 1, 2, 67, 1009}) {
    auto dst = this->m_context.template empty<float*>("dst", n + 9);
    auto src = this->m_context.template empty<float*>("src", n);
    this->template exercise<int*>(dst, subview(dst.view(), std::pair(3, 3 + n)), src.view());
  }
}

TYPED_TEST(ViewAccess, RankOneStrided) {
  auto left = this->m_context.template empty<std::uint16_t**, LayoutLeft>("left", 7, 31);
  auto right = this->m_context.template empty<std::uint16_t**, LayoutRight>("right", 31, 7);
  // A row of a LayoutLeft matrix and a column of a LayoutRight one: no element beside another.
  this->template exercise<bool*>(left, subview(left.view(), 2, ALL), subview(right.view(), ALL, 3));
}

TYPED_TEST(ViewAccess, RankTwoAllLayouts) {
  auto left = this->m_context.template empty<double**, LayoutLeft>("left", 13, 6);
  auto right = this->m_context.template empty<double**, LayoutRight>("right", 13, 6);
  auto left2 = this->m_context.template empty<double**, LayoutLeft>("left2", 13, 6);
  auto right2 = this->m_context.template empty<double**, LayoutRight>("right2", 13, 6);
  this->template exercise<bool**>(left, left.view(), left2.view());
  this->template exercise<bool**>(right, right.view(), right2.view());
  this->template exercise<bool**>(left, left.view(), right.view());
  this->template exercise<bool**>(right, right.view(), left.view());
}

TYPED_TEST(ViewAccess, RankTwoPadded) {
  // Rows with unit stride and padding on both sides (other strides on each), then a transposition.
  auto dst = this->m_context.template empty<float**, LayoutRight>("dst", 9, 40);
  auto src = this->m_context.template empty<float**, LayoutRight>("src", 12, 33);
  const auto part = subview(dst.view(), std::pair(1, 8), std::pair(5, 36));
  this->template exercise<char**>(dst, part,
                                  subview(src.view(), std::pair(3, 10), std::pair(1, 32)));
  auto other = this->m_context.template empty<float**, LayoutLeft>("other", 10, 33);
  this->template exercise<char**>(dst, part,
                                  subview(other.view(), std::pair(2, 9), std::pair(2, 33)));
}

TYPED_TEST(ViewAccess, StaticExtentsAndHalves) {
  auto dst = this->m_context.template empty<KokkosIris::half_t* [5]>("dst", 11);
  auto src = this->m_context.template empty<KokkosIris::half_t* [5], LayoutLeft>("src", 11);
  this->template exercise<bool**>(dst, dst.view(), src.view());
}

TYPED_TEST(ViewAccess, RankThreeAndFour) {
  auto a = this->m_context.template empty<int***, LayoutRight>("a", 5, 6, 8);
  auto b = this->m_context.template empty<int***, LayoutLeft>("b", 5, 6, 8);
  const auto pa = subview(a.view(), std::pair(1, 4), ALL, std::pair(2, 7));
  this->template exercise<bool***>(a, pa, subview(b.view(), std::pair(2, 5), ALL, std::pair(0, 5)));
  auto c = this->m_context.template empty<int****, LayoutLeft>("c", 3, 4, 5, 6);
  auto e = this->m_context.template empty<int****, LayoutRight>("e", 3, 4, 5, 6);
  this->template exercise<bool****>(c,
                                    subview(c.view(), ALL, std::pair(1, 3), ALL, std::pair(1, 6)),
                                    subview(e.view(), ALL, std::pair(0, 2), ALL, std::pair(0, 5)));
  // A slice through the middle dimension.
  this->template exercise<bool**>(c, subview(c.view(), ALL, 2, std::pair(1, 4), 3),
                                  subview(e.view(), ALL, 1, std::pair(2, 5), 5));
}

TYPED_TEST(ViewAccess, RankEight) {
  auto a = this->m_context.template empty<long********, LayoutRight>("a", 2, 1, 3, 2, 1, 2, 3, 2);
  auto b = this->m_context.template empty<long********, LayoutLeft>("b", 2, 1, 3, 2, 1, 2, 3, 2);
  this->template exercise<bool********>(a, a.view(), b.view());
  const auto part = [](const auto& v) {
    return subview(v.view(), ALL, ALL, std::pair(1, 3), ALL, ALL, ALL, std::pair(0, 2), ALL);
  };
  this->template exercise<bool********>(a, part(a), part(b));
}

TYPED_TEST(ViewAccess, NoElements) {
  auto a = this->m_context.template empty<int**>("a", 0, 7);
  auto b = this->m_context.template empty<int**, LayoutLeft>("b", 0, 7);
  this->template exercise<bool**>(a, a.view(), b.view());
  const Kokkos::View<int**, TypeParam> unallocated;
  const Kokkos::View<int**, TypeParam> none("none", 0, 0);
  KokkosIris::put(this->m_context, unallocated, none, 0);
}

/// Symmetric views, const sources, and sources that are ordinary memory.
TYPED_TEST(ViewAccess, LocalAndConstSources) {
  const int n = 50;
  auto dst = this->m_context.template empty<double*>("dst", n);
  const Kokkos::View<double*, TypeParam> local("local", n);
  ::Test::random_fill(local, ::Test::stream(this->m_rank));
  const Kokkos::View<const double*, TypeParam> constant = local;
  KokkosIris::put(this->m_context, dst, constant, this->m_next);
  this->m_context.barrier();
  const Kokkos::View<double*, TypeParam> back("back", n);
  KokkosIris::get(this->m_context, back, dst, this->m_next);
  for (int i = 0; i < n; ++i) {
    const auto at = static_cast<std::size_t>(i);
    EXPECT_EQ(dst(at), ::Test::random_value<double>(::Test::stream(this->m_previous), at));
    EXPECT_EQ(back(i), local(i));
  }
}

TYPED_TEST(ViewAccess, LoadOneValueFromTheHost) {
  auto value = this->m_context.template full<int>("value", 100 + this->m_rank);
  EXPECT_EQ(KokkosIris::load(this->m_context, value, this->m_next), 100 + this->m_next);
  EXPECT_EQ(KokkosIris::load(TypeParam(), this->m_context, value, this->m_rank),
            100 + this->m_rank);
}

/// Who makes the copies of the test below.
enum class Caller { team, thread, host, host_default };

/// A promise of alignment on rows of views.
TYPED_TEST(ViewAccess, PromisedAlignment) {
  auto dst = this->m_context.template empty<float**, LayoutRight>("dst", 6, 32);
  auto src = this->m_context.template empty<float**, LayoutRight>("src", 6, 64);
  ::Test::random_fill(src, ::Test::stream(this->m_rank));
  auto& context = this->m_context;
  const auto d = this->m_context.device();
  const int next = this->m_next, previous = this->m_previous, rank = this->m_rank;
  const auto part = [](const auto& view, int first) {
    return subview(view.view(), std::pair(first, first + 2), std::pair(16, 32));
  };
  const auto dst0 = part(dst, 0), dst2 = part(dst, 2), dst4 = part(dst, 4);
  const auto src0 = part(src, 0), src2 = part(src, 2), src4 = part(src, 4);
  using KokkosIris::aligned;
  const auto move = [&](Caller caller) {
    const TypeParam exec;
    if (caller == Caller::team) {
      Kokkos::parallel_for(
          Kokkos::TeamPolicy<TypeParam>(1, std::min(3, TypeParam().concurrency())),
          KOKKOS_LAMBDA(const typename TestFixture::Team& team) {
            KokkosIris::put(team, d, dst0, src0, next, KokkosIris::aligned<64>);
            KokkosIris::get(team, d, dst2, src2, previous, KokkosIris::aligned<16>);
            KokkosIris::copy(team, d, dst4, src4, previous, rank, KokkosIris::aligned<8>);
          });
    } else if (caller == Caller::thread) {
      Kokkos::parallel_for(
          Kokkos::RangePolicy<TypeParam>(0, 1), KOKKOS_LAMBDA(int) {
            KokkosIris::put(d, dst0, src0, next, KokkosIris::aligned<64>);
            KokkosIris::get(d, dst2, src2, previous, KokkosIris::aligned<16>);
            KokkosIris::copy(d, dst4, src4, previous, rank, KokkosIris::aligned<8>);
          });
    } else if (caller == Caller::host) {
      put(exec, context, dst0, src0, next, aligned<64>);
      get(exec, context, dst2, src2, previous, aligned<16>);
      copy(exec, context, dst4, src4, previous, rank, aligned<8>);
    } else {
      put(context, dst0, src0, next, aligned<64>);
      get(context, dst2, src2, previous, aligned<16>);
      copy(context, dst4, src4, previous, rank, aligned<8>);
    }
  };
  for (const Caller caller : {Caller::team, Caller::thread, Caller::host, Caller::host_default}) {
    ::Test::poison_fill(dst);
    context.barrier();
    move(caller);
    context.barrier();
    for (std::size_t i = 0; i < 6; ++i) {
      for (std::size_t j = 0; j < 32; ++j) {
        const float want =
            j < 16 ? ::Test::poison<float>()
                   : ::Test::random_value<float>(::Test::stream(this->m_previous), i * 64 + j);
        EXPECT_TRUE(::Test::same_bits(dst(i, j), want)) << int(caller) << ": " << i << " " << j;
      }
    }
    context.barrier();
  }
  ::Test::expect_error(
      ErrorCode::invalid_argument, [&] { put(context, dst0, src, next, aligned<4>); }, "put",
      "6 x 64");
}

/// Misuse is an error that names operation, label and sizes, before anything is done; local to the
/// rank.
TYPED_TEST(ViewAccess, Misuse) {
  auto& context = this->m_context;
  const std::string rank = "rank " + std::to_string(this->m_rank);
  auto a = context.template zeros<double**>("alpha", 3, 4);
  auto b = context.template zeros<double**>("beta", 4, 3);
  const Kokkos::View<double**, TypeParam> local("local", 3, 4);
  const Kokkos::View<bool**, TypeParam> mask("mask", 3, 5);
  const auto invalid = ErrorCode::invalid_argument;
  const std::string size = std::to_string(this->m_size);
  ::Test::expect_error(
      invalid, [&] { put(context, a, local, this->m_size); }, "put", rank, "rank " + size);
  ::Test::expect_error(
      invalid, [&] { get(context, local, a, -1); }, "get", "rank -1");
  ::Test::expect_error(
      invalid, [&] { copy(context, a, a, 0, this->m_size); }, "copy", "rank " + size);
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
  for (std::size_t i = 0; i < 12; ++i) EXPECT_EQ(::Test::element(a, i), 0.0);
}

}  // namespace
