// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// no_gpu: *

// The element-wise functions of the host tile engine: conversions of 16-bit types, rounding,
// ranges.

#include "PackedGemmTesting.hpp"

#include <random>
#include <vector>

namespace {

using namespace PackedGemmTesting;

TEST(PackedGemmElementwise, loads_all_16_bit_values) {
  std::vector<uint16_t> bits(65536);
  for (std::size_t i = 0; i < bits.size(); ++i) bits[i] = static_cast<uint16_t>(i);
  for (const ElementKind kind : {ElementKind::f16, ElementKind::bf16}) {
    for (const PackedGemm* gemm : packed_gemm_variants(kind)) {
      SCOPED_TRACE(describe(*gemm));
      std::vector<float> wide(bits.size());
      std::vector<uint16_t> back(bits.size());
      gemm->load_convert(wide.data(), bits.data(), 65536);
      gemm->convert_store(back.data(), wide.data(), 65536);
      int bad = 0;
      for (std::size_t i = 0; i < bits.size(); ++i) {
        const double want = value_of_bits(kind, bits[i]);
        const bool same = std::isnan(want)
                              ? std::isnan(wide[i]) && std::isnan(value_of_bits(kind, back[i]))
                              : wide[i] == want && std::signbit(wide[i]) == std::signbit(want) &&
                                    back[i] == bits[i];
        bad += !same;
      }
      EXPECT_EQ(bad, 0);
    }
  }
}

/// Nearest even, from the neighbours: the two elements around a float, and which of them is nearer.
void expect_rounded(ElementKind kind, float value, uint16_t got) {
  const double result = value_of_bits(kind, got);
  if (std::isnan(value)) {
    EXPECT_TRUE(std::isnan(result));
    return;
  }
  EXPECT_EQ((got & 0x8000) != 0, std::signbit(value)) << value;
  const uint16_t magnitude = got & 0x7fff, infinity = kind == ElementKind::f16 ? 0x7c00 : 0x7f80;
  ASSERT_LE(magnitude, infinity) << value;
  // Overflow: infinity stands for the power of two that would follow the largest value.
  const auto finite = [&](uint16_t bits) {
    const uint16_t below = static_cast<uint16_t>(bits - 1), lower = static_cast<uint16_t>(bits - 2);
    return bits == infinity ? 2 * value_of_bits(kind, below) - value_of_bits(kind, lower)
                            : value_of_bits(kind, bits);
  };
  const double exact = std::abs(static_cast<double>(value)), here = finite(magnitude);
  if (magnitude < infinity) {
    const double distance = std::abs(finite(static_cast<uint16_t>(magnitude + 1)) - exact),
                 mine = std::abs(here - exact);
    EXPECT_TRUE(mine < distance || (mine == distance && magnitude % 2 == 0))
        << value << " gave " << result;
  }
  if (magnitude > 0 && (magnitude < infinity || exact < here)) {
    const double distance = std::abs(finite(static_cast<uint16_t>(magnitude - 1)) - exact),
                 mine = std::abs(here - exact);
    EXPECT_TRUE(mine < distance || (mine == distance && magnitude % 2 == 0))
        << value << " gave " << result;
  }
}

TEST(PackedGemmElementwise, stores_round_to_nearest_even) {
  std::mt19937 random(23);
  std::vector<float> values = {
      0.0f,     -0.0f,        65504.0f, 65519.99f, 65520.0f,        65536.0f,
      1e30f,    -HUGE_VALF,   0x1p-24f, 0x1p-25f,  0x1.000002p-25f, 0x1p-26f,
      0x1p-14f, 0x1.ffep-15f, 3.3e38f,  1e-45f,    std::nanf("")};
  for (unsigned i = 0; i < 3000; ++i) {
    const uint16_t bits = static_cast<uint16_t>(random());
    const auto next = static_cast<uint16_t>(bits + 1);
    for (const ElementKind kind : {ElementKind::f16, ElementKind::bf16}) {
      const auto middle =
          static_cast<float>((value_of_bits(kind, bits) + value_of_bits(kind, next)) / 2);
      for (const float near :
           {middle, std::nextafter(middle, -HUGE_VALF), std::nextafter(middle, HUGE_VALF)})
        values.push_back(near);
    }
    const std::uint32_t any = static_cast<std::uint32_t>(random());
    float pattern = 0;
    std::memcpy(&pattern, &any, sizeof(pattern));
    values.push_back(pattern);
  }
  const int64_t count = static_cast<int64_t>(values.size());
  for (const ElementKind kind : {ElementKind::f16, ElementKind::bf16}) {
    for (const PackedGemm* gemm : packed_gemm_variants(kind)) {
      SCOPED_TRACE(describe(*gemm));
      std::vector<uint16_t> stored(values.size()), streamed(values.size());
      gemm->convert_store(stored.data(), values.data(), count);
      gemm->convert_stream(streamed.data(), values.data(), count);
      for (std::size_t i = 0; i < values.size(); ++i) expect_rounded(kind, values[i], stored[i]);
      EXPECT_EQ(stored, streamed);
      if (HasFailure()) return;
    }
  }
}

/// Lengths and misalignments of the element-wise functions; what lies around stays as it was.
TEST(PackedGemmElementwise, element_wise_ranges) {
  for_all_engines([&](const PackedGemm& gemm) {
    const int64_t acc = gemm.acc_bytes, element = gemm.element_bytes;
    for (int64_t n = 0; n < 150; n = n < 70 ? n + 1 : n + 13) {
      for (int64_t shift = 0; shift < 3; ++shift) {
        const int64_t room = n + 8;
        std::vector<char> x(static_cast<std::size_t>(room * acc)), y(x.size());
        std::vector<char> e(static_cast<std::size_t>(room * element), 0x11), s(e.size(), 0x11);
        for (int64_t i = 0; i < room; ++i) set_acc(gemm, x.data(), i, static_cast<double>(i % 32));
        for (int64_t i = 0; i < room; ++i) set_acc(gemm, y.data(), i, 64.0);
        gemm.add(y.data() + shift * acc, x.data() + acc, n);
        gemm.convert_store(e.data() + shift * element, x.data() + acc, n);
        gemm.convert_stream(s.data() + shift * element, x.data() + acc, n);
        EXPECT_EQ(e, s);
        const std::vector<char> untouched(e.size(), 0x11);
        for (int64_t i = 0; i < room; ++i) {
          const bool inside = i >= shift && i < shift + n;
          const double value = static_cast<double>((i - shift + 1) % 32);
          ASSERT_EQ(acc_value(gemm, y.data(), i), inside ? 64.0 + value : 64.0)
              << "add n=" << n << " i=" << i;
          if (inside)
            ASSERT_EQ(element_value(gemm.kind, e.data() + i * element), value)
                << "convert_store n=" << n << " i=" << i;
          else
            ASSERT_EQ(std::memcmp(e.data() + i * element, untouched.data(),
                                  static_cast<std::size_t>(element)),
                      0);
        }
        gemm.load_convert(y.data() + acc, e.data() + shift * element, n);
        for (int64_t i = 0; i < n; ++i)
          ASSERT_EQ(acc_value(gemm, y.data(), i + 1), static_cast<double>((i + 1) % 32))
              << "load_convert n=" << n;
      }
    }
  });
}

}  // namespace
