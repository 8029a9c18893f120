/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory that the ranks of one server share.
 *
 * All ranks map it, or none do; that needs two gathers of the MPI, which are
 * made anyway:
 *
 *   one rank   fs_shm_offer()    makes a segment
 *   ---------- a gather
 *   all ranks  fs_shm_join()     map it
 *   ---------- a gather
 *   all ranks  fs_shm_settle()   keep it if all have it; its name goes
 *
 * If one rank could not (no space in /dev/shm, another mount namespace),
 * settle() returns NULL on all. Once it has returned no name is left, so
 * nothing survives the processes, whatever ends them.
 */
#ifndef FS_SHM_H
#define FS_SHM_H

#include "fastsched.h"

/* All zero: nothing mapped. */
typedef struct fs_shm {
    void  *map;
    size_t map_bytes;
    char   name[48]; /* of the rank that made it, until it goes */
} fs_shm_t;

/* id is random, and known to all ranks that join. Zero bytes: nothing to share.
 * Failures show in settle(). */
void fs_shm_offer(fs_shm_t *shm, const uint64_t id[2], size_t len_bytes);

/* The rank that has offered joins as well. */
void fs_shm_join(fs_shm_t *shm, const uint64_t id[2], size_t len_bytes);

/* The memory, len_bytes of zeros on a cache line's boundary; NULL on all ranks
 * unless n_ranks have joined. */
void *fs_shm_settle(fs_shm_t *shm, uint32_t n_ranks);

/* At any time, more than once. */
void fs_shm_leave(fs_shm_t *shm);

/* A random id; zeros if there is none to be had. */
void fs_shm_draw_id(uint64_t id[2]);

#endif
