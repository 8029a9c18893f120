/* SPDX-License-Identifier: BSD-3-Clause */
/* Schedules for several late ranks: proved by the checker, with as many rounds as
 * promised, and as programs. */
#include "fs_test_group.h"

#include <stdlib.h>
#include <string.h>

enum { FEW = 3 /* late ranks */ };

static fs_straggler_t *make(uint32_t n, const uint32_t *late, uint32_t n_late,
                            uint32_t n_pieces)
{
    fs_straggler_t *s = NULL;

    ck_assert(fs_straggler_create_stream(n, late, n_late, n_pieces, &s) ==
              FS_OK);
    ck_assert(s->kind == FS_STRAGGLER_STREAM && s->n_ranks == n);
    ck_assert(s->n_late == n_late && s->straggler == late[n_late - 1]);
    return s;
}

static uint32_t n_late_rounds(const fs_straggler_t *s)
{
    return s->n_rounds - s->n_early;
}

/* What every owner of chunks has to receive, and log n for the last sum. */
static void count_rounds(const fs_straggler_t *s)
{
    uint32_t n = s->n_ranks, m = n - s->n_late, q = s->n_pieces;
    uint32_t few = q * (n - 1) + fs_test_log2_up(n) + s->n_late - 1;

    ck_assert(s->n_early == q * (m - 1) && s->early_chunks == s->n_early);
    ck_assert(s->n_chunks == q * m && s->late_chunks == n_late_rounds(s));
    if (s->n_late <= FEW && n_late_rounds(s) > few) {
        ck_abort_msg("%u ranks, %u late, %u pieces: %u rounds", n, s->n_late, q,
                     n_late_rounds(s));
    }
}

static void prove(uint32_t n, const uint32_t *late, uint32_t n_late,
                  uint32_t n_pieces)
{
    fs_straggler_t *s        = make(n, late, n_late, n_pieces);
    char            why[200] = "";

    if (fs_straggler_check(s, why, sizeof(why)) != FS_OK) {
        ck_abort_msg("%u ranks, %u late, the last is %u, %u pieces: %s", n,
                     n_late, s->straggler, n_pieces, why);
    }
    count_rounds(s);
    fs_straggler_destroy(s);
}

/* In either order. */
START_TEST(every_pair)
{
    uint32_t n = (uint32_t)_i;

    for (uint32_t a = 0; a < n; ++a) {
        for (uint32_t b = 0; b < n; ++b) {
            const uint32_t late[] = {a, b};

            if (a != b) {
                prove(n, late, 2, 1);
                prove(n, late, 2, 2 + (a + b) % 3);
            }
        }
    }
}
END_TEST

static void draw_late(fs_rng_t *rng, uint32_t n, uint32_t n_late,
                      uint32_t *late)
{
    uint32_t ranks[FS_TEST_GROUP_MAX];

    for (uint32_t k = 0; k < n; ++k) {
        uint32_t i = (uint32_t)fs_rng_below(rng, k + 1);

        ranks[k] = ranks[i];
        ranks[i] = k;
    }
    memcpy(late, ranks, n_late * sizeof(late[0]));
}

/* Any n, up to half of all late. */
START_TEST(samples)
{
    uint32_t n = (uint32_t)_i, late[FS_TEST_GROUP_MAX];
    fs_rng_t rng;

    fs_rng_init(&rng, n);
    for (uint32_t n_late = 1; n_late <= n / 2; ++n_late) {
        draw_late(&rng, n, n_late, late);
        prove(n, late, n_late, 1 + n_late % 2);
    }
    for (int k = 0; k < 10; ++k) {
        draw_late(&rng, n, 2, late);
        prove(n, late, 2, k == 0 ? 4 : 1);
    }
}
END_TEST

START_TEST(many_ranks)
{
    const uint32_t late[] = {63, 0, 17};

    for (uint32_t n_late = 1; n_late <= FEW; ++n_late) {
        prove(64, late, n_late, 1);
    }
    prove(64, late, 2, 2);
    prove(FS_STRAGGLER_MAX_STREAM, late, 2, 1);
}
END_TEST

/* ---- the checker ---- */

/* Every message is needed, and is what it should be. */
START_TEST(every_message_counts)
{
    const uint32_t  late[] = {4, 1};
    fs_straggler_t *s      = make(7, late, 2, 2);

    for (size_t i = 0; i < s->n_msgs; ++i) {
        fs_straggler_msg_t saved = s->msgs[i];
        char               why[200];

        s->msgs[i].reduce = !saved.reduce;
        ck_assert_int_eq(fs_straggler_check(s, why, sizeof(why)), FS_ERR_INVAL);
        s->msgs[i]       = saved;
        s->msgs[i].chunk = (saved.chunk + 1) % (s->n_chunks - 1);
        ck_assert_int_eq(fs_straggler_check(s, why, sizeof(why)), FS_ERR_INVAL);
        s->msgs[i] = saved;
    }
    fs_straggler_destroy(s);
}
END_TEST

START_TEST(checker_knows_who_is_late)
{
    const uint32_t  late[] = {4, 1};
    fs_straggler_t *s      = make(7, late, 2, 1);

    s->late[0] = 3; /* takes part in the early rounds */
    fs_test_group_refuse(s, "needs rank 3, which is late");
    s->late[0] = 1;
    fs_test_group_refuse(s, "late ranks");
    s->late[0] = 9;
    fs_test_group_refuse(s, "late ranks");
    s->late[0]   = 4;
    s->straggler = 4;
    fs_test_group_refuse(s, "the straggler last");
    s->straggler = 1;
    s->n_late    = 0;
    fs_test_group_refuse(s, "late ranks");
    s->n_late   = 2;
    s->n_pieces = 2;
    fs_test_group_refuse(s, "5 chunks, but 2 for each of 5");
    fs_straggler_destroy(s);
}
END_TEST

/* Without the end of the early rounds nobody has a whole chunk. */
START_TEST(early_rounds_are_needed)
{
    const uint32_t  late[] = {4, 1};
    fs_straggler_t *s      = make(7, late, 2, 3);

    for (uint32_t r = 0; r < s->n_early; ++r) {
        fs_straggler_msg_t *msg   = &s->msgs[s->first[r]];
        fs_straggler_msg_t  saved = *msg;

        msg->chunk = (msg->chunk + 5) % s->n_chunks; /* the next piece */
        fs_test_group_refuse(s, "chunk");
        *msg = saved;
    }
    fs_straggler_destroy(s);
}
END_TEST

/* Where ranks are few and chunks long. Of 8 ranks the late rounds are 9 of a seventh,
 * or 31 of a quarter of that: 22 starts for 5 quarters. */
START_TEST(streams_if_that_pays)
{
    const uint64_t start = 1000, even = 7 * 22 * 4 * start / 5;

    ck_assert(fs_straggler_streams(8, even + 70, start));
    ck_assert(!fs_straggler_streams(8, even - 70, start));
    ck_assert(fs_straggler_streams(32, UINT64_MAX, start));
    ck_assert(!fs_straggler_streams(33, UINT64_MAX, start));
    ck_assert(!fs_straggler_streams(8, UINT64_MAX, UINT64_MAX));
    ck_assert(!fs_straggler_streams(1, UINT64_MAX, 0));
    ck_assert(!fs_straggler_streams(0, UINT64_MAX, 0));
    ck_assert(!fs_straggler_streams(8, 0, 0));
}
END_TEST

START_TEST(bad_arguments)
{
    static const struct {
        uint32_t n, late[2], n_late, n_pieces;
    } bad[] = {{8, {1, 8}, 2, 1}, {8, {1, 1}, 2, 1},  {8, {1, 2}, 0, 1},
               {3, {1, 2}, 2, 1}, {8, {1, 2}, 2, 0},  {8, {1, 2}, 2, 65},
               {0, {0, 0}, 1, 1}, {129, {0, 1}, 2, 1}};
    fs_straggler_t *s = NULL;

    for (size_t k = 0; k < sizeof(bad) / sizeof(bad[0]); ++k) {
        ck_assert_int_eq(fs_straggler_create_stream(bad[k].n, bad[k].late,
                                                    bad[k].n_late,
                                                    bad[k].n_pieces, &s),
                         FS_ERR_INVAL);
    }
    ck_assert_int_eq(fs_straggler_create(FS_STRAGGLER_STREAM,
                                         FS_STRAGGLER_MAX_STREAM + 1, 0, &s),
                     FS_ERR_INVAL);
    ck_assert_ptr_null(s);
}
END_TEST

/* ---- programs ---- */

static void take_schedule(fs_test_group_t *g, uint32_t n, fs_rng_t *rng)
{
    uint32_t late[FS_TEST_GROUP_MAX], n_late, n_pieces;

    n_late   = 1 + (uint32_t)fs_rng_below(rng, n / 2);
    n_pieces = 1 + (uint32_t)fs_rng_below(rng, 4);
    draw_late(rng, n, n_late, late);
    fs_straggler_destroy(g->schedule);
    g->schedule = make(n, late, n_late, n_pieces);
}

/* Of ranks and of servers. */
START_TEST(programs_are_proved)
{
    uint32_t n = (uint32_t)_i;
    fs_rng_t rng;

    fs_rng_init(&rng, n);
    for (uint32_t n_local = 1; n_local <= 3; ++n_local) {
        fs_test_group_t g;

        fs_test_group_init_tiers(&g, FS_STRAGGLER_RING, n, 0, n_local);
        for (int k = 0; k < 4; ++k) {
            take_schedule(&g, n, &rng);
            fs_test_group_plan(&g, fs_rng_below(&rng, 40 * n), 8, k % 2 == 0);
            fs_test_group_prove(&g);
        }
        fs_test_group_fini(&g);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("straggler_stream");
    TCase *tcase = tcase_create("straggler_stream");

    tcase_set_timeout(tcase, 120);
    tcase_add_loop_test(tcase, every_pair, 4, 17);
    tcase_add_loop_test(tcase, samples, 4, 34);
    tcase_add_test(tcase, many_ranks);
    tcase_add_test(tcase, every_message_counts);
    tcase_add_test(tcase, checker_knows_who_is_late);
    tcase_add_test(tcase, early_rounds_are_needed);
    tcase_add_test(tcase, streams_if_that_pays);
    tcase_add_test(tcase, bad_arguments);
    tcase_add_loop_test(tcase, programs_are_proved, 4, 12);
    suite_add_tcase(suite, tcase);
    return fs_test_run(suite);
}
