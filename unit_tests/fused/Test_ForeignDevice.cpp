// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Calls by a thread whose current device is another GPU than the instance's: they work on the
// instance's, and what the library enqueues by itself leaves the current device as it was.
//
// requires: fused cuda

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <KokkosIris.hpp>
#include <cstdint>

namespace {

using KokkosIris::FusedWorkspace;
using Exec = Kokkos::Cuda;
using Space = Kokkos::CudaSpace;
template <class T>
using Matrix = Kokkos::View<T**, Kokkos::LayoutRight, Space>;

/// So that no engine has to copy operands by kernels of Kokkos, which change the current device.
constexpr int rows = 70, cols = 48, inner = 40;

/// Small integers, so that all sums are exact.
KOKKOS_INLINE_FUNCTION int value_at(int rank, std::int64_t i, std::int64_t j) {
  return static_cast<int>((i * 7 + j * 3 + rank * 5) % 5) - 2;
}
template <class T>
struct Fill {
  Matrix<T> view;
  int rank;
  KOKKOS_FUNCTION void operator()(int i, int j) const {
    view(i, j) = static_cast<T>(static_cast<float>(value_at(rank, i, j)));
  }
};
template <class T>
void fill(const Matrix<T>& view, int rank) {
  using Range = Kokkos::MDRangePolicy<Exec, Kokkos::Rank<2>>;
  Kokkos::parallel_for("fill", Range({0, 0}, {int(view.extent(0)), int(view.extent(1))}),
                       Fill<T>{view, rank});
  Exec().fence("test");
}

class ForeignDevice : public ::testing::Test {
 protected:
  void SetUp() override {
    int count = 0;
    ASSERT_EQ(cudaGetDeviceCount(&count), cudaSuccess);
    if (count < 2) GTEST_SKIP() << "one GPU is visible";
    m_own = Exec().cuda_device();
    m_foreign = (m_own + 1) % count;
  }
  void TearDown() override { ASSERT_EQ(cudaSetDevice(m_own), cudaSuccess); }

  void leave() const { ASSERT_EQ(cudaSetDevice(m_foreign), cudaSuccess); }
  void expect_left() const {
    int current = -1;
    ASSERT_EQ(cudaGetDevice(&current), cudaSuccess);
    EXPECT_EQ(current, m_foreign);
  }

  template <class T>
  void reduce() {
    KokkosIris::Context<Space> context(MPI_COMM_WORLD);
    auto c = context.zeros<T**, Kokkos::LayoutRight>("c", rows, cols);
    const Matrix<T> a("a", rows, inner), b("b", inner, cols);
    fill(a, context.rank());
    fill(b, context.rank());
    const FusedWorkspace prepared = matmul_all_reduce(Exec(), context, c, a, b);
    for (int call = 0; call < 3; ++call) {
      Kokkos::deep_copy(Exec(), c.view(), T(0));
      context.barrier();
      leave();
      matmul_all_reduce(Exec(), context, c, a, b, {.async_op = true, .workspace = prepared});
      expect_left();
      context.barrier();
      check(c.view(), context.size());
    }
  }

  template <class View>
  static void check(const View& c, int ranks) {
    const auto result = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), c);
    int wrong = 0;
    for (int i = 0; i < rows; ++i) {
      for (int j = 0; j < cols; ++j) {
        int sum = 0;
        for (int rank = 0; rank < ranks; ++rank) {
          for (int k = 0; k < inner; ++k) sum += value_at(rank, i, k) * value_at(rank, k, j);
        }
        wrong += static_cast<double>(result(i, j)) != sum;
      }
    }
    EXPECT_EQ(wrong, 0);
  }

 private:
  int m_own = 0, m_foreign = 0;
};

TEST_F(ForeignDevice, FusedDouble) { reduce<double>(); }
TEST_F(ForeignDevice, FusedFloat) { reduce<float>(); }
TEST_F(ForeignDevice, FusedHalf) { reduce<KokkosIris::half_t>(); }

TEST_F(ForeignDevice, CopyEngine) {
  KokkosIris::Context<Space> context(MPI_COMM_WORLD);
  auto target = context.zeros<double**, Kokkos::LayoutRight>("target", rows, cols);
  const Matrix<double> source("source", rows, cols);
  fill(source, context.rank());
  context.barrier();
  const int next = (context.rank() + 1) % context.size();
  const int before = (context.rank() + context.size() - 1) % context.size();
  leave();
  put(Exec(), context, target, source, next, KokkosIris::copy_engine);
  expect_left();
  quiet(Exec(), context, next);
  context.barrier();
  const auto result = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), target.view());
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < cols; ++j) ASSERT_EQ(result(i, j), value_at(before, i, j));
  }
}

}  // namespace
