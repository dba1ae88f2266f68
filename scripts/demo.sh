#!/usr/bin/env bash
# SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# scripts/demo.sh
# From a bare machine to the examples' output: installs or finds the dependencies, builds, and runs
# examples/digits and examples/halo with several numbers of ranks.
# shellcheck source=lib.sh
source "$(dirname "$0")/lib.sh"

configure host-release
build

# run <ranks> <example>: each rank has one thread, so that the ranks share the cores fairly. More ranks
# than cores are meant here, so Kokkos' warning about it is turned off.
run() {
  printf '$ mpiexec -n %s %s\n' "$1" "${build_dir#"$source_dir"/}/examples/$2"
  OMP_NUM_THREADS=1 OMP_PROC_BIND=false OPENBLAS_NUM_THREADS=1 KOKKOS_DISABLE_WARNINGS=1 timeout 300 \
    mpiexec -n "$1" "$build_dir/examples/$2" || die "examples/$2 failed with $1 ranks"
}
for ranks in 1 2 4; do run "$ranks" digits; done
for ranks in 1 2 3 4; do run "$ranks" halo; done
