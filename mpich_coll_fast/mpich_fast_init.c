/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * When the library is loaded: take the choice over from the environment. When
 * the MPI has started: have the parameters read.
 *
 * An MPICH that finds the value "fast" in its variable, and does not know it,
 * ends the process in MPI_Init, MPI_T_init_thread or MPI_Session_init. So the
 * variable must be gone before any of these, and an ELF constructor is earlier
 * than all. A launcher may load the library, too (LD_PRELOAD is inherited):
 * there the choice is handed on to the ranks under a name of our own.
 */
#include "mpich_fast.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool mpich_fast_enabled;

/* ---- the choice ---- */

/* In the order in which MPICH reads them: the last one that is set wins. */
static const char *const variables[] = {
    "MPICH_ALLTOALLV_INTRA_ALGORITHM",
    "MPIR_PARAM_ALLTOALLV_INTRA_ALGORITHM",
    "MPIR_CVAR_ALLTOALLV_INTRA_ALGORITHM",
};

static bool is_fast(const char *value)
{
    return NULL != value && 0 == strcmp(value, "fast");
}

/* Under our own name: "fast", or "fast:VALUE" if VALUE stays in a variable that has less to say. */
static bool alias_is_fast(const char *alias, const char *value)
{
    return is_fast(alias) ? NULL == value
                          : NULL != alias && NULL != value && 0 == strncmp(alias, "fast:", 5)
                                && 0 == strcmp(alias + 5, value);
}

/* Or is the library only opened, by an MPICH with "fast" built in, or by a
 * program that reads counters? */
static bool stand_before_mpi(void)
{
    Dl_info other, own;
    void *function = dlsym(RTLD_DEFAULT, "PMPI_Alltoallv");

    return NULL != function && 0 != dladdr(function, &other)
           && 0 != dladdr(&mpich_fast_enabled, &own) && other.dli_fbase == own.dli_fbase;
}

__attribute__((constructor)) static void take_over(void)
{
    const char *value = NULL; /* of the variables that are not "fast" */
    char alias[64] = "off";
    bool last_is_fast = false;

    if (!stand_before_mpi()) {
        return;
    }
    for (size_t k = 0; k < sizeof(variables) / sizeof(variables[0]); ++k) {
        const char *text = getenv(variables[k]);

        if (is_fast(text)) {
            unsetenv(variables[k]);
            last_is_fast = true;
        } else if (NULL != text) {
            value = text;
            last_is_fast = false;
        }
    }
    mpich_fast_enabled = last_is_fast || alias_is_fast(getenv(MPICH_FAST_ALIAS), value);
    if (mpich_fast_enabled) {
        snprintf(alias, sizeof(alias), "fast%s%s", NULL == value ? "" : ":",
                 NULL == value ? "" : value);
    }
    if (last_is_fast || NULL != value) {
        setenv(MPICH_FAST_ALIAS, alias, 1);
    }
}

/* ---- the start ---- */

/* The lowest rank with an error prints it, before any rank ends the job. */
static void stop_if(const char *wrong, int rank, bool in_init)
{
    struct {
        int is_wrong, rank;
    } mine = {NULL != wrong, rank}, first = mine;

    if (in_init) {
        mpi.Allreduce(&mine, &first, 1, MPI_2INT, MPI_MAXLOC, MPI_COMM_WORLD);
    }
    if (!first.is_wrong) {
        return;
    }
    if (rank == first.rank) {
        mpich_fast_say_last("%s", wrong);
    }
    if (in_init) {
        mpi.Barrier(MPI_COMM_WORLD);
    }
    mpi.Abort(MPI_COMM_WORLD, 1);
}

/* For an MPI whose handles we do not know: by what the launcher says. */
static bool is_first_by_environment(void)
{
    static const char *const names[] = {"PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK"};

    for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); ++k) {
        const char *rank = getenv(names[k]);

        if (NULL != rank) {
            return 0 == strcmp(rank, "0");
        }
    }
    return true;
}

static void pass_through(const char *why)
{
    mpich_fast_enabled = false;
    if (is_first_by_environment()) {
        mpich_fast_sayf("not used: the MPI of this process is not of " MPICH_FAST_ABI ": %s", why);
    }
}

static pthread_mutex_t start_lock = PTHREAD_MUTEX_INITIALIZER;
static bool found, started;

static bool find_mpi(void)
{
    const char *why = found ? NULL : mpich_fast_find_mpi();

    found = NULL == why;
    if (!found) {
        pass_through(why);
    }
    return found;
}

/* A session may make calls before MPI_Init, which is then still to come. */
static bool is_initialized(void)
{
    int initialized;

    mpi.Initialized(&initialized);
    return initialized;
}

/* False: not all ranks are with us. */
static bool start(bool in_init)
{
    int rank, size;
    char wrong[700];

    mpi.Comm_rank(MPI_COMM_WORLD, &rank);
    mpi.Comm_size(MPI_COMM_WORLD, &size);
    mpich_fast_enabled = !in_init || mpich_fast_all_here(rank, size);
    if (!mpich_fast_enabled) {
        return false;
    }
    stop_if(mpich_fast_read_params(rank, size, wrong, sizeof(wrong)) ? NULL : wrong, rank, in_init);
    mpich_fast_wrapper.is_driven = NULL != mpi.Async_start;
    mpich_fast_watch_finalize();
    return true;
}

bool mpich_fast_start(bool in_init)
{
    bool is_started = __atomic_load_n(&started, __ATOMIC_ACQUIRE);

    if (is_started) {
        return true;
    }
    pthread_mutex_lock(&start_lock);
    if (!started && mpich_fast_enabled && find_mpi() && is_initialized()) {
        __atomic_store_n(&started, start(in_init), __ATOMIC_RELEASE);
    }
    is_started = started;
    pthread_mutex_unlock(&start_lock);
    return is_started;
}

void mpich_fast_after_init(void)
{
    (void) mpich_fast_start(true);
}
