/* SPDX-License-Identifier: BSD-3-Clause */
/* What "fastsched plan" finds out, and the ways to show it. */
#ifndef FS_TOOL_PLAN_H
#define FS_TOOL_PLAN_H

#include "sched/papers/fs_hierarchy.h"
#include "tools/fs_tool_chart.h"
#include "tools/fs_tool_traffic.h"

typedef struct fs_tool_plan {
    const fs_tool_traffic_t *traffic;
    fs_plan_params_t         params;
    fs_choice_t              choice;
    fs_bounds_t              bounds;
    fs_schedule_t           *schedule;    /* of all servers */
    uint64_t                *real;        /* [n_transfers] bytes between the
                                             servers, all lanes together */
    uint64_t                 lower_bound; /* bytes per lane */
    uint64_t                 mtm_milli;
    uint64_t                 moved_gather; /* bytes, all servers */
    uint64_t                 moved_redist;
    uint64_t                 plan_ns;
    fs_hierarchy_t          *hierarchy; /* NULL unless asked for */
} fs_tool_plan_t;

/* Plan the traffic, which is borrowed. As fs_tool_traffic_make(). */
int  fs_tool_plan_make(const fs_tool_traffic_t *traffic,
                       const fs_plan_params_t *params, fs_tool_plan_t *plan);
void fs_tool_plan_fini(fs_tool_plan_t *plan);

/* Lower bound over total, 1 if there is nothing to send. */
double fs_tool_plan_efficiency(const fs_tool_plan_t *plan);

/* The transfers of a stage are [k, return value); total: all there are. */
size_t fs_tool_plan_stage_end(const fs_tool_plan_t *plan, size_t k);

/* Bytes per lane from the start of the stage of transfer k to its end. */
uint64_t fs_tool_plan_stage_bytes(const fs_tool_plan_t *plan, size_t k);

void fs_tool_plan_json(FILE *out, const fs_tool_plan_t *plan);
void fs_tool_plan_text(FILE *out, const fs_tool_plan_t *plan);

/* To whom up to max_servers servers send, over bytes per lane. 0, or -1: no
 * memory; else the caller's. */
int fs_tool_plan_chart(const fs_tool_plan_t *plan, uint32_t max_servers,
                       fs_tool_chart_t *chart);

/* The cluster that the SVG shows. */
typedef struct fs_tool_rates {
    uint64_t nic; /* bits per second and direction */
    uint64_t up;  /* of a rank's port inside its server */
} fs_tool_rates_t;

/* Simulate the programs and draw NICs and scale-up ports into a file. As
 * fs_tool_traffic_make(). */
int fs_tool_plan_svg(const char *path, const fs_tool_plan_t *plan,
                     const fs_tool_rates_t *rates);

#endif
