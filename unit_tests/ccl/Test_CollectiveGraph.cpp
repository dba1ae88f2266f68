// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Collective operations in CUDA graphs: a call with a prepared workspace is captured once and
// replayed many times, with other data each time.
//
// requires: cuda

#include <CudaGraph.hpp>
#include <ccl/CollectiveBench.hpp>
#include <vector>

namespace {

using namespace ::Test;

/// Whole numbers, whose sums are exact.
KOKKOS_INLINE_FUNCTION float graph_value(int rank, int number, std::int64_t i) {
  return static_cast<float>((i * 7 + number * 31 + rank * 101) % 1009);
}
struct FillSource {
  float* data;
  int rank, number;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const { data[i] = graph_value(rank, number, i); }
};
struct FillWith {
  float* data;
  float value;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const { data[i] = value; }
};

void expect_one_kernel(const Graph& graph) {
  const std::vector<cudaGraphNodeType> nodes = graph.nodes();
  ASSERT_EQ(nodes.size(), 1u);
  EXPECT_EQ(nodes[0], cudaGraphNodeTypeKernel);
}

class GraphBench {
 public:
  using Context = KokkosIris::Context<Kokkos::CudaSpace>;

  GraphBench(Operation operation_of_graph, CollectiveForm form_of_graph, double timeout = 60.0)
      : context(MPI_COMM_WORLD, {.heap_size = default_heap_size, .timeout = timeout}),
        operation(operation_of_graph),
        form(form_of_graph),
        source(context.empty<float*>("source", size(operation == Operation::reduce_scatter))),
        result(context.empty<float*>("result", size(operation == Operation::all_gather))) {}

  /// Without a workspace it prepares one and is complete, else it only launches.
  CollectiveWorkspace call(const CollectiveWorkspace& workspace) {
    const CollectiveOptions options{static_cast<bool>(workspace), {.form = form}, workspace};
    switch (operation) {
      case Operation::all_gather:
        return all_gather(exec, context, result.view(), source.view(), options);
      case Operation::reduce_scatter:
        return reduce_scatter(exec, context, result.view(), source.view(), options);
      case Operation::all_reduce:
        break;
    }
    return all_reduce(exec, context, result.view(), source.view(), options);
  }
  void change_operands(int number) {
    fill(source, FillSource{source.data(), rank, number});
    fill(result, FillWith{result.data(), -1.0f});
  }
  void check(int number) const {
    std::vector<float> values(result.size());
    using Host = Kokkos::View<float*, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
    Kokkos::deep_copy(exec, Host(values.data(), values.size()), result.view());
    exec.fence("test");
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (values[i] != expected(number, static_cast<std::int64_t>(i))) ++wrong;
    }
    ASSERT_EQ(wrong, 0u) << KokkosIris::Impl::to_string(operation) << ", call " << number;
  }

  static constexpr std::int64_t block = 3001;
  Context context;
  const int rank = context.rank();
  const int ranks = context.size();
  const Operation operation;
  const CollectiveForm form;
  Stream stream;
  const Kokkos::Cuda exec{stream.stream};

 private:
  std::size_t size(bool of_blocks) const {
    return static_cast<std::size_t>(block) * static_cast<std::size_t>(of_blocks ? ranks : 1);
  }
  float expected(int number, std::int64_t i) const {
    if (operation == Operation::all_gather) {
      return graph_value(static_cast<int>(i / block), number, i % block);
    }
    const std::int64_t at = operation == Operation::reduce_scatter ? rank * block + i : i;
    float sum = 0.0f;
    for (int q = 0; q < ranks; ++q) sum += graph_value(q, number, at);
    return sum;
  }
  template <class View, class Functor>
  void fill(const View& view, const Functor& functor) const {
    Kokkos::parallel_for("test",
                         Kokkos::RangePolicy<Kokkos::Cuda, Kokkos::IndexType<std::int64_t>>(
                             exec, 0, static_cast<std::int64_t>(view.size())),
                         functor);
  }

  Context::view_type<float*> source, result;
};

/// Late ranks, some replays after which the host looks at the result, and calls between them.
void replay(Operation operation, CollectiveForm form, int replays) {
  GraphBench bench(operation, form);
  bench.change_operands(0);
  const CollectiveWorkspace workspace = bench.call({});
  bench.check(0);
  const Graph graph(bench.stream.stream, [&] {
    EXPECT_EQ(bench.call(workspace).state(), workspace.state()) << "the workspace was not reused";
  });
  expect_one_kernel(graph);
  for (int number = 1; number <= replays; ++number) {
    bench.change_operands(number);
    if (number % 37 == bench.rank) usleep(300);
    if ((number + bench.rank) % 5 == 0) {
      bench.call(workspace);
    } else {
      require(cudaGraphLaunch(graph.executable, bench.stream.stream), "cudaGraphLaunch");
    }
    if (number <= 3 || number % 50 == 0) bench.check(number);
    if (testing::Test::HasFatalFailure()) break;
  }
  bench.exec.fence("test");
  bench.context.runtime().check("replays");
  bench.context.barrier();
}
TEST(CollectiveGraph, Packets) {
  for (const Operation operation : all_operations) replay(operation, CollectiveForm::packets, 300);
}
TEST(CollectiveGraph, Direct) {
  for (const Operation operation : all_operations) replay(operation, CollectiveForm::direct, 300);
}

/// Expects an error on all ranks, and brings them together again.
void expect_error_of_all(GraphBench& bench, KokkosIris::ErrorCode code, const std::string& part) {
  bench.exec.fence("test");
  for (int i = 0; i < 10000 && *bench.context.runtime().abort_word() == 0; ++i) usleep(1000);
  ::Test::expect_error(
      code, [&] { bench.context.barrier(); }, part);
  bench.context.barrier();
}

/// Rank 0 replays alone, and gives up. After that the graph is an error, though packets and flags
/// of its call may be there from before.
TEST(CollectiveGraph, AfterADeadline) {
  if (::Test::world_size() == 1) GTEST_SKIP() << "needs another rank";
  using KokkosIris::ErrorCode;
  for (const CollectiveForm form : both_forms) {
    for (const Operation operation : all_operations) {
      GraphBench(operation, form).call({});  // loads the kernels, which may take long
      GraphBench bench(operation, form, 0.5);
      bench.change_operands(0);
      const CollectiveWorkspace workspace = bench.call({});
      const Graph graph(bench.stream.stream, [&] { bench.call(workspace); });
      const auto launch = [&](int number) {
        bench.change_operands(number);
        require(cudaGraphLaunch(graph.executable, bench.stream.stream), "cudaGraphLaunch");
      };
      launch(1);
      bench.check(1);
      bench.context.barrier();
      if (bench.rank == 0) launch(2);
      expect_error_of_all(bench, ErrorCode::timeout, "rank 0 waited longer");
      launch(3);
      expect_error_of_all(bench, bench.rank == 0 ? ErrorCode::misuse : ErrorCode::peer_failed,
                          "rank 0 repeats a captured call");
      bench.change_operands(4);
      bench.call({});
      bench.check(4);
    }
  }
}

}  // namespace
