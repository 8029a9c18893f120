/* SPDX-License-Identifier: BSD-3-Clause */
/* Entries of ranks: what users may type, what is drawn, and the bound. */
#include "sched/model/fs_arrival.h"

#include "fs_test_util.h"
#include "sched/model/fs_topo.h"

#include <string.h>

enum { N = 4, MANY = 1000, BOUND_NS = 1000000 };

static fs_arrival_t parse(const char *text)
{
    fs_arrival_t arrival = {0};

    ck_assert_msg(fs_arrival_parse(text, &arrival) == FS_OK, "%s", text);
    return arrival;
}

START_TEST(words)
{
    fs_arrival_t late = parse("late:12:0.5");

    ck_assert_int_eq(parse("uniform:0.3").kind, FS_ARRIVAL_UNIFORM);
    ck_assert_uint_eq(parse("uniform:0.3").share_milli, 300);
    ck_assert_uint_eq(parse("exp:100").share_milli, 100000);
    ck_assert_int_eq(parse("exp:0").kind, FS_ARRIVAL_EXP);
    ck_assert_int_eq(late.kind, FS_ARRIVAL_LATE);
    ck_assert_uint_eq(late.rank, 12);
    ck_assert_uint_eq(late.share_milli, 500);
}
END_TEST

static const char *const wrong[] = {
    "",           "uniform",     "uniform:",
    "uniform:-1", "uniform:1x",  "exp:100.001",
    "exp:0.1234", "exp:nan",     "late:0.5",
    "late:1",     "late::0.5",   "late:-1:0.5",
    "late:1:",    "late:1:0.5:", "late:99999999999:0.5",
    "sometimes:1"};
enum { N_WRONG = sizeof(wrong) / sizeof(wrong[0]) };

START_TEST(wrong_words)
{
    fs_arrival_t arrival = {.share_milli = 7};

    ck_assert_int_eq(fs_arrival_parse(wrong[_i], &arrival), FS_ERR_INVAL);
    ck_assert_uint_eq(arrival.share_milli, 7);
}
END_TEST

static void draw(const char *text, uint64_t seed, uint64_t call,
                 uint64_t *entry_ns)
{
    fs_arrival_t arrival = parse(text);

    fs_arrival_draw(&arrival, seed, call, MANY, BOUND_NS, entry_ns);
}

static uint64_t mean(const uint64_t *entry_ns)
{
    uint64_t sum = 0;

    for (int r = 0; r < MANY; ++r) {
        sum += entry_ns[r];
    }
    return sum / MANY;
}

/* The first is 0, the last and the mean are what the word says. */
START_TEST(shapes)
{
    uint64_t entry_ns[MANY];

    draw("uniform:0.4", 1, 0, entry_ns);
    ck_assert_uint_le(fs_arrival_last(entry_ns, MANY), 400000);
    ck_assert_uint_ge(fs_arrival_last(entry_ns, MANY), 390000);
    ck_assert(mean(entry_ns) > 190000 && mean(entry_ns) < 210000);
    draw("exp:0.4", 1, 0, entry_ns);
    ck_assert(mean(entry_ns) > 360000 && mean(entry_ns) < 440000);
    ck_assert_uint_ge(fs_arrival_last(entry_ns, MANY), 1600000);
    draw("late:7:2", 1, 0, entry_ns);
    ck_assert_uint_eq(entry_ns[7], 2 * BOUND_NS);
    ck_assert_uint_eq(mean(entry_ns), 2 * BOUND_NS / MANY);
    draw("uniform:0", 1, 0, entry_ns);
    ck_assert_uint_eq(fs_arrival_last(entry_ns, MANY), 0);
}
END_TEST

START_TEST(seeds)
{
    uint64_t one[MANY], other[MANY];

    draw("uniform:1", 1, 0, one);
    draw("uniform:1", 1, 0, other);
    ck_assert_int_eq(memcmp(one, other, sizeof(one)), 0);
    draw("uniform:1", 1, 1, other);
    ck_assert_int_ne(memcmp(one, other, sizeof(one)), 0);
    draw("uniform:1", 2, 0, other);
    ck_assert_int_ne(memcmp(one, other, sizeof(one)), 0);
}
END_TEST

/* Ranks 0, 1 on server 0, ranks 2, 3 on server 1; lanes of 1 byte per ns, as many as
 * ranks or fewer. */
static uint64_t bound_with(uint32_t max_lanes, const uint64_t entry_ns[N],
                           const uint64_t bytes[N * N])
{
    static const uint32_t server_of[N] = {0, 0, 1, 1};
    fs_topo_t            *topo;
    uint64_t              bound;

    ck_assert_int_eq(fs_topo_create(N, server_of, max_lanes, &topo), FS_OK);
    ck_assert_int_eq(
        fs_arrival_bound(topo, bytes, entry_ns, 8000000000, &bound), FS_OK);
    fs_topo_destroy(topo);
    return bound;
}

static uint64_t bound_of(const uint64_t entry_ns[N],
                         const uint64_t bytes[N * N])
{
    return bound_with(0, entry_ns, bytes);
}

/* Rank 3 is late by 1000 ns. Before it comes rank 2 can receive 600 bytes, over its own
 * lane, after that both have the rest. */
START_TEST(bounds)
{
    static const uint64_t late[N] = {0, 0, 0, 1000}, none[N] = {0};
    uint64_t              bytes[N * N] = {0};

    ck_assert_uint_eq(bound_of(late, bytes), 0);
    bytes[0 * N + 1] = 5000; /* inside */
    ck_assert_uint_eq(bound_of(late, bytes), 0);
    bytes[0 * N + 2] = 600;
    ck_assert_uint_eq(bound_of(late, bytes), 600);
    bytes[1 * N + 3] = 400;
    ck_assert_uint_eq(bound_of(none, bytes), 500);
    ck_assert_uint_eq(bound_of(late, bytes), 1200);
    bytes[0 * N + 2] = 6001;
    ck_assert_uint_eq(bound_of(late, bytes), 3701); /* (6001 + 400 + 1000) / 2 */
    bytes[3 * N + 0] = 6000;
    ck_assert_uint_eq(bound_of(late, bytes), 4000); /* the other way */
}
END_TEST

/* The rank of the only lane is late: another one of its server may use it. */
START_TEST(bound_of_a_shared_lane)
{
    static const uint64_t late[N] = {0, 0, 1000, 0};
    uint64_t              bytes[N * N] = {0};

    bytes[0 * N + 3] = 600;
    ck_assert_uint_eq(bound_with(0, late, bytes), 600);
    ck_assert_uint_eq(bound_with(1, late, bytes), 600);
    bytes[0 * N + 2] = 600;
    ck_assert_uint_eq(bound_with(0, late, bytes), 1300);
    ck_assert_uint_eq(bound_with(1, late, bytes), 1600);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("arrival");
    TCase *tcase = tcase_create("arrival");

    tcase_add_test(tcase, words);
    tcase_add_loop_test(tcase, wrong_words, 0, N_WRONG);
    tcase_add_test(tcase, shapes);
    tcase_add_test(tcase, seeds);
    tcase_add_test(tcase, bounds);
    tcase_add_test(tcase, bound_of_a_shared_lane);
    suite_add_tcase(suite, tcase);
    return fs_test_run(suite);
}
