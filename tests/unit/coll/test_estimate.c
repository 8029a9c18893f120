/* SPDX-License-Identifier: BSD-3-Clause */
/* What a start costs in the tuner's model, by what it says of skewed calls. */
#include "coll/fs_estimate.h"
#include "coll/fs_request.h"
#include "fs_test_util.h"

enum { N_RANKS = 8, BOUND = 65536, SKEWED = 2 * BOUND };

static const fs_native_p2p_t p2p;
static fs_comm_t             comm;
static fs_request_t          request;

/* Four servers of two ranks, one of which has twice the mean. */
static void set_up(void)
{
    uint32_t server_of[N_RANKS] = {0, 0, 1, 1, 2, 2, 3, 3};

    comm    = (fs_comm_t){.native = {.p2p = &p2p}};
    request = (fs_request_t){.comm = &comm};
    fs_params_init(&comm.params);
    ck_assert_uint_eq(comm.params.stage_cost, 65536);
    ck_assert_int_eq(fs_topo_create(N_RANKS, server_of, 0, &comm.topo), FS_OK);
    request.outcome.bound   = BOUND;
    request.outcome.traffic = (fs_traffic_t){
        .n_servers = 4, .inter_bytes = 8 * BOUND, .max_inter = SKEWED};
}

static void tear_down(void)
{
    fs_topo_destroy(comm.topo);
}

/* Nobody knows how fast NICs are: starts are nearly all that a call costs. */
START_TEST(as_the_parameter_says)
{
    ck_assert(fs_estimate_pays_eager(&request));
}
END_TEST

/* A start takes no more than a quarter of a millisecond: bytes are what counts. */
START_TEST(no_more_than_a_run_has_shown)
{
    comm.quarter = 4096;
    ck_assert(!fs_estimate_pays_eager(&request));
    comm.calibration.done = true;
    ck_assert(fs_estimate_pays_eager(&request));
}
END_TEST

/* A run of a few bytes has shown nothing. */
START_TEST(no_less_than_starts_take)
{
    request.outcome.traffic.max_inter = BOUND + 7000;
    comm.quarter                      = 16;
    ck_assert(fs_estimate_pays_eager(&request));
    request.outcome.traffic.max_inter = BOUND + 8000;
    ck_assert(!fs_estimate_pays_eager(&request));
}
END_TEST

/* A plan that lasts is not in the time of the call for which it was made. */
START_TEST(without_the_plan)
{
    fs_outcome_t   outcome = {.entered_ns = 1000, .plan_ns = 300};
    fs_last_call_t last    = {.is_eager = false};

    fs_last_call_close(&last, &outcome, 5000, 5200);
    ck_assert_uint_eq(last.whole_ns, 3900);
    ck_assert_uint_eq(last.round_ns, 200);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("estimate");
    TCase *tcase = tcase_create("all");

    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_test(tcase, as_the_parameter_says);
    tcase_add_test(tcase, no_more_than_a_run_has_shown);
    tcase_add_test(tcase, no_less_than_starts_take);
    tcase_add_test(tcase, without_the_plan);
    suite_add_tcase(suite, tcase);
    return fs_test_run(suite);
}
