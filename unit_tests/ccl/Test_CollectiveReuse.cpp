// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Many collective calls with one workspace, late ranks, and workspaces that do not fit.

#include <algorithm>
#include <ccl/CollectiveBench.hpp>
#include <vector>

namespace {

using namespace ::Test;

template <class ExecutionSpace>
class CollectiveReuse : public CollectiveBench<ExecutionSpace> {};
TYPED_TEST_SUITE(CollectiveReuse, ::Test::AllExecutionSpaces, ::Test::ExecutionSpaceNames);

/// True for the one rank that is late in call `number`, if one is.
bool is_late(int rank, int ranks, int number) {
  const std::uint64_t bits = ::Test::random_bits(99, static_cast<std::uint64_t>(number));
  return bits % 8 == 0 && static_cast<int>((bits >> 8) % static_cast<std::uint64_t>(ranks)) == rank;
}

/// Call after call without a barrier between them. Each has other data; the destination is read,
/// and both operands are overwritten, as soon as the own kernel has ended, while other ranks may be
/// a call behind or ahead.
template <class Bench>
void run_many(Bench& bench, Operation operation, CollectiveForm form, int calls) {
  // Ranks may share a GPU, whose time slices of about 2 ms then make up most of a call.
  if (bench.on_gpu()) calls /= 4;
  CollectiveOptions options{.async_op = true, .config = {.form = form}};
  CollectiveWorkspace first;
  for (int number = 0; number < calls; ++number) {
    Call call{operation, 37, number % 3, number % 5};
    call.seed = static_cast<std::uint64_t>(number) + 1;
    call.in_place = number % 7 == 3;
    bench.template prepare<float>(call);
    if (is_late(bench.rank, bench.ranks, number)) usleep(300);
    options.workspace = bench.template launch<float>(call, options);
    if (is_late(bench.rank, bench.ranks, number + 7)) usleep(300);
    if (operation == Operation::all_reduce && number % 16 != 0) {
      bench.template check_alone<float>(call);  // without meeting the others
    } else {
      bench.template check<float>(call);
    }
    if (number == 0) first = options.workspace;
    if (testing::Test::HasFailure()) break;
  }
  EXPECT_EQ(options.workspace.state(), first.state()) << "the workspace was not reused";
  bench.barrier();
}

DEVICE_TYPED_TEST(CollectiveReuse, ManyTimes) {
  for (const Operation operation : all_operations) {
    for (const CollectiveForm form : both_forms) run_many(self, operation, form, 400);
  }
}

/// Calls that the host enqueues one behind the other; the last one's result is looked at.
DEVICE_TYPED_TEST(CollectiveReuse, OneBehindTheOther) {
  for (const Operation operation : all_operations) {
    for (const CollectiveForm form : both_forms) {
      Call call{operation, 501, 1, 2};
      call.seed = 5;
      self.template prepare<double>(call);
      CollectiveOptions options{.async_op = true, .config = {.form = form}};
      for (int number = 0; number < 50; ++number) {
        options.workspace = self.template launch<double>(call, options);
      }
      self.template check<double>(call);
    }
  }
}

/// Two workspaces of equal calls, and two of different ones, in turns.
DEVICE_TYPED_TEST(CollectiveReuse, TwoWorkspaces) {
  for (const CollectiveForm form : both_forms) {
    const Call calls[] = {{Operation::all_reduce, 64, 0, 0},
                          {Operation::all_reduce, 64, 0, 0},
                          {Operation::all_gather, 301, 0, 0},
                          {Operation::reduce_scatter, 77, 0, 0}};
    CollectiveOptions options[4];
    for (auto& one : options) one = {.async_op = true, .config = {.form = form}};
    for (int number = 0; number < 24; ++number) {
      const int which = number < 4 ? number : (5 * number + number / 3) % 4;
      Call call = calls[which];
      call.seed = static_cast<std::uint64_t>(number);
      self.template prepare<float>(call);
      options[which].workspace = self.template launch<float>(call, options[which]);
      self.template check<float>(call);
    }
    EXPECT_NE(options[0].workspace.state(), options[1].workspace.state());
    EXPECT_NE(options[0].workspace.number(), options[1].workspace.number());
  }
}

/// A workspace of an instance of many threads serves one of few, and the other way round; ranks may
/// use different ones.
DEVICE_TYPED_TEST(CollectiveReuse, OtherInstances) {
  std::vector<TypeParam> instances{self.exec};
  if constexpr (!std::is_same_v<TypeParam, ::Test::PlainSpace>) {
    for (const auto& part : Kokkos::Experimental::partition_space(TypeParam(), 1, 1)) {
      instances.push_back(part);
    }
  }
  const int some = static_cast<int>(instances.size());
  for (const Operation operation : all_operations) {
    for (const CollectiveForm form : both_forms) {
      CollectiveOptions options{.config = {.form = form}};
      for (int number = 0; number < 12; ++number) {
        Call call{operation, 20011, 0, 0};
        call.seed = static_cast<std::uint64_t>(number);
        self.template prepare<float>(call);
        const TypeParam& instance =
            instances[static_cast<std::size_t>((number + (number > 6 ? self.rank : 0)) % some)];
        options.workspace = self.template launch_on<float>(instance, call, options);
        self.template check<float>(call);
      }
    }
  }
}

/// The first call's workspace is given to calls that it does not fit.
DEVICE_TYPED_TEST(CollectiveReuse, MismatchedWorkspaceIsPreparedAnew) {
  const Call first{Operation::all_reduce, 24, 0, 0};
  const CollectiveWorkspace given = self.template run<float>(first);
  const auto expect_other = [&](const CollectiveWorkspace& workspace) {
    EXPECT_NE(workspace.state(), given.state());
    EXPECT_NE(workspace.number(), given.number());
  };
  const CollectiveOptions options{.workspace = given};
  expect_other(self.template run<float>({Operation::all_reduce, 25, 0, 0}, options));
  expect_other(self.template run<int>(first, options));
  expect_other(self.template run<float>({Operation::all_gather, 24, 0, 0}, options));
  expect_other(self.template run<float>(first, {.config = {.teams = 1}, .workspace = given}));
  EXPECT_EQ(self.template run<float>(first, options).state(), given.state());
}

/// Reuse takes no memory from the heap, and the last copy gives it back.
DEVICE_TYPED_TEST(CollectiveReuse, MemoryOfAWorkspace) {
  self.barrier();
  const std::size_t before = self.context.heap_used();
  for (const CollectiveForm form : both_forms) {
    CollectiveOptions options{.config = {.form = form}};
    const Call call{Operation::all_reduce, 1000, 0, 0};
    options.workspace = self.template run<float>(call, options);
    const std::size_t with_one = self.context.heap_used();
    EXPECT_GT(with_one, before);
    for (int number = 0; number < 5; ++number) {
      options.workspace = self.template run<float>(call, options);
      EXPECT_EQ(self.context.heap_used(), with_one);
    }
    options.workspace = {};
    self.barrier();
    EXPECT_EQ(self.context.heap_used(), before);
  }
}

TEST(CollectiveWorkspace, NothingPrepared) {
  const CollectiveWorkspace none;
  EXPECT_FALSE(none);
  EXPECT_EQ(none.operation(), "none");
  EXPECT_EQ(none.form(), "none");
  EXPECT_EQ(none.number(), 0u);
}

}  // namespace
