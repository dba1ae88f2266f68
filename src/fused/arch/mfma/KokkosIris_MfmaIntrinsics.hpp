// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// Matrix instructions of CDNA2 and CDNA3: C += A B by the 64 lanes of a wave. One instruction, one
/// function; on the host the same with numbers, in the instruction's layout.
///
/// Which lane holds which element is in AMD's instruction set documents of CDNA2 and CDNA3. The two
/// generations agree in these four, and with the layouts here: compared with what AMD's matrix
/// instruction calculator prints (github.com/ROCm/amd_matrix_instruction_calculator). An
/// instruction counts for the wave: all its lanes must come to it, whatever their data is
/// worth.

#ifndef KOKKOSIRIS_MFMA_INTRINSICS_HPP
#define KOKKOSIRIS_MFMA_INTRINSICS_HPP

#include <Kokkos_BitManipulation.hpp>
#include <Kokkos_Core.hpp>
#include <core/KokkosIris_HalfTypes.hpp>
#include <cstdint>
#include <fused/arch/mfma/KokkosIris_MfmaWave.hpp>

namespace KokkosIris::Impl::Mfma {

/// Extents of an instruction's product, and where the elements of A (Side x Depth), B (Depth x
/// Side) and C (Side x Side) are. Lanes that differ by a multiple of Side hold different K of A's
/// same row and B's same column: lane `l` has element `e` of row (of A) or column (of B) l % Side
/// at k = PerLane (l / Side) + e.
///
/// \tparam Adjacent rows of C that a lane holds in adjacent registers: register r of lane l has
///         column l % Side and row
///         Adjacent (64 / Side) (r / Adjacent) + Adjacent (l / Side) + r % Adjacent
template <int Side, int Depth, int Adjacent>
struct Layout {
  static constexpr int side = Side;
  static constexpr int depth = Depth;
  static constexpr int groups = wave_lanes / Side;            ///< of lanes, along K
  static constexpr int per_lane = Depth / groups;             ///< elements of A, and of B
  static constexpr int registers = Side * Side / wave_lanes;  ///< elements of C
  static constexpr int adjacent = Adjacent;

  KOKKOS_FORCEINLINE_FUNCTION static constexpr int outer(int lane) { return lane % Side; }
  KOKKOS_FORCEINLINE_FUNCTION static constexpr int k(int lane, int element) {
    return per_lane * (lane / Side) + element;
  }
  KOKKOS_FORCEINLINE_FUNCTION static constexpr int row(int lane, int r) {
    return adjacent * (groups * (r / adjacent) + lane / Side) + r % adjacent;
  }
  KOKKOS_FORCEINLINE_FUNCTION static constexpr int column(int lane) { return lane % Side; }
};

using Layout32x32x8 = Layout<32, 8, 4>;
using Layout32x32x2 = Layout<32, 2, 4>;
using Layout16x16x4 = Layout<16, 4, 1>;

/// What an instruction does, in the arithmetic of its accumulators: products and sums one after the
/// other. The hardware adds groups of products in an order that AMD does not state.
/// \param element element(operand, e) is a lane's element e as accumulator type
template <class L, class Acc, class Operand, class Element>
KOKKOS_FUNCTION void emulate(const WaveRegister<Operand>& a, const WaveRegister<Operand>& b,
                             WaveRegister<Vector<Acc, L::registers>>& c, const Element& element) {
  Acc left[L::depth][L::side], right[L::depth][L::side], sums[L::side][L::side];
  for (int lane = 0; lane < wave_lanes; ++lane) {
    for (int e = 0; e < L::per_lane; ++e) {
      left[L::k(lane, e)][L::outer(lane)] = element(a[lane], e);
      right[L::k(lane, e)][L::outer(lane)] = element(b[lane], e);
    }
    for (int r = 0; r < L::registers; ++r) sums[L::row(lane, r)][L::column(lane)] = c[lane][r];
  }
  for (int k = 0; k < L::depth; ++k) {
    for (int i = 0; i < L::side; ++i) {
      for (int j = 0; j < L::side; ++j) sums[i][j] += left[k][i] * right[k][j];
    }
  }
  for (int lane = 0; lane < wave_lanes; ++lane) {
    for (int r = 0; r < L::registers; ++r) c[lane][r] = sums[L::row(lane, r)][L::column(lane)];
  }
}

/// Element `e` of four 16-bit elements, as float.
template <class T>
KOKKOS_FUNCTION float sixteen_bit_element(const HalfChunk& operand, int e) {
  return static_cast<float>(
      T::from_bits(static_cast<std::uint16_t>(operand[e / 2] >> (16 * (e % 2)))));
}

#if defined(KOKKOSIRIS_MFMA_HAVE_INSTRUCTIONS)
/// The builtin's last arguments: no broadcast of blocks (cbsz, abid), no permutation of B (blgp).
#define KOKKOSIRIS_MFMA(NAME, OPERAND, a, b, c)                              \
  (c)[0] = __builtin_amdgcn_mfma_##NAME(__builtin_bit_cast(OPERAND, (a)[0]), \
                                        __builtin_bit_cast(OPERAND, (b)[0]), (c)[0], 0, 0, 0)
#elif defined(KOKKOSIRIS_MFMA_ON_DEVICE)
/// A GPU without the instruction: the engine is not chosen there.
#define KOKKOSIRIS_MFMA(NAME, OPERAND, a, b, c) __builtin_trap()
#endif

/// v_mfma_f32_32x32x8_f16: half, sums in float. A lane gives four elements of A and of B along K,
/// the first in the lowest bits. CDNA2 takes subnormal elements, and results, for zero (MIOpen
/// documentation, "MI200 MFMA behavior specifics", which names no other); the emulation does not.
KOKKOS_FORCEINLINE_FUNCTION void mfma_f32_32x32x8_f16(const WaveRegister<HalfChunk>& a,
                                                      const WaveRegister<HalfChunk>& b,
                                                      WaveRegister<Vector<float, 16>>& c) {
#if defined(KOKKOSIRIS_MFMA_ON_DEVICE)
  using Operand [[maybe_unused]] = Vector<_Float16, 4>;
  KOKKOSIRIS_MFMA(f32_32x32x8f16, Operand, a, b, c);
#else
  emulate<Layout32x32x8, float>(a, b, c, sixteen_bit_element<half_t>);
#endif
}

/// v_mfma_f32_32x32x8_bf16 (on CDNA2 v_mfma_f32_32x32x8bf16_1k): bfloat16, sums in float. As above.
KOKKOS_FORCEINLINE_FUNCTION void mfma_f32_32x32x8_bf16(const WaveRegister<HalfChunk>& a,
                                                       const WaveRegister<HalfChunk>& b,
                                                       WaveRegister<Vector<float, 16>>& c) {
#if defined(KOKKOSIRIS_MFMA_ON_DEVICE)
  using Operand [[maybe_unused]] = Vector<short, 4>;
  KOKKOSIRIS_MFMA(f32_32x32x8bf16_1k, Operand, a, b, c);
#else
  emulate<Layout32x32x8, float>(a, b, c, sixteen_bit_element<bhalf_t>);
#endif
}

/// v_mfma_f32_32x32x2_f32: float. A lane gives one element of A and of B.
KOKKOS_FORCEINLINE_FUNCTION void mfma_f32_32x32x2_f32(const WaveRegister<float>& a,
                                                      const WaveRegister<float>& b,
                                                      WaveRegister<Vector<float, 16>>& c) {
#if defined(KOKKOSIRIS_MFMA_ON_DEVICE)
  KOKKOSIRIS_MFMA(f32_32x32x2f32, float, a, b, c);
#else
  emulate<Layout32x32x2, float>(a, b, c, [](float value, int) { return value; });
#endif
}

/// v_mfma_f64_16x16x4_f64: double. A lane gives one element of A and of B.
KOKKOS_FORCEINLINE_FUNCTION void mfma_f64_16x16x4_f64(const WaveRegister<double>& a,
                                                      const WaveRegister<double>& b,
                                                      WaveRegister<Vector<double, 4>>& c) {
#if defined(KOKKOSIRIS_MFMA_ON_DEVICE)
  KOKKOSIRIS_MFMA(f64_16x16x4f64, double, a, b, c);
#else
  emulate<Layout16x16x4, double>(a, b, c, [](double value, int) { return value; });
#endif
}

#undef KOKKOSIRIS_MFMA

/// The instruction for an element type: what it takes from a chunk, and how often.
///
/// `multiply(x, y, part, c)`: c += x y with part `part` of `parts` of the lanes' chunks. K is in no
/// order: the elements that two lanes have at the same place of their chunks meet.
template <class T>
struct Instruction;

/// Half of a chunk.
KOKKOS_FORCEINLINE_FUNCTION HalfChunk half_of(const Chunk& chunk, int part) {
  return HalfChunk{chunk[2 * part], chunk[2 * part + 1]};
}
/// Applies `pick` to the value of each lane, which is this thread's lane on the device.
template <class Picked, class Pick>
KOKKOS_FORCEINLINE_FUNCTION WaveRegister<Picked> picked(const WaveRegister<Chunk>& from,
                                                        const Pick& pick) {
  WaveRegister<Picked> result;
  for (int lane = 0; lane < (on_device ? 1 : wave_lanes); ++lane) result[lane] = pick(from[lane]);
  return result;
}

template <class T>
struct SixteenBitInstruction {
  using Shape = Layout32x32x8;
  using Acc = float;
  static constexpr int parts = 2;
  KOKKOS_FORCEINLINE_FUNCTION static void multiply(const WaveRegister<Chunk>& x,
                                                   const WaveRegister<Chunk>& y, int part,
                                                   WaveRegister<Vector<float, 16>>& c) {
    const auto pick = [=](const Chunk& chunk) { return half_of(chunk, part); };
    if constexpr (std::is_same_v<T, half_t>) {
      mfma_f32_32x32x8_f16(picked<HalfChunk>(x, pick), picked<HalfChunk>(y, pick), c);
    } else {
      mfma_f32_32x32x8_bf16(picked<HalfChunk>(x, pick), picked<HalfChunk>(y, pick), c);
    }
  }
};
template <>
struct Instruction<half_t> : SixteenBitInstruction<half_t> {};
template <>
struct Instruction<bhalf_t> : SixteenBitInstruction<bhalf_t> {};

template <>
struct Instruction<float> {
  using Shape = Layout32x32x2;
  using Acc = float;
  static constexpr int parts = 4;
  KOKKOS_FORCEINLINE_FUNCTION static void multiply(const WaveRegister<Chunk>& x,
                                                   const WaveRegister<Chunk>& y, int part,
                                                   WaveRegister<Vector<float, 16>>& c) {
    const auto pick = [=](const Chunk& chunk) { return Kokkos::bit_cast<float>(chunk[part]); };
    mfma_f32_32x32x2_f32(picked<float>(x, pick), picked<float>(y, pick), c);
  }
};

template <>
struct Instruction<double> {
  using Shape = Layout16x16x4;
  using Acc = double;
  static constexpr int parts = 2;
  KOKKOS_FORCEINLINE_FUNCTION static void multiply(const WaveRegister<Chunk>& x,
                                                   const WaveRegister<Chunk>& y, int part,
                                                   WaveRegister<Vector<double, 4>>& c) {
    const auto pick = [=](const Chunk& chunk) {
      return Kokkos::bit_cast<double>(half_of(chunk, part));
    };
    mfma_f64_16x16x4_f64(picked<double>(x, pick), picked<double>(y, pick), c);
  }
};

}  // namespace KokkosIris::Impl::Mfma

#endif
