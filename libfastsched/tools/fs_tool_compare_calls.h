/* SPDX-License-Identifier: BSD-3-Clause */
/* What "fastsched compare" finds out about a recording: each kind of calls is
 * compared, and the times of all calls are added up. */
#ifndef FS_TOOL_COMPARE_CALLS_H
#define FS_TOOL_COMPARE_CALLS_H

#include "tools/fs_tool_compare.h"
#include "tools/fs_tool_recording.h"

typedef struct fs_tool_compared {
    const fs_recorded_kind_t *kind;
    fs_tool_traffic_t         traffic;
    fs_tool_compare_t         compare;
    char                      title[FS_RECORD_NAME + 64];
} fs_tool_compared_t;

struct fs_tool_compare_calls {
    const fs_tool_recording_t *recording;
    fs_tool_compared_t        *kinds; /* those with most bytes */
    uint32_t                   n_kinds;
    uint64_t                   n_simulated; /* calls in the times below */
    uint64_t                   n_left; /* compared, and fast leaves them to the
                                          MPI: small, or inside servers */
    uint64_t                   n_losing; /* of the simulated, fast is slower */
    double                     inter_bytes; /* of the compared */
    double                     share;       /* of all bytes, the compared */
    bool     ran[FS_TOOL_N_WAYS];           /* for each that is simulated */
    double   times[FS_TOOL_N_WAYS];
    double   fast, bound;
    uint32_t best;    /* of the ways: the fastest */
    uint32_t longest; /* kind: the most time by its best way; if none has
                         a time, the most bytes between servers */
    fs_tool_advice_t advice;
    char             text[2 * FS_TOOL_ADVICE_LEN];
};

/* setup: as of fs_tool_compare_t. max_kinds: compare no more. Without html and svg
 * nothing is drawn; else the kind that takes longest is, and html has the sums as
 * well. */
void fs_tool_compare_calls_run(fs_tool_compare_calls_t      *all,
                               const fs_tool_recording_t    *recording,
                               const fs_tool_traffic_args_t *args,
                               const fs_tool_sim_setup_t    *setup,
                               uint32_t max_kinds, const char *html,
                               const char *svg);
void fs_tool_compare_calls_fini(fs_tool_compare_calls_t *all);

/* What comes out: advice and text, once all else is known. */
void fs_tool_compare_calls_advise(fs_tool_compare_calls_t *all);

/* How many times faster fast is than a way; 1 if nothing takes time. */
double fs_tool_compare_calls_gain(const fs_tool_compare_calls_t *all,
                                  double                         time);

void fs_tool_compare_calls_text(const fs_tool_compare_calls_t *all);
void fs_tool_compare_calls_json(const fs_tool_compare_calls_t *all);

#endif
