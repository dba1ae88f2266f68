// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Parts of the library as kernels of their own, of which scripts/check_isa.py asks more than of
// whole kernels. For HIP; part of each such build (unit_tests/CMakeLists.txt), never run.
//
// In kernels named Wide* all extents, strides and alignments are constants that need no narrow
// access. So the compiler removes what is for tails, and each access that is left has to be wide.

#include <Kokkos_Core.hpp>

namespace KokkosIris::Impl {
/// The threads of a block as a team, of which the compiler knows the number.
struct IsaTeam {
  static constexpr int threads = 256;
  KOKKOS_FUNCTION static int team_rank() { return static_cast<int>(threadIdx.x); }
  KOKKOS_FUNCTION static int team_size() { return threads; }
  KOKKOS_FUNCTION static void team_barrier() { KOKKOS_IF_ON_DEVICE((__syncthreads();)) }
};
struct IsaRange {
  std::int64_t count;
};
}  // namespace KokkosIris::Impl

// Ahead of the headers that call them with a team of any type.
namespace Kokkos {
KOKKOS_FORCEINLINE_FUNCTION KokkosIris::Impl::IsaRange TeamVectorRange(
    const KokkosIris::Impl::IsaTeam&, std::int64_t count) {
  return {count};
}
template <class Body>
KOKKOS_FORCEINLINE_FUNCTION void parallel_for(KokkosIris::Impl::IsaRange range, const Body& body) {
  using KokkosIris::Impl::IsaTeam;
  for (std::int64_t i = IsaTeam::team_rank(); i < range.count; i += IsaTeam::threads) {
    KOKKOS_IF_ON_DEVICE((__builtin_assume(i >= 0 && i < 65536);))
    body(i);
  }
}
}  // namespace Kokkos

#include <fused/KokkosIris_TileEngine_Mfma.hpp>
#include <rma/KokkosIris_Rma.hpp>

namespace KokkosIris::Impl {

template <class T>
__device__ T* aligned(T* p) {
  return static_cast<T*>(__builtin_assume_aligned(p, chunk_bytes));
}
/// Rows that are adjacent in themselves and begin at multiples of 16 bytes.
template <class T>
__device__ MatrixRef<T> wide_rows(T* p, std::int64_t columns) {
  return {aligned(p), Mfma::stage_rows, columns, Mfma::stage_rows, 1};
}

/// The sum of three partial tiles, to two ranks; a chunk a row.
template <class T>
__global__ void __launch_bounds__(IsaTeam::threads)
    WideSum(acc_type_t<T>* one, acc_type_t<T>* two, acc_type_t<T>* three, T* here, T* there) {
  using Tile = AccTile<acc_type_t<T>>;
  constexpr std::int64_t n = Mfma::stage_rows;
  constexpr std::int64_t columns = chunk_elements<T>;
  ChunkTileStore<T, Mfma::batch>().sum(
      IsaTeam(), 3,
      [&](int p) {
        return Tile{aligned(p == 0 ? one : p == 1 ? two : three), n, n, columns};
      },
      2, [&](int t) { return wide_rows(t == 0 ? here : there, columns); }, 0);
}

/// The same to rows that are adjacent from row to row, where a chunk is a column.
template <class T>
__global__ void __launch_bounds__(IsaTeam::threads)
    WideSumToColumns(acc_type_t<T>* one, acc_type_t<T>* two, T* here, T* there) {
  using Tile = AccTile<acc_type_t<T>>;
  constexpr std::int64_t n = Mfma::stage_rows, rows = chunk_elements<T>;
  ChunkTileStore<T, Mfma::batch>().sum(
      IsaTeam(), 2,
      [&](int p) {
        return Tile{p == 0 ? one : two, n, rows, n};
      },
      2,
      [&](int t) {
        return MatrixRef<T>{aligned(t == 0 ? here : there), rows, n, 1, n};
      },
      0);
}

/// The copy of a shard, a chunk a row.
template <class T>
__global__ void __launch_bounds__(IsaTeam::threads) WideCopy(const T* from, T* to) {
  ChunkTileStore<T, Mfma::batch>::copy_rows(IsaTeam(), wide_rows(from, chunk_elements<T>),
                                            aligned(to), Mfma::stage_rows);
}

/// A stage of an operand, from global memory to LDS.
template <class T>
__device__ void stage(const MatrixRef<const T>& m, std::int64_t k, char* lds) {
  const Mfma::Access access = Mfma::access_of(m);
  Mfma::TeamRegister<Mfma::Staged> staged;
  Mfma::load_stage<true>(IsaTeam(), m, access, k * Mfma::stage_k<T>, staged);
  Mfma::store_stage<T>(IsaTeam(), access, staged, lds);
}
template <class T>
__global__ void __launch_bounds__(IsaTeam::threads) WideStageAlongK(const T* a, int k) {
  extern __shared__ char lds[];
  stage<T>(wide_rows(a, Mfma::stage_rows), k, lds);
}
template <class T>
__global__ void __launch_bounds__(IsaTeam::threads) WideStageAlongRows(const T* a, int k) {
  extern __shared__ char lds[];
  const MatrixRef<const T> m = wide_rows(a, Mfma::stage_rows);
  stage<T>({m.data, m.rows, m.cols, m.col_stride, m.row_stride}, k, lds);
}

// Remote atomics: each with its release, and none that the memory of heaps does not take.
template <class T>
__global__ void AtomicAdd(DeviceContext context, T* p, T* before) {
  *before = atomic_add(context, p, T(1), 1);
}
template <class T>
__global__ void AtomicSubRelease(DeviceContext context, T* p, T value) {
  atomic_sub(context, p, value, 1, release);
}
template <class T>
__global__ void AtomicMin(DeviceContext context, T* p, T* before) {
  *before = atomic_min(context, p, T(1), 1);
}
template <class T>
__global__ void AtomicExchange(DeviceContext context, T* p, T* before) {
  *before = atomic_xchg(context, p, T(1), 1, release);
}
template <class T>
__global__ void AtomicCompare(DeviceContext context, T* p, T* before) {
  *before = atomic_cas(context, p, T(1), T(2), 1);
}
template <class T>
__global__ void AtomicOnDevice(DeviceContext context, T* p, T* before) {
  *before = atomic_add(context, p, T(1), 0, acq_rel, device_scope);
}

// Of users' kernels, without this library's functions.
template <class T>
__global__ void PlainAtomicAdd(T* p, T value) {
  Kokkos::atomic_add(p, value);
}

// Signals, and the fence between a store and a load.
template <class T>
__global__ void SignalSetting(DeviceContext context, signal_t* word, T* there, T value) {
  *there = value;
  signal(context, word, 1, signal_set, 1);
}
template <class T>
__global__ void SignalAdding(DeviceContext context, signal_t* word, T* there, T value) {
  *there = value;
  signal(context, word, 1, signal_add, 1);
}
template <class T>
__global__ void FenceBetween(DeviceContext context, T* mine, const T* theirs, T* seen) {
  *mine = T(1);
  fence(context);
  *seen = *theirs;
}

#define KOKKOSIRIS_PARTS(T)                                                                    \
  template __global__ void WideSum<T>(acc_type_t<T>*, acc_type_t<T>*, acc_type_t<T>*, T*, T*); \
  template __global__ void WideSumToColumns<T>(acc_type_t<T>*, acc_type_t<T>*, T*, T*);        \
  template __global__ void WideCopy<T>(const T*, T*);                                          \
  template __global__ void WideStageAlongK<T>(const T*, int);                                  \
  template __global__ void WideStageAlongRows<T>(const T*, int);
KOKKOSIRIS_PARTS(double)
KOKKOSIRIS_PARTS(float)
KOKKOSIRIS_PARTS(half_t)
KOKKOSIRIS_PARTS(bhalf_t)
#undef KOKKOSIRIS_PARTS

#define KOKKOSIRIS_ATOMICS(T)                                         \
  template __global__ void AtomicAdd<T>(DeviceContext, T*, T*);       \
  template __global__ void AtomicSubRelease<T>(DeviceContext, T*, T); \
  template __global__ void AtomicMin<T>(DeviceContext, T*, T*);       \
  template __global__ void AtomicExchange<T>(DeviceContext, T*, T*);  \
  template __global__ void AtomicCompare<T>(DeviceContext, T*, T*);   \
  template __global__ void AtomicOnDevice<T>(DeviceContext, T*, T*);
KOKKOSIRIS_ATOMICS(double)
KOKKOSIRIS_ATOMICS(float)
KOKKOSIRIS_ATOMICS(std::int64_t)
KOKKOSIRIS_ATOMICS(std::uint32_t)
#undef KOKKOSIRIS_ATOMICS

template __global__ void PlainAtomicAdd<double>(double*, double);
template __global__ void PlainAtomicAdd<float>(float*, float);
template __global__ void SignalSetting<double>(DeviceContext, signal_t*, double*, double);
template __global__ void SignalAdding<double>(DeviceContext, signal_t*, double*, double);
template __global__ void FenceBetween<double>(DeviceContext, double*, const double*, double*);

}  // namespace KokkosIris::Impl
