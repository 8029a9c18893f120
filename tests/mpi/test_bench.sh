#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# osu_alltoallv_skew under Open MPI on one host: where its buffers are (-d),
# with drivers that need no GPU, and what it says when it cannot. One line per
# case.
#
#   test_bench.sh [BUILD-DIRECTORY]
set -u

# shellcheck source=tests/mpi/ompi_job.sh
. "$(dirname "$0")/ompi_job.sh"
need_ompi mpi/mpi_mismatch
bench=$build/osu_extensions/osu_alltoallv_skew
limit=30

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

# ---- copies in a device: the kernel's source, every byte ----

copies() {
    LD_LIBRARY_PATH="$fake:${LD_LIBRARY_PATH-}" "$build/tests/gpu/copy_bench" 4 \
        >"$scratch/out" 2>&1
    status=$?
    ends_well && said 1 'segments,len_bytes,batch_GBps' && said 1 '1000,1024,'
}

case_of 'tests/gpu/copy_bench' copies

# ---- what cannot be: one line, an error on every rank ----

# DRIVERS TEXT OPTION...
refused() {
    drivers=$1 words=$2
    shift 2
    bench_with "$drivers" "$@" && ends_badly &&
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
    [ $status != 124 ] && ends_badly && said 1 '-d cuda: CUDA: no driver: '
}

case_of '-d cuda, one rank without a driver' alone

echo "$n_cases cases, $failed failed"
[ $failed = 0 ]
