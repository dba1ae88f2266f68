# SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# Sources that include Kokkos have to be compiled as the language Kokkos was compiled as: CXX, unless
# Kokkos was built with Kokkos_ENABLE_COMPILE_AS_CMAKE_LANGUAGE for CUDA or HIP. The target KokkosIris
# carries that language in its property KOKKOSIRIS_LANGUAGE. This file is installed with the package.

# kokkosiris_set_language(<target>): sets the language of all C++ sources of <target>. Does nothing for
# CXX, so an application can call it always. The language has to be enabled: find_package(KokkosIris)
# does that; a project with KokkosIris as a sub-directory calls enable_language(CUDA) itself.
function(kokkosiris_set_language target)
  get_target_property(language KokkosIris::KokkosIris KOKKOSIRIS_LANGUAGE)
  if(language STREQUAL "CXX")
    return()
  endif()
  if(NOT CMAKE_${language}_COMPILER)
    message(FATAL_ERROR "kokkosiris_set_language(${target}): Kokkos was built as ${language}; call "
                        "enable_language(${language}) before.")
  endif()
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "\\.(cpp|cxx|cc)$")
  set_source_files_properties(${sources} TARGET_DIRECTORY ${target} PROPERTIES LANGUAGE ${language})
  if(CMAKE_${language}20_STANDARD_COMPILE_OPTION)
    set_target_properties(${target} PROPERTIES ${language}_STANDARD 20 ${language}_STANDARD_REQUIRED ON)
  else()
    # CMake up to 3.25.1 does not know that nvcc has C++20.
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:${language}>:-std=c++20>)
  endif()
endfunction()
