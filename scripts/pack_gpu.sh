#!/usr/bin/env bash
# SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# scripts/pack_gpu.sh [<preset>]
# Builds the tests and benchmarks for GPUs (preset cuda unless given) and packs what a machine with GPUs
# needs to run them: it needs MPI and Python 3 of its own, but neither a compiler nor this repository.
# There: tar -xf gpu-tests.tar.xz && python3 gpu-tests/gpu_tests.py run
# shellcheck source=lib.sh
source "$(dirname "$0")/lib.sh"

configure "${1:-cuda}"
build
folder=$build_dir/gpu-tests
rm -rf "$folder"
step "collect programs" "$source_dir/scripts/gpu_tests.py" pack "$build_dir" "$folder"
# The programs have most of their code in common: a window as large as xz has finds it.
step "pack" tar -C "$build_dir" --sort=name -cf "$folder.tar.xz" -I 'xz -T1 --lzma2=preset=6,dict=256MiB' \
  gpu-tests
du -h "$folder.tar.xz" >&2
