// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// For check_isa_test.py: a kernel that keeps the rules of check_isa.py, and breaks one where
// FAULT_<rule> is defined.

#include <hip/hip_runtime.h>

__device__ inline void arrive() {
  __asm__ volatile("s_waitcnt vmcnt(0) expcnt(0)" ::: "memory");
  __syncthreads();
}

// A flag, as gpu_store_release() raises it.
__device__ inline void raise(unsigned long* flag) {
#ifdef FAULT_release
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
#else
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "");
#endif
  __asm__ volatile("s_waitcnt vmcnt(0)" ::: "memory");
  __hip_atomic_store(flag, 1ul, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
}

template <class T>
__global__ void __launch_bounds__(256)
    sample(float4* tile, const float4* source, unsigned long* mine, unsigned long* theirs,
           float* sums, int index) {
#ifdef FAULT_acquire
  constexpr int acquire_scope = __HIP_MEMORY_SCOPE_AGENT;
#else
  constexpr int acquire_scope = __HIP_MEMORY_SCOPE_SYSTEM;
#endif
  if (threadIdx.x == 0) {
    while (__hip_atomic_load(mine, __ATOMIC_ACQUIRE, acquire_scope) == 0) {
    }
  }
  __syncthreads();

#ifdef FAULT_scratch
  float many[256];
  for (int i = 0; i < 256; ++i) many[i] = sums[i * index];
  sums[threadIdx.x] = many[index];
#endif
#ifdef FAULT_scratch_instruction
  float from_scratch;
  __asm__ volatile("scratch_load_dword %0, off, s0" : "=v"(from_scratch));
  sums[threadIdx.x] = from_scratch;
#endif
#ifdef FAULT_registers
  float live[320];
#pragma unroll
  for (int i = 0; i < 320; ++i) live[i] = sums[i * 256 + threadIdx.x];
  __asm__ volatile("" ::: "memory");
#pragma unroll
  for (int i = 0; i < 320; ++i) sums[i * 256 + threadIdx.x] = live[319 - i] * live[i];
#endif
#ifdef FAULT_atomics
  unsafeAtomicAdd(sums + index, 1.0f);
#endif
  // The team's memory, of which the launch says how much there is.
  extern __shared__ float4 memory[];
#ifdef FAULT_load
  // As double: half of an element at a time, at places that are not next to each other.
  memory[threadIdx.x].x = static_cast<float>(reinterpret_cast<const double*>(source)[threadIdx.x]);
#else
  memory[threadIdx.x] = source[threadIdx.x];
#endif
#ifdef FAULT_lds
  __shared__ float fixed[256];
  fixed[threadIdx.x] = sums[threadIdx.x];
#endif
  __syncthreads();
#ifdef FAULT_lds
  sums[threadIdx.x] = fixed[threadIdx.x ^ 65];
#endif
  using Four = __attribute__((__vector_size__(16))) float;
  using FourHalves [[maybe_unused]] = __attribute__((__vector_size__(8))) _Float16;
#ifdef FAULT_lds_read
  const float one = memory[threadIdx.x ^ 65].x;
  const float4 in{one, one, one, one};
#else
  const float4 in = memory[threadIdx.x ^ 65];
#endif
#if defined(FAULT_matrix)
  const Four sum = {in.x * in.y, in.y, in.z, in.w};
#elif defined(FAULT_matrix_type)
  const FourHalves halves = {_Float16(in.x), _Float16(in.y), _Float16(in.z), _Float16(in.w)};
  const Four sum =
      __builtin_amdgcn_mfma_f32_16x16x16f16(halves, halves, Four{in.x, in.y, in.z, in.w}, 0, 0, 0);
#else
  const Four sum =
      __builtin_amdgcn_mfma_f32_16x16x4f32(in.x, in.y, Four{in.x, in.y, in.z, in.w}, 0, 0, 0);
#endif
#ifdef FAULT_stores
  // Half of an element at a time, at places that are not next to each other.
  reinterpret_cast<double*>(tile)[threadIdx.x] = sum[0];
#else
  tile[threadIdx.x] = float4{sum[0], sum[1], sum[2], sum[3]};
#endif
#ifdef FAULT_arrival
  __syncthreads();
#elif defined(FAULT_arrival_store)
  __asm__ volatile("s_waitcnt vmcnt(0) expcnt(0)" ::: "memory");
  sums[threadIdx.x] = sum[0];
  __syncthreads();
#else
  arrive();
#endif
  if (threadIdx.x == 0) raise(theirs);
  arrive();
  if (threadIdx.x == 0) {
    // A counter of teams, as count_team() adds to it.
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "agent");
    __asm__ volatile("s_waitcnt vmcnt(0)" ::: "memory");
    if (__hip_atomic_fetch_add(mine + 16, 1ul, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT) != 9) {
      return;
    }
  }
  arrive();
  if (threadIdx.x == 0) raise(theirs + 16);
}

template __global__ void sample<float>(float4*, const float4*, unsigned long*, unsigned long*,
                                       float*, int);
