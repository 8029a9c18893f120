/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Parameter tuning: the file is read once in a process, by those that are rank 0 of
 * a communicator, and written once, by rank 0 of MPI_COMM_WORLD. What is wrong with
 * it is told once, and stops nothing.
 */
#include "wrapper/fs_remember.h"

#include "base/fs_strbuf.h"
#include "comm/fs_comm.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/* One warning of the job. */
static void tell(fs_wrapper_t *wrapper, const char *why)
{
    if (wrapper->on_world_rank_0 && !wrapper->tuning_told) {
        wrapper->tuning_told = true;
        wrapper->say(why);
    }
}

/* ---- at the start ---- */

/* Zeroed. NULL: out of memory. */
static fs_tuning_t *make(void)
{
    return calloc(1, sizeof(fs_tuning_t));
}

static void destroy(fs_tuning_t *tuning)
{
    if (tuning != NULL) {
        fs_tuning_fini(tuning);
    }
    free(tuning);
}

static void read_file(fs_wrapper_t *wrapper)
{
    char why[FS_TUNING_MAX + 256] = "";

    wrapper->has_tuning = true;
    wrapper->tuning     = make();
    if (wrapper->tuning != NULL &&
        fs_tuning_load(wrapper->tuning, wrapper->params.tuning, why,
                       sizeof(why)) != FS_OK) {
        tell(wrapper, why);
    }
}

const fs_tuning_t *fs_remember_tuning(void *process)
{
    fs_wrapper_t *wrapper = process;

    pthread_mutex_lock(&wrapper->lock);
    if (!wrapper->has_tuning) {
        read_file(wrapper);
    }
    pthread_mutex_unlock(&wrapper->lock);
    return wrapper->tuning;
}

/* "Open MPI v4.1.4, package: ..." and "MPICH Version:\t4.0.2\nMPICH ...": what
 * comes first. */
static void find_name(fs_wrapper_t *wrapper)
{
    enum { LONGEST = 8192 }; /* MPI_MAX_LIBRARY_VERSION_STRING of all */
    int (*get_version)(char *text, int *len) = NULL;
    char *text                               = calloc(1, LONGEST + 1);
    int   len;

    *(void **)&get_version = dlsym(RTLD_DEFAULT, "PMPI_Get_library_version");
    if (text != NULL && get_version != NULL) {
        (void)get_version(text, &len);
        text[strcspn(text, ",\n")] = '\0';
        for (char *c = text; *c != '\0'; ++c) {
            *c = *c == '\t' ? ' ' : *c;
        }
    }
    wrapper->mpi_name = text;
}

const char *fs_remember_mpi_name(fs_wrapper_t *wrapper)
{
    if (wrapper->params.tuning[0] == '\0') {
        return NULL;
    }
    pthread_mutex_lock(&wrapper->lock);
    if (wrapper->mpi_name == NULL) {
        find_name(wrapper);
    }
    pthread_mutex_unlock(&wrapper->lock);
    return wrapper->mpi_name;
}

/* ---- at the end ---- */

void fs_remember(fs_wrapper_comm_t *comm)
{
    fs_wrapper_t *wrapper = comm->wrapper;
    fs_status_t   status  = FS_ERR_NOMEM;

    if (wrapper->params.tuning[0] == '\0' || !wrapper->on_world_rank_0) {
        return;
    }
    pthread_mutex_lock(&wrapper->lock);
    if (wrapper->learned == NULL) {
        wrapper->learned = make();
    }
    if (wrapper->learned != NULL) {
        status = fs_comm_put_tuning(comm->ours, wrapper->learned);
    }
    if (status != FS_OK) {
        tell(wrapper,
             "parameter tuning: out of memory, not all results are saved");
    }
    pthread_mutex_unlock(&wrapper->lock);
}

void fs_remember_all(fs_wrapper_t *wrapper)
{
    char why[FS_TUNING_MAX + 256];

    if (wrapper->learned != NULL && wrapper->learned->n > 0 &&
        fs_tuning_save(wrapper->learned, wrapper->params.tuning, why,
                       sizeof(why)) != FS_OK) {
        tell(wrapper, why);
    }
    destroy(wrapper->learned);
    wrapper->learned = NULL;
}

void fs_remember_fini(fs_wrapper_t *wrapper)
{
    destroy(wrapper->learned);
    destroy(wrapper->tuning);
    free(wrapper->mpi_name);
    wrapper->learned    = NULL;
    wrapper->tuning     = NULL;
    wrapper->mpi_name   = NULL;
    wrapper->has_tuning = wrapper->tuning_told = false;
}
