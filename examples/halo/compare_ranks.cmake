# SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# cmake -DPROGRAM=<halo> -DMPIEXEC=<mpiexec> -DNUMPROC_FLAG=<-n> -P compare_ranks.cmake
# runs the example with 1, 2, 3 and 4 ranks. Fails unless all print the same residual, and it is the
# right one: values are at most 1 and gather less than 4 rounding errors a step, so the residual is
# exact to 400 * 4 * 1.1e-16 * 192 < 4e-11, where one unit of the last digit compared here is 1e-9.
set(expected "3.0283202")

set(residual)
foreach(ranks 1 2 3 4)
  execute_process(
    COMMAND ${MPIEXEC} ${NUMPROC_FLAG} ${ranks} ${PROGRAM}
    OUTPUT_VARIABLE output
    RESULT_VARIABLE status)
  message("${output}")
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${ranks} ranks: exit status ${status}")
  endif()
  if(NOT output MATCHES "halo: ranks=${ranks} residual=(${expected}[0-9]*e[-+][0-9]+)\n")
    message(FATAL_ERROR "${ranks} ranks: expected a residual of ${expected}...")
  endif()
  if(residual AND NOT CMAKE_MATCH_1 STREQUAL residual)
    message(FATAL_ERROR "${ranks} ranks: the residual is not that of fewer ranks, ${residual}")
  endif()
  set(residual ${CMAKE_MATCH_1})
endforeach()
