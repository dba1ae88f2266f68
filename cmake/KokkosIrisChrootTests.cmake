# SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# The checks in chroots of newer Debian suites as tests, label chroot: ctest -L chroot runs them. They
# do not use this build but make their own, as root; scripts/check_hip.sh and scripts/check_kokkos5.sh say
# what they do. Ten minutes and more each on two cores, longer the first time.

# kokkosiris_add_chroot_test(<name> <script> <argument>)
function(kokkosiris_add_chroot_test name script argument)
  add_test(NAME Chroot.${name} COMMAND ${PROJECT_SOURCE_DIR}/scripts/${script} ${argument})
  set_tests_properties(Chroot.${name} PROPERTIES LABELS chroot RUN_SERIAL ON TIMEOUT 7200)
endfunction()

kokkosiris_add_chroot_test(hip.gfx90a check_hip.sh gfx90a)
kokkosiris_add_chroot_test(hip.gfx942 check_hip.sh gfx942)
kokkosiris_add_chroot_test(kokkos5.0 check_kokkos5.sh 5.0)
kokkosiris_add_chroot_test(kokkos5.2 check_kokkos5.sh 5.2)
