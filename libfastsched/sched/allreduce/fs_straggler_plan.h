/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FS_STRAGGLER_PLAN_H
#define FS_STRAGGLER_PLAN_H

#include "sched/allreduce/fs_straggler.h"
#include "sched/plan/fs_reduction.h"

/*
 * The program of one rank for an allreduce schedule.
 *
 * schedule   As fs_straggler_check() wants it, of ranks, or, if all servers have as
 *            many of them, of servers. Borrowed during the call, like the rest.
 * topo       Its n_ranks. Messages between servers are on the wire. With a schedule
 *            of servers ranks exchange them with those of their place.
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

#endif
