// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Fused operations in CUDA graphs: a call with a prepared workspace is captured once and replayed
// many times, with other data each time.
//
// requires: fused cuda

#include <CudaGraph.hpp>
#include <FusedCallsImpl.hpp>
#include <TestUtilities.hpp>
#include <algorithm>
#include <cmath>
#include <vector>

namespace {

using namespace ::Test;
using GpuContext = KokkosIris::Context<Kokkos::CudaSpace>;

/// For float a multiple of 1/8 in [-4, 4), for half an integer from -2 to 2: sums of some thousand,
/// or hundred, products are exact, in any order, and so are partial sums.
template <class T>
KOKKOS_INLINE_FUNCTION float graph_value(int rank, int role, int number, std::int64_t i) {
  std::uint64_t bits = static_cast<std::uint64_t>(i) * 0x9e3779b97f4a7c15ull +
                       static_cast<std::uint64_t>(rank) * 0xd1342543de82ef95ull +
                       static_cast<std::uint64_t>(2 * number + role) * 0xbf58476d1ce4e5b9ull;
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9ull;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebull;
  if constexpr (sizeof(T) == 2) return static_cast<float>(static_cast<int>((bits >> 32) % 5) - 2);
  return static_cast<float>(static_cast<int>(bits >> 58) - 32) * 0.125f;
}

/// The kernel that changes an operand between replays.
template <class T>
struct FillOperand {
  T* data;
  int rank, role, number;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    data[i] = static_cast<T>(graph_value<T>(rank, role, number, i));
  }
};
template <class T>
struct Poison {
  T* data;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const { data[i] = static_cast<T>(NAN); }
};

/// One operation's operands on the GPU, in row-major order.
template <class T>
class GraphBench {
 public:
  GraphBench(FusedOperation which, std::int64_t m_, std::int64_t n_, std::int64_t k_,
             double timeout = 60.0)
      : context(MPI_COMM_WORLD, {.heap_size = default_heap_size, .timeout = timeout}),
        operation(which),
        m(m_),
        n(n_),
        k(k_),
        a(matrix(m, k)),
        b(matrix(which == FusedOperation::all_gather_matmul ? k * ranks : k,
                 which == FusedOperation::matmul_reduce_scatter ? n * ranks : n)),
        c(matrix(which == FusedOperation::matmul_all_gather ? m * ranks : m, n)) {}

  /// Collective. Without a workspace it prepares one and is complete, else it only launches.
  FusedWorkspace call(const FusedWorkspace& workspace) {
    Arguments arguments;
    arguments.async_op = static_cast<bool>(workspace);
    arguments.workspace = workspace;
    // Several items for each team, of the engine whose tiles have any size.
    if (sizeof(T) > 2) arguments.config = {.panel_rows = 8, .block_columns = 8, .teams = 4};
    return call_on<T>(exec, operation, context, operand(c), operand(a), operand(b), arguments);
  }

  /// Enqueues the kernels that make the operands those of call `number`.
  void change_operands(int number) {
    fill(a, FillOperand<T>{a.view.data(), rank, 0, number});
    fill(b, FillOperand<T>{b.view.data(), rank, 1, number});
    fill(c, Poison<T>{c.view.data()});
  }

  /// Waits, and compares C with the exact result of call `number`.
  void check(int number) const {
    std::vector<T> result(c.size());
    exec.fence("test");
    Kokkos::deep_copy(exec, HostVector(result.data(), result.size()),
                      Vector(c.view.data(), c.size()));
    exec.fence("test");
    const std::vector<double> expected = product(number);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < result.size(); ++i) {
      wrong += static_cast<double>(result[i]) == expected[i] ? 0 : 1;
    }
    ASSERT_EQ(wrong, 0u) << "elements of " << KokkosIris::Impl::to_string(operation) << ", call "
                         << number;
  }

  GpuContext context;
  const int rank = context.rank();
  const int ranks = context.size();
  const FusedOperation operation;
  Stream stream;
  const Kokkos::Cuda exec{stream.stream};

 private:
  using Vector = Kokkos::View<T*, Kokkos::LayoutRight, Kokkos::CudaSpace,
                              Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  using HostVector = Kokkos::View<T*, Kokkos::LayoutRight, Kokkos::HostSpace,
                                  Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  struct Matrix {
    std::int64_t rows, cols;
    GpuContext::view_type<T*> view;
    std::size_t size() const { return static_cast<std::size_t>(rows * cols); }
  };

  Matrix matrix(std::int64_t rows, std::int64_t cols) {
    return {rows, cols, context.empty<T*>("operand", static_cast<std::size_t>(rows * cols))};
  }
  static Operand operand(const Matrix& matrix) {
    return {matrix.view.data(), matrix.rows, matrix.cols, matrix.cols, 1};
  }
  template <class Functor>
  void fill(const Matrix& matrix, const Functor& functor) const {
    Kokkos::parallel_for("test",
                         Kokkos::RangePolicy<Kokkos::Cuda, Kokkos::IndexType<std::int64_t>>(
                             exec, 0, static_cast<std::int64_t>(matrix.size())),
                         functor);
  }

  std::vector<double> product(int number) const {
    const bool gathers_a = operation == FusedOperation::all_gather_matmul;
    const bool gathers_c = operation == FusedOperation::matmul_all_gather;
    const std::int64_t first_column =
        operation == FusedOperation::matmul_reduce_scatter ? rank * n : 0;
    std::vector<double> sums(c.size());
    for (int q = 0; q < ranks; ++q) {
      for (std::int64_t i = 0; i < m; ++i) {
        double* const row = sums.data() + ((gathers_c ? q * m : 0) + i) * n;
        for (std::int64_t l = 0; l < k; ++l) {
          const double factor = graph_value<T>(q, 0, number, i * k + l);
          const std::int64_t at = ((gathers_a ? q * k : 0) + l) * b.cols + first_column;
          for (std::int64_t j = 0; j < n; ++j) {
            row[j] += factor * graph_value<T>(gathers_a ? rank : q, 1, number, at + j);
          }
        }
      }
    }
    return sums;
  }

  const std::int64_t m, n, k;
  Matrix a, b, c;
};

/// Late ranks, and some replays after which the host looks at the result; between them it runs
/// ahead of the GPU.
/// \param kinds what the graph may consist of: nothing that refers to memory of the host
template <class T>
void replay(GraphBench<T>& bench, int replays, const std::vector<cudaGraphNodeType>& kinds) {
  bench.change_operands(0);
  const FusedWorkspace workspace = bench.call({});
  bench.check(0);
  const Graph graph(bench.stream.stream, [&] {
    EXPECT_EQ(bench.call(workspace).state(), workspace.state()) << "the workspace was not reused";
  });
  const auto nodes = graph.nodes();
  EXPECT_TRUE(std::all_of(nodes.begin(), nodes.end(), [&](cudaGraphNodeType node) {
    return std::find(kinds.begin(), kinds.end(), node) != kinds.end();
  }));
  for (int number = 1; number <= replays; ++number) {
    bench.change_operands(number);
    if (number % 37 == bench.rank) usleep(300);
    require(cudaGraphLaunch(graph.executable, bench.stream.stream), "cudaGraphLaunch");
    if (number <= 3 || number % 50 == 0) bench.check(number);
    if (testing::Test::HasFatalFailure()) break;
  }
  bench.exec.fence("test");
  bench.context.runtime().check("replays");
  bench.context.barrier();
}

/// One kernel.
void replay_float(FusedOperation operation, int replays) {
  GraphBench<float> bench(operation, 33, 21, 29);
  replay(bench, replays, {cudaGraphNodeTypeKernel});
}
TEST(MatmulGraph, AllReduce) { replay_float(FusedOperation::matmul_all_reduce, 1000); }
TEST(MatmulGraph, ReduceScatter) { replay_float(FusedOperation::matmul_reduce_scatter, 200); }
TEST(MatmulGraph, GatherMatmul) { replay_float(FusedOperation::all_gather_matmul, 200); }
TEST(MatmulGraph, MatmulGather) { replay_float(FusedOperation::matmul_all_gather, 200); }

/// The engine of 16-bit types may have the copy engine carry operands, and copy unaligned ones.
TEST(MatmulGraph, Half) {
  for (const FusedOperation operation :
       {FusedOperation::matmul_all_reduce, FusedOperation::matmul_reduce_scatter,
        FusedOperation::all_gather_matmul, FusedOperation::matmul_all_gather}) {
    std::vector kinds{cudaGraphNodeTypeKernel};
    if (operation == FusedOperation::all_gather_matmul) kinds.push_back(cudaGraphNodeTypeMemcpy);
    GraphBench<KokkosIris::half_t> aligned(operation, 136, 24, 32);
    replay(aligned, 200, kinds);
    GraphBench<KokkosIris::half_t> unaligned(operation, 33, 21, 29);
    replay(unaligned, 100, kinds);
  }
}

/// Calls and replays take turns with one workspace; which of both it is may differ by rank.
TEST(MatmulGraph, CallsBetweenReplays) {
  GraphBench<float> bench(FusedOperation::matmul_all_reduce, 17, 19, 23);
  bench.change_operands(0);
  const FusedWorkspace workspace = bench.call({});
  const Graph graph(bench.stream.stream, [&] { bench.call(workspace); });
  for (int number = 1; number <= 60; ++number) {
    bench.change_operands(number);
    if ((number + bench.rank) % 3 == 0) {
      bench.call(workspace);
    } else {
      require(cudaGraphLaunch(graph.executable, bench.stream.stream), "cudaGraphLaunch");
    }
    if (number % 5 == 0) bench.check(number);
    if (HasFatalFailure()) break;
  }
  bench.exec.fence("test");
  bench.context.barrier();
}

/// Expects an error on all ranks, and brings them together again.
template <class T>
void expect_error_of_all(GraphBench<T>& bench, KokkosIris::ErrorCode code,
                         const std::string& part) {
  bench.exec.fence("test");
  for (int i = 0; i < 10000 && *bench.context.runtime().abort_word() == 0; ++i) usleep(1000);
  ::Test::expect_error(
      code, [&] { bench.context.barrier(); }, part);
  bench.context.barrier();
}

/// Rank 0 replays alone, and gives up. After that the graph is an error, though flags and operands
/// of its call may be there from before.
template <class T>
void replay_after_deadline() {
  if (::Test::world_size() == 1) GTEST_SKIP() << "needs another rank";
  for (const FusedOperation operation :
       {FusedOperation::matmul_all_reduce, FusedOperation::matmul_reduce_scatter,
        FusedOperation::all_gather_matmul, FusedOperation::matmul_all_gather}) {
    // Sent by blocks, then by the copy engine.
    for (const std::int64_t k : {32, 29}) {
      GraphBench<T>(operation, 136, 24, k).call({});  // loads the kernels, which may take long
      GraphBench<T> bench(operation, 136, 24, k, 0.5);
      bench.change_operands(0);
      const FusedWorkspace workspace = bench.call({});
      const Graph graph(bench.stream.stream, [&] { bench.call(workspace); });
      const auto launch = [&](int number) {
        bench.change_operands(number);
        require(cudaGraphLaunch(graph.executable, bench.stream.stream), "cudaGraphLaunch");
      };
      launch(1);
      bench.check(1);
      bench.context.barrier();
      if (bench.rank == 0) launch(2);
      using KokkosIris::ErrorCode;
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
TEST(MatmulGraph, AfterADeadline) { replay_after_deadline<float>(); }
TEST(MatmulGraph, HalfAfterADeadline) { replay_after_deadline<KokkosIris::half_t>(); }

}  // namespace
