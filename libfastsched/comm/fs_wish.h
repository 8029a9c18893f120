/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Parameters that may change between calls: algorithm, tuner, verbose. Ranks decide by
 * them, so they must change on all ranks at the same call.
 *
 * Each rank says in the summary of each blocking call what it wants, in bits: one if
 * a bit of it is set, another one if it is not. Votes are combined by OR, so all want
 * the same if no bit is both. That holds from the next blocking call on. Where ranks
 * want different values nothing changes, nor where some rank has not connected to the
 * peers of the algorithm that is wanted: connections are made once.
 *
 *   call n    wishes go along        hear
 *   call n+1  begins by what all     adopt
 *             wanted in call n
 */
#ifndef FS_WISH_H
#define FS_WISH_H

#include "comm/fs_comm.h"

/* For fs_vote_t.flags: what this rank wants; bits 8 to 32. 0: nobody may change
 * anything. */
uint64_t fs_wish_flags(fs_comm_t *comm);

/* A blocking call has ended, with these flags of all ranks; 0: they did not vote. If
 * nothing can change twice in a row, one rank says why. */
void fs_wish_hear(fs_comm_t *comm, uint64_t flags);

/* A blocking call begins, and no other is under way. */
void fs_wish_adopt(fs_comm_t *comm);

#endif
