// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// requires: fused

#include <mpi.h>

#include <GpuFusedSeparate.hpp>
#include <stdexcept>
#include <utility>
#include <vector>

namespace Bench {

GpuSeparate::GpuSeparate(GpuFusedBench& bench, FusedOp op, Element element, GpuShape shape,
                         const void* a, const void* b)
    : m_bench(bench),
      m_element(element),
      m_m(shape.m),
      m_n(shape.n),
      m_k(shape.k),
      m_ranks(bench.size()),
      m_a(a),
      m_b(b) {
  switch (op) {
    case FusedOp::gemm:
      prepare_gemm();
      break;
    case FusedOp::all_reduce:
      prepare_all_reduce();
      break;
    case FusedOp::reduce_scatter:
      prepare_reduce_scatter();
      break;
    case FusedOp::all_gather_matmul:
      prepare_all_gather_matmul();
      break;
    case FusedOp::matmul_all_gather:
      prepare_matmul_all_gather();
      break;
  }
  m_bench.session().start();
  m_gemm_us = m_bench.aligned_time(m_gemm);
  MPI_Allreduce(MPI_IN_PLACE, &m_gemm_us, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
}

GpuSeparate::Bytes GpuSeparate::allocate(const char* label, std::int64_t elements) const {
  return Bytes(Kokkos::view_alloc(std::string(label), Kokkos::WithoutInitializing),
               std::size_t(bytes_of(m_element) * elements));
}

GpuSeparate::Action GpuSeparate::plan_if_possible(const GemmProblem& problem) const {
  return m_bench.blas()->plan(problem, m_bench.stream());
}

GpuSeparate::Action GpuSeparate::plan(const GemmProblem& problem) const {
  if (Action action = plan_if_possible(problem)) return action;
  throw std::runtime_error("cuBLAS has no algorithm for a product of this benchmark");
}

GemmProblem GpuSeparate::whole(const void* a, void* c) const {
  return {.element = m_element,
          .m = m_m,
          .n = m_n,
          .k = m_k,
          .a = a,
          .a_stride = m_k,
          .b = m_b,
          .b_stride = m_n,
          .c = c,
          .c_stride = m_n};
}

GpuSeparate::Action GpuSeparate::copy_blocks(char* blocks, char* matrix, std::int64_t columns,
                                             bool joins) const {
  const std::size_t narrow = std::size_t(bytes_of(m_element) * columns),
                    wide = narrow * std::size_t(m_ranks);
  return [=, this] {
    for (int rank = 0; rank < m_ranks; ++rank) {
      char* const block = blocks + std::size_t(rank) * std::size_t(m_m) * narrow;
      char* const place = matrix + std::size_t(rank) * narrow;
      check_cuda(cudaMemcpy2DAsync(joins ? place : block, joins ? wide : narrow,
                                   joins ? block : place, joins ? narrow : wide, narrow,
                                   std::size_t(m_m), cudaMemcpyDeviceToDevice, m_bench.stream()),
                 "cudaMemcpy2DAsync");
    }
  };
}

void GpuSeparate::prepare_gemm() {
  m_result = allocate("result", m_m * m_n);
  m_gemm = plan(whole(m_a, m_result.data()));
  m_run = m_gemm;
  m_name = "cuBLAS";
}

void GpuSeparate::prepare_all_reduce() {
  m_product = allocate("product", m_m * m_n);
  m_result = allocate("result", m_m * m_n);
  m_gemm = plan(whole(m_a, m_product.data()));
  m_partial = m_product.data();
  m_name = "cuBLAS+NCCL";
  if (m_bench.nccl() == nullptr) return;
  m_run = [this] {
    m_gemm();
    m_bench.nccl()->all_reduce(m_product.data(), m_result.data(), std::size_t(m_m * m_n), m_element,
                               m_bench.stream());
  };
}

void GpuSeparate::prepare_reduce_scatter() {
  const std::int64_t columns = m_n / m_ranks, block = m_m * columns;
  m_product = allocate("product", m_m * m_n);
  m_blocks = allocate("blocks", m_m * m_n);
  m_result = allocate("result", block);
  m_gemm = plan(whole(m_a, m_product.data()));
  m_partial = at(m_blocks, m_bench.rank() * block);

  GemmProblem problem = whole(m_a, m_blocks.data());
  problem.n = problem.c_stride = columns;
  std::vector<Action> each;
  for (int rank = 0; rank < m_ranks; ++rank) {
    GemmProblem part = problem;
    part.b = static_cast<const char*>(m_b) + bytes_of(m_element) * rank * columns;
    part.c = at(m_blocks, rank * block);
    each.push_back(plan(part));
  }
  problem.batch = m_ranks;
  problem.b_step = columns;
  problem.c_step = block;
  const Action pack = copy_blocks(m_blocks.data(), m_product.data(), columns, false);
  const std::vector<Action> ways = {plan_if_possible(problem),
                                    [each] {
                                      for (const Action& product : each) product();
                                    },
                                    [gemm = m_gemm, pack] {
                                      gemm();
                                      pack();
                                    }};
  constexpr const char* names[] = {"cuBLAS batch+NCCL", "cuBLAS x2+NCCL", "cuBLAS+pack+NCCL"};
  const std::size_t best = m_bench.fastest(ways);
  m_name = names[best];
  if (m_bench.nccl() == nullptr) return;
  m_run = [this, products = ways[best], block] {
    products();
    m_bench.nccl()->reduce_scatter(m_blocks.data(), m_result.data(), std::size_t(block), m_element,
                                   m_bench.stream());
  };
}

void GpuSeparate::prepare_all_gather_matmul() {
  const std::int64_t columns = m_k / m_ranks, block = m_m * columns;
  m_blocks = allocate("shards", m_m * m_k);
  m_joined = allocate("joined", m_m * m_k);
  m_result = allocate("result", m_m * m_n);
  // Numbers of the right kind for the choice of algorithms: times depend on the bits.
  for (const Bytes& bytes : {m_blocks, m_joined}) {
    for (int rank = 0; rank < m_ranks; ++rank) {
      check_cuda(
          cudaMemcpyAsync(at(bytes, rank * block), m_a, std::size_t(bytes_of(m_element) * block),
                          cudaMemcpyDeviceToDevice, m_bench.stream()),
          "cudaMemcpyAsync");
    }
  }
  m_gemm = plan(whole(m_joined.data(), m_result.data()));

  std::vector<Action> each;
  for (int rank = 0; rank < m_ranks; ++rank) {
    GemmProblem part = whole(at(m_blocks, rank * block), m_result.data());
    part.k = part.a_stride = columns;
    part.b = static_cast<const char*>(m_b) + bytes_of(m_element) * rank * columns * m_n;
    part.beta = rank == 0 ? 0.0f : 1.0f;
    each.push_back(plan(part));
  }
  const Action unpack = copy_blocks(m_blocks.data(), m_joined.data(), columns, true);
  const std::vector<Action> ways = {[each] {
                                      for (const Action& product : each) product();
                                    },
                                    [gemm = m_gemm, unpack] {
                                      unpack();
                                      gemm();
                                    }};
  constexpr const char* names[] = {"NCCL+cuBLAS x2", "NCCL+unpack+cuBLAS"};
  const std::size_t best = m_bench.fastest(ways);
  m_name = names[best];
  m_is_rounded_between = best == 0;
  if (m_bench.nccl() == nullptr) return;
  m_run = [this, products = ways[best], block] {
    m_bench.nccl()->all_gather(m_a, m_blocks.data(), std::size_t(block), m_element,
                               m_bench.stream());
    products();
  };
}

void GpuSeparate::prepare_matmul_all_gather() {
  const std::int64_t block = m_m * m_n;
  m_result = allocate("result", m_ranks * block);
  // In the own place of the result: NCCL then spares a copy.
  char* const own = at(m_result, m_bench.rank() * block);
  m_gemm = plan(whole(m_a, own));
  m_name = "cuBLAS+NCCL";
  if (m_bench.nccl() == nullptr) return;
  m_run = [this, own, block] {
    m_gemm();
    m_bench.nccl()->all_gather(own, m_result.data(), std::size_t(block), m_element,
                               m_bench.stream());
  };
}

}  // namespace Bench
