// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// ranks: 1 2 3
// requires: fused

// Symmetric views and peers' views go into Kokkos Kernels as any other View.

#include <KokkosBatched_Gemm_Decl.hpp>
#include <KokkosBatched_Gemm_Serial_Impl.hpp>
#include <TestUtilities.hpp>

namespace {

/// Outside of the test's class, as nvcc requires of functions with kernels.
template <class A, class B, class C>
void multiply(int batch, const A& a, const B& b, const C& c) {
  using NoTranspose = KokkosBatched::Trans::NoTranspose;
  Kokkos::parallel_for(
      "gemm", Kokkos::RangePolicy<Kokkos::DefaultHostExecutionSpace>(0, batch),
      KOKKOS_LAMBDA(int i) {
        KokkosBatched::SerialGemm<NoTranspose, NoTranspose, KokkosBatched::Algo::Gemm::Unblocked>::
            invoke(1.0, Kokkos::subview(a, i, Kokkos::ALL, Kokkos::ALL),
                   Kokkos::subview(b, i, Kokkos::ALL, Kokkos::ALL), 0.0,
                   Kokkos::subview(c, i, Kokkos::ALL, Kokkos::ALL));
      });
}

TEST(KokkosKernels, BatchedGemmOnPeersMemory) {
  auto context = ::Test::make_context();
  const int next = (context.rank() + 1) % context.size();
  constexpr int batch = 8, m = 5, n = 4, k = 3;
  const auto a = context.uniform<double***>("a", -1.0, 1.0, batch, m, k);
  const auto b = context.uniform<double***>("b", -1.0, 1.0, batch, k, n);
  const auto c =
      context.full<double***>("c", std::numeric_limits<double>::quiet_NaN(), batch, m, n);
  const auto their_b = b.peer(next);
  const auto their_c = c.peer(next);
  multiply(batch, a, their_b, their_c);
  context.barrier();
  for (int i = 0; i < batch; ++i) {
    for (int row = 0; row < m; ++row) {
      for (int column = 0; column < n; ++column) {
        double expected = 0.0;
        for (int l = 0; l < k; ++l) expected += a(i, row, l) * their_b(i, l, column);
        // Three products of numbers below 1: each sum is off by less than 3 units of 2^-53.
        ASSERT_NEAR(their_c(i, row, column), expected, 8 * 0x1.0p-53);
      }
    }
  }
  context.barrier();
}

}  // namespace
