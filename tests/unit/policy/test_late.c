/* SPDX-License-Identifier: BSD-3-Clause */
/* Who is late to allreduces, and what serves them: whole runs of calls, with times made
 * by a model, as all ranks see them on clocks of their own. */
#include "policy/fs_late.h"
#include "base/fs_arith.h"
#include "fs_test_util.h"

#include <string.h>

enum { N = 8, BYTES = 8 << 20 };
enum { RING_NS = 14000, STRAGGLAR_NS = 9000, STREAM_NS = 8000 };

/* What calls take after the last entry. */
typedef struct world {
    fs_late_t late[N]; /* each rank's */
    uint64_t  delay_ns[N];
    uint64_t  ns[FS_LATE_CANDIDATES];
    uint64_t  sooner_ns[N]; /* that a rank leaves a ring */
    uint64_t  between_ns;   /* calls */
    uint64_t  now_ns;       /* what no rank knows */
    uint64_t  clock_ns[N];  /* what each has instead: so much ahead, */
    int64_t   ppm[N];       /* and so much faster */
    unsigned  n_of[FS_LATE_CANDIDATES]; /* calls so far */
    uint32_t  straggler;                /* of the last StragglAR */
} world_t;

static void begin(world_t *w, bool compares, bool looks)
{
    const fs_late_setup_t setup = {
        .n_servers = N, .compares = compares, .looks = looks};

    *w            = (world_t){.ns = {[FS_LATE_NATIVE]    = RING_NS,
                                     [FS_LATE_RING]      = RING_NS,
                                     [FS_LATE_STRAGGLAR] = STRAGGLAR_NS,
                                     [FS_LATE_STREAM]    = STREAM_NS}};
    w->between_ns = RING_NS;
    w->now_ns     = 1;
    for (uint32_t r = 0; r < N; ++r) {
        w->clock_ns[r] = 1000003 * (uint64_t)(r * 5 % N);
        fs_late_init(&w->late[r], &setup);
    }
}

static fs_late_candidate_t candidate_of(const fs_late_choice_t *choice)
{
    return choice->alg == FS_ALG_NATIVE ? FS_LATE_NATIVE
           : choice->alg == FS_ALG_RING ? FS_LATE_RING
           : choice->streams            ? FS_LATE_STREAM
                                        : FS_LATE_STRAGGLAR;
}

static uint64_t last_entry(const world_t *w)
{
    uint64_t last = 0;

    for (uint32_t r = 0; r < N; ++r) {
        last = w->delay_ns[r] > last ? w->delay_ns[r] : last;
    }
    return last;
}

/* StragglAR helps only if the last one is the one it is for. */
static uint64_t time_of(const world_t *w, fs_late_candidate_t c)
{
    bool right = w->delay_ns[w->straggler] == last_entry(w) &&
                 last_entry(w) > 0;

    bool late = c == FS_LATE_STRAGGLAR || c == FS_LATE_STREAM;

    return late && !right ? RING_NS * 5 / 4 : w->ns[c];
}

/* By the rank's clock. */
static uint64_t shown(const world_t *w, uint32_t r, uint64_t now_ns)
{
    return w->clock_ns[r] + now_ns +
           (uint64_t)((int64_t)now_ns / 1000000 * w->ppm[r]);
}

static void combine(const fs_late_epoch_t *epochs, uint64_t now_ns,
                    const world_t *w, fs_late_found_t *found)
{
    uint64_t length_ns = 0, last_ns = UINT64_MAX, second_ns = UINT64_MAX;

    *found = (fs_late_found_t){.least_ns = UINT64_MAX};
    for (uint32_t r = 0; r < N; ++r) {
        length_ns =
            fs_u64_max(length_ns, shown(w, r, now_ns) - epochs[r].began_ns);
        found->least_ns = fs_u64_min(found->least_ns, epochs[r].spent_ns);
    }
    for (uint32_t r = 0; r < N; ++r) {
        uint64_t ahead_ns =
            fs_late_ahead(&epochs[r], shown(w, r, now_ns), length_ns);

        if (ahead_ns < last_ns) {
            second_ns   = last_ns;
            last_ns     = ahead_ns;
            found->rank = r;
        } else {
            second_ns = fs_u64_min(second_ns, ahead_ns);
        }
    }
    found->lead_ns = second_ns - last_ns;
}

static void conclude(world_t *w, uint64_t bytes, const fs_late_epoch_t *epochs)
{
    fs_late_found_t found = {0};

    if (epochs[0].began_ns > 0) {
        combine(epochs, w->now_ns, w, &found);
    }
    for (uint32_t r = 0; r < N; ++r) {
        found.now_ns = shown(w, r, w->now_ns);
        fs_late_conclude(&w->late[r], bytes, &found);
    }
}

/* All of it, from the first entry on. */
static uint64_t left_at(const world_t *w, uint32_t r, fs_late_candidate_t c)
{
    return w->now_ns + last_entry(w) + time_of(w, c) -
           (c == FS_LATE_RING ? w->sooner_ns[r] : 0);
}

/* Who serves it; the same on all ranks. */
static fs_late_candidate_t call(world_t *w, uint64_t bytes)
{
    fs_late_choice_t    first = fs_late_choose(&w->late[0], bytes);
    fs_late_candidate_t c     = candidate_of(&first);
    fs_late_epoch_t     epochs[N];
    unsigned            n_over = 0;

    w->straggler = first.straggler < N ? first.straggler : 0;
    for (uint32_t r = 0; r < N; ++r) {
        fs_late_choice_t choice = fs_late_choose(&w->late[r], bytes);

        ck_assert_int_eq(choice.alg, first.alg);
        ck_assert_uint_eq(choice.straggler, first.straggler);
        ck_assert(choice.streams == first.streams);
        ck_assert_ptr_nonnull(choice.reason);
        n_over += fs_late_add(&w->late[r], bytes,
                              shown(w, r, w->now_ns + w->delay_ns[r]),
                              shown(w, r, left_at(w, r, c)), &epochs[r]);
    }
    w->now_ns += last_entry(w) + time_of(w, c);
    ck_assert(n_over == 0 || n_over == N);
    if (n_over == N) {
        conclude(w, bytes, epochs);
    }
    w->now_ns += w->between_ns;
    ++w->n_of[c];
    return c;
}

/* The last of n calls. */
static fs_late_candidate_t calls(world_t *w, unsigned n)
{
    fs_late_candidate_t c = FS_LATE_NATIVE;

    memset(w->n_of, 0, sizeof(w->n_of));
    for (unsigned k = 0; k < n; ++k) {
        c = call(w, BYTES);
    }
    return c;
}

/* The MPI's own is as good as the ring: it serves all calls but a few. */
START_TEST(nobody_late_is_the_mpis)
{
    world_t w;

    begin(&w, true, true);
    ck_assert_int_eq(calls(&w, 500), FS_LATE_NATIVE);
    ck_assert_uint_eq(w.n_of[FS_LATE_STRAGGLAR], 0);
    ck_assert_uint_le(w.n_of[FS_LATE_RING], 10);
}
END_TEST

START_TEST(a_faster_ring_serves)
{
    world_t w;

    begin(&w, true, true);
    w.ns[FS_LATE_NATIVE] = 2 * RING_NS;
    ck_assert_int_eq(calls(&w, 100), FS_LATE_RING);
    w.ns[FS_LATE_RING] = RING_NS * 99 / 100; /* and a hundredth is not enough */
    begin(&w, true, true);
    w.ns[FS_LATE_RING] = RING_NS * 99 / 100;
    ck_assert_int_eq(calls(&w, 100), FS_LATE_NATIVE);
}
END_TEST

/* Each rank, found within the first epoch and a trial. */
START_TEST(late_rank_is_found)
{
    world_t w;

    begin(&w, true, true);
    w.delay_ns[_i] = RING_NS / 2;
    ck_assert_int_eq(calls(&w, 17 + 5 + 5 + 1), FS_LATE_STRAGGLAR);
    ck_assert_uint_eq(w.straggler, (uint32_t)_i);
    ck_assert_int_eq(calls(&w, 300), FS_LATE_STRAGGLAR);
    ck_assert_uint_ge(w.n_of[FS_LATE_STRAGGLAR], 290);
}
END_TEST

/* Tried after StragglAR, and the faster one serves; for another rank as well. */
START_TEST(finer_pieces)
{
    static const struct {
        bool                is_candidate;
        uint64_t            stragglar_ns, stream_ns;
        fs_late_candidate_t serves;
    } want[] = {{true, 9000, 8000, FS_LATE_STREAM},
                {true, 9000, 9500, FS_LATE_STRAGGLAR},
                {true, 15000, 8000, FS_LATE_STREAM}, /* after a pause */
                {true, 15000, 15000, FS_LATE_NATIVE},
                {false, 9000, 8000, FS_LATE_STRAGGLAR}};
    world_t w;

    begin(&w, true, true);
    for (uint32_t r = 0; r < N; ++r) {
        w.late[r].setup.streams = want[_i].is_candidate;
    }
    w.ns[FS_LATE_STRAGGLAR] = want[_i].stragglar_ns;
    w.ns[FS_LATE_STREAM]    = want[_i].stream_ns;
    w.delay_ns[3]           = RING_NS / 2;
    ck_assert_int_eq(calls(&w, 200), want[_i].serves);
    ck_assert_uint_ge(w.n_of[want[_i].serves], 140);
    w.delay_ns[3]        = 0;
    w.delay_ns[4]        = RING_NS / 2;
    w.ns[FS_LATE_STREAM] = 7000;
    ck_assert_int_eq(calls(&w, 200), want[_i].is_candidate ? FS_LATE_STREAM
                                                           : FS_LATE_STRAGGLAR);
    ck_assert_uint_eq(w.straggler, 4);
    w.delay_ns[4] = 0;
    (void)calls(&w, 60);
    (void)calls(&w, 100);
    ck_assert_uint_eq(w.n_of[FS_LATE_STRAGGLAR] + w.n_of[FS_LATE_STREAM], 0);
}
END_TEST

/* Ranks before the late one leave a ring sooner. Measured at 100 Mbit/s, 1 MiB, the late
 * one by half of a ring's time, from its entry on: 97 to 149 ms. */
START_TEST(late_rank_is_found_in_a_ring)
{
    enum { LATE_NS = 73400000, FIRST_NS = 97000000, LAST_NS = 149000000 };
    world_t  w;
    uint32_t late = (uint32_t)_i;

    begin(&w, false, true);
    w.ns[FS_LATE_RING]      = LAST_NS;
    w.ns[FS_LATE_STRAGGLAR] = 110000000;
    w.delay_ns[late]        = LATE_NS;
    for (uint32_t k = 0; k < N; ++k) {
        w.sooner_ns[(late + k) % N] = (uint64_t)(LAST_NS - FIRST_NS) * k /
                                      (N - 1);
    }
    ck_assert_int_eq(calls(&w, 17), FS_LATE_RING);
    ck_assert_int_eq(calls(&w, 20), FS_LATE_STRAGGLAR);
    ck_assert_uint_eq(w.straggler, late);
    w.delay_ns[late] = 0; /* nor does who leaves first seem to be late */
    (void)calls(&w, 40);
    ck_assert_int_eq(calls(&w, 200), FS_LATE_RING);
    ck_assert_uint_eq(w.n_of[FS_LATE_STRAGGLAR], 0);
}
END_TEST

/* Seconds between calls, on clocks that go apart by more than the delay in each. */
START_TEST(clocks_may_go_apart)
{
    world_t w;

    begin(&w, true, true);
    w.between_ns = 3000000000;
    for (uint32_t r = 0; r < N; ++r) {
        w.ppm[r] = (int64_t)r * 40 - 100;
    }
    (void)calls(&w, 200);
    ck_assert_uint_eq(w.n_of[FS_LATE_STRAGGLAR], 0);
    w.delay_ns[_i] = RING_NS / 2;
    ck_assert_int_eq(calls(&w, 100), FS_LATE_STRAGGLAR);
    ck_assert_uint_eq(w.straggler, (uint32_t)_i);
}
END_TEST

/* The late one changes, then there is none. */
START_TEST(late_rank_changes)
{
    world_t w;

    begin(&w, true, true);
    w.delay_ns[3] = RING_NS;
    ck_assert_int_eq(calls(&w, 100), FS_LATE_STRAGGLAR);
    w.delay_ns[3] = 0;
    w.delay_ns[5] = RING_NS;
    ck_assert_int_eq(calls(&w, 100), FS_LATE_STRAGGLAR);
    ck_assert_uint_eq(w.straggler, 5);
    w.delay_ns[5] = 0;
    ck_assert_int_eq(calls(&w, 100), FS_LATE_NATIVE);
    ck_assert_uint_le(w.n_of[FS_LATE_STRAGGLAR], 40);
}
END_TEST

/* Two late ranks, or one that is hardly late: not for StragglAR. */
START_TEST(lead_must_be_large)
{
    world_t w;

    begin(&w, true, true);
    w.delay_ns[1] = RING_NS;
    w.delay_ns[2] = RING_NS - 100;
    (void)calls(&w, 200);
    ck_assert_uint_eq(w.n_of[FS_LATE_STRAGGLAR], 0);
    begin(&w, true, true);
    w.delay_ns[1] = RING_NS / 5; /* critical: 3/14 */
    (void)calls(&w, 200);
    ck_assert_uint_eq(w.n_of[FS_LATE_STRAGGLAR], 0);
    w.delay_ns[1] = RING_NS / 4;
    ck_assert_int_eq(calls(&w, 200), FS_LATE_STRAGGLAR);
    begin(&w, false, true); /* no trial would tell */
    w.delay_ns[1] = RING_NS / 4;
    (void)calls(&w, 200);
    ck_assert_uint_eq(w.n_of[FS_LATE_STRAGGLAR], 0);
}
END_TEST

/* Where it does not help it is tried more and more rarely. */
START_TEST(failures_are_rare)
{
    world_t w;

    begin(&w, true, true);
    w.ns[FS_LATE_STRAGGLAR] = 2 * RING_NS;
    for (unsigned k = 0; k < 40; ++k) { /* somebody else each epoch */
        memset(w.delay_ns, 0, sizeof(w.delay_ns));
        w.delay_ns[k % N] = RING_NS;
        for (unsigned j = 0; j < 16; ++j) {
            (void)call(&w, BYTES);
        }
    }
    ck_assert_uint_ge(w.n_of[FS_LATE_STRAGGLAR], 4);
    ck_assert_uint_le(w.n_of[FS_LATE_STRAGGLAR], 40);
}
END_TEST

START_TEST(without_comparison)
{
    world_t w;

    begin(&w, false, true);
    ck_assert_int_eq(calls(&w, 50), FS_LATE_RING);
    w.delay_ns[7] = RING_NS;
    ck_assert_int_eq(calls(&w, 50), FS_LATE_STRAGGLAR);
    ck_assert_uint_eq(w.n_of[FS_LATE_NATIVE], 0);
    begin(&w, false, false);
    w.delay_ns[7] = RING_NS;
    ck_assert_int_eq(calls(&w, 50), FS_LATE_RING);
}
END_TEST

/* A class of its own for each size, up to the largest. */
START_TEST(sizes_are_apart)
{
    world_t w;

    begin(&w, true, true);
    w.delay_ns[2] = RING_NS;
    ck_assert_int_eq(calls(&w, 50), FS_LATE_STRAGGLAR);
    ck_assert_int_eq(call(&w, 1), FS_LATE_NATIVE);
    ck_assert_int_eq(call(&w, UINT64_MAX), FS_LATE_NATIVE);
    ck_assert_int_eq(call(&w, BYTES + 1), FS_LATE_STRAGGLAR);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("late");
    TCase *tcase = tcase_create("late");

    tcase_add_test(tcase, nobody_late_is_the_mpis);
    tcase_add_test(tcase, a_faster_ring_serves);
    tcase_add_loop_test(tcase, late_rank_is_found, 0, N);
    tcase_add_loop_test(tcase, finer_pieces, 0, 5);
    tcase_add_loop_test(tcase, late_rank_is_found_in_a_ring, 0, N);
    tcase_add_loop_test(tcase, clocks_may_go_apart, 0, N);
    tcase_add_test(tcase, late_rank_changes);
    tcase_add_test(tcase, lead_must_be_large);
    tcase_add_test(tcase, failures_are_rare);
    tcase_add_test(tcase, without_comparison);
    tcase_add_test(tcase, sizes_are_apart);
    suite_add_tcase(suite, tcase);
    return fs_test_run(suite);
}
