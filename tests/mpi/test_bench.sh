#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# osu_alltoallv_skew under Open MPI on one host: where its buffers are (-d),
# with drivers that need no GPU, MPI_Alltoall, matrices of files, counters of
# packets, and what it says when it cannot. One line per case.
#
#   test_bench.sh [BUILD-DIRECTORY]
set -u

# shellcheck source=tests/mpi/ompi_job.sh
. "$(dirname "$0")/ompi_job.sh"
need_ompi mpi/mpi_mismatch
bench=$build/osu_extensions/osu_alltoallv_skew
limit=30

# No rank is killed here: a 137 is that of timeout.
fails() {
    [ "$status" != 137 ] || { echo "no end after $limit s" && return 1; }
    ends_badly
}

# DRIVERS OPTION...: a run that finds the drivers in that directory.
bench_with() {
    drivers=$1
    shift
    mpi_run -np 4 --mca coll fast --mca coll_fast_algorithm staged \
        --mca coll_fast_min_bytes 0 --mca coll_fast_servers 2x2 \
        -x LD_LIBRARY_PATH="$drivers:${LD_LIBRARY_PATH-}" "$bench" \
        --servers 2x2 -i 2 -x 1 "$@" >"$scratch/out" 2>&1
    status=$?
    case $status in
    124 | 137) echo "no end after $limit s" && return 1 ;;
    esac
}

# ---- buffers that no CPU may touch ----

fake=$build/tests/accel

# Three sizes, every byte right.  DRIVERS MEMORY
valid() {
    bench_with "$1" -d "$2" -p zipf:0.8 -m 1000:4000 -c --json && ends_well &&
        said 3 "\"memory\": \"$2\"" && said 3 '"valid": true' &&
        said 3 '"algorithm": "staged"'
}

unchecked() {
    bench_with "$fake" -d cuda -m 64k:64k --json && ends_well &&
        said 1 '"valid": null, "algorithm": "staged"'
}

# MEMORY TEXT
header() {
    bench_with "$fake" -d "$1" -m 8:8 && ends_well && said 1 "$2"
}

case_of '-d host' valid "$fake" host
case_of '-d cuda' valid "$fake" cuda
case_of '-d managed' valid "$fake" managed
case_of '-d rocm' valid "$fake" rocm
case_of '-d cuda, nothing checked' unchecked
case_of '-d cuda, header' header cuda \
    '# Send Buffer on DEVICE (D) and Receive Buffer on DEVICE (D)'
case_of '-d managed, header' header managed \
    '# Send Buffer on MANAGED (M) and Receive Buffer on MANAGED (M)'
case_of '-d host, header' header host \
    '# OSU MPI Skewed All-to-Allv Personalized Exchange Latency Test'

# ---- MPI_Alltoall ----

# OPTION...: a run on 4 ranks without fast.
bench_plain() {
    mpi_run -np 4 --mca coll ^fast "$bench" --servers 2x2 -i 2 -x 1 "$@" \
        >"$scratch/out" 2>&1
    status=$?
}

uniform() {
    bench_plain --collective alltoall -m 1:4k -c --json && ends_well &&
        said 13 '"collective": "alltoall", "pattern": "balanced"' &&
        said 13 '"valid": true'
}

uniform_table() {
    bench_plain --collective alltoall -m 8:8 -p balanced -c && ends_well &&
        said 1 'OSU MPI All-to-All Personalized Exchange' && said 1 ' Pass'
}

case_of '--collective alltoall, every byte' uniform
case_of '--collective alltoall, a table' uniform_table

# A call that loses its last byte must not pass.
cat >"$scratch/wrong.c" <<'CODE'
#include <mpi.h>
#include <string.h>
int MPI_Alltoall(const void *s, int n, MPI_Datatype t, void *r, int m,
                 MPI_Datatype u, MPI_Comm comm)
{
    int size, status = PMPI_Alltoall(s, n, t, r, m, u, comm);

    MPI_Comm_size(comm, &size);
    memset((char *)r + size * m - 1, 0, 1);
    return status;
}
CODE
wrong() {
    ${FS_MPICC:-mpicc.openmpi} -shared -fPIC -o "$scratch/wrong.so" \
        "$scratch/wrong.c" || return 1
    mpi_run -np 4 --mca coll ^fast -x LD_PRELOAD="$scratch/wrong.so" "$bench" \
        -i 2 -x 1 --collective alltoall -m 8:8 -c --json >"$scratch/out" 2>&1
    status=$?
    fails && said 1 '"valid": false' && said 4 'offset 7 of 8'
}

case_of '--collective alltoall, a wrong byte is seen' wrong

# ---- the matrix of a file ----

# Sent and received by every rank: 10, 20, ... as they stand.
cat >"$scratch/ranks" <<'MATRIX'
# four ranks
 1  2  3  4
10 20 30 40
 5,6,7,8
 0  0  0 1e3
MATRIX
printf '100 200\n300 7\n' >"$scratch/servers"

# SIZE FILE OPTION...
from_file() {
    size=$1 file=$2
    shift 2
    bench_plain -p "file:$scratch/$file" -c --json "$@" && ends_well &&
        said 1 "\"avg_bytes_per_pair\": $size," && said 1 '"valid": true'
}

# A server with two NICs sends 300 bytes to the other.
bound() {
    from_file 38 servers --rate 1mbit && said 1 '"lower_bound_s": 0.0012,'
}

case_of '-p file: a matrix of ranks as it stands' from_file 71 ranks
case_of '-p file: scaled' from_file 1000 ranks -m 1000:1000
case_of '-p file: a matrix of servers as it stands' bound

# ---- packets ----

counted() {
    bench_plain -m 8:8 --nic-counters --json && ends_well &&
        said 1 '"counted_nics": ' && said 1 '"data_packets": '
}

none_counted() {
    bench_plain -m 8:8 --nic-counters=no_such_nic,lo --json && ends_well &&
        said 1 '"counted_nics": 0, "sent_packets": 0, "sent_bytes": 0,'
}

case_of '--nic-counters' counted
case_of '--nic-counters of no NIC' none_counted

# ---- ranks that come late ----

# Rank 2 comes 80 ms after the others, and stats says so.
late() {
    mpi_run -np 4 --mca coll fast --mca coll_fast_stats 1 \
        --mca coll_fast_servers 2x2 "$bench" --servers 2x2 -i 8 -x 1 -m 1000:1000 \
        -c --json --rate 100kbit --arrival late:2:0.5 >"$scratch/out" 2>&1
    status=$?
    ends_well && said 1 '"arrival": "late:2:0.5"' && said 1 '"valid": true' &&
        said 2 'last most often: rank 2 ('
}

case_of '--arrival late, and who it was' late

# ---- sibling communicators ----

# Two of two ranks, and one of a rank alone.
siblings() {
    mpi_run -np 5 --mca coll fast --mca coll_fast_algorithm staged \
        --mca coll_fast_servers 2+3 "$bench" --servers 2+3 -i 3 -x 1 \
        -m 1000:4000 -p zipf:0.8 --siblings -c --json >"$scratch/out" 2>&1
    status=$?
    ends_well && said 3 '"siblings": true' && said 3 '"valid": true' &&
        said 3 '"algorithm": "staged"'
}

# Each communicator has its part of the matrix: on two servers of two ranks the busiest
# server sends 2000 bytes in each.
siblings_file() {
    printf '0 0 2 0\n0 0 0 30\n0 0 0 0\n0 0 0 0\n' >"$scratch/matrix"
    mpi_run -np 4 --mca coll fast --mca coll_fast_algorithm staged \
        --mca coll_fast_servers 2x2 "$bench" --servers 2x2 -i 3 -x 1 \
        -m 500:500 -p "file:$scratch/matrix" --rate 1gbit --nics 1 \
        --siblings -c --json >"$scratch/out" 2>&1
    status=$?
    ends_well && said 1 '"valid": true' && said 1 '"lower_bound_s": 3.2e-05'
}

siblings_whole_file() {
    bench_plain --siblings -p file:none
    fails && said 1 'with --siblings it needs -m'
}

case_of '--siblings' siblings
case_of '--siblings with a file' siblings_file
case_of '--siblings with a file as it is' siblings_whole_file

# ---- osu_fft_step ----

# OPTION...: steps on 4 ranks of 2 servers, with fast, every call staged.
fft_run() {
    mpi_run -np 4 --mca coll fast --mca coll_fast_algorithm staged \
        --mca coll_fast_min_bytes 0 --mca coll_fast_servers 2x2 \
        "$build/osu_extensions/osu_fft_step" --servers 2x2 "$@" \
        >"$scratch/out" 2>&1
    status=$?
}

# OPTION...: every value right; axes that the grid does not divide, and one that is
# shorter than it.
fft_steps() {
    fft_run -n 13x3x10 -i 3 -x 1 --json "$@" && ends_well &&
        said 1 '"box": "13x3x10"' && said 1 '"valid": true'
}

# 16 ranks' worth of arithmetic by hand: of 8 x 8 x 8 values of 16 bytes on 4 x 1 ranks,
# a rank has 128, and 32 for each other. Two of four are on the other server: 1024 bytes
# per rank and exchange; two exchanges are among the ranks of a column.
fft_bound() {
    fft_run -n 8 -g 4x1 -i 1 -x 0 --rate 1mbit --json && ends_well &&
        said 1 '"lower_bound_s": 0.016384,'
}

# A transpose that loses its last value must not pass.
cat >"$scratch/wrong_v.c" <<'CODE'
#include <mpi.h>
#include <string.h>
int MPI_Alltoallv(const void *s, const int *n, const int *d, MPI_Datatype t,
                  void *r, const int *m, const int *e, MPI_Datatype u,
                  MPI_Comm comm)
{
    int status = PMPI_Alltoallv(s, n, d, t, r, m, e, u, comm);

    memset(r, 0, 16);
    return status;
}
CODE
fft_wrong() {
    ${FS_MPICC:-mpicc.openmpi} -shared -fPIC -o "$scratch/wrong_v.so" \
        "$scratch/wrong_v.c" || return 1
    mpi_run -np 4 --mca coll ^fast -x LD_PRELOAD="$scratch/wrong_v.so" \
        "$build/osu_extensions/osu_fft_step" -n 8 -i 1 -x 0 --json \
        >"$scratch/out" 2>&1
    status=$?
    fails && said 1 '"valid": false'
}

# TEXT OPTION...: refused, once.
fft_refused() {
    words=$1
    shift
    fft_run "$@"
    fails && said 1 'osu_fft_step: ' && said 1 "$words"
}

case_of 'osu_fft_step: packed' fft_steps
case_of 'osu_fft_step: subarrays' fft_steps --collective alltoallw
case_of 'osu_fft_step: slabs' fft_steps --collective alltoallw -g 1x4
case_of 'osu_fft_step: uneven' fft_steps --compute 2000 --uneven 1
case_of 'osu_fft_step: bound' fft_bound
case_of 'osu_fft_step: a wrong value is seen' fft_wrong
case_of 'osu_fft_step: a grid of other ranks' fft_refused \
    '-g "3x2": allowed: a product of 4, the number of ranks' -g 3x2
case_of 'osu_fft_step: -n 0' fft_refused \
    '-n "0": allowed: N or N0xN1xN2, each from 1 to 65536' -n 0
case_of 'osu_fft_step: too large for an int' fft_refused \
    'a rank would have ' -n 60000
case_of 'osu_fft_step: --uneven 2' fft_refused \
    '--uneven "2": allowed: 0 to 1' --uneven 2

# ---- osu_allreduce_arrival ----

# OPTION...: on 4 servers, with StragglAR for rank 1.
arrival_run() {
    # shellcheck disable=SC2086
    mpi_run -np 4 ${with-} --mca coll fast --mca coll_fast_servers 4x1 \
        --mca coll_fast_allreduce all --mca coll_fast_allreduce_min 8 \
        --mca coll_fast_straggler 1 \
        "$build/osu_extensions/osu_allreduce_arrival" --servers 4x1 "$@" \
        >"$scratch/out" 2>&1
    status=$?
}

arrival_sums() {
    arrival_run -m 8:80k -i 2 -x 1 -c --json "$@" && ends_well &&
        said 14 '"valid": true' && said 14 '"algorithm": "stragglar"'
}

# 2 x 3/4 of 8000 bits over 1 Mbit/s.
arrival_bound() {
    arrival_run -m 1000 -i 2 -x 0 --rate 1mbit --json "$@" && ends_well &&
        said 1 '"lower_bound_s": 0.012,' && said 1 '"arrival": "late:1:0.5"'
}

# A sum that lacks a rank must not pass.
cat >"$scratch/wrong_sum.c" <<'CODE'
#include <mpi.h>
#include <string.h>
int MPI_Allreduce(const void *s, void *r, int n, MPI_Datatype t, MPI_Op op,
                  MPI_Comm comm)
{
    static long zeros[1000];
    int rank;

    MPI_Comm_rank(comm, &rank);
    return PMPI_Allreduce(n == 1000 && rank == 2 ? zeros : s, r, n, t, op, comm);
}
CODE
arrival_wrong() {
    ${FS_MPICC:-mpicc.openmpi} -shared -fPIC -o "$scratch/wrong_sum.so" \
        "$scratch/wrong_sum.c" || return 1
    mpi_run -np 4 --mca coll ^fast -x LD_PRELOAD="$scratch/wrong_sum.so" \
        "$build/osu_extensions/osu_allreduce_arrival" -m 8000 -i 1 -x 0 -c \
        --json "$@" >"$scratch/out" 2>&1
    status=$?
    fails && said 1 '"valid": false'
}

# TEXT OPTION...: refused, once.
arrival_refused() {
    words=$1
    shift
    arrival_run "$@"
    fails && said 1 'osu_allreduce_arrival: ' && said 1 "$words"
}

case_of 'osu_allreduce_arrival: integers' arrival_sums
case_of 'osu_allreduce_arrival: doubles, in place' arrival_sums --type double --in-place
# On a device.
arrival_there() {
    with="-x LD_LIBRARY_PATH=$fake:${LD_LIBRARY_PATH-}"
    arrival_run -m 8:80k -i 2 -x 1 -c --json -d cuda "$@"
    with=
    ends_well && said 14 '"memory": "cuda"' && said 14 '"valid": true' && said 14 '"algorithm": "stragglar"'
}

case_of 'osu_allreduce_arrival: -d cuda' arrival_there
case_of 'osu_allreduce_arrival: -d cuda, in place' arrival_there --in-place
case_of 'osu_allreduce_arrival: bound' arrival_bound --arrival late:1:0.5
case_of 'osu_allreduce_arrival: a wrong sum is seen' arrival_wrong
case_of 'osu_allreduce_arrival: a wrong sum of doubles is seen' arrival_wrong --type double
case_of 'osu_allreduce_arrival: -m 12' arrival_refused \
    '-m "12": allowed: MAX or MIN:MAX, multiples of 8' -m 12
case_of 'osu_allreduce_arrival: --type int' arrival_refused \
    '--type "int": allowed: uint64, double' --type int
case_of 'osu_allreduce_arrival: -d gpu' arrival_refused \
    '-d "gpu": allowed: host, cuda, rocm, managed' -d gpu
case_of 'osu_allreduce_arrival: no rate' arrival_refused \
    '--arrival "late:1:1" needs --rate' --arrival late:1:1
case_of 'osu_allreduce_arrival: no such rank' arrival_refused \
    '--arrival "late:4:1": allowed: ranks below 4' --arrival late:4:1 --rate 1mbit

# ---- copies in a device: the kernel's source, every byte ----

copies() {
    LD_LIBRARY_PATH="$fake:${LD_LIBRARY_PATH-}" "$build/tests/gpu/copy_bench" 4 \
        >"$scratch/out" 2>&1
    status=$?
    ends_well && said 1 'what,segments,len_bytes,batch_GBps' &&
        said 1 'copy,1000,1024,' && said 1 'sum bf16,100,4096,'
}

case_of 'tests/gpu/copy_bench' copies

# ---- what cannot be: one line, an error on every rank ----

# DRIVERS TEXT OPTION...
refused() {
    drivers=$1 words=$2
    shift 2
    bench_with "$drivers" "$@" && fails &&
        said 1 'osu_alltoallv_skew: ' && said 1 "$words"
}

# Such files end the search for a driver, wherever else there may be one.
none=$scratch/none
other=$scratch/other
mkdir "$none" "$other"
: >"$none/libcuda.so.1"
: >"$none/libamdhip64.so.7"
: >"$none/libamdhip64.so.6"
: >"$none/libamdhip64.so.5"
ln -s "$build/libfastsched/.libs/libfastsched.so" "$other/libcuda.so.1"

case_of '-d gpu is refused' refused "$fake" \
    '-d "gpu": allowed: host, cuda, rocm, managed' -d gpu
case_of '-d without a value is refused' refused "$fake" \
    'option "-d" needs a value' -d
case_of '-d cuda without a driver' refused "$none" \
    '-d cuda: CUDA: no driver: ' -d cuda
case_of '-d rocm without a driver' refused "$none" \
    '-d rocm: HIP: no driver: ' -d rocm
case_of '-d managed without a driver' refused "$none" '; HIP: no driver: ' \
    -d managed
case_of '-d cuda, a driver that lacks something' refused "$other" \
    '-d cuda: CUDA: the driver has no cuInit' -d cuda

# TEXT OPTION...: no run, and why, once; on every rank the same status.
refused_plain() {
    words=$1
    shift
    bench_plain "$@"
    fails && said 1 'osu_alltoallv_skew: ' && said 1 "$words"
}

printf '1 2\n3 x\n' >"$scratch/bad"
printf '1 2 3\n4 5 6\n7 8 9\n' >"$scratch/three"
printf '0 0\n0 0\n' >"$scratch/zero"
case_of '-p and --arrival: no such rank' refused_plain \
    '--arrival "late:4:1": allowed: ranks below 4' --arrival late:4:1 --rate 1mbit
case_of '--collective of another name' refused_plain \
    '--collective "bcast": allowed: alltoallv, alltoall' --collective bcast
case_of '--collective alltoall, skewed' refused_plain \
    '-p "zipf:0.8": with --collective alltoall every rank sends the same to every rank; allowed: balanced' \
    --collective alltoall -p zipf:0.8
case_of '--collective alltoall, a file' refused_plain 'allowed: balanced' \
    -p "file:$scratch/ranks" --collective alltoall
case_of '-p file: that is not there' refused_plain \
    "-p file:$scratch/missing: No such file" -p "file:$scratch/missing"
case_of '-p file: with a word in it' refused_plain \
    "-p file:$scratch/bad:2:3: \"x\" is not a number; allowed: whole numbers of bytes" \
    -p "file:$scratch/bad"
case_of '-p file: of another shape' refused_plain \
    'the matrix is 3 x 3; allowed: 2 x 2 (servers) or 4 x 4 (ranks)' \
    -p "file:$scratch/three"
case_of '-p file: all zero' refused_plain 'the matrix is all zero' \
    -p "file:$scratch/zero"
case_of '-p file: --dynamic' refused_plain '-p file:PATH has one matrix' \
    -p "file:$scratch/ranks" --dynamic
case_of '-p of no name' refused_plain 'sparse:K (K servers, 1 or more); or file:PATH' -p nonsense

# A rank alone has no driver.
alone() {
    cat >"$scratch/with" <<'WRAPPER'
#!/bin/sh
[ "$OMPI_COMM_WORLD_RANK" != 2 ] || LD_LIBRARY_PATH=$1:$LD_LIBRARY_PATH
shift
exec "$@"
WRAPPER
    chmod +x "$scratch/with"
    mpi_run -np 4 -x LD_LIBRARY_PATH="$fake:${LD_LIBRARY_PATH-}" \
        "$scratch/with" "$none" "$bench" -d cuda -m 8:8 >"$scratch/out" 2>&1
    status=$?
    fails && said 1 '-d cuda: CUDA: no driver: '
}

case_of '-d cuda, one rank without a driver' alone

echo "$n_cases cases, $failed failed"
[ $failed = 0 ]
