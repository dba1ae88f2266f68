# SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# How tests are run: under mpiexec, once a number of ranks, each with a time limit.

# Ranks may outnumber cores. In unit tests they must not be bound to a core either: a rank has two
# threads, and two tests may run side by side. Both names of each setting: Open MPI 4 and 5.
set(KokkosIris_MPI_ENVIRONMENT OMPI_MCA_rmaps_base_oversubscribe=1
                               PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe)
set(unbound OMPI_MCA_hwloc_base_binding_policy=none PRTE_MCA_hwloc_default_binding_policy=none)
# Open MPI refuses to start as root unless told twice.
execute_process(
  COMMAND id -u
  OUTPUT_VARIABLE user_id
  OUTPUT_STRIP_TRAILING_WHITESPACE)
if(user_id STREQUAL "0")
  list(APPEND KokkosIris_MPI_ENVIRONMENT OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1)
endif()

set(threads 2)
if(KokkosIris_SANITIZERS STREQUAL "thread")
  # libgomp is not instrumented: its barriers are invisible and every parallel loop would be a race.
  set(threads 1)
endif()
set(KokkosIris_TEST_ENVIRONMENT
    ${KokkosIris_MPI_ENVIRONMENT}
    ${unbound}
    OMPI_MCA_mpi_yield_when_idle=1
    KOKKOSIRIS_TIMEOUT=30
    OMP_NUM_THREADS=${threads}
    OMP_PROC_BIND=false
    # Ranks outnumber cores: libgomp's threads would otherwise spin for milliseconds at each loop's end.
    OMP_WAIT_POLICY=passive
    OPENBLAS_NUM_THREADS=1)
if(Kokkos_ENABLE_THREADS)
  # Kokkos may take a thread for each core in every rank. kokkosiris_add_mpi_test() knows the ranks.
  list(APPEND KokkosIris_TEST_ENVIRONMENT KOKKOS_NUM_THREADS=1)
endif()
if(KokkosIris_SANITIZERS)
  # The MPI library's own leaks are not ours; what is left is an error, with a stack. Tests ask for more
  # memory than there is: that fails as it does elsewhere and does not end the process.
  set(null allocator_may_return_null=1)
  list(APPEND KokkosIris_TEST_ENVIRONMENT
       ASAN_OPTIONS=detect_leaks=0:detect_stack_use_after_return=1:${null}
       UBSAN_OPTIONS=print_stacktrace=1
       "TSAN_OPTIONS=halt_on_error=1:${null}:suppressions=${PROJECT_SOURCE_DIR}/cmake/tsan.supp")
endif()

# kokkosiris_polling_threads(<ranks> <variable>): how many threads a rank has where Kokkos' host backend
# is Threads, whose workers poll all the time, also between kernels, and give up the processor too late:
# where two threads of a team share one, each team barrier lasts until the scheduler takes it from them
# (a test of a thousand teams took 4 s instead of 3 ms). So several only if each gets a processor.
function(kokkosiris_polling_threads ranks variable)
  cmake_host_system_information(RESULT cores QUERY NUMBER_OF_LOGICAL_CORES)
  math(EXPR wanted "${ranks} * ${threads}")
  if(wanted GREATER cores)
    set(threads 1)
  endif()
  set(${variable} ${threads} PARENT_SCOPE)
endfunction()

# kokkosiris_add_mpi_test(NAME <name> TARGET <target> RANKS <n> [ARGS ...] [LABELS ...]
#                         [TIMEOUT <s>] [ENVIRONMENT VAR=value ...] [SERIAL])
# registers the ctest <name>: <target> with <n> ranks. SERIAL keeps other tests from running beside it.
function(kokkosiris_add_mpi_test)
  cmake_parse_arguments(test "SERIAL" "NAME;TARGET;RANKS;TIMEOUT" "ARGS;LABELS;ENVIRONMENT" ${ARGN})
  if(NOT test_TIMEOUT)
    set(test_TIMEOUT 120)
  endif()
  add_test(NAME ${test_NAME}
           COMMAND ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} ${test_RANKS} ${MPIEXEC_PREFLAGS}
                   $<TARGET_FILE:${test_TARGET}> ${MPIEXEC_POSTFLAGS} ${test_ARGS})
  # A test takes as many of ctest's -j slots as it has ranks, so tests of several ranks do not share
  # the machine and time limits keep their meaning; threads that poll take slots, too.
  set(slots ${test_RANKS})
  if(Kokkos_ENABLE_THREADS)
    kokkosiris_polling_threads(${test_RANKS} count)
    math(EXPR slots "${test_RANKS} * ${count}")
    list(PREPEND test_ENVIRONMENT KOKKOS_NUM_THREADS=${count}) # the last entry holds
  endif()
  set_tests_properties(
    ${test_NAME}
    PROPERTIES PROCESSORS ${slots}
               TIMEOUT ${test_TIMEOUT}
               LABELS "${test_LABELS}"
               RUN_SERIAL ${test_SERIAL}
               ENVIRONMENT "${KokkosIris_TEST_ENVIRONMENT};${test_ENVIRONMENT}")
endfunction()

# kokkosiris_add_perf_test(NAME <name> RANKS <n> [ARGS ...] [TIMEOUT <s>])
# registers a run of kokkosiris_bench, alone on the machine, one thread a rank, each rank on a core of
# its own where there are enough. The settings are those of scripts/bench.sh, which gives the reasons.
function(kokkosiris_add_perf_test)
  cmake_parse_arguments(test "" "NAME;RANKS;TIMEOUT" "ARGS" ${ARGN})
  if(NOT test_TIMEOUT)
    set(test_TIMEOUT 600)
  endif()
  cmake_host_system_information(RESULT cores QUERY NUMBER_OF_PHYSICAL_CORES)
  set(binding OMPI_MCA_hwloc_base_binding_policy=core PRTE_MCA_hwloc_default_binding_policy=core)
  if(test_RANKS GREATER cores)
    set(binding ${unbound})
  endif()
  add_test(NAME ${test_NAME}
           COMMAND ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} ${test_RANKS} ${MPIEXEC_PREFLAGS}
                   $<TARGET_FILE:kokkosiris_bench> ${MPIEXEC_POSTFLAGS} ${test_ARGS})
  set_tests_properties(
    ${test_NAME}
    PROPERTIES PROCESSORS ${test_RANKS}
               TIMEOUT ${test_TIMEOUT}
               LABELS perf
               RUN_SERIAL ON
               ENVIRONMENT
               "${KokkosIris_MPI_ENVIRONMENT};${binding};OMP_NUM_THREADS=1;OMP_PROC_BIND=false;\
OPENBLAS_NUM_THREADS=1;OMPI_MCA_btl_vader_single_copy_mechanism=none;\
MALLOC_MMAP_THRESHOLD_=4294967296;MALLOC_TRIM_THRESHOLD_=8589934592"
               ENVIRONMENT_MODIFICATION "OPENBLAS_CORETYPE=unset:;OPENBLAS_L2_SIZE=unset:")
endfunction()

# kokkosiris_source_note(<source> <key> <variable>) reads the line "// <key>: <value>" of a source.
# Notes let a test or an example say how it is to be run without an entry in a CMakeLists.txt.
function(kokkosiris_source_note source key variable)
  file(STRINGS ${source} lines REGEX "^// ${key}:" LIMIT_COUNT 1)
  string(REGEX REPLACE "^// ${key}: *" "" value "${lines}")
  string(REPLACE " " ";" value "${value}")
  set(${variable} "${value}" PARENT_SCOPE)
  # A changed note must lead to a new configuration.
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source})
endfunction()

# kokkosiris_source_wanted(<source> <variable>): false if the source has "// requires: fused" (or blas,
# cuda) and this build is without.
function(kokkosiris_source_wanted source variable)
  kokkosiris_source_note(${source} requires needs)
  set(wanted ON)
  if(("fused" IN_LIST needs AND NOT KokkosIris_ENABLE_FUSED)
     OR ("blas" IN_LIST needs AND NOT KokkosIris_HAVE_BLAS)
     OR ("cuda" IN_LIST needs AND NOT Kokkos_ENABLE_CUDA))
    set(wanted OFF)
  endif()
  set(${variable} ${wanted} PARENT_SCOPE)
endfunction()
