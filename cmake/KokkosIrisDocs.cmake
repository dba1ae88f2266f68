# SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# API reference: target docs, ctest Docs.doxygen. Every warning is an error, so a reference to what does
# not exist (a parameter that was renamed, a page) fails the build. Parameters are documented where
# their name and type do not say all; so not all of a function's are.
find_package(Doxygen REQUIRED)
set(DOXYGEN_PROJECT_BRIEF "${PROJECT_DESCRIPTION}")
set(DOXYGEN_WARN_AS_ERROR FAIL_ON_WARNINGS)
set(DOXYGEN_QUIET YES)
set(DOXYGEN_EXTRACT_ALL NO)
set(DOXYGEN_WARN_IF_UNDOCUMENTED NO)
set(DOXYGEN_WARN_IF_INCOMPLETE_DOC NO)
set(DOXYGEN_HIDE_UNDOC_MEMBERS YES)
set(DOXYGEN_GENERATE_LATEX NO)
set(DOXYGEN_HAVE_DOT NO)
# Else a specialisation of a template of std is a class whose scope is not found: an error.
set(DOXYGEN_BUILTIN_STL_SUPPORT YES)
set(DOXYGEN_JAVADOC_AUTOBRIEF YES)
set(DOXYGEN_MACRO_EXPANSION YES)
set(DOXYGEN_EXPAND_ONLY_PREDEF YES)
set(DOXYGEN_PREDEFINED KOKKOS_FUNCTION= KOKKOS_INLINE_FUNCTION=inline KOKKOS_FORCEINLINE_FUNCTION=inline
                       KOKKOSIRIS_ENABLE_FUSED KOKKOSIRIS_ENABLE_BLAS)
set(DOXYGEN_EXCLUDE_SYMBOLS KokkosIris::Impl*)
set(DOXYGEN_FILE_PATTERNS *.hpp *.md)
set(DOXYGEN_STRIP_FROM_PATH ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/src)
set(DOXYGEN_USE_MDFILE_AS_MAINPAGE ${PROJECT_SOURCE_DIR}/README.md)
set(pages README.md CHANGELOG.md CONTRIBUTING.md docs)
list(TRANSFORM pages PREPEND ${PROJECT_SOURCE_DIR}/)
doxygen_add_docs(docs ${PROJECT_SOURCE_DIR}/src ${pages})
if(KokkosIris_ENABLE_TESTS)
  add_test(NAME Docs.doxygen COMMAND ${CMAKE_COMMAND} --build ${PROJECT_BINARY_DIR} --target docs)
  set_tests_properties(Docs.doxygen PROPERTIES TIMEOUT 120 LABELS docs)
endif()
