/* SPDX-License-Identifier: BSD-3-Clause */
/* What "fastsched plan" finds out, and the ways to show it. */
#ifndef FS_TOOL_PLAN_H
#define FS_TOOL_PLAN_H

#include "sched/model/fs_ports.h"
#include "sched/papers/fs_hierarchy.h"
#include "tools/fs_tool_traffic.h"

typedef struct fs_tool_plan {
    const fs_tool_traffic_t *traffic;
    fs_plan_params_t         params;
    fs_choice_t              choice;
    fs_bounds_t              bounds;
    fs_arena_t               arena;
    fs_ports_t               ports;
    fs_schedule_t           *schedule;    /* of all ports */
    uint64_t                *real;        /* [n_transfers] bytes between the
                                             ports, all lanes together */
    uint64_t                 lower_bound; /* bytes per lane */
    uint64_t                 mtm_milli;
    uint64_t                 moved_gather; /* bytes, all servers */
    uint64_t                 moved_redist;
    uint64_t                 plan_ns;
    fs_hierarchy_t          *hierarchy; /* NULL unless asked for */
} fs_tool_plan_t;

/* Plan the traffic, which is borrowed. The caller's: fs_tool_plan_fini(). */
void fs_tool_plan_make(const fs_tool_traffic_t *traffic,
                       const fs_plan_params_t *params, fs_tool_plan_t *plan);
void fs_tool_plan_fini(fs_tool_plan_t *plan);

/* Lower bound over total, 1 if there is nothing to send. */
double fs_tool_plan_efficiency(const fs_tool_plan_t *plan);

/* The transfers of a stage are [k, return value); total: all there are. */
size_t fs_tool_plan_stage_end(const fs_tool_plan_t *plan, size_t k);

/* Bytes per lane from the start of the stage of transfer k to its end. */
uint64_t fs_tool_plan_stage_bytes(const fs_tool_plan_t *plan, size_t k);

/* A port as its server is called, "2", or as one of several of it, "2.0". */
enum { FS_TOOL_PORT_LEN = 24 };
const char *fs_tool_plan_port(const fs_tool_plan_t *plan, uint32_t port,
                              char out[FS_TOOL_PORT_LEN]);

void fs_tool_plan_json(const fs_tool_plan_t *plan);
void fs_tool_plan_text(const fs_tool_plan_t *plan);

/* The destinations of the ports, of up to 36 servers, over bytes per lane: a line
 * for each, columns wide; a cell shows the server with the largest part of its
 * time, as a digit or letter, or a dot. There are bytes to send. */
void fs_tool_plan_gantt(const fs_tool_plan_t *plan, unsigned columns);

#endif
