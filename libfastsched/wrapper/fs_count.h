/* SPDX-License-Identifier: BSD-3-Clause */
/* Sums of the process: threads may be in calls on several communicators. */
#ifndef FS_COUNT_H
#define FS_COUNT_H

#include "comm/fs_comm.h"
#include "wrapper/fs_wrapper.h"

static inline void fs_wrapper_count(unsigned long long *counter,
                                    unsigned long long  n)
{
    (void)__atomic_fetch_add(counter, n, __ATOMIC_RELAXED);
}

/* A call has been served like this. */
static inline void fs_wrapper_count_outcome(const fs_wrapper_comm_t *comm,
                                            const fs_outcome_t      *outcome,
                                            bool                     blocking)
{
    fs_wrapper_t *wrapper = comm->wrapper;
    fs_served_t   served  = {.alg         = outcome->choice.alg,
                             .blocking    = blocking,
                             .inter_bytes = outcome->traffic.inter_bytes,
                             .entered_ns  = outcome->entered_ns,
                             .waited_ns   = outcome->gathered_ns == 0
                                                ? 0
                                                : outcome->gathered_ns -
                                                 outcome->entered_ns};

    __atomic_store_n(&wrapper->last_algorithm, (unsigned)served.alg,
                     __ATOMIC_RELAXED);
    if (served.alg != FS_ALG_NATIVE) {
        fs_wrapper_count(&wrapper->calls_by[served.alg], 1);
        fs_wrapper_count(&wrapper->inter_bytes, served.inter_bytes);
    }
    if (wrapper->call_is_over != NULL) {
        wrapper->call_is_over(comm, &served);
    }
}

#endif
