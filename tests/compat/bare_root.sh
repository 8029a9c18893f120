# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
# Sourced: a bare root file system of Debian, and commands in it.
# Needs root and debootstrap, and the Debian mirror of this machine's apt sources.

# RELEASE ROOT LOG: make it, with the mirror in its apt sources. Exit status 77 where that is not possible.
bare_root_make() {
    local release=$1 root=$2 log=$3 mirror
    [[ $(id -u) == 0 ]] || bare_root_skip 'not root'
    command -v debootstrap >/dev/null || bare_root_skip 'debootstrap is not installed'
    mirror=$("$(dirname "${BASH_SOURCE[0]}")/debian_mirror") ||
        bare_root_skip 'no Debian mirror in the apt sources of this machine'
    rm -rf "$root"
    mkdir -p "$root"
    debootstrap --variant=minbase --include=ca-certificates "$release" "$root" "$mirror" >"$log" 2>&1 ||
        { tail -n 20 "$log" >&2 && exit 1; }
    printf 'deb %s %s main\ndeb-src %s %s main\n' "$mirror" "$release" "$mirror" "$release" \
        >"$root/etc/apt/sources.list"
    cp /etc/hosts "$root/etc/hosts" # mpirun hangs where its own name does not resolve
}

bare_root_skip() {
    echo "${0##*/}: skipped: $*"
    exit 77
}

# ROOT COMMAND...: the command inside, with file systems that vanish with it, and processes that end with it. No
# chroot: who enters a lab there would leave it.
# shellcheck disable=SC2016 # expands inside
bare_root_run() {
    unshare --mount --pid --fork --kill-child sh -ec '
        root=$1
        shift
        mount --make-rprivate /
        mount --bind "$root" "$root"
        mount -t proc proc "$root/proc"
        mount --rbind /sys "$root/sys"
        mount -t tmpfs shm "$root/dev/shm"
        cd "$root"
        mkdir -p old
        pivot_root . old
        cd /
        umount -l old
        exec "$@"' sh "$1" env DEBIAN_FRONTEND=noninteractive LC_ALL=C "${@:2}"
}
