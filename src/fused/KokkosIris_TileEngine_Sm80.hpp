// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// The tile engine for NVIDIA GPUs of compute capability 8.0 and newer, for all element types:
/// half, bfloat16 and double by their tensor cores, float by fused multiply-adds
/// (src/fused/arch/sm80). What an engine is: KokkosIris_TileEngine_Packed.hpp.

#ifndef KOKKOSIRIS_TILE_ENGINE_SM80_HPP
#define KOKKOSIRIS_TILE_ENGINE_SM80_HPP

#include <Kokkos_Core.hpp>
#include <core/KokkosIris_GpuSpace.hpp>
#include <cstdint>
#include <fused/KokkosIris_ChunkEngine.hpp>
#include <fused/KokkosIris_Matrix.hpp>
#include <fused/arch/sm80/KokkosIris_Sm80Launch.hpp>
#include <fused/arch/sm80/KokkosIris_Sm80Product.hpp>
#include <string>

namespace KokkosIris::Impl {

/// True if the engine is compiled for an execution space.
template <class ExecutionSpace>
inline constexpr bool sm80_takes_v = is_gpu_space_v<ExecutionSpace>&& have_sm80_gpu;

/// \tparam Tile rows and columns of a tile, 128 or 64
template <class T, int Tile>
struct Sm80TileEngine : ChunkEngine<T, Sm80::batch, Tile> {
  using Base = ChunkEngine<T, Sm80::batch, Tile>;
  using typename Base::Acc;
  using typename Base::Panel;

  static constexpr bool launches_itself = true;
  /// Enqueues a kernel of teams of this engine.
  template <class Kernel>
  static void launch(const GpuExecutionSpace& exec, int league, const std::string& label,
                     const Kernel& kernel) {
    Sm80::launch(exec, league, label, kernel, kernel.exchange.rank());
  }

  template <class Team>
  KOKKOS_FORCEINLINE_FUNCTION void compute(const Team&, const Panel& panel, int owner,
                                           std::int64_t column, const AccTile<Acc>& out) const {
    this->for_each_tile(panel, owner, column, out,
                        [&](const Panel& a, const MatrixRef<const T>& b, const AccTile<Acc>& to) {
                          Sm80::TileProduct<T, Tile>::compute(a, b, to);
                        });
  }
};

}  // namespace KokkosIris::Impl

#endif
