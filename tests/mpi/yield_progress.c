/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Preloaded into MPICH's ranks: who finds nothing to do gives the core away, as
 * Open MPI does where ranks are more than cores, and sleeps if that goes on.
 * MPICH's ch4 does neither.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>
#include <stddef.h>
#include <time.h>

enum { N_YIELDS = 100 };

static const struct timespec moment = {.tv_nsec = 50000};

typedef unsigned progress_fn_t(void *worker);

progress_fn_t ucp_worker_progress;

unsigned ucp_worker_progress(void *worker)
{
    static progress_fn_t    *next;
    static _Thread_local int n_idle;
    unsigned                 events;

    if (next == NULL) {
        next = (progress_fn_t *)dlsym(RTLD_NEXT, "ucp_worker_progress");
    }
    events = next(worker);
    if (events > 0) {
        n_idle = 0;
    } else if (n_idle < N_YIELDS) {
        ++n_idle;
        sched_yield();
    } else {
        nanosleep(&moment, NULL);
    }
    return events;
}
