// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// no_gpu: *

// The host tile engine, every instruction set that this processor has, against plain loops in
// double. Operands, packed memory and outputs end (or begin) at inaccessible pages, and everything
// around and between their elements is NaN.

#include "PackedGemmTesting.hpp"

#include <random>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace PackedGemmTesting;

enum class Order { row, column, padded_row, padded_column, general, reversed };
constexpr Order all_orders[] = {Order::row,           Order::column,  Order::padded_row,
                                Order::padded_column, Order::general, Order::reversed};

/// A matrix of random elements in guarded memory, with its values in double.
struct Operand {
  ElementKind kind;
  int64_t rows, cols, element, row_stride = 1, col_stride = 1, origin = 0;
  std::vector<double> values;
  Guarded memory;

  static int64_t span(int64_t rows, int64_t cols, Order order) {
    if (rows == 0 || cols == 0) return 0;
    switch (order) {
      case Order::row:
        return rows * cols;
      case Order::column:
        return rows * cols;
      case Order::padded_row:
        return (rows - 1) * (cols + 3) + cols;
      case Order::padded_column:
        return (cols - 1) * (rows + 5) + rows;
      default:
        return (rows - 1) * (3 * cols + 1) + (cols - 1) * 3 + 1;
    }
  }

  Operand(ElementKind kind_, int64_t rows_, int64_t cols_, int64_t element_, Order order,
          std::mt19937& random)
      : kind(kind_),
        rows(rows_),
        cols(cols_),
        element(element_),
        values(static_cast<std::size_t>(rows_ * cols_)),
        memory(span(rows_, cols_, order) * element_, random() % 2 == 0) {
    switch (order) {
      case Order::row:
        row_stride = cols;
        break;
      case Order::column:
        col_stride = rows;
        break;
      case Order::padded_row:
        row_stride = cols + 3;
        break;
      case Order::padded_column:
        col_stride = rows + 5;
        break;
      default:
        row_stride = 3 * cols + 1, col_stride = 3;
        break;
    }
    if (order == Order::reversed && rows > 0 && cols > 0) {
      origin = (rows - 1) * row_stride;
      row_stride = -row_stride;
    }
    std::uniform_real_distribution<float> uniform(-1.0f, 1.0f);
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < cols; ++j) set(i, j, uniform(random));
  }

  char* at(int64_t i, int64_t j) const {
    return memory.data() + (origin + i * row_stride + j * col_stride) * element;
  }

  void set(int64_t i, int64_t j, float value) {
    const double exact = value;
    if (kind == ElementKind::f64)
      std::memcpy(at(i, j), &exact, 8);
    else if (kind == ElementKind::f32)
      std::memcpy(at(i, j), &value, 4);
    else
      packed_gemm(kind, "generic").convert_store(at(i, j), &value, 1);
    values[static_cast<std::size_t>(i * cols + j)] = element_value(kind, at(i, j));
  }
};

/// Cuts [0, total) at random places that are multiples of `unit`, in random order.
std::vector<std::pair<int64_t, int64_t>> random_pieces(int64_t total, int64_t unit,
                                                       std::mt19937& random) {
  std::vector<int64_t> cuts = {0, total};
  if (total > unit)
    for (unsigned i = random() % 4; i > 0; --i)
      cuts.push_back(static_cast<int64_t>(random()) % total / unit * unit);
  std::sort(cuts.begin(), cuts.end());
  std::vector<std::pair<int64_t, int64_t>> pieces;
  for (std::size_t i = 1; i < cuts.size(); ++i) pieces.emplace_back(cuts[i - 1], cuts[i]);
  std::shuffle(pieces.begin(), pieces.end(), random);
  return pieces;
}

void pack_a_in_pieces(const PackedGemm& gemm, void* packed, const Operand& a,
                      std::mt19937& random) {
  for (const auto& [begin, end] : random_pieces(a.cols, 1, random))
    gemm.pack_a(packed, begin < end ? a.at(0, begin) : nullptr, a.row_stride, a.col_stride, a.rows,
                begin, end - begin, a.cols);
}

void pack_b_in_pieces(const PackedGemm& gemm, void* packed, const Operand& b,
                      std::mt19937& random) {
  for (const auto& [n0, n1] : random_pieces(b.cols, gemm.nr, random))
    for (const auto& [k0, k1] : random_pieces(b.rows, 1, random))
      gemm.pack_b(packed, k0 < k1 && n0 < n1 ? b.at(k0, n0) : nullptr, b.row_stride, b.col_stride,
                  n0, n1, k0, k1 - k0, b.rows);
}

/// An output with NaN and guard pages around; `before` is what it holds, NaN for nothing.
struct Output {
  int64_t ld;
  Guarded memory;
  Output(const PackedGemm& gemm, int64_t m, int64_t n, int64_t pad, double before, bool at_end)
      : ld(n + pad), memory(((m - 1) * (n + pad) + n) * gemm.acc_bytes, at_end) {
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) set_acc(gemm, memory.data(), i * ld + j, before);
  }
};

/// |error| <= terms * eps * sum of |a b|: the standard bound of a sum with one rounding a term,
/// doubled for the roundings of block sums and of the value that is added to. A binary16 product
/// may be four terms.
void expect_product(const PackedGemm& gemm, const Operand& a, const Operand& b, const Output& out,
                    double before) {
  const int64_t m = a.rows, n = b.cols, k = a.cols;
  std::vector<double> sum(static_cast<std::size_t>(n)), size(static_cast<std::size_t>(n));
  const double factor = 2 * (4.0 * static_cast<double>(k) + 2) * acc_epsilon(gemm);
  int bad = 0;
  for (int64_t i = 0; i < m; ++i) {
    std::fill(sum.begin(), sum.end(), before);
    std::fill(size.begin(), size.end(), std::abs(before));
    for (int64_t l = 0; l < k; ++l) {
      const double value = a.values[static_cast<std::size_t>(i * k + l)];
      const double* row = b.values.data() + l * n;
      for (int64_t j = 0; j < n; ++j) sum[static_cast<std::size_t>(j)] += value * row[j];
      for (int64_t j = 0; j < n; ++j) size[static_cast<std::size_t>(j)] += std::abs(value * row[j]);
    }
    for (int64_t j = 0; j < n; ++j) {
      const double got = acc_value(gemm, out.memory.data(), i * out.ld + j),
                   want = sum[static_cast<std::size_t>(j)];
      if (!(std::abs(got - want) <= factor * size[static_cast<std::size_t>(j)]) && ++bad <= 3)
        ADD_FAILURE() << "(" << i << "," << j << "): " << got << " instead of " << want;
    }
    for (int64_t j = n; j < out.ld && i + 1 < m; ++j)
      EXPECT_TRUE(std::isnan(acc_value(gemm, out.memory.data(), i * out.ld + j)))
          << "written behind row " << i;
  }
  EXPECT_EQ(bad, 0);
}

void check_shape(const PackedGemm& gemm, int64_t m, int64_t n, int64_t k, Order order_a,
                 Order order_b, std::mt19937& random) {
  SCOPED_TRACE(testing::Message() << "m=" << m << " n=" << n << " k=" << k << " orders "
                                  << static_cast<int>(order_a) << " " << static_cast<int>(order_b));
  const Operand a(gemm.kind, m, k, gemm.element_bytes, order_a, random);
  const Operand b(gemm.kind, k, n, gemm.element_bytes, order_b, random);
  const bool at_end = random() % 2 == 0;
  const Guarded packed_a(gemm.packed_a_bytes(m, k), at_end),
      packed_b(gemm.packed_b_bytes(k, n), !at_end);
  pack_a_in_pieces(gemm, packed_a.data(), a, random);
  pack_b_in_pieces(gemm, packed_b.data(), b, random);
  const double nan = std::numeric_limits<double>::quiet_NaN();

  const Output whole(gemm, m, n, random() % 4, nan, at_end);
  gemm.compute(m, n, k, packed_a.data(), packed_b.data(), whole.memory.data(), whole.ld, false);
  expect_product(gemm, a, b, whole, 0);

  // By tiles: the same bits.
  const Output tiled(gemm, m, n, whole.ld - n, nan, !at_end);
  for (int64_t n0 = 0; n0 < n;) {
    const int64_t width =
        std::min<int64_t>(n - n0, gemm.nr * static_cast<int64_t>(1 + random() % 3));
    gemm.compute(m, width, k, packed_a.data(), gemm.packed_b_at(packed_b.data(), n0, k),
                 tiled.memory.data() + n0 * gemm.acc_bytes, tiled.ld, false);
    n0 += width;
  }
  EXPECT_EQ(std::memcmp(whole.memory.data(), tiled.memory.data(),
                        static_cast<std::size_t>(whole.memory.bytes())),
            0);

  const Output added(gemm, m, n, 1, 0.75, at_end);
  gemm.compute(m, n, k, packed_a.data(), packed_b.data(), added.memory.data(), added.ld, true);
  expect_product(gemm, a, b, added, 0.75);

  const Output direct(gemm, m, n, 2, nan, at_end);
  gemm.compute_direct(m, n, k, packed_a.data(), k > 0 ? b.at(0, 0) : nullptr, b.row_stride,
                      b.col_stride, direct.memory.data(), direct.ld, false);
  expect_product(gemm, a, b, direct, 0);
  const Output direct_added(gemm, m, n, 0, -0.5, !at_end);
  gemm.compute_direct(m, n, k, packed_a.data(), k > 0 ? b.at(0, 0) : nullptr, b.row_stride,
                      b.col_stride, direct_added.memory.data(), direct_added.ld, true);
  expect_product(gemm, a, b, direct_added, -0.5);
}

TEST(PackedGemm, every_shape_stride_and_split) {
  std::mt19937 random(20);
  for_all_engines([&](const PackedGemm& gemm) {
    const int64_t mr = gemm.mr, nr = gemm.nr, kc = gemm.kc;
    const std::vector<int64_t> ms = {1, mr - 1, mr, mr + 1, 2, 2 * mr + 3, 29, 3 * mr};
    const std::vector<int64_t> ns = {nr, 1, nr + 1, nr - 1, 2 * nr + 3, 7, 3 * nr};
    const std::vector<int64_t> ks = {0,  1,      2,  3,      31,          32, 33,
                                     67, kc - 1, kc, kc + 1, 2 * kc + 37, 64};
    // Lists of coprime lengths in step: every value meets many others, and every pair of orders
    // appears.
    for (std::size_t i = 0; i < 52; ++i) {
      check_shape(gemm, ms[i % ms.size()], ns[i % ns.size()], ks[i % ks.size()], all_orders[i % 6],
                  all_orders[i / 6 % 6], random);
      if (testing::Test::HasFailure()) return;
    }
  });
}

TEST(PackedGemm, empty_operands_touch_nothing) {
  for_all_engines([&](const PackedGemm& gemm) {
    EXPECT_EQ(gemm.packed_a_bytes(0, 5), 0);
    EXPECT_EQ(gemm.packed_a_bytes(5, 0), 0);
    EXPECT_EQ(gemm.packed_b_bytes(0, 5), 0);
    EXPECT_EQ(gemm.packed_b_bytes(5, 0), 0);
    gemm.pack_a(nullptr, nullptr, 1, 1, 0, 0, 5, 5);
    gemm.pack_a(nullptr, nullptr, 1, 1, 5, 3, 0, 5);
    gemm.pack_b(nullptr, nullptr, 1, 1, 0, 0, 0, 5, 5);
    gemm.pack_b(nullptr, nullptr, 1, 1, 0, 5, 2, 0, 5);
    gemm.compute(0, 5, 5, nullptr, nullptr, nullptr, 5, false);
    gemm.compute(5, 0, 5, nullptr, nullptr, nullptr, 5, false);
    gemm.compute_direct(0, 5, 5, nullptr, nullptr, 1, 1, nullptr, 5, false);
    gemm.compute_direct(5, 0, 5, nullptr, nullptr, 1, 1, nullptr, 5, false);
    const Output kept(gemm, 3, 3, 0, 2.5, true);
    gemm.compute(3, 3, 0, nullptr, nullptr, kept.memory.data(), 3, true);
    for (int64_t i = 0; i < 9; ++i) EXPECT_EQ(acc_value(gemm, kept.memory.data(), i), 2.5);
  });
}

TEST(PackedGemm, sizes_are_64_bit_and_panels_balanced) {
  for_all_engines([&](const PackedGemm& gemm) {
    const int64_t big = int64_t(1) << 33;
    EXPECT_GE(gemm.packed_a_bytes(7, big), 7 * big * gemm.element_bytes);
    EXPECT_GE(gemm.packed_b_bytes(big, 7), 7 * big * gemm.element_bytes);
    EXPECT_EQ(gemm.panel_rows % gemm.mr, 0);
    EXPECT_EQ(gemm.tile_columns % gemm.nr, 0);
    for (const int64_t m : {0, 1, 5, gemm.panel_rows, gemm.panel_rows + 1, 2048, 100003}) {
      const int64_t rows = gemm.balanced_panel_rows(m);
      EXPECT_EQ(rows % gemm.mr, 0);
      EXPECT_GE(rows, gemm.mr);
      EXPECT_LE(rows, gemm.panel_rows);
    }
  });
}

/// Infinities and NaN reach exactly the results that they reach in IEEE arithmetic; products with
/// zero included.
TEST(PackedGemm, special_values) {
  const float inf = std::numeric_limits<float>::infinity(),
              nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> specials = {0.0f, -0.0f, 1.0f, -1.5f, inf, -inf, nan, 0.333f, 6.0e-5f};
  std::mt19937 random(21);
  for_all_engines([&](const PackedGemm& gemm) {
    const int64_t count = static_cast<int64_t>(specials.size());
    Operand a(gemm.kind, count, 40, gemm.element_bytes, Order::row, random);
    Operand b(gemm.kind, 40, count, gemm.element_bytes, Order::row, random);
    for (int64_t i = 0; i < count; ++i) a.set(i, 17, specials[static_cast<std::size_t>(i)]);
    for (int64_t i = 0; i < count; ++i) b.set(17, i, specials[static_cast<std::size_t>(i)]);
    const Guarded packed_a(gemm.packed_a_bytes(count, 40), true),
        packed_b(gemm.packed_b_bytes(40, count), true);
    gemm.pack_a(packed_a.data(), a.at(0, 0), a.row_stride, a.col_stride, count, 0, 40, 40);
    gemm.pack_b(packed_b.data(), b.at(0, 0), b.row_stride, b.col_stride, 0, count, 0, 40, 40);
    const Output out(gemm, count, count, 0, 0, true);
    gemm.compute(count, count, 40, packed_a.data(), packed_b.data(), out.memory.data(), count,
                 false);
    for (int64_t i = 0; i < count; ++i) {
      for (int64_t j = 0; j < count; ++j) {
        double want = 0;
        for (int64_t l = 0; l < 40; ++l)
          want += a.values[static_cast<std::size_t>(i * 40 + l)] *
                  b.values[static_cast<std::size_t>(l * count + j)];
        const double got = acc_value(gemm, out.memory.data(), i * count + j);
        if (std::isnan(want)) {
          EXPECT_TRUE(std::isnan(got)) << i << " " << j << ": " << got;
        } else if (std::isinf(want)) {
          EXPECT_EQ(got, want) << i << " " << j;
        } else {
          EXPECT_NEAR(got, want, 1e-4) << i << " " << j;
        }
      }
    }
  });
}

/// All pairs of finite binary16 values are too many: every value against some others, as products
/// of one term.
TEST(PackedGemm, half_products_are_exact) {
  std::vector<uint16_t> left,
      right = {0x0001, 0x03ff, 0x0400, 0x3c00, 0x3c01, 0x3fff, 0x7bff, 0xbc00, 0xbbff, 0x5555};
  for (unsigned bits = 0; bits < 65536; bits += 37)
    if ((bits & 0x7c00) != 0x7c00) left.push_back(static_cast<uint16_t>(bits));
  const int64_t m = static_cast<int64_t>(left.size()), n = static_cast<int64_t>(right.size());
  for (const PackedGemm* gemm : packed_gemm_variants(ElementKind::f16)) {
    SCOPED_TRACE(describe(*gemm));
    const Guarded packed_a(gemm->packed_a_bytes(m, 1), true),
        packed_b(gemm->packed_b_bytes(1, n), true);
    gemm->pack_a(packed_a.data(), left.data(), 1, 1, m, 0, 1, 1);
    gemm->pack_b(packed_b.data(), right.data(), n, 1, 0, n, 0, 1, 1);
    std::vector<float> out(static_cast<std::size_t>(m * n));
    gemm->compute(m, n, 1, packed_a.data(), packed_b.data(), out.data(), n, false);
    int bad = 0;
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        const double want = half_value(left[static_cast<std::size_t>(i)]) *
                            half_value(right[static_cast<std::size_t>(j)]);
        bad += static_cast<double>(out[static_cast<std::size_t>(i * n + j)]) != want;
      }
    EXPECT_EQ(bad, 0);
  }
}

/// Threads pack their own parts and compute their own tiles at the same time: the bits of one
/// thread.
TEST(PackedGemm, threads_share_packed_memory) {
  std::mt19937 random(22);
  for_all_engines([&](const PackedGemm& gemm) {
    const int64_t m = 2 * gemm.mr + 1, n = 4 * gemm.nr - 3, k = 133;
    const Operand a(gemm.kind, m, k, gemm.element_bytes, Order::row, random);
    const Operand b(gemm.kind, k, n, gemm.element_bytes, Order::padded_row, random);
    const Guarded packed_a(gemm.packed_a_bytes(m, k), true),
        packed_b(gemm.packed_b_bytes(k, n), true);
    const Output one(gemm, m, n, 0, 0, true), many(gemm, m, n, 0, 0, true);
    gemm.pack_a(packed_a.data(), a.at(0, 0), a.row_stride, a.col_stride, m, 0, k, k);
    gemm.pack_b(packed_b.data(), b.at(0, 0), b.row_stride, b.col_stride, 0, n, 0, k, k);
    gemm.compute(m, n, k, packed_a.data(), packed_b.data(), one.memory.data(), n, false);

    const Guarded shared_a(gemm.packed_a_bytes(m, k), true),
        shared_b(gemm.packed_b_bytes(k, n), true);
    const auto each_of_four = [](const auto& work) {
      std::vector<std::thread> threads;
      for (int64_t t = 0; t < 4; ++t) threads.emplace_back(work, t);
      for (std::thread& thread : threads) thread.join();
    };
    each_of_four([&](int64_t t) {
      const int64_t k0 = k * t / 4, k1 = k * (t + 1) / 4, n0 = t * gemm.nr,
                    n1 = std::min<int64_t>(n, n0 + gemm.nr);
      gemm.pack_a(shared_a.data(), a.at(0, k0), a.row_stride, a.col_stride, m, k0, k1 - k0, k);
      gemm.pack_b(shared_b.data(), b.at(0, n0), b.row_stride, b.col_stride, n0, n1, 0, k, k);
    });
    each_of_four([&](int64_t t) {
      const int64_t n0 = t * gemm.nr, width = std::min<int64_t>(n - n0, gemm.nr);
      gemm.compute(m, width, k, shared_a.data(), gemm.packed_b_at(shared_b.data(), n0, k),
                   many.memory.data() + n0 * gemm.acc_bytes, n, false);
    });
    EXPECT_EQ(std::memcmp(one.memory.data(), many.memory.data(),
                          static_cast<std::size_t>(one.memory.bytes())),
              0);
  });
}

/// Packed B is the same bytes whether it is packed at once, which may go past the caches, in
/// pieces, or to memory that no vector store can have for aligned.
TEST(PackedGemm, large_operands_are_packed_alike) {
  std::mt19937 random(23);
  for_all_engines([&](const PackedGemm& gemm) {
    const int64_t k = 601, sliver = gemm.packed_b_bytes(k, gemm.nr);
    const int64_t n = ((int64_t(5) << 18) / sliver + 1) * gemm.nr;  // more than a mebibyte
    const int64_t bytes = gemm.packed_b_bytes(k, n);
    const Operand b(gemm.kind, k, n, gemm.element_bytes, Order::row, random);
    std::vector<char> memory(static_cast<std::size_t>(bytes) + 128);
    void* aligned = memory.data();
    std::size_t space = memory.size();
    std::align(64, static_cast<std::size_t>(bytes) + 8, aligned, space);
    const Guarded pieces(bytes, true);
    for (int64_t n0 = 0; n0 < n; n0 += 3 * gemm.nr) {
      gemm.pack_b(pieces.data(), b.at(0, n0), b.row_stride, b.col_stride, n0,
                  std::min<int64_t>(n, n0 + 3 * gemm.nr), 0, k, k);
    }
    for (const int64_t shift : {0, 8}) {
      char* const whole = static_cast<char*>(aligned) + shift;
      gemm.pack_b(whole, b.at(0, 0), b.row_stride, b.col_stride, 0, n, 0, k, k);
      EXPECT_EQ(std::memcmp(whole, pieces.data(), static_cast<std::size_t>(bytes)), 0) << shift;
    }
  });
}

/// Where a tile's edges lie in a panel does not change its bits, also with B where it lies.
TEST(PackedGemm, direct_tiles_have_the_same_bits) {
  std::mt19937 random(24);
  for_all_engines([&](const PackedGemm& gemm) {
    const int64_t n = 3 * gemm.nr + 7, k = 301;
    for (const int64_t m : {int64_t(1), int64_t(5), 2 * gemm.mr + int64_t(3)}) {
      const Operand a(gemm.kind, m, k, gemm.element_bytes, Order::row, random);
      const Operand b(gemm.kind, k, n, gemm.element_bytes, Order::padded_row, random);
      const Guarded packed(gemm.packed_a_bytes(m, k), true);
      gemm.pack_a(packed.data(), a.at(0, 0), a.row_stride, a.col_stride, m, 0, k, k);
      const Output whole(gemm, m, n, 0, 0, true), tiled(gemm, m, n, 0, 0, true);
      gemm.compute_direct(m, n, k, packed.data(), b.at(0, 0), b.row_stride, b.col_stride,
                          whole.memory.data(), n, false);
      for (int64_t n0 = 0; n0 < n; n0 += gemm.nr + 3) {
        const int64_t width = std::min<int64_t>(gemm.nr + 3, n - n0);
        gemm.compute_direct(m, width, k, packed.data(), b.at(0, n0), b.row_stride, b.col_stride,
                            tiled.memory.data() + n0 * gemm.acc_bytes, n, false);
      }
      EXPECT_EQ(std::memcmp(whole.memory.data(), tiled.memory.data(),
                            static_cast<std::size_t>(whole.memory.bytes())),
                0)
          << m << " rows";
    }
  });
}

/// Few rows get an engine that prepares little.
TEST(PackedGemm, choice_by_rows) {
  EXPECT_EQ(packed_gemm(ElementKind::bf16, 1).k_group, 1);
  EXPECT_EQ(packed_gemm(ElementKind::bf16, 8).k_group, 1);
  EXPECT_STRNE(packed_gemm(ElementKind::f16, 159).name, "amx");
  for (const ElementKind kind : all_kinds) EXPECT_EQ(&packed_gemm(kind, 4096), &packed_gemm(kind));
}

TEST(PackedGemm, choice_by_name) {
  for (const ElementKind kind : all_kinds) {
    const auto engines = packed_gemm_variants(kind);
    EXPECT_STREQ(engines.front()->name, "generic");
    EXPECT_NE(std::find(engines.begin(), engines.end(), &packed_gemm(kind, nullptr)),
              engines.end());
    EXPECT_EQ(&packed_gemm(kind, ""), &packed_gemm(kind, nullptr));
    // A limit that the processor reaches with its best instruction set is no limit.
    if (engines.size() > 1) {
      EXPECT_STRNE(packed_gemm(kind, nullptr).name, "generic");
    }
    for (const PackedGemm* engine : engines) EXPECT_EQ(&packed_gemm(kind, engine->name), engine);
    EXPECT_EQ(&packed_gemm(kind), &packed_gemm(kind));
    try {
      packed_gemm(kind, "AVX2");
      ADD_FAILURE() << "an unknown name was accepted";
    } catch (const std::runtime_error& error) {
      EXPECT_NE(std::string(error.what()).find("generic"), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find("KOKKOSIRIS_HOST_ISA=AVX2"), std::string::npos)
          << error.what();
    }
  }
}

}  // namespace
