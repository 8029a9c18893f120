/* SPDX-License-Identifier: BSD-3-Clause */
/* Random tiles, and what must hold of any lane streams. */
#ifndef FS_TEST_TILE_H
#define FS_TEST_TILE_H

#include "fs_test_util.h"
#include "sched/papers/fs_papers.h"

enum {
    FS_TEST_MAX_LOCAL  = 12,
    FS_TEST_MAX_BLOCKS = FS_TEST_MAX_LOCAL * FS_TEST_MAX_LOCAL,
    FS_TEST_N_BALANCE  = FS_N_ALL_BALANCES
};

/* A tile and the memory it points to. */
typedef struct fs_test_tile {
    fs_tile_t tile;
    uint64_t  bytes[FS_TEST_MAX_BLOCKS];
    uint32_t  src_proxy[FS_TEST_MAX_LOCAL];
    uint32_t  dst_proxy[FS_TEST_MAX_LOCAL];
} fs_test_tile_t;

/* Up to max_local ranks at either end, any lanes, any proxies, blocks of any
 * shape. */
void fs_test_tile_random(fs_rng_t *rng, uint32_t max_local, fs_test_tile_t *t);

uint64_t fs_test_tile_total(const fs_tile_t *tile);

/* Every byte in one extent, lanes paired one to one at any time, no stream
 * longer than allowed, the order that the mode promises. */
void fs_test_check_streams(fs_balance_t how, const fs_tile_t *tile,
                           const fs_streams_t *streams);

/* Balance, twice from different memory, and check everything; returns the bytes
 * moved. */
uint64_t fs_test_balance(fs_balance_t how, const fs_tile_t *tile,
                         uint64_t *gather_p, uint64_t *redist_p);

#endif
