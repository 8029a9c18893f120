/* SPDX-License-Identifier: BSD-3-Clause */
/* Which server was the busiest, and why calls were left to the MPI. */
#include "policy/fs_account.h"
#include "fs_test_util.h"

enum { N_SERVERS = 3 };

static fs_account_t account;

static void set_up(void)
{
    ck_assert_int_eq(fs_account_init(&account, N_SERVERS), FS_OK);
}

static void tear_down(void)
{
    fs_account_fini(&account);
}

START_TEST(bytes_count_more_than_calls)
{
    ck_assert_ptr_null(fs_account_busiest(&account));
    fs_account_add(&account, 1, 100, 300);
    fs_account_add(&account, 1, 100, 300);
    ck_assert_ptr_eq(fs_account_busiest(&account), &account.lines[1]);
    fs_account_add(&account, 4, 500, 900);
    ck_assert_ptr_eq(fs_account_busiest(&account), &account.lines[4]);
    ck_assert_uint_eq(account.lines[1].n_calls, 2);
    ck_assert_uint_eq(account.lines[1].bound, 200);
    ck_assert_uint_eq(account.n_calls, 3);
    ck_assert_uint_eq(account.bound, 700);
    ck_assert_uint_eq(account.inter_bytes, 1500);
}
END_TEST

START_TEST(the_lowest_of_several)
{
    fs_account_add(&account, 5, 100, 100);
    fs_account_add(&account, 0, 100, 100);
    ck_assert_ptr_eq(fs_account_busiest(&account), &account.lines[0]);
}
END_TEST

START_TEST(nobody_counts)
{
    fs_account_fini(&account);
    fs_account_add(&account, 0, 100, 100);
    ck_assert_ptr_null(fs_account_busiest(&account));
    ck_assert_uint_eq(account.n_calls, 0);
}
END_TEST

START_TEST(the_usual_reason)
{
    const fs_account_left_t *usual;

    ck_assert_ptr_null(fs_account_usual(account.left));
    fs_account_leave(&account, "small");
    fs_account_leave(&account, "late");
    fs_account_leave(&account, "late");
    usual = fs_account_usual(account.left);
    ck_assert_str_eq(usual->reason, "late");
    ck_assert_uint_eq(usual->n_calls, 2);
}
END_TEST

START_TEST(reasons_without_a_place)
{
    static const char *const reasons[] = {"a", "b", "c", "d", "e",
                                          "f", "g", "h", "i", "i"};
    const fs_account_left_t *usual;

    for (unsigned k = 0; k < sizeof(reasons) / sizeof(reasons[0]); ++k) {
        fs_account_leave(&account, reasons[k]);
    }
    usual = fs_account_usual(account.left);
    ck_assert_str_eq(usual->reason, "a");
    ck_assert_uint_eq(usual->n_calls, 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("account");
    TCase *tcase = tcase_create("account");

    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_test(tcase, bytes_count_more_than_calls);
    tcase_add_test(tcase, the_lowest_of_several);
    tcase_add_test(tcase, nobody_counts);
    tcase_add_test(tcase, the_usual_reason);
    tcase_add_test(tcase, reasons_without_a_place);
    suite_add_tcase(suite, tcase);
    return fs_test_run(suite);
}
