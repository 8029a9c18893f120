/* SPDX-License-Identifier: BSD-3-Clause */
/* Frames: nothing posted is lost or sent twice, and a frame is as long as what
 * was posted during the one before needs. */
#include "sched/papers/fs_frame.h"
#include "fs_test_util.h"

#include <stdlib.h>
#include <string.h>

#define LARGEST (UINT64_C(1) << 62)

static fs_frames_t *frames_of(size_t n_counts)
{
    fs_frames_t *frames = NULL;

    ck_assert_int_eq(fs_frames_create(n_counts, &frames), FS_OK);
    return frames;
}

START_TEST(nothing_is_posted)
{
    fs_frames_t *frames = frames_of(3);
    fs_frame_t   frame;

    ck_assert_int_eq(fs_frames_create(0, &frames), FS_ERR_INVAL);
    ck_assert_uint_eq(fs_frames_n_waiting(frames), 0);
    fs_frames_close(frames, UINT64_MAX, &frame);
    ck_assert_uint_eq(frame.n_ops, 0);
    ck_assert_uint_eq(frame.first_op, 0);
    for (int k = 0; k < 3; ++k) {
        ck_assert_uint_eq(frame.bytes[k], 0);
    }
    fs_frames_destroy(frames);
    fs_frames_destroy(NULL);
}
END_TEST

/* What comes while a frame is on the wire is in the next, not in this. */
START_TEST(late_comers_wait)
{
    static const uint64_t ops[][2] = {{1, 20}, {300, 4000}, {50000, 600000}};
    fs_frames_t          *frames   = frames_of(2);
    fs_frame_t            frame;

    ck_assert_int_eq(fs_frames_post(frames, ops[0]), FS_OK);
    ck_assert_int_eq(fs_frames_post(frames, ops[1]), FS_OK);
    fs_frames_close(frames, UINT64_MAX, &frame);
    ck_assert_int_eq(fs_frames_post(frames, ops[2]), FS_OK);
    ck_assert_uint_eq(frame.first_op, 0);
    ck_assert_uint_eq(frame.n_ops, 2);
    ck_assert_uint_eq(frame.bytes[0], 301);
    ck_assert_uint_eq(frame.bytes[1], 4020);
    ck_assert_uint_eq(fs_frames_n_waiting(frames), 1);
    fs_frames_close(frames, UINT64_MAX, &frame);
    ck_assert_uint_eq(frame.first_op, 2);
    ck_assert_uint_eq(frame.n_ops, 1);
    ck_assert_uint_eq(frame.bytes[0], 50000);
    ck_assert_uint_eq(frame.bytes[1], 600000);
    fs_frames_destroy(frames);
}
END_TEST

/* Another rank has posted less than this one: the rest waits on. */
START_TEST(oldest_go_first)
{
    fs_frames_t *frames = frames_of(1);
    fs_frame_t   frame;

    for (uint64_t k = 0; k < 5; ++k) {
        uint64_t bytes = UINT64_C(1) << k;

        ck_assert_int_eq(fs_frames_post(frames, &bytes), FS_OK);
    }
    fs_frames_close(frames, 2, &frame);
    ck_assert_uint_eq(frame.bytes[0], 1 + 2);
    ck_assert_uint_eq(fs_frames_n_waiting(frames), 3);
    fs_frames_close(frames, 0, &frame);
    ck_assert_uint_eq(frame.n_ops, 0);
    ck_assert_uint_eq(frame.first_op, 2);
    ck_assert_uint_eq(frame.bytes[0], 0);
    fs_frames_close(frames, 9, &frame);
    ck_assert_uint_eq(frame.n_ops, 3);
    ck_assert_uint_eq(frame.bytes[0], 4 + 8 + 16);
    fs_frames_destroy(frames);
}
END_TEST

/* Too much is refused, and what waited before is as it was. */
START_TEST(overflow_is_refused)
{
    const uint64_t all[2]  = {LARGEST - 1, 0};
    const uint64_t two[2]  = {1, 1};
    const uint64_t one[2]  = {0, 1};
    const uint64_t wrap[2] = {UINT64_MAX, 2};
    fs_frames_t   *frames  = frames_of(2);
    fs_frame_t     frame;

    ck_assert_int_eq(fs_frames_post(frames, wrap), FS_ERR_OVERFLOW);
    ck_assert_int_eq(fs_frames_post(frames, all), FS_OK);
    ck_assert_int_eq(fs_frames_post(frames, two), FS_ERR_OVERFLOW);
    ck_assert_int_eq(fs_frames_post(frames, wrap), FS_ERR_OVERFLOW);
    ck_assert_uint_eq(fs_frames_n_waiting(frames), 1);
    ck_assert_int_eq(fs_frames_post(frames, one), FS_OK);
    ck_assert_int_eq(fs_frames_post(frames, one), FS_ERR_OVERFLOW);
    fs_frames_close(frames, UINT64_MAX, &frame);
    ck_assert_uint_eq(frame.n_ops, 2);
    ck_assert_uint_eq(frame.bytes[0], LARGEST - 1);
    ck_assert_uint_eq(frame.bytes[1], 1);
    ck_assert_int_eq(fs_frames_post(frames, all), FS_OK); /* room again */
    fs_frames_destroy(frames);
}
END_TEST

/* ---- length ---- */

/* Two servers of two; everything from rank 0 to rank 2. */
START_TEST(length_by_hand)
{
    uint64_t       bytes[16]   = {0}, length;
    const uint32_t server_of[] = {0, 0, 1, 1};
    fs_topo_t     *topo;

    ck_assert_int_eq(fs_topo_create(4, server_of, 0, &topo), FS_OK);
    ck_assert_int_eq(fs_frame_length(topo, bytes, true, &length), FS_OK);
    ck_assert_uint_eq(length, 1);
    ck_assert_int_eq(fs_frame_length(topo, bytes, false, &length), FS_OK);
    ck_assert_uint_eq(length, 1);
    bytes[1] = 77; /* inside a server: free */
    ck_assert_int_eq(fs_frame_length(topo, bytes, false, &length), FS_OK);
    ck_assert_uint_eq(length, 1);
    bytes[2] = 9;
    ck_assert_int_eq(fs_frame_length(topo, bytes, true, &length), FS_OK);
    ck_assert_uint_eq(length, 5);
    ck_assert_int_eq(fs_frame_length(topo, bytes, false, &length), FS_OK);
    ck_assert_uint_eq(length, 9);
    bytes[3] = LARGEST;
    ck_assert_int_eq(fs_frame_length(topo, bytes, false, &length),
                     FS_ERR_OVERFLOW);
    ck_assert_uint_eq(length, 9);
    fs_topo_destroy(topo);
}
END_TEST

/* ---- a system in time: arrivals, frames, departures ---- */

typedef struct history {
    fs_test_case_t tc;
    fs_frames_t   *frames;
    size_t         cells;
    uint64_t      *since; /* [cells] posted since the last boundary */
    uint64_t      *all;   /* [cells] posted since the beginning */
    uint64_t      *gone;  /* [cells] in frames since the beginning */
    uint64_t       n_posted;
    uint64_t       n_gone;
} history_t;

static void history_init(history_t *h, uint64_t seed)
{
    memset(h, 0, sizeof(*h));
    fs_test_case_init(&h->tc, seed);
    h->cells  = (size_t)h->tc.n_ranks * h->tc.n_ranks;
    h->frames = frames_of(h->cells);
    h->since  = fs_test_alloc(3 * h->cells, sizeof(*h->since));
    h->all    = h->since + h->cells;
    h->gone   = h->all + h->cells;
}

static void history_fini(history_t *h)
{
    fs_frames_destroy(h->frames);
    fs_test_case_fini(&h->tc);
    free(h->since);
}

static void arrive(history_t *h, uint64_t n)
{
    while (n-- > 0) {
        fs_test_case_redraw(&h->tc);
        ck_assert_int_eq(fs_frames_post(h->frames, h->tc.counts), FS_OK);
        for (size_t k = 0; k < h->cells; ++k) {
            h->since[k] += h->tc.counts[k];
            h->all[k] += h->tc.counts[k];
        }
        ++h->n_posted;
    }
}

static void depart(history_t *h, const fs_frame_t *frame)
{
    ck_assert_uint_eq(frame->first_op, h->n_gone);
    h->n_gone += frame->n_ops;
    for (size_t k = 0; k < h->cells; ++k) {
        h->gone[k] += frame->bytes[k];
    }
}

/* DHBvN eq. 21: the backlog at a boundary is what came since the last one. And
 * eq. 26: the frame lasts as long as the busiest line of it. */
START_TEST(prop_backlog_is_one_frame)
{
    history_t  h;
    fs_frame_t frame;

    history_init(&h, (uint64_t)_i);
    for (int k = 0; k < 20; ++k) {
        uint64_t    n = fs_rng_below(&h.tc.rng, 6), with, without;
        fs_bounds_t bounds;

        memset(h.since, 0, h.cells * sizeof(*h.since));
        arrive(&h, n);
        fs_frames_close(h.frames, UINT64_MAX, &frame);
        ck_assert_uint_eq(frame.n_ops, n);
        ck_assert_int_eq(
            memcmp(frame.bytes, h.since, h.cells * sizeof(*h.since)), 0);
        depart(&h, &frame);
        ck_assert_int_eq(fs_bounds(h.tc.topo, h.since, &bounds), FS_OK);
        ck_assert_int_eq(fs_frame_length(h.tc.topo, frame.bytes, true, &with),
                         FS_OK);
        ck_assert_int_eq(
            fs_frame_length(h.tc.topo, frame.bytes, false, &without), FS_OK);
        ck_assert_uint_eq(with, fs_u64_max(1, bounds.server));
        ck_assert_uint_eq(without, fs_u64_max(1, bounds.rank));
    }
    ck_assert_int_eq(memcmp(h.all, h.gone, h.cells * sizeof(*h.all)), 0);
    history_fini(&h);
}
END_TEST

/* Frames that may take only some of what waits: bytes are conserved, order is
 * kept. */
START_TEST(prop_nothing_is_lost)
{
    history_t  h;
    fs_frame_t frame;

    history_init(&h, 1000 + (uint64_t)_i);
    for (int k = 0; k < 60; ++k) {
        uint64_t max = fs_rng_below(&h.tc.rng, 8), waiting;

        arrive(&h, fs_rng_below(&h.tc.rng, 8));
        waiting = fs_frames_n_waiting(h.frames);
        ck_assert_uint_eq(waiting, h.n_posted - h.n_gone);
        fs_frames_close(h.frames, max, &frame);
        ck_assert_uint_eq(frame.n_ops, fs_u64_min(max, waiting));
        depart(&h, &frame);
    }
    fs_frames_close(h.frames, UINT64_MAX, &frame);
    depart(&h, &frame);
    ck_assert_uint_eq(h.n_gone, h.n_posted);
    ck_assert_int_eq(memcmp(h.all, h.gone, h.cells * sizeof(*h.all)), 0);
    history_fini(&h);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("frame");
    TCase *tcase = tcase_create("frame");

    tcase_add_test(tcase, nothing_is_posted);
    tcase_add_test(tcase, late_comers_wait);
    tcase_add_test(tcase, oldest_go_first);
    tcase_add_test(tcase, overflow_is_refused);
    tcase_add_test(tcase, length_by_hand);
    tcase_add_loop_test(tcase, prop_backlog_is_one_frame, 0, 100);
    tcase_add_loop_test(tcase, prop_nothing_is_lost, 0, 100);
    suite_add_tcase(suite, tcase);
    return fs_test_run(suite);
}
