/* SPDX-License-Identifier: BSD-3-Clause */
/* The collective operations that there are, for who names one: fs_collective.h says
 * what they are. */
#ifndef FS_COLLECTIVES_H
#define FS_COLLECTIVES_H

typedef struct fs_collective fs_collective_t;

extern const fs_collective_t fs_alltoallv, fs_alltoallw, fs_alltoall,
    fs_allreduce;

#endif
