/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The events of one rank on one communicator, with times: kept in memory while
 * calls run, written to a file at the end.
 *
 * Callers hold a pointer that is NULL when tracing is off, and test it before
 * each of these calls. With tracing an operation costs three readings of the
 * clock. Memory: 64 bytes for each event; an operation makes one, a message
 * between servers up to three at each end; at most 64 MiB. Later events are
 * counted, but not kept.
 *
 * All calls may come from several threads.
 */
#ifndef FS_TRACE_H
#define FS_TRACE_H

#include "fastsched_exec.h"

typedef struct fs_trace fs_trace_t;

/* The phases of a call, in this order; some may be missing. The names are those
 * in the file. */
#define FS_TRACE_PHASE_MAP(X)    \
    X(FS_TRACE_CHECK, check)     \
    X(FS_TRACE_EARLY, early)     \
    X(FS_TRACE_SUMMARY, summary) \
    X(FS_TRACE_PLAN, plan)       \
    X(FS_TRACE_AGREE, agree)     \
    X(FS_TRACE_RUN, run)         \
    X(FS_TRACE_REPORT, report) /* find the slowest rank */

typedef enum fs_trace_phase {
    FS_TRACE_PHASE_MAP(FS_LIST_VALUE) FS_TRACE_PHASES
} fs_trace_phase_t;

/* Whose trace. Borrowed during fs_trace_create() only, topo for life. */
typedef struct fs_trace_origin {
    const char *dir; /* made if it is not there, its parent must be */
    const char *comm_name;
    uint64_t
        comm_id; /* equal on its ranks, different for other communicators */
    const fs_topo_t *topo;
    uint32_t         rank;
    uint32_t         world_rank;
    uint64_t         rate;       /* of a lane, bits per second; 0: unknown */
    size_t           max_events; /* and calls, at most; 0: 2^20 */
} fs_trace_origin_t;

/* FS_OK; FS_ERR_NOMEM; FS_ERR_NATIVE: no file can be written there; why is one
 * line. */
fs_status_t fs_trace_create(const fs_trace_origin_t *origin,
                            fs_trace_t **trace_p, char *why, size_t why_len);

/* Write dir/fast-NAME-ID-rankR.json, once more if it is there. No calls, no
 * file. As fs_trace_create(). */
fs_status_t fs_trace_write(fs_trace_t *trace, char *why, size_t why_len);

/* NULL is fine. Nothing is written. */
void fs_trace_destroy(fs_trace_t *trace);

/* ---- a call ---- */

void fs_trace_begin(fs_trace_t *trace, uint64_t call);

/* The phase before, if any, ends. */
void fs_trace_enter(fs_trace_t *trace, fs_trace_phase_t phase);

/* What was decided, copied; bytes between servers, and fs_traffic_lower_bound(). */
void fs_trace_decision(fs_trace_t *trace, const fs_choice_t *choice,
                       uint64_t inter_bytes, uint64_t lower_bound);

/* What this rank has sent before all had entered. */
void fs_trace_early(fs_trace_t *trace, uint64_t bytes);

/* What this rank's lane is to do: see fs_plan_request_t. */
void fs_trace_planned(fs_trace_t *trace, const fs_schedule_t *lane);

/* With how the call ended. */
void fs_trace_end(fs_trace_t *trace, fs_status_t status);

/* ---- operations of the program that runs ---- */

/* All that wait for nothing are ready. plan and call are borrowed until the
 * next run or fs_trace_end(). */
void fs_trace_run(fs_trace_t *trace, const fs_plan_t *plan,
                  const fs_call_t *call);

/* `by` has ended, and now nothing is left that op waits for. */
void fs_trace_ready(fs_trace_t *trace, uint32_t op, uint32_t by);

/* count, of a wire message: it may go once this many have been granted. */
void fs_trace_post(fs_trace_t *trace, uint32_t op, uint64_t count);
void fs_trace_ended(fs_trace_t *trace, uint32_t op);

/* This rank has granted a peer, or a peer this rank, all wire messages numbered
 * below count. */
void fs_trace_grant(fs_trace_t *trace, bool given, uint32_t peer,
                    uint64_t count);

#endif
