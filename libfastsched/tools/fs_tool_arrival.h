/* SPDX-License-Identifier: BSD-3-Clause */
/* "fastsched sim --arrival": ranks that enter the call apart. */
#ifndef FS_TOOL_ARRIVAL_H
#define FS_TOOL_ARRIVAL_H

#include "base/fs_json.h"
#include "sched/model/fs_arrival.h"
#include "tools/fs_tool_sim.h"

typedef struct fs_tool_arrival_args {
    const char  *text;            /* NULL: all enter together */
    fs_arrival_t arrival;         /* what it says */
    uint32_t     agreement_milli; /* thousandths of microseconds; UINT32_MAX:
                                     not given */
    uint64_t     early_chunk;     /* bytes; 0: not given */
} fs_tool_arrival_args_t;

/* What came out: of one run, or means of several. Seconds, from the first
 * entry. */
typedef struct fs_tool_arrival_outcome {
    const char *text;
    double      agreement;
    double      optimal; /* without entries */
    double      bound;   /* with entries */
    double      last_entry;
    double      off; /* the end, if nothing moves before the last entry */
    double      on;  /* the end, if ranks begin early; NAN, as all that follows:
                        they cannot on these servers */
    double      planned; /* the plan for the rest is there */
    double      ready;   /* and begins */
    double      chunk;   /* bytes */
    double      bytes;   /* that went early */
    double      words;
} fs_tool_arrival_outcome_t;

/* Set defaults and add the rows. args must live until the options are read. */
void fs_tool_arrival_options(fs_tool_arrival_args_t *args,
                             fs_tool_options_t      *options);

/* Read the text, if there is one. */
void fs_tool_arrival_read(fs_tool_arrival_args_t *args);

/* Is there a rank that is to be late? */
void fs_tool_arrival_check(const fs_tool_arrival_args_t *args,
                           uint32_t                      n_ranks);

/* together: what came out where all enter at once. Afterwards traffic is what
 * has not gone early. */
void fs_tool_arrival_run(const fs_tool_arrival_args_t *args, uint64_t seed,
                         const fs_tool_sim_setup_t   *setup,
                         const fs_tool_sim_outcome_t *together,
                         fs_tool_traffic_t           *traffic,
                         fs_tool_arrival_outcome_t   *outcome);

/* Make the mean of n - 1 runs one that counts another. */
void fs_tool_arrival_mean(fs_tool_arrival_outcome_t       *mean,
                          const fs_tool_arrival_outcome_t *one, uint32_t n);

void fs_tool_arrival_json(fs_json_t                       *json,
                          const fs_tool_arrival_outcome_t *outcome);
void fs_tool_arrival_text(const fs_tool_arrival_outcome_t *outcome);

#endif
