/* SPDX-License-Identifier: BSD-3-Clause */
/* The internals of the state machine of fs_exec.h. */
#ifndef FS_EXEC_STATE_H
#define FS_EXEC_STATE_H

#include "engine/fs_exec.h"
#include "engine/fs_staging.h"
#include "engine/fs_credit.h"
#include "sched/plan/fs_plan.h"

/* Described in fs_exec.c. */
typedef enum fs_exec_state {
    FS_EXEC_IDLE,
    FS_EXEC_RUN,
    FS_EXEC_DRAIN
} fs_exec_state_t;

typedef struct fs_exec_op {
    fs_xfer_t   xfer; /* first: done() finds the op by its address */
    fs_exec_t  *exec;
    uint32_t    n_wait; /* operations still to come before it */
    fs_status_t status;
    bool        ready;
    bool        posted;
    bool        in_flight;
    uint64_t    len_bytes; /* as done() said */
} fs_exec_op_t;

struct fs_exec {
    fs_transport_t  *transport;
    fs_credits_t     wires;
    fs_exec_state_t  state;
    fs_status_t      status;
    const fs_plan_t *plan;
    const fs_call_t *call;
    uint32_t         call_seq;
    bool             confirm_local; /* also messages inside the server */
    fs_exec_op_t    *ops;           /* [max_ops] */
    uint32_t        *ended; /* [max_ops] ops that have ended, in order */
    uint32_t         n_ended;
    uint32_t         n_reaped; /* of these, already followed up */
    uint32_t         max_ops;
    fs_staging_t     staging;
    uint32_t         n_done;
    uint32_t         n_in_flight;
    uint32_t         next_recv;   /* the next wire receive, or n_ops */
    uint32_t         next_send;   /* the next wire send, or n_ops */
    uint32_t         n_receiving; /* wire receives in flight */
    uint32_t         n_sending;   /* wire sends in flight */
    uint32_t         receiver;    /* of the newest of them */
    uint32_t         n_beaten;    /* n_done at the last beat */
    bool             got_beat;    /* of another server, since then */
    _Atomic uint32_t lost_peer;   /* has given up; or FS_NO_RANK */
    uint32_t         culprit;     /* first operation that failed, or FS_NO_OP */
    fs_trace_t      *trace;       /* NULL: off */
};

/* The transport's granted(); arg is the machine. */
void fs_exec_granted(void *arg, uint32_t peer, uint64_t count);

#endif
