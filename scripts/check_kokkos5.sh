#!/usr/bin/env bash
# SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# scripts/check_kokkos5.sh [5.0|5.2]
# Builds everything and runs all host tests with the Kokkos of Debian's suites under development, and with
# their compilers, CMake and MPI; as root, on Debian. Both unless one is named:
#   5.0   Kokkos with Kokkos Kernels, as Trilinos packages them (experimental)
#   5.2   the newest Kokkos (sid), of which there is no Kokkos Kernels: all but the fused operations
# Each has a chroot of its own, made by the first run (scripts/chroot.sh).
# shellcheck source=chroot.sh
source "$(dirname "$0")/chroot.sh"

# In the chroot: check <version> [<cmake argument>...]
check() {
  local version=$1 found
  shift
  configure host-release -DKokkosIris_ENABLE_CHROOT_TESTS=OFF "$@"
  found=$(sed -n 's/^-- *Kokkos  *\([0-9.]*\) .*/\1/p' "$log_dir/configure-host-release.log")
  case $found in
    "$version".*) ;;
    *)
      die "Debian's package in this chroot is Kokkos '$found', and this check is for Kokkos $version. Where" \
        "the suite has moved on, scripts/check_kokkos5.sh has to move to Kokkos '$found', or to a suite that" \
        "still has $version; a chroot that is only old is made anew when it is removed"
      ;;
  esac
  build -- -k 0
  printf 'Kokkos %s, %s, CMake %s, %s\n' "$found" "$(c++ --version | head -n 1)" \
    "$(cmake --version | sed -n 's/cmake version //p')" "$(mpiexec --version | head -n 1)"
  run_tests
}

check_inside() {
  local library
  dependency_options=(--installed)
  if [ "$1" = 5.2 ]; then
    # The CMake files of Debian's package name two libraries that the package lacks; Kokkos puts no code
    # into them. Without the files find_package(Kokkos) fails.
    for library in /usr/lib/"$(uname -m)"-linux-gnu/libkokkos{algorithms,simd}.a; do
      [ -e "$library" ] || ar crs "$library"
    done
    dependency_options+=(--without-kernels)
    check "$1" -DKokkosIris_ENABLE_FUSED=OFF
  else
    check "$1"
  fi
}

check_in_chroot() {
  case $1 in
    5.0)
      chroot_prepare kokkos-5.0 "sid experimental" g++ ccache libtrilinos-kokkos-dev \
        libtrilinos-kokkos-kernels-dev
      ;;
    5.2) chroot_prepare kokkos-5.2 sid g++ ccache libkokkos-dev ;;
  esac
  chroot_run scripts/check_kokkos5.sh "$1"
}

for argument in "$@"; do
  case $argument in
    5.0 | 5.2) ;;
    --help | -h) usage && exit ;;
    *) die "unknown version '$argument'; use 5.0 or 5.2" ;;
  esac
done
[ $# -gt 0 ] || set -- 5.0 5.2
for version in "$@"; do
  if [ -n "${KOKKOSIRIS_IN_CHROOT:-}" ]; then check_inside "$version"; else check_in_chroot "$version"; fi
done
