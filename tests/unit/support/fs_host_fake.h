/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A MPI inside one process: a gather, and point-to-point messages that
 * match as MPI says, in the order in which they were posted, and end in any
 * order and as late as chance will have it. A message's bytes leave at once or
 * are fetched when it is received, but those of a grant (tag 0) always leave at
 * once, as of any MPI's short messages: its sender waits for no other thread. A
 * posted receive buffer is full of rubbish until its receive ends.
 *
 * Ranks are threads. All randomness follows one seed (with threads only
 * nearly).
 */
#ifndef FS_HOST_FAKE_H
#define FS_HOST_FAKE_H

#include "fastsched_exec.h"

typedef struct fs_fake fs_fake_t;

/* n_tags is what the ranks are told, and must keep to. */
fs_fake_t *fs_fake_create(uint32_t n_ranks, uint32_t n_tags, uint64_t seed);
void       fs_fake_destroy(fs_fake_t *fake);

/* The host of one rank: no net, nobody to warn. Its ctx is the fake's; no two
 * threads may use it at once. */
fs_native_t fs_fake_host(fs_fake_t *fake, uint32_t rank);

/* Wait for all ranks. */
void fs_fake_barrier(fs_fake_t *fake);

/* The n-th message to rank, from 1, comes one byte short. Set before any. */
void fs_fake_cut(fs_fake_t *fake, uint32_t rank, uint32_t n);

/* Nothing of rank ends any more, as if its network were gone. */
void fs_fake_freeze(fs_fake_t *fake, uint32_t rank);

/* Requests that have not ended, and messages that nobody has received. A grant
 * (tag 0) that is received need not have ended for its sender. */
uint32_t fs_fake_n_pending(fs_fake_t *fake);

/* The largest tag so far. */
uint32_t fs_fake_max_tag(fs_fake_t *fake);

#endif
