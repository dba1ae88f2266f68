# SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# Finds what the library stands on, and says in one sentence what to do about what is missing.

set(KokkosIris_KOKKOS_MINIMUM 4.7.0)

# Kokkos: a target of the parent project, else an installed one. KokkosConfigVersion.cmake accepts
# only its own major version, so the minimum is checked here and not by find_package.
if(NOT TARGET Kokkos::kokkos)
  find_package(Kokkos QUIET)
  if(NOT Kokkos_FOUND)
    message(
      FATAL_ERROR
        "KokkosIris: no Kokkos found. Set CMAKE_PREFIX_PATH (or Kokkos_ROOT) to an installation of "
        "Kokkos ${KokkosIris_KOKKOS_MINIMUM} or newer, or run scripts/dependencies.sh, which builds one "
        "and prints where it is.")
  endif()
elseif(NOT DEFINED Kokkos_VERSION AND EXISTS "${Kokkos_BINARY_DIR}/KokkosCore_config.h")
  # Kokkos as a sub-directory keeps its version variable to itself.
  file(STRINGS "${Kokkos_BINARY_DIR}/KokkosCore_config.h" version_line REGEX "define KOKKOS_VERSION ")
  string(REGEX MATCH "[0-9]+" version_number "${version_line}")
  math(EXPR major "${version_number} / 10000")
  math(EXPR minor "${version_number} / 100 % 100")
  math(EXPR patch "${version_number} % 100")
  set(Kokkos_VERSION ${major}.${minor}.${patch})
endif()
if(Kokkos_VERSION VERSION_LESS KokkosIris_KOKKOS_MINIMUM)
  message(
    FATAL_ERROR "KokkosIris: Kokkos ${Kokkos_VERSION} in ${Kokkos_DIR} is too old; "
                "${KokkosIris_KOKKOS_MINIMUM} or newer is needed. Set CMAKE_PREFIX_PATH (or Kokkos_ROOT) "
                "to a newer installation.")
endif()
# View's size depends on [[no_unique_address]], which Kokkos uses from C++20 on: a Kokkos library of
# an older standard and our C++20 code would disagree about the layout of its own classes.
if(DEFINED Kokkos_CXX_STANDARD AND Kokkos_CXX_STANDARD LESS 20)
  message(
    FATAL_ERROR
      "KokkosIris: the Kokkos in ${Kokkos_DIR} was built for C++${Kokkos_CXX_STANDARD}; "
      "C++20 is needed. Build Kokkos with -DCMAKE_CXX_STANDARD=20.")
endif()
# A shared library that takes in a static Kokkos holds a second copy of Kokkos' global state beside the
# application's: constructed and destroyed twice.
if(BUILD_SHARED_LIBS AND TARGET Kokkos::kokkoscore)
  get_target_property(kokkos_type Kokkos::kokkoscore TYPE)
  if(kokkos_type STREQUAL "STATIC_LIBRARY")
    message(FATAL_ERROR "KokkosIris: BUILD_SHARED_LIBS=ON needs a shared Kokkos, but the one in "
                        "${Kokkos_DIR} is static. Build Kokkos with -DBUILD_SHARED_LIBS=ON, or "
                        "KokkosIris with -DBUILD_SHARED_LIBS=OFF.")
  endif()
endif()
if(NOT "cxx_std_20" IN_LIST CMAKE_CXX_COMPILE_FEATURES)
  message(FATAL_ERROR "KokkosIris: ${CMAKE_CXX_COMPILER} does not know C++20.")
endif()

# The C++ bindings of MPI-2 are neither used nor wanted (they do not compile without warnings).
if(NOT DEFINED MPI_CXX_SKIP_MPICXX)
  set(MPI_CXX_SKIP_MPICXX ON)
endif()
find_package(MPI REQUIRED COMPONENTS CXX)
find_package(Threads REQUIRED)

set(KokkosIris_KERNELS_TARGET)
if(KokkosIris_ENABLE_FUSED)
  if(NOT TARGET KokkosKernels::all_libs AND NOT TARGET Kokkos::kokkoskernels)
    find_package(KokkosKernels QUIET)
  endif()
  # Kokkos Kernels 5 exports KokkosKernels::all_libs, earlier ones also Kokkos::kokkoskernels.
  foreach(candidate KokkosKernels::all_libs KokkosKernels::kokkoskernels Kokkos::kokkoskernels)
    if(TARGET ${candidate})
      set(KokkosIris_KERNELS_TARGET ${candidate})
      break()
    endif()
  endforeach()
  if(NOT KokkosIris_KERNELS_TARGET)
    message(
      FATAL_ERROR
        "KokkosIris: the fused operations need Kokkos Kernels, and none was found. Add its prefix to "
        "CMAKE_PREFIX_PATH (or KokkosKernels_ROOT), or leave the fused operations out with "
        "-DKokkosIris_ENABLE_FUSED=OFF.")
  endif()
endif()

set(KokkosIris_HAVE_BLAS OFF)
if(KokkosIris_ENABLE_FUSED AND KokkosIris_ENABLE_BLAS)
  find_package(BLAS QUIET)
  set(KokkosIris_HAVE_BLAS ${BLAS_FOUND})
  if(NOT KokkosIris_HAVE_BLAS AND NOT KokkosIris_BLAS_REQUEST STREQUAL "AUTO")
    message(FATAL_ERROR "KokkosIris: KokkosIris_ENABLE_BLAS=${KokkosIris_ENABLE_BLAS}, but no BLAS "
                        "library was found. Install one (libopenblas-dev) or set BLAS_LIBRARIES.")
  endif()
elseif(KokkosIris_ENABLE_BLAS AND NOT KokkosIris_BLAS_REQUEST STREQUAL "AUTO")
  message(FATAL_ERROR "KokkosIris: KokkosIris_ENABLE_BLAS=${KokkosIris_ENABLE_BLAS} has no meaning "
                      "with KokkosIris_ENABLE_FUSED=OFF: only the fused operations use BLAS.")
endif()
