// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef KOKKOSIRIS_UNIT_TESTS_FUSED_PACKEDGEMMTESTING_HPP
#define KOKKOSIRIS_UNIT_TESTS_FUSED_PACKEDGEMMTESTING_HPP

/// \file
/// What the tests of the host tile engine share: values of element kinds, guarded memory, a loop
/// over all engines.

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <fused/arch/host/KokkosIris_PackedGemm.hpp>
#include <limits>
#include <stdexcept>
#include <string>

namespace PackedGemmTesting {

using KokkosIris::Impl::ElementKind;
using KokkosIris::Impl::packed_gemm;
using KokkosIris::Impl::packed_gemm_variants;
using KokkosIris::Impl::PackedGemm;
using std::int64_t;
using std::uint16_t;

constexpr ElementKind all_kinds[] = {ElementKind::f64, ElementKind::f32, ElementKind::f16,
                                     ElementKind::bf16};

/// Bytes between two inaccessible pages, touching the upper or the lower one, filled with ones (NaN
/// in every type).
class Guarded {
 public:
  Guarded(int64_t bytes, bool at_end) : m_bytes(std::max<int64_t>(bytes, 1)) {
    const int64_t page = sysconf(_SC_PAGESIZE), inner = (m_bytes + page - 1) / page * page;
    m_mapped = inner + 2 * page;
    m_map = static_cast<char*>(mmap(nullptr, static_cast<std::size_t>(m_mapped), PROT_NONE,
                                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (m_map == MAP_FAILED ||
        mprotect(m_map + page, static_cast<std::size_t>(inner), PROT_READ | PROT_WRITE) != 0)
      throw std::runtime_error("no memory for a guarded buffer");
    std::memset(m_map + page, 0xff, static_cast<std::size_t>(inner));
    m_data = m_map + page + (at_end ? inner - m_bytes : 0);
  }
  ~Guarded() { munmap(m_map, static_cast<std::size_t>(m_mapped)); }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;
  char* data() const { return m_data; }
  int64_t bytes() const { return m_bytes; }

 private:
  int64_t m_bytes, m_mapped = 0;
  char *m_map = nullptr, *m_data = nullptr;
};

inline double half_value(uint16_t bits) {
  const int exponent = (bits >> 10) & 31, mantissa = bits & 1023;
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  if (exponent == 31)
    return mantissa != 0 ? std::numeric_limits<double>::quiet_NaN() : sign * HUGE_VAL;
  return sign *
         (exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25));
}

inline double bfloat_value(uint16_t bits) {
  const std::uint32_t wide = static_cast<std::uint32_t>(bits) << 16;
  float value = 0;
  std::memcpy(&value, &wide, sizeof(value));
  return value;
}

/// Value of a 16-bit element.
inline double value_of_bits(ElementKind kind, uint16_t bits) {
  return kind == ElementKind::f16 ? half_value(bits) : bfloat_value(bits);
}

inline double element_value(ElementKind kind, const void* at) {
  uint16_t bits = 0;
  float single = 0;
  double value = 0;
  switch (kind) {
    case ElementKind::f64:
      std::memcpy(&value, at, 8);
      return value;
    case ElementKind::f32:
      std::memcpy(&single, at, 4);
      return single;
    case ElementKind::f16:
    case ElementKind::bf16:
      std::memcpy(&bits, at, 2);
      return value_of_bits(kind, bits);
  }
  return 0;
}

inline double acc_value(const PackedGemm& gemm, const void* base, int64_t index) {
  return gemm.acc_bytes == 8 ? static_cast<const double*>(base)[index]
                             : static_cast<const float*>(base)[index];
}

inline void set_acc(const PackedGemm& gemm, void* base, int64_t index, double value) {
  if (gemm.acc_bytes == 8)
    static_cast<double*>(base)[index] = value;
  else
    static_cast<float*>(base)[index] = static_cast<float>(value);
}

inline double acc_epsilon(const PackedGemm& gemm) {
  return gemm.acc_bytes == 8 ? 0x1p-53 : 0x1p-24;
}

inline std::string describe(const PackedGemm& gemm) {
  static const char* const names[] = {"f64", "f32", "f16", "bf16"};
  return std::string(gemm.name) + " " + names[static_cast<int>(gemm.kind)];
}

template <class Body>
void for_all_engines(const Body& body) {
  for (const ElementKind kind : all_kinds) {
    const auto engines = packed_gemm_variants(kind);
    ASSERT_FALSE(engines.empty());
    for (const PackedGemm* gemm : engines) {
      SCOPED_TRACE(describe(*gemm));
      body(*gemm);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

}  // namespace PackedGemmTesting

#endif
