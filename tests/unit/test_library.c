/* SPDX-License-Identifier: BSD-3-Clause */
/* A program of others: installed headers, libfastsched.so and nothing else. The
 * examples in the manual are more of them. */
#include "fastsched.h"

#include <check.h>
#include <stdlib.h>

static const uint64_t matrix[4] = {0, 100, 50, 0};

static fs_status_t plan(fs_balance_t balance, fs_decompose_t decompose)
{
    static const uint32_t    server_of[2] = {0, 1};
    uint64_t                 bytes[4]     = {0, 100, 50, 0};
    const uint64_t           send[2] = {0, 100}, recv[2] = {0, 50};
    const fs_local_traffic_t local  = {send, recv, true, true};
    const fs_plan_params_t   params = {.balance       = balance,
                                       .decompose     = decompose,
                                       .chunk         = 4096,
                                       .window        = 1,
                                       .staging_limit = 1 << 20};
    fs_traffic_t traffic = {.n_servers = 2, .bytes = bytes, .max_inter = 150};
    fs_topo_t   *topo    = NULL;
    fs_plan_t   *plan    = NULL;
    fs_status_t  status;

    ck_assert_int_eq(fs_topo_create(2, server_of, 0, &topo), FS_OK);
    ck_assert_int_eq(fs_traffic_sum(&traffic), FS_OK);
    status = fs_plan_create(FS_ALG_STAGED, topo, &traffic, &params, 0, &local,
                            &plan);
    ck_assert_int_eq(plan != NULL, status == FS_OK);
    fs_plan_destroy(plan);
    fs_topo_destroy(topo);
    return status;
}

START_TEST(ours_are_there)
{
    for (fs_decompose_t how = FS_DECOMPOSE_AUTO; how <= FS_DECOMPOSE_BIRKHOFF;
         ++how) {
        fs_schedule_t *schedule = NULL;

        ck_assert_str_ne(fs_decompose_name(how), "unknown");
        ck_assert_int_eq(
            fs_schedule_create(how, 0, 2, matrix, FS_ALL_SERVERS, &schedule),
            FS_OK);
        ck_assert_uint_eq(schedule->total, 100);
        fs_schedule_destroy(schedule);
        ck_assert_int_eq(plan(FS_BALANCE_MINMOVE, how), FS_OK);
    }
}
END_TEST

START_TEST(the_papers_are_not)
{
    for (fs_decompose_t how = FS_DECOMPOSE_HIERARCHICAL;
         how <= FS_DECOMPOSE_SPREADOUT; ++how) {
        fs_schedule_t *schedule = NULL;

        ck_assert_str_eq(fs_decompose_name(how), "unknown");
        ck_assert_int_eq(
            fs_schedule_create(how, 0, 2, matrix, FS_ALL_SERVERS, &schedule),
            FS_ERR_INVAL);
        ck_assert_ptr_null(schedule);
        ck_assert_int_eq(plan(FS_BALANCE_MINMOVE, how), FS_ERR_INVAL);
    }
    for (fs_balance_t how = FS_BALANCE_EQUALIZE; how <= FS_BALANCE_ROWCOL;
         ++how) {
        ck_assert_int_eq(plan(how, FS_DECOMPOSE_AUTO), FS_ERR_INVAL);
    }
}
END_TEST

int main(void)
{
    Suite   *suite  = suite_create("library");
    TCase   *tcase  = tcase_create("library");
    SRunner *runner = srunner_create(suite);
    int      failed;

    tcase_add_test(tcase, ours_are_there);
    tcase_add_test(tcase, the_papers_are_not);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
