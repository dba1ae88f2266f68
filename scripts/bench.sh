#!/usr/bin/env bash
# SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# scripts/bench.sh [<kokkosiris_bench argument>...]
# Builds kokkosiris_bench and runs it with RANKS (default 2) ranks, one a core. The baselines get their
# best settings: Open MPI without its slow single-copy path, a malloc that keeps large blocks, and
# OpenBLAS' own choice of kernels.
# shellcheck source=lib.sh
source "$(dirname "$0")/lib.sh"

ranks=${RANKS:-2}
configure host-release
build --target kokkosiris_bench

unset OPENBLAS_CORETYPE OPENBLAS_L2_SIZE
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 OMP_PROC_BIND=false
export MALLOC_MMAP_THRESHOLD_=4294967296 MALLOC_TRIM_THRESHOLD_=8589934592
export OMPI_MCA_btl_vader_single_copy_mechanism=none
binding=core
if [ "$ranks" -gt "$jobs" ]; then binding=none; fi
exec mpiexec -n "$ranks" --bind-to "$binding" "$build_dir/perf_tests/kokkosiris_bench" "$@"
