#!/usr/bin/env bash
# SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# scripts/bench.sh [<kokkosiris_bench argument>...]
# Builds kokkosiris_bench and runs it with 2 ranks, each on a core of its own, then the barrier with 4.
# With an argument --json or --filter among them the second run is left out, and RANKS sets the number
# of ranks. Otherwise the records go to perf_tests/results/host-<date>.json.
#
# The baselines get their best settings: Open MPI without its slow single-copy path, a malloc that keeps
# large blocks, and the fastest kernels that OpenBLAS has for this processor.
# shellcheck source=lib.sh
source "$(dirname "$0")/lib.sh"

configure host-release
build --target kokkosiris_bench
# Relative, because commands are recorded with the results.
cd "$source_dir"
bench=${build_dir#"$source_dir"/}/perf_tests/kokkosiris_bench

unset OPENBLAS_CORETYPE OPENBLAS_L2_SIZE
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 OMP_PROC_BIND=false OMP_WAIT_POLICY=passive
export MALLOC_MMAP_THRESHOLD_=4294967296 MALLOC_TRIM_THRESHOLD_=8589934592
export KOKKOS_DISABLE_WARNINGS=1

# OpenBLAS takes SSE kernels on a processor that is newer than itself. Each candidate is timed for a
# second; one that this processor cannot run dies of an illegal instruction and is passed over.
choose_openblas_kernels() {
  local candidate best='' best_speed=0 speed name
  for candidate in "" Haswell SkylakeX Cooperlake Zen; do
    read -r speed name < <(
      if [ -n "$candidate" ]; then export OPENBLAS_CORETYPE=$candidate; fi
      timeout 60 "$bench" --blas-probe 2>/dev/null || true
    ) || continue
    printf '         %-10s %7s GFLOP/s  %s\n' "${candidate:-unset}" "$speed" "$name" >&2
    # A candidate has to be better by 3 %, so that noise does not choose.
    if awk "BEGIN { exit !($speed > 1.03 * $best_speed) }"; then
      best=$candidate best_speed=$speed
    fi
  done
  if [ -n "$best" ]; then export OPENBLAS_CORETYPE=$best; fi
  printf 'OPENBLAS_CORETYPE: %s\n' "${best:-unset}" >&2
}
choose_openblas_kernels

# run <ranks> <argument>...
run() {
  local ranks=$1 binding=core
  shift
  if [ "$ranks" -gt "$jobs" ]; then binding=none; fi
  mpiexec -n "$ranks" --bind-to "$binding" --mca btl_vader_single_copy_mechanism none "$bench" "$@"
}

case " $* " in
  *" --json"* | *" --filter"*) run "${RANKS:-2}" "$@" ;;
  *)
    results=perf_tests/results/host-$(date -u +%Y-%m-%d).json
    mkdir -p "$(dirname "$results")"
    run 2 --json "$results" "$@"
    run 4 --json "$results" --append --filter '^barrier' "$@"
    echo "$results"
    ;;
esac
