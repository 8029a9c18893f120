/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers for people: three digits, and the unit that makes them so. */
#include "fs_test_util.h"
#include "tools/fs_tool_units.h"

START_TEST(times)
{
    ck_assert_str_eq(fs_tool_time_text(0).s, "0 ns");
    ck_assert_str_eq(fs_tool_time_text(12e-9).s, "12.0 ns");
    ck_assert_str_eq(fs_tool_time_text(999.6e-9).s, "1.00 us");
    ck_assert_str_eq(fs_tool_time_text(9.996e-6).s, "10.0 us");
    ck_assert_str_eq(fs_tool_time_text(99.96e-6).s, "100 us");
    ck_assert_str_eq(fs_tool_time_text(889.8e-6).s, "890 us");
    ck_assert_str_eq(fs_tool_time_text(2.927109).s, "2.93 s");
    ck_assert_str_eq(fs_tool_time_text(12345).s, "12345 s");
}
END_TEST

START_TEST(bytes)
{
    ck_assert_str_eq(fs_tool_bytes_text(0).s, "0 B");
    ck_assert_str_eq(fs_tool_bytes_text(999).s, "999 B");
    ck_assert_str_eq(fs_tool_bytes_text(1000).s, "1.00 kB");
    ck_assert_str_eq(fs_tool_bytes_text(208e6).s, "208 MB");
    ck_assert_str_eq(fs_tool_bytes_text(4.6e18).s, "4600 PB");
}
END_TEST

START_TEST(rates)
{
    ck_assert_str_eq(fs_tool_bits_text(50e9).s, "400 Gbit/s");
    ck_assert_str_eq(fs_tool_bits_text(0.125).s, "1.00 bit/s");
    ck_assert_str_eq(fs_tool_rate_text(450e9).s, "450 GB/s");
    ck_assert_str_eq(fs_tool_rate_text(1.5e12).s, "1.50 TB/s");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tools");
    TCase *tcase = tcase_create("units");

    tcase_add_test(tcase, times);
    tcase_add_test(tcase, bytes);
    tcase_add_test(tcase, rates);
    suite_add_tcase(suite, tcase);
    return fs_test_run(suite);
}
