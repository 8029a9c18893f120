/* SPDX-License-Identifier: BSD-3-Clause */
#include "policy/fs_plan_cache.h"

#include <stdlib.h>

fs_cached_plan_t *fs_cached_plan_create(fs_plan_t *plan)
{
    fs_cached_plan_t *cached = calloc(1, sizeof(*cached));

    if (cached != NULL) {
        cached->n_users = 1;
        cached->plan    = plan;
    }
    return cached;
}

void fs_cached_plan_release(fs_cached_plan_t *cached)
{
    if (cached != NULL &&
        __atomic_sub_fetch(&cached->n_users, 1, __ATOMIC_ACQ_REL) == 0) {
        fs_plan_destroy(cached->plan);
        fs_schedule_destroy(cached->lane);
        free(cached);
    }
}

fs_cached_plan_t *fs_plan_cache_find(fs_plan_cache_t *cache, uint64_t key)
{
    for (uint32_t k = 0; k < cache->n; ++k) {
        fs_cache_entry_t *entry = &cache->entries[k];

        if (entry->cached->key == key) {
            entry->used = ++cache->now;
            return fs_cached_plan_use(entry->cached);
        }
    }
    return NULL;
}

const fs_cached_plan_t *fs_plan_cache_alike(const fs_plan_cache_t *cache,
                                            uint64_t               counts_key)
{
    for (uint32_t k = 0; k < cache->n; ++k) {
        if (cache->entries[k].cached->counts_key == counts_key) {
            return cache->entries[k].cached;
        }
    }
    return NULL;
}

/* No two entries were used at the same time, so there is one oldest. */
static void drop_oldest(fs_plan_cache_t *cache)
{
    fs_cache_entry_t *oldest = &cache->entries[0];

    for (uint32_t k = 1; k < cache->n; ++k) {
        if (cache->entries[k].used < oldest->used) {
            oldest = &cache->entries[k];
        }
    }
    cache->size -= oldest->cached->size;
    fs_cached_plan_release(oldest->cached);
    *oldest = cache->entries[--cache->n];
}

void fs_plan_cache_add(fs_plan_cache_t *cache, uint64_t limit,
                       fs_cached_plan_t *cached)
{
    if (cached->size > limit) {
        return;
    }
    while (cache->n == FS_PLAN_CACHE_MAX ||
           cache->size > limit - cached->size) {
        drop_oldest(cache);
    }
    cache->entries[cache->n++] = (fs_cache_entry_t){cached, ++cache->now};
    cache->size += cached->size;
    ++cached->n_users;
}

void fs_plan_cache_clear(fs_plan_cache_t *cache)
{
    while (cache->n > 0) {
        drop_oldest(cache);
    }
}

uint64_t fs_plan_cache_size(const fs_plan_t *plan)
{
    return sizeof(*plan) + plan->n_ops * sizeof(*plan->ops) +
           plan->n_next * sizeof(*plan->next);
}
