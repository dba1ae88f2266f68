#!/usr/bin/env bash
# SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# scripts/test.sh [<preset> [<ctest argument>...]]
# From a bare machine to test results: installs or finds the dependencies, configures, builds, checks the
# format, runs the tests. The preset is host-release unless given; measurements (label perf) are left to
# scripts/bench.sh, and the checks in chroots run if asked for: scripts/test.sh host-release -L chroot. The last
# line is ctest's own.
# shellcheck source=lib.sh
source "$(dirname "$0")/lib.sh"

preset=${1:-host-release}
shift $(($# > 0))
configure "$preset"
build
if command -v clang-format >/dev/null; then
  step "check the format" "$source_dir/scripts/check_format.sh"
fi
run_tests "$@"
