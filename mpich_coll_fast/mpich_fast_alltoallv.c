/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_Alltoallv and MPI_Alltoallv_c, blocking. */
#include "mpich_fast.h"

static int failed(const mpich_fast_comm_t *state, fs_status_t status)
{
    mpich_fast_say_last("MPI_Alltoallv failed on %s: %s", state->name, fs_coll_error(state->coll));
    return mpich_fast_raise(state->comm, status);
}

/* One true line per call, on rank 0 of the communicator. */
static void report(const mpich_fast_comm_t *state)
{
    if (mpich_fast_wrapper.params.verbose > 0 && 0 == state->rank) {
        fs_wrapper_report(&mpich_fast_wrapper, state->coll, state->name);
    }
}

static fs_status_t run(mpich_fast_comm_t *state, const mpich_fast_args_t *args, bool *ran)
{
    const fs_call_t *call =
        mpich_fast_call_begin(&state->call, args, mpich_fast_on_device(state, args));
    fs_status_t status = fs_wrapper_alltoallv(&mpich_fast_wrapper, state->coll, call, ran), end;

    /* After a failed exchange the network may still read and write. */
    end = mpich_fast_call_end(&state->call, *ran,
                              FS_OK == status || FS_ERR_MISMATCH == status
                                  || FS_ERR_UNSUPPORTED == status);
    return FS_OK == status ? end : status;
}

static int call_mpi(mpich_fast_comm_t *state, const mpich_fast_args_t *args)
{
    (void) state;
    return args->by_mpi(args);
}

static int leave(mpich_fast_comm_t *state, const mpich_fast_args_t *args)
{
    return mpich_fast_by_host(state, args, call_mpi);
}

/* If the MPI fails on this rank alone, the others may yet wait for our word about its time. */
static int leave_and_tell(mpich_fast_comm_t *state, const mpich_fast_args_t *args)
{
    int mpi_errno = leave(state, args);
    fs_status_t status = fs_coll_host_done(state->coll);

    return MPI_SUCCESS != mpi_errno || FS_OK == status ? mpi_errno : failed(state, status);
}

static int try(mpich_fast_comm_t *state, const mpich_fast_args_t *args)
{
    fs_status_t status = FS_OK;
    bool ran = false;
    int mpi_errno = MPI_SUCCESS;

    if (!fs_coll_skip(state->coll, mpich_fast_sent_bytes(args, state->size))) {
        status = run(state, args, &ran);
    }
    if (FS_OK != status) {
        return failed(state, status);
    }
    if (!ran) {
        mpi_errno = leave_and_tell(state, args);
    }
    if (MPI_SUCCESS == mpi_errno) {
        report(state);
    }
    return mpi_errno;
}

/* Where buffers may be on a device, calls come here even if the communicator has no coll. */
int mpich_fast_serve(mpich_fast_comm_t *state, const mpich_fast_args_t *args)
{
    mpich_fast_next_t *next = NULL == state->coll ? leave : try;

    return fs_wrapper_has_accel(&mpich_fast_wrapper) ? mpich_fast_look_for_device(state, args, next)
                                                     : next(state, args);
}

int mpich_fast_alltoallv(const mpich_fast_args_t *args)
{
    mpich_fast_comm_t *state = NULL;
    int mpi_errno = MPI_SUCCESS;

    if (mpich_fast_start(false) && MPI_COMM_NULL != (MPI_Comm) args->comm) {
        mpi_errno = mpich_fast_comm_get((MPI_Comm) args->comm, &state);
    }
    if (MPI_SUCCESS != mpi_errno) {
        return mpi_errno;
    }
    if (NULL != state && state->counts) {
        fs_wrapper_enter(&mpich_fast_wrapper);
    }
    if (NULL == state || !state->counts
        || (NULL == state->coll && !fs_wrapper_has_accel(&mpich_fast_wrapper))
        || !mpich_fast_args_are_plain(args, state->size)) {
        return args->by_mpi(args);
    }
    return mpich_fast_serve(state, args);
}
