/* SPDX-License-Identifier: BSD-3-Clause */
/* Allreduce as programs: the vector of each rank is block 0 of its send buffer,
 * that of the result block 0 of its receive buffer. */
#ifndef FS_REDUCTION_H
#define FS_REDUCTION_H

#include "sched/fs_straggler.h"

/* What is reduced; equal on all ranks. */
typedef struct fs_reduction {
    uint64_t n_elems;
    uint32_t elem_bytes; /* above 0; no element is ever cut */
    bool     in_place;   /* a rank's own vector is in its receive buffer, and
                            nobody reads the send buffer */
} fs_reduction_t;

/*
 * The program of one rank for an allreduce schedule.
 *
 * schedule   As fs_straggler_check() wants it. Borrowed during the call, like
 *            the rest.
 * topo       Its n_ranks. Messages between servers are on the wire.
 * params     chunk (a message is that long at most; one element or more), window
 *            and staging_limit (one message or more) are read.
 * plan_p     Set on FS_OK only; fs_plan_destroy() frees it. n_stages are the
 *            rounds, total_per_lane the bytes of early and late chunks; alg
 *            means nothing.
 *
 * FS_OK; FS_ERR_INVAL (rank, params or elem_bytes out of range); FS_ERR_OVERFLOW
 * (more than 2^62 bytes, or 2^24 messages between two ranks); FS_ERR_NOMEM.
 *
 * Pure; everything but rank is equal on all ranks. What a rank gets does not
 * depend on timing, and all get the same bits; but which depends on the kind of
 * the schedule, n_ranks, straggler and in_place, if the operation rounds.
 *
 * Cost: the schedule's messages, and the operations of this rank.
 */
fs_status_t fs_reduction_plan(const fs_straggler_t   *schedule,
                              const fs_topo_t        *topo,
                              const fs_plan_params_t *params,
                              const fs_reduction_t *reduction, uint32_t rank,
                              fs_plan_t **plan_p);

/*
 * Prove the programs of all ranks, as fs_plan_check() does, which takes the same
 * arguments otherwise: nothing waits for ever; no two operations touch the same
 * bytes without an order, the vector's included; every byte of every result has
 * the contribution of each rank once. And the bits are the same on all ranks
 * whatever the operation does, since every rank adds up the same operands in
 * the same order, left and right.
 *
 * FS_OK; FS_ERR_INVAL (a plan is wrong, why says which); FS_ERR_NOMEM. About 1 us
 * per operation; memory 160 bytes each, and n_ranks / 8 bytes for each
 * reduction.
 */
fs_status_t fs_reduction_check(const fs_topo_t        *topo,
                               const fs_plan_params_t *params,
                               const fs_reduction_t   *reduction,
                               fs_plan_t *const *plans, char *why,
                               size_t why_len);

#endif
