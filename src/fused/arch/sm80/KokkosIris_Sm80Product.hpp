// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// A tile of up to `Tile` x `Tile` elements of a product by the eight warps of a team.

#ifndef KOKKOSIRIS_SM80_PRODUCT_HPP
#define KOKKOSIRIS_SM80_PRODUCT_HPP

#include <Kokkos_Core.hpp>
#include <cstdint>
#include <fused/KokkosIris_Matrix.hpp>
#include <fused/KokkosIris_TileStore.hpp>
#include <fused/arch/sm80/KokkosIris_Sm80Stage.hpp>
#include <fused/arch/sm80/KokkosIris_Sm80Team.hpp>
#include <fused/arch/sm80/KokkosIris_Sm80WarpProduct.hpp>
#include <type_traits>

namespace KokkosIris::Impl::Sm80 {

template <class T, int Tile>
class TileProduct {
  using Sums = WarpTile<T, Tile>;

 public:
  using Acc = acc_type_t<T>;

  /// out = a b, where a is rows x K and b, transposed, columns x K; at most `Tile` of each. Called
  /// by all threads of a team, whose memory it uses. Ends with a barrier of the team after the last
  /// use of that memory; the tile is not yet visible to other threads.
  KOKKOS_FORCEINLINE_FUNCTION static void compute(const MatrixRef<const T>& a,
                                                  const MatrixRef<const T>& b,
                                                  const AccTile<Acc>& out) {
    if constexpr (std::is_same_v<T, float>) {
      // Called through a pointer that the compiler cannot follow: so the caller keeps nothing in
      // registers meanwhile. Where they are short, multiply-adds have registers of one bank.
      Function* function = &compute_apart;
      hide(function);
      function(a, b, out);
    } else {
      // Part of the kernel: only there are addresses that all lanes share kept in registers that
      // they share. In a function of its own each copy moves them there anew, which delays the
      // matrix products behind.
      compute_here(a, b, out);
    }
  }

 private:
  using Function = void(MatrixRef<const T> a, MatrixRef<const T> b, AccTile<Acc> out);

  KOKKOS_FUNCTION static KOKKOSIRIS_SM80_NO_INLINE void compute_apart(MatrixRef<const T> a,
                                                                      MatrixRef<const T> b,
                                                                      AccTile<Acc> out) {
    compute_here(a, b, out);
  }

  KOKKOS_FORCEINLINE_FUNCTION static void compute_here(const MatrixRef<const T>& a,
                                                       const MatrixRef<const T>& b,
                                                       const AccTile<Acc>& out) {
    Sums sums(team_thread());
    // The usual ways in which operands lie have loops of their own. Float, which is multiplied from
    // lines along the rows, copies others element by element.
    constexpr Access rows = Access::along_rows;
    constexpr Access other = sizeof(T) == 4 ? Access::elements_along_k : Access::along_k;
    const Access a_access = access_of(a);
    const Access b_access = access_of(b);
    if (a_access == other && b_access == other) {
      compute_as<other, other>(a, b, sums);
    } else if (a_access == other && b_access == rows) {
      compute_as<other, rows>(a, b, sums);
    } else if (a_access == rows && b_access == other) {
      compute_as<rows, other>(a, b, sums);
    } else if (a_access == rows && b_access == rows) {
      compute_as<rows, rows>(a, b, sums);
    } else {
      compute_as<Access::elements, Access::elements>(a, b, sums);
    }
    const AccTile<Acc> result{out.data, out.ld, a.rows, b.rows};
    if constexpr (Sums::groups == 1) {
      store(sums, result);
    } else {
      add_groups(sums, result);
    }
  }

  template <Access A, Access B>
  KOKKOS_FORCEINLINE_FUNCTION static void compute_as(const MatrixRef<const T>& a,
                                                     const MatrixRef<const T>& b, Sums& sums) {
    const int thread = team_thread();
    const int count = static_cast<int>(ceil_div(a.cols, stage_k<T, Tile>));
    Copies<A, B> copies{{a, count, thread}, {b, count, thread}};
    multiply(count, copies, WarpProduct<T, Tile, lines_of<T>(A), lines_of<T>(B)>(sums), sums);
  }

  template <Access A, Access B>
  struct Copies {
    OperandCopy<T, Tile, A> a;
    OperandCopy<T, Tile, B> b;

    /// Starts copying step `step` of `Steps` of the next stage to its place in shared memory.
    template <int Steps>
    KOKKOS_FORCEINLINE_FUNCTION void start(int step, std::uint32_t place) const {
      // Four steps copy a part of both operands, more steps one part in turns.
      constexpr int parts = 4;
      constexpr int turn = Steps > parts ? Steps / (2 * parts) : 1;
      const int number = Steps > parts ? step / turn / 2 : step;
      if (step % turn != 0) return;
      if (Steps == parts || step / turn % 2 == 0) a.start(number, place);
      if (Steps == parts || step / turn % 2 == 1) b.start(number, place + operand_bytes);
    }
    /// All steps of the stage are started.
    KOKKOS_FORCEINLINE_FUNCTION void end() {
      end_copies();
      a.advance();
      b.advance();
    }
  };

  /// The fragments of each step are read during the step before. The barrier of a stage is in the
  /// middle of its predecessor's last products, so that none waits with nothing to multiply; after
  /// it all have read the stage before the last, whose place the next copies take.
  ///
  /// Behind the last stage zeros are copied and read that are not used, which spares conditions.
  template <class Copies, class Warp>
  KOKKOS_FORCEINLINE_FUNCTION static void multiply(int count, Copies& copies, const Warp& warp,
                                                   Sums& sums) {
    constexpr int steps = Warp::steps;
    if (count == 0) return team_barrier();
    const std::uint32_t first = shared_address(team_memory());
    const std::uint32_t end = first + stages * stage_bytes;
    KOKKOSIRIS_SM80_NO_UNROLL
    for (std::uint32_t place = first; place != end - stage_bytes; place += stage_bytes) {
      KOKKOSIRIS_UNROLL
      for (int step = 0; step < steps; ++step) copies.template start<steps>(step, place);
      copies.end();
    }
    wait_copies<stages - 2>();
    team_barrier();
    typename Warp::Fragment fragments[2];
    warp.read(first, 0, fragments[0]);
    std::uint32_t place = first, last = end - stage_bytes;
    KOKKOSIRIS_SM80_NO_UNROLL
    for (int s = 0; s < count; ++s) {
      std::uint32_t next = place + stage_bytes == end ? first : place + stage_bytes;
      // In one register: else each address has the first place added anew.
      hide(next);
      KOKKOSIRIS_UNROLL
      for (int step = 0; step < steps; ++step) {
        typename Warp::Fragment& held = fragments[step % 2];
        typename Warp::Fragment& coming = fragments[(step + 1) % 2];
        if (step + 1 < steps) warp.read(place, step + 1, coming);
        copies.template start<steps>(step, last);
        warp.multiply(held, 0, sums);
        if (step + 1 == steps) {
          copies.end();
          wait_copies<stages - 2>();
          team_barrier();
          warp.read(next, 0, coming);
        }
        warp.multiply(held, 1, sums);
      }
      last = place;
      place = next;
    }
    wait_copies<0>();
    team_barrier();
  }

  /// Stores `run` sums that are adjacent in a row; what is outside of the tile is left out.
  template <int Run>
  KOKKOS_FORCEINLINE_FUNCTION static void store_run(const AccTile<Acc>& out, bool wide, int row,
                                                    int column, const Acc (&values)[Run]) {
    const int columns = static_cast<int>(out.cols);
    if (row >= static_cast<int>(out.rows) || column >= columns) return;
    Acc* const place = out.data + row * out.ld + column;
    if (wide && column + Run <= columns) {
      store_whole(place, values);
    } else {
      KOKKOSIRIS_UNROLL
      for (int e = 0; e < Run; ++e) {
        if (column + e < columns) place[e] = values[e];
      }
    }
  }
  template <int Run>
  KOKKOS_FORCEINLINE_FUNCTION static void store_whole(Acc* place, const Acc (&values)[Run]) {
    struct alignas(Run * sizeof(Acc)) Whole {
      Acc values[Run];
    } whole;
    KOKKOSIRIS_UNROLL
    for (int e = 0; e < Run; ++e) whole.values[e] = values[e];
    *reinterpret_cast<Whole*>(place) = whole;
  }
  /// True if every run that is inside can be stored by one access.
  KOKKOS_FORCEINLINE_FUNCTION static bool is_wide(const AccTile<Acc>& out) {
    return is_aligned(out.data) && (out.ld % chunk_elements<Acc> == 0 || out.rows <= 1);
  }

  KOKKOS_FORCEINLINE_FUNCTION static void store(const Sums& sums, const AccTile<Acc>& out) {
    const bool wide = is_wide(out);
    sums.for_each_run([&](int row, int column, const auto& values) {
      store_run(out, wide, row, column, values);
    });
  }

  /// Stores what the groups have together. Their sums meet in shared memory.
  KOKKOS_FORCEINLINE_FUNCTION static void add_groups(const Sums& sums, const AccTile<Acc>& out) {
    constexpr int ld = Tile + Sums::padding;
    constexpr int run = chunk_elements<Acc>;
    static_assert(Sums::groups * Tile * ld * int(sizeof(Acc)) <= stages * stage_bytes);
    Acc* const shared = reinterpret_cast<Acc*>(team_memory());
    Acc* const mine = shared + sums.group * (Tile * ld);
    sums.for_each_run([&](int row, int column, const auto& values) {
      store_whole(mine + row * ld + column, values);
    });
    team_barrier();
    const bool wide = is_wide(out);
    KOKKOSIRIS_UNROLL
    for (int i = 0; i < Tile * Tile / run / team_threads; ++i) {
      const int number = i * team_threads + team_thread();
      const int row = number / (Tile / run), column = number % (Tile / run) * run;
      Acc values[run] = {};
      KOKKOSIRIS_UNROLL
      for (int group = 0; group < Sums::groups; ++group) {
        const auto& part =
            *reinterpret_cast<const Elements<Acc>*>(shared + (group * Tile + row) * ld + column);
        KOKKOSIRIS_UNROLL
        for (int e = 0; e < run; ++e) values[e] += part.values[e];
      }
      store_run(out, wide, row, column, values);
    }
    team_barrier();
  }
};

}  // namespace KokkosIris::Impl::Sm80

#endif
