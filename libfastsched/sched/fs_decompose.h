/* SPDX-License-Identifier: BSD-3-Clause */
/* The server matrix becomes stages. */
#ifndef FS_DECOMPOSE_H
#define FS_DECOMPOSE_H

#include "base/fs_arena.h"
#include "fastsched.h"

enum { FS_NO_SERVER = UINT32_MAX };

/* Each server sends to at most one server and receives from at most one. */
typedef struct fs_stage {
    uint64_t  weight; /* the stage's length, bytes per lane */
    uint32_t *dst;    /* [n_servers] whom a server sends to or FS_NO_SERVER */
    uint64_t *bytes;  /* [n_servers] how much, per lane, at most weight */
} fs_stage_t;

typedef struct fs_stages {
    uint32_t    n;
    fs_stage_t *stage;
    uint64_t    total; /* sum of the weights: the time of all, per lane */
} fs_stages_t;

/*
 * Decompose bytes [n x n], [src][dst], bytes per lane; the diagonal is ignored.
 *
 * FS_DECOMPOSE_BIRKHOFF: total is the largest row or column sum, at most
 * n^2 - 2n + 2 stages (FAST §4.2, §4.4). Padding is virtual: it never shows in
 * stage bytes.
 *
 * Memory comes from arena. FS_OK, FS_ERR_NOMEM.
 */
fs_status_t fs_decompose(fs_decompose_t how, uint32_t n, const uint64_t *bytes,
                         fs_arena_t *arena, fs_stages_t *stages_p);

#endif
