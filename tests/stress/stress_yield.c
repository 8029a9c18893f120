/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * For MPICH, whose ranks never give the processor away while they wait: with
 * more ranks than processors most of the time would go by with that. Open MPI
 * yields by itself.
 */
#include <dlfcn.h>
#include <sched.h>
#include <stddef.h>

typedef unsigned progress_fn(void *worker);

/* UCX's own comes after the program's. Two threads that look find the same. */
progress_fn ucp_worker_progress;

unsigned ucp_worker_progress(void *worker)
{
    static progress_fn *next;
    unsigned            n;

    if (next == NULL) {
        next = (progress_fn *)dlsym(RTLD_NEXT, "ucp_worker_progress");
    }
    n = next(worker);
    if (n == 0) {
        sched_yield();
    }
    return n;
}
