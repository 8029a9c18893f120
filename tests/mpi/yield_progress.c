/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Preloaded into MPICH's ranks: who finds nothing to do gives the core away, as
 * Open MPI does where ranks are more than cores. MPICH's ch4 never does.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>
#include <stddef.h>

typedef unsigned progress_fn_t(void *worker);

progress_fn_t ucp_worker_progress;

unsigned ucp_worker_progress(void *worker)
{
    static progress_fn_t *next;
    unsigned              events;

    if (next == NULL) {
        next = (progress_fn_t *)dlsym(RTLD_NEXT, "ucp_worker_progress");
    }
    events = next(worker);
    if (events == 0) {
        sched_yield();
    }
    return events;
}
