// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Views through the copy engine: layouts, masks, element types, the forms of the host. Kernels are
// in function templates outside of the tests' classes, as CUDA requires.

#include <DeviceTesting.hpp>
#include <algorithm>
#include <rma/KokkosIris_CopyEngineHostPut.hpp>
#include <rma/KokkosIris_CopyEnginePut.hpp>
#include <rma/KokkosIris_Quiet.hpp>

namespace {

using KokkosIris::copy_engine;
using KokkosIris::DeviceContext;
using KokkosIris::signal_t;

template <class ExecutionSpace>
class CopyEngineViews : public testing::Test {};
TYPED_TEST_SUITE(CopyEngineViews, Test::AllExecutionSpaces, Test::ExecutionSpaceNames);

/// Puts subviews of two arrays of any layouts to the next rank and compares whole arrays with a
/// copy by plain loops, so that every element outside is a sentinel.
template <class ExecutionSpace, class Layout, class SourceLayout>
void check_strided(const char* how) {
  auto context = ::Test::make_context<ExecutionSpace>();
  const ExecutionSpace exec;
  const int next = (context.rank() + 1) % context.size();
  const int previous = (context.rank() + context.size() - 1) % context.size();
  auto target = context.template full<float***, Layout>("target", -1.0f, 9, 11, 7);
  const ::Test::SharedView<float***, ExecutionSpace, SourceLayout> source("source", 6, 8, 9);
  using Range = Kokkos::pair<int, int>;
  struct Case {
    Range to[3];
    Range from[3];
  };
  const Case cases[] = {{{{1, 5}, {2, 9}, {0, 6}}, {{2, 6}, {1, 8}, {3, 9}}},
                        {{{0, 6}, {0, 8}, {0, 7}}, {{0, 6}, {0, 8}, {1, 8}}},
                        {{{3, 4}, {1, 8}, {2, 3}}, {{5, 6}, {0, 7}, {8, 9}}},
                        {{{2, 8}, {4, 5}, {1, 2}}, {{0, 6}, {7, 8}, {0, 1}}},
                        {{{2, 2}, {4, 9}, {1, 5}}, {{1, 1}, {0, 5}, {0, 4}}}};
  for (std::size_t k = 0; k < std::size(cases); ++k) {
    const Case& c = cases[k];
    ::Test::random_fill(source, ::Test::stream(context.rank(), int(k)));
    Kokkos::deep_copy(target.view(), -1.0f);
    context.barrier();
    KokkosIris::put(exec, context, Kokkos::subview(target.view(), c.to[0], c.to[1], c.to[2]),
                    Kokkos::subview(source, c.from[0], c.from[1], c.from[2]), next, copy_engine);
    KokkosIris::quiet(exec, context, next);
    context.barrier();
    const Kokkos::View<float***, SourceLayout, Kokkos::HostSpace> theirs(
        Kokkos::view_alloc(Kokkos::WithoutInitializing, "theirs"), 6, 8, 9);
    ::Test::random_fill(theirs, ::Test::stream(previous, int(k)));
    Kokkos::View<float***, Kokkos::LayoutRight, Kokkos::HostSpace> expected(
        Kokkos::view_alloc(Kokkos::WithoutInitializing, "expected"), 9, 11, 7);
    std::fill_n(expected.data(), expected.span(), -1.0f);
    for (int x = 0; x < c.to[0].second - c.to[0].first; ++x) {
      for (int y = 0; y < c.to[1].second - c.to[1].first; ++y) {
        for (int z = 0; z < c.to[2].second - c.to[2].first; ++z) {
          expected(c.to[0].first + x, c.to[1].first + y, c.to[2].first + z) =
              theirs(c.from[0].first + x, c.from[1].first + y, c.from[2].first + z);
        }
      }
    }
    int wrong = 0;
    const auto got = ::Test::staged(target.view());
    for (std::size_t i = 0; i < ::Test::count(expected); ++i) {
      wrong += ::Test::element(got.view(), i) != ::Test::element(expected, i) ? 1 : 0;
    }
    EXPECT_EQ(wrong, 0) << how << ", case " << k;
    context.barrier();
  }
}

DEVICE_TYPED_TEST(CopyEngineViews, StridedViews) {
  check_strided<TypeParam, Kokkos::LayoutRight, Kokkos::LayoutRight>("right to right");
  check_strided<TypeParam, Kokkos::LayoutLeft, Kokkos::LayoutLeft>("left to left");
  check_strided<TypeParam, Kokkos::LayoutRight, Kokkos::LayoutLeft>("left to right");
  check_strided<TypeParam, Kokkos::LayoutLeft, Kokkos::LayoutRight>("right to left");
}

template <class ExecutionSpace, class Target, class Source, class Mask>
bool masked_put_by_team(const DeviceContext& d, const Target& target, const Source& source,
                        const Mask& mask, int peer) {
  int failed = 0;
  Kokkos::parallel_reduce(
      Kokkos::TeamPolicy<ExecutionSpace>(1, 1),
      KOKKOS_LAMBDA(const typename Kokkos::TeamPolicy<ExecutionSpace>::member_type& team,
                    int& sum) {
        if (!KokkosIris::put(team, d, target, source, peer, copy_engine, mask) ||
            !KokkosIris::quiet(team, d, peer)) {
          ++sum;
        }
      },
      failed);
  return failed == 0;
}

/// Which elements a mask selects; the first two are all and none.
bool masked(int pattern, std::size_t i) {
  switch (pattern) {
    case 0:
      return true;
    case 1:
      return false;
    case 2:
      return i % 2 == 0;
    case 3:
      return i % 13 != 5;
    case 4:
      return i % 13 == 5;
    default:
      return (::Test::random_bits(99, i) & 3u) != 0;
  }
}

/// Only selected elements are written, whatever the holes; what the mask leaves out in the source
/// is NaN and must not arrive.
template <class ExecutionSpace, class Layout, class MaskType>
void check_masks() {
  auto context = ::Test::make_context<ExecutionSpace>({.copy_engine_entries = 4});
  const int next = (context.rank() + 1) % context.size();
  const int previous = (context.rank() + context.size() - 1) % context.size();
  auto target = context.template empty<double**, Layout>("target", 12, 40);
  const ::Test::SharedView<double**, ExecutionSpace> source("source", 12, 31);
  const ::Test::SharedView<MaskType**, ExecutionSpace, Layout> mask("mask", 12, 31);
  const auto window = Kokkos::subview(target.view(), Kokkos::ALL, Kokkos::pair<int, int>(5, 36));
  for (int pattern = 0; pattern < 6; ++pattern) {
    for (int r = 0; r < 12; ++r) {
      for (int c = 0; c < 31; ++c) {
        const bool selected = masked(pattern, std::size_t(r * 31 + c));
        mask(r, c) = static_cast<MaskType>(selected ? (sizeof(MaskType) == 4 ? 1 << 20 : 1) : 0);
        source(r, c) = selected ? context.rank() * 1e4 + r * 31 + c : ::Test::poison<double>();
      }
    }
    Kokkos::deep_copy(target.view(), -1.0);
    context.barrier();
    if (pattern % 2 == 0) {
      ASSERT_TRUE(masked_put_by_team<ExecutionSpace>(context.device(), window, source, mask, next));
    } else {
      KokkosIris::put(ExecutionSpace(), context, window, source, next, copy_engine, mask);
      KokkosIris::quiet(ExecutionSpace(), context);
    }
    context.barrier();
    int wrong = 0;
    const auto got = ::Test::staged(target.view());
    for (int r = 0; r < 12; ++r) {
      for (int c = 0; c < 40; ++c) {
        const bool inside = c >= 5 && c < 36 && masked(pattern, std::size_t(r * 31 + c - 5));
        const double expected = inside ? previous * 1e4 + r * 31 + c - 5 : -1.0;
        wrong += got(r, c) != expected ? 1 : 0;
      }
    }
    EXPECT_EQ(wrong, 0) << "pattern " << pattern;
    context.barrier();
  }
}

DEVICE_TYPED_TEST(CopyEngineViews, MasksWithHoles) {
  check_masks<TypeParam, Kokkos::LayoutRight, bool>();
  check_masks<TypeParam, Kokkos::LayoutLeft, int>();
}

template <class ExecutionSpace, class View>
void fill_slowly(const ExecutionSpace& exec, const View& view, double value) {
  Kokkos::parallel_for(
      Kokkos::RangePolicy<ExecutionSpace>(exec, 0, view.size()),
      KOKKOS_LAMBDA(int i) { view(i) = value + i; });
}

/// The forms of the host: after the kernel that makes the data; put_signal; get of what peers hold.
DEVICE_TYPED_TEST(CopyEngineViews, HostForms) {
  auto context = ::Test::make_context<TypeParam>();
  const TypeParam exec;
  const int size = context.size();
  const int rank = context.rank();
  const std::size_t n = 10007;
  auto source = context.template zeros<double*>("source", n);
  auto target = context.template zeros<double**, Kokkos::LayoutRight>("target", size, n);
  auto flags = context.template zeros<signal_t*>("flags", size);
  const ::Test::SharedView<double**, TypeParam> got("got", size, n);
  for (int round = 1; round <= 10; ++round) {
    fill_slowly(exec, source.view(), rank * 1e7 + round * 1e5);
    for (int peer = 0; peer < size; ++peer) {
      KokkosIris::put_signal(exec, context, Kokkos::subview(target.view(), rank, Kokkos::ALL),
                             source, flags.data() + rank, signal_t(round), KokkosIris::signal_set,
                             peer, copy_engine);
    }
    for (int peer = 0; peer < size; ++peer) {
      KokkosIris::wait_until(exec, context, flags.data() + peer, KokkosIris::reached,
                             signal_t(round));
      const auto arrived = ::Test::staged(target.view());
      for (std::size_t i = 0; i < n; ++i) {
        ASSERT_EQ(arrived(peer, i), peer * 1e7 + round * 1e5 + double(i));
      }
    }
    for (int peer = 0; peer < size; ++peer) {
      KokkosIris::get(exec, context, Kokkos::subview(got, peer, Kokkos::ALL), source, peer,
                      copy_engine);
    }
    KokkosIris::quiet(exec, context);
    for (int peer = 0; peer < size; ++peer) {
      for (std::size_t i = 0; i < n; ++i) {
        ASSERT_EQ(got(peer, i), peer * 1e7 + round * 1e5 + double(i));
      }
    }
    context.barrier();
  }
}

/// The forms on the default instance, and a signal word given as a view.
DEVICE_TYPED_TEST(CopyEngineViews, HostFormsWithoutAnInstance) {
  auto context = ::Test::make_context<TypeParam>();
  const int rank = context.rank();
  const int next = (rank + 1) % context.size();
  const int previous = (rank + context.size() - 1) % context.size();
  auto source = context.template zeros<int**, Kokkos::LayoutRight>("source", 20, 30);
  auto target = context.template zeros<int**, Kokkos::LayoutRight>("target", 20, 30);
  auto masked = context.template full<int**, Kokkos::LayoutRight>("masked", -1, 20, 30);
  auto words = context.template zeros<signal_t*>("words", 2);
  auto word = context.template zeros<signal_t>("word");
  const ::Test::SharedView<int**, TypeParam, Kokkos::LayoutLeft> got("got", 20, 30);
  const Kokkos::View<bool**, Kokkos::HostSpace> mask("mask", 20, 30);
  mask(3, 4) = mask(19, 29) = true;
  const typename decltype(context)::execution_space exec;
  for (int round = 1; round <= 5; ++round) {
    // Submitted after the kernel on the default instance, without a fence in between.
    Kokkos::parallel_for(
        Kokkos::RangePolicy<typename decltype(context)::execution_space>(exec, 0, 600),
        KOKKOS_LAMBDA(int i) { source(i / 30, i % 30) = rank * 100000 + round * 1000 + i; });
    KokkosIris::put(context, target, source, next, copy_engine);
    KokkosIris::put(context, masked, source, next, copy_engine, mask);
    KokkosIris::put_signal(context, target, source, word, signal_t(round), KokkosIris::signal_set,
                           next, copy_engine);
    KokkosIris::put_signal(exec, context, target, source, Kokkos::subview(words.view(), 1),
                           signal_t(1), KokkosIris::signal_add, next, copy_engine);
    KokkosIris::quiet(context, next);
    KokkosIris::wait_until(context, word, KokkosIris::reached, signal_t(round));
    KokkosIris::wait_until(context, words.data() + 1, KokkosIris::reached, signal_t(round));
    context.barrier();
    KokkosIris::get(context, got, source, next, copy_engine);
    KokkosIris::quiet(context);
    const auto arrived = ::Test::staged(target.view());
    const auto selected = ::Test::staged(masked.view());
    for (int i = 0; i < 600; ++i) {
      ASSERT_EQ(got(i / 30, i % 30), next * 100000 + round * 1000 + i);
      ASSERT_EQ(arrived(i / 30, i % 30), previous * 100000 + round * 1000 + i);
      ASSERT_EQ(selected(i / 30, i % 30),
                mask(i / 30, i % 30) ? previous * 100000 + round * 1000 + i : -1);
    }
    EXPECT_EQ(::Test::get_at(word), signal_t(round));
    EXPECT_EQ(::Test::get_at(words, 0), 0u);
    context.barrier();
  }
  const Kokkos::View<signal_t, Kokkos::HostSpace> local("local");
  const auto invalid = KokkosIris::ErrorCode::invalid_argument;
  ::Test::expect_error(
      invalid,
      [&] {
        KokkosIris::put_signal(context, target, source, local, 1, KokkosIris::signal_set, next,
                               copy_engine);
      },
      "put_signal", "local", "heap");
  ::Test::expect_error(
      invalid, [&] { KokkosIris::quiet(context, -1); }, "quiet", "rank -1");
  ::Test::expect_error(
      invalid, [&] { KokkosIris::put(context, target, source, context.size(), copy_engine); },
      "put", "does not exist");
  context.barrier();
}

struct Particle {
  std::int64_t id;
  std::int16_t kind[5];
  bool operator==(const Particle& other) const {
    return id == other.id && std::equal(kind, kind + 5, other.kind);
  }
};

/// Any trivially copyable element, and views of rank 0.
DEVICE_TYPED_TEST(CopyEngineViews, ElementTypes) {
  auto context = ::Test::make_context<TypeParam>();
  const TypeParam exec;
  const int next = (context.rank() + 1) % context.size();
  const int previous = (context.rank() + context.size() - 1) % context.size();
  auto check = [&](auto example) {
    using T = decltype(example);
    auto target = context.template empty<T*>("target", 33);
    auto single = context.template empty<T>("single");
    const ::Test::SharedView<T*, TypeParam> source("source", 33);
    for (std::size_t i = 0; i < 33; ++i) {
      source(i) = ::Test::random_value<T>(::Test::stream(context.rank()), i);
    }
    const ::Test::SharedView<const T*, TypeParam> constant = source;
    KokkosIris::put(exec, context, target, constant, next, copy_engine);
    KokkosIris::put(exec, context, single, Kokkos::subview(constant, 7), next, copy_engine);
    KokkosIris::quiet(exec, context, next);
    context.barrier();
    const auto got = ::Test::staged(target.view());
    const auto got_one = ::Test::staged(single.view());
    for (std::size_t i = 0; i < 33; ++i) {
      const T expected = ::Test::random_value<T>(::Test::stream(previous), i);
      EXPECT_TRUE(got(i) == expected);
      if (i == 7) {
        EXPECT_TRUE(got_one() == expected);
      }
    }
  };
  check(bool{});
  check(std::int8_t{});
  check(KokkosIris::half_t{});
  check(KokkosIris::bhalf_t{});
  check(float{});
  check(Kokkos::complex<double>{});
  check(Particle{});
}

/// Rows further apart than 4 GiB and an offset beyond it; only a few pages of the heap are touched.
DEVICE_TYPED_TEST(CopyEngineViews, OffsetsBeyondFourGigabytes) {
  const std::size_t pitch = (std::size_t(2) << 30) + 4096;
  auto context = ::Test::make_context<TypeParam>({.heap_size = 4 * pitch});
  const TypeParam exec;
  const int next = (context.rank() + 1) % context.size();
  const int previous = (context.rank() + context.size() - 1) % context.size();
  auto target = context.template empty<char**, Kokkos::LayoutRight>("target", 4, pitch);
  const auto end = Kokkos::pair<std::size_t, std::size_t>(pitch - 100, pitch);
  const auto window = Kokkos::subview(target.view(), Kokkos::ALL, end);
  const ::Test::SharedView<char**, TypeParam> source("source", 4, 100);
  for (int r = 0; r < 4; ++r) {
    for (int c = 0; c < 100; ++c) source(r, c) = char(context.rank() * 31 + r * 7 + c);
  }
  KokkosIris::put(exec, context, window, source, next, copy_engine);
  KokkosIris::quiet(exec, context, next);
  context.barrier();
  int wrong = 0;
  for (int r = 0; r < 4; ++r) {
    const auto row = ::Test::staged(Kokkos::subview(window, r, Kokkos::ALL));
    for (int c = 0; c < 100; ++c) wrong += row(c) != char(previous * 31 + r * 7 + c) ? 1 : 0;
  }
  EXPECT_EQ(wrong, 0);
  KokkosIris::get(exec, context, source, window, next, copy_engine);
  KokkosIris::quiet(exec, context);
  for (int r = 0; r < 4; ++r) {
    for (int c = 0; c < 100; ++c) {
      ASSERT_EQ(source(r, c), char(context.rank() * 31 + r * 7 + c));
    }
  }
  context.barrier();
}

/// A value for every byte of a large array, and their check, where the array lies.
KOKKOS_FUNCTION unsigned char byte_at(std::size_t i, int rank) {
  return static_cast<unsigned char>((i * 2654435761u >> 9) + static_cast<std::size_t>(rank) * 37u);
}
template <class ExecutionSpace>
void fill_bytes(unsigned char* bytes, std::size_t n, int rank) {
  Kokkos::parallel_for(
      Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::size_t>>(0, n),
      KOKKOS_LAMBDA(std::size_t i) { bytes[i] = byte_at(i, rank); });
}
template <class ExecutionSpace>
std::size_t wrong_bytes(const unsigned char* bytes, std::size_t n, int rank) {
  std::size_t wrong = 0;
  Kokkos::parallel_reduce(
      Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::size_t>>(0, n),
      KOKKOS_LAMBDA(std::size_t i, std::size_t & sum) {
        sum += bytes[i] != byte_at(i, rank) ? 1u : 0u;
      },
      wrong);
  return wrong;
}
template <class ExecutionSpace>
bool put_and_quiet(const DeviceContext& d, unsigned char* dst, const unsigned char* src,
                   std::size_t n, int peer) {
  int failed = 0;
  Kokkos::parallel_reduce(
      Kokkos::RangePolicy<ExecutionSpace>(0, 1),
      KOKKOS_LAMBDA(int, int& sum) {
        const bool done =
            KokkosIris::put(d, dst, src, n, peer, copy_engine) && KokkosIris::quiet(d, peer);
        sum += done ? 0 : 1;
      },
      failed);
  return failed == 0;
}

/// One copy of more than 4 GiB, from a kernel and from the host. On a GPU only: the host's test
/// machines have less memory.
DEVICE_TYPED_TEST(CopyEngineViews, MoreThanFourGigabytes) {
  if constexpr (!KokkosIris::Impl::is_gpu_space_v<TypeParam>) return;
  const std::size_t n = (std::size_t(4) << 30) + 12345;
  auto context = ::Test::make_context<TypeParam>({.heap_size = 2 * n + (std::size_t(1) << 20)});
  auto source = context.template empty<unsigned char*>("source", n);
  auto target = context.template zeros<unsigned char*>("target", n);
  const int next = (context.rank() + 1) % context.size();
  const int previous = (context.rank() + context.size() - 1) % context.size();
  fill_bytes<TypeParam>(source.data(), n, context.rank());
  context.barrier();
  ASSERT_TRUE(put_and_quiet<TypeParam>(context.device(), target.data(), source.data(), n, next));
  context.barrier();
  EXPECT_EQ(wrong_bytes<TypeParam>(target.data(), n, previous), 0u);
  context.barrier();
  fill_bytes<TypeParam>(source.data(), n, context.rank() + 100);
  KokkosIris::put(TypeParam(), context, target, source, next, copy_engine);
  KokkosIris::quiet(TypeParam(), context, next);
  context.barrier();
  EXPECT_EQ(wrong_bytes<TypeParam>(target.data(), n, previous + 100), 0u);
  context.barrier();
}

}  // namespace
