// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// For check_isa.py --self-test: a kernel that keeps its rules, and breaks one where FAULT_<rule> is
// defined.

#include <hip/hip_runtime.h>

template <class T>
__global__ void __launch_bounds__(256)
    sample(float4* tile, const float4* source, unsigned long* mine, unsigned long* theirs,
           float* sums, int index) {
#ifdef FAULT_acquire
  constexpr int acquire_scope = __HIP_MEMORY_SCOPE_AGENT;
#else
  constexpr int acquire_scope = __HIP_MEMORY_SCOPE_SYSTEM;
#endif
#ifdef FAULT_release
  constexpr int release_scope = __HIP_MEMORY_SCOPE_WORKGROUP;
#else
  constexpr int release_scope = __HIP_MEMORY_SCOPE_SYSTEM;
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
#ifdef FAULT_size
  float live[160];
#pragma unroll
  for (int i = 0; i < 160; ++i) live[i] = sums[i * 256 + threadIdx.x];
  __syncthreads();
#pragma unroll
  for (int i = 0; i < 160; ++i) sums[i * 256 + threadIdx.x] = live[159 - i] * live[i];
#endif
#ifdef FAULT_atomics
  unsafeAtomicAdd(sums + index, 1.0f);
#endif
  using Four = __attribute__((__vector_size__(16))) float;
  const float4 in = source[threadIdx.x];
#ifdef FAULT_matrix
  const Four sum = {in.x * in.y, in.y, in.z, in.w};
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
#ifndef FAULT_arrival
  __asm__ volatile("s_waitcnt vmcnt(0) expcnt(0)" ::: "memory");
#endif
  __syncthreads();
  if (threadIdx.x == 0) __hip_atomic_store(theirs, 1ul, __ATOMIC_RELEASE, release_scope);
}

template __global__ void sample<float>(float4*, const float4*, unsigned long*, unsigned long*,
                                       float*, int);
