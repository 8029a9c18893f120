/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The plans of a communicator's last calls, found by what all ranks know of a
 * call. Least recently used go first.
 *
 * All ranks add, find and drop the same: keys are equal on all of them, and so
 * is the size a plan counts with, that of the largest rank's. So what one rank
 * finds all find, and nobody needs to ask.
 */
#ifndef FS_PLAN_CACHE_H
#define FS_PLAN_CACHE_H

#include "fastsched.h"

enum { FS_PLAN_CACHE_MAX = 8 };

/* A plan and what was found out on the way to it. */
typedef struct fs_cached_plan {
    uint64_t     key;
    uint64_t     size; /* bytes on the rank where it is largest */
    uint64_t     used; /* when */
    fs_plan_t   *plan;
    fs_choice_t  choice;
    fs_traffic_t traffic; /* sums only */
    uint64_t     bound;   /* fs_traffic_lower_bound() */
} fs_cached_plan_t;

/* All zero: empty. */
typedef struct fs_plan_cache {
    fs_cached_plan_t entries[FS_PLAN_CACHE_MAX];
    uint32_t         n;
    uint64_t         size; /* of all entries */
    uint64_t         now;  /* counts uses */
} fs_plan_cache_t;

/* The newest use of an entry, or NULL. Valid until the next add or clear. */
const fs_cached_plan_t *fs_plan_cache_find(fs_plan_cache_t *cache,
                                           uint64_t         key);

/* Keep a plan within limit bytes in all; key is not there yet. True: the plan is
 * the cache's now. False: it is larger than the limit. */
bool fs_plan_cache_add(fs_plan_cache_t *cache, uint64_t limit,
                       const fs_cached_plan_t *entry);

/* Free all plans. */
void fs_plan_cache_clear(fs_plan_cache_t *cache);

/* What a plan of this rank takes, bytes. */
uint64_t fs_plan_cache_size(const fs_plan_t *plan);

#endif
