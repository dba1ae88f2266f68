// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// Copies of operands that an engine cannot take as they lie.

#ifndef KOKKOSIRIS_PACK_MATRIX_HPP
#define KOKKOSIRIS_PACK_MATRIX_HPP

#include <Kokkos_Core.hpp>
#include <cstdint>
#include <fused/KokkosIris_Matrix.hpp>

namespace KokkosIris::Impl {

/// `to` = `from`, for any strides. A team moves a square through scratch memory, so that both sides
/// are walked along their shorter stride.
template <class ExecutionSpace, class T>
void pack_matrix(const ExecutionSpace& exec, const MatrixRef<T>& to,
                 const MatrixRef<const T>& from) {
  constexpr int side = 64;
  const std::int64_t across = ceil_div(from.cols, side);
  const std::int64_t squares = ceil_div(from.rows, side) * across;
  if (squares == 0) return;
  using Policy = Kokkos::TeamPolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>;
  using Scratch = Kokkos::View<T[side][side + 1], typename ExecutionSpace::scratch_memory_space,
                               Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  Policy policy(exec, static_cast<int>(squares), Kokkos::AUTO);
  policy.set_scratch_size(0, Kokkos::PerTeam(static_cast<int>(Scratch::shmem_size())));
  Kokkos::parallel_for(
      "KokkosIris::pack", policy, KOKKOS_LAMBDA(const typename Policy::member_type& team) {
        const Scratch square(team.team_scratch(0));
        const std::int64_t row = team.league_rank() / across * side;
        const std::int64_t column = team.league_rank() % across * side;
        const auto rows = static_cast<int>(min64(side, from.rows - row));
        const auto columns = static_cast<int>(min64(side, from.cols - column));
        const auto walk = [&](const auto& matrix, const auto& body) {
          const bool along_rows = matrix.col_stride <= matrix.row_stride;
          const int inner = along_rows ? columns : rows;
          Kokkos::parallel_for(Kokkos::TeamVectorRange(team, rows * columns), [&](int index) {
            const int first = index / inner, second = index % inner;
            body(along_rows ? first : second, along_rows ? second : first);
          });
        };
        walk(from, [&](int i, int j) { square(i, j) = *from.at(row + i, column + j); });
        team.team_barrier();
        walk(to, [&](int i, int j) { *to.at(row + i, column + j) = square(i, j); });
      });
}

}  // namespace KokkosIris::Impl

#endif
