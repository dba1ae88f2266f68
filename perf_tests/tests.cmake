# SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# ctest -L perf: every benchmark runs, its results are right and its times are times. Targets are only
# judged with KOKKOSIRIS_PERF_STRICT=1, because machines are shared.
kokkosiris_add_perf_test(NAME perf.quick.ranks=2 RANKS 2 ARGS --quick TIMEOUT 180)
kokkosiris_add_perf_test(NAME perf.barrier.ranks=4 RANKS 4 ARGS --quick --filter ^barrier TIMEOUT 60)
