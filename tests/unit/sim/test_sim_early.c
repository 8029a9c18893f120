/* SPDX-License-Identifier: BSD-3-Clause */
/* What goes early in the simulator: against pen and paper, and what holds for any
 * entries. */
#include "sim/fs_sim_early.h"

#include "fs_test_util.h"
#include "sched/model/fs_rng.h"
#include "sched/model/fs_ports.h"
#include "sched/model/fs_topo.h"

#include <math.h>
#include <string.h>

/* ---- allocators that fail on demand: the linker puts them in the library's place ---- */

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t elem_bytes);
void *__real_realloc(void *p, size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t elem_bytes);
void *__wrap_realloc(void *p, size_t n);

static uint32_t fail_at; /* the allocation that will fail; 0: none */
static uint32_t n_allocs;

static bool fails(void)
{
    return fail_at != 0 && ++n_allocs == fail_at;
}

void *__wrap_malloc(size_t n)
{
    return fails() ? NULL : __real_malloc(n);
}

void *__wrap_calloc(size_t n, size_t elem_bytes)
{
    return fails() ? NULL : __real_calloc(n, elem_bytes);
}

void *__wrap_realloc(void *p, size_t n)
{
    return fails() ? NULL : __real_realloc(p, n);
}

/* ---- a cluster and a call ---- */

#define RATE      1e9  /* bytes per second */
#define ALPHA     1e-6 /* seconds */
#define AGREEMENT 5e-6
#define LATE_NS   1000000

enum { MAX_RANKS = 140, CHUNK = 16384 };

typedef struct scene {
    fs_topo_t      *topo;
    uint32_t        n;
    fs_sim_params_t params;
    uint64_t        bytes[MAX_RANKS * MAX_RANKS], rest[MAX_RANKS * MAX_RANKS];
    uint64_t        entry_ns[MAX_RANKS];
} scene_t;

static scene_t scene;

static void begin(uint32_t n_servers, uint32_t n_local)
{
    uint32_t server_of[MAX_RANKS];

    memset(&scene, 0, sizeof(scene));
    scene.n      = n_servers * n_local;
    scene.params = (fs_sim_params_t){
        .rate_out = RATE, .rate_up = RATE, .alpha_out = ALPHA};
    for (uint32_t r = 0; r < scene.n; ++r) {
        server_of[r] = r / n_local;
    }
    ck_assert_int_eq(fs_topo_create(scene.n, server_of, 0, &scene.topo), FS_OK);
}

static void end(void)
{
    fs_topo_destroy(scene.topo);
}

static uint64_t *bytes(uint32_t src, uint32_t dst)
{
    return &scene.bytes[src * scene.n + dst];
}

static uint64_t rest(uint32_t src, uint32_t dst)
{
    return scene.rest[src * scene.n + dst];
}

static fs_status_t run(fs_sim_early_result_t *result)
{
    fs_sim_early_t call = {.topo       = scene.topo,
                           .rank_bytes = scene.bytes,
                           .entry_ns   = scene.entry_ns,
                           .max_chunk  = CHUNK,
                           .agreement  = AGREEMENT};

    return fs_sim_early_run(&call, &scene.params, scene.rest, result);
}

static void same_time(double a, double b)
{
    ck_assert_msg(fabs(a - b) <= 1e-9 * (fabs(a) + fabs(b)), "%.9g, not %.9g",
                  a, b);
}

/* ---- tests ---- */

/* Rank 0 has something for rank 1, and rank 2 is late. A word says that it is here,
 * another asks for it, then it comes at the full rate: three chunks ahead are enough. */
START_TEST(one_message)
{
    fs_sim_early_result_t r;

    begin(3, 1);
    *bytes(0, 1)      = _i;
    scene.entry_ns[2] = LATE_NS;
    ck_assert_int_eq(run(&r), FS_OK);
    ck_assert_uint_eq(rest(0, 1), 0);
    ck_assert_uint_eq(r.bytes, _i);
    ck_assert_uint_eq(r.chunk, CHUNK);
    same_time(r.arrived, 3 * ALPHA + _i / RATE);
    same_time(r.gathered, LATE_NS * 1e-9 + AGREEMENT);
    same_time(r.settled, r.gathered);
    same_time(r.planned, r.gathered + 2 * AGREEMENT);
    same_time(r.ready, r.planned);
    end();
}
END_TEST

/* When all have entered the rest waits for the plan, and for the last byte. */
START_TEST(it_stops)
{
    fs_sim_early_result_t r;

    begin(3, 1);
    *bytes(0, 1)      = 100 * LATE_NS;
    scene.entry_ns[2] = LATE_NS;
    ck_assert_int_eq(run(&r), FS_OK);
    ck_assert_uint_eq(r.bytes + rest(0, 1), *bytes(0, 1));
    ck_assert_uint_ge(r.bytes, LATE_NS - 3000);
    ck_assert_uint_le(r.bytes, LATE_NS + 10 * CHUNK);
    ck_assert(r.settled > r.gathered && r.settled < r.gathered + 3 * ALPHA);
    same_time(r.ready, r.arrived > r.planned ? r.arrived : r.planned);
    end();
}
END_TEST

/* The late rank's own bytes wait, and so do those inside a server. */
START_TEST(who_is_not_there)
{
    fs_sim_early_result_t r;

    begin(2, 2);
    for (uint32_t k = 0; k < scene.n * scene.n; ++k) {
        scene.bytes[k] = 40 * CHUNK;
    }
    scene.entry_ns[3] = 10 * LATE_NS;
    ck_assert_int_eq(run(&r), FS_OK);
    for (uint32_t u = 0; u < scene.n; ++u) {
        ck_assert_uint_eq(rest(u, u), *bytes(u, u));
        ck_assert_uint_ge(rest(u, 3), *bytes(u, 3) - 20 * CHUNK);
        ck_assert_uint_ge(rest(3, u), *bytes(3, u) - 20 * CHUNK);
    }
    ck_assert_uint_eq(rest(0, 1), *bytes(0, 1));
    ck_assert_uint_eq(rest(0, 2) + rest(2, 0) + rest(1, 2) + rest(2, 1), 0);
    end();
}
END_TEST

/* With many servers ranks talk to those of their lane. */
START_TEST(only_their_lane)
{
    fs_sim_early_result_t r;

    begin(33, 4);
    *bytes(0, 4)       = 5000;
    *bytes(0, 5)       = 5000;
    scene.entry_ns[99] = LATE_NS;
    ck_assert_int_eq(run(&r), FS_OK);
    ck_assert_uint_eq(rest(0, 4), 0);
    ck_assert_uint_eq(rest(0, 5), 5000);
    end();
}
END_TEST

static uint64_t sum(const uint64_t *values)
{
    uint64_t all = 0;

    for (uint32_t k = 0; k < scene.n * scene.n; ++k) {
        all += values[k];
    }
    return all;
}

/* No byte is lost, none is there twice, and nothing depends on anything else. */
START_TEST(any_entries)
{
    fs_sim_early_result_t one, other;
    fs_rng_t              rng;

    fs_rng_init(&rng, (uint64_t)_i);
    begin(2 + (uint32_t)fs_rng_below(&rng, 6),
          1 + (uint32_t)fs_rng_below(&rng, 4));
    for (uint32_t k = 0; k < scene.n * scene.n; ++k) {
        scene.bytes[k] =
            fs_rng_below(&rng, 5) == 0 ? 0 : fs_rng_below(&rng, 20 * CHUNK);
    }
    for (uint32_t r = 0; r < scene.n; ++r) {
        scene.entry_ns[r] = fs_rng_below(&rng, 2000000);
    }
    ck_assert_int_eq(run(&one), FS_OK);
    ck_assert_uint_eq(sum(scene.rest) + one.bytes, sum(scene.bytes));
    for (uint32_t k = 0; k < scene.n * scene.n; ++k) {
        ck_assert_uint_le(scene.rest[k], scene.bytes[k]);
    }
    ck_assert(one.gathered <= one.settled && one.settled <= one.planned &&
              one.planned <= one.ready && one.arrived <= one.ready);
    ck_assert_int_eq(run(&other), FS_OK);
    ck_assert_int_eq(memcmp(&one, &other, sizeof(one)), 0);
    end();
}
END_TEST

/* Each allocation fails once. */
START_TEST(no_memory)
{
    fs_sim_early_result_t r      = {0};
    fs_status_t           status = FS_ERR_NOMEM;

    begin(3, 2);
    for (uint32_t k = 0; k < scene.n * scene.n; ++k) {
        scene.bytes[k] = 30 * CHUNK;
    }
    scene.entry_ns[5] = LATE_NS;
    for (uint32_t n = 1; status == FS_ERR_NOMEM; ++n) {
        ck_assert_uint_eq(r.n_words, 0);
        n_allocs = 0;
        fail_at  = n;
        status   = run(&r);
        fail_at  = 0;
    }
    ck_assert_int_eq(status, FS_OK);
    ck_assert_uint_gt(n_allocs, 20);
    end();
}
END_TEST

START_TEST(it_cannot)
{
    static const uint32_t proxy[] = {0};
    fs_sim_early_result_t r;

    begin(1, 4);
    ck_assert_int_eq(run(&r), FS_ERR_UNSUPPORTED);
    end();
    begin(2, 2);
    scene.params.rate_out = 0;
    ck_assert_int_eq(run(&r), FS_ERR_INVAL);
    fs_topo_set_lanes(scene.topo, 1, 1, proxy);
    fs_ports_set_width(scene.topo);
    ck_assert_int_eq(run(&r), FS_ERR_UNSUPPORTED);
    end();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sim_early");
    TCase *tcase = tcase_create("sim_early");

    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, one_message, CHUNK - 1, CHUNK + 1);
    tcase_add_loop_test(tcase, one_message, 20 * CHUNK, 20 * CHUNK + 1);
    tcase_add_test(tcase, it_stops);
    tcase_add_test(tcase, who_is_not_there);
    tcase_add_test(tcase, only_their_lane);
    tcase_add_loop_test(tcase, any_entries, 0, 40);
    tcase_add_test(tcase, no_memory);
    tcase_add_test(tcase, it_cannot);
    suite_add_tcase(suite, tcase);
    return fs_test_run(suite);
}
