// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The collective operations on operands of any number, type, place and layout, in both forms.

#include <array>
#include <ccl/CollectiveBench.hpp>
#include <utility>

namespace {

using namespace ::Test;

template <class ExecutionSpace>
class Collectives : public CollectiveBench<ExecutionSpace> {};
TYPED_TEST_SUITE(Collectives, ::Test::AllExecutionSpaces, ::Test::ExecutionSpaceNames);

template <class T, class Bench>
void run_numbers(Bench& bench, Operation operation) {
  std::uint64_t seed = 0;
  for (const std::int64_t block : {0, 1, 2, 3, 4, 5, 7, 8, 9, 31, 64, 65, 257, 1000}) {
    for (const CollectiveForm form : both_forms) {
      for (const std::int64_t offset : {0, 1, 3, 8}) {
        if (offset > 1 && block % 2 == 0) continue;
        Call call{operation, block, offset, block % 3 == 1 ? offset : 5 - offset / 2};
        call.seed = ++seed;
        const auto workspace = bench.template run<T>(call, {.config = {.form = form}});
        EXPECT_EQ(workspace.form(), KokkosIris::Impl::to_string(form));
        EXPECT_EQ(workspace.operation(), KokkosIris::Impl::to_string(operation));
      }
    }
  }
}

DEVICE_TYPED_TEST(Collectives, NumbersOfDouble) {
  for (const Operation operation : all_operations) run_numbers<double>(self, operation);
}
DEVICE_TYPED_TEST(Collectives, NumbersOfFloat) {
  for (const Operation operation : all_operations) run_numbers<float>(self, operation);
}
DEVICE_TYPED_TEST(Collectives, NumbersOfHalf) {
  for (const Operation operation : all_operations) {
    run_numbers<KokkosIris::half_t>(self, operation);
  }
}
DEVICE_TYPED_TEST(Collectives, NumbersOfBfloat16) {
  for (const Operation operation : all_operations) {
    run_numbers<KokkosIris::bhalf_t>(self, operation);
  }
}
DEVICE_TYPED_TEST(Collectives, NumbersOfIntegers) {
  for (const Operation operation : {Operation::reduce_scatter, Operation::all_reduce}) {
    run_numbers<int>(self, operation);
    run_numbers<std::uint64_t>(self, operation);
  }
}

/// all_gather moves anything.
struct Odd {
  char bytes[5];
  bool operator==(const Odd&) const = default;
};
struct Mixed {
  int number;
  short small[3];
  std::int16_t end;
  bool operator==(const Mixed&) const = default;
};
DEVICE_TYPED_TEST(Collectives, GatherOfAnyType) {
  for (const CollectiveForm form : both_forms) {
    for (const std::int64_t block : {1, 2, 7, 300}) {
      Call call{Operation::all_gather, block, 1, 3};
      call.seed = static_cast<std::uint64_t>(block);
      const CollectiveOptions options{.config = {.form = form}};
      self.template run<unsigned char>(call, options);
      self.template run<Odd>(call, options);
      self.template run<Mixed>(call, options);
      self.template run<Kokkos::complex<double>>(call, options);
    }
  }
}

DEVICE_TYPED_TEST(Collectives, InPlace) {
  for (const Operation operation : all_operations) {
    for (const CollectiveForm form : both_forms) {
      for (const std::int64_t block : {1, 6, 64, 333, 20000}) {
        Call call{operation, block, 0, block % 4};
        call.in_place = true;
        call.seed = static_cast<std::uint64_t>(block);
        self.template run<float>(call, {.config = {.form = form}});
        self.template run<KokkosIris::half_t>(call, {.config = {.form = form}});
      }
    }
  }
}

/// Each rank has its operands at another place of the heap.
DEVICE_TYPED_TEST(Collectives, PlacesDifferByRank) {
  for (const Operation operation : all_operations) {
    for (const CollectiveForm form : both_forms) {
      for (const std::int64_t apart : {1, 4, 100}) {
        Call call{operation, 777, self.rank * apart, (self.ranks - self.rank) * apart};
        call.seed = static_cast<std::uint64_t>(apart);
        self.template run<float>(call, {.config = {.form = form}});
      }
    }
  }
}

/// The form by the size, on both sides of the limit, which is that of what a rank sends.
DEVICE_TYPED_TEST(Collectives, FormBySize) {
  constexpr bool host = !KokkosIris::Impl::is_gpu_space_v<TypeParam>;
  constexpr std::int64_t limit = KokkosIris::Impl::most_packet_bytes<host>;
  for (const Operation operation : all_operations) {
    const int others = std::max(1, self.ranks - 1);
    const std::int64_t most = limit / others / std::int64_t(sizeof(float));
    for (const std::int64_t block : {most - 1, most, most + 1, 2 * most + 5}) {
      Call call{operation, block, 0, 0};
      call.seed = static_cast<std::uint64_t>(block);
      const auto workspace = self.template run<float>(call);
      EXPECT_EQ(workspace.form(), self.ranks > 1 && block <= most ? "packets" : "direct");
    }
  }
}

/// Many words for each thread, on a few teams and on all; a megabyte by packets, too.
DEVICE_TYPED_TEST(Collectives, Large) {
  for (const Operation operation : all_operations) {
    for (const int teams : {0, 1, 3}) {
      for (const CollectiveForm form : both_forms) {
        Call call{operation, 123456, teams, teams == 1 ? 1 : 4};
        call.seed = static_cast<std::uint64_t>(teams);
        self.template run<float>(call, {.config = {.form = form, .teams = teams}});
        call.block = 100001;
        self.template run<KokkosIris::bhalf_t>(call, {.config = {.form = form, .teams = teams}});
      }
    }
  }
}

template <class View>
std::size_t slowest_stride(const View& view, bool right) {
  return right ? view.stride(0) : view.stride(View::rank() - 1);
}

/// Views of several dimensions: blocks along the first (LayoutRight) or last one (LayoutLeft).
template <class Layout, class Bench>
void run_layout(Bench& bench) {
  constexpr bool right = std::is_same_v<Layout, Kokkos::LayoutRight>;
  const auto w = static_cast<std::size_t>(bench.ranks);
  auto& context = bench.context;
  const std::size_t a = right ? 3 : 5, b = right ? 5 : 3;  // 3 is cut
  auto block = context.template empty<double**, Layout>("block", a, b);
  auto whole =
      context.template empty<double**, Layout>("whole", right ? w * a : a, right ? b : w * b);
  auto sum = context.template empty<double**, Layout>("sum", a, b);
  random_fill_anywhere(plain(block), stream(bench.rank, 1));
  poison_fill_anywhere(plain(whole));
  all_gather(bench.exec, context, whole, block);
  const auto gathered = staged(plain(whole));
  const auto element_of = [&](int q, std::size_t i, std::size_t j) {
    return random_value<double>(stream(q, 1), i * b + j);
  };
  for (int q = 0; q < bench.ranks; ++q) {
    for (std::size_t i = 0; i < a; ++i) {
      for (std::size_t j = 0; j < b; ++j) {
        const std::size_t row = right ? std::size_t(q) * a + i : i;
        const std::size_t column = right ? j : std::size_t(q) * b + j;
        EXPECT_EQ(gathered(row, column), element_of(q, i, j));
      }
    }
  }
  context.barrier();
  poison_fill_anywhere(plain(sum));
  // All ranks have the same there: block r times W.
  reduce_scatter(bench.exec, context, sum, whole);
  const auto reduced = staged(plain(sum));
  for (std::size_t i = 0; i < a; ++i) {
    for (std::size_t j = 0; j < b; ++j) {
      double expected = 0.0;
      for (int q = 0; q < bench.ranks; ++q) expected += element_of(bench.rank, i, j);
      EXPECT_EQ(reduced(i, j), expected);
    }
  }
}
DEVICE_TYPED_TEST(Collectives, Layouts) {
  run_layout<Kokkos::LayoutRight>(self);
  run_layout<Kokkos::LayoutLeft>(self);
}

/// Scalars, arrays of four dimensions, parts of arrays, and the call on the default instance.
DEVICE_TYPED_TEST(Collectives, OtherViews) {
  auto& context = self.context;
  auto scalar = context.template empty<int>("scalar");
  set_at(plain(scalar), self.rank + 1);
  all_reduce(context, scalar, scalar);
  EXPECT_EQ(get_at(plain(scalar)), self.ranks * (self.ranks + 1) / 2);

  const auto w = static_cast<std::size_t>(self.ranks);
  auto whole = context.template full<long* [3][2][5], Kokkos::LayoutRight>("whole", 7, 2 * w + 2);
  auto parts = context.template full<long* [3][2][5], Kokkos::LayoutRight>("parts", self.rank, 2);
  const auto inner = Kokkos::subview(whole.view(), std::make_pair(std::size_t(1), 2 * w + 1),
                                     Kokkos::ALL, Kokkos::ALL, Kokkos::ALL);
  all_gather(context, inner, parts.view());
  for (std::size_t i = 0; i < 2 * w + 2; ++i) {
    const bool around = i == 0 || i == 2 * w + 1;
    EXPECT_EQ(get_at(plain(whole), i, 2, 1, 4), around ? 7 : long((i - 1) / 2));
    EXPECT_EQ(get_at(plain(whole), i, 0, 0, 0), around ? 7 : long((i - 1) / 2));
  }
}

}  // namespace
