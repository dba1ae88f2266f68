#!/usr/bin/env bash
# SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# scripts/check_format.sh
# What every tracked or new file has to keep: clang-format's layout, the two SPDX lines, at most 500
# lines, and nothing in src, tools and examples that asks for the GPU's vendor but the few files for
# that. Prints what is wrong and fails. To mend the layout: clang-format -i <file>.
# shellcheck source=lib.sh
source "$(dirname "$0")/lib.sh"

cd "$source_dir"
if git rev-parse --git-dir >/dev/null 2>&1; then
  mapfile -t files < <(git ls-files --cached --others --exclude-standard)
else
  mapfile -t files < <(find . -type f -not -path './build*' | sed 's|^\./||')
fi
# What tells CUDA and HIP apart.
vendors='KOKKOS_ENABLE_(CUDA|HIP)|_(CUDA|HIP|HCC|CUDACC|HIPCC|CUDA_ARCH|NVCC|AMDGCN|AMDGPU|GFX)[A-Za-z0-9]*__|__HIP_|__CUDA_'
vendors+='|__gfx|__amdgcn|__nvcc|KOKKOS_(IMPL_)?ARCH_(AMD|NVIDIA|HOPPER|AMPERE|ADA|TURING|VOLTA|BLACKWELL)|DESUL_.*(CUDA|HIP)'
vendors+='|__has_include.*(hip|cuda)'
status=0
cpp=()
for file in "${files[@]}"; do
  [ -f "$file" ] || continue
  case $file in
    src/core/KokkosIris_Gpu* | src/heap/KokkosIris_PeerMemory_* | src/fused/arch/*) ;;
    src/*.hpp | src/*.cpp | tools/* | examples/*)
      # With continued lines joined.
      if sed -e ':a' -e '/\\$/N; s/\\\n//; ta' "$file" | grep -nE "^ *# *(el)?if.*($vendors)"; then
        echo "$file: asks which vendor's GPU it is; that belongs into src/core/KokkosIris_Gpu*" && status=1
      fi
      ;;
  esac
  case $file in
    *.hpp | *.cpp | *.cu | *.hip) cpp+=("$file") ;;&
    *.hpp | *.cpp | *.cu | *.hip | *.hpp.in | *.cmake | *.cmake.in | */CMakeLists.txt | CMakeLists.txt | *.sh | *.py | *.patch | .ci/run)
      for line in "SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project" \
        "SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception"; do
        head -n 3 "$file" | grep -qF "$line" || { echo "$file: no line '$line' at the top" && status=1; }
      done
      lines=$(wc -l <"$file")
      [ "$lines" -le 500 ] || { echo "$file: $lines lines, more than 500" && status=1; }
      ;;
  esac
done
if [ ${#cpp[@]} -gt 0 ]; then clang-format --dry-run --Werror "${cpp[@]}" || status=1; fi
exit $status
