/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_Alltoallv and MPI_Alltoallv_c, blocking. */
#include "mpich_fast.h"

/* ---- a call, whoever has called us ---- */

static fs_status_t complain(const mpich_fast_comm_t *state, fs_status_t status)
{
    if (FS_OK != status) {
        mpich_fast_say_last("MPI_Alltoallv failed on %s: %s", state->name,
                            fs_coll_error(state->coll));
    }
    return status;
}

bool mpich_fast_skips(mpich_fast_comm_t *state, const mpich_fast_args_t *args)
{
    return fs_coll_skip(state->coll, mpich_fast_sent_bytes(args, state->size));
}

fs_status_t mpich_fast_run(mpich_fast_comm_t *state, const mpich_fast_args_t *args, bool *ran)
{
    const fs_call_t *call =
        mpich_fast_call_begin(&state->call, args, mpich_fast_on_device(state, args));
    fs_status_t status = fs_wrapper_alltoallv(&mpich_fast_wrapper, state->coll, call, ran), end;

    /* After a failed exchange the network may still read and write. */
    end = mpich_fast_call_end(&state->call, *ran,
                              FS_OK == status || FS_ERR_MISMATCH == status
                                  || FS_ERR_UNSUPPORTED == status);
    return complain(state, FS_OK == status ? end : status);
}

fs_status_t mpich_fast_host_done(mpich_fast_comm_t *state)
{
    return complain(state, fs_coll_host_done(state->coll));
}

void mpich_fast_report(const mpich_fast_comm_t *state)
{
    if (mpich_fast_wrapper.params.verbose > 0 && 0 == state->rank) {
        fs_wrapper_report(&mpich_fast_wrapper, state->coll, state->name);
    }
}

/* ---- a call that we have intercepted ---- */

static int call_next(mpich_fast_comm_t *state, const mpich_fast_args_t *args, bool *moved)
{
    (void) state;
    *moved = true;
    return mpich_fast_forward(args);
}

static int forward(mpich_fast_comm_t *state, const mpich_fast_args_t *args, bool *moved)
{
    return mpich_fast_by_host(state, args, call_next, moved);
}

/* If the MPI fails on this rank alone, the others may yet wait for our word about its time. */
static int run_next(mpich_fast_comm_t *state, const mpich_fast_args_t *args)
{
    bool moved;
    int mpi_errno = forward(state, args, &moved);
    fs_status_t status = mpich_fast_host_done(state);

    return MPI_SUCCESS != mpi_errno || FS_OK == status ? mpi_errno
                                                       : mpich_fast_raise(state->comm, status);
}

static int serve(mpich_fast_comm_t *state, const mpich_fast_args_t *args, bool *moved)
{
    fs_status_t status = FS_OK;
    bool ran = false;
    int mpi_errno = MPI_SUCCESS;

    if (!mpich_fast_skips(state, args)) {
        status = mpich_fast_run(state, args, &ran);
    }
    *moved = FS_OK == status;
    if (FS_OK != status) {
        return mpich_fast_raise(state->comm, status);
    }
    if (!ran) {
        mpi_errno = run_next(state, args);
    }
    if (MPI_SUCCESS == mpi_errno) {
        mpich_fast_report(state);
    }
    return mpi_errno;
}

int mpich_fast_alltoallv(const mpich_fast_args_t *args)
{
    mpich_fast_comm_t *state = NULL;
    mpich_fast_next_t *next;
    int mpi_errno = MPI_SUCCESS;
    bool accel, moved;

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
    accel = NULL != mpich_fast_wrapper.accel;
    if (NULL == state || !state->counts || (NULL == state->coll && !accel)
        || !mpich_fast_args_are_plain(args, state->size)) {
        return mpich_fast_forward(args);
    }
    next = NULL == state->coll ? forward : serve;
    return accel ? mpich_fast_look_for_device(state, args, next, &moved)
                 : next(state, args, &moved);
}
