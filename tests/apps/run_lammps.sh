#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Debian's LAMMPS, unchanged, with and without fast: the same digits. Installs
# the package when it is missing and we are root; not part of make check.
#
#   run_lammps.sh [BUILD-DIRECTORY]
set -u

# shellcheck source=tests/mpi/ompi_job.sh
. "$(dirname "$0")/../mpi/ompi_job.sh"
need_ompi mpi/mpi_mismatch

find_lammps() {
    command -v lmp || command -v lammps
}

if ! find_lammps >/dev/null; then
    if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
        skip 'no lmp, and no root to install it (Debian: lammps)'
    fi
    echo 'installing the Debian package lammps'
    { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y \
        --no-install-recommends lammps; } >"$scratch/apt" 2>&1 ||
        { tail "$scratch/apt" && skip 'lammps cannot be installed'; }
fi
lammps=$(find_lammps)
input=$src/tests/apps/lammps_pppm.in
limit=120
export OMP_NUM_THREADS=1

# NAME OPTION...: what LAMMPS says to $scratch/NAME, what fast says to NAME.err,
# the thermo lines, without times, to NAME.thermo.
run() {
    name=$1
    shift
    mpi_run -np 4 --mca coll_fast_verbose 1 "$@" "$lammps" -in "$input" \
        -log none >"$scratch/$name" 2>"$scratch/$name.err" || {
        echo "FAILED: LAMMPS $name fast: exit status $?"
        tail -n 20 "$scratch/$name" "$scratch/$name.err"
        exit 1
    }
    sed -n '/^ *Step/,/^Loop time/p' "$scratch/$name" | grep -v '^Loop' \
        >"$scratch/$name.thermo"
}

# NAME: calls that ran through fast.
staged() {
    grep -c 'coll fast: .* call .*: staged (' "$scratch/$1.err"
}

run without
run with --mca coll fast --mca coll_fast_servers 2x2 \
    --mca coll_fast_algorithm staged --mca coll_fast_min_bytes 0

steps=$(wc -l <"$scratch/with.thermo")
echo "LAMMPS: $((steps - 1)) steps, calls staged:" \
    "$(staged without) without fast, $(staged with) with"
tail -n 1 "$scratch/with.thermo"
if [ "$steps" -gt 20 ] && [ "$(staged without)" = 0 ] &&
    [ "$(staged with)" -gt 20 ] &&
    diff "$scratch/without.thermo" "$scratch/with.thermo"; then
    echo 'ok: the same digits with and without fast'
    exit 0
fi
echo 'FAILED'
exit 1
