// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// Instructions of NVIDIA GPUs from compute capability 8.0 on: asynchronous copies to shared
/// memory, loads of matrix fragments, matrix products by the 32 lanes of a warp. One instruction,
/// one function. Names and layouts: PTX ISA, "cp.async", "ldmatrix", "mma".
///
/// Elsewhere, on the host in particular, the functions trap: the engine is not chosen there.

#ifndef KOKKOSIRIS_SM80_INTRINSICS_HPP
#define KOKKOSIRIS_SM80_INTRINSICS_HPP

#include <Kokkos_Core.hpp>
#include <core/KokkosIris_HalfTypes.hpp>
#include <cstdint>
#include <fused/arch/KokkosIris_Chunks.hpp>
#include <type_traits>

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
#define KOKKOSIRIS_SM80_ASM(...) asm volatile(__VA_ARGS__)
/// What neither reads nor writes memory may be moved.
#define KOKKOSIRIS_SM80_PURE_ASM(...) asm(__VA_ARGS__)
#else
#define KOKKOSIRIS_SM80_PURE_ASM(...) ::KokkosIris::Impl::Sm80::missing()
#define KOKKOSIRIS_SM80_ASM(...) ::KokkosIris::Impl::Sm80::missing()
#endif

#if defined(__CUDA_ARCH__)
#define KOKKOSIRIS_SM80_NO_UNROLL _Pragma("unroll 1")
#else
#define KOKKOSIRIS_SM80_NO_UNROLL
#endif

namespace KokkosIris::Impl {

/// True if this build's GPU has the instructions.
#if defined(KOKKOS_ENABLE_CUDA) && (defined(KOKKOS_ARCH_AMPERE) || defined(KOKKOS_ARCH_ADA89) || \
                                    defined(KOKKOS_ARCH_HOPPER) || defined(KOKKOS_ARCH_BLACKWELL))
inline constexpr bool have_sm80_gpu = true;
#else
inline constexpr bool have_sm80_gpu = false;
#endif

namespace Sm80 {

inline constexpr int warp_lanes = 32;

KOKKOS_FORCEINLINE_FUNCTION void missing() { Kokkos::abort("KokkosIris: no such instruction"); }

/// The address of shared memory as instructions take it.
KOKKOS_FORCEINLINE_FUNCTION std::uint32_t shared_address([[maybe_unused]] const void* shared) {
#if defined(__CUDA_ARCH__)
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(shared));
#else
  return 0;
#endif
}

/// Starts a copy of 16 bytes from global to shared memory. Unless they are `valid` they become zero
/// there and the source is not used. Both addresses are multiples of 16.
KOKKOS_FORCEINLINE_FUNCTION void copy_chunk([[maybe_unused]] std::uint32_t to,
                                            [[maybe_unused]] const void* from,
                                            [[maybe_unused]] bool valid) {
  KOKKOSIRIS_SM80_ASM(
      "{\n"
      ".reg .pred ignored;\n"
      "setp.eq.u32 ignored, %2, 0;\n"
      "cp.async.cg.shared.global.L2::128B [%0], [%1], 16, ignored;\n"
      "}" ::"r"(to),
      "l"(from), "r"(static_cast<int>(valid))
      : "memory");
}
/// The same of one element of 4 or 8 bytes at a multiple of its size.
template <int Bytes>
KOKKOS_FORCEINLINE_FUNCTION void copy_element([[maybe_unused]] std::uint32_t to,
                                              [[maybe_unused]] const void* from,
                                              [[maybe_unused]] bool valid) {
  KOKKOSIRIS_SM80_ASM(
      "{\n"
      ".reg .pred ignored;\n"
      "setp.eq.u32 ignored, %3, 0;\n"
      "cp.async.ca.shared.global [%0], [%1], %2, ignored;\n"
      "}" ::"r"(to),
      "l"(from), "n"(Bytes), "r"(static_cast<int>(valid))
      : "memory");
}
/// Ends a group of copies of this thread.
KOKKOS_FORCEINLINE_FUNCTION void end_copies() {
  KOKKOSIRIS_SM80_ASM("cp.async.commit_group;" ::: "memory");
}
/// Waits until at most the last `Pending` groups of this thread are under way. Other threads see
/// the copied data after a barrier.
template <int Pending>
KOKKOS_FORCEINLINE_FUNCTION void wait_copies() {
  KOKKOSIRIS_SM80_ASM("cp.async.wait_group %0;" ::"n"(Pending) : "memory");
}

/// Loads from shared memory, and a store of 16 bits to it.
KOKKOS_FORCEINLINE_FUNCTION void load_shared([[maybe_unused]] double& value,
                                             [[maybe_unused]] std::uint32_t from) {
  KOKKOSIRIS_SM80_ASM("ld.shared.f64 %0, [%1];" : "=d"(value) : "r"(from) : "memory");
}
KOKKOS_FORCEINLINE_FUNCTION void load_shared([[maybe_unused]] Elements<float>& four,
                                             [[maybe_unused]] std::uint32_t from) {
  KOKKOSIRIS_SM80_ASM("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
                      : "=f"(four.values[0]), "=f"(four.values[1]), "=f"(four.values[2]),
                        "=f"(four.values[3])
                      : "r"(from)
                      : "memory");
}
KOKKOS_FORCEINLINE_FUNCTION void store_shared([[maybe_unused]] std::uint32_t to,
                                              [[maybe_unused]] std::uint16_t bits) {
  KOKKOSIRIS_SM80_ASM("st.shared.b16 [%0], %1;" ::"r"(to), "h"(bits) : "memory");
}

/// Four 8 x 8 matrices of 16-bit elements: lanes 8 i to 8 i + 7 give the addresses of the rows (16
/// bytes each) of matrix i; lane l gets elements 2 (l % 4) and the next of row l / 4, or, if
/// `Transposed`, of column l / 4.
template <bool Transposed>
KOKKOS_FORCEINLINE_FUNCTION void load_matrices([[maybe_unused]] std::uint32_t (&r)[4],
                                               [[maybe_unused]] std::uint32_t address) {
  if constexpr (Transposed) {
    KOKKOSIRIS_SM80_ASM("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                        : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                        : "r"(address)
                        : "memory");
  } else {
    KOKKOSIRIS_SM80_ASM("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                        : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                        : "r"(address)
                        : "memory");
  }
}

/// C (16 x 8) += A (16 x 16) B (16 x 8), 16-bit elements, sums in float. Of C a lane has columns
/// 2 (l % 4) and the next of row l / 4, then of row l / 4 + 8.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION void multiply([[maybe_unused]] float (&c)[4],
                                          [[maybe_unused]] const std::uint32_t (&a)[4],
                                          [[maybe_unused]] std::uint32_t b0,
                                          [[maybe_unused]] std::uint32_t b1) {
  if constexpr (std::is_same_v<T, half_t>) {
    KOKKOSIRIS_SM80_PURE_ASM(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  } else {
    KOKKOSIRIS_SM80_PURE_ASM(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  }
}

/// C (16 x 8) += A (16 x 4) B (4 x 8) in double. Lane l has column l % 4 of rows l / 4 and
/// l / 4 + 8 of A, row l % 4 of column l / 4 of B; of C as above.
KOKKOS_FORCEINLINE_FUNCTION void multiply([[maybe_unused]] double (&c)[4],
                                          [[maybe_unused]] double upper,
                                          [[maybe_unused]] double lower,
                                          [[maybe_unused]] double b) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  KOKKOSIRIS_SM80_PURE_ASM(
      "mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5}, {%6}, "
      "{%0, %1, %2, %3};"
      : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
      : "d"(upper), "d"(lower), "d"(b));
#else
  // Compute capability 8.0 has 8 rows only.
  KOKKOSIRIS_SM80_PURE_ASM(
      "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%4}, {%6}, {%0, %1};\n\t"
      "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%2, %3}, {%5}, {%6}, {%2, %3};"
      : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
      : "d"(upper), "d"(lower), "d"(b));
#endif
}

}  // namespace Sm80
}  // namespace KokkosIris::Impl

#undef KOKKOSIRIS_SM80_ASM
#undef KOKKOSIRIS_SM80_PURE_ASM

#endif
