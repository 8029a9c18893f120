/* SPDX-License-Identifier: BSD-3-Clause */
/* What this process says, and the parameters, which are in the environment. */
#include "mpich_fast.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fastsched_ucx.h"

#define PREFIX "FASTSCHED_"

static void say_last(const char *line)
{
    mpich_fast_say_last("%s", line);
}

fs_wrapper_t mpich_fast_wrapper = {
    .say = mpich_fast_say,
    .say_last = say_last,
    .create_net = fs_ucx_create,
    .packs_in_calls = true,
    .lock = PTHREAD_MUTEX_INITIALIZER,
};

/* One line, one write: those of many ranks go to one terminal. */
void mpich_fast_say(const char *line)
{
    mpich_fast_sayf("%s", line);
}

static void vsay(const char *format, va_list args)
{
    char text[1280];
    int len = snprintf(text, sizeof(text), "coll fast: ");

    len += vsnprintf(text + len, sizeof(text) - len - 1, format, args);
    len = len < (int) sizeof(text) - 2 ? len : (int) sizeof(text) - 2;
    text[len++] = '\n';
    fwrite(text, 1, (size_t) len, stderr);
}

void mpich_fast_sayf(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsay(format, args);
    va_end(args);
}

/* When a rank aborts, hydra kills the others without reading what they have still said. */
void mpich_fast_say_last(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsay(format, args);
    va_end(args);
    usleep(200000);
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
    const char *alias = fs_params_alias(k), *value;
    char variable[64];

    spell(info->name, variable, sizeof(variable));
    value = getenv(variable);
    if (NULL == value && NULL != alias) {
        spell(alias, variable, sizeof(variable));
        value = getenv(variable);
    }
    return NULL == value && mpich_fast_chosen_for_allreduce && 0 == strcmp(info->name, "allreduce")
               ? "exact"
               : value;
}

/* NAME is a parameter, or NULL. */
static bool is_entry(const char *entry, const char *name)
{
    char variable[64];
    size_t len = strcspn(entry, "=");

    if (NULL == name) {
        return false;
    }
    spell(name, variable, sizeof(variable));
    return strlen(variable + strlen(PREFIX)) == len
           && 0 == strncmp(entry, variable + strlen(PREFIX), len);
}

/* ENTRY=VALUE of the environment, without the prefix. */
static bool is_known(const char *entry)
{
    static const char *const others[] = {&MPICH_FAST_ALIAS "="[sizeof(PREFIX) - 1],
                                         &MPICH_FAST_ALLREDUCE_ALIAS "="[sizeof(PREFIX) - 1],
                                         "UCX_"};
    const fs_param_info_t *info;

    for (size_t k = 0; NULL != (info = fs_params_info(k)); ++k) {
        if (is_entry(entry, info->name) || is_entry(entry, fs_params_alias(k))) {
            return true;
        }
    }
    for (size_t k = 0; k < sizeof(others) / sizeof(others[0]); ++k) {
        if (0 == strncmp(entry, others[k], strlen(others[k]))) {
            return true;
        }
    }
    return false;
}

bool mpich_fast_read_params(int world_rank, int world_size, char *wrong, size_t len)
{
    fs_wrapper_t *w = &mpich_fast_wrapper;
    char why[512], text[600];

    w->on_world_rank_0 = 0 == world_rank;
    if (FS_OK != fs_wrapper_parse(w, value_of, why, sizeof(why))
        || FS_OK != fs_wrapper_place(w, (uint32_t) world_size, why, sizeof(why))) {
        spell(why, text, sizeof(text));
        snprintf(wrong, len, "parameter %s; the job stops here", text);
        return false;
    }
    if (w->on_world_rank_0) {
        fs_wrapper_look_for_unknown(w, PREFIX, is_known, "mpich_coll_fast");
    }
    if (w->on_world_rank_0 && w->params.verbose > 0) {
        mpich_fast_sayf("version " FS_VERSION " serves %s of this job",
                        mpich_fast_chosen_for_allreduce && !mpich_fast_serves_alltoall
                            ? "MPI_Allreduce"
                            : "MPI_Alltoall, MPI_Alltoallv and MPI_Alltoallw");
    }
    return true;
}
