// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// The tile engine for AMD GPUs with matrix cores, CDNA2 and CDNA3 (gfx90a, gfx942), for all
/// element types; on host backends, for tests, the same text with the matrix instructions emulated
/// (src/fused/arch/mfma). What an engine is: KokkosIris_TileEngine_Packed.hpp.

#ifndef KOKKOSIRIS_TILE_ENGINE_MFMA_HPP
#define KOKKOSIRIS_TILE_ENGINE_MFMA_HPP

#include <Kokkos_Core.hpp>
#include <core/KokkosIris_GpuSpace.hpp>
#include <cstddef>
#include <cstdint>
#include <fused/KokkosIris_ChunkEngine.hpp>
#include <fused/KokkosIris_Matrix.hpp>
#include <fused/arch/mfma/KokkosIris_MfmaProduct.hpp>

namespace KokkosIris::Impl {

/// True if the engine is compiled for an execution space: a GPU that has the instructions, or a
/// host backend, which emulates them.
template <class ExecutionSpace>
inline constexpr bool mfma_takes_v = !is_gpu_space_v<ExecutionSpace> || have_mfma_gpu;

template <class T>
struct MfmaTileEngine : ChunkEngine<T, Mfma::batch, Mfma::TileProduct<T>::tile> {
  using Product = Mfma::TileProduct<T>;
  using Base = ChunkEngine<T, Mfma::batch, Product::tile>;
  using typename Base::Acc;
  using typename Base::Panel;

  /// Threads of a team on a GPU: with so many, each may have 512 registers.
  static constexpr int team_threads = Mfma::team_threads;

  static std::size_t scratch_bytes() { return Mfma::scratch_bytes + chunk_bytes; }

  template <class Team>
  KOKKOS_FUNCTION void compute(const Team& team, const Panel& panel, int owner, std::int64_t column,
                               const AccTile<Acc>& out) const {
    // A copy: each call takes the same memory.
    const auto scratch = team.team_scratch(0);
    char* const memory = static_cast<char*>(
        scratch.get_shmem_aligned(std::size_t(Mfma::scratch_bytes), chunk_bytes));
    this->for_each_tile(panel, owner, column, out,
                        [&](const Panel& a, const MatrixRef<const T>& b, const AccTile<Acc>& to) {
                          Product::compute(team, memory, a, b, to);
                        });
  }
};

}  // namespace KokkosIris::Impl

#endif
