// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Illegal collective calls are errors on every rank, which say what is wrong, and the library is as
// usable after them as before; and so are ranks that do something else while others wait for them.

#include <ccl/CollectiveBench.hpp>
#include <chrono>
#include <functional>
#include <initializer_list>
#include <string>

namespace {

using namespace ::Test;
using KokkosIris::Error;
using KokkosIris::ErrorCode;

constexpr auto invalid = ErrorCode::invalid_argument;

/// With a long deadline: errors that are only found at the deadline make the test fail.
template <class ExecutionSpace>
class CollectiveErrors : public CollectiveBench<ExecutionSpace> {
 public:
  CollectiveErrors() : CollectiveBench<ExecutionSpace>({.timeout = 20.0}) {}

  /// True on the rank that is at fault where only one is.
  bool at_fault() const { return this->rank == this->ranks - 1; }

  void expect_failure(const std::function<void()>& call, std::initializer_list<ErrorCode> codes,
                      std::initializer_list<std::string> parts) {
    const auto start = std::chrono::steady_clock::now();
    try {
      call();
      Kokkos::fence("test");
      // Where kernels run beside the host the error comes with the next call.
      this->context.barrier();
      ADD_FAILURE() << "no error";
    } catch (const Error& error) {
      const std::string text = error.what();
      EXPECT_NE(std::find(codes.begin(), codes.end(), error.code()), codes.end())
          << KokkosIris::to_string(error.code()) << ": " << text;
      const std::string rank_of_text = "[rank " + std::to_string(this->rank);
      EXPECT_NE(text.find(rank_of_text), std::string::npos) << text;
      for (const std::string& part : parts) {
        EXPECT_NE(text.find(part), std::string::npos) << "no \"" << part << "\" in: " << text;
      }
    }
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
    EXPECT_LT(time.count(), 10.0) << "found at the deadline only";
    expect_usable();
  }
  void expect_usable() {
    for (const CollectiveForm form : both_forms) {
      Call good{Operation::all_reduce, 19, 0, 0};
      good.seed = ++m_seed;
      this->template run<float>(good, {.config = {.form = form}});
    }
  }
  std::uint64_t m_seed = 0;
};
TYPED_TEST_SUITE(CollectiveErrors, ::Test::AllExecutionSpaces, ::Test::ExecutionSpaceNames);

template <class View>
auto first_of(const View& view, std::size_t n) {
  return Kokkos::subview(view, std::make_pair(std::size_t(0), n));
}

DEVICE_TYPED_TEST(CollectiveErrors, Extents) {
  auto& context = self.context;
  const auto w = static_cast<std::size_t>(self.ranks);
  auto large = context.template zeros<float*>("large", 10 * w + 1);
  auto small = context.template zeros<float*>("small", 10);
  const auto whole = first_of(large.view(), 10 * w);
  for (const bool all : {true, self.at_fault()}) {
    const auto& wrong = all ? large.view()
                            : Kokkos::View<float*, typename TypeParam::array_layout,
                                           typename TypeParam::memory_space>(whole);
    self.expect_failure([&] { all_gather(self.exec, context, wrong, small.view()); }, {invalid},
                        {"all_gather", "dst must have the extents of src", "times", "Given: dst"});
    self.expect_failure([&] { reduce_scatter(self.exec, context, small.view(), wrong); }, {invalid},
                        {"reduce_scatter", "src must have the extents of dst", "block for each"});
  }
  self.expect_failure([&] { all_reduce(self.exec, context, small.view(), large.view()); },
                      {invalid}, {"all_reduce", "same extents", "'small' (10)", "ranks"});
}

DEVICE_TYPED_TEST(CollectiveErrors, NotSymmetric) {
  auto& context = self.context;
  using Local = Kokkos::View<double*, typename TypeParam::memory_space>;
  const Local local("local", 8), locals("locals", 8 * static_cast<std::size_t>(self.ranks));
  auto symmetric = context.template zeros<double*>("symmetric", 8);
  self.expect_failure([&] { all_gather(self.exec, context, locals, local); }, {invalid},
                      {"dst is not on the symmetric heap", "locals"});
  self.expect_failure([&] { reduce_scatter(self.exec, context, local, locals); }, {invalid},
                      {"src is not on the symmetric heap", "as_symmetric()"});
  self.expect_failure([&] { all_reduce(self.exec, context, local, symmetric.view()); }, {invalid},
                      {"dst is not on the symmetric heap"});
  self.expect_failure([&] { all_reduce(self.exec, context, symmetric.view(), local); }, {invalid},
                      {"src is not on the symmetric heap"});
  if (self.ranks == 1) return;
  self.expect_failure(
      [&] {
        all_reduce(self.exec, context, self.at_fault() ? local : Local(symmetric.view()),
                   symmetric.view());
      },
      {invalid}, {"heap"});
}

DEVICE_TYPED_TEST(CollectiveErrors, Gaps) {
  auto& context = self.context;
  auto matrix = context.template zeros<float**, Kokkos::LayoutRight>("matrix", 6, 8);
  auto other = context.template zeros<float**, Kokkos::LayoutLeft>("other", 6, 8);
  const auto columns =
      Kokkos::subview(matrix.view(), Kokkos::ALL, std::make_pair(std::size_t(0), std::size_t(7)));
  self.expect_failure([&] { all_reduce(self.exec, context, columns, columns); }, {invalid},
                      {"dst has strides", "deep_copy", "whole rows"});
  self.expect_failure([&] { all_reduce(self.exec, context, matrix.view(), other.view()); },
                      {invalid}, {"the other LayoutLeft"});
}

DEVICE_TYPED_TEST(CollectiveErrors, SharedMemory) {
  const auto overlap = [&](Operation operation, std::int64_t source, std::int64_t destination) {
    Call call{operation, 20, 0, 0};
    call.in_place = true;
    const auto memory = self.template source<float>(call).data();
    using Vector = std::decay_t<decltype(self.template source<float>(call))>;
    const Vector from(memory + source, static_cast<std::size_t>(call.source_count(self.ranks)));
    const Vector to(memory + destination,
                    static_cast<std::size_t>(call.destination_count(self.ranks)));
    if (operation == Operation::all_gather) return all_gather(self.exec, self.context, to, from);
    if (operation == Operation::reduce_scatter) {
      return reduce_scatter(self.exec, self.context, to, from);
    }
    return all_reduce(self.exec, self.context, to, from);
  };
  self.expect_failure([&] { overlap(Operation::all_reduce, 0, 3); }, {invalid},
                      {"share memory", "only if they are the same"});
  self.expect_failure([&] { overlap(Operation::all_gather, 20 * self.rank + 1, 0); }, {invalid},
                      {"only if src is this rank's block of dst"});
  self.expect_failure([&] { overlap(Operation::reduce_scatter, 1, 20 * self.rank); }, {invalid},
                      {"only if dst is this rank's block of src"});
}

DEVICE_TYPED_TEST(CollectiveErrors, Config) {
  const Call call{Operation::all_reduce, 8, 0, 0};
  self.expect_failure([&] { self.template run<float>(call, {.config = {.teams = -1}}); }, {invalid},
                      {"teams is negative"});
  const auto unknown = static_cast<CollectiveForm>(9);
  self.expect_failure([&] { self.template run<float>(call, {.config = {.form = unknown}}); },
                      {invalid}, {"form has an unknown value"});
}

/// Every rank's call is legal, but they are not the same call.
DEVICE_TYPED_TEST(CollectiveErrors, RanksDiffer) {
  if (self.ranks == 1) GTEST_SKIP() << "one rank agrees with itself";
  const Call call{Operation::all_reduce, 8, 0, 0}, longer{Operation::all_reduce, 9, 0, 0};
  const auto mismatch = {ErrorCode::mismatch};
  self.expect_failure([&] { self.template launch<float>(self.at_fault() ? longer : call, {}); },
                      mismatch, {"rank 0 calls", "src 8", "src 9", "all ranks must give the same"});
  self.expect_failure(
      [&] {
        if (self.at_fault())
          self.template launch<int>(call, {});
        else
          self.template launch<float>(call, {});
      },
      mismatch, {"type float", "type integer"});
  self.expect_failure(
      [&] {
        CollectiveOptions options;
        if (self.at_fault()) options.config.teams = 1;
        self.template launch<float>(call, options);
      },
      mismatch, {"another config"});
  self.expect_failure(
      [&] {
        const Call gather{Operation::all_gather, 8, 0, 0};
        self.template launch<float>(self.at_fault() ? gather : call, {});
      },
      mismatch, {"collective call"});
}

/// The other ranks have a workspace and are in the kernel when one finds its arguments illegal, has
/// no workspace or another one, or is in another call.
DEVICE_TYPED_TEST(CollectiveErrors, OneRankWithAWorkspace) {
  if (self.ranks == 1) GTEST_SKIP() << "needs another rank";
  const std::string name = "rank " + std::to_string(self.ranks - 1);
  const auto failed = {ErrorCode::mismatch, ErrorCode::peer_failed, invalid};
  for (const Operation operation : all_operations) {
    for (const CollectiveForm form : both_forms) {
      const Call call{operation, 8, 0, 0};
      CollectiveOptions options{.async_op = true, .config = {.form = form}};
      const auto fresh = [&] {
        // Ends with a barrier: an error of the next call is not to meet a rank in this one.
        options.workspace = self.template run<float>(call, {.config = options.config});
        return options.workspace;
      };
      fresh();
      self.expect_failure(
          [&] {
            CollectiveOptions mine = options;
            if (self.at_fault()) mine.config.teams = -1;
            self.template launch<float>(call, mine);
          },
          failed, {"teams is negative"});
      fresh();
      self.expect_failure(
          [&] {
            CollectiveOptions mine = options;
            if (self.at_fault()) mine.workspace = {};
            self.template launch<float>(call, mine);
          },
          failed, {name, "all ranks must call"});
      const CollectiveWorkspace first = fresh(), second = fresh();
      self.expect_failure(
          [&] {
            CollectiveOptions mine = options;
            mine.workspace = self.at_fault() ? first : second;
            self.template launch<float>(call, mine);
          },
          failed, {"number " + std::to_string(first.number()), "same earlier call"});
      fresh();
      self.expect_failure(
          [&] {
            if (self.at_fault())
              self.barrier();
            else
              self.template launch<float>(call, options);
          },
          failed, {"barrier", "same order"});
    }
  }
}

/// Rank 0 does not come: the others give up at the deadline, and all go on, with new workspaces.
DEVICE_TYPED_TEST(CollectiveErrors, OneRankDoesNotCome) {
  if (self.ranks == 1) GTEST_SKIP() << "needs another rank";
  struct Hasty : CollectiveBench<TypeParam> {
    Hasty() : CollectiveBench<TypeParam>({.timeout = 0.5}) {}
    void TestBody() override {}
  };
  for (const CollectiveForm form : both_forms) {
    for (const Operation operation : all_operations) {
      const Call call{operation, 70, 0, 0};
      CollectiveOptions options{.async_op = true, .config = {.form = form}};
      self.template run<float>(call, options);  // loads the kernels, which may take long
      Hasty hasty;
      options.workspace = hasty.template run<float>(call, options);
      const auto old = options.workspace;
      hasty.barrier();
      if (hasty.rank == 0) {
        for (int i = 0; i < 10000 && *hasty.context.runtime().abort_word() == 0; ++i) usleep(1000);
      }
      ::Test::expect_error(
          ErrorCode::timeout,
          [&] {
            if (hasty.rank != 0) hasty.template launch<float>(call, options);
            if (hasty.rank != 0) Kokkos::fence("test");
            for (int i = 0; i < 10000 && *hasty.context.runtime().abort_word() == 0; ++i) {
              usleep(1000);
            }
            hasty.barrier();
          },
          "rank 0");
      for (int number = 0; number < 3; ++number) {
        options.workspace = hasty.template run<float>(call, options);
        EXPECT_NE(options.workspace.state(), old.state());
      }
    }
  }
}

DEVICE_TYPED_TEST(CollectiveErrors, HeapExhausted) {
  // Two thirds of the heap for the packets of each rank.
  const Call call{Operation::all_gather, std::int64_t(300000), 0, 0};
  auto ballast = self.context.template empty<char*>("ballast", std::size_t(34) << 20);
  self.expect_failure(
      [&] { self.template run<double>(call, {.config = {.form = CollectiveForm::packets}}); },
      {ErrorCode::out_of_memory}, {"no room for", "heap_size"});
}

}  // namespace
