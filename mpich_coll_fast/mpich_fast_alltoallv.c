/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_Alltoallv and MPI_Alltoallv_c, blocking. */
#include "mpich_fast.h"

#include <stdio.h>

static int fail(const mpich_fast_comm_t *state, fs_status_t status)
{
    char line[1024];

    snprintf(line, sizeof(line), "MPI_Alltoallv failed on %s: %s", state->name,
             fs_coll_error(state->coll));
    return mpich_fast_raise(state->comm, status, line);
}

static int run(mpich_fast_comm_t *state, const mpich_fast_args_t *args, bool *ran)
{
    const fs_call_t *call = mpich_fast_call_begin(&state->call, args);
    fs_coll_stats_t before;
    fs_status_t status;
    int mpi_errno;

    fs_coll_get_stats(state->coll, &before);
    status = fs_coll_alltoallv(state->coll, call, ran);
    /* After a failed exchange the network may still read and write. */
    mpi_errno =
        mpich_fast_call_end(&state->call, *ran, FS_OK == status || FS_ERR_MISMATCH == status);
    if (FS_OK != status) {
        return fail(state, status);
    }
    fs_wrapper_count(&mpich_fast_wrapper, state->coll, &before);
    return mpi_errno;
}

/* If the MPI fails on this rank alone, the others may yet wait for our word about its time. */
static int run_next(mpich_fast_comm_t *state, const mpich_fast_args_t *args)
{
    int mpi_errno = mpich_fast_forward(args);
    fs_status_t status = fs_coll_host_done(state->coll);

    return MPI_SUCCESS != mpi_errno || FS_OK == status ? mpi_errno : fail(state, status);
}

static int serve(mpich_fast_comm_t *state, const mpich_fast_args_t *args)
{
    const fs_wrapper_t *w = &mpich_fast_wrapper;
    bool ran = false;
    int mpi_errno = MPI_SUCCESS;

    if (!fs_coll_skip(state->coll, mpich_fast_sent_bytes(args, state->size))) {
        mpi_errno = run(state, args, &ran);
    }
    if (MPI_SUCCESS == mpi_errno && !ran) {
        mpi_errno = run_next(state, args);
    }
    if (MPI_SUCCESS == mpi_errno && w->params.verbose > 0 && 0 == state->rank) {
        fs_wrapper_report(w, state->coll, state->name);
    }
    return mpi_errno;
}

int mpich_fast_alltoallv(const mpich_fast_args_t *args)
{
    mpich_fast_comm_t *state = NULL;
    int mpi_errno = MPI_SUCCESS;

    mpich_fast_start(false);
    if (mpich_fast_enabled && MPI_COMM_NULL != (MPI_Comm) args->comm) {
        mpi_errno = mpich_fast_comm_get((MPI_Comm) args->comm, &state);
    }
    if (MPI_SUCCESS != mpi_errno) {
        return mpi_errno;
    }
    if (NULL != state && state->counts) {
        fs_wrapper_enter(&mpich_fast_wrapper);
    }
    if (NULL == state || NULL == state->coll || !mpich_fast_args_are_plain(args, state->size)) {
        return mpich_fast_forward(args);
    }
    return serve(state, args);
}
