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
static inline void fs_wrapper_count_outcome(fs_wrapper_t       *wrapper,
                                            const fs_outcome_t *outcome)
{
    fs_alg_t alg = outcome->choice.alg;

    __atomic_store_n(&wrapper->last_algorithm, (unsigned)alg, __ATOMIC_RELAXED);
    if (alg != FS_ALG_NATIVE) {
        fs_wrapper_count(&wrapper->calls_by[alg], 1);
        fs_wrapper_count(&wrapper->inter_bytes, outcome->traffic.inter_bytes);
    }
}

#endif
