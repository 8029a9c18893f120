/* SPDX-License-Identifier: BSD-3-Clause */
/* What a call reads of its server matrix besides its sums, in one pass over it. */
#ifndef FS_TRAFFIC_H
#define FS_TRAFFIC_H

#include "fastsched.h"

/* Bytes that a server sends to others or receives from them, whichever is more. */
typedef struct fs_busiest {
    uint64_t per_lane; /* fs_traffic_lower_bound() */
    uint32_t line;     /* whose it is: twice the server, plus 1 if it is what it
                          receives; of several the first */
    uint64_t bytes;    /* of the server that has the most for each rank, */
    uint32_t n_ranks;  /* which are so many; 0: nothing is sent */
    uint64_t cell;     /* the largest of the matrix, bytes */
} fs_busiest_t;

/* Traffic has its sums and is that of the topology's servers. */
fs_busiest_t fs_traffic_busiest(const fs_topo_t    *topo,
                                const fs_traffic_t *traffic);

#endif
