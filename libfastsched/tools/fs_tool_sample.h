/* SPDX-License-Identifier: BSD-3-Clause */
/* What one rank sees of an exchange: the server matrix, and the counts of the
 * ranks of its own server. Memory grows with N^2, not with P^2. */
#ifndef FS_TOOL_SAMPLE_H
#define FS_TOOL_SAMPLE_H

#include "fastsched.h"
#include "sched/model/fs_pattern.h"

typedef struct fs_tool_sample {
    fs_topo_t         *topo;
    fs_traffic_t       summary;
    fs_local_traffic_t local; /* of server 0; one block, at local.send */
} fs_tool_sample_t;

/*
 * Draw an exchange of servers x lanes ranks, a lane each.
 *
 * Up to FS_TOOL_SAMPLE_EXACT ranks the matrix is that of fs_pattern_fill() for
 * all ranks. Beyond, it is drawn in lanes^2 layers: one matrix of the servers
 * for each pair of local ranks, each with the pattern's name and a seed of its
 * own, so that layers add up to the server matrix and only what server 0 sees
 * of them is kept. Pairs are then as skewed as the pattern says, but the same
 * seed is another matrix.
 *
 * The caller's: fs_tool_sample_fini().
 */
void fs_tool_sample_make(const fs_pattern_t *pattern, uint32_t servers,
                         uint32_t lanes, uint64_t mean_bytes, uint64_t seed,
                         fs_tool_sample_t *sample);
void fs_tool_sample_fini(fs_tool_sample_t *sample);

#define FS_TOOL_SAMPLE_EXACT 2048 /* 32 MiB of numbers */

#endif
