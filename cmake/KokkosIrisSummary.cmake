# SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# One block at the end of a top-level configuration that says what will be built.
if(NOT PROJECT_IS_TOP_LEVEL)
  return()
endif()
message(STATUS "KokkosIris ${PROJECT_VERSION}:")
message(STATUS "  Kokkos       ${Kokkos_VERSION} (${Kokkos_DEVICES}) in ${Kokkos_DIR}")
message(STATUS "  MPI          ${MPI_CXX_VERSION} (${MPIEXEC_EXECUTABLE})")
message(STATUS "  Fused        ${KokkosIris_ENABLE_FUSED}, host kernels: generic ${KokkosIris_HOST_ISAS}")
message(STATUS "  sm90 engine  ${KokkosIris_HAVE_SM90}")
message(STATUS "  BLAS engine  ${KokkosIris_HAVE_BLAS} ${BLAS_LIBRARIES}")
message(STATUS "  Validation   ${KokkosIris_ENABLE_VALIDATION}, sanitizers: ${KokkosIris_ENABLE_SANITIZERS}")
message(STATUS "  Tests ${KokkosIris_ENABLE_TESTS}, perf tests ${KokkosIris_ENABLE_PERF_TESTS}, "
               "chroot tests ${KokkosIris_ENABLE_CHROOT_TESTS}, "
               "examples ${KokkosIris_ENABLE_EXAMPLES}, docs ${KokkosIris_ENABLE_DOCS}")
