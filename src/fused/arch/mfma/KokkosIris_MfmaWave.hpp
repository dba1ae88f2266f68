// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// Waves of 64 lanes, as the engine for AMD's matrix cores is written for them, on the device and
/// on the host.
///
/// The engine's text is one. On the device every thread executes it for itself. On the host one
/// thread executes it for all 256 threads of the team: it is a sequence of *phases*, "for each
/// thread", "for each wave", "for each lane", which are loops there; what a thread keeps from one
/// phase to the next is an element of a register type, which holds one value on the device and
/// those of all threads on the host. A phase must not read what another thread writes in it.

#ifndef KOKKOSIRIS_MFMA_WAVE_HPP
#define KOKKOSIRIS_MFMA_WAVE_HPP

#include <Kokkos_Core.hpp>
#include <fused/arch/KokkosIris_Chunks.hpp>

/// True while the compiler makes code for AMD GPUs; then, for those that have the instructions.
#if defined(__HIP_DEVICE_COMPILE__)
#define KOKKOSIRIS_MFMA_ON_DEVICE 1
#if defined(__gfx90a__) || defined(__gfx942__)
#define KOKKOSIRIS_MFMA_HAVE_INSTRUCTIONS 1
#endif
#endif

namespace KokkosIris::Impl {

/// True if this build's GPU has the matrix instructions: those of CDNA2 and CDNA3.
#if defined(KOKKOS_ARCH_AMD_GFX90A) || defined(KOKKOS_ARCH_AMD_GFX942) || \
    defined(KOKKOS_ARCH_AMD_GFX942_APU)
inline constexpr bool have_mfma_gpu = true;
#else
inline constexpr bool have_mfma_gpu = false;
#endif

namespace Mfma {

#if defined(KOKKOSIRIS_MFMA_ON_DEVICE)
inline constexpr bool on_device = true;
#else
inline constexpr bool on_device = false;
#endif

inline constexpr int wave_lanes = 64;
inline constexpr int team_waves = 4;
inline constexpr int team_threads = wave_lanes * team_waves;
/// See for_each_batch().
inline constexpr int batch = 1;
/// Waves that one thread of the machine executes.
inline constexpr int held_waves = on_device ? 1 : team_waves;

/// A value in each lane of a wave.
template <class V>
struct WaveRegister {
  V held[on_device ? 1 : wave_lanes];
  KOKKOS_FORCEINLINE_FUNCTION V& operator[](int lane) { return held[on_device ? 0 : lane]; }
  KOKKOS_FORCEINLINE_FUNCTION const V& operator[](int lane) const {
    return held[on_device ? 0 : lane];
  }
};
/// A value in each thread of a team.
template <class V>
struct TeamRegister {
  V held[on_device ? 1 : team_threads];
  KOKKOS_FORCEINLINE_FUNCTION V& operator[](int thread) { return held[on_device ? 0 : thread]; }
};

/// A phase: body(thread) for each thread of the team.
template <class Team, class Body>
KOKKOS_FORCEINLINE_FUNCTION void for_each_thread([[maybe_unused]] const Team& team,
                                                 const Body& body) {
  if constexpr (on_device) {
    body(team.team_rank());
  } else {
    for (int thread = 0; thread < team_threads; ++thread) body(thread);
  }
}

/// A phase: body(wave, held) for each wave of the team; `held` is its index in arrays of
/// held_waves. The lanes of a wave are consecutive threads.
template <class Team, class Body>
KOKKOS_FORCEINLINE_FUNCTION void for_each_wave([[maybe_unused]] const Team& team,
                                               const Body& body) {
#if defined(KOKKOSIRIS_MFMA_ON_DEVICE)
  // The first lane's number is all lanes' number: branches that depend on it stay scalar.
  body(__builtin_amdgcn_readfirstlane(team.team_rank() / wave_lanes), 0);
#else
  for (int wave = 0; wave < team_waves; ++wave) body(wave, wave);
#endif
}

/// A phase within a wave: body(lane) for each of its lanes.
template <class Team, class Body>
KOKKOS_FORCEINLINE_FUNCTION void for_each_lane([[maybe_unused]] const Team& team,
                                               const Body& body) {
  if constexpr (on_device) {
    body(team.team_rank() % wave_lanes);
  } else {
    for (int lane = 0; lane < wave_lanes; ++lane) body(lane);
  }
}

}  // namespace Mfma
}  // namespace KokkosIris::Impl

#endif
