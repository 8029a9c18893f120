/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The plans of a communicator's last calls, found by what all ranks know of a
 * call. Least recently used go first.
 *
 * All ranks add, find and drop the same plans: keys are equal on all of them,
 * and so is the size of a plan, that of the largest rank's. So if one rank
 * finds a plan all do, and no agreement is needed.
 *
 * A plan is freed when its last user releases it: the cache is a user, and
 * every request that runs the plan.
 */
#ifndef FS_PLAN_CACHE_H
#define FS_PLAN_CACHE_H

#include "fastsched.h"
#include "policy/fs_tuner.h"

enum { FS_PLAN_CACHE_MAX = 8 };

/* A plan and the results that led to it. */
typedef struct fs_cached_plan {
    uint32_t        n_users;
    uint64_t        key;        /* of the call and what serves it */
    uint64_t        counts_key; /* of the call alone */
    uint64_t        size;       /* bytes on the rank where it is largest */
    fs_plan_t      *plan;
    fs_schedule_t  *lane;    /* of fs_plan_request_t, for a trace, or NULL */
    fs_choice_t     untuned; /* what the counts alone say */
    fs_traffic_t    traffic; /* sums only, like rest */
    fs_traffic_t    rest;    /* what is not in bundles */
    uint64_t        bound;   /* fs_traffic_lower_bound() */
    uint32_t        line;    /* whose it is, fs_busiest_t */
    fs_tuner_call_t tuned;
} fs_cached_plan_t;

/* The caller is its user, and sets the rest. NULL: out of memory, and plan is still
 * the caller's. */
fs_cached_plan_t *fs_cached_plan_create(fs_plan_t *plan);

/* One user more. Any thread, like the next. */
static inline fs_cached_plan_t *fs_cached_plan_use(fs_cached_plan_t *cached)
{
    (void)__atomic_add_fetch(&cached->n_users, 1, __ATOMIC_RELAXED);
    return cached;
}

/* One user less. NULL is fine. */
void fs_cached_plan_release(fs_cached_plan_t *cached);

typedef struct fs_cache_entry {
    fs_cached_plan_t *cached;
    uint64_t          used; /* when */
} fs_cache_entry_t;

/* All zero: empty. */
typedef struct fs_plan_cache {
    fs_cache_entry_t entries[FS_PLAN_CACHE_MAX];
    uint32_t         n;
    uint64_t         size; /* of all entries */
    uint64_t         now;  /* counts uses */
} fs_plan_cache_t;

/* The caller is a user of it from now on. NULL: there is none. */
fs_cached_plan_t *fs_plan_cache_find(fs_plan_cache_t *cache, uint64_t key);

/* Any plan for such counts: what was found out about them. Not used by that, and
 * the cache's. NULL: there is none. */
const fs_cached_plan_t *fs_plan_cache_alike(const fs_plan_cache_t *cache,
                                            uint64_t               counts_key);

/* Keep a plan, unless it is larger than limit: so many bytes in all. Its key is not
 * there yet. */
void fs_plan_cache_add(fs_plan_cache_t *cache, uint64_t limit,
                       fs_cached_plan_t *cached);

void fs_plan_cache_clear(fs_plan_cache_t *cache);

/* What a plan of this rank takes, bytes. */
uint64_t fs_plan_cache_size(const fs_plan_t *plan);

#endif
