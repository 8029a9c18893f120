/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPIX_Async_start() of MPICH 4.3 and later: a function of ours in every turn of its progress.
 *
 * It moves our network and does nothing else: calls that drive progress crash there, in some
 * versions. And it is there only while nonblocking calls are under way, since MPI_Finalize waits
 * until it has gone.
 */
#include "mpich_fast.h"

#include <pthread.h>

enum { MPIX_ASYNC_NOPROGRESS_ = 0, MPIX_ASYNC_DONE_ = 1, MPIX_STREAM_NULL_ = 0x3c000000 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned n_calls; /* under way */
static bool is_there;

static int on_progress(void *thing)
{
    bool stays;

    (void) thing;
    pthread_mutex_lock(&lock);
    stays = is_there = n_calls > 0;
    pthread_mutex_unlock(&lock);
    if (stays) {
        (void) fs_net_progress(mpich_fast_wrapper.net);
    }
    return stays ? MPIX_ASYNC_NOPROGRESS_ : MPIX_ASYNC_DONE_;
}

/* Not under the lock: MPICH holds one of its own when it calls us. */
void mpich_fast_async_begin(void)
{
    bool was_there;

    if (NULL == mpi.Async_start) {
        return;
    }
    pthread_mutex_lock(&lock);
    ++n_calls;
    was_there = is_there;
    is_there = true;
    pthread_mutex_unlock(&lock);
    if (!was_there) {
        (void) mpi.Async_start(on_progress, NULL, MPIX_STREAM_NULL_);
    }
}

void mpich_fast_async_end(void)
{
    if (NULL != mpi.Async_start) {
        pthread_mutex_lock(&lock);
        --n_calls;
        pthread_mutex_unlock(&lock);
    }
}

void mpich_fast_async_stop(void)
{
    pthread_mutex_lock(&lock);
    n_calls = 0;
    pthread_mutex_unlock(&lock);
}
