#!/usr/bin/env bash
# SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Another Debian suite in a folder, for compilers and libraries that the machine's own does not have; to
# be sourced; it sources lib.sh. Needs root and the machine's own Debian mirror.
#
#   chroot_prepare <name> "<suite> [<further suite>]" <package>...   makes it, or what it lacks
#   chroot_take <file>                                               copies a file into its cache
#   chroot_run <command>...                                          runs a command in it
#
# All of it lies in $cache/chroot/<name>: root (the system) and cache (its ccache, its Kokkos builds). In it
# this checkout is /source, which cannot be written but for /source/build: that is build/<name> of the
# checkout. Suites under development change; who wants their newest state removes $cache/chroot/<name>.
# What is mounted for a command is mounted in a namespace of the command's own. So it is gone when the
# command is, however that ends, and nothing needs to be unmounted. All processes of the namespace end with
# the script, also where that is killed; descriptor 8, the lock of the chroot, is held by them, too.
# shellcheck source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# The comment at the top of the script, for --help and wrong arguments.
usage() { sed -n '4,/^[^#]/ { /^# shellcheck/d; s/^# \{0,1\}//p }' "$0"; }

# What root has written into somebody's checkout becomes theirs.
chroot_give_back() {
  [ -z "${KOKKOSIRIS_IN_CHROOT:-}" ] && [ "$(id -u)" -eq 0 ] && [ -d "$source_dir/build" ] || return 0
  [ "$(stat -c %u "$source_dir")" -eq 0 ] || chown -Rh --reference="$source_dir" "$source_dir/build"
}
trap 'chroot_give_back; rm -rf "${scratch[@]}"' EXIT

chroot_require() {
  [ "$(id -u)" -eq 0 ] || die "$0 makes a chroot, so it has to be run as root (or as root of a container)"
  unshare --mount --pid --fork true 2>/dev/null ||
    die "$0 mounts in a namespace of its own, which this system does not allow (CAP_SYS_ADMIN is needed)"
  if ! command -v debootstrap >/dev/null; then
    export DEBIAN_FRONTEND=noninteractive
    step "update the package lists" apt-get -o Acquire::Retries=3 update
    step "install debootstrap" apt-get -o Acquire::Retries=3 install -y --no-install-recommends debootstrap
  fi
}

# The mirror that the machine's own packages of Debian come from. What apt knows of an origin is in its lists.
chroot_mirror() {
  local codename mirror
  codename=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
  for _ in 1 2; do
    # shellcheck disable=SC2016 # apt's own variables
    mirror=$(apt-get indextargets --format '$(REPO_URI) $(CODENAME) $(ORIGIN)' 'Created-By: Packages' |
      awk -v codename="$codename" '$2 == codename && $3 == "Debian" { print $1; exit }')
    [ -z "$mirror" ] || break
    apt-get -o Acquire::Retries=3 update >&2
  done
  echo "$mirror"
}

# unshared <command>...: in namespaces for mounts and processes, which end with the script.
unshared() {
  setpriv --pdeathsig KILL unshare --mount --propagation private --pid --fork --kill-child "$@"
}

# chroot_bootstrap <folder> <suite> [<further suite>]
chroot_bootstrap() {
  local folder=$1 keyring=/usr/share/keyrings/debian-archive-keyring.gpg mirror suite
  shift
  mirror=$(chroot_mirror)
  [ -n "$mirror" ] || { echo "no Debian mirror among the package sources of this machine"; return 1; }
  rm -rf "$folder.new"
  # The script named last knows every newer suite; older releases of debootstrap lack their names.
  # A namespace of its own, too: where debootstrap is killed it leaves /proc mounted.
  unshared debootstrap --variant=minbase --keyring="$keyring" "$1" "$folder.new" "$mirror" \
    /usr/share/debootstrap/scripts/sid
  for suite in "$@"; do
    printf 'Types: deb\nURIs: %s\nSuites: %s\nComponents: main\nSigned-By: %s\n\n' "$mirror" "$suite" "$keyring"
  done >"$folder.new/etc/apt/sources.list.d/suites.sources"
  rm -f "$folder.new/etc/apt/sources.list"
  # Proxies and the like.
  apt-config dump --no-empty Acquire | grep -v '::IndexTargets' >"$folder.new/etc/apt/apt.conf.d/50machine" || true
  mkdir -p "$folder.new/source" "$folder.new/root/.cache/kokkosiris"
  mv "$folder.new" "$folder"
}

# In the chroot, with a further suite ahead of the first one.
chroot_install() {
  local further=$1
  shift
  # shellcheck disable=SC2016 # for the shell in the chroot
  chroot_run sh -euc 'export DEBIAN_FRONTEND=noninteractive
    dpkg --configure -a # after a run that was stopped here
    apt-get -o Acquire::Retries=3 update
    further=$1
    shift
    apt-get -o Acquire::Retries=3 install -y --no-install-recommends ${further:+-t "$further"} "$@"
    apt-get clean' chroot_install "$further" "$@"
  printf '%s\n' "$further" "$@" >"$chroot/packages"
}

# The suites of a chroot that is there.
chroot_suites() { sed -n 's/^Suites: //p' "$chroot/root/etc/apt/sources.list.d/suites.sources" | xargs; }

# chroot_prepare <name> <suites> <package>...: takes the lock, until the next one or the script's end.
chroot_prepare() {
  local name=$1
  local -a suites
  read -ra suites <<<"$2"
  shift 2
  chroot_require
  chroot=$cache/chroot/$name
  build_dir_of_chroot=$source_dir/build/$name
  [ ! -L "$source_dir/build" ] || die "$source_dir/build is a symbolic link, which means something else in the chroot"
  mkdir -p "$build_dir_of_chroot" || die "there has to be a folder $build_dir_of_chroot for what is built"
  mkdir -p "$chroot/cache"
  exec 8>"$chroot/lock"
  flock -n 8 || echo "waiting for another script that uses the chroot $name" >&2
  flock -w 5400 8 || die "another script has held $chroot/lock for an hour and a half"
  if [ -d "$chroot/root" ] && [ "$(chroot_suites)" != "${suites[*]}" ]; then
    echo "the chroot $name is of Debian $(chroot_suites), not ${suites[*]}: made anew" >&2
    rm -rf "$chroot/root" "$chroot/packages"
  fi
  [ -d "$chroot/root" ] || step "make a chroot of Debian ${suites[*]}" chroot_bootstrap "$chroot/root" "${suites[@]}"
  if ! printf '%s\n' "${suites[1]:-}" "$@" | cmp -s - "$chroot/packages"; then
    step "install packages in the chroot $name" chroot_install "${suites[1]:-}" "$@"
  fi
}

# chroot_run <command>...: in /source of the chroot, with a clean environment.
chroot_run() {
  local file
  local -a variables=(HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8
    "TERM=${TERM:-dumb}" KOKKOSIRIS_IN_CHROOT=1 CCACHE_DIR=/root/.cache/kokkosiris/ccache)
  for file in /etc/resolv.conf /etc/hosts; do
    [ ! -e "$file" ] || cp -L "$file" "$chroot/root/etc/" || return
  done
  # shellcheck disable=SC2016 # for the shell in the namespace
  unshared bash -euc '
    root=$1/root
    mount -t proc proc "$root/proc"
    mount --rbind /sys "$root/sys"
    mount --rbind /dev "$root/dev"
    mount --bind "$1/cache" "$root/root/.cache/kokkosiris"
    mount --bind "$2" "$root/source"
    mount -o remount,bind,ro "$root/source"
    mount --bind "$3" "$root/source/build"
    shift 3
    exec chroot "$root" env -C /source -i "$@"' chroot_run "$chroot" "$source_dir" "$build_dir_of_chroot" \
    "${variables[@]}" "$@"
}

# chroot_take <file>
chroot_take() {
  local copy
  copy=$chroot/cache/$(basename "$1")
  if ! cmp -s "$1" "$copy"; then
    cp "$1" "$copy.new" # under another name until it is complete
    mv "$copy.new" "$copy"
  fi
}
