/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * When the library is loaded: take the choice over from the environment. When
 * the MPI has started: have the parameters read.
 *
 * An MPICH that finds the value "fast" in one of its variables, and does not know it,
 * ends the process in MPI_Init, MPI_T_init_thread or MPI_Session_init. So the
 * variables must be gone before any of these, and an ELF constructor is earlier
 * than all. A launcher may load the library, too (LD_PRELOAD is inherited):
 * there the choice is handed on to the ranks under a name of our own.
 */
#include "mpich_fast.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool mpich_fast_enabled, mpich_fast_serves_alltoall, mpich_fast_chosen_for_allreduce;

/* ---- the choice ---- */

typedef struct choice {
    /* In the order in which MPICH reads them: the last one that is set wins. */
    const char *variables[3];
    const char *alias;
    bool *is_fast;
} choice_t;

#define CHOICE(_name, _alias, _is_fast)                                             \
    {                                                                               \
        {"MPICH_" _name "_INTRA_ALGORITHM", "MPIR_PARAM_" _name "_INTRA_ALGORITHM", \
         "MPIR_CVAR_" _name "_INTRA_ALGORITHM"},                                    \
            _alias, _is_fast                                                        \
    }

static const choice_t choices[] = {
    CHOICE("ALLTOALLV", MPICH_FAST_ALIAS, &mpich_fast_serves_alltoall),
    CHOICE("ALLREDUCE", MPICH_FAST_ALLREDUCE_ALIAS, &mpich_fast_chosen_for_allreduce),
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

static void take_choice(const choice_t *choice)
{
    const char *value = NULL; /* of the variables that are not "fast" */
    char alias[64] = "off";
    bool last_is_fast = false;

    for (size_t k = 0; k < sizeof(choice->variables) / sizeof(choice->variables[0]); ++k) {
        const char *text = getenv(choice->variables[k]);

        if (is_fast(text)) {
            unsetenv(choice->variables[k]);
            last_is_fast = true;
        } else if (NULL != text) {
            value = text;
            last_is_fast = false;
        }
    }
    *choice->is_fast = last_is_fast || alias_is_fast(getenv(choice->alias), value);
    if (*choice->is_fast) {
        snprintf(alias, sizeof(alias), "fast%s%s", NULL == value ? "" : ":",
                 NULL == value ? "" : value);
    }
    if (last_is_fast || NULL != value) {
        setenv(choice->alias, alias, 1);
    }
}

__attribute__((constructor)) static void take_over(void)
{
    if (!stand_before_mpi()) {
        return;
    }
    for (size_t k = 0; k < sizeof(choices) / sizeof(choices[0]); ++k) {
        take_choice(&choices[k]);
        mpich_fast_enabled = mpich_fast_enabled || *choices[k].is_fast;
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

/* What says in a call, to a rank alone, whether that is ours. */
enum { ALLTOALL, ALLREDUCE, ALLREDUCE_MIN, N_RULES };

static const char *const rules[] = {
    [ALLTOALL] = "fast for MPI_Alltoallv",
    [ALLREDUCE] = "FASTSCHED_ALLREDUCE",
    [ALLREDUCE_MIN] = "FASTSCHED_ALLREDUCE_MIN",
};

static void print_rule(int rule, long long value, char text[32])
{
#define X(_value, _word, _meaning) [_value] = #_word,
    static const char *const modes[] = {FS_ALLREDUCE_MAP(X)};
#undef X

    if (ALLREDUCE == rule) {
        snprintf(text, 32, "%s", modes[value]);
    } else if (ALLTOALL == rule) {
        snprintf(text, 32, "%s", value ? "chosen" : "not chosen");
    } else {
        snprintf(text, 32, "%lld", value);
    }
}

static void leave_to_mpi(int rule)
{
    if (ALLTOALL == rule) {
        mpich_fast_serves_alltoall = false;
    } else {
        mpich_fast_wrapper.params.allreduce = FS_ALLREDUCE_OFF;
    }
}

/* Where ranks have other rules, some would wait in our set-up for ranks that never come there. The
 * first that differs from rank 0 says so, and all leave such calls to the MPI. */
static void compare_rules(int rank)
{
    const fs_params_t *params = &mpich_fast_wrapper.params;
    long long mine[N_RULES] = {mpich_fast_serves_alltoall, params->allreduce,
                               (long long) params->allreduce_min};
    long long theirs[N_RULES];
    int differs[N_RULES], first[N_RULES];

    memcpy(theirs, mine, sizeof(theirs));
    mpi.Bcast(theirs, N_RULES, MPI_LONG_LONG, 0, MPI_COMM_WORLD);
    for (int k = 0; k < N_RULES; ++k) {
        bool matters =
            ALLREDUCE_MIN != k
            || (FS_ALLREDUCE_OFF != mine[ALLREDUCE] && mine[ALLREDUCE] == theirs[ALLREDUCE]);

        differs[k] = matters && mine[k] != theirs[k] ? rank : INT_MAX;
    }
    mpi.Allreduce(differs, first, N_RULES, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    for (int k = 0; k < N_RULES; ++k) {
        char here[32], there[32];

        if (INT_MAX == first[k]) {
            continue;
        }
        leave_to_mpi(k);
        if (rank == first[k]) {
            print_rule(k, mine[k], here);
            print_rule(k, theirs[k], there);
            mpich_fast_sayf("%s is %s on rank %d and %s on rank 0: %s goes to the MPI", rules[k],
                            here, rank, there, ALLTOALL == k ? "MPI_Alltoallv" : "MPI_Allreduce");
        }
    }
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
    if (in_init) {
        compare_rules(rank);
    }
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
    if (mpich_fast_is_passed && is_first_by_environment()) {
        mpich_fast_say("a tool behind " MPICH_FAST_NAME " calls the MPI without it, and does not "
                       "see the calls that fast may serve: name the tool first in LD_PRELOAD");
    }
    (void) mpich_fast_start(true);
}
