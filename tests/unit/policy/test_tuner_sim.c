/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tuner in worlds that are made up: what each candidate takes follows from
 * bytes and skew by laws drawn at random, the model is wrong by a factor for each
 * candidate, and times are noisy, some of them very. Seeds are fixed.
 */
#include "policy/fs_tuner.h"
#include "sched/model/fs_rng.h"
#include "fs_test_util.h"

#include <stdio.h>
#include <string.h>

enum {
    N_WORLDS      = 60,
    LOG2_LEAST    = 8,
    LOG2_MOST     = 30,
    N_SIZES       = LOG2_MOST - LOG2_LEAST,
    N_CALLS       = 40,
    N_COLD        = 2, /* first calls of a class */
    N_COLD_NATIVE = 2, /* which set up the MPI's connections, */
    COLD          = 3, /* and take so many times as long */
    SLOWEST_MILLI = 4000,
    N_LANES       = 4
};

/* Of a candidate: start ns, and ns per 1024 bytes of a lane, of them so many
 * thousandths for each unit of MTM. */
typedef struct law {
    uint64_t start, rate, skew_milli, model_milli;
} law_t;

/* What makes times differ from the laws. */
typedef struct trouble {
    uint64_t noise_milli; /* at most */
    /* Calls in a thousand are slow, from 1.5 to so many times; in thousandths. */
    uint64_t slow_milli, slowest_milli;
    unsigned n_cold, n_cold_native; /* first calls in a class */
    uint64_t
        plan_milli; /* what the first call of a candidate with plans takes more */
} trouble_t;

typedef struct world {
    fs_rng_t  rng;
    law_t     laws[FS_N_CANDIDATES];
    trouble_t trouble;
} world_t;

static uint64_t between(fs_rng_t *rng, uint64_t least, uint64_t most)
{
    return least + fs_rng_below(rng, most - least + 1);
}

/* wrong: the model's factors are 1/2 and more apart by this, in thousandths. */
static world_t make_world(uint64_t seed, uint64_t wrong_milli)
{
    world_t w;

    memset(&w, 0, sizeof(w));
    fs_rng_init(&w.rng, seed);
    w.trouble.slowest_milli = SLOWEST_MILLI;
    for (unsigned c = 0; c < FS_N_CANDIDATES; ++c) {
        w.laws[c] =
            (law_t){.start       = between(&w.rng, 20000, 400000),
                    .rate        = between(&w.rng, 80000, 240000),
                    .skew_milli  = c == FS_CANDIDATE_NATIVE ? 800 : 50,
                    .model_milli = between(&w.rng, 1000, 1000 + wrong_milli)};
    }
    return w;
}

/* ns */
static uint64_t truth(const world_t *w, unsigned c, uint64_t bytes,
                      uint32_t mtm)
{
    const law_t *law = &w->laws[c];

    return law->start + bytes / N_LANES / 1024 * law->rate *
                            (1000 + (mtm - 1) * law->skew_milli) / 1000;
}

static bool has_plans(unsigned c)
{
    return c == FS_CANDIDATE_STAGED || c == FS_CANDIDATE_COARSE ||
           c == FS_CANDIDATE_PIPE2D;
}

static uint64_t measured(world_t *w, unsigned c, uint64_t bytes, uint32_t mtm)
{
    uint64_t ns = truth(w, c, bytes, mtm);

    if (fs_rng_below(&w->rng, 1000) < w->trouble.slow_milli) {
        ns = ns * between(&w->rng, 1500, w->trouble.slowest_milli) / 1000;
    }
    return ns * between(&w->rng, 1000, 1000 + w->trouble.noise_milli) / 1000;
}

static fs_tuner_call_t describe(const world_t *w, uint64_t bytes, uint32_t mtm)
{
    fs_tuner_call_t call = {
        .of_class = fs_tuner_class(bytes, 1000 * (uint64_t)mtm, 1000),
        .bound    = bytes / N_LANES};

    for (unsigned c = 0; c < FS_N_CANDIDATES; ++c) {
        call.estimate[c] = truth(w, c, bytes, mtm) * w->laws[c].model_milli /
                           1000 / 7;
    }
    return call;
}

static uint64_t best_of(const world_t *w, uint64_t bytes, uint32_t mtm)
{
    uint64_t best = UINT64_MAX;

    for (unsigned c = 0; c < FS_N_CANDIDATES; ++c) {
        uint64_t ns = truth(w, c, bytes, mtm);

        best = ns < best ? ns : best;
    }
    return best;
}

typedef struct score {
    unsigned n_classes, n_good; /* settled within 5 % of the best */
    unsigned n_probes, n_far;   /* far: more than twice the best */
    unsigned n_far_native;      /* the MPI's own, which is not in n_far */
    uint64_t took, could;       /* all calls, and the best for each */
} score_t;

/* A class in a world, from its first call on. */
static void try_class(world_t *w, fs_tuner_t *tuner, uint64_t bytes,
                      uint32_t mtm, unsigned n_calls, score_t *score)
{
    fs_tuner_question_t question              = {.reason = FS_TUNER_NONE};
    uint64_t            best                  = best_of(w, bytes, mtm);
    unsigned            n_of[FS_N_CANDIDATES] = {0};

    for (unsigned k = 0; k < n_calls; ++k) {
        fs_tuner_call_t call = describe(w, bytes, mtm);
        uint64_t        ns;

        question = fs_tuner_next(tuner, &call);
        ns       = measured(w, question.candidate, bytes, mtm);
        if (n_of[question.candidate] == 0 && has_plans(question.candidate)) {
            ns += ns * w->trouble.plan_milli / 1000;
        }
        if (n_of[question.candidate]++ <
            (question.candidate == FS_CANDIDATE_NATIVE
                 ? w->trouble.n_cold_native
                 : w->trouble.n_cold)) {
            ns *= COLD;
        }
        fs_tuner_update(tuner, &question, ns);
        score->n_probes += question.reason == FS_TUNER_PROBE;
        if (question.reason == FS_TUNER_PROBE &&
            truth(w, question.candidate, bytes, mtm) > 2 * best) {
            ++*(question.candidate == FS_CANDIDATE_NATIVE ? &score->n_far_native
                                                          : &score->n_far);
        }
        if (k == FS_TUNER_EXPLORE_CALLS) {
            ck_assert_int_eq(question.reason, FS_TUNER_FOUND);
        }
        score->took += ns / 1000;
        score->could += best / 1000;
    }
    ++score->n_classes;
    score->n_good +=
        truth(w, fs_tuner_find(tuner, question.of_class)->choice, bytes, mtm) *
            100 <=
        best * 105;
}

/* Sizes in an order that neighbours do not help, or as they come. */
static score_t try_noisy(uint64_t seed, uint64_t wrong_milli, unsigned stride,
                         uint64_t noise_milli, uint64_t slow_milli)
{
    score_t score = {0};

    for (uint64_t s = 0; s < N_WORLDS; ++s) {
        world_t    w     = make_world(seed + s, wrong_milli);
        fs_tuner_t tuner = {.n_warm_ups = FS_TUNER_WARM_UPS};

        w.trouble.noise_milli = noise_milli;
        w.trouble.slow_milli  = slow_milli;
        for (uint32_t mtm = 1; mtm <= 8; mtm *= 2) {
            for (unsigned k = 0; k < N_SIZES; ++k) {
                try_class(&w, &tuner,
                          UINT64_C(1) << (LOG2_LEAST + k * stride % N_SIZES),
                          mtm, N_CALLS, &score);
            }
        }
    }
    return score;
}

/* So many calls of each size. */
static score_t try_long(uint64_t seed, unsigned n_calls, trouble_t trouble)
{
    score_t score = {0};

    for (uint64_t s = 0; s < N_WORLDS; ++s) {
        world_t    w     = make_world(seed + s, 400);
        fs_tuner_t tuner = {.n_warm_ups = FS_TUNER_WARM_UPS};

        w.trouble = trouble;
        for (unsigned k = 0; k < N_SIZES; ++k) {
            try_class(&w, &tuner, UINT64_C(1) << (LOG2_LEAST + k), 1, n_calls,
                      &score);
        }
    }
    return score;
}

static score_t try_worlds(uint64_t seed, uint64_t wrong_milli, unsigned stride)
{
    return try_noisy(seed, wrong_milli, stride, 30, 30);
}

static void say(const char *what, const score_t *s)
{
    printf("%s: %u classes, %.2f%% within 5 %% of the best, %.2f probes each, "
           "%u of these beyond 2x; all calls took %.3f of what they could\n",
           what, s->n_classes, 100.0 * s->n_good / s->n_classes,
           (double)s->n_probes / s->n_classes, s->n_far,
           (double)s->took / (double)s->could);
}

/* ---- settles soon, and on what is good ---- */

START_TEST(finds_the_best)
{
    score_t score = try_worlds(1, 400, 1);

    say("model wrong by 1.4", &score);
    ck_assert_uint_ge(score.n_good * 100, score.n_classes * 95);
    ck_assert_uint_le(score.n_probes, score.n_classes * 6);
}
END_TEST

START_TEST(finds_the_best_in_any_order)
{
    score_t score = try_worlds(1000, 400, 9);

    say("sizes in disorder", &score);
    ck_assert_uint_ge(score.n_good * 100, score.n_classes * 95);
}
END_TEST

START_TEST(finds_the_best_in_noise)
{
    score_t score = try_noisy(1500, 400, 1, 100, 60);

    say("10 % of noise, 6 % slow calls", &score);
    ck_assert_uint_ge(score.n_good * 100, score.n_classes * 95);
}
END_TEST

/* What the first calls said is looked at again. */
START_TEST(finds_the_best_after_cold_calls)
{
    score_t score = try_long(1700, 10 * N_CALLS,
                             (trouble_t){.n_cold        = N_COLD,
                                         .noise_milli   = 30,
                                         .slow_milli    = 30,
                                         .slowest_milli = SLOWEST_MILLI});

    say("cold calls", &score);
    ck_assert_uint_ge(score.n_good * 100, score.n_classes * 95);
}
END_TEST

/* Plans are made once, for all calls alike. */
START_TEST(finds_the_best_that_has_plans)
{
    score_t score = try_long(1600, N_CALLS,
                             (trouble_t){.noise_milli   = 30,
                                         .slow_milli    = 30,
                                         .slowest_milli = SLOWEST_MILLI,
                                         .plan_milli    = 200});

    say("plans", &score);
    ck_assert_uint_ge(score.n_good * 1000, score.n_classes * 995);
}
END_TEST

/* A program that calls nothing else; the model has the MPI's own algorithm up to three
 * times too slow. */
START_TEST(finds_the_mpis_own_when_it_is_warm)
{
    score_t score = {0};

    for (uint64_t s = 0; s < N_WORLDS; ++s) {
        for (unsigned k = 0; k < N_SIZES; ++k) {
            world_t    w     = make_world(1800 + s, 400);
            fs_tuner_t tuner = {0};

            w.trouble.n_cold        = 1;
            w.trouble.n_cold_native = N_COLD_NATIVE;
            w.trouble.noise_milli = w.trouble.slow_milli = 30;
            w.laws[FS_CANDIDATE_NATIVE].model_milli =
                between(&w.rng, 1000, 3000);
            try_class(&w, &tuner, UINT64_C(1) << (LOG2_LEAST + k), 1,
                      4 * N_CALLS, &score);
        }
    }
    say("cold calls of the MPI", &score);
    ck_assert_uint_ge(score.n_good * 100, score.n_classes * 95);
}
END_TEST

/* As where a small call comes behind a large one. */
START_TEST(finds_the_best_among_very_slow_calls)
{
    score_t score = try_long(1900, 10 * N_CALLS,
                             (trouble_t){.noise_milli   = 100,
                                         .slow_milli    = 100,
                                         .slowest_milli = 20000});

    say("one call in ten up to 20 times as long", &score);
    ck_assert_uint_ge(score.n_good * 100, score.n_classes * 95);
}
END_TEST

START_TEST(a_good_model_helps)
{
    score_t good = try_worlds(2000, 0, 1), bad = try_worlds(2000, 900, 1);

    say("model right", &good);
    say("model wrong by 1.9", &bad);
    ck_assert_uint_ge(good.n_good * 100, good.n_classes * 98);
    ck_assert_uint_ge(bad.n_good * 100, bad.n_classes * 90);
    ck_assert_uint_lt(good.n_far, bad.n_far);
}
END_TEST

/* ---- what the model puts beyond twice the best is never tried, but the MPI's own
 * algorithm, once ---- */

START_TEST(never_far)
{
    for (uint64_t s = 0; s < N_WORLDS; ++s) {
        world_t    w     = make_world(3000 + s, 0);
        fs_tuner_t tuner = {.n_warm_ups = FS_TUNER_WARM_UPS};
        score_t    score = {0};

        w.trouble.noise_milli = w.trouble.slow_milli = 0;
        for (unsigned k = 0; k < N_SIZES; ++k) {
            try_class(&w, &tuner, UINT64_C(1) << (LOG2_LEAST + k), 1 + k % 4,
                      N_CALLS, &score);
        }
        ck_assert_uint_eq(score.n_far, 0);
        ck_assert_uint_le(score.n_far_native, score.n_classes);
        ck_assert_uint_eq(score.n_good, score.n_classes);
    }
}
END_TEST

/* ---- the world changes ---- */

START_TEST(the_world_changes)
{
    unsigned n = 0, n_good = 0;

    for (uint64_t s = 0; s < N_WORLDS; ++s) {
        world_t    w     = make_world(4000 + s, 200);
        fs_tuner_t tuner = {.n_warm_ups = FS_TUNER_WARM_UPS};
        score_t    score = {0};
        uint64_t   bytes = UINT64_C(1) << 22;
        unsigned   choice;

        try_class(&w, &tuner, bytes, 1, N_CALLS, &score);
        choice = fs_tuner_find(&tuner, describe(&w, bytes, 1).of_class)->choice;
        w.laws[choice].rate *= 3; /* and the model knows nothing of it */
        w.laws[choice].model_milli /= 3;
        score = (score_t){0};
        try_class(&w, &tuner, bytes, 1, N_CALLS, &score);
        ++n;
        n_good += score.n_good;
    }
    ck_assert_uint_ge(n_good * 100, n * 90);
}
END_TEST

/* ---- two ranks ---- */

/* They hear the same times, and ask the same. */
START_TEST(ranks_think_alike)
{
    static fs_tuner_t a, b;
    world_t           w = make_world(5000, 500);

    for (unsigned k = 0; k < 20000; ++k) {
        uint64_t bytes = UINT64_C(1) << between(&w.rng, LOG2_LEAST, LOG2_MOST);
        uint32_t mtm   = 1 + (uint32_t)fs_rng_below(&w.rng, 9);
        fs_tuner_call_t     call = describe(&w, bytes, mtm);
        fs_tuner_question_t qa, qb;
        uint64_t            ns;

        if (fs_rng_below(&w.rng, 10) == 0) {
            call.estimate[fs_rng_below(&w.rng, FS_N_CANDIDATES)] =
                fs_rng_below(&w.rng, 2) ? FS_TUNER_UNKNOWN : 0;
        }
        (void)fs_tuner_peek(&a, call.of_class); /* leaves no trace */
        qa = fs_tuner_next(&a, &call);
        qb = fs_tuner_next(&b, &call);
        ck_assert_int_eq(qa.candidate, qb.candidate);
        ck_assert_uint_ne(call.estimate[qa.candidate], 0);
        ns = fs_rng_below(&w.rng, 20) == 0
                 ? 0
                 : measured(&w, qa.candidate, bytes, mtm);
        fs_tuner_update(&a, &qa, ns);
        fs_tuner_update(&b, &qb, ns);
    }
    ck_assert_mem_eq(&a, &b, sizeof(a));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tuner_sim");
    TCase *tcase = tcase_create("tuner_sim");

    tcase_add_test(tcase, finds_the_best);
    tcase_add_test(tcase, finds_the_best_in_any_order);
    tcase_add_test(tcase, finds_the_best_in_noise);
    tcase_add_test(tcase, finds_the_best_after_cold_calls);
    tcase_add_test(tcase, finds_the_best_that_has_plans);
    tcase_add_test(tcase, finds_the_mpis_own_when_it_is_warm);
    tcase_add_test(tcase, finds_the_best_among_very_slow_calls);
    tcase_add_test(tcase, a_good_model_helps);
    tcase_add_test(tcase, never_far);
    tcase_add_test(tcase, the_world_changes);
    tcase_add_test(tcase, ranks_think_alike);
    suite_add_tcase(suite, tcase);
    return fs_test_run(suite);
}
