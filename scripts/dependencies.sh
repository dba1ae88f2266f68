#!/usr/bin/env bash
# SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# scripts/dependencies.sh [host|cuda|hip|archive] [--installed] [--without-kernels]
# Makes sure that everything KokkosIris is built from is there:
# - packages of Debian, installed when missing (needs root only then);
# - Kokkos >= 4.7 and Kokkos Kernels: an installation that CMake finds (CMAKE_PREFIX_PATH, Kokkos_ROOT,
#   default prefixes), else both built from source into a cache in the user's home.
# Prints Kokkos_DIR=... and KokkosKernels_DIR=... on standard output. A second run takes a second.
# The architecture is Kokkos' name in KOKKOSIRIS_CUDA_ARCH (default HOPPER90) and KOKKOSIRIS_HIP_ARCH
# (default AMD_GFX942). --installed: never builds, fails if no installation suits. --without-kernels: for
# KokkosIris_ENABLE_FUSED=OFF, which needs no Kokkos Kernels. "archive" only sees to it that the source of
# Kokkos is in the cache, and prints its place.
# shellcheck source=lib.sh
source "$(dirname "$0")/lib.sh"

backend=${1:-host}
case $backend in
  host | cuda | archive) ;;
  hip) export CXX=${CXX:-hipcc} HIP_PLATFORM=amd ;;
  *) die "unknown backend '$backend'; use host, cuda, hip or archive" ;;
esac
shift $(($# > 0))
may_build=1
probe_options=()
for option in "$@"; do
  case $option in
    --installed) may_build= ;;
    --without-kernels) probe_options+=(-DKokkosIris_ENABLE_FUSED=OFF) ;;
    *) die "unknown option '$option'; use --installed or --without-kernels" ;;
  esac
done

# The source distribution on the Python package index that holds both, and what it has to be.
package=pygenten version=0.1.5
sha256=e620f05c742905e2db705d875f1cac92ef0ed453f9e6734e9beda26cc0f9cce7
kokkos_version=4.7.0

archive=$cache/$package-$version.tar.gz
hip_arch=${KOKKOSIRIS_HIP_ARCH:-AMD_GFX942}

# The packages of a compiler.
compiler_packages() {
  case $(basename "$1") in
    hipcc) echo hipcc libamdhip64-dev g++ ;;
    clang++*) echo "clang${1#*clang++}" g++ ;;
    *) echo g++ ;;
  esac
}

# What is missing of these, each a command and the package of Debian that has it; commands may come from
# elsewhere, too (a module, pip).
missing_commands() {
  local entry
  for entry in "$@"; do
    command -v "${entry%%:*}" >/dev/null || echo "${entry##*:}"
  done
}

install_packages() {
  local -a missing=()
  local entry compiler=${CXX:-c++}
  if [ "$backend" = archive ]; then
    python3 -m pip --version >/dev/null 2>&1 || missing=(python3-pip)
    install_missing
    return
  fi
  mapfile -t missing < <(missing_commands cmake:cmake ninja:ninja-build patch:patch pip3:python3-pip \
    mpiexec:openmpi-bin mpicxx:libopenmpi-dev)
  if ! command -v "$compiler" >/dev/null; then
    read -ra packages <<<"$(compiler_packages "$compiler")"
    missing+=("${packages[@]}")
  fi
  if command -v dpkg-query >/dev/null; then
    for entry in libopenblas-dev libgtest-dev nlohmann-json3-dev libcli11-dev; do
      dpkg-query -W -f '${Status}' "$entry" 2>/dev/null | grep -q ' installed$' || missing+=("$entry")
    done
  fi
  install_missing
}

# install_missing: the packages in $missing.
install_missing() {
  [ ${#missing[@]} -gt 0 ] || return 0
  if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
    die "these packages are missing: ${missing[*]}. As root on Debian: apt-get install ${missing[*]}"
  fi
  export DEBIAN_FRONTEND=noninteractive
  step "update the package lists" apt-get -o Acquire::Retries=3 update
  step "install ${missing[*]}" apt-get -o Acquire::Retries=3 install -y --no-install-recommends "${missing[@]}"
}

# probe <build folder> [<cmake argument>...]: prints the two lines of a suitable installation, or fails.
probe() {
  local folder=$1 output
  shift
  output=$(cmake -S "$source_dir/cmake/probe" -B "$folder" -G Ninja "$@" 2>"$folder/errors") || return 1
  sed -n 's/^-- \(Kokkos[A-Za-z]*_DIR=\)/\1/p' <<<"$output"
}

check_archive() {
  [ -f "$1" ] && [ "$(sha256sum "$1" | cut -d ' ' -f 1)" = "$sha256" ]
}

download() {
  # Only this package from source: the tools that pip needs to read its name are binary packages.
  python3 -m pip download --quiet --no-deps --no-binary "$package" --dest "$stage/download" \
    "$package==$version"
  check_archive "$stage/download/$package-$version.tar.gz" || {
    echo "the SHA-256 of $package-$version.tar.gz is not $sha256"
    return 1
  }
  mv "$stage/download/$package-$version.tar.gz" "$archive"
}

unpack() {
  tar -xzf "$archive" -C "$stage" --strip-components=2 "$package-$version/tpls/kokkos" \
    "$package-$version/tpls/kokkos-kernels"
  patch -p1 -d "$stage/kokkos" <"$patch_file"
}

# cmake_install <name> <cmake argument>...: configures, builds and installs $stage/<name>.
cmake_install() {
  local name=$1
  shift
  cmake -S "$stage/$name" -B "$stage/build-$name" -G Ninja -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_INSTALL_PREFIX="$stage/prefix" -DCMAKE_INSTALL_LIBDIR=lib \
    -DCMAKE_POSITION_INDEPENDENT_CODE=ON "$@"
  cmake --build "$stage/build-$name" -j "$jobs"
  cmake --install "$stage/build-$name"
}

# Takes the cache's lock, and makes a folder $stage in it that goes with the script.
open_stage() {
  mkdir -p "$cache"
  exec 9>"$cache/lock"
  flock -w 1800 9 || die "another build has held $cache/lock for half an hour"
  rm -rf "$cache"/stage.*
  stage=$(mktemp -d "$cache/stage.XXXXXX")
  scratch+=("$stage")
}

# build_kokkos <prefix>: in a folder of its own that becomes <prefix> at the end, so an interrupted
# build leaves nothing that looks complete.
build_kokkos() {
  local prefix=$1
  open_stage
  [ ! -d "$prefix" ] || return 0
  check_archive "$archive" || step "download the source of Kokkos $kokkos_version" download
  step "unpack Kokkos and Kokkos Kernels" unpack
  step "build Kokkos $kokkos_version ($flavour)" cmake_install kokkos "${kokkos_options[@]}"
  step "build Kokkos Kernels" cmake_install kokkos-kernels "${common_options[@]}" \
    -DKokkos_DIR="$stage/prefix/lib/cmake/Kokkos" -DKokkosKernels_ENABLE_ALL_COMPONENTS=OFF \
    -DKokkosKernels_ENABLE_COMPONENT_BATCHED=ON
  grep -rlIFZ "$stage/prefix" "$stage/prefix" | xargs -0r sed -i "s|$stage/prefix|$prefix|g"
  mv "$stage/prefix" "$prefix"
}

if [ "$backend" = archive ]; then
  if ! check_archive "$archive"; then
    install_packages
    open_stage
    step "download the source of Kokkos $kokkos_version" download
  fi
  echo "$archive"
  exit 0
fi
install_packages

probe_dir=$(mktemp -d)
scratch+=("$probe_dir")
[ "$backend" = host ] || probe_options+=("-DKokkosIris_BACKEND=${backend^^}")
if probe "$probe_dir" "${probe_options[@]}"; then exit 0; fi
[ -n "$may_build" ] || { cat "$probe_dir/errors" >&2 && die "no installed Kokkos suits"; }

flavour=$backend
common_options=(-DCMAKE_CXX_STANDARD=20)
kokkos_options=("${common_options[@]}" -DKokkos_ENABLE_SERIAL=ON -DKokkos_ENABLE_OPENMP=ON)
if [ "$backend" = cuda ]; then
  # CMake 3.25 does not pass the standard to nvcc by itself.
  common_options+=(-DCMAKE_CUDA_STANDARD=20 -DCMAKE_CUDA_FLAGS=-std=c++20)
  kokkos_options=("${common_options[@]}" -DKokkos_ENABLE_SERIAL=ON -DKokkos_ENABLE_CUDA=ON
    "-DKokkos_ARCH_${KOKKOSIRIS_CUDA_ARCH:-HOPPER90}=ON" -DKokkos_ENABLE_COMPILE_AS_CMAKE_LANGUAGE=ON)
elif [ "$backend" = hip ]; then
  flavour=hip-${hip_arch,,}
  kokkos_options=("${common_options[@]}" -DKokkos_ENABLE_SERIAL=ON -DKokkos_ENABLE_HIP=ON
    "-DKokkos_ARCH_$hip_arch=ON" -DKokkos_ENABLE_ROCTHRUST=OFF)
else
  kokkos_options+=(-DKokkos_ARCH_NATIVE=ON)
fi
patch_file=$source_dir/cmake/patches/kokkos-$kokkos_version-cuda13.patch
key=$({ machine_key; cat "$patch_file"; echo "$sha256" "${kokkos_options[@]}"; } | sha256sum | cut -c1-12)
prefix=$cache/kokkos-$kokkos_version-$flavour-$key
[ -d "$prefix" ] || build_kokkos "$prefix"
printf '%s\n' "Kokkos_DIR=$prefix/lib/cmake/Kokkos" "KokkosKernels_DIR=$prefix/lib/cmake/KokkosKernels"
