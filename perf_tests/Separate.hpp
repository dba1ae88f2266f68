// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// The baselines of the fused operations: GEMM of the BLAS library and a collective of MPI, one
/// after the other, in preallocated memory. 16-bit types are converted to float before and back
/// after it.
///
/// Where the collective wants blocks of columns in one piece there are two ways, and both are
/// measured: copying, and one GEMM a block.

#ifndef KOKKOSIRIS_BENCH_SEPARATE_HPP
#define KOKKOSIRIS_BENCH_SEPARATE_HPP

#include <mpi.h>

#include <Blas.hpp>
#include <Conversion.hpp>
#include <algorithm>
#include <cstddef>
#include <type_traits>
#include <vector>

namespace Bench {

/// Extents of one rank's product; for all_gather_matmul, k is that of all shards together.
struct Shape {
  int m, n, k;
};

template <class T>
class Separate {
 public:
  using Real = std::conditional_t<KokkosIris::is_half_v<T>, float, T>;

  /// \param columns_of_a k, or k / ranks where A is sharded
  /// \param result_size  elements of the result
  Separate(Shape shape, int ranks, const T* a, int columns_of_a, const T* b,
           std::size_t result_size)
      : m_shape(shape),
        m_ranks(ranks),
        m_a(a, std::size_t(shape.m) * columns_of_a),
        m_b(b, std::size_t(shape.k) * shape.n),
        m_partial(std::max(std::size_t(shape.m) * shape.n, std::size_t(shape.m) * shape.k)),
        m_packed(std::max(m_partial.size(), std::size_t(shape.m) * shape.k)),
        m_sum(result_size),
        m_result(is_narrow ? result_size : 0) {}

  /// \name What is measured
  /// The result is in result() afterwards.
  ///@{
  void product() {
    convert_operands();
    multiply(m_a.get(), m_shape.k, m_sum.data());
    convert_result();
  }
  void product_all_reduce() {
    convert_operands();
    multiply(m_a.get(), m_shape.k, m_partial.data());
    MPI_Allreduce(m_partial.data(), m_sum.data(), m_shape.m * m_shape.n, type, MPI_SUM,
                  MPI_COMM_WORLD);
    convert_result();
  }
  void product_pack_reduce_scatter() {
    convert_operands();
    multiply(m_a.get(), m_shape.k, m_partial.data());
    const std::size_t columns = std::size_t(m_shape.n / m_ranks);
    for (int rank = 0; rank < m_ranks; ++rank) {
      for (int i = 0; i < m_shape.m; ++i) {
        std::copy_n(&m_partial[std::size_t(i) * m_shape.n + rank * columns], columns,
                    &m_packed[(std::size_t(rank) * m_shape.m + i) * columns]);
      }
    }
    reduce_scatter();
  }
  void products_reduce_scatter() {
    convert_operands();
    const int columns = m_shape.n / m_ranks;
    for (int rank = 0; rank < m_ranks; ++rank) {
      gemm(m_shape.m, columns, m_shape.k, {m_a.get(), m_shape.k},
           {m_b.get() + rank * columns, m_shape.n}, Real(0),
           {&m_packed[std::size_t(rank) * m_shape.m * columns], columns});
    }
    reduce_scatter();
  }
  void product_all_gather() {
    convert_operands();
    multiply(m_a.get(), m_shape.k, m_partial.data());
    const int count = m_shape.m * m_shape.n;
    MPI_Allgather(m_partial.data(), count, type, m_sum.data(), count, type, MPI_COMM_WORLD);
    convert_result();
  }
  void all_gather_unpack_product() {
    gather_shards();
    const std::size_t columns = std::size_t(m_shape.k / m_ranks);
    for (int rank = 0; rank < m_ranks; ++rank) {
      for (int i = 0; i < m_shape.m; ++i) {
        std::copy_n(&m_packed[(std::size_t(rank) * m_shape.m + i) * columns], columns,
                    &m_partial[std::size_t(i) * m_shape.k + rank * columns]);
      }
    }
    multiply(m_partial.data(), m_shape.k, m_sum.data());
    convert_result();
  }
  void all_gather_products() {
    gather_shards();
    const int columns = m_shape.k / m_ranks;
    for (int rank = 0; rank < m_ranks; ++rank) {
      gemm(m_shape.m, m_shape.n, columns,
           {&m_packed[std::size_t(rank) * m_shape.m * columns], columns},
           {m_b.get() + std::size_t(rank) * columns * m_shape.n, m_shape.n},
           Real(rank == 0 ? 0 : 1), {m_sum.data(), m_shape.n});
    }
    convert_result();
  }
  ///@}

  /// Only the GEMM, for the ideal; the shards of A count as gathered.
  void only_product() {
    const Real* const a =
        m_a.size() == std::size_t(m_shape.m) * m_shape.k ? m_a.get() : m_packed.data();
    multiply(a, m_shape.k, m_partial.data());
  }

  const T* result() const {
    if constexpr (is_narrow) {
      return m_result.data();
    } else {
      return m_sum.data();
    }
  }

 private:
  static constexpr bool is_narrow = KokkosIris::is_half_v<T>;
  static inline const MPI_Datatype type = std::is_same_v<Real, float> ? MPI_FLOAT : MPI_DOUBLE;

  /// An operand, as it is or converted.
  class Operand {
   public:
    Operand(const T* data, std::size_t size)
        : m_data(data), m_size(size), m_converted(is_narrow ? size : 0) {}
    void prepare() {
      if constexpr (is_narrow) convert(m_data, m_converted.data(), m_size);
    }
    const Real* get() const {
      if constexpr (is_narrow) {
        return m_converted.data();
      } else {
        return m_data;
      }
    }
    std::size_t size() const { return m_size; }

   private:
    const T* m_data;
    std::size_t m_size;
    std::vector<Real> m_converted;
  };

  void convert_operands() {
    m_a.prepare();
    m_b.prepare();
  }
  void convert_result() {
    if constexpr (is_narrow) convert(m_sum.data(), m_result.data(), m_sum.size());
  }
  void multiply(const Real* a, int a_stride, Real* c) const {
    gemm(m_shape.m, m_shape.n, m_shape.k, {a, a_stride}, {m_b.get(), m_shape.n}, Real(0),
         {c, m_shape.n});
  }
  void reduce_scatter() {
    MPI_Reduce_scatter_block(m_packed.data(), m_sum.data(), m_shape.m * (m_shape.n / m_ranks), type,
                             MPI_SUM, MPI_COMM_WORLD);
    convert_result();
  }
  void gather_shards() {
    convert_operands();
    const int count = m_shape.m * (m_shape.k / m_ranks);
    MPI_Allgather(m_a.get(), count, type, m_packed.data(), count, type, MPI_COMM_WORLD);
  }

  Shape m_shape;
  int m_ranks;
  Operand m_a, m_b;
  std::vector<Real> m_partial, m_packed, m_sum;
  std::vector<T> m_result;
};

}  // namespace Bench

#endif
