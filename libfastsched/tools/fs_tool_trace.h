/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The traces of one communicator, all ranks together: what fs_trace_file.c of
 * the library writes, read back, put on one clock, and sends found for
 * receives.
 *
 * Times are nanoseconds, from the first thing that any trace tells.
 */
#ifndef FS_TOOL_TRACE_H
#define FS_TOOL_TRACE_H

#include "fastsched.h"
#include "tools/fs_tool_chart.h"

#include <stdio.h>

#define FS_TOOL_NONE UINT32_MAX

/* One rank of the communicator. */
typedef struct fs_tool_trace_rank {
    bool     there; /* its file was read */
    uint32_t world_rank;
    char     process[48]; /* another one for each process that has its clock */
    uint32_t number;      /* of the process, among all of the directory */
    uint32_t server;
    uint32_t lane;  /* or FS_TOOL_NONE */
    uint32_t clock; /* index; ranks of one machine have one */
    uint64_t dropped;
    char     path[512];
} fs_tool_trace_rank_t;

/* An operation. */
typedef struct fs_tool_trace_op {
    uint64_t ready, post, end;
    uint64_t bytes;
    uint64_t count; /* number of a message among those of its kind, see
                       fs_trace.h; a wire message needs as large a grant */
    uint32_t rank, call, op;
    uint32_t by;      /* operation that made it ready, or FS_TOOL_NONE */
    uint32_t peer;    /* of a message */
    uint32_t row;     /* of the viewer */
    uint32_t mate;    /* index of the peer's operation, or FS_TOOL_NONE */
    uint32_t step;    /* of the schedule, or FS_TOOL_NONE */
    uint8_t  kind;    /* fs_op_kind_t */
    uint8_t  channel; /* fs_channel_t; FS_CH_LAST of a copy */
    bool     packs;   /* a copy by the MPI's datatype engine */
} fs_tool_trace_op_t;

/* A grant as seen at one end. */
typedef struct fs_tool_trace_grant {
    uint64_t time, count;
    uint32_t rank, peer;
    bool     given;
} fs_tool_trace_grant_t;

/* A part of a call on one rank. */
typedef struct fs_tool_trace_phase {
    uint64_t begin, end;
    uint32_t rank, call;
    char     name[16];
} fs_tool_trace_phase_t;

/* A transfer that a rank's lane was to send or receive. Bytes per lane. */
typedef struct fs_tool_trace_planned {
    uint64_t start, bytes;
    uint32_t rank, call, server;
    uint32_t step;
    bool     sends;
} fs_tool_trace_planned_t;

/* A call on one rank. */
typedef struct fs_tool_trace_call {
    uint64_t begin, end;
    uint64_t run; /* first operations posted; 0: not run by us */
    uint64_t bytes, bound, planned, stages;
    uint32_t rank, call;
    char     algorithm[16], decompose[16], status[64];
} fs_tool_trace_call_t;

typedef struct fs_tool_trace {
    char     comm[80], id[24];
    uint32_t n_ranks, n_servers;
    uint64_t rate; /* of a lane, bits per second, or 0 */
    uint64_t base; /* what was subtracted from all times */
    uint32_t n_clocks;
    struct fs_tool_trace_clock {
        char     name[64];
        uint64_t shift;            /* to be added to its times; modulo 2^64 */
    } * clocks;                    /* [n_ranks] */
    bool                  aligned; /* by messages, there being several clocks */
    fs_tool_trace_rank_t *ranks;   /* [n_ranks] */

    /* By call, rank, then op, begin or start; grants by given, rank, peer,
     * count. */
    fs_tool_trace_call_t    *calls;
    fs_tool_trace_op_t      *ops;
    fs_tool_trace_grant_t   *grants;
    fs_tool_trace_phase_t   *phases;
    fs_tool_trace_planned_t *planned;
    size_t                   n_calls, n_ops, n_grants, n_phases, n_planned;
    size_t max_calls, max_ops, max_grants, max_phases, max_planned;
} fs_tool_trace_t;

/* All communicators of a directory. */
typedef struct fs_tool_traces {
    fs_tool_trace_t *list;
    size_t           n;
} fs_tool_traces_t;

/* Read DIR/fast-*-rank*.json. FS_TOOL_OK; else a message has been given:
 * FS_TOOL_BAD with the file and its line. */
int  fs_tool_traces_read(const char *dir, fs_tool_traces_t *traces);
void fs_tool_traces_fini(fs_tool_traces_t *traces);

/* Sort, put all on one clock, find mates and steps. FS_TOOL_OK, FS_TOOL_FAILED
 * after a message. */
int fs_tool_trace_link(fs_tool_trace_t *trace);

/* Part of that: all times on one clock, from 0; false: no memory. */
bool fs_tool_trace_set_clocks(fs_tool_trace_t *trace);

/* What belongs to a call, as [first, end). */
typedef struct fs_tool_trace_range {
    size_t first, end;
} fs_tool_trace_range_t;

fs_tool_trace_range_t fs_tool_trace_calls_of(const fs_tool_trace_t *trace,
                                             uint32_t               call);
fs_tool_trace_range_t fs_tool_trace_ops_of(const fs_tool_trace_t *trace,
                                           uint32_t call, uint32_t rank);
fs_tool_trace_range_t fs_tool_trace_planned_of(const fs_tool_trace_t *trace,
                                               uint32_t               call);
fs_tool_trace_range_t fs_tool_trace_phases_of(const fs_tool_trace_t *trace,
                                              uint32_t call, uint32_t rank);

/* The first grant of at least count, at the end that is asked for; NULL:
 * none */
const fs_tool_trace_grant_t *
fs_tool_trace_grant_of(const fs_tool_trace_t *trace, bool given, uint32_t rank,
                       uint32_t peer, uint64_t count);

/* ---- a call as a whole ---- */

typedef struct fs_tool_trace_sum {
    uint32_t call;
    bool     ran; /* by us */
    char     algorithm[16], decompose[16], status[64];
    uint64_t bytes, bound, planned, stages;
    uint64_t first_entry, last_entry, end; /* over all ranks */
    uint64_t slowest_ns; /* from a rank's entry to its exit, the longest */
    uint32_t slowest;    /* that rank */
    uint32_t last_out;   /* rank that left last */
    uint32_t last_in;
    uint32_t n_ranks;   /* whose traces have the call */
    uint64_t messages;  /* on the wire */
    uint64_t unmatched; /* of these, one end is not in the traces */
} fs_tool_trace_sum_t;

void fs_tool_trace_sum(const fs_tool_trace_t *trace, uint32_t call,
                       fs_tool_trace_sum_t *sum);

/* Transfers that were to start at the same time: a stage, if there are any. */
typedef struct fs_tool_trace_step {
    uint64_t start, bytes; /* planned, per lane */
    uint64_t first, last;  /* sent, arrived; of all lanes */
    uint64_t sent;         /* bytes, all lanes; 0: the two above are not set */
    uint64_t busy;         /* time of all receiving lanes together */
    uint64_t longest;      /* of one of them */
    uint64_t longest_gap;  /* of one between the step before and this one */
    char     pairs[256];   /* servers, "0>1 1>0 " */
    bool     more_pairs;   /* than these */
} fs_tool_trace_step_t;

/* Also tells operations their step. *steps_p is the caller's. The number of
 * steps, or -1: no memory. */
long fs_tool_trace_steps(fs_tool_trace_t *trace, uint32_t call,
                         fs_tool_trace_step_t **steps_p);

/* ---- what the end of a call waited for ---- */

#define FS_TOOL_HOP_MAP(X)                                                \
    X(FS_TOOL_HOP_ENTRY, "entry", "for the last rank to enter")           \
    X(FS_TOOL_HOP_CHECK, "check", "comparing counts")                     \
    X(FS_TOOL_HOP_SUMMARY, "summary", "summary exchange")                 \
    X(FS_TOOL_HOP_PLAN, "plan", "decision and planning")                  \
    X(FS_TOOL_HOP_AGREE, "agree", "agreement on the plan")                \
    X(FS_TOOL_HOP_WIRE, "wire", "bytes between servers")                  \
    X(FS_TOOL_HOP_INSIDE, "inside", "bytes inside a server")              \
    X(FS_TOOL_HOP_COPY, "copy", "copies")                                 \
    X(FS_TOOL_HOP_PACK, "pack", "packing and unpacking by the MPI")       \
    X(FS_TOOL_HOP_GRANT, "grant", "grants on their way")                  \
    X(FS_TOOL_HOP_IDLE, "idle", "until a rank noticed, or its turn came") \
    X(FS_TOOL_HOP_REPORT, "report", "finding the slowest rank")

typedef enum fs_tool_hop_kind {
#define X(_kind, _name, _help) _kind,
    FS_TOOL_HOP_MAP(X)
#undef X
        FS_TOOL_N_HOPS
} fs_tool_hop_kind_t;

const char *fs_tool_hop_name(fs_tool_hop_kind_t kind);
const char *fs_tool_hop_help(fs_tool_hop_kind_t kind);

/* A piece of the path: nothing before it could have ended the call sooner. */
typedef struct fs_tool_hop {
    fs_tool_hop_kind_t kind;
    uint32_t           rank;
    uint32_t           peer; /* or FS_TOOL_NONE */
    uint64_t           begin, end;
    uint64_t           bytes;
    uint32_t           messages; /* in a row, drawn together */
    const char        *after;    /* what it waited for, static */
} fs_tool_hop_t;

typedef struct fs_tool_path {
    fs_tool_hop_t *hops; /* in the order of time, without gaps */
    size_t         n, max;
    uint64_t       share_ns[FS_TOOL_N_HOPS];
} fs_tool_path_t;

/* From the first rank's entry to the last one's exit. FS_TOOL_OK,
 * FS_TOOL_FAILED after a message. */
int  fs_tool_path_find(const fs_tool_trace_t *trace, uint32_t call,
                       fs_tool_path_t *path);
void fs_tool_path_fini(fs_tool_path_t *path);

/* ---- telling ---- */

/* What is told: one call of one communicator in detail. */
typedef struct fs_tool_trace_report {
    const fs_tool_traces_t *traces;
    const fs_tool_trace_t  *trace;
    uint64_t                rate; /* bits per second, or 0 */
    fs_tool_trace_sum_t     sum;  /* of the call in detail */
    fs_tool_trace_step_t   *steps;
    long                    n_steps;
    fs_tool_path_t          path;
} fs_tool_trace_report_t;

/* Nanoseconds that a lane needs for that many bytes; 0: the rate is not
 * known */
double fs_tool_trace_lane_ns(const fs_tool_trace_report_t *report,
                             uint64_t                      bytes);

void fs_tool_trace_text(FILE *out, const fs_tool_trace_report_t *report);
void fs_tool_trace_json(FILE *out, const fs_tool_trace_report_t *report);

/* Both as fs_tool_svg_file(). */
int fs_tool_trace_svg(const char *path, const fs_tool_trace_report_t *report);

/* All files in one, on one clock, with arrows from sends to receives. */
int fs_tool_trace_merge(const char *path, const fs_tool_traces_t *traces);

#endif
