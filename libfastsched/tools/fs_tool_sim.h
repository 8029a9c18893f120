/* SPDX-License-Identifier: BSD-3-Clause */
/* What "fastsched sim" asks, runs and finds out. */
#ifndef FS_TOOL_SIM_H
#define FS_TOOL_SIM_H

#include "sim/fs_sim.h"
#include "tools/fs_tool_traffic.h"

typedef enum fs_tool_sim_level {
    FS_TOOL_SIM_AUTO,
    FS_TOOL_SIM_RANKS, /* the programs of all ranks */
    FS_TOOL_SIM_LANES, /* one lane for each server */
    FS_TOOL_SIM_LOGGP  /* start-up costs, see tools/fs_tool_loggp.h */
} fs_tool_sim_level_t;

/* Words of --algorithm: auto and ours, as fs_alg_t counts them, then
 * fs_sim_baseline_t, then bundles, which only the level loggp knows. */
enum {
    FS_TOOL_SIM_OURS    = FS_ALG_BUNDLES, /* those before it have plans */
    FS_TOOL_SIM_BUNDLES = FS_TOOL_SIM_OURS + FS_SIM_N_BASELINES
};

/* Up to so many ranks auto simulates them all. */
enum { FS_TOOL_SIM_MANY = 1024 };

struct fs_tool_arrival_outcome;

/* What is asked. 0 in chunk or staging_limit: chosen by the traffic. */
typedef struct fs_tool_sim_setup {
    fs_plan_params_t plan;
    fs_sim_params_t  params;
    uint32_t         algorithm; /* word */
    uint32_t         level;     /* fs_tool_sim_level_t */
    bool             count_scheduling;
    const char      *title; /* of the drawing */
} fs_tool_sim_setup_t;

/* What came out: of one run, or means of several. */
typedef struct fs_tool_sim_outcome {
    const char     *algorithm;
    const char     *decompose; /* NULL: there is no schedule */
    bool            lanes;     /* the coarse level */
    uint32_t        n_servers;
    uint32_t        n_ranks;
    uint64_t        chunk;
    uint32_t        n_runs;
    double          n_stages;
    double          schedule; /* total over lower bound; 0: no schedule */
    double          planning; /* seconds; 0 if not counted */
    double          time;     /* seconds, planning included */
    fs_sim_result_t result;   /* its time is that of the network */
} fs_tool_sim_outcome_t;

/* k-th word of --algorithm, NULL after the last. */
const char *fs_tool_sim_algorithm(uint32_t k);

/* Simulate one exchange, and draw it into the file svg; NULL: do not. */
void fs_tool_sim_run(const fs_tool_sim_setup_t *setup,
                     const fs_tool_traffic_t *traffic, const char *svg,
                     fs_tool_sim_outcome_t *outcome);

/* Make the mean of n_runs one that counts another run. */
void fs_tool_sim_mean(fs_tool_sim_outcome_t       *mean,
                      const fs_tool_sim_outcome_t *one);

/* Likewise of one number. */
void fs_tool_sim_mean_real(double *mean, double one, double n);

/* arrival: NULL: all enter together. */
void fs_tool_sim_json(const fs_tool_sim_setup_t            *setup,
                      const fs_tool_sim_outcome_t          *outcome,
                      const struct fs_tool_arrival_outcome *arrival);
void fs_tool_sim_text(const fs_tool_sim_setup_t            *setup,
                      const fs_tool_sim_outcome_t          *outcome,
                      const struct fs_tool_arrival_outcome *arrival);

#endif
