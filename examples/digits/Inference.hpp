// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// The network evaluated by several ranks in two ways: the weights split, and the pictures split.

#ifndef KOKKOSIRIS_EXAMPLE_INFERENCE_HPP
#define KOKKOSIRIS_EXAMPLE_INFERENCE_HPP

#include <KokkosIris.hpp>
#include <Kokkos_Core.hpp>

#include "Network.hpp"

using ExecutionSpace = Kokkos::DefaultExecutionSpace;
using MemorySpace = ExecutionSpace::memory_space;
using Context = KokkosIris::Context<MemorySpace>;

template <class T>
using Matrix = Kokkos::View<T**, Kokkos::LayoutRight, MemorySpace>;
template <class T>
using Vector = Kokkos::View<T*, MemorySpace>;
template <class T>
using SymmetricMatrix = KokkosIris::SymmetricView<T**, Kokkos::LayoutRight, MemorySpace>;

/// Negative elements become 0.
template <class T>
void relu(const ExecutionSpace& exec, const Matrix<T>& h) {
  Kokkos::parallel_for(
      "relu", Kokkos::RangePolicy<ExecutionSpace>(exec, 0, h.size()), KOKKOS_LAMBDA(std::size_t i) {
        T& element = h.data()[i];
        if (element < T(0)) element = T(0);
      });
}

/// Every rank has a part of each weight matrix and sees all pictures.
///
///     layer   input of rank r        weights of rank r     result of rank r
///     1       columns of x           columns of w1         columns of h1    all_gather_matmul
///     2       columns of h1          rows of w2            columns of h2    matmul_reduce_scatter
///     3       columns of h2          rows of w3            all of z         matmul_all_reduce
///
/// Layers 2 and 3 sum over ranks, every rank's bias too; so one rank gives it.
template <class T>
class TensorParallel {
 public:
  TensorParallel(Context& context, const Network& network)
      : m_context(context),
        m_x(part(network.images.rows, network.images.cols / ranks())),
        m_w1("w1", network.w1.rows, network.w1.cols / ranks()),
        m_b1("b1", network.b1.rows / ranks()),
        m_h1("h1", network.images.rows, network.w1.cols / ranks()),
        m_w2("w2", network.w2.rows / ranks(), network.w2.cols),
        m_b2("b2", network.b2.rows),
        m_h2("h2", network.images.rows, network.w2.cols / ranks()),
        m_w3("w3", network.w3.rows / ranks(), network.w3.cols),
        m_b3("b3", network.b3.rows),
        m_z(part(network.images.rows, network.w3.cols)) {
    const auto r = static_cast<std::size_t>(context.rank());
    copy_part(m_x.view(), network.images, 0, r * m_x.extent(1));
    copy_part(m_w1, network.w1, 0, r * m_w1.extent(1));
    copy_part(m_b1, network.b1, r * m_b1.extent(0), 0);
    copy_part(m_w2, network.w2, r * m_w2.extent(0), 0);
    copy_part(m_b2, network.b2, 0, 0);
    copy_part(m_w3, network.w3, r * m_w3.extent(0), 0);
    copy_part(m_b3, network.b3, 0, 0);
  }

  /// The logits of all pictures, when `exec` is fenced. Collective.
  const SymmetricMatrix<T>& operator()(const ExecutionSpace& exec) {
    using KokkosIris::cols;
    const bool first = m_context.rank() == 0;
    m_workspace1 =
        all_gather_matmul(exec, m_context, m_h1, m_x, m_w1,
                          {.bias = cols(m_b1), .async_op = true, .workspace = m_workspace1});
    relu(exec, m_h1);
    m_workspace2 = matmul_reduce_scatter(exec, m_context, m_h2, m_h1, m_w2,
                                         {.bias = first ? cols(m_b2) : KokkosIris::Bias<T>(),
                                          .async_op = true,
                                          .workspace = m_workspace2});
    relu(exec, m_h2);
    m_workspace3 = matmul_all_reduce(exec, m_context, m_z, m_h2, m_w3,
                                     {.bias = first ? cols(m_b3) : KokkosIris::Bias<T>(),
                                      .async_op = true,
                                      .workspace = m_workspace3});
    return m_z;
  }

 private:
  std::size_t ranks() const { return static_cast<std::size_t>(m_context.size()); }
  SymmetricMatrix<T> part(std::size_t rows, std::size_t cols) {
    return m_context.template empty<T**, Kokkos::LayoutRight>("digits", rows, cols);
  }

  Context& m_context;
  SymmetricMatrix<T> m_x;
  Matrix<T> m_w1;
  Vector<T> m_b1;
  Matrix<T> m_h1, m_w2;
  Vector<T> m_b2;
  Matrix<T> m_h2, m_w3;
  Vector<T> m_b3;
  SymmetricMatrix<T> m_z;
  KokkosIris::FusedWorkspace m_workspace1, m_workspace2, m_workspace3;
};

/// Every rank has all weights and a part of the pictures; the last layer sends the logits to all.
///
/// The other layers are products of one rank: matmul_reduce_scatter in a context of that rank
/// alone, which is a plain product on the library's engine and asks for no symmetric operand.
template <class T>
class DataParallel {
 public:
  /// \param alone context of this rank only
  DataParallel(Context& context, Context& alone, const Network& network)
      : m_context(context),
        m_alone(alone),
        m_x("x", network.images.rows / static_cast<std::size_t>(context.size()),
            network.images.cols),
        m_w1("w1", network.w1.rows, network.w1.cols),
        m_b1("b1", network.b1.rows),
        m_h1("h1", m_x.extent(0), network.w1.cols),
        m_w2("w2", network.w2.rows, network.w2.cols),
        m_b2("b2", network.b2.rows),
        m_h2("h2", m_x.extent(0), network.w2.cols),
        m_w3("w3", network.w3.rows, network.w3.cols),
        m_b3("b3", network.b3.rows),
        m_z(context.template empty<T**, Kokkos::LayoutRight>("z", network.images.rows,
                                                             network.w3.cols)) {
    copy_part(m_x, network.images, static_cast<std::size_t>(context.rank()) * m_x.extent(0), 0);
    copy_part(m_w1, network.w1, 0, 0);
    copy_part(m_b1, network.b1, 0, 0);
    copy_part(m_w2, network.w2, 0, 0);
    copy_part(m_b2, network.b2, 0, 0);
    copy_part(m_w3, network.w3, 0, 0);
    copy_part(m_b3, network.b3, 0, 0);
  }

  /// The logits of all pictures, when `exec` is fenced. Collective.
  const SymmetricMatrix<T>& operator()(const ExecutionSpace& exec) {
    using KokkosIris::cols;
    m_workspace1 =
        matmul_reduce_scatter(exec, m_alone, m_h1, m_x, m_w1,
                              {.bias = cols(m_b1), .async_op = true, .workspace = m_workspace1});
    relu(exec, m_h1);
    m_workspace2 =
        matmul_reduce_scatter(exec, m_alone, m_h2, m_h1, m_w2,
                              {.bias = cols(m_b2), .async_op = true, .workspace = m_workspace2});
    relu(exec, m_h2);
    m_workspace3 =
        matmul_all_gather(exec, m_context, m_z, m_h2, m_w3,
                          {.bias = cols(m_b3), .async_op = true, .workspace = m_workspace3});
    return m_z;
  }

 private:
  Context& m_context;
  Context& m_alone;
  Matrix<T> m_x, m_w1;
  Vector<T> m_b1;
  Matrix<T> m_h1, m_w2;
  Vector<T> m_b2;
  Matrix<T> m_h2, m_w3;
  Vector<T> m_b3;
  SymmetricMatrix<T> m_z;
  KokkosIris::FusedWorkspace m_workspace1, m_workspace2, m_workspace3;
};

#endif
