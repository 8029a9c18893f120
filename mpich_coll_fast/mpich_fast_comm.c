/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * State of a communicator: an attribute with a delete callback. Those that the
 * user never frees get no callback, so all are on a list, which an attribute of
 * MPI_COMM_SELF goes through: MPI_Finalize deletes that one first, while
 * everything still works.
 */
#include "mpich_fast.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static mpich_fast_comm_t *all;
static unsigned generation; /* grows when any state goes */
static int keyval = MPI_KEYVAL_INVALID;

static bool finished; /* MPI_Finalize has begun */

/* ---- errors ---- */

static int own_error_code = MPI_ERR_OTHER;

/* A code of a class of our own: of one below a built-in class MPICH 4.0 prints a foreign text. */
static void make_error_code(void)
{
    int class;

    if (MPI_SUCCESS != mpi.Add_error_class(&class)
        || MPI_SUCCESS != mpi.Add_error_code(class, &own_error_code)) {
        own_error_code = MPI_ERR_OTHER;
        return;
    }
    mpi.Add_error_string(class, "MPI_Alltoallv by fastsched failed");
    mpi.Add_error_string(own_error_code,
                         "MPI_Alltoallv by fastsched failed; see the message above");
}

static int error_code(fs_status_t status)
{
    switch (status) {
    case FS_ERR_NOMEM:
        return MPI_ERR_NO_MEM;
    case FS_ERR_MISMATCH:
    case FS_ERR_TRUNCATE:
        return MPI_ERR_TRUNCATE;
    default:
        return own_error_code;
    }
}

int mpich_fast_raise(MPI_Comm comm, fs_status_t status)
{
    int mpi_errno = error_code(status);

    if (MPI_COMM_NULL != comm) {
        mpi.Comm_call_errhandler(comm, mpi_errno);
    }
    return mpi_errno;
}

MPI_Errhandler mpich_fast_silence(MPI_Comm comm)
{
    MPI_Errhandler theirs;

    mpi.Comm_get_errhandler(comm, &theirs);
    mpi.Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    return theirs;
}

void mpich_fast_speak(MPI_Comm comm, MPI_Errhandler theirs)
{
    mpi.Comm_set_errhandler(comm, theirs);
    mpi.Errhandler_free(&theirs);
}

/* ---- the end ---- */

/* What messages of ours need. Called more than once. */
static void close_host(mpich_fast_comm_t *state)
{
    mpich_fast_host_stop(state);
    if (MPI_COMM_NULL != state->own) {
        mpi.Comm_free(&state->own);
    }
}

/* Likewise, on one rank alone: MPICH keeps a communicator until the last request on it is over. Of an
 * MPICH that has called us all requests of ours are among these. */
static void teardown(mpich_fast_comm_t *state)
{
    if (MPI_COMM_NULL != state->comm) {
        fs_wrapper_wait(&state->shared);
    }
    fs_wrapper_close(&state->shared);
    close_host(state);
}

void mpich_fast_comm_list(mpich_fast_comm_t *state)
{
    pthread_mutex_lock(&lock);
    state->next = all;
    all = state;
    pthread_mutex_unlock(&lock);
}

static void unlist(mpich_fast_comm_t *state)
{
    mpich_fast_comm_t **at = &all;

    pthread_mutex_lock(&lock);
    while (NULL != *at && state != *at) {
        at = &(*at)->next;
    }
    if (NULL != *at) {
        *at = state->next;
    }
    __atomic_add_fetch(&generation, 1, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&lock);
}

void mpich_fast_comm_free(mpich_fast_comm_t *state)
{
    unlist(state);
    teardown(state);
    mpich_fast_comm_release(state);
}

/* What is not one of ours is MPICH's business, without a question, and so is MPI_COMM_WORLD, which
 * cannot be freed. */
void mpich_fast_before_free(const void *handle)
{
    MPI_Comm comm = NULL != handle ? *(const MPI_Comm *) handle : MPI_COMM_NULL;
    mpich_fast_comm_t *state = NULL;

    if (MPI_COMM_NULL != comm && MPI_COMM_WORLD != comm) {
        pthread_mutex_lock(&lock);
        state = all;
        while (NULL != state && comm != state->comm) {
            state = state->next;
        }
        pthread_mutex_unlock(&lock);
    }
    if (NULL != state) {
        fs_wrapper_report(&state->shared);
    }
}

void mpich_fast_comm_retain(mpich_fast_comm_t *state)
{
    (void) __atomic_add_fetch(&state->n_users, 1, __ATOMIC_RELAXED);
}

void mpich_fast_comm_release(mpich_fast_comm_t *state)
{
    if (0 == __atomic_sub_fetch(&state->n_users, 1, __ATOMIC_ACQ_REL)) {
        free(state);
    }
}

static void close_network(void)
{
    fs_wrapper_fini(&mpich_fast_wrapper);
}

/* After MPI_Finalize nobody needs our network any more; it closes while UCX is still there, whose
 * destructors may run before one of ours. */
void mpich_fast_finish(void)
{
    (void) atexit(close_network);
    pthread_mutex_lock(&lock);
    finished = true;
    __atomic_add_fetch(&generation, 1, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&lock);
    mpich_fast_async_stop();
    fs_wrapper_report_all(&mpich_fast_wrapper, NULL);
    for (mpich_fast_comm_t *state = all; NULL != state; state = state->next) {
        teardown(state);
    }
    fs_wrapper_summary(&mpich_fast_wrapper);
}

static int on_free(MPI_Comm comm, int key, void *attribute, void *extra)
{
    (void) comm;
    (void) key;
    (void) extra;
    mpich_fast_comm_free(attribute);
    return MPI_SUCCESS;
}

static int on_finalize(MPI_Comm comm, int key, void *attribute, void *extra)
{
    (void) comm;
    (void) key;
    (void) attribute;
    (void) extra;
    mpich_fast_finish();
    return MPI_SUCCESS;
}

/* ---- the beginning ---- */

void mpich_fast_watch_finalize(void)
{
    int at_finalize;

    if (MPI_SUCCESS
        == mpi.Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_finalize, &at_finalize, NULL)) {
        mpi.Comm_set_attr(MPI_COMM_SELF, at_finalize, &all);
    }
}

static int make_keyval(void)
{
    int mpi_errno = MPI_SUCCESS;

    pthread_mutex_lock(&lock);
    if (MPI_KEYVAL_INVALID == keyval) {
        make_error_code();
        mpi_errno = mpi.Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_free, &keyval, NULL);
    }
    pthread_mutex_unlock(&lock);
    return mpi_errno;
}

static void read_name(mpich_fast_comm_t *state)
{
    int len;

    mpi.Comm_get_name(state->comm, state->name, &len);
    if ('\0' == state->name[0]) {
        strcpy(state->name, "a communicator");
    }
}

fs_status_t mpich_fast_comm_open(mpich_fast_comm_t *state, const fs_native_t *native,
                                 uint32_t server_label, int world_rank, fs_status_t mine)
{
    fs_member_t member = {.n_ranks = state->shared.n_ranks,
                          .rank = state->shared.rank,
                          .server_label = server_label,
                          .status = mine,
                          .world_rank = (uint32_t) world_rank,
                          .comm_name = state->name};
    fs_status_t status = fs_wrapper_open(&mpich_fast_wrapper, &state->shared,
                                         &mpich_fast_wrapper.params, native, &member);

    if (NULL == state->shared.ours) {
        close_host(state);
    }
    return status;
}

/* *status_p as mine and what is returned above. */
static int open_comm(mpich_fast_comm_t *state, uint32_t server_label, fs_status_t *status_p)
{
    fs_native_t native = mpich_fast_host(state);
    int world_rank;

    mpi.Comm_rank(MPI_COMM_WORLD, &world_rank);
    *status_p = mpich_fast_comm_open(state, &native, server_label, world_rank, *status_p);
    return FS_OK == *status_p || FS_ERR_NOMEM == *status_p ? MPI_SUCCESS : error_code(*status_p);
}

/* Whatever the MPI cannot do for us here, its own algorithm may do without. */
static int set_up(mpich_fast_comm_t *state, fs_status_t *status_p)
{
    uint32_t server_label = 0;
    int inter, size, rank;

    mpi.Comm_test_inter(state->comm, &inter);
    mpi.Comm_size(state->comm, &size);
    mpi.Comm_rank(state->comm, &rank);
    state->shared.n_ranks = (uint32_t) size;
    state->shared.rank = (uint32_t) rank;
    read_name(state);
    state->counts = !inter && size > 1;
    if (!state->counts) {
        return MPI_SUCCESS;
    }
    if ((MPI_SUCCESS != mpich_fast_server_label(state, &server_label)
         || !mpich_fast_host_start(state))
        && FS_OK == *status_p) {
        *status_p = FS_ERR_NATIVE;
    }
    return open_comm(state, server_label, status_p);
}

static int set_up_in_silence(mpich_fast_comm_t *state, fs_status_t *status_p)
{
    MPI_Errhandler theirs = mpich_fast_silence(state->comm);
    int mpi_errno = set_up(state, status_p);

    mpich_fast_speak(state->comm, theirs);
    return mpi_errno;
}

/* A state that the communicator keeps, or NULL. */
static mpich_fast_comm_t *new_state(MPI_Comm comm, const mpich_fast_comm_t *blank)
{
    mpich_fast_comm_t *state = malloc(sizeof(*state));

    if (NULL != state) {
        *state = *blank;
        if (MPI_SUCCESS != mpi.Comm_set_attr(comm, keyval, state)) {
            free(state);
            state = NULL;
        }
    }
    return state;
}

/* After a failure the state stays, too: the calls to come are left to the MPI. But if a rank is out
 * of memory then none keeps one, and all come here again at the next call. */
static int create(MPI_Comm comm, mpich_fast_comm_t **state_p)
{
    mpich_fast_comm_t blank = {
        .comm = comm, .own = MPI_COMM_NULL, .endless = MPI_REQUEST_NULL, .n_users = 1};
    mpich_fast_comm_t *kept = new_state(comm, &blank), *state = NULL == kept ? &blank : kept;
    fs_status_t status = NULL == kept ? FS_ERR_NOMEM : FS_OK;
    int mpi_errno;

    mpi_errno = set_up_in_silence(state, &status);
    if (NULL == state->shared.ours) {
        close_host(state);
    }
    if (NULL == kept || FS_ERR_NOMEM == status) {
        *state_p = NULL;
        return NULL == kept ? mpi_errno : mpi.Comm_delete_attr(comm, keyval);
    }
    mpich_fast_comm_list(state);
    *state_p = state;
    return mpi_errno;
}

/* ---- the call before ---- */

/* Most calls of a thread are on one communicator, and an attribute takes the MPI as long as a small
 * MPI_Alltoallv takes. A handle may come again for another communicator: hence the generation. */
static __thread struct {
    MPI_Comm comm;
    unsigned generation;
    mpich_fast_comm_t *state;
} last;

static bool is_last(MPI_Comm comm, unsigned now)
{
    return NULL != last.state && comm == last.comm && now == last.generation;
}

mpich_fast_comm_t *mpich_fast_comm_find(MPI_Comm comm)
{
    mpich_fast_comm_t *state = NULL;
    int found = 0;

    if (is_last(comm, __atomic_load_n(&generation, __ATOMIC_ACQUIRE))) {
        return last.state;
    }
    return finished || MPI_KEYVAL_INVALID == keyval
                   || MPI_SUCCESS != mpi.Comm_get_attr(comm, keyval, &state, &found) || !found
               ? NULL
               : state;
}

int mpich_fast_comm_get(MPI_Comm comm, mpich_fast_comm_t **state_p)
{
    unsigned now = __atomic_load_n(&generation, __ATOMIC_ACQUIRE);
    int mpi_errno, found = 0;

    if (!is_last(comm, now)) {
        *state_p = NULL;
        if (finished) {
            return MPI_SUCCESS;
        }
        mpi_errno = make_keyval();
        if (MPI_SUCCESS == mpi_errno) {
            mpi_errno = mpi.Comm_get_attr(comm, keyval, state_p, &found);
        }
        if (MPI_SUCCESS == mpi_errno && !found) {
            mpi_errno = create(comm, state_p);
        }
        if (MPI_SUCCESS != mpi_errno) {
            mpi.Comm_call_errhandler(comm, mpi_errno);
            return mpi_errno;
        }
        last.comm = comm;
        last.generation = now;
        last.state = *state_p;
    }
    *state_p = last.state;
    return MPI_SUCCESS;
}
