/* SPDX-License-Identifier: BSD-3-Clause */
/* An MPI whose ranks are threads: a barrier, shared memory, a loop for a
 * net. */
#ifndef FS_TEST_HOST_H
#define FS_TEST_HOST_H

#include "fs_transport_loop.h"

typedef struct fs_test_world {
    uint32_t          n_ranks;
    fs_loop_t        *loop;
    pthread_barrier_t barrier;
    char             *gathered;
} fs_test_world_t;

/* One thread's place in it. */
typedef struct fs_test_place {
    fs_test_world_t *world;
    uint32_t         rank;
    fs_nics_t       *nics; /* or NULL */
} fs_test_place_t;

void fs_test_world_init(fs_test_world_t *world, uint32_t n_ranks,
                        uint64_t seed);
void fs_test_world_fini(fs_test_world_t *world);

/* For fs_comm_create(). place is borrowed. */
fs_native_t fs_test_native(fs_test_place_t *place);

/* Collective. */
void fs_test_barrier(fs_test_place_t *place);

/* live(ranks + k * rank_bytes) in a thread for each rank k, to its end. */
void fs_test_live_all(fs_test_world_t *world, void *(*live)(void *),
                      void *ranks, size_t rank_bytes);

#endif
