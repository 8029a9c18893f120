/* SPDX-License-Identifier: BSD-3-Clause */
/* Parameters change between calls, if all ranks want it. */
#include "comm/fs_wish.h"

#include "comm/fs_params.h"

#include "fs_test_util.h"

#include <stdlib.h>
#include <string.h>

enum { N_RANKS = 3 };

static fs_comm_t   comms[N_RANKS];
static fs_params_t wanted[N_RANKS];
static char        said[512];
static unsigned    n_said;

static void warn(void *process, const char *line)
{
    (void)process;
    ++n_said;
    strncpy(said, line, sizeof(said) - 1);
}

static fs_topo_t *topo;

/* Ranks are connected for this algorithm. */
static void wire(uint32_t algorithm)
{
    for (uint32_t r = 0; r < N_RANKS; ++r) {
        fs_params_t params = comms[r].params;

        params.algorithm = algorithm;
        comms[r].wired   = fs_params_plan(&params);
    }
}

static void set_up(void)
{
    const uint32_t labels[N_RANKS] = {0, 0, 1};

    ck_assert_int_eq(fs_topo_create(N_RANKS, labels, 1, &topo), FS_OK);
    memset(comms, 0, sizeof(comms));
    memset(said, 0, sizeof(said));
    n_said = 0;
    for (uint32_t r = 0; r < N_RANKS; ++r) {
        fs_params_init(&wanted[r]);
        comms[r].params        = wanted[r];
        comms[r].rank          = r;
        comms[r].native.wanted = &wanted[r];
        comms[r].native.warn   = warn;
        comms[r].topo          = topo;
    }
    wire(FS_ALG_DIRECT);
}

static void tear_down(void)
{
    fs_topo_destroy(topo);
}

/* A blocking call, whose summary combines the votes. */
static void call(void)
{
    uint64_t flags = 32; /* of others */

    for (uint32_t r = 0; r < N_RANKS; ++r) {
        fs_wish_adopt(&comms[r]);
        flags |= fs_wish_flags(&comms[r]);
    }
    for (uint32_t r = 0; r < N_RANKS; ++r) {
        fs_wish_hear(&comms[r], flags);
    }
}

static void ck_all(uint32_t algorithm, uint32_t tuner, uint32_t verbose)
{
    for (uint32_t r = 0; r < N_RANKS; ++r) {
        ck_assert_uint_eq(comms[r].params.algorithm, algorithm);
        ck_assert_uint_eq(comms[r].params.tuner, tuner);
        ck_assert_uint_eq(comms[r].params.verbose, verbose);
    }
}

START_TEST(the_second_call_has_it)
{
    for (uint32_t alg = 0; alg <= FS_ALGORITHM_AUTO; ++alg) {
        for (uint32_t r = 0; r < N_RANKS; ++r) {
            wanted[r].algorithm = alg;
            wanted[r].tuner     = alg % 2;
            wanted[r].verbose   = alg % 3 == 0;
        }
        call();
        ck_assert(alg > 0 || comms[0].params.algorithm == FS_ALGORITHM_AUTO);
        call();
        ck_all(alg, alg % 2, alg % 3 == 0);
    }
    ck_assert_uint_eq(n_said, 0);
}
END_TEST

START_TEST(different_wishes_change_nothing)
{
    wanted[1].algorithm = FS_ALG_STAGED;
    wanted[2].tuner     = 0;
    call();
    ck_assert_uint_eq(n_said, 0);
    call();
    call();
    call();
    ck_all(FS_ALGORITHM_AUTO, 1, 0);
    ck_assert_uint_eq(n_said, 1);
    ck_assert_str_eq(said, "ranks have been given different values of "
                           "algorithm tuner; all keep theirs");
    wanted[0] = wanted[2] = wanted[1];
    call();
    call();
    ck_all(FS_ALG_STAGED, 1, 0);
}
END_TEST

/* Ranks are written to one after the other, with a call in between. */
START_TEST(a_moment_of_difference_is_no_news)
{
    wanted[0].verbose = wanted[1].verbose = 1;
    call();
    wanted[2].verbose = 1;
    call();
    ck_all(FS_ALGORITHM_AUTO, 1, 0);
    call();
    ck_all(FS_ALGORITHM_AUTO, 1, 1);
    ck_assert_uint_eq(n_said, 0);
}
END_TEST

/* Rank 1 has no lane, and sends nothing but by "direct". */
START_TEST(ranks_are_not_connected_for_it)
{
    wire(FS_ALG_STAGED);
    for (uint32_t r = 0; r < N_RANKS; ++r) {
        wanted[r].algorithm = FS_ALG_DIRECT;
    }
    call();
    call();
    call();
    ck_all(FS_ALGORITHM_AUTO, 1, 0);
    ck_assert_uint_eq(n_said, 1);
    ck_assert_ptr_nonnull(strstr(said, "not connected for the new one"));
    for (uint32_t r = 0; r < N_RANKS; ++r) {
        wanted[r].algorithm = FS_ALG_STAGED;
    }
    call();
    call();
    ck_all(FS_ALG_STAGED, 1, 0);
}
END_TEST

/* What goes without a vote, MPI_Allreduce say, leaves the wishes of the call before. */
START_TEST(a_call_without_votes)
{
    for (uint32_t r = 0; r < N_RANKS; ++r) {
        wanted[r].algorithm = FS_ALG_PIPE2D;
    }
    call();
    for (uint32_t r = 0; r < N_RANKS; ++r) {
        fs_wish_hear(&comms[r], 16);
        fs_wish_adopt(&comms[r]);
    }
    ck_all(FS_ALG_PIPE2D, 1, 0);
}
END_TEST

START_TEST(nobody_may_change_anything)
{
    comms[0].native.wanted = NULL;
    wanted[0].algorithm    = FS_ALG_PIPE2D;
    ck_assert_uint_eq(fs_wish_flags(&comms[0]), 0);
    fs_wish_hear(&comms[0], 0);
    fs_wish_adopt(&comms[0]);
    ck_assert_uint_eq(comms[0].params.algorithm, FS_ALGORITHM_AUTO);
}
END_TEST

/* It has what the algorithm before has chosen. */
START_TEST(kept_plans_are_forgotten)
{
    fs_cached_plan_t *kept = calloc(1, sizeof(*kept));

    ck_assert_ptr_nonnull(kept);
    kept->n_users = 1;
    ck_assert_uint_eq(comms[0].cache.n, 0);
    comms[0].cache.entries[0].cached = kept;
    comms[0].cache.n                 = 1;
    for (uint32_t r = 0; r < N_RANKS; ++r) {
        wanted[r].verbose = 1;
    }
    call();
    call();
    ck_assert_uint_eq(comms[0].cache.n, 1);
    for (uint32_t r = 0; r < N_RANKS; ++r) {
        wanted[r].tuner = 0;
    }
    call();
    call();
    ck_assert_uint_eq(comms[0].cache.n, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("wish");
    TCase *tcase = tcase_create("wish");

    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_test(tcase, the_second_call_has_it);
    tcase_add_test(tcase, different_wishes_change_nothing);
    tcase_add_test(tcase, a_moment_of_difference_is_no_news);
    tcase_add_test(tcase, ranks_are_not_connected_for_it);
    tcase_add_test(tcase, a_call_without_votes);
    tcase_add_test(tcase, nobody_may_change_anything);
    tcase_add_test(tcase, kept_plans_are_forgotten);
    suite_add_tcase(suite, tcase);
    return fs_test_run(suite);
}
