// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Call after call of the fused operations, in turns and many in a row, without a pause: other
// operands each time, workspaces that are used again, tiny tiles, late ranks.
//
// KOKKOSIRIS_STRESS_CALLS is the number of calls of each test, besides a first one for each
// workspace; a change of an exchange is to pass a million of each engine:
//   KOKKOSIRIS_STRESS_CALLS=1000000 mpiexec -n 2 KokkosIris_Test_Fused_MatmulStress

#include <DeviceTesting.hpp>
#include <FusedBench.hpp>
#include <StressCaller.hpp>
#include <cstdlib>
#include <limits>
#include <memory>
#include <stdexcept>
#include <vector>

namespace {

using namespace ::Test;

std::uint64_t calls_of_a_test() {
  const char* const text = std::getenv("KOKKOSIRIS_STRESS_CALLS");
  if (text == nullptr) return 40;
  char* end = nullptr;
  const unsigned long long calls = std::strtoull(text, &end, 10);
  if (calls == 0 || *end != '\0') {
    throw std::invalid_argument(std::string("KOKKOSIRIS_STRESS_CALLS is '") + text +
                                "'; give a number of calls");
  }
  return calls;
}

template <class ExecutionSpace>
bool backend_has(TileEngine engine) {
  const bool on_gpu = KokkosIris::Impl::is_gpu_space_v<ExecutionSpace>;
  if (engine == TileEngine::sm90) return on_gpu && KokkosIris::Impl::have_sm90;
  if (engine == TileEngine::sm80) return on_gpu && KokkosIris::Impl::have_sm80_gpu;
  if (engine == TileEngine::mfma) return !on_gpu || KokkosIris::Impl::have_mfma_gpu;
  return engine == TileEngine::portable || !on_gpu;
}

/// Tiles as small as the engine has them, in more than one row and column; and where it exchanges
/// them in several ways, one form of each: packets, images, and operands that are copied first and
/// sent by the copy engine.
std::vector<StressForm> forms_of(TileEngine engine) {
  if (engine == TileEngine::sm90) {
    return {{40, 128, 56, {.block_columns = 64}},
            {200, 136, 56, {.block_columns = 256}, true, true},
            {72, 66, 51, {.block_columns = 256}, true}};
  }
  return {{13, 33, 8, {.panel_rows = 2, .block_columns = 1, .teams = 2}},
          {9, 40, 5, {.panel_rows = 3, .block_columns = 16, .teams = 3}, true, true}};
}

template <class T, class ExecutionSpace>
void add_callers(KokkosIris::Context<typename ExecutionSpace::memory_space>& context,
                 TileEngine engine, const WrongElements& wrong,
                 std::vector<std::unique_ptr<StressCaller>>& callers) {
  if (engine == TileEngine::sm90 && sizeof(T) != 2) return;
  for (StressForm form : forms_of(engine)) {
    form.config.engine = engine;
    for (const FusedOperation operation : all_operations) {
      callers.push_back(
          std::make_unique<TypedStressCaller<T, ExecutionSpace>>(context, operation, form, wrong));
    }
  }
}

/// Whose call it is: all callers' one after the other, then one's many times, in turns.
std::size_t turn(std::uint64_t number, std::size_t callers) {
  constexpr std::uint64_t in_a_row = 16;
  if (number < callers) return static_cast<std::size_t>(number);
  const std::uint64_t block = (number - callers) / in_a_row;
  return static_cast<std::size_t>((block % 2 == 0 ? number : block / 2) % callers);
}

template <class ExecutionSpace>
void stress(TileEngine engine) {
  using MemorySpace = typename ExecutionSpace::memory_space;
  if (!backend_has<ExecutionSpace>(engine)) GTEST_SKIP() << "not of this backend";
  const std::uint64_t calls = calls_of_a_test();
  auto context = ::Test::make_context<ExecutionSpace>();
  const Kokkos::View<std::uint64_t[2], MemorySpace> words("wrong elements");
  constexpr auto none = std::numeric_limits<std::uint64_t>::max();
  set_at(words, none, 1);
  const WrongElements wrong{words.data(), words.data() + 1};
  std::vector<std::unique_ptr<StressCaller>> callers;
  add_callers<double, ExecutionSpace>(context, engine, wrong, callers);
  add_callers<float, ExecutionSpace>(context, engine, wrong, callers);
  add_callers<KokkosIris::half_t, ExecutionSpace>(context, engine, wrong, callers);
  add_callers<KokkosIris::bhalf_t, ExecutionSpace>(context, engine, wrong, callers);
  constexpr std::uint64_t calls_between_looks = 1000;
  const std::uint64_t last = callers.size() + calls - 1;
  for (std::uint64_t number = 0; number <= last; ++number) {
    StressCaller& caller = *callers[turn(number, callers.size())];
    caller.call(number);
    if (number < callers.size() && caller.engine() != KokkosIris::Impl::to_string(engine)) {
      GTEST_SKIP() << "not there: " << caller.engine() << " serves instead";
    }
    if (number % calls_between_looks != 0 && number != last) continue;
    ExecutionSpace().fence("test");
    context.runtime().check("stress");
    const std::uint64_t first = get_at(words, 1);
    if (first == none) continue;
    FAIL() << get_at(words, 0) << " wrong elements until call " << number << ", the first in call "
           << first << ": " << callers[turn(first, callers.size())]->describe();
  }
  context.barrier();
}

template <class ExecutionSpace>
struct MatmulStress : testing::Test {};
TYPED_TEST_SUITE(MatmulStress, ::Test::AllExecutionSpaces, ::Test::ExecutionSpaceNames);

TYPED_TEST(MatmulStress, Packed) { stress<TypeParam>(TileEngine::packed); }
TYPED_TEST(MatmulStress, Blas) { stress<TypeParam>(TileEngine::blas); }
TYPED_TEST(MatmulStress, Portable) { stress<TypeParam>(TileEngine::portable); }
TYPED_TEST(MatmulStress, Mfma) { stress<TypeParam>(TileEngine::mfma); }
TYPED_TEST(MatmulStress, Sm80) { stress<TypeParam>(TileEngine::sm80); }
TYPED_TEST(MatmulStress, Sm90) { stress<TypeParam>(TileEngine::sm90); }

}  // namespace
