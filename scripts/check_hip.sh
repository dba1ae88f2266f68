#!/usr/bin/env bash
# SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# scripts/check_hip.sh [<architecture>...]
# What can be checked of the HIP backend without an AMD GPU, for gfx90a and gfx942 unless others are given;
# as root, on Debian. The library, all tests, examples and benchmarks are compiled and linked, warnings
# being errors, with Debian's hipcc, and so are two applications that use an installation and the sources;
# the programs and tests that need no GPU run, and see none where there is one; the machine code of the
# fused operations is looked at (scripts/check_isa.py).
# The compiler is in a chroot that the first run makes (scripts/chroot.sh). Kokkos is built for one AMD
# architecture at a time, so each has a build of its own.
# shellcheck source=chroot.sh
source "$(dirname "$0")/chroot.sh"

# A program that runs without a GPU: expect <status> <text> <command>...
expect() {
  local expected=$1 text=$2 output status=0
  shift 2
  output=$(timeout 60 "$@" 2>&1) || status=$?
  [ "$status" -eq "$expected" ] || die "'$*' ended with status $status, not $expected: $output"
  grep -qF -- "$text" <<<"$output" || die "'$*' did not print '$text': $output"
}

run_without_gpu() {
  local info=$build_dir/tools/kokkosiris_info bench=$build_dir/perf_tests/kokkosiris_bench
  expect 0 "no GPU is present" mpiexec -n 2 "$info"
  expect 0 "usage:" "$info" --help
  expect 2 "unknown option --nonsense" "$info" --nonsense
  expect 2 "--nonsense" "$bench" --nonsense
  expect 1 "no GPU is present" mpiexec -n 2 "$build_dir/unit_tests/KokkosIris_Test_Heap_SymmetricView"
  run_tests -L no_gpu
}

# In the chroot.
check_inside() {
  export CXX=hipcc HIP_PLATFORM=amd KOKKOSIRIS_HIP_ARCH=AMD_${1^^}
  # What is expected here is expected of a machine without a GPU.
  export ROCR_VISIBLE_DEVICES='' HIP_VISIBLE_DEVICES=-1
  build_name=hip-$1
  configure hip
  build -- -k 0
  run_without_gpu
  local -a files=("$build_dir/src/libKokkosIris.a" "$build_dir/unit_tests/libKokkosIris_IsaKernels.a")
  "$source_dir/scripts/check_isa.py" "$1" "${files[@]}"
  "$source_dir/scripts/check_isa_test.py" "$1" "${files[@]}"
  echo "HIP for $1: all was compiled and linked; what needs no GPU ran. Nothing ran on a GPU: those of this" \
    "machine, if any, were hidden."
}

for argument in "$@"; do
  case $argument in
    gfx90a | gfx942) ;;
    --help | -h) usage && exit ;;
    *) die "unknown architecture '$argument'; use gfx90a or gfx942" ;;
  esac
done
[ $# -gt 0 ] || set -- gfx90a gfx942
if [ -n "${KOKKOSIRIS_IN_CHROOT:-}" ]; then
  check_inside "$1"
  exit
fi
chroot_prepare hip forky hipcc libamdhip64-dev g++ ccache python3
chroot_take "$("$source_dir/scripts/dependencies.sh" archive)"
status=0
trap 'exit 130' INT # else the next architecture would go on
for architecture in "$@"; do
  chroot_run scripts/check_hip.sh "$architecture" || status=$?
done
exit "$status"
