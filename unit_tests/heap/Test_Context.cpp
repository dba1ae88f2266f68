// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Which contexts can be made, and that nothing of them stays behind.

#include <DeviceTesting.hpp>
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <vector>

namespace {

using KokkosIris::ErrorCode;

constexpr std::size_t MiB = std::size_t(1) << 20;

/// Each rank tells its neighbour its name; checks that all of them are who they say.
template <class Context>
void expect_working(Context& context, int name) {
  const int next = (context.rank() + 1) % context.size();
  const auto names = context.template zeros<int*>("names", 2);
  ::Test::set_at(names.peer(next), name, 0);
  ::Test::set_at(names.peer(next), context.rank(), 1);
  context.barrier();
  const int previous = ::Test::get_at(names, 1);
  ASSERT_EQ(previous, (context.rank() + context.size() - 1) % context.size());
  const auto all = context.runtime().agree("names", name);
  EXPECT_EQ(::Test::get_at(names, 0), all[static_cast<std::size_t>(previous)]);
  EXPECT_EQ(all[static_cast<std::size_t>(context.rank())], name);
}

/// Mappings of this process whose line contains `text`.
std::size_t count_mappings(const std::string& text) {
  std::ifstream maps("/proc/self/maps");
  std::size_t count = 0;
  for (std::string line; std::getline(maps, line);) count += line.find(text) != std::string::npos;
  return count;
}

std::size_t count_entries(const char* folder) {
  const std::filesystem::directory_iterator entries(folder);
  return static_cast<std::size_t>(std::distance(begin(entries), end(entries)));
}

template <class ExecutionSpace>
class Context : public testing::Test {
 public:
  using type = KokkosIris::Context<typename ExecutionSpace::memory_space>;
  /// Mappings of heaps of this process that /proc shows: memory of a GPU is not among them.
  static std::size_t heap_mappings() { return count_mappings("memfd:KokkosIris::heap"); }
  static std::size_t expected_heap_mappings(int ranks) {
    return KokkosIris::Impl::is_gpu_space_v<ExecutionSpace> ? 0 : static_cast<std::size_t>(ranks);
  }
};
TYPED_TEST_SUITE(Context, ::Test::HeapSpaces, ::Test::ExecutionSpaceNames);

TYPED_TEST(Context, World) {
  using Context [[maybe_unused]] = typename TestFixture::type;
  auto context = ::Test::make_context<TypeParam>();
  EXPECT_EQ(context.rank(), ::Test::world_rank());
  EXPECT_EQ(context.size(), ::Test::world_size());
  EXPECT_EQ(context.device().rank(), context.rank());
  EXPECT_EQ(context.heap_used(), 0u);
  EXPECT_EQ(context.heap_capacity(), ::Test::default_heap_size);
  EXPECT_FALSE(context.state().memory_description().empty());
  // Ranks take the GPUs in turns; those on the host have its processors in common.
  const int devices = KokkosIris::Impl::is_gpu_space_v<TypeParam> ? Kokkos::num_devices() : 1;
  EXPECT_EQ(context.state().ranks_share_device(), context.size() > devices);
  expect_working(context, 100 + context.rank());
}

TYPED_TEST(Context, Self) {
  using Context [[maybe_unused]] = typename TestFixture::type;
  Context context(MPI_COMM_SELF, {.heap_size = MiB});
  EXPECT_EQ(context.rank(), 0);
  EXPECT_EQ(context.size(), 1);
  expect_working(context, ::Test::world_rank());
}

TYPED_TEST(Context, ReversedRanks) {
  using Context [[maybe_unused]] = typename TestFixture::type;
  const int rank = ::Test::world_rank();
  MPI_Comm reversed = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &reversed);
  std::optional<Context> context(std::in_place, reversed,
                                 KokkosIris::ContextOptions{.heap_size = MiB});
  MPI_Comm_free(&reversed);  // a context does not keep the communicator
  EXPECT_EQ(context->rank(), ::Test::world_size() - 1 - rank);
  expect_working(*context, rank);
}

TYPED_TEST(Context, GroupsSideBySide) {
  using Context [[maybe_unused]] = typename TestFixture::type;
  const int rank = ::Test::world_rank();
  MPI_Comm group = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &group);
  Context context(group, {.heap_size = MiB});
  // Different numbers of calls in the two groups: they do not wait for each other.
  for (int i = 0; i <= 3 * (rank % 2); ++i) expect_working(context, rank);
  MPI_Comm_free(&group);
}

TYPED_TEST(Context, SubgroupLeavesTheOthersAlone) {
  using Context [[maybe_unused]] = typename TestFixture::type;
  const int rank = ::Test::world_rank();
  MPI_Comm group = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank == 0 ? MPI_UNDEFINED : 0, rank, &group);
  if (rank == 0) {
    ::Test::expect_error(
        ErrorCode::misuse, [&] { Context context(group); }, "MPI_COMM_NULL");
  } else {
    Context context(group, {.heap_size = MiB});
    expect_working(context, rank);
    MPI_Comm_free(&group);
  }
}

TYPED_TEST(Context, Intercommunicator) {
  using Context [[maybe_unused]] = typename TestFixture::type;
  const int rank = ::Test::world_rank();
  if (::Test::world_size() < 2) GTEST_SKIP() << "needs two ranks";
  MPI_Comm half = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank == 0 ? 0 : 1, rank, &half);
  MPI_Comm between = MPI_COMM_NULL;
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank == 0 ? 1 : 0, 7, &between);
  ::Test::expect_error(
      ErrorCode::invalid_argument, [&] { Context context(between); }, "MPI_Intercomm_merge");
  MPI_Comm_free(&between);
  MPI_Comm_free(&half);
}

TYPED_TEST(Context, SeveralAtOnce) {
  using Context [[maybe_unused]] = typename TestFixture::type;
  MPI_Comm duplicate = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &duplicate);
  std::vector<Context> contexts;
  for (int i = 0; i < 3; ++i) {
    contexts.emplace_back(i % 2 == 0 ? MPI_COMM_WORLD : duplicate,
                          KokkosIris::ContextOptions{.heap_size = MiB * std::size_t(i + 1)});
  }
  std::vector<decltype(contexts[0].template zeros<int*>("x", 1))> views;
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(contexts[i].heap_capacity(), MiB * (i + 1));
    views.push_back(contexts[i].template full<int*>("x", int(i), 100));
  }
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(::Test::get_at(views[i], 99), int(i));
    for (std::size_t j = 0; j < 3; ++j) EXPECT_EQ(contexts[j].is_symmetric(views[i]), i == j);
    expect_working(contexts[i], ::Test::world_rank() * int(i + 1));
  }
  MPI_Comm_free(&duplicate);
}

TYPED_TEST(Context, Moved) {
  using Context [[maybe_unused]] = typename TestFixture::type;
  auto first = ::Test::make_context<TypeParam>();
  auto view = first.template full<int>("x", 5 + first.rank());
  Context second(std::move(first));
  expect_working(second, second.rank());
  EXPECT_TRUE(second.is_symmetric(view));
  ::Test::expect_error(
      ErrorCode::misuse, [&] { first.barrier(); }, "moved from");
  ::Test::expect_error(
      ErrorCode::misuse, [&] { first.template zeros<int*>("y", 3); }, "moved from");
  ::Test::expect_error(
      ErrorCode::misuse, [&] { first.rank(); }, "moved from");
  auto third = ::Test::make_context<TypeParam>();
  third = std::move(second);
  expect_working(third, third.rank());
  EXPECT_EQ(::Test::get_at(view.peer((third.rank() + 1) % third.size())),
            5 + (third.rank() + 1) % third.size());
  third.barrier();
}

TYPED_TEST(Context, ViewsOutliveIt) {
  using Context [[maybe_unused]] = typename TestFixture::type;
  std::optional<Context> context(std::in_place, MPI_COMM_WORLD,
                                 KokkosIris::ContextOptions{.heap_size = MiB});
  auto view = context->template full<double*>("x", 1.0 + context->rank(), 1000);
  const int next = (context->rank() + 1) % context->size();
  auto theirs = view.peer(next);
  context.reset();
  EXPECT_EQ(this->heap_mappings(), this->expected_heap_mappings(::Test::world_size()));
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_EQ(::Test::get_at(view, 999), 1.0 + ::Test::world_rank());
  EXPECT_EQ(::Test::get_at(theirs, 999), 1.0 + next);
  MPI_Barrier(MPI_COMM_WORLD);
  view = {};
  EXPECT_EQ(count_mappings("memfd:KokkosIris"), 0u);
}

TYPED_TEST(Context, RefusesBadOptions) {
  using Context [[maybe_unused]] = typename TestFixture::type;
  ::Test::expect_error(
      ErrorCode::invalid_argument,
      [] { Context context(MPI_COMM_WORLD, {.copy_engine_entries = 1000}); }, "1000",
      "power of two");
  ::Test::expect_error(
      ErrorCode::invalid_argument,
      [] { Context context(MPI_COMM_WORLD, {.heap_size = std::size_t(1) << 60}); }, "heap_size");
  if (::Test::world_size() == 1) return;
  const int last = ::Test::world_size() - 1;
  const bool odd_one = ::Test::world_rank() == last;
  for (const auto& options :
       {KokkosIris::ContextOptions{.heap_size = odd_one ? 2 * MiB : MiB},
        KokkosIris::ContextOptions{.heap_size = MiB, .timeout = odd_one ? 7.0 : 8.0},
        KokkosIris::ContextOptions{.heap_size = MiB, .seed = odd_one ? 1u : 2u},
        KokkosIris::ContextOptions{.heap_size = MiB, .copy_engine_entries = odd_one ? 16u : 32u}}) {
    ::Test::expect_error(
        ErrorCode::mismatch, [&] { Context context(MPI_COMM_WORLD, options); }, "options differ",
        "rank " + std::to_string(last), "rank 0");
  }
  expect_working(
      *std::make_unique<Context>(MPI_COMM_WORLD, KokkosIris::ContextOptions{.heap_size = MiB}),
      ::Test::world_rank());
}

TYPED_TEST(Context, HeapLargerThanFourGiB) {
  using Context [[maybe_unused]] = typename TestFixture::type;
  constexpr std::size_t GiB = std::size_t(1) << 30;
  Context context(MPI_COMM_WORLD, {.heap_size = 7 * GiB});
  EXPECT_EQ(context.heap_capacity(), 7 * GiB);
  const auto large = context.template empty<unsigned char*>("large", 6 * GiB + 123);
  const auto behind = context.template empty<int*>("behind", 10);
  const int next = (context.rank() + 1) % context.size();
  const int previous = (context.rank() + context.size() - 1) % context.size();
  const std::size_t last = large.extent(0) - 1;
  EXPECT_EQ(last, 6 * GiB + 122);
  ::Test::set_at(large, static_cast<unsigned char>(context.rank() + 1), last - 1);
  ::Test::set_at(large.peer(next), static_cast<unsigned char>(context.rank() + 101), last);
  const auto their_tail =
      peer(context.device(), Kokkos::subview(large, std::pair(last - 9, last)), next);
  ::Test::set_at(their_tail, static_cast<unsigned char>(context.rank() + 51), 0);
  ::Test::set_at(behind.peer(next), context.rank() + 1, 9);
  context.barrier();
  EXPECT_EQ(::Test::get_at(large, last - 1), context.rank() + 1);
  EXPECT_EQ(::Test::get_at(large, last), previous + 101);
  EXPECT_EQ(::Test::get_at(large, last - 9), previous + 51);
  EXPECT_EQ(::Test::get_at(behind, 9), previous + 1);
  EXPECT_EQ(::Test::get_at(large.peer(next), last - 1), next + 1);
  EXPECT_GT(reinterpret_cast<unsigned char*>(behind.data()), large.data() + last);
  // Nothing between was touched, so hardly any memory is used. (A rank's pages: 4 KiB each.)
  EXPECT_EQ(context.heap_used(), 6 * GiB + 256 + 256) << "blocks are multiples of 256 bytes";
}

TYPED_TEST(Context, AbsurdHeapIsAnErrorOnAllRanks) {
  using Context [[maybe_unused]] = typename TestFixture::type;
  // More than the address space of most systems, less than the library's own limit.
  try {
    Context context(MPI_COMM_WORLD, {.heap_size = std::size_t(1) << 46});
    context.barrier();  // this system has room for it
  } catch (const KokkosIris::Error& error) {
    EXPECT_TRUE(error.code() == ErrorCode::out_of_memory || error.code() == ErrorCode::peer_failed)
        << error.what();
    EXPECT_NE(std::string(error.what()).find("70368744"), std::string::npos) << error.what();
  }
  EXPECT_EQ(count_mappings("memfd:KokkosIris"), 0u);
  MPI_Barrier(MPI_COMM_WORLD);
}

/// Names in the folders where shared memory of programs is usually found, and that are ours.
std::set<std::string> shared_names() {
  std::set<std::string> names;
  for (const char* folder : {"/dev/shm", "/tmp"}) {
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
      std::string name = entry.path().string();
      std::string lower = name;
      std::transform(lower.begin(), lower.end(), lower.begin(),
                     [](unsigned char c) { return std::tolower(c); });
      if (lower.find("iris") != std::string::npos) names.insert(name);
    }
  }
  return names;
}

TYPED_TEST(Context, MakesNoFiles) {
  using Context [[maybe_unused]] = typename TestFixture::type;
  const auto before = shared_names();
  const std::size_t mapped_shm = count_mappings("/dev/shm/");
  const std::size_t mapped_tmp = count_mappings("/tmp/");
  {
    auto context = ::Test::make_context<TypeParam>();
    const auto view = context.template ones<double*>("x", 1000);
    EXPECT_EQ(shared_names(), before);
    EXPECT_EQ(count_mappings("/dev/shm/"), mapped_shm);
    EXPECT_EQ(count_mappings("/tmp/"), mapped_tmp);
    EXPECT_EQ(this->heap_mappings(), this->expected_heap_mappings(context.size()));
    EXPECT_EQ(count_mappings("memfd:KokkosIris::control"), std::size_t(context.size()));
  }
  EXPECT_EQ(shared_names(), before);
  EXPECT_EQ(count_mappings("memfd:KokkosIris"), 0u);
}

TYPED_TEST(Context, ManyOneAfterAnotherLeaveNothing) {
  using Context [[maybe_unused]] = typename TestFixture::type;
  const auto one = [] {
    Context context(MPI_COMM_WORLD, {.heap_size = MiB});
    const auto view = context.template full<int>("x", context.rank());
    ASSERT_EQ(::Test::get_at(view.peer((context.rank() + 1) % context.size())),
              (context.rank() + 1) % context.size());
    context.barrier();
  };
  for (int i = 0; i < 10; ++i) one();
  const std::size_t descriptors = count_entries("/proc/self/fd");
  const std::size_t threads = count_entries("/proc/self/task");
  const std::size_t mappings = count_mappings("");
  for (int i = 0; i < 190; ++i) one();
  EXPECT_EQ(count_entries("/proc/self/fd"), descriptors);
  EXPECT_EQ(count_entries("/proc/self/task"), threads);
  EXPECT_EQ(count_mappings("memfd:KokkosIris"), 0u);
  // The allocator (of a sanitizer, above all) maps a little; a leak would be one a context or more.
  EXPECT_LT(count_mappings(""), mappings + 50);
}

TYPED_TEST(Context, FailedConstructionLeavesNothing) {
  using Context [[maybe_unused]] = typename TestFixture::type;
  const auto one = [] {
    EXPECT_THROW(Context(MPI_COMM_WORLD, {.copy_engine_entries = 3}), KokkosIris::Error);
  };
  one();
  const std::size_t descriptors = count_entries("/proc/self/fd");
  for (int i = 0; i < 50; ++i) one();
  EXPECT_EQ(count_entries("/proc/self/fd"), descriptors);
  EXPECT_EQ(count_mappings("memfd:KokkosIris"), 0u);
}

}  // namespace
