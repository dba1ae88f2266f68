// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// Products of tiles in shared memory by a warpgroup (PTX ISA, "wgmma"), and what belongs to them:
/// descriptors of operands, order, and the registers of a warp.
///
/// Operands lie in rows of 128 bytes with the 128-byte swizzle: of each address, bits 4 to 6 are
/// exclusive-ored with bits 7 to 9. That is how tensor maps with CU_TENSOR_MAP_SWIZZLE_128B write
/// boxes of 64 two-byte elements a row, at multiples of 1024 bytes.

#ifndef KOKKOSIRIS_SM90_WGMMA_HPP
#define KOKKOSIRIS_SM90_WGMMA_HPP

#include <core/KokkosIris_HalfTypes.hpp>
#include <cstdint>
#include <fused/arch/sm90/KokkosIris_Sm90Barrier.hpp>
#include <type_traits>

namespace KokkosIris::Impl::Sm90 {

/// Descriptor of an operand (PTX ISA, "matrix descriptor"); the address is a multiple of 1024
/// bytes.
///
/// - Rows along K (64 of K in a row): groups of 8 rows are 1024 bytes apart. The next 16 of K are
///   32 bytes on.
/// - Rows along M or N ("transposed"): groups of 8 of K are 1024 bytes apart, and the next 64 of
///   M or N are `block_bytes` on. The next 16 of K are 2048 bytes on.
__device__ __forceinline__ std::uint64_t operand_descriptor(SharedAddress address,
                                                            std::uint32_t block_bytes) {
  constexpr std::uint64_t swizzle_128 = std::uint64_t(1) << 62;
  constexpr std::uint64_t group_bytes = 1024;
  return std::uint64_t(address & 0x3ffffu) >> 4 | std::uint64_t(block_bytes >> 4) << 16 |
         (group_bytes >> 4) << 32 | swizzle_128;
}
/// What to add to a descriptor for the next 16 of K.
template <bool Transposed>
inline constexpr std::uint64_t descriptor_step = (Transposed ? 2048 : 32) >> 4;

#define KOKKOSIRIS_SM90_OUT4(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define KOKKOSIRIS_SM90_OUT16(i)                                                     \
  KOKKOSIRIS_SM90_OUT4(i), KOKKOSIRIS_SM90_OUT4(i + 4), KOKKOSIRIS_SM90_OUT4(i + 8), \
      KOKKOSIRIS_SM90_OUT4(i + 12)
#define KOKKOSIRIS_SM90_OUT64(i)                                                          \
  KOKKOSIRIS_SM90_OUT16(i), KOKKOSIRIS_SM90_OUT16(i + 16), KOKKOSIRIS_SM90_OUT16(i + 32), \
      KOKKOSIRIS_SM90_OUT16(i + 48)
// clang-format off
#define KOKKOSIRIS_SM90_WGMMA_64(TYPE)                                                             \
  __asm__ volatile(                                                                                \
      "{\n.reg .pred p;\nsetp.ne.b32 p, %34, 0;\n"                                                 \
      "wgmma.mma_async.sync.aligned.m64n64k16.f32." TYPE "." TYPE " {"                             \
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "                     \
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "          \
      "%32, %33, p, 1, 1, %35, %36;\n}"                                                            \
      : KOKKOSIRIS_SM90_OUT16(0), KOKKOSIRIS_SM90_OUT16(16)                                        \
      : "l"(a), "l"(b), "r"(accumulate), "n"(TransposedA), "n"(TransposedB))
#define KOKKOSIRIS_SM90_WGMMA_128(TYPE)                                                            \
  __asm__ volatile(                                                                                \
      "{\n.reg .pred p;\nsetp.ne.b32 p, %66, 0;\n"                                                 \
      "wgmma.mma_async.sync.aligned.m64n128k16.f32." TYPE "." TYPE " {"                            \
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "                     \
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "           \
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "           \
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "          \
      "%64, %65, p, 1, 1, %67, %68;\n}"                                                            \
      : KOKKOSIRIS_SM90_OUT64(0)                                                                   \
      : "l"(a), "l"(b), "r"(accumulate), "n"(TransposedA), "n"(TransposedB))
#define KOKKOSIRIS_SM90_WGMMA_256(TYPE)                                                            \
  __asm__ volatile(                                                                                \
      "{\n.reg .pred p;\nsetp.ne.b32 p, %130, 0;\n"                                                \
      "wgmma.mma_async.sync.aligned.m64n256k16.f32." TYPE "." TYPE " {"                            \
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "                     \
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "           \
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "           \
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "           \
      "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "           \
      "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "           \
      "%96, %97, %98, %99, %100, %101, %102, %103, "                                               \
      "%104, %105, %106, %107, %108, %109, %110, %111, "                                           \
      "%112, %113, %114, %115, %116, %117, %118, %119, "                                           \
      "%120, %121, %122, %123, %124, %125, %126, %127}, "                                          \
      "%128, %129, p, 1, 1, %131, %132;\n}"                                                        \
      : KOKKOSIRIS_SM90_OUT64(0), KOKKOSIRIS_SM90_OUT64(64)                                        \
      : "l"(a), "l"(b), "r"(accumulate), "n"(TransposedA), "n"(TransposedB))
// clang-format on

/// d = A B, or d += A B where `accumulate` is not 0, for 64 rows, 2 Registers columns and 16 of K.
/// Asynchronous: d must not be touched before the group is waited for.
///
/// Lane l of warp w has, for each group j of 8 columns, in d[4 j] and d[4 j + 1] the row
/// 16 w + l / 4 and columns 8 j + 2 (l % 4) and the next, in d[4 j + 2] and d[4 j + 3] those of the
/// row 8 further down.
template <class T, bool TransposedA, bool TransposedB, int Registers>
__device__ __forceinline__ void multiply(float (&d)[Registers], std::uint64_t a, std::uint64_t b,
                                         int accumulate) {
  static_assert(Registers == 32 || Registers == 64 || Registers == 128,
                "tiles have 64, 128 or 256 columns");
  static_assert(is_half_v<T>, "operands have 16 bits");
  if constexpr (std::is_same_v<T, half_t>) {
    if constexpr (Registers == 32) {
      KOKKOSIRIS_SM90_WGMMA_64("f16");
    } else if constexpr (Registers == 64) {
      KOKKOSIRIS_SM90_WGMMA_128("f16");
    } else {
      KOKKOSIRIS_SM90_WGMMA_256("f16");
    }
  } else {
    if constexpr (Registers == 32) {
      KOKKOSIRIS_SM90_WGMMA_64("bf16");
    } else if constexpr (Registers == 64) {
      KOKKOSIRIS_SM90_WGMMA_128("bf16");
    } else {
      KOKKOSIRIS_SM90_WGMMA_256("bf16");
    }
  }
}

#undef KOKKOSIRIS_SM90_WGMMA_256
#undef KOKKOSIRIS_SM90_WGMMA_128
#undef KOKKOSIRIS_SM90_WGMMA_64
#undef KOKKOSIRIS_SM90_OUT64
#undef KOKKOSIRIS_SM90_OUT16
#undef KOKKOSIRIS_SM90_OUT4

/// Orders accesses of the warpgroup to the accumulators before the products that follow.
__device__ __forceinline__ void multiply_fence() {
  __asm__ volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
/// Ends a group of products.
__device__ __forceinline__ void multiply_commit() {
  __asm__ volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
/// Waits until all but the last `Pending` groups are complete.
template <int Pending>
__device__ __forceinline__ void multiply_wait() {
  __asm__ volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(Pending) : "memory");
}

/// Gives registers of the warpgroup back, or takes of those that others gave; all its warps call.
template <int Registers>
__device__ __forceinline__ void shrink_registers() {
  __asm__ volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(Registers));
}
template <int Registers>
__device__ __forceinline__ void grow_registers() {
  __asm__ volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(Registers));
}

}  // namespace KokkosIris::Impl::Sm90

#endif
