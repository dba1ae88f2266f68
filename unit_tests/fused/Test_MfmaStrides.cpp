// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The engine for AMD's matrix cores with operands that repeat elements (stride 0), and with such
// whose elements lie more than 2^31 elements apart: addresses are computed in 64 bits. Values are
// small integers, so that results are exact in every type.
//
// ranks: 1
// timeout: 60

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <OneOf.hpp>
#include <fused/KokkosIris_TileEngine_Mfma.hpp>
#include <stdexcept>
#include <vector>

namespace {

using KokkosIris::BiasAxis;
using KokkosIris::Impl::AccTile;
using KokkosIris::Impl::ItemSchedule;
using KokkosIris::Impl::MatrixRef;
using KokkosIris::Impl::MfmaTileEngine;
using std::int64_t;

using Policy = Kokkos::TeamPolicy<Kokkos::DefaultHostExecutionSpace>;
using Team = Policy::member_type;

/// Calls body(team) with one team that has scratch memory.
template <class Body>
void with_team(const Body& body) {
  Policy policy(1, 1);
  const std::size_t bytes = MfmaTileEngine<double>::scratch_bytes();
  policy.set_scratch_size(0, Kokkos::PerTeam(static_cast<int>(bytes)));
  Kokkos::parallel_for(policy, [&](const Team& team) { body(team); });
  Kokkos::fence();
}

/// Address space without memory, but for the pages that are asked for.
class Sparse {
 public:
  explicit Sparse(int64_t bytes) : m_bytes(static_cast<std::size_t>(bytes)) {
    m_begin = static_cast<char*>(
        mmap(nullptr, m_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    if (m_begin == MAP_FAILED) throw std::runtime_error("no address space");
  }
  ~Sparse() { munmap(m_begin, m_bytes); }
  Sparse(const Sparse&) = delete;
  Sparse& operator=(const Sparse&) = delete;

  char* begin() const { return m_begin; }
  /// Makes the page with an address accessible; zero if it was not.
  void touch(void* p) const {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const std::size_t at = static_cast<std::size_t>(static_cast<char*>(p) - m_begin) / page * page;
    if (mprotect(m_begin + at, page, PROT_READ | PROT_WRITE) != 0) {
      throw std::runtime_error("no memory");
    }
  }

 private:
  std::size_t m_bytes;
  char* m_begin;
};

double value_at(int64_t i, int64_t j, int salt) {
  return static_cast<double>((3 * i + 5 * j + salt) % 7) - 3.0;
}

/// A matrix in address space of its own.
template <class T>
class FarMatrix {
 public:
  FarMatrix(int64_t rows, int64_t cols, int64_t row_stride, int64_t col_stride)
      : m_memory(((rows - 1) * row_stride + (cols - 1) * col_stride + 1) *
                     static_cast<int64_t>(sizeof(T)) +
                 8192),
        m_ref{reinterpret_cast<T*>(m_memory.begin()), rows, cols, row_stride, col_stride} {
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < cols; ++j) m_memory.touch(m_ref.at(i, j));
    }
  }
  void fill(int salt) {
    for (int64_t i = 0; i < m_ref.rows; ++i) {
      for (int64_t j = 0; j < m_ref.cols; ++j) *m_ref.at(i, j) = T(value_at(i, j, salt));
    }
  }
  MatrixRef<T> ref() const { return m_ref; }
  MatrixRef<const T> values() const {
    return {m_ref.data, m_ref.rows, m_ref.cols, m_ref.row_stride, m_ref.col_stride};
  }

 private:
  Sparse m_memory;
  MatrixRef<T> m_ref;
};

template <class T>
class MfmaStrides : public testing::Test {
 public:
  using Engine = MfmaTileEngine<T>;
  using Acc = typename Engine::Acc;
  static constexpr int64_t stage = KokkosIris::Impl::Mfma::stage_k<T>;
  static constexpr int64_t far = (int64_t(1) << 25) + 16;       ///< times 127 > 2^31
  static constexpr int64_t very_far = (int64_t(1) << 31) + 16;  ///< between neighbours

  void expect_product(const MatrixRef<const T>& a, const MatrixRef<const T>& b) {
    std::vector<Acc> sums(static_cast<std::size_t>(a.rows * b.cols), Acc(-1e30));
    const ItemSchedule schedule = ItemSchedule::make(a.rows, b.cols, 1, 1024, 1024, 16, 1);
    const Engine engine{{{b, schedule, false}}};
    with_team([&](const Team& team) {
      engine.compute(team, a, 0, 0, AccTile<Acc>{sums.data(), b.cols, a.rows, b.cols});
    });
    for (int64_t i = 0; i < a.rows; ++i) {
      for (int64_t j = 0; j < b.cols; ++j) {
        double sum = 0.0;
        for (int64_t k = 0; k < a.cols; ++k) sum += double(*a.at(i, k)) * double(*b.at(k, j));
        ASSERT_EQ(double(sums[static_cast<std::size_t>(i * b.cols + j)]), sum) << i << ", " << j;
      }
    }
  }
};
using Types = testing::Types<double, float, KokkosIris::half_t, KokkosIris::bhalf_t>;
TYPED_TEST_SUITE(MfmaStrides, Types);

TYPED_TEST(MfmaStrides, RepeatedElements) {
  using T = TypeParam;
  std::vector<T> values;
  for (int64_t i = 0; i < 300; ++i) values.push_back(T(value_at(i, 0, 1)));
  const int64_t depth = 2 * TestFixture::stage + 3;
  for (const int64_t extent : {int64_t(128), int64_t(37)}) {
    for (const int64_t k : {2 * TestFixture::stage, depth}) {
      // Rows that are all the same, columns that are, and one element.
      for (const auto& [row, col] : {std::pair(0, 1), std::pair(1, 0), std::pair(0, 0)}) {
        const MatrixRef<const T> a{values.data(), extent, k, row, col};
        const MatrixRef<const T> b{values.data() + 1, k, extent, col, row};
        this->expect_product(a, b);
        this->expect_product(a, {values.data() + 1, k, extent, row, col});
      }
    }
  }
}

TYPED_TEST(MfmaStrides, OperandsBeyond31Bits) {
  using T = TypeParam;
  constexpr int64_t far = TestFixture::far, very_far = TestFixture::very_far;
  const int64_t k = 2 * TestFixture::stage;
  FarMatrix<T> a(128, k, far, 1), b(k, 128, 1, far);
  a.fill(1);
  b.fill(2);
  this->expect_product(a.values(), b.values());                     // whole stages
  this->expect_product(a.values(), b.values().block(0, 0, k, 45));  // with a mask
  FarMatrix<T> few(3, k, very_far, 1), thin(128, 3, 1, very_far), b_thin(3, 128, very_far, 1);
  few.fill(3);
  thin.fill(4);
  b_thin.fill(5);
  this->expect_product(few.values(), b.values());
  this->expect_product(thin.values(), b_thin.values());
  // No two elements of a chunk are near each other.
  FarMatrix<T> lone(3, 3, 3 * very_far, very_far);
  lone.fill(6);
  this->expect_product(lone.values(), lone.values());
}

TYPED_TEST(MfmaStrides, ResultsAndShardsBeyond31Bits) {
  using T = TypeParam;
  using Acc = typename TestFixture::Acc;
  constexpr int64_t rows = 3, cols = 21;
  std::vector<Acc> sums;
  for (int64_t at = 0; at < rows * cols; ++at) sums.push_back(Acc(at % 11));
  const AccTile<Acc> tile{sums.data(), cols, rows, cols};
  const ::Test::OneOf<AccTile<Acc>> part{tile, tile};
  FarMatrix<T> by_rows(rows, cols, TestFixture::very_far, 1);
  FarMatrix<T> by_columns(rows, cols, 1, TestFixture::very_far);
  for (const MatrixRef<T>& last : {by_rows.ref(), by_columns.ref()}) {
    const ::Test::OneOf<MatrixRef<T>> target{by_columns.ref(), last};
    with_team([&](const Team& team) {
      typename TestFixture::Engine::TileStore().sum(team, 2, part, 2, target, 0);
    });
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < cols; ++j) {
        ASSERT_EQ(double(*last.at(i, j)), 2.0 * double(sums[std::size_t(i * cols + j)]));
        *last.at(i, j) = T(0);
      }
    }
  }
  by_rows.fill(6);
  by_columns.fill(7);
  for (const FarMatrix<T>* from : {&by_rows, &by_columns}) {
    std::vector<T> copy(static_cast<std::size_t>(rows * 32));
    with_team([&](const Team& team) {
      KokkosIris::Impl::ChunkTileStore<TypeParam, 1>::copy_rows(team, from->values(), copy.data(),
                                                                32);
    });
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < cols; ++j) {
        ASSERT_EQ(double(copy[std::size_t(i * 32 + j)]), double(*from->values().at(i, j)));
      }
    }
  }
}

TYPED_TEST(MfmaStrides, BiasOfOneElement) {
  using T = TypeParam;
  using Acc = typename TestFixture::Acc;
  const T one = T(5);
  KokkosIris::Bias<T> bias;
  bias.data = &one;
  bias.stride = 0;
  for (const BiasAxis axis : {BiasAxis::rows, BiasAxis::cols}) {
    bias.axis = axis;
    std::vector<Acc> sums(7 * 9, Acc(1));
    with_team([&](const Team& team) {
      typename TestFixture::Engine::TileStore().add_bias(team, {sums.data(), 9, 7, 9}, bias, 3, 4);
    });
    for (const Acc sum : sums) ASSERT_EQ(double(sum), 6.0);
  }
}

}  // namespace
