/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a set-up asks of all ranks, answered by plain messages that nobody waits for.
 *
 * In step k a rank has 2^k blocks, sends them to the rank 2^k before it, and gets as
 * many from the one 2^k behind it.
 */
#ifndef FS_SETUP_GATHER_H
#define FS_SETUP_GATHER_H

#include "wrapper/fs_setup.h"

/* The question in hand. Zero at first. */
typedef struct fs_setup_gather {
    bool        is_begun;
    uint32_t    distance;
    fs_status_t said, heard; /* the lowest so far, and that of the other rank */
    void       *requests[2];
    fs_status_t status;
} fs_setup_gather_t;

/* A turn: one after another on a rank, on all ranks until it is over. Of p2p only
 * isend, irecv and test are called, with ctx and this one tag, which is for nothing
 * else. Returns how far setup is. */
fs_setup_state_t fs_setup_turn(fs_setup_t *setup, fs_setup_gather_t *gather,
                               const fs_native_p2p_t *p2p, void *ctx,
                               uint32_t tag);

#endif
