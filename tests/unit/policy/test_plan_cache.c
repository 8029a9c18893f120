/* SPDX-License-Identifier: BSD-3-Clause */
/* The plan cache: found, kept within limits, the oldest go first, none leak
 * (the sanitizer tells). */
#include "policy/fs_plan_cache.h"
#include "fs_test_util.h"

#include <stdlib.h>
#include <string.h>

enum { ROOMY = 1 << 20 };

static fs_plan_cache_t cache;

static void set_up(void)
{
    memset(&cache, 0, sizeof(cache));
}

static void tear_down(void)
{
    fs_plan_cache_clear(&cache);
    ck_assert_uint_eq(cache.n, 0);
    ck_assert_uint_eq(cache.size, 0);
}

/* A plan that knows its key. */
static fs_cached_plan_t *make(uint64_t key, uint64_t size)
{
    fs_plan_t        *plan   = calloc(1, sizeof(*plan));
    fs_cached_plan_t *cached = fs_cached_plan_create(plan);

    plan->digest = key;
    cached->key  = key;
    cached->size = size;
    return cached;
}

/* Is it kept? */
static bool add(uint64_t key, uint64_t size, uint64_t limit)
{
    fs_cached_plan_t *cached = make(key, size);
    bool              kept;

    fs_plan_cache_add(&cache, limit, cached);
    kept = cached->n_users == 2;
    fs_cached_plan_release(cached);
    return kept;
}

/* As a request that ends at once. */
static bool find(uint64_t key)
{
    fs_cached_plan_t *cached = fs_plan_cache_find(&cache, key);
    bool              found  = cached != NULL;

    ck_assert(!found || cached->plan->digest == key);
    fs_cached_plan_release(cached);
    return found;
}

static bool has(uint64_t key)
{
    for (uint32_t k = 0; k < cache.n; ++k) { /* not a use */
        if (cache.entries[k].cached->key == key) {
            ck_assert_uint_eq(cache.entries[k].cached->plan->digest, key);
            return true;
        }
    }
    return false;
}

START_TEST(finds_what_was_added)
{
    ck_assert(!find(5));
    ck_assert(add(5, 100, ROOMY));
    ck_assert(add(6, 100, ROOMY));
    ck_assert(find(5) && find(6) && !find(7));
    fs_plan_cache_clear(&cache);
    ck_assert(!find(5));
}
END_TEST

START_TEST(the_least_recently_used_goes)
{
    for (uint64_t key = 0; key < FS_PLAN_CACHE_MAX; ++key) {
        ck_assert(add(key, 1, ROOMY));
    }
    ck_assert(find(0));
    ck_assert(add(100, 1, ROOMY));
    ck_assert(has(0) && !has(1) && has(2) && has(100));
    ck_assert(add(101, 1, ROOMY));
    ck_assert(has(0) && !has(2) && has(3));
    ck_assert_uint_eq(cache.n, FS_PLAN_CACHE_MAX);
}
END_TEST

START_TEST(stays_within_bytes)
{
    ck_assert(add(1, 400, 1000));
    ck_assert(add(2, 400, 1000));
    ck_assert(add(3, 200, 1000)); /* exactly full */
    ck_assert(has(1) && has(2) && has(3));
    ck_assert(add(4, 1, 1000));
    ck_assert(!has(1) && has(2) && has(3) && has(4));
    ck_assert(add(5, 1000, 1000));
    ck_assert_uint_eq(cache.n, 1);
    /* Too large for any cache: nothing goes for it. */
    ck_assert(!add(6, 1001, 1000));
    ck_assert(has(5));
    ck_assert(!add(7, UINT64_MAX, 1000));
    ck_assert(!add(8, 1, 0)); /* switched off */
    ck_assert(has(5));
}
END_TEST

/* What a request runs stays, whatever the cache drops. */
START_TEST(who_uses_it_keeps_it)
{
    fs_cached_plan_t *first, *second;

    ck_assert(add(5, 100, 150));
    first  = fs_plan_cache_find(&cache, 5);
    second = fs_plan_cache_find(&cache, 5);
    ck_assert_ptr_eq(first, second);
    ck_assert(add(6, 100, 150));
    ck_assert(!has(5) && has(6));
    fs_cached_plan_release(first);
    ck_assert_uint_eq(second->plan->digest, 5);
    fs_cached_plan_release(second);
    fs_cached_plan_release(NULL);
}
END_TEST

/* Two ranks that do the same have the same, in whatever order they hold it. */
START_TEST(twins_agree)
{
    static fs_plan_cache_t twin;
    fs_rng_t               rng;

    for (int round = 0; round < 2; ++round) {
        fs_rng_init(&rng, (uint64_t)_i);
        for (int k = 0; k < 300; ++k) {
            uint64_t key = fs_rng_below(&rng, 14);

            if (!find(key)) {
                add(key, 1 + fs_rng_below(&rng, 400), 1500);
            }
            ck_assert_uint_le(cache.size, 1500);
        }
        if (round == 0) {
            twin  = cache;
            cache = (fs_plan_cache_t){0};
        }
    }
    ck_assert_uint_eq(cache.n, twin.n);
    for (uint32_t k = 0; k < twin.n; ++k) {
        ck_assert(has(twin.entries[k].cached->key));
    }
    fs_plan_cache_clear(&twin);
}
END_TEST

/* What is counted is what was allocated, at least. */
START_TEST(size_of_a_plan)
{
    fs_test_case_t tc;
    fs_plan_t     *plan = NULL;

    fs_test_case_init(&tc, (uint64_t)_i);
    tc.params.algorithm = FS_ALG_DIRECT;
    ck_assert_int_eq(fs_test_plan(&tc, 0, true, true, &plan), FS_OK);
    ck_assert_uint_ge(fs_plan_cache_size(plan),
                      plan->n_ops * sizeof(fs_op_t) +
                          plan->n_next * sizeof(uint32_t));
    fs_plan_destroy(plan);
    fs_test_case_fini(&tc);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("plan_cache");
    TCase *tcase = tcase_create("plan_cache");

    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_test(tcase, finds_what_was_added);
    tcase_add_test(tcase, the_least_recently_used_goes);
    tcase_add_test(tcase, stays_within_bytes);
    tcase_add_test(tcase, who_uses_it_keeps_it);
    tcase_add_loop_test(tcase, twins_agree, 0, 5);
    tcase_add_loop_test(tcase, size_of_a_plan, 0, 5);
    suite_add_tcase(suite, tcase);
    return fs_test_run(suite);
}
