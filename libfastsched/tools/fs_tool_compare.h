/* SPDX-License-Identifier: BSD-3-Clause */
/* What "fastsched compare" runs and finds out: one exchange, by what MPIs do and
 * by fast, on one simulated cluster. */
#ifndef FS_TOOL_COMPARE_H
#define FS_TOOL_COMPARE_H

#include "base/fs_json.h"
#include "tools/fs_tool_sim.h"
#include "tools/fs_tool_traffic.h"

/**
 * What MPIs do: value, word, baseline of the simulator, the most ranks for
 * which it is simulated (beyond, that takes more than some seconds), and what it
 * is. An MPI's name says that it has such an algorithm.
 */
#define FS_TOOL_COMPARE_MAP(X)                                      \
    X(FS_TOOL_ROTATION, "rotation", FS_SIM_ROTATION, 256,           \
      "to r + 1, r + 2, ... in turn (MPICH)")                       \
    X(FS_TOOL_PAIRWISE, "pairwise", FS_SIM_SPREADOUT, 1024,         \
      "one partner per step, in lock step (Open MPI)")              \
    X(FS_TOOL_AT_ONCE, "all at once", FS_SIM_ALL_AT_ONCE, 128,      \
      "everything is posted at the start (Open MPI's linear)")      \
    X(FS_TOOL_HIERARCHICAL, "hierarchical", FS_SIM_TWO_PHASE, 1024, \
      "gathered inside servers, then sent along rails")

enum { FS_TOOL_COMPARE_MAP(FS_LIST_VALUE) FS_TOOL_N_WAYS };

enum { FS_TOOL_COMPARE_MAX = 1024 }; /* ranks */

/* Why there is a gain, or none. */
typedef enum fs_tool_advice {
    FS_TOOL_INSIDE, /* no bytes between servers */
    FS_TOOL_SMALL,  /* so few that start-up costs decide, not bytes */
    FS_TOOL_GAIN,
    FS_TOOL_NO_GAIN,
    FS_TOOL_LOSS
} fs_tool_advice_t;

enum { FS_TOOL_ADVICE_LEN = 512 };

typedef struct fs_tool_way {
    bool                  ran;
    fs_tool_sim_outcome_t outcome;
} fs_tool_way_t;

typedef struct fs_tool_compare_calls fs_tool_compare_calls_t;

typedef struct fs_tool_compare {
    const fs_tool_compare_calls_t
                            *calls; /* that this one stands for in a report,
                                             fs_tool_compare_calls.h; or NULL */
    const fs_tool_traffic_t *traffic;
    const char              *title; /* of the traffic */
    fs_tool_sim_setup_t      setup;
    fs_bounds_t              bounds;
    double                   bound;     /* seconds */
    bool                     simulated; /* fast would serve it by a schedule;
                                           else ways and fast are zero */
    fs_tool_way_t            ways[FS_TOOL_N_WAYS];
    fs_tool_sim_outcome_t    fast;
    uint32_t                 fast_way; /* in the report */
    uint32_t                 best;     /* of the ways: the fastest */
    /* The busiest server: the larger of what it sends and receives, per NIC. */
    bool             receives;
    uint64_t         busiest_bytes;
    double           share;     /* of all bytes between servers */
    double           over_mean; /* over the mean of the servers */
    fs_tool_advice_t advice;
    char             text[FS_TOOL_ADVICE_LEN];
} fs_tool_compare_t;

const char *fs_tool_way_name(uint32_t way);
const char *fs_tool_way_meaning(uint32_t way);
uint32_t    fs_tool_way_max_ranks(uint32_t way);

/* How many times faster fast is; 1 if nothing takes time. */
double fs_tool_compare_gain(const fs_tool_compare_t *compare, double time);

/* Run all of them. Of html and svg, files for the report and for its timeline
 * alone, one at most is not NULL. traffic and title are borrowed, of setup chunk
 * and staging limit may be 0. */
void fs_tool_compare_run(fs_tool_compare_t *compare, const char *html,
                         const char *svg);

/* What comes out: advice and text; once all else is known. */
void fs_tool_compare_advise(fs_tool_compare_t *compare);

/* Times as long, or as short: less is no gain, and no cause of one. */
#define FS_TOOL_COUNTS 1.05

/* Parts of the text, which those of a recording share. */
void fs_tool_compare_print_cluster(const fs_tool_compare_t *compare);
void fs_tool_compare_print_bottleneck(const fs_tool_compare_t *compare);
void fs_tool_compare_print_advice(fs_tool_advice_t advice, const char *text);
const char *fs_tool_compare_verdict(fs_tool_advice_t advice);
/* A line of times. gain 0: none. */
void fs_tool_compare_print_time(const char *name, double time, double bound,
                                double gain, const char *meaning);

void fs_tool_compare_text(const fs_tool_compare_t *compare);
void fs_tool_compare_json(const fs_tool_compare_t *compare);
/* The members of the same object. */
void fs_tool_compare_members(fs_json_t *json, const fs_tool_compare_t *compare);

/* The sums of a recording, as members of the same object. */
void fs_tool_compare_calls_members(fs_json_t                     *json,
                                   const fs_tool_compare_calls_t *all);

/* The report, a page for browsers: tools/python/fastsched/report.py makes it.
 * What is simulated between begin and end is told by way; those from
 * FS_TOOL_N_WAYS on are of fast. */
typedef struct fs_tool_report {
    fs_json_t        json;
    const fs_topo_t *topo;
    uint32_t         way;
} fs_tool_report_t;

void fs_tool_report_begin(fs_tool_report_t        *report,
                          const fs_tool_compare_t *compare, const char *html,
                          const char *svg);
/* For fs_sim_params_t.span; ctx is the report. */
void fs_tool_report_span(void *ctx, const fs_sim_span_t *span);
void fs_tool_report_end(fs_tool_report_t        *report,
                        const fs_tool_compare_t *compare);

#endif
