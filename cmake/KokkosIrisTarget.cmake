# SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# What all of our own targets share: language, warnings, sanitizers. Nothing of it reaches users.
include(${CMAKE_CURRENT_LIST_DIR}/KokkosIrisLanguage.cmake)

set(KokkosIris_LANGUAGE CXX)
if(Kokkos_COMPILE_LANGUAGE)
  set(KokkosIris_LANGUAGE ${Kokkos_COMPILE_LANGUAGE})
endif()
enable_language(${KokkosIris_LANGUAGE})

set(KokkosIris_WARNING_FLAGS -Wall -Wextra)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # False alarm on every "text" + std::string (GCC bug 105651).
  list(APPEND KokkosIris_WARNING_FLAGS -Wno-restrict)
endif()
if(KokkosIris_ENABLE_WERROR)
  list(APPEND KokkosIris_WARNING_FLAGS -Werror)
endif()

set(KokkosIris_SANITIZER_FLAGS)
if(KokkosIris_SANITIZERS)
  set(KokkosIris_SANITIZER_FLAGS -fsanitize=${KokkosIris_SANITIZERS} -fno-omit-frame-pointer
                                 -fno-sanitize-recover=all)
  if(KokkosIris_SANITIZERS STREQUAL "thread" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # Kokkos uses atomic_thread_fence, which GCC's thread sanitizer does not follow and warns about.
    list(APPEND KokkosIris_SANITIZER_FLAGS -Wno-tsan)
  endif()
endif()

# kokkosiris_filter_backends(<variable>): takes the sources of backends that Kokkos lacks out of a list,
# by their names: *_Gpu.cpp, *_Cuda.cpp, *_Hip.cpp.
function(kokkosiris_filter_backends variable)
  set(sources ${${variable}})
  if(NOT Kokkos_ENABLE_CUDA)
    list(FILTER sources EXCLUDE REGEX "_Cuda\\.cpp$")
  endif()
  if(NOT Kokkos_ENABLE_HIP)
    list(FILTER sources EXCLUDE REGEX "_Hip\\.cpp$")
  endif()
  if(NOT Kokkos_ENABLE_CUDA AND NOT Kokkos_ENABLE_HIP)
    list(FILTER sources EXCLUDE REGEX "_Gpu\\.cpp$")
  endif()
  set(${variable} ${sources} PARENT_SCOPE)
endfunction()

# kokkosiris_compile_options(<target>): warnings and sanitizers, through nvcc to the host compiler.
function(kokkosiris_compile_options target)
  set(flags ${KokkosIris_SANITIZER_FLAGS})
  # As a sub-directory of another project warnings are nobody's business unless asked for.
  if(PROJECT_IS_TOP_LEVEL OR KokkosIris_ENABLE_WERROR)
    list(APPEND flags ${KokkosIris_WARNING_FLAGS})
  endif()
  # nvcc's own front end, which sees device code, has warnings of its own. Two of them come from the
  # headers of Kokkos (a comparison that is always true) and Kokkos Kernels (a deprecated CUDA type).
  set(device_flags)
  if(KokkosIris_ENABLE_WERROR)
    set(device_flags "-Werror all-warnings -diag-suppress 186,1444")
  endif()
  list(JOIN flags "," joined)
  if(flags)
    target_compile_options(
      ${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX,HIP>:${flags}>"
                        "$<$<COMPILE_LANGUAGE:CUDA>:SHELL:-Xcompiler=${joined} ${device_flags}>")
  endif()
  if(KokkosIris_SANITIZER_FLAGS)
    target_link_options(${target} PRIVATE ${KokkosIris_SANITIZER_FLAGS})
  endif()
endfunction()

# kokkosiris_target(<target>): for a target whose sources include Kokkos.
function(kokkosiris_target target)
  kokkosiris_compile_options(${target})
  kokkosiris_set_language(${target})
endfunction()
