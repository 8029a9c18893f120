/* SPDX-License-Identifier: BSD-3-Clause */
/* The exchange a user asks about: --matrix or --pattern, and the cluster. */
#ifndef FS_TOOL_TRAFFIC_H
#define FS_TOOL_TRAFFIC_H

#include "base/fs_matrix.h"
#include "fastsched.h"
#include "tools/fs_tool.h"

/* Ranks of one exchange, at most: as many rows as a matrix may have. */
#define FS_TOOL_MAX_RANKS FS_MATRIX_MAX_ROWS

#define FS_TOOL_NO_MEAN UINT64_MAX

/* What the options say. */
typedef struct fs_tool_traffic_args {
    const char *matrix;  /* a file, "-": stdin, NULL: none */
    const char *pattern; /* NULL: none; or "file:PATH" */
    const char *servers; /* a number, or as for fs_topo_parse(); NULL: none */
    uint32_t    lanes;   /* 0: not given */
    uint64_t    seed;
    uint64_t    mean; /* bytes per pair of ranks, FS_TOOL_NO_MEAN: not given */
} fs_tool_traffic_args_t;

/* One exchange. */
typedef struct fs_tool_traffic {
    fs_topo_t   *topo;
    uint32_t     n_ranks;
    uint32_t    *server_of; /* [n_ranks] */
    uint64_t    *pairs;     /* [n_ranks x n_ranks] row-major, [src][dst] */
    fs_traffic_t summary;   /* complete, max_inter included */
} fs_tool_traffic_t;

/* Set defaults and add the rows. args must live until the options are read. */
void fs_tool_traffic_options(fs_tool_traffic_args_t *args,
                             fs_tool_options_t      *options);

/* The file of the matrix, "-": stdin; NULL: a pattern is drawn, or no traffic is
 * given. The argument's. */
const char *fs_tool_traffic_path(const fs_tool_traffic_args_t *args);

/* The caller's: fs_tool_traffic_fini(). */
void fs_tool_traffic_make(const fs_tool_traffic_args_t *args,
                          fs_tool_traffic_t            *traffic);
/* Only the servers and who sits where: no pairs, no summary. */
void fs_tool_traffic_servers(const fs_tool_traffic_args_t *args,
                             uint32_t max_ranks, fs_tool_traffic_t *traffic);
/* Likewise, of n_ranks of a program of n_world. places: of args->servers, which has
 * a server for each rank of the program, the rank that each is there; without it a
 * server of each. */
void fs_tool_traffic_place(const fs_tool_traffic_args_t *args, uint32_t n_world,
                           uint32_t n_ranks, const uint32_t *places,
                           fs_tool_traffic_t *traffic);
/* --mean, or the default. Ends the program if the sum over all pairs is too large. */
uint64_t fs_tool_traffic_mean(const fs_tool_traffic_args_t *args,
                              uint32_t                      n_ranks);
/* Others of the same ranks; pairs, from fs_tool_calloc(), is taken over. */
void fs_tool_traffic_replace(fs_tool_traffic_t *traffic, uint64_t *pairs);
void fs_tool_traffic_fini(fs_tool_traffic_t *traffic);

/* What the ranks of a server know, for fs_plan_create(). Both matrices are in
 * one block: free((void *)local_p->send). */
void fs_tool_traffic_local(const fs_tool_traffic_t *traffic, uint32_t server,
                           fs_local_traffic_t *local_p);

#endif
