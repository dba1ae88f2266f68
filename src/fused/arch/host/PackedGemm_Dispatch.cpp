// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Choice of the host tile engine at run time. Compiled for the baseline processor, as the rest of
// the library.

#include <cstdlib>
#include <cstring>
#include <fused/arch/host/KokkosIris_PackedGemmIsa.hpp>
#include <stdexcept>
#include <string>

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#if defined(__x86_64__) && defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace KokkosIris::Impl {
namespace {

#if defined(__x86_64__)
struct CpuFeatures {
  bool avx2 = false, avx512 = false, avx512_bf16 = false, amx = false;
  bool fast_bf16 = false;  ///< VDPBF16PS is faster than multiply-adds of floats
};

/// XCR0: the register state that the operating system saves. Only after CPUID has reported OSXSAVE.
unsigned enabled_state() {
  unsigned low = 0, high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
}

/// Linux hands out the 8 KiB of tile registers on request only, once for the process and all its
/// later threads (ARCH_REQ_XCOMP_PERM, Documentation/arch/x86/xstate.rst). False where that is
/// refused or unknown.
bool request_tile_registers() {
#if defined(__linux__)
  constexpr long arch_req_xcomp_perm = 0x1023, xfeature_xtiledata = 18;
  return syscall(SYS_arch_prctl, arch_req_xcomp_perm, xfeature_xtiledata) == 0;
#else
  return false;
#endif
}

bool bit(unsigned word, int index) { return ((word >> index) & 1u) != 0; }

CpuFeatures detect() {
  CpuFeatures found;
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (__get_cpuid(0, &eax, &ebx, &ecx, &edx) == 0) return found;
  // Intel's processors issue it so rarely (measured: 75 against 146 GFLOP/s of the float kernel on
  // Emerald Rapids) that converting to float is faster there; AMD's run it at the rate of a
  // multiply-add, with twice the work.
  found.fast_bf16 = ebx != signature_INTEL_ebx;
  if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) == 0) return found;
  const bool fma = bit(ecx, 12), osxsave = bit(ecx, 27), f16c = bit(ecx, 29);
  if (!osxsave || !fma || !f16c) return found;
  const unsigned state = enabled_state();
  if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) == 0) return found;
  const unsigned leaves = eax;
  const bool amx_bits = bit(edx, 22) && bit(edx, 24);
  found.avx2 = bit(ebx, 5) && (state & 0x6u) == 0x6u;
  found.avx512 = found.avx2 && bit(ebx, 16) && bit(ebx, 17) && bit(ebx, 30) && bit(ebx, 31) &&
                 (state & 0xe6u) == 0xe6u;
  if (!found.avx512 || leaves < 1 || __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) == 0)
    return found;
  found.avx512_bf16 = bit(eax, 5);
  found.amx =
      found.avx512_bf16 && amx_bits && (state & 0x60000u) == 0x60000u && request_tile_registers();
  return found;
}

[[maybe_unused]] const CpuFeatures& features() {
  static const CpuFeatures found = detect();
  return found;
}
#endif

struct Isa {
  const char* name;
  bool supported;
  bool preferred;  ///< false: only taken when named
  const PackedGemm* (*engine)(ElementKind);
};

/// Those that the compiler could build (src/CMakeLists.txt), from the least to the best.
const std::vector<Isa>& isas() {
  static const std::vector<Isa> table = {
      {"generic", true, true, &packed_gemm_generic},
#ifdef KOKKOSIRIS_HAVE_ISA_AVX2
      {"avx2", features().avx2, true, &packed_gemm_avx2},
#endif
#ifdef KOKKOSIRIS_HAVE_ISA_AVX512
      {"avx512", features().avx512, true, &packed_gemm_avx512},
#endif
#ifdef KOKKOSIRIS_HAVE_ISA_AVX512_BF16
      {"avx512_bf16", features().avx512_bf16, features().fast_bf16, &packed_gemm_avx512_bf16},
#endif
#ifdef KOKKOSIRIS_HAVE_ISA_AMX
      {"amx", features().amx, true, &packed_gemm_amx},
#endif
  };
  return table;
}

std::string supported_names() {
  std::string names;
  for (const Isa& isa : isas())
    if (isa.supported) names += (names.empty() ? "" : ", ") + std::string(isa.name);
  return names;
}

std::int64_t round_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b * b; }

}  // namespace

std::int64_t PackedGemm::packed_a_bytes(std::int64_t m, std::int64_t k) const {
  return round_up(m, mr) * round_up(k, k_group) * packed_a_unit;
}

std::int64_t PackedGemm::packed_b_bytes(std::int64_t k, std::int64_t n) const {
  return round_up(n, nr) * round_up(k, k_group) * packed_b_unit;
}

const void* PackedGemm::packed_b_at(const void* packed_b, std::int64_t n0, std::int64_t k) const {
  return static_cast<const char*>(packed_b) + n0 * round_up(k, k_group) * packed_b_unit;
}

std::int64_t PackedGemm::balanced_panel_rows(std::int64_t m) const {
  if (m <= 0) return mr;
  const std::int64_t panels = (m + panel_rows - 1) / panel_rows;
  return round_up((m + panels - 1) / panels, mr);
}

std::vector<const PackedGemm*> packed_gemm_variants(ElementKind kind) {
  std::vector<const PackedGemm*> variants;
  for (const Isa& isa : isas()) {
    const PackedGemm* engine = isa.supported ? isa.engine(kind) : nullptr;
    if (engine != nullptr) variants.push_back(engine);
  }
  return variants;
}

const PackedGemm& packed_gemm(ElementKind kind, const char* isa) {
  const bool any = isa == nullptr || *isa == '\0';
  const PackedGemm* best = nullptr;
  for (const Isa& one : isas()) {
    if (!one.supported) continue;
    const bool named = !any && std::string(isa) == one.name;
    const PackedGemm* engine = one.preferred || named ? one.engine(kind) : nullptr;
    if (engine != nullptr) best = engine;
    if (named) return *best;
  }
  if (any) return *best;
  throw std::runtime_error("KOKKOSIRIS_HOST_ISA=" + std::string(isa) +
                           " is unknown or not supported by this processor. Supported here: " +
                           supported_names() + ". Unset the variable for the best of them.");
}

const PackedGemm& packed_gemm(ElementKind kind) {
  static const PackedGemm* const engines[4] = {
      &packed_gemm(ElementKind::f64, std::getenv("KOKKOSIRIS_HOST_ISA")),
      &packed_gemm(ElementKind::f32, std::getenv("KOKKOSIRIS_HOST_ISA")),
      &packed_gemm(ElementKind::f16, std::getenv("KOKKOSIRIS_HOST_ISA")),
      &packed_gemm(ElementKind::bf16, std::getenv("KOKKOSIRIS_HOST_ISA"))};
  return *engines[static_cast<int>(kind)];
}

const PackedGemm& packed_gemm(ElementKind kind, std::int64_t m) {
  const PackedGemm& best = packed_gemm(kind);
  // Where float vectors are as good or better with few rows, measured on an Intel Emerald Rapids at
  // N = K = 1024. Splitting each half into two bfloat16 values costs more than converting it to
  // float: even from about M = 200. Pairing the rows of B costs more than reading them: 1.7 times
  // at M = 1, even at M = 8.
  const bool splits = kind == ElementKind::f16 && std::strcmp(best.name, "amx") == 0;
  const bool pairs = kind == ElementKind::bf16 && best.k_group > 1;
  if ((splits && m < 160) || (pairs && m <= 8)) {
    static const PackedGemm* const simple[2] = {&packed_gemm(ElementKind::f16, "avx512"),
                                                &packed_gemm(ElementKind::bf16, "avx512")};
    return *simple[pairs ? 1 : 0];
  }
  return best;
}

}  // namespace KokkosIris::Impl
