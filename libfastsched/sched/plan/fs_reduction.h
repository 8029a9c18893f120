/* SPDX-License-Identifier: BSD-3-Clause */
/* Allreduce as programs: the vector of each rank is block 0 of its send buffer,
 * that of the result block 0 of its receive buffer. */
#ifndef FS_REDUCTION_H
#define FS_REDUCTION_H

#include "fastsched.h"

/* Of a vector. */
static inline uint64_t fs_reduction_bytes(const fs_reduction_t *reduction)
{
    return reduction->n_elems * reduction->elem_bytes;
}

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
