#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Records the matrices of tests/traffic again: what LAMMPS, SpFFT and PT-Scotch,
# unchanged, send with MPI_Alltoallv. Debian packages lammps, libspfft-dev,
# ptscotch, libopenmpi-dev; what is missing is left out. By hand, not
# part of make check.
#
#   record.sh DIRECTORY [RANKS]        where the files go; 32 ranks on this host
set -u

case ${1-} in
'' | -*) sed -n 's/^# \{0,1\}//; 3,8p' "$0" && exit 2 ;;
esac
here=$(cd "$(dirname "$0")" && pwd)
out=$(cd "$1" && pwd) || exit 1
ranks=${2:-32}
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT INT TERM
mpicc=$(command -v mpicc.openmpi || command -v mpicc) || { echo 'record.sh: no mpicc' >&2 && exit 1; }
mpirun=$(command -v mpirun.openmpi || command -v mpirun)
export OMP_NUM_THREADS=1

"$mpicc" -O1 -shared -fPIC -o "$scratch/librecord.so" "$here/record.c" || exit 1

# NAME COMMAND...: the sum of its calls becomes NAME.txt.
record() {
    name=$1
    shift
    root=
    [ "$(id -u)" != 0 ] || root=--allow-run-as-root
    if timeout 300 "$mpirun" $root --oversubscribe --mca mpi_yield_when_idle 1 -np "$ranks" \
        -x LD_PRELOAD="$scratch/librecord.so" -x RECORD="$scratch/matrix" \
        "$@" >"$scratch/said" 2>&1 </dev/null && [ -s "$scratch/matrix" ]; then
        mv "$scratch/matrix" "$out/$name.txt"
        echo "$name: $(head -n 1 "$out/$name.txt")"
    else
        echo "$name: failed" && tail -n 5 "$scratch/said"
    fi
}

if command -v lmp >/dev/null; then
    record lammps-pppm lmp -in "$here/lammps_pppm.in" -log none
else
    echo 'lammps-pppm: left out, no lmp'
fi

if "$mpicc" -O1 -o "$scratch/spfft_sphere" "$here/spfft_sphere.c" -lspfft 2>/dev/null; then
    record spfft-sphere "$scratch/spfft_sphere" 80
else
    echo 'spfft-sphere: left out, no SpFFT'
fi

# Order the graph of a mesh, 24 x 24 x 24 points with up to six neighbours each.
if command -v dgord >/dev/null; then
    "$here/mesh.sh" 24 >"$scratch/mesh.grf"
    record ptscotch-order dgord "$scratch/mesh.grf" /dev/null
else
    echo 'ptscotch-order: left out, no dgord'
fi
