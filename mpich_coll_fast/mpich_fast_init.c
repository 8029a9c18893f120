/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * When the library is loaded: take the choice over from the environment. When
 * the MPI has started: read the parameters.
 *
 * An MPICH that finds the value "fast" in its variable, and does not know it,
 * ends the process in MPI_Init, MPI_T_init_thread or MPI_Session_init. So the
 * variable must be gone before any of these, and an ELF constructor is earlier
 * than all. A launcher may load the library, too (LD_PRELOAD is inherited):
 * there the choice is handed on to the ranks under a name of our own.
 */
#include "mpich_fast.h"

#include <ctype.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fastsched_ucx.h"

#define PREFIX "FASTSCHED_"
#define ALIAS  PREFIX "ALLTOALLV"

bool mpich_fast_enabled;

fs_wrapper_t mpich_fast_wrapper = {
    .say = mpich_fast_say,
    .create_net = fs_ucx_create,
    .lock = PTHREAD_MUTEX_INITIALIZER,
};

/* One line, one write: those of many ranks go to one terminal. */
void mpich_fast_say(const char *line)
{
    mpich_fast_sayf("%s", line);
}

void mpich_fast_sayf(const char *format, ...)
{
    char text[1280];
    int len = snprintf(text, sizeof(text), "coll fast: ");
    va_list args;

    va_start(args, format);
    len += vsnprintf(text + len, sizeof(text) - len - 1, format, args);
    va_end(args);
    len = len < (int) sizeof(text) - 2 ? len : (int) sizeof(text) - 2;
    text[len++] = '\n';
    fwrite(text, 1, (size_t) len, stderr);
}

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

__attribute__((constructor)) static void take_over(void)
{
    const char *value = NULL; /* of the variables that are not "fast" */
    char alias[64] = "off";
    bool last_is_fast = false;

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
    mpich_fast_enabled = last_is_fast || alias_is_fast(getenv(ALIAS), value);
    if (mpich_fast_enabled) {
        snprintf(alias, sizeof(alias), "fast%s%s", NULL == value ? "" : ":",
                 NULL == value ? "" : value);
    }
    if (last_is_fast || NULL != value) {
        setenv(ALIAS, alias, 1);
    }
}

/* After MPI_Finalize nobody needs our network any more. A process that ends without it, a forked
 * child say, has other things to do. */
__attribute__((destructor)) static void let_go(void)
{
    if (mpich_fast_finished) {
        fs_wrapper_close(&mpich_fast_wrapper);
    }
}

/* ---- parameters ---- */

/* "window is ..." becomes "FASTSCHED_WINDOW is ...". */
static void spell(const char *name, char *variable, size_t len)
{
    snprintf(variable, len, PREFIX "%s", name);
    for (size_t at = 0; '\0' != variable[at] && ' ' != variable[at] && ':' != variable[at]; ++at) {
        variable[at] = (char) toupper((unsigned char) variable[at]);
    }
}

static const char *value_of(size_t k, const fs_param_info_t *info)
{
    char variable[64];

    (void) k;
    spell(info->name, variable, sizeof(variable));
    return getenv(variable);
}

static bool is_known(const char *entry)
{
    const fs_param_info_t *info;
    char variable[64];
    size_t len = strcspn(entry, "=");

    for (size_t k = 0; NULL != (info = fs_params_info(k)); ++k) {
        spell(info->name, variable, sizeof(variable));
        if (strlen(variable) == len && 0 == strncmp(entry, variable, len)) {
            return true;
        }
    }
    return (strlen(ALIAS) == len && 0 == strncmp(entry, ALIAS, len))
           || 0 == strncmp(entry, PREFIX "UCX_", strlen(PREFIX "UCX_"));
}

/* A name that is mistyped must not be ignored in silence. */
static void look_for_unknown(void)
{
    for (char **entry = environ; NULL != *entry; ++entry) {
        if (0 == strncmp(*entry, PREFIX, strlen(PREFIX)) && !is_known(*entry)) {
            mpich_fast_sayf("%.*s is no parameter and has no effect; see man mpich_coll_fast",
                            (int) strcspn(*entry, "="), *entry);
        }
    }
}

/* False, and said why, if the parameters cannot be used. */
static bool read_parameters(void)
{
    fs_wrapper_t *w = &mpich_fast_wrapper;
    char why[512], text[600];
    int world_size;

    mpi.Comm_size(MPI_COMM_WORLD, &world_size);
    if (FS_OK == fs_wrapper_parse(w, value_of, why, sizeof(why))
        && FS_OK == fs_wrapper_place(w, (uint32_t) world_size, why, sizeof(why))) {
        return true;
    }
    spell(why, text, sizeof(text));
    mpich_fast_sayf("parameter %s; the job stops here", text);
    return false;
}

/* Every rank says it before the first one ends the job; and hydra, which then ends at once, needs a
 * moment to read it. */
static void stop(bool good, bool in_init)
{
    int bad = !good, any = bad;

    if (in_init) {
        mpi.Allreduce(&bad, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    }
    if (any) {
        usleep(200000);
        mpi.Abort(MPI_COMM_WORLD, 1);
    }
}

/* ---- the start ---- */

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
        mpich_fast_sayf("not used: the MPI of this process is not of MPICH's ABI: %s", why);
    }
}

static pthread_mutex_t start_lock = PTHREAD_MUTEX_INITIALIZER;
static bool started;

static void start(bool in_init)
{
    const char *why = mpich_fast_find_mpi();
    fs_wrapper_t *w = &mpich_fast_wrapper;
    int rank, world;

    if (NULL != why) {
        pass_through(why);
        return;
    }
    mpi.Initialized(&world);
    if (!world) {
        pass_through("MPI_Init was not called (sessions are not served)");
        return;
    }
    mpi.Comm_rank(MPI_COMM_WORLD, &rank);
    w->on_world_rank_0 = 0 == rank;
    stop(read_parameters(), in_init);
    if (w->on_world_rank_0) {
        look_for_unknown();
    }
    if (w->on_world_rank_0 && w->params.verbose > 0) {
        mpich_fast_say("version " FS_VERSION " serves MPI_Alltoallv of this job");
    }
}

void mpich_fast_start(bool in_init)
{
    if (__atomic_load_n(&started, __ATOMIC_ACQUIRE)) {
        return;
    }
    pthread_mutex_lock(&start_lock);
    if (!started) {
        start(in_init);
        __atomic_store_n(&started, true, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&start_lock);
}

void mpich_fast_after_init(void)
{
    mpich_fast_start(true);
}
