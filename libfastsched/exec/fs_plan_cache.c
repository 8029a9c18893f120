/* SPDX-License-Identifier: BSD-3-Clause */
#include "exec/fs_plan_cache.h"

const fs_cached_plan_t *fs_plan_cache_find(fs_plan_cache_t *cache, uint64_t key)
{
    for (uint32_t k = 0; k < cache->n; ++k) {
        if (cache->entries[k].key == key) {
            cache->entries[k].used = ++cache->now;
            return &cache->entries[k];
        }
    }
    return NULL;
}

/* No two entries were used at the same time, so there is one oldest. */
static void drop_oldest(fs_plan_cache_t *cache)
{
    fs_cached_plan_t *oldest = &cache->entries[0];

    for (uint32_t k = 1; k < cache->n; ++k) {
        if (cache->entries[k].used < oldest->used) {
            oldest = &cache->entries[k];
        }
    }
    cache->size -= oldest->size;
    fs_plan_destroy(oldest->plan);
    *oldest = cache->entries[--cache->n];
}

bool fs_plan_cache_add(fs_plan_cache_t *cache, uint64_t limit,
                       const fs_cached_plan_t *entry)
{
    if (entry->size > limit) {
        return false;
    }
    while (cache->n == FS_PLAN_CACHE_MAX || cache->size > limit - entry->size) {
        drop_oldest(cache);
    }
    cache->entries[cache->n]      = *entry;
    cache->entries[cache->n].used = ++cache->now;
    cache->size += entry->size;
    ++cache->n;
    return true;
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
