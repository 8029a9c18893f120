/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of reasons: each row, its place, and its threshold at equality. */
#include "fastsched.h"
#include "fs_test_util.h"
#include "sched/model/fs_ports.h"
#include "sched/plan/fs_plan.h"

#include <stdlib.h>

enum { MTM = 2200, MIN_BYTES = 1000 };

/* One question. 2 servers of 2 ranks unless n_servers says 1. */
typedef struct ask {
    const char *what;
    uint32_t    n_servers;
    uint64_t    inter_bytes;
    uint64_t    max_inter;
    bool        force;
    fs_alg_t    algorithm;
    uint64_t    min_bytes;
    uint32_t    mtm_threshold;
    fs_alg_t    alg; /* the answer */
    bool        skewed;
    const char *reason;
} ask_t;

#define BIG     (UINT64_C(1) << 62)
#define CHEAPER "lightly skewed, staged is cheaper"

static const ask_t asks[] = {
    /* One server: whatever else is true. */
    {"one server", 1, 0, 0, false, FS_ALG_NATIVE, MIN_BYTES, MTM, FS_ALG_NATIVE,
     false, "one server"},
    {"one server, forced staged", 1, 0, 0, true, FS_ALG_STAGED, 0, MTM,
     FS_ALG_NATIVE, false, "one server"},
    {"one server, forced host", 1, 0, 0, true, FS_ALG_NATIVE, 0, MTM,
     FS_ALG_NATIVE, false, "one server"},
    /* Nothing to send: also when told to stage. */
    {"nothing, auto", 2, 0, 0, false, FS_ALG_NATIVE, 0, MTM, FS_ALG_NATIVE,
     false, "no bytes between servers"},
    {"nothing, forced staged", 2, 0, 0, true, FS_ALG_STAGED, 0, MTM,
     FS_ALG_NATIVE, false, "no bytes between servers"},
    {"nothing, forced host", 2, 0, 0, true, FS_ALG_NATIVE, 0, MTM,
     FS_ALG_NATIVE, false, "no bytes between servers"},
    /* Told so: before size and skew. */
    {"forced host, large and skewed", 2, 400000, 400000, true, FS_ALG_NATIVE,
     MIN_BYTES, MTM, FS_ALG_NATIVE, true, "forced by parameter"},
    {"forced host, large and balanced", 2, 400000, 100000, true, FS_ALG_NATIVE,
     MIN_BYTES, MTM, FS_ALG_NATIVE, false, "forced by parameter"},
    {"forced staged, one byte", 2, 1, 1, true, FS_ALG_STAGED, MIN_BYTES, MTM,
     FS_ALG_STAGED, true, "forced by parameter"},
    {"forced staged, small, balanced", 2, 4, 1, true, FS_ALG_STAGED, MIN_BYTES,
     MTM, FS_ALG_STAGED, false, "forced by parameter"},
    {"forced pipe2d, small", 2, 4, 1, true, FS_ALG_PIPE2D, MIN_BYTES, MTM,
     FS_ALG_PIPE2D, false, "forced by parameter"},
    {"forced direct, skewed", 2, 400000, 400000, true, FS_ALG_DIRECT, MIN_BYTES,
     MTM, FS_ALG_DIRECT, true, "forced by parameter"},
    {"forced direct, one server", 1, 0, 0, true, FS_ALG_DIRECT, 0, MTM,
     FS_ALG_NATIVE, false, "one server"},
    /* An algorithm without force is not looked at. */
    {"pipe2d but not forced", 2, 400000, 100000, false, FS_ALG_PIPE2D,
     MIN_BYTES, MTM, FS_ALG_STAGED, false, CHEAPER},
    {"staged but not forced, small", 2, 4, 1, false, FS_ALG_STAGED, MIN_BYTES,
     MTM, FS_ALG_NATIVE, false, "below min_bytes"},
    {"native but not forced, large", 2, 400000, 100000, false, FS_ALG_NATIVE,
     MIN_BYTES, MTM, FS_ALG_STAGED, false, CHEAPER},
    /* The size: an average of min_bytes is enough. */
    {"a byte short", 2, 4 * MIN_BYTES - 1, 1000, false, FS_ALG_NATIVE,
     MIN_BYTES, MTM, FS_ALG_NATIVE, false, "below min_bytes"},
    {"just enough", 2, 4 * MIN_BYTES, 1000, false, FS_ALG_NATIVE, MIN_BYTES,
     MTM, FS_ALG_STAGED, false, CHEAPER},
    {"a byte more", 2, 4 * MIN_BYTES + 1, 1000, false, FS_ALG_NATIVE, MIN_BYTES,
     MTM, FS_ALG_STAGED, false, CHEAPER},
    {"min_bytes 0, one byte", 2, 1, 0, false, FS_ALG_NATIVE, 0, MTM,
     FS_ALG_STAGED, false, CHEAPER},
    {"small and skewed", 2, 3999, 3999, false, FS_ALG_NATIVE, MIN_BYTES, MTM,
     FS_ALG_NATIVE, true, "below min_bytes"},
    /* 4 ranks times this is 2^64: must not wrap to 0. */
    {"min_bytes past 64 bits", 2, BIG, 0, false, FS_ALG_NATIVE, BIG, MTM,
     FS_ALG_NATIVE, false, "below min_bytes"},
    {"largest min_bytes", 2, BIG, 0, false, FS_ALG_NATIVE, UINT64_MAX, MTM,
     FS_ALG_NATIVE, false, "below min_bytes"},
    {"largest traffic", 2, BIG, BIG / 4, false, FS_ALG_NATIVE, BIG / 4, MTM,
     FS_ALG_STAGED, false, CHEAPER},
    /* The skew: 4 ranks, 4000 bytes, so max_inter is the ratio itself. */
    {"just below the threshold", 2, 4000, 2199, false, FS_ALG_NATIVE, 0, MTM,
     FS_ALG_STAGED, false, CHEAPER},
    {"at the threshold", 2, 4000, 2200, false, FS_ALG_NATIVE, 0, MTM,
     FS_ALG_STAGED, true, "skewed"},
    {"above the threshold", 2, 4000, 2201, false, FS_ALG_NATIVE, 0, MTM,
     FS_ALG_STAGED, true, "skewed"},
    {"rounded down to just below", 2, 40000, 21999, false, FS_ALG_NATIVE, 0,
     MTM, FS_ALG_STAGED, false, CHEAPER},
    {"lowest threshold", 2, 4000, 1000, false, FS_ALG_NATIVE, 0, 1000,
     FS_ALG_STAGED, true, "skewed"},
    {"highest threshold", 2, 4000, 4000, false, FS_ALG_NATIVE, 0, 1000000,
     FS_ALG_STAGED, false, CHEAPER},
};
#define N_ASKS ((int)(sizeof(asks) / sizeof(asks[0])))

static fs_choice_t answer(const ask_t *ask)
{
    uint32_t         label[4] = {0, 0, 1, 1};
    uint64_t         bytes[4] = {7, ask->inter_bytes, 0, 7};
    fs_traffic_t     traffic  = {.n_servers   = ask->n_servers,
                                 .bytes       = bytes,
                                 .inter_bytes = ask->inter_bytes,
                                 .total_bytes = ask->inter_bytes + 14,
                                 .max_inter   = ask->max_inter};
    fs_plan_params_t params   = {.algorithm           = ask->algorithm,
                                 .force_algorithm     = ask->force,
                                 .mtm_threshold_milli = ask->mtm_threshold,
                                 .min_bytes           = ask->min_bytes};
    fs_topo_t       *topo     = NULL;
    fs_choice_t      choice;

    if (ask->n_servers == 1) {
        label[2] = label[3] = 0;
    }
    ck_assert_int_eq(fs_topo_create(4, label, 0, &topo), FS_OK);
    choice = fs_select(topo, &traffic, &params);
    ck_assert(fs_select_can(topo, &params, choice.alg));
    fs_topo_destroy(topo);
    return choice;
}

START_TEST(each_row)
{
    const ask_t *ask    = &asks[_i];
    fs_choice_t  choice = answer(ask);

    ck_assert_msg(choice.alg == ask->alg, "%s: %s, %s", ask->what,
                  fs_alg_name(choice.alg), choice.reason);
    ck_assert_msg(choice.skewed == ask->skewed, "%s: skewed is %d", ask->what,
                  choice.skewed);
    ck_assert_str_eq(choice.reason, ask->reason);
}
END_TEST

/* ---- the cost model, where lanes idle: a server of 4 ranks among so many of
 * one that each server is a node ---- */

enum { CROWD = FS_MAX_UNEVEN_PORTS - 2 };

/* Each rank of the large server sends pair_bytes to each of four others, its
 * lanes being max_lanes at most. */
static fs_choice_t ask_uneven(uint64_t pair_bytes, uint32_t max_lanes,
                              uint64_t stage_cost, uint64_t max_inter)
{
    uint32_t         label[CROWD + 3] = {0};
    fs_plan_params_t params           = {.mtm_threshold_milli = UINT32_MAX,
                                         .stage_cost          = stage_cost};
    fs_traffic_t     traffic          = {
                     .n_servers = CROWD,
                     .bytes     = fs_test_alloc((size_t)CROWD * CROWD, sizeof(uint64_t)),
                     .max_inter = max_inter};
    fs_topo_t  *topo = NULL;
    fs_choice_t choice;

    for (uint32_t r = 4; r < CROWD + 3; ++r) {
        label[r] = r;
    }
    for (uint32_t w = 1; w <= 4; ++w) {
        traffic.bytes[w] = 4 * pair_bytes;
    }
    ck_assert_int_eq(fs_topo_create(CROWD + 3, label, max_lanes, &topo), FS_OK);
    ck_assert_int_eq(fs_traffic_sum(&traffic), FS_OK);
    choice = fs_select(topo, &traffic, &params);
    ck_assert(fs_select_can(topo, &params, choice.alg));
    fs_test_traffic_fini(&traffic);
    fs_topo_destroy(topo);
    return choice;
}

static fs_alg_t uneven(uint64_t pair_bytes, uint32_t max_lanes,
                       uint64_t stage_cost, uint64_t max_inter)
{
    return ask_uneven(pair_bytes, max_lanes, stage_cost, max_inter).alg;
}

/* The large server has 16 pairs a lane one after another: A is 16 pairs, B is
 * 7; staged pays for two messages more than pipe2d. */
START_TEST(the_cheaper_one)
{
    const uint64_t pair = 1000;

    ck_assert_int_eq(uneven(pair, 0, 0, 7 * pair), FS_ALG_PIPE2D);
    ck_assert_str_eq(ask_uneven(pair, 0, 0, 7 * pair).reason, "lightly skewed");
    /* 3/2 B is A: at a tie staged. */
    ck_assert_int_eq(uneven(pair * 3, 0, 0, 32 * pair), FS_ALG_STAGED);
    ck_assert_int_eq(uneven(pair * 3, 0, 0, 32 * pair - 1), FS_ALG_PIPE2D);
    /* 16000 + 2 alpha against 16500. */
    ck_assert_int_eq(uneven(pair, 0, 249, 11 * pair), FS_ALG_STAGED);
    ck_assert_int_eq(uneven(pair, 0, 250, 11 * pair), FS_ALG_STAGED);
    ck_assert_int_eq(uneven(pair, 0, 251, 11 * pair), FS_ALG_PIPE2D);
    /* No lane of the large server idles. */
    ck_assert_int_eq(uneven(pair, 1, 0, 7 * pair), FS_ALG_STAGED);
    /* The bound counts where no rank says so. */
    ck_assert_int_eq(uneven(pair, 0, 0, 0), FS_ALG_PIPE2D);
    /* Nothing wraps. */
    ck_assert_int_eq(uneven(pair, 0, UINT64_MAX, 7 * pair), FS_ALG_PIPE2D);
}
END_TEST

/* ---- what can be chosen, whatever the traffic ---- */

/* One letter each: native, staged, pipe2d, direct. */
static void can_be(const fs_topo_t *topo, fs_plan_params_t params,
                   const char *want)
{
    char     can[FS_ALG_DIRECT + 2] = "", *end = can;
    fs_alg_t alg;

    for (alg = FS_ALG_NATIVE; alg <= FS_ALG_DIRECT; ++alg) {
        if (fs_select_can(topo, &params, alg)) {
            *end++ = fs_alg_name(alg)[0];
        }
    }
    ck_assert_str_eq(can, want);
}

static fs_plan_params_t told(fs_alg_t alg)
{
    return (fs_plan_params_t){.algorithm = alg, .force_algorithm = true};
}

START_TEST(what_can_be_chosen)
{
    static const uint32_t one[2] = {0, 0}, two[2] = {0, 1};
    uint32_t              label[CROWD + 3] = {0};
    fs_topo_t            *topo;

    ck_assert_int_eq(fs_topo_create(2, one, 0, &topo), FS_OK);
    can_be(topo, (fs_plan_params_t){.mtm_threshold_milli = MTM}, "n");
    can_be(topo, told(FS_ALG_STAGED), "n");
    fs_topo_destroy(topo);

    ck_assert_int_eq(fs_topo_create(2, two, 0, &topo), FS_OK);
    can_be(topo, (fs_plan_params_t){.mtm_threshold_milli = MTM}, "ns");
    can_be(topo, told(FS_ALG_NATIVE), "n");
    can_be(topo, told(FS_ALG_STAGED), "ns");
    can_be(topo, told(FS_ALG_PIPE2D), "np");
    can_be(topo, told(FS_ALG_DIRECT), "nd");
    fs_topo_destroy(topo);

    for (uint32_t r = 4; r < CROWD + 3; ++r) {
        label[r] = r;
    }
    ck_assert_int_eq(fs_topo_create(CROWD + 3, label, 0, &topo), FS_OK);
    can_be(topo, (fs_plan_params_t){.mtm_threshold_milli = MTM}, "nsp");
    can_be(topo, (fs_plan_params_t){.mtm_threshold_milli = 1000}, "ns");
    can_be(topo, told(FS_ALG_STAGED), "ns");
    fs_topo_destroy(topo);
    ck_assert_int_eq(fs_topo_create(CROWD + 2, label, 0, &topo), FS_OK);
    can_be(topo, (fs_plan_params_t){.mtm_threshold_milli = MTM}, "ns");
    fs_topo_destroy(topo);
}
END_TEST

START_TEST(names)
{
    ck_assert_str_eq(fs_alg_name(FS_ALG_NATIVE), "native");
    ck_assert_str_eq(fs_alg_name(FS_ALG_STAGED), "staged");
    ck_assert_str_eq(fs_alg_name(FS_ALG_PIPE2D), "pipe2d");
    ck_assert_str_eq(fs_alg_name(FS_ALG_DIRECT), "direct");
    ck_assert_str_eq(fs_alg_name((fs_alg_t)77), "unknown");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("select");
    TCase *tcase = tcase_create("select");

    tcase_add_loop_test(tcase, each_row, 0, N_ASKS);
    tcase_add_test(tcase, the_cheaper_one);
    tcase_add_test(tcase, what_can_be_chosen);
    tcase_add_test(tcase, names);
    suite_add_tcase(suite, tcase);
    return fs_test_run(suite);
}
