// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A fused operation waits for its instance once where the call ends with a barrier, and not at all
// with async_op; never for the device.

#include <DeviceTesting.hpp>
#include <FenceCounter.hpp>
#include <KokkosIris.hpp>

namespace {

template <class ExecutionSpace>
class FusedFences : public testing::Test {};
TYPED_TEST_SUITE(FusedFences, Test::AllExecutionSpaces, Test::ExecutionSpaceNames);

/// The first call prepares a workspace; the second is the one that counts.
/// \param operation called with the options
template <class ExecutionSpace, class Context, class Operation>
void check(Context& context, const char* name, const Operation& operation) {
  const ExecutionSpace exec;
  KokkosIris::FusedOptions<float> options;
  options.workspace = operation(exec, options);
  ::Test::expect_fences<ExecutionSpace>(name, 1, [&] { operation(exec, options); });
  options.async_op = true;
  ::Test::expect_fences<ExecutionSpace>(name, 0, [&] { operation(exec, options); });
  exec.fence();
  context.barrier();
}

TYPED_TEST(FusedFences, OfTheInstanceAlone) {
  auto context = ::Test::make_context<TypeParam>();
  const int ranks = context.size(), m = 33, n = 24 * ranks, k = 17;
  const auto a = context.template uniform<float**>("a", -1, 1, m, k);
  const auto b = context.template uniform<float**>("b", -1, 1, k, n);
  const auto whole = context.template uniform<float**>("b of all shards", -1, 1, k * ranks, n);
  const auto c = context.template zeros<float**>("c", m, n);
  const auto slice = context.template zeros<float**>("c of one rank", m, n / ranks);
  const auto rows = context.template zeros<float**>("c of all rows", m * ranks, n);
  check<TypeParam>(context, "all_reduce", [&](const auto& exec, const auto& options) {
    return matmul_all_reduce(exec, context, c, a, b, options);
  });
  check<TypeParam>(context, "reduce_scatter", [&](const auto& exec, const auto& options) {
    return matmul_reduce_scatter(exec, context, slice, a, b, options);
  });
  check<TypeParam>(context, "matmul_all_gather", [&](const auto& exec, const auto& options) {
    return matmul_all_gather(exec, context, rows, a, b, options);
  });
  check<TypeParam>(context, "all_gather_matmul", [&](const auto& exec, const auto& options) {
    return all_gather_matmul(exec, context, c, a, whole, options);
  });
}

}  // namespace
