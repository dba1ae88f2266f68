# SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# One test for all numbers of ranks, because their results must be equal to the last bit.
add_test(NAME Example.halo
         COMMAND ${CMAKE_COMMAND} -DPROGRAM=$<TARGET_FILE:KokkosIris_Example_halo>
                 -DMPIEXEC=${MPIEXEC_EXECUTABLE} -DNUMPROC_FLAG=${MPIEXEC_NUMPROC_FLAG} -P
                 ${CMAKE_CURRENT_LIST_DIR}/compare_ranks.cmake)
set_tests_properties(Example.halo PROPERTIES PROCESSORS 4 TIMEOUT 120 LABELS example ENVIRONMENT
                                             "${KokkosIris_TEST_ENVIRONMENT}")
