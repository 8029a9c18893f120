/* SPDX-License-Identifier: BSD-3-Clause */
/* How long messages are, and how a run that was faster than others changes that. */
#include "coll/fs_chunks.h"
#include "coll/fs_times.h"
#include "fs_test_util.h"

enum { N_RANKS = 8, CHUNK = 65536, QUARTER = 16384, WINDOW = 8 };

static fs_comm_t    comm;
static fs_request_t request;

/* Ranks in turn on so many servers; chunks and a window as by default. */
static void set_servers(uint32_t n_servers)
{
    uint32_t server_of[N_RANKS];

    for (uint32_t r = 0; r < N_RANKS; ++r) {
        server_of[r] = r % n_servers;
    }
    fs_topo_destroy(comm.topo);
    ck_assert_int_eq(fs_topo_create(N_RANKS, server_of, 0, &comm.topo), FS_OK);
}

static void set_up(void)
{
    comm    = (fs_comm_t){.topo = NULL, .quarter = QUARTER};
    request = (fs_request_t){.comm = &comm};
    fs_params_init(&comm.params);
    ck_assert_uint_eq(comm.params.chunk, CHUNK);
    ck_assert_uint_eq(comm.params.window, WINDOW);
    set_servers(4);
}

static void tear_down(void)
{
    fs_topo_destroy(comm.topo);
}

static fs_plan_params_t cut(uint64_t bound, bool coarse)
{
    request.outcome.bound = bound;
    return fs_chunks_cut(&request, coarse);
}

/* Of three stages, 192 KiB each at most. */
START_TEST(short_stages)
{
    ck_assert_uint_eq(cut(3 * 196608, false).chunk, QUARTER);
    ck_assert_uint_eq(cut(3 * 196608, false).window, 2);
    ck_assert_uint_eq(cut(3 * 196608 + 1, false).chunk, 32832);
    ck_assert_uint_eq(cut(3 * 196608 + 1, false).window, WINDOW);
    ck_assert_uint_eq(cut(98304, false).chunk, 8192);
    ck_assert_uint_eq(cut(98304, false).window, 2);
}
END_TEST

START_TEST(no_longer_than_the_parameter_and_no_shorter_than_pays)
{
    ck_assert_uint_eq(cut(UINT64_C(1) << 40, false).chunk, CHUNK);
    ck_assert_uint_eq(cut(1, false).chunk, 4096);
}
END_TEST

/* What a NIC sends in a quarter of a millisecond is longer, or nobody knows. */
START_TEST(no_short_stages_on_fast_networks)
{
    const uint64_t quarters[] = {0, CHUNK};

    for (int k = 0; k < 2; ++k) {
        comm.quarter = quarters[k];
        ck_assert_uint_eq(fs_chunks_short(&comm), 0);
        ck_assert_uint_eq(cut(3 * 196608, false).chunk, 32768);
        ck_assert_uint_eq(cut(3 * 196608, false).window, WINDOW);
    }
}
END_TEST

/* Nobody has to wait for its end. */
START_TEST(one_stage)
{
    set_servers(2);
    ck_assert_uint_eq(cut(40000, false).chunk, 40000);
    ck_assert_uint_eq(cut(196608, false).chunk, CHUNK);
    ck_assert_uint_eq(cut(196608, false).window, WINDOW);
}
END_TEST

START_TEST(coarse_ones)
{
    ck_assert_uint_eq(cut(3 * 196608, true).chunk, 4 * QUARTER);
    ck_assert_uint_eq(cut(3 * 196608, true).window, WINDOW);
}
END_TEST

START_TEST(slow_networks)
{
    comm.quarter = 1024;
    ck_assert_uint_eq(fs_chunks_short(&comm), 8192);
    ck_assert_uint_eq(cut(3 * 262144, false).chunk, 8192);
    ck_assert_uint_eq(cut(3 * 262144, false).window, 2);
    ck_assert_uint_eq(cut(3 * 262144 + 1, false).chunk, 43712);
    ck_assert_uint_eq(cut(3 * 262144 + 1, false).window, WINDOW);
}
END_TEST

/* A run of so many bytes in a millisecond. */
static void hear(uint64_t bytes)
{
    fs_vote_t vote = {.max_ns = 1000000};

    comm.last.run = (fs_timed_run_t){.bytes = bytes, .rounds = 1};
    fs_times_apply(&comm, &vote);
}

/* Slower ones say nothing. */
START_TEST(the_fastest_run_counts)
{
    hear(4 * 32768);
    ck_assert_uint_eq(comm.quarter, 32768);
    hear(4 * 8192);
    ck_assert_uint_eq(comm.quarter, 32768);
    hear(4 * CHUNK);
    ck_assert_uint_eq(fs_chunks_short(&comm), 0);
    comm.quarter          = 0;
    comm.params.calibrate = 0;
    hear(4 * 32768);
    ck_assert_uint_eq(comm.quarter, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("chunks");
    TCase *tcase = tcase_create("all");

    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_test(tcase, short_stages);
    tcase_add_test(tcase,
                   no_longer_than_the_parameter_and_no_shorter_than_pays);
    tcase_add_test(tcase, no_short_stages_on_fast_networks);
    tcase_add_test(tcase, slow_networks);
    tcase_add_test(tcase, one_stage);
    tcase_add_test(tcase, coarse_ones);
    tcase_add_test(tcase, the_fastest_run_counts);
    suite_add_tcase(suite, tcase);
    return fs_test_run(suite);
}
