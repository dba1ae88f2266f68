# SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# Build options. Every one starts with KokkosIris_ENABLE_; a misspelt one is an error, because CMake
# would take it silently and build something else than what was asked for.

# kokkosiris_option(<suffix> <BOOL|STRING> <default> <help>)
macro(kokkosiris_option suffix type default help)
  set(KokkosIris_ENABLE_${suffix}
      "${default}"
      CACHE ${type} "${help}")
  list(APPEND KokkosIris_OPTIONS KokkosIris_ENABLE_${suffix})
endmacro()

set(KokkosIris_OPTIONS)
kokkosiris_option(TESTS BOOL ${PROJECT_IS_TOP_LEVEL} "Build and register the unit and install tests")
kokkosiris_option(PERF_TESTS BOOL OFF "Build kokkosiris_bench and register it with ctest (label perf)")
kokkosiris_option(CHROOT_TESTS BOOL OFF "Register the checks in chroots with ctest (label chroot; as root)")
kokkosiris_option(EXAMPLES BOOL ${PROJECT_IS_TOP_LEVEL} "Build the examples")
kokkosiris_option(DOCS BOOL OFF "Build the API reference with Doxygen (target docs)")
kokkosiris_option(FUSED BOOL ON "Fused GEMM and collective operations (needs Kokkos Kernels)")
kokkosiris_option(BLAS STRING AUTO "Host tile engine on a BLAS library: ON, OFF or AUTO (if found)")
kokkosiris_option(VALIDATION BOOL OFF "Check every remote pointer against the bounds of its heap")
kokkosiris_option(SANITIZERS STRING OFF "OFF, address, undefined, thread or address,undefined")
kokkosiris_option(WERROR BOOL OFF "Treat compiler warnings as errors (for developers)")
set_property(CACHE KokkosIris_ENABLE_BLAS PROPERTY STRINGS AUTO ON OFF)
set_property(CACHE KokkosIris_ENABLE_SANITIZERS
             PROPERTY STRINGS OFF address undefined thread "address,undefined")

# Refuses a variable that looks like one of our options but is none.
function(kokkosiris_check_option_names)
  get_cmake_property(cache_variables CACHE_VARIABLES)
  get_cmake_property(variables VARIABLES)
  list(APPEND variables ${cache_variables})
  list(REMOVE_DUPLICATES variables)
  foreach(variable IN LISTS variables)
    string(TOLOWER "${variable}" lower_variable)
    if(NOT lower_variable MATCHES "^kokkosiris_enable_" OR variable IN_LIST KokkosIris_OPTIONS)
      continue()
    endif()
    # An offending entry is dropped from the cache: otherwise the error would stay after the command
    # line was corrected.
    unset(${variable} CACHE)
    foreach(option IN LISTS KokkosIris_OPTIONS)
      string(TOLOWER "${option}" lower_option)
      if(lower_option STREQUAL lower_variable)
        message(FATAL_ERROR "KokkosIris: unknown option ${variable}; did you mean ${option}? "
                            "(Option names are case-sensitive.)")
      endif()
    endforeach()
    list(JOIN KokkosIris_OPTIONS "\n  " known)
    message(FATAL_ERROR "KokkosIris: unknown option ${variable}. The options are\n  ${known}")
  endforeach()
endfunction()
kokkosiris_check_option_names()

string(TOUPPER "${KokkosIris_ENABLE_BLAS}" KokkosIris_BLAS_REQUEST)
if(NOT KokkosIris_BLAS_REQUEST MATCHES "^(AUTO|ON|OFF|TRUE|FALSE|YES|NO|1|0)$")
  message(FATAL_ERROR "KokkosIris_ENABLE_BLAS is '${KokkosIris_ENABLE_BLAS}'; use ON, OFF or AUTO.")
endif()

set(KokkosIris_SANITIZERS "${KokkosIris_ENABLE_SANITIZERS}")
if(NOT KokkosIris_SANITIZERS)
  set(KokkosIris_SANITIZERS "")
elseif(NOT KokkosIris_SANITIZERS MATCHES "^(address|undefined|thread|address,undefined|undefined,address)$")
  message(FATAL_ERROR "KokkosIris_ENABLE_SANITIZERS is '${KokkosIris_ENABLE_SANITIZERS}'; "
                      "use OFF, address, undefined, thread or address,undefined.")
endif()
