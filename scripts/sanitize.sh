#!/usr/bin/env bash
# SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# scripts/sanitize.sh: the part of the tests that continuous integration runs under sanitizers. Address and
# undefined behaviour: heap and copies, one and two ranks. Threads: ranks as threads of one process, and the
# copy engine, because the thread sanitizer does not see across processes. All tests under a sanitizer:
# scripts/test.sh host-asan, scripts/test.sh host-tsan.
# shellcheck source=lib.sh
source "$(dirname "$0")/lib.sh"

# run <preset> <ctest pattern> <test>...: builds these tests without the fused operations and runs them.
run() {
  local preset=$1 pattern=$2
  shift 2
  configure "$preset" -DKokkosIris_ENABLE_FUSED=OFF -DKokkosIris_ENABLE_EXAMPLES=OFF \
    -DKokkosIris_ENABLE_PERF_TESTS=OFF
  step "build for $preset" cmake --build "$build_dir" -j "$jobs" --target "$@"
  step "test with $preset" ctest --test-dir "$build_dir" --output-on-failure --no-tests=error -R "$pattern"
}

run host-asan '^(Heap\.(OffsetAllocator|Lifetime)|Rma\.(CopyBytes|CopyEngineRing))\.ranks=[12]$' \
  KokkosIris_Test_Heap_OffsetAllocator KokkosIris_Test_Heap_Lifetime \
  KokkosIris_Test_Rma_CopyBytes KokkosIris_Test_Rma_CopyEngineRing
run host-tsan '^(Core\.Threads|Rma\.CopyEngineRing)\.ranks=1$' \
  KokkosIris_Test_Core_Threads KokkosIris_Test_Rma_CopyEngineRing
