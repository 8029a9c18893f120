/* SPDX-License-Identifier: BSD-3-Clause */
/* What a trace holds, and its file. */
#ifndef FS_TRACE_FILE_H
#define FS_TRACE_FILE_H

#include "trace/fs_trace.h"

#include <stdio.h>

typedef enum fs_event_kind {
    FS_EVENT_OP,
    FS_EVENT_WAIT,  /* of a wire message, from post to end */
    FS_EVENT_GRANT, /* at end */
    FS_EVENT_PHASE, /* from post to end */
    FS_EVENT_PLANNED
} fs_event_kind_t;

/* Times are nanoseconds of CLOCK_MONOTONIC. */
typedef struct fs_event {
    uint64_t ready; /* of an operation; of PLANNED, where it starts, bytes */
    uint64_t post;
    uint64_t end;
    uint64_t bytes; /* of PLANNED: per lane */
    uint64_t count; /* of a grant or a wire message, see fs_trace_post(); else
                       fs_op_t.seq */
    uint32_t call;
    uint32_t op;   /* its index; of PHASE, fs_trace_phase_t */
    uint32_t by;   /* the operation that made it ready, or UINT32_MAX */
    uint32_t peer; /* a rank; of PLANNED, a server */
    uint8_t  kind; /* fs_event_kind_t */
    uint8_t
        op_kind; /* fs_op_kind_t; of WAIT, GRANT and PLANNED, SEND or RECV */
    uint8_t channel; /* fs_channel_t of a message */
    uint8_t slot;    /* spans of one kind that overlap have different slots */
    uint8_t src;     /* fs_buffer_t of a copy, or FS_BUF_PACKED + it */
    uint8_t dst;
} fs_event_t;

/* The MPI packs or unpacks there. */
enum { FS_BUF_PACKED = 4, FS_TRACE_SLOTS = 64 };

/* One call. */
typedef struct fs_traced_call {
    uint64_t       number;
    uint64_t       begin, end;
    uint64_t       run; /* when the first operations were posted; 0: never */
    fs_choice_t    choice;
    fs_decompose_t decompose;
    uint32_t       n_stages;
    uint64_t       inter_bytes;
    uint64_t       lower_bound; /* bytes per lane */
    uint64_t       early_bytes;
    uint64_t       total_per_lane;
    fs_status_t    status;
} fs_traced_call_t;

/* All that is written. */
typedef struct fs_trace_book {
    fs_trace_origin_t origin;      /* strings are the trace's own */
    char              clock[64];   /* names the clock: equal on one machine */
    char              process[48]; /* and there the process */
    uint64_t          epoch;       /* CLOCK_REALTIME less CLOCK_MONOTONIC, ns */
    fs_traced_call_t *calls;
    size_t            n_calls;
    fs_event_t       *events;
    size_t            n_events;
    uint64_t          dropped;
} fs_trace_book_t;

void fs_trace_print(FILE *out, const fs_trace_book_t *book);

#endif
