/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers as users write them, JSON as it is written, arrays that grow, the least
 * of many numbers. */
#include "base/fs_grow.h"
#include "base/fs_json.h"
#include "base/fs_minima.h"
#include "base/fs_value.h"
#include "fs_test_util.h"
#include "sched/model/fs_rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define GIB (UINT64_C(1) << 30)

/* ---- values ---- */

typedef bool (*read_t)(const char *text, uint64_t *value_p);

static const struct {
    read_t      read;
    const char *text;
    uint64_t    value;
} good[] = {
    {fs_value_number, "0", 0},
    {fs_value_number, "007", 7},
    {fs_value_number, "18446744073709551615", UINT64_MAX},
    {fs_value_bytes, "12", 12},
    {fs_value_bytes, "3k", 3072},
    {fs_value_bytes, "3K", 3072},
    {fs_value_bytes, "5m", 5 << 20},
    {fs_value_bytes, "5M", 5 << 20},
    {fs_value_bytes, "2g", 2 * GIB},
    {fs_value_bytes, "2G", 2 * GIB},
    {fs_value_bytes, "1t", 1024 * GIB},
    {fs_value_bytes, "1T", 1024 * GIB},
    {fs_value_bytes, "64KB", 64000},
    {fs_value_bytes, "64kB", 64000},
    {fs_value_bytes, "64KiB", 65536},
    {fs_value_bytes, "64kiB", 65536},
    {fs_value_bytes, "1MB", 1000000},
    {fs_value_bytes, "1MiB", 1 << 20},
    {fs_value_bytes, "3GB", UINT64_C(3000000000)},
    {fs_value_bytes, "2GiB", 2 * GIB},
    {fs_value_bytes, "7TB", UINT64_C(7000000000000)},
    {fs_value_bytes, "1TiB", 1024 * GIB},
    {fs_value_bytes, "16777215t", UINT64_C(16777215) * 1024 * GIB},
    {fs_value_milli, "2", 2000},
    {fs_value_milli, "2.2", 2200},
    {fs_value_milli, "2.02", 2020},
    {fs_value_milli, "2.002", 2002},
    {fs_value_milli, "0.000", 0},
    {fs_value_milli, "18446744073709551.615", UINT64_MAX},
    {fs_value_rate, "0", 0},
    {fs_value_rate, "7bit", 7},
    {fs_value_rate, "56kbit", 56000},
    {fs_value_rate, "50mbit", 50000000},
    {fs_value_rate, "100gbit", UINT64_C(100000000000)},
    {fs_value_rate, "2tbit", UINT64_C(2000000000000)},
    {fs_value_rate, "1kBps", 8000},
    {fs_value_rate, "1MBps", 8000000},
    {fs_value_rate, "450GBps", UINT64_C(3600000000000)},
    {fs_value_rate, "12.5GBps", UINT64_C(100000000000)},
    {fs_value_rate, "2.5gbit", UINT64_C(2500000000)},
    {fs_value_rate, "1.125kbit", 1125},
    {fs_value_rate, "0.001kBps", 8},
    {fs_value_rate, "1TBps", UINT64_C(8000000000000)},
    {fs_value_rate, "18446744073709551615bit", UINT64_MAX},
};

START_TEST(good_values)
{
    uint64_t value = 1;

    ck_assert_msg(good[_i].read(good[_i].text, &value), "%s", good[_i].text);
    ck_assert_msg(value == good[_i].value, "%s is %llu", good[_i].text,
                  (unsigned long long)value);
}
END_TEST

static const struct {
    read_t      read;
    const char *text;
} bad[] = {
    {fs_value_number, ""},
    {fs_value_number, "-1"},
    {fs_value_number, "+1"},
    {fs_value_number, " 1"},
    {fs_value_number, "1 "},
    {fs_value_number, "1k"},
    {fs_value_number, "18446744073709551616"},
    {fs_value_bytes, ""},
    {fs_value_bytes, "k"},
    {fs_value_bytes, "1q"},
    {fs_value_bytes, "1kk"},
    {fs_value_bytes, "1B"},
    {fs_value_bytes, "1iB"},
    {fs_value_bytes, "1qB"},
    {fs_value_bytes, "1Ki"},
    {fs_value_bytes, "1KBs"},
    {fs_value_bytes, "1Kb"},
    {fs_value_bytes, "18446745TB"},
    {fs_value_bytes, "1.5k"},
    {fs_value_bytes, "16777216t"},
    {fs_value_bytes, "18446744073709551616"},
    {fs_value_milli, ""},
    {fs_value_milli, ".5"},
    {fs_value_milli, "2."},
    {fs_value_milli, "2.2222"},
    {fs_value_milli, "2.2x"},
    {fs_value_milli, "1e3"},
    {fs_value_milli, "18446744073709551.616"},
    {fs_value_rate, ""},
    {fs_value_rate, "1"},
    {fs_value_rate, "0.5"},
    {fs_value_rate, "gbit"},
    {fs_value_rate, "1.5bit"},
    {fs_value_rate, "1.1255gbit"},
    {fs_value_rate, "1.0000GBps"},
    {fs_value_rate, "1.GBps"},
    {fs_value_rate, "1gBps"},
    {fs_value_rate, "1GBpsx"},
    {fs_value_rate, "18446744074gbit"},
    {fs_value_rate, "2305843.01TBps"},
};

START_TEST(bad_values)
{
    uint64_t value;

    ck_assert_msg(!bad[_i].read(bad[_i].text, &value), "%s", bad[_i].text);
}
END_TEST

/* ---- JSON ---- */

/* All that there is, wrapped so deep. */
static void write_json(fs_json_t *json)
{
    static const uint64_t numbers[] = {1, 2, UINT64_MAX};

    fs_json_open(json, NULL, '{');
    fs_json_text(json, "text", "a \"b\"\\\n\x7f\xff");
    fs_json_text(json, "nothing", NULL);
    fs_json_u64s(json, "numbers", 3, numbers);
    fs_json_u64s(json, "none", 0, NULL);
    fs_json_open(json, "list", '[');
    fs_json_open(json, NULL, '{');
    fs_json_milli(json, "milli", 12003);
    fs_json_real(json, "real", 0.125, 2);
    fs_json_real(json, "nan", (double)NAN, 2);
    fs_json_bool(json, "bool", true);
    fs_json_close(json);
    fs_json_open(json, NULL, '[');
    fs_json_close(json);
    fs_json_close(json);
    fs_json_say(json, "say", "%d>%d", 1, 2);
    fs_json_close(json);
}

static const char *const json_texts[] = {
    "{\"text\": \"a \\\"b\\\"\\\\\\u000a\\u007f\\u00ff\", \"nothing\": null, "
    "\"numbers\": [1, 2, 18446744073709551615], \"none\": [], \"list\": "
    "[{\"milli\": 12.003, \"real\": 0.12, \"nan\": null, \"bool\": true}, []], "
    "\"say\": \"1>2\"}\n",
    "{\n"
    "  \"text\": \"a \\\"b\\\"\\\\\\u000a\\u007f\\u00ff\",\n"
    "  \"nothing\": null,\n"
    "  \"numbers\": [1, 2, 18446744073709551615],\n"
    "  \"none\": [],\n"
    "  \"list\": [{\"milli\": 12.003, \"real\": 0.12, \"nan\": null, "
    "\"bool\": true}, []],\n"
    "  \"say\": \"1>2\"\n"
    "}\n",
    "{\n"
    "  \"text\": \"a \\\"b\\\"\\\\\\u000a\\u007f\\u00ff\",\n"
    "  \"nothing\": null,\n"
    "  \"numbers\": [1, 2, 18446744073709551615],\n"
    "  \"none\": [],\n"
    "  \"list\": [\n"
    "    {\"milli\": 12.003, \"real\": 0.12, \"nan\": null, \"bool\": true},\n"
    "    []\n"
    "  ],\n"
    "  \"say\": \"1>2\"\n"
    "}\n",
};

START_TEST(json_is_written)
{
    char     *text = NULL;
    size_t    len  = 0;
    FILE     *out  = open_memstream(&text, &len);
    fs_json_t json;

    fs_json_init(&json, out, (unsigned)_i);
    write_json(&json);
    fclose(out);
    ck_assert_str_eq(text, json_texts[_i]);
    free(text);
}
END_TEST

/* ---- arrays ---- */

START_TEST(an_array_grows_to_its_limit)
{
    enum { LIMIT = 200 };
    uint32_t *array = NULL;
    size_t    max   = 0;

    for (uint32_t n = 0; n < LIMIT; ++n) {
        array = fs_grow(array, n, &max, LIMIT, sizeof(*array));
        ck_assert(array != NULL && max > n && max <= LIMIT);
        array[n] = n;
    }
    ck_assert_ptr_null(fs_grow(array, LIMIT, &max, LIMIT, sizeof(*array)));
    ck_assert_uint_eq(max, LIMIT);
    for (uint32_t n = 0; n < LIMIT; ++n) {
        ck_assert_uint_eq(array[n], n);
    }
    free(array);
}
END_TEST

/* What no memory can hold is refused before it is asked for. */
START_TEST(an_array_that_cannot_be)
{
    size_t max = 0;

    ck_assert_ptr_null(fs_grow(NULL, 0, &max, SIZE_MAX, SIZE_MAX / 2));
    ck_assert_uint_eq(max, 0);
}
END_TEST

/* ---- the least of many ---- */

enum { MAX_NUMBERS = 70 };

static void check_minima(const fs_minima_t *minima, const uint64_t *value,
                         uint32_t n, uint64_t limit)
{
    uint64_t least = UINT64_MAX;
    uint32_t at    = 0;

    for (uint32_t k = 0; k < n; ++k) {
        least = fs_u64_min(least, value[k]);
        if (value[k] <= limit) {
            at = fs_minima_find(minima, at, limit);
            ck_assert_uint_eq(at, k);
            ++at;
        }
    }
    ck_assert_uint_eq(fs_minima_least(minima), least);
    ck_assert_uint_eq(fs_minima_find(minima, at, limit), UINT32_MAX);
}

START_TEST(minima_are_up_to_date)
{
    uint64_t    value[MAX_NUMBERS];
    fs_arena_t  arena = {0};
    fs_minima_t minima;
    fs_rng_t    rng;

    fs_rng_init(&rng, (uint64_t)_i);
    ck_assert(fs_minima_init(&minima, (uint32_t)_i, &arena));
    memset(value, 0xff, sizeof(value));
    for (uint32_t k = 0; k < 500; ++k) {
        uint32_t at = (uint32_t)fs_rng_below(&rng, (uint64_t)_i);

        value[at] = fs_rng_below(&rng, 4) == 0 ? UINT64_MAX
                                               : fs_rng_below(&rng, 1000);
        fs_minima_set(&minima, at, value[at]);
        check_minima(&minima, value, (uint32_t)_i, fs_rng_below(&rng, 1000));
    }
    fs_arena_fini(&arena);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("base");
    TCase *tcase = tcase_create("base");

    tcase_add_loop_test(tcase, good_values, 0,
                        (int)(sizeof(good) / sizeof(good[0])));
    tcase_add_loop_test(tcase, bad_values, 0,
                        (int)(sizeof(bad) / sizeof(bad[0])));
    tcase_add_loop_test(tcase, json_is_written, 0, 3);
    tcase_add_test(tcase, an_array_grows_to_its_limit);
    tcase_add_test(tcase, an_array_that_cannot_be);
    tcase_add_loop_test(tcase, minima_are_up_to_date, 1, MAX_NUMBERS + 1);
    suite_add_tcase(suite, tcase);
    return fs_test_run(suite);
}
