#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Tools that count calls by the profiling interface, before and behind each other
# and our library: bytes are right, each tool sees each call once, fast serves the
# calls. One line per case. Ours are two, see pmpi_tool.c; eztrace is Debian's.
#
#   test_tools.sh [--mpi ompi|mpich] [BUILD-DIRECTORY]
set -u

mpi=ompi where=mpi
[ "${1-}" != --mpi ] || { mpi=$2 where=$2 && shift 2; }
# shellcheck source=/dev/null
. "$(dirname "$0")/${mpi}_job.sh"
need_mpi mpi/mpi_called

pmpi=$build/tests/$where/libpmpi_tool.so
next=$build/tests/$where/libnext_tool.so
[ "$mpi" = ompi ] && eztrace=openmpi || eztrace=mpich
eztrace=$(ldconfig -p | sed -n "s|.*libeztrace-$eztrace.so .*=> ||p")
command -v otf2-print >/dev/null || eztrace=

# The program's calls, as a tool counts them.
all='1 MPI_Init, 5 MPI_Alltoallv, 4 MPI_Ialltoallv, 4 MPI_Wait and MPI_Waitall'
passed="a tool behind libmpich_coll_fast calls the MPI without it"

# LIBRARY:...: four ranks on two servers, with fast.
job() {
    rm -rf "$scratch/eztrace"
    any_run -np 4 --mca coll fast --mca coll_fast_servers 2x2 --mca coll_fast_min_bytes 0 \
        --mca coll_fast_algorithm staged --mca coll_fast_stats 1 \
        -x EZTRACE_TRACE_DIR="$scratch/eztrace" -x LD_PRELOAD="$1" "$program" >"$scratch/out" 2>&1
    status=$?
    ends_well && said 4 ': ok' && served
}

# All blocking calls; nonblocking ones as well where the MPI lets us: Open MPI.
served() {
    [ "$mpi" = ompi ] && n=9 || n=5
    said 1 "stats: MPI_COMM_WORLD: $n calls, $n staged"
}

# eztrace has seen all of each rank.
in_eztrace() {
    otf2-print "$(find "$scratch/eztrace" -name '*.otf2')" >"$scratch/events" 2>&1
    for what in 20,MPI_Alltoallv 16,MPI_Ialltoallv 12,MPI_Wait 4,MPI_Waitall; do
        n=$(grep -c "^ENTER.*\"${what#*,}\"" "$scratch/events")
        [ "$n" = "${what%,*}" ] || { echo "eztrace has $n $what" && return 1; }
    done
}

one() { job "$2" && said 1 "$1: $all" && said 0 "$passed"; }
two() { job "$1" && said 1 "pmpi_tool: $all" && said 1 "next_tool: $all" && said 0 "$passed"; }
with_eztrace() { job "$1" && in_eztrace && said 0 "$passed"; }
two_and_eztrace() { two "$1" && in_eztrace; }

# What fast may serve is not seen by it, all else is; and it is said.
past_us() {
    job "$1" && said 1 "$passed" &&
        said 1 'next_tool: 1 MPI_Init, 0 MPI_Alltoallv, 0 MPI_Ialltoallv, 4 MPI_Wait and MPI_Waitall'
}
eztrace_past_us() { job "$1" && said 1 "$passed"; }

if [ "$mpi" = ompi ]; then
    case_of 'a tool' one pmpi_tool "$pmpi"
    case_of 'a tool that calls MPI_ behind itself' one next_tool "$next"
    case_of 'this one, then the other' two "$next:$pmpi"
    if [ -n "$eztrace" ]; then
        case_of 'eztrace' with_eztrace "$eztrace"
        case_of 'eztrace and both' two_and_eztrace "$eztrace:$next:$pmpi"
        case_of 'the one, then eztrace and the other' two_and_eztrace "$next:$eztrace:$pmpi"
    fi
else
    case_of 'a tool, then fast' one pmpi_tool "$pmpi:$library"
    case_of 'fast, then a tool' one pmpi_tool "$library:$pmpi"
    case_of 'a tool that calls MPI_ behind itself, then fast' one next_tool "$next:$library"
    case_of 'fast, then such a tool' past_us "$library:$next"
    case_of 'such a tool, the other, fast' two "$next:$pmpi:$library"
    case_of 'such a tool, fast, the other' two "$next:$library:$pmpi"
    case_of 'fast, such a tool, the other' two "$library:$next:$pmpi"
    if [ -n "$eztrace" ]; then
        case_of 'eztrace, then fast' with_eztrace "$eztrace:$library"
        case_of 'fast, then eztrace' eztrace_past_us "$library:$eztrace"
        case_of 'eztrace, fast, both' two_and_eztrace "$eztrace:$library:$next:$pmpi"
        case_of 'both around eztrace and fast' two_and_eztrace "$next:$eztrace:$library:$pmpi"
    fi
fi
[ -n "$eztrace" ] || echo 'skip    eztrace: it is not installed, or otf2-print is not'

echo "$n_cases cases, $failed failed"
[ $failed = 0 ]
