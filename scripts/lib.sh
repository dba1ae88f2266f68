#!/usr/bin/env bash
# SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# What the scripts share; to be sourced. Progress goes to standard error, one line a step.
set -euo pipefail

source_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
log_dir=${KOKKOSIRIS_LOG_DIR:-$source_dir/build/logs}
# shellcheck disable=SC2034 # for the scripts that source this
cache=${XDG_CACHE_HOME:-${HOME:?the cache of dependencies is in the home directory: set HOME or XDG_CACHE_HOME}/.cache}/kokkosiris
jobs=$(nproc)

# Files and folders that are removed when the script ends, however it ends.
scratch=()
trap 'rm -rf "${scratch[@]}"' EXIT

die() {
  printf 'error: %s\n' "$*" >&2
  exit 1
}

# step <title> <command>...: runs the command with its output in a log. Prints the seconds it took and
# the title; after a failure also the log's place and its end, and leaves. Descriptor 9, a lock of the
# script, is not handed on: a compiler that outlives a killed script must not keep the lock.
step() {
  local title=$1 begin=$SECONDS log status
  shift
  mkdir -p "$log_dir"
  log=$log_dir/$(tr -cs 'A-Za-z0-9.\n' '-' <<<"$title").log
  # Not "|| status=$?": that would let a function go on after a failed command.
  set +e
  (set -e; "$@") >"$log" 2>&1 </dev/null 9>&-
  status=$?
  set -e
  if [ "$status" -eq 0 ]; then
    printf '[%4d s] %s\n' $((SECONDS - begin)) "$title" >&2
    return
  fi
  printf '[%4d s] %s: FAILED (status %d). The log is %s; it ends with\n' $((SECONDS - begin)) "$title" \
    "$status" "$log" >&2
  tail -n 30 "$log" >&2
  exit "$status"
}

# machine_key: a hash of what code compiled with -march=native depends on. Processors differ between
# machines that share a home directory; code for one may be illegal on the other.
machine_key() {
  { "${CXX:-c++}" --version
    uname -m
    grep -m1 -E '^(flags|Features)' /proc/cpuinfo || true
  } | sha256sum | cut -c1-12
}

# Open MPI refuses to run as root unless told twice, and more ranks than cores unless told once
# (Open MPI 4, then 5).
if [ "$(id -u)" -eq 0 ]; then
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi
export OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe

# configure <preset> [<cmake argument>...]: installs or finds the dependencies and configures
# build/<preset>, which is left in $build_dir. Options for dependencies.sh are in $dependency_options, and
# $build_name is another name for the build folder.
dependency_options=()
build_name=
configure() {
  local preset=$1 backend=host found
  shift
  case $preset in
    cuda*) backend=cuda ;;
    hip*) backend=hip ;;
  esac
  found=$("$source_dir/scripts/dependencies.sh" "$backend" "${dependency_options[@]}")
  local -a arguments=()
  while read -r line; do arguments+=("-D$line"); done <<<"$found"
  if command -v ccache >/dev/null; then
    arguments+=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
    CCACHE_COMPILERCHECK=string:$(machine_key)
    export CCACHE_COMPILERCHECK
  fi
  build_dir=$source_dir/build/${build_name:-$preset}
  cd "$source_dir"
  step "configure ${build_name:-$preset}" cmake --preset "$preset" -B "$build_dir" "${arguments[@]}" "$@"
}

# build [<cmake --build argument>...]
build() {
  step "build" cmake --build "$build_dir" -j "$jobs" "$@"
}

# run_tests [<ctest argument>...]: the tests of $build_dir. Measurements (label perf) and the checks in chroots
# (label chroot) run only where -L asks for labels. PROCESSORS of each test keeps tests of several ranks from
# sharing the cores (KokkosIrisTesting.cmake).
run_tests() {
  local argument
  local -a left_out=(-LE '^(perf|chroot)$')
  for argument in "$@"; do
    case $argument in -L | --label-regex) left_out=() ;; esac
  done
  cd "$build_dir"
  ctest --output-on-failure --no-label-summary --no-tests=error -j "$jobs" "${left_out[@]}" "$@" 2>&1 |
    grep --line-buffered -vE '^ +Start +[0-9]+:'
}
