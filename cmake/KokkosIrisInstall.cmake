# SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# Installation: headers, library, package files. A parent project installs what it wants itself, so
# as a sub-directory these rules are the same and belong to our export set only.
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/KokkosIris)

install(
  TARGETS KokkosIris
  EXPORT KokkosIrisTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
set(exclude_fused)
if(NOT KokkosIris_ENABLE_FUSED)
  set(exclude_fused PATTERN fused EXCLUDE)
endif()
install(
  DIRECTORY ${PROJECT_SOURCE_DIR}/src/ ${PROJECT_BINARY_DIR}/include/
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/kokkosiris
  FILES_MATCHING
  PATTERN "*.hpp" ${exclude_fused})

get_target_property(KokkosIris_LIBRARY_TYPE KokkosIris TYPE)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/KokkosIrisConfig.cmake.in
                              ${PROJECT_BINARY_DIR}/KokkosIrisConfig.cmake
                              INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/KokkosIrisConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(EXPORT KokkosIrisTargets NAMESPACE KokkosIris:: DESTINATION ${package_dir})
install(FILES ${PROJECT_BINARY_DIR}/KokkosIrisConfig.cmake
              ${PROJECT_BINARY_DIR}/KokkosIrisConfigVersion.cmake
              ${PROJECT_SOURCE_DIR}/cmake/KokkosIrisLanguage.cmake DESTINATION ${package_dir})
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
