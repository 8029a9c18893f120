/* SPDX-License-Identifier: BSD-3-Clause */
/* The tuner: what follows from which times. No clock runs here. */
#include "policy/fs_tuner.h"
#include "fs_test_util.h"

#include <string.h>

enum { BOUND = 1 << 20 };

#define UNKNOWN FS_TUNER_UNKNOWN

enum {
    NATIVE  = FS_CANDIDATE_NATIVE,
    BUNDLES = FS_CANDIDATE_BUNDLES,
    STAGED  = FS_CANDIDATE_STAGED,
    COARSE  = FS_CANDIDATE_COARSE,
    PIPE2D  = FS_CANDIDATE_PIPE2D
};

static fs_tuner_t tuner;
static uint32_t   class_a, class_b, larger; /* b is far from a */

/* As the model was in the last call of a class. */
static uint64_t last_model[FS_N_CANDIDATES];
static uint32_t last_class;

/* What the model says and what a call takes, ns; 0: not possible, time lost. */
static uint64_t model[FS_N_CANDIDATES], takes[FS_N_CANDIDATES];

static void set_up(void)
{
    memset(&tuner, 0, sizeof(tuner));
    memset(model, 0, sizeof(model));
    memset(takes, 0, sizeof(takes));
    last_class       = UINT32_MAX;
    class_a          = fs_tuner_class(1 << 20, 1000, 1000);
    class_b          = fs_tuner_class(1 << 24, 1000, 1000);
    larger           = fs_tuner_class(1 << 21, 1000, 1000);
    tuner.n_warm_ups = FS_TUNER_WARM_UPS;
}

/* Native and staged only, as the model has it and as it is. */
static void two(uint64_t native_model, uint64_t native, uint64_t staged_model,
                uint64_t staged)
{
    model[NATIVE] = native_model;
    takes[NATIVE] = native;
    model[STAGED] = staged_model;
    takes[STAGED] = staged;
}

static fs_tuner_question_t next_of(uint32_t of_class, uint64_t bound)
{
    fs_tuner_call_t call = {.of_class = of_class, .bound = bound};

    memcpy(call.estimate, model, sizeof(model));
    return fs_tuner_next(&tuner, &call);
}

/* One call. */
static fs_tuner_question_t call(uint32_t of_class)
{
    fs_tuner_question_t peeked   = fs_tuner_peek(&tuner, of_class);
    fs_tuner_question_t question = next_of(of_class, BOUND);

    /* A look ahead, with the same estimates, sees what comes. */
    if (last_class == of_class &&
        memcmp(last_model, model, sizeof(model)) == 0) {
        ck_assert_int_eq(peeked.reason, question.reason);
        ck_assert_int_eq(peeked.candidate, question.candidate);
    }
    memcpy(last_model, model, sizeof(model));
    last_class = of_class;
    ck_assert_uint_ne(model[question.candidate], 0);
    fs_tuner_update(&tuner, &question, takes[question.candidate]);
    return question;
}

/* What serves n calls, a letter each: that of the candidate (l: coarse bundles), large
 * for a probe. */
static const char *calls(unsigned n, uint32_t of_class)
{
    static char text[4096];

    ck_assert_uint_lt(n, sizeof(text));
    for (unsigned k = 0; k < n; ++k) {
        fs_tuner_question_t q      = call(of_class);
        char                letter = "nblscpe"[q.candidate];

        text[k] = q.reason == FS_TUNER_PROBE ? (char)(letter - 'a' + 'A')
                                             : letter;
    }
    text[n] = '\0';
    return text;
}

static unsigned n_of(const char *text, char letter)
{
    unsigned n = 0;

    for (; *text != '\0'; ++text) {
        n += *text == letter;
    }
    return n;
}

static fs_candidate_t choice_of(uint32_t of_class)
{
    const fs_tuner_class_t *class = fs_tuner_find(&tuner, of_class);

    ck_assert_ptr_nonnull(class);
    ck_assert_int_eq(class->state, FS_TUNER_SETTLED);
    return (fs_candidate_t) class->choice;
}

/* ---- classes ---- */

START_TEST(classes_by_powers_of_two)
{
    uint32_t c = fs_tuner_class((1 << 21) - 1, 3999, 2999);

    ck_assert_uint_eq(fs_tuner_bytes_log2(c), 20);
    ck_assert_uint_eq(fs_tuner_mtm_band(c), 1);
    ck_assert_uint_eq(fs_tuner_skew_band(c), 1);
    ck_assert_uint_eq(c, fs_tuner_class(1 << 20, 2000, 1500));
    ck_assert_uint_eq(c, fs_tuner_class_of(20, 1, 1));
    ck_assert_uint_gt(fs_tuner_class(1 << 21, 0, 0), c);
    ck_assert_uint_gt(c, fs_tuner_class(1 << 20, 1999, 99999));
    ck_assert_uint_gt(c, fs_tuner_class(1 << 20, 2000, 1499));
    ck_assert_uint_lt(c, fs_tuner_class(1 << 20, 2000, 3000));
    ck_assert_uint_eq(fs_tuner_class(1, 0, 0), 0);
    ck_assert_int_eq(fs_tuner_tuned(c), FS_TUNED_ALLTOALLV);
    ck_assert_uint_ne(fs_tuner_class_for(FS_TUNED_ALLTOALL, c), c);
    c = fs_tuner_class_for(FS_TUNED_ALLTOALL, c);
    ck_assert_int_eq(fs_tuner_tuned(c), FS_TUNED_ALLTOALL);
    ck_assert_uint_eq(fs_tuner_bytes_log2(c), 20);
    ck_assert_uint_eq(fs_tuner_mtm_band(c), 1);
    ck_assert_uint_eq(fs_tuner_skew_band(c), 1);
    c = fs_tuner_class(UINT64_MAX, UINT64_MAX, UINT64_MAX);
    ck_assert_uint_eq(fs_tuner_bytes_log2(c), 63);
    ck_assert_uint_eq(fs_tuner_mtm_band(c), FS_TUNER_MTM_BANDS - 1);
    ck_assert_uint_eq(fs_tuner_skew_band(c), FS_TUNER_SKEW_BANDS - 1);
}
END_TEST

START_TEST(candidates_have_names)
{
    ck_assert_str_eq(fs_candidate_name(FS_CANDIDATE_NATIVE), "native");
    ck_assert_str_eq(fs_candidate_name(FS_CANDIDATE_COARSE), "staged_coarse");
    ck_assert_str_eq(fs_candidate_name(FS_CANDIDATE_BUNDLES_COARSE),
                     "bundles_coarse");
}
END_TEST

/* ---- few calls, then it is settled ---- */

START_TEST(the_guess_is_the_models)
{
    two(150, 150, 100, 100);
    ck_assert_str_eq(calls(10, class_a), "ssNsssssss");
    ck_assert_int_eq(choice_of(class_a), FS_CANDIDATE_STAGED);
    two(100, 100, 150, 150);
    ck_assert_str_eq(calls(10, class_b), "nnSnnnnnnn");
    ck_assert_uint_eq(tuner.n_native, 1);
}
END_TEST

START_TEST(two_wins_change_it)
{
    two(100, 100, 150, 50);
    ck_assert_str_eq(calls(8, class_a), "nnSSssss");
    ck_assert_int_eq(choice_of(class_a), FS_CANDIDATE_STAGED);
    /* Less than the margin is noise. */
    two(100, 100, 101, 96);
    ck_assert_str_eq(calls(8, class_b), "nnSnnnnn");
}
END_TEST

START_TEST(the_lowest_wins_a_tie)
{
    two(100, 100, 100, 100);
    ck_assert_int_eq(call(class_a).candidate, FS_CANDIDATE_NATIVE);
}
END_TEST

/* Four others, each better than the one before: six calls are all there is. */
START_TEST(six_calls_at_most)
{
    for (unsigned c = 0; c < FS_N_CANDIDATES; ++c) {
        model[c] = 100 + c;
        takes[c] = 100 - 10 * c;
    }
    ck_assert_str_eq(calls(9, class_a), "nnBBLLlll");
    set_up();
    for (unsigned c = 0; c < FS_N_CANDIDATES; ++c) {
        model[c] = takes[c] = 100 + c;
    }
    ck_assert_str_eq(calls(9, class_a), "nnBLSCnnn");
}
END_TEST

/* One that was faster once, at the end: the choice is slow beside it. */
START_TEST(no_time_for_a_second_look)
{
    for (unsigned c = 0; c < FS_N_CANDIDATES; ++c) {
        model[c] = takes[c] = 100 + c;
    }
    model[FS_CANDIDATE_BUNDLES_COARSE] = 0;
    takes[PIPE2D]                      = 50;
    ck_assert_str_eq(calls(6, class_a), "nnBSCP");
    ck_assert_str_eq(calls(8, class_a), "nnnnPPpp");
}
END_TEST

START_TEST(far_ones_are_left_alone)
{
    two(150, 150, 100, 100);
    model[COARSE] = 201;
    takes[COARSE] = 10;
    ck_assert_uint_eq(n_of(calls(100, class_a), 'C'), 0);
    model[COARSE] = 200;
    ck_assert_uint_eq(n_of(calls(100, class_b), 'C'), 2);
}
END_TEST

/* The model alone does not leave the MPI's own algorithm out for good, nor does the model
 * with one call in a neighbouring class. */
START_TEST(the_native_one_gets_a_probe)
{
    two(1000, 10, 100, 100);
    ck_assert_str_eq(calls(15, class_a), "ssssssssssssNNn");
    ck_assert_uint_eq(n_of(calls(3, larger), 'n'), 3);
    takes[NATIVE] = 1000;
    ck_assert_uint_eq(n_of(calls(200, class_b), 'N'), 1);
    set_up();
    tuner.n_warm_ups = 0;
    two(1000, 1000, 100, 100);
    ck_assert_uint_eq(n_of(calls(900, class_a), 'N'), 3);
    ck_assert_uint_eq(n_of(calls(900, larger), 'N'), 1);
}
END_TEST

/* Nobody knows what the native algorithm takes: it is not the guess, but looked
 * at first. */
START_TEST(the_unknown_is_probed)
{
    two(UNKNOWN, 1000, 100, 100);
    model[COARSE] = takes[COARSE] = 110;
    ck_assert_str_eq(calls(6, class_a), "ssNCss");
    two(UNKNOWN, 50, 100, 100);
    ck_assert_str_eq(calls(6, class_b), "ssNNnn");
}
END_TEST

/* What took twice as long as all others is not looked at any more. */
START_TEST(only_what_is_possible)
{
    two(100, 100, 0, 1);
    ck_assert_str_eq(calls(4, class_a), "nnnn");
    two(0, 1, UNKNOWN, 100);
    ck_assert_str_eq(calls(4, class_b), "ssss");
    /* The choice is not possible for some calls of a class. */
    set_up();
    two(100, 100, 150, 150);
    calls(5, class_a);
    model[NATIVE] = 0;
    ck_assert_str_eq(calls(3, class_a), "sss");
    model[NATIVE] = 100;
    ck_assert_str_eq(calls(3, class_a), "nnn");
}
END_TEST

/* ---- slow calls ---- */

/* The native algorithm's first call has to connect: if it is slow that proves
 * nothing. */
START_TEST(the_warm_up_may_only_be_lost)
{
    tuner.n_warm_ups = 0;
    two(UNKNOWN, 100000, 100, 100);
    ck_assert_str_eq(calls(3, class_a), "ssN");
    takes[NATIVE] = 50;
    ck_assert_str_eq(calls(4, class_a), "NNnn");
    /* Only once on a communicator. */
    takes[NATIVE] = 100000;
    ck_assert_str_eq(calls(5, class_b), "ssNss");
    set_up();
    tuner.n_warm_ups = 0;
    two(UNKNOWN, 50, 100, 100);
    ck_assert_str_eq(calls(5, class_a), "ssNNn");
}
END_TEST

START_TEST(one_slow_call_is_forgiven)
{
    two(150, 150, 100, 100000);
    calls(1, class_a);
    takes[STAGED] = 100;
    ck_assert_str_eq(calls(4, class_a), "sNss");
    ck_assert_int_eq(choice_of(class_a), FS_CANDIDATE_STAGED);
    /* Of another one that should have taken about as long: a second call. */
    two(100, 150, 110, 100000);
    ck_assert_str_eq(calls(3, class_b), "nnS");
    takes[STAGED] = 110;
    ck_assert_str_eq(calls(8, class_b), "SSssssss");
}
END_TEST

/* Even if all its calls have been, and the second look as well, while the model has it in
 * front. */
START_TEST(slow_calls_are_forgiven_later)
{
    two(150, 150, 100, 1000);
    ck_assert_str_eq(calls(5, class_a), "ssNNn");
    ck_assert_uint_eq(n_of(calls(FS_TUNER_SOON, class_a), 'S'), 1);
    takes[STAGED] = 100;
    calls(3 * FS_TUNER_SOON, class_a);
    ck_assert_int_eq(choice_of(class_a), FS_CANDIDATE_STAGED);
}
END_TEST

/* Of the native algorithm, which the program would have, where it is not far: a second
 * call, and the better one counts. */
START_TEST(one_slow_native_call_is_forgiven)
{
    two(120, 140, 100, 100);
    ck_assert_str_eq(calls(3, class_a), "ssN");
    takes[NATIVE] = 80;
    ck_assert_str_eq(calls(3, class_a), "NNn");
    two(120, 140, 100, 100);
    ck_assert_str_eq(calls(6, class_b), "ssNNss");
}
END_TEST

/* Nor does one in a neighbouring class keep it from being tried. */
START_TEST(one_slow_native_call_of_a_neighbour)
{
    two(150, 5000, 100, 100);
    ck_assert_str_eq(calls(4, class_a), "ssNs");
    takes[NATIVE] = 50;
    ck_assert_str_eq(calls(15, larger), "ssssssssssssNNn");
    /* Two do: a neighbour that had it as its choice. */
    set_up();
    two(100, 5000, 150, 150);
    ck_assert_str_eq(calls(6, class_a), "nnSSss");
    ck_assert_uint_eq(n_of(calls(100, larger), 'N'), 0);
}
END_TEST

START_TEST(one_fast_call_decides_nothing)
{
    two(100, 100, 110, 50);
    ck_assert_str_eq(calls(3, class_a), "nnS");
    takes[STAGED] = 110;
    ck_assert_str_eq(calls(4, class_a), "Snnn");
    ck_assert_int_eq(choice_of(class_a), FS_CANDIDATE_NATIVE);
}
END_TEST

/* Twice the bytes may take twice the time. */
START_TEST(sizes_differ)
{
    two(150, 0, 100, 0);
    for (int k = 0; k < 5; ++k) {
        uint64_t            bound    = k == 2 ? 2 * BOUND : BOUND;
        fs_tuner_question_t question = next_of(class_a, bound);

        fs_tuner_update(&tuner, &question, k == 2 ? 210 : 100);
    }
    ck_assert_int_eq(choice_of(class_a), FS_CANDIDATE_STAGED);
}
END_TEST

/* Times that no summary has told: the guess, and nothing is asked for ever. */
START_TEST(lost_times)
{
    const char *served;

    two(150, 0, 100, 0);
    served = calls(100, class_a);
    ck_assert_uint_le(n_of(served, 'N') + n_of(served, 'S'), 8);
    ck_assert_int_eq(choice_of(class_a), FS_CANDIDATE_STAGED);
    /* Only probes are told. */
    two(150, 1, 100, 0);
    calls(100, class_b);
    ck_assert_int_eq(choice_of(class_b), FS_CANDIDATE_STAGED);
}
END_TEST

/* A question that nobody has put, one of a class that is no longer there, and one
 * that is answered late. */
START_TEST(questions_stand_alone)
{
    fs_tuner_question_t none = {.reason = FS_TUNER_NONE, .bound = 1};
    fs_tuner_question_t first, second;

    fs_tuner_update(&tuner, &none, 5);
    ck_assert_ptr_null(fs_tuner_find(&tuner, 0));
    two(150, 150, 100, 100);
    first  = next_of(class_a, BOUND);
    second = next_of(class_b, BOUND);
    fs_tuner_update(&tuner, &first, 100);
    ck_assert_uint_eq(
        fs_tuner_price(fs_tuner_find(&tuner, class_a), FS_CANDIDATE_STAGED),
        100);
    ck_assert_uint_eq(
        fs_tuner_price(fs_tuner_find(&tuner, class_b), FS_CANDIDATE_STAGED), 0);
    fs_tuner_update(&tuner, &second, 200);
    ck_assert_uint_eq(
        fs_tuner_price(fs_tuner_find(&tuner, class_b), FS_CANDIDATE_STAGED),
        200);
    first.of_class = larger;
    fs_tuner_update(&tuner, &first, 1);
    ck_assert_ptr_null(fs_tuner_find(&tuner, larger));
}
END_TEST

/* A call that was prepared for another candidate: the next one is asked, a few times. */
START_TEST(withdrawn)
{
    fs_tuner_question_t question;

    two(150, 150, 100, 100);
    ck_assert_str_eq(calls(2, class_a), "ss");
    ck_assert_int_eq(fs_tuner_peek(&tuner, class_a).candidate,
                     FS_CANDIDATE_NATIVE);
    ck_assert_int_eq(fs_tuner_choice(&tuner, class_a), FS_CANDIDATE_STAGED);
    for (int k = 0; k <= FS_TUNER_WITHDRAWN_MOST; ++k) {
        question = next_of(class_a, BOUND);
        ck_assert_int_eq(question.reason, FS_TUNER_PROBE);
        ck_assert_int_eq(question.candidate, FS_CANDIDATE_NATIVE);
        ck_assert(fs_tuner_withdraw(&tuner, &question) ==
                  (k < FS_TUNER_WITHDRAWN_MOST));
    }
    /* The last one was in vain; the native algorithm deserves another one. */
    ck_assert_str_eq(calls(2, class_a), "Ns");
    ck_assert_int_eq(fs_tuner_find(&tuner, class_a)->state, FS_TUNER_SETTLED);
}
END_TEST

/* No call was as the guess wanted it: the model is right until one is. */
START_TEST(a_guess_in_vain)
{
    two(150, 150, 100, 100);
    for (int k = 0; k < 2; ++k) {
        ck_assert_int_eq(next_of(class_a, BOUND).candidate,
                         FS_CANDIDATE_STAGED);
    }
    ck_assert_str_eq(calls(4, class_a), "Nsss");
    ck_assert_int_eq(fs_tuner_find(&tuner, class_a)->state, FS_TUNER_SETTLED);
}
END_TEST

/* A warm-up that did not take place is one yet. */
START_TEST(a_warm_up_withdrawn)
{
    fs_tuner_question_t question;

    tuner.n_warm_ups = 0;
    two(150, 150, 100, 100);
    calls(2, class_a);
    question = next_of(class_a, BOUND);
    ck_assert(question.warm_up);
    fs_tuner_withdraw(&tuner, &question);
    ck_assert(next_of(class_a, BOUND).warm_up);
    /* Nor one that should have been the guess. */
    tuner.n_warm_ups = 0;
    two(100, 100, 150, 150);
    question = next_of(class_b, BOUND);
    fs_tuner_withdraw(&tuner, &question);
    ck_assert_int_eq(question.reason, FS_TUNER_GUESS);
    ck_assert_uint_eq(tuner.n_warm_ups, 0);
    /* Nor where the choice cannot be had. */
    fs_tuner_seed(&tuner, class_b, FS_CANDIDATE_NATIVE, takes);
    question = next_of(class_b, BOUND);
    ck_assert_int_eq(question.reason, FS_TUNER_FOUND);
    ck_assert(!fs_tuner_withdraw(&tuner, &question));
    ck_assert_uint_eq(tuner.n_warm_ups, 0);
}
END_TEST

/* ---- what is settled is watched ---- */

START_TEST(the_choice_becomes_slow)
{
    two(150, 150, 100, 100);
    calls(50, class_a);
    takes[STAGED] = 300;
    ck_assert_str_eq(calls(8, class_a), "ssssNNnn");
    ck_assert_uint_eq(tuner.n_native, 1);
    /* Not for three slow calls. */
    takes[NATIVE] = 500;
    calls(3, class_a);
    takes[NATIVE] = 150;
    ck_assert_str_eq(calls(4, class_a), "nnnn");
}
END_TEST

/* ---- which calls are timed ---- */

/* n calls, of which only those that are closed are: a capital letter. */
static const char *closed(unsigned n, uint64_t about)
{
    static char text[256];

    for (unsigned k = 0; k < n; ++k) {
        fs_tuner_question_t q = next_of(class_a, BOUND);

        text[k] = q.closes ? 'C' : '.';
        if (q.closes) {
            fs_tuner_update(&tuner, &q, takes[q.candidate]);
        } else {
            fs_tuner_hear(&tuner, &q, about);
        }
    }
    text[n] = '\0';
    return text;
}

/* All that are compared, then one in FS_TUNER_CLOSE. */
START_TEST(few_are_timed)
{
    const uint64_t prices[FS_N_CANDIDATES] = {[STAGED] = 100, [NATIVE] = 150};
    const char    *text;

    two(150, 150, 100, 100);
    ck_assert_str_eq(closed(6, 199), "CCCC..");
    fs_tuner_seed(&tuner, class_b, FS_CANDIDATE_STAGED, prices);
    class_a = class_b;
    text    = closed(3 * FS_TUNER_CLOSE, 199);
    ck_assert_uint_eq(n_of(text, 'C'), 3);
    ck_assert_uint_eq(fs_tuner_gain(&tuner).n_calls, 6 + 3 * FS_TUNER_CLOSE);
}
END_TEST

/* A rough time far from what it should be: the next call is timed; it decides. */
START_TEST(a_rough_time_decides_nothing)
{
    two(150, 150, 100, 100);
    closed(6, 100);
    ck_assert_str_eq(closed(4, 300), ".C.C");
    ck_assert_int_eq(choice_of(class_a), FS_CANDIDATE_STAGED);
    ck_assert_uint_eq(
        fs_tuner_price(fs_tuner_find(&tuner, class_a), FS_CANDIDATE_STAGED),
        100);
    takes[STAGED] = 300;
    ck_assert_str_eq(closed(9, 300), ".CCCCC...");
    ck_assert_int_eq(choice_of(class_a), FS_CANDIDATE_NATIVE);
}
END_TEST

/* Everything has become slow: a probe finds that, and it is not asked all the
 * time. */
START_TEST(all_become_slow)
{
    two(150, 150, 100, 100);
    calls(50, class_a);
    takes[STAGED] = 300;
    takes[NATIVE] = 450;
    ck_assert_str_eq(calls(8, class_a), "ssssNNss");
    ck_assert_uint_le(n_of(calls(900, class_a), 'N'), 8);
}
END_TEST

/* The other one has become fast: it is looked at seldom, and ever less. */
START_TEST(another_becomes_fast)
{
    two(150, 150, 100, 100);
    ck_assert_uint_eq(n_of(calls(FS_TUNER_SOON, class_a), 'N'), 1);
    for (unsigned n = FS_TUNER_SOON; n < 100 * FS_TUNER_SOON; n *= 2) {
        unsigned asked = n_of(calls(n, class_a), 'N');

        ck_assert(asked == 1 || asked == 2);
    }
    takes[NATIVE] = 50;
    calls(200 * FS_TUNER_SOON, class_a);
    ck_assert_int_eq(choice_of(class_a), FS_CANDIDATE_NATIVE);
    ck_assert_uint_eq(tuner.n_native, 1);
}
END_TEST

/* First Open MPI's own if nobody has looked at it, whatever the model says; when another
 * choice is made all begin anew. */
START_TEST(the_native_one_has_the_first_turn)
{
    two(5000, 5000, 100, 100);
    model[BUNDLES] = 90;
    takes[BUNDLES] = 1000;
    calls(FS_TUNER_EXPLORE_CALLS, class_a);
    ck_assert_int_eq(choice_of(class_a), FS_CANDIDATE_STAGED);
    ck_assert_uint_eq(n_of(calls(FS_TUNER_SOON, class_a), 'N'), 1);
    ck_assert_uint_gt(n_of(calls(500, class_a), 'B'), 2);
    takes[STAGED] = 5000;
    calls(100, class_a);
    ck_assert_int_eq(choice_of(class_a), FS_CANDIDATE_BUNDLES);
    ck_assert_uint_eq(fs_tuner_find(&tuner, class_a)->seen[BUNDLES].n_looks, 0);
}
END_TEST

/* Whom the model has in front is looked at more often, but not alone. */
START_TEST(all_have_their_turn)
{
    const char *text;

    two(100, 100, 130, 130);
    model[BUNDLES] = 60;
    takes[BUNDLES] = 190;
    calls(FS_TUNER_EXPLORE_CALLS, class_a);
    ck_assert_int_eq(choice_of(class_a), FS_CANDIDATE_NATIVE);
    text = calls(3000, class_a);
    ck_assert_uint_gt(n_of(text, 'B'), n_of(text, 'S'));
    ck_assert_uint_gt(n_of(text, 'S'), 1);
}
END_TEST

/* Those that went unseen count until it is time to look again. */
START_TEST(unseen_calls_count)
{
    two(100, 100, 150, 150);
    ck_assert_str_eq(calls(5, class_a), "nnSnn");
    ck_assert_str_eq(calls(5, class_b), "nnSnn");
    fs_tuner_count(&tuner, class_a, FS_TUNER_SOON - 3);
    fs_tuner_count(&tuner, larger, 1); /* nothing is known of it */
    ck_assert_str_eq(calls(4, class_b), "nnnn");
    ck_assert_str_eq(calls(4, class_a), "nSSn");
    ck_assert_uint_eq(fs_tuner_find(&tuner, class_a)->n_calls,
                      5 + FS_TUNER_SOON - 3 + 4);
}
END_TEST

/* ---- neighbours ---- */

/* The model was wrong by four about one candidate: half or twice the bytes know, and
 * the next bands of skew. */
START_TEST(neighbours_correct_the_model)
{
    two(100, 400, 120, 120);
    ck_assert_str_eq(calls(5, class_a), "nnSSs");
    ck_assert_str_eq(calls(5, larger), "sssss");
    ck_assert_str_eq(calls(1, class_b), "n");
    /* Down as well, and only to the next. */
    ck_assert_str_eq(calls(1, fs_tuner_class(1 << 19, 1000, 1000)), "s");
    ck_assert_str_eq(calls(1, fs_tuner_class(1 << 20, 9000, 1000)), "n");
    ck_assert_str_eq(calls(1, fs_tuner_class(1 << 20, 2000, 1000)), "s");
    ck_assert_str_eq(calls(1, fs_tuner_class(1 << 20, 1000, 1500)), "s");
}
END_TEST

/* What two calls have been clearly slower there can wait until the class is settled. */
START_TEST(neighbours_spare_probes)
{
    two(150, 180, 100, 100);
    ck_assert_str_eq(calls(6, class_a), "ssNsss");
    ck_assert_str_eq(calls(6, larger), "ssNsss"); /* one call: not enough */
    ck_assert_uint_eq(n_of(calls(20, class_a), 'N'), 2);
    larger = fs_tuner_class(1 << 19, 1000, 1000);
    ck_assert_str_eq(calls(6, larger), "ssssss");
    ck_assert_uint_eq(n_of(calls(20, larger), 'N'), 2);
    /* Not much slower: at once. */
    set_up();
    two(150, 140, 100, 100);
    ck_assert_uint_eq(n_of(calls(30, class_a), 'N'), 4);
    ck_assert_uint_eq(n_of(calls(6, larger), 'N'), 2);
}
END_TEST

/* All are slower than the model says by a factor: that changes nothing. */
START_TEST(the_unit_of_the_model_is_free)
{
    two(190, 190000, 100, 100000);
    ck_assert_str_eq(calls(4, class_a), "ssNs");
    two(201, 1, 100, 100000);
    ck_assert_str_eq(calls(4, class_b), "ssss");
}
END_TEST

/* ---- memory ---- */

/* The class whose last call is longest ago goes. */
START_TEST(the_oldest_class_goes)
{
    two(150, 150, 100, 100);
    for (uint32_t k = 0; k < FS_TUNER_CLASSES; ++k) {
        calls(4, fs_tuner_class_of(k, 0, 0));
    }
    calls(1, fs_tuner_class_of(0, 0, 0));
    calls(1, fs_tuner_class_of(5, 1, 0));
    ck_assert_ptr_nonnull(fs_tuner_find(&tuner, fs_tuner_class_of(0, 0, 0)));
    ck_assert_ptr_null(fs_tuner_find(&tuner, fs_tuner_class_of(1, 0, 0)));
    ck_assert_ptr_nonnull(fs_tuner_find(&tuner, fs_tuner_class_of(2, 0, 0)));
}
END_TEST

START_TEST(classes_that_go_are_not_counted)
{
    two(100, 100, 150, 150);
    for (uint32_t k = 0; k < 3 * FS_TUNER_CLASSES; ++k) {
        calls(4, fs_tuner_class_of(k % 64, k / 64, 0));
    }
    ck_assert_uint_eq(tuner.n_native, FS_TUNER_CLASSES);
}
END_TEST

/* ---- what an earlier run has found ---- */

START_TEST(seeds_are_settled)
{
    const uint64_t prices[FS_N_CANDIDATES] = {[STAGED] = 100, [NATIVE] = 150};

    two(100, 150, 150, 100);
    fs_tuner_seed(&tuner, class_a, FS_CANDIDATE_STAGED, prices);
    ck_assert_int_eq(fs_tuner_peek(&tuner, class_a).candidate,
                     FS_CANDIDATE_STAGED);
    ck_assert(!fs_tuner_find(&tuner, class_a)->measured);
    ck_assert_str_eq(calls(10, class_a), "ssssssssss");
    ck_assert(fs_tuner_find(&tuner, class_a)->measured);
    /* They may be wrong by now. */
    takes[STAGED] = 300;
    ck_assert_str_eq(calls(8, class_a), "ssssNNnn");
}
END_TEST

START_TEST(seeds_without_prices)
{
    const uint64_t none[FS_N_CANDIDATES] = {0};

    two(100, 150, 150, 100);
    fs_tuner_seed(&tuner, class_a, FS_CANDIDATE_NATIVE, none);
    ck_assert_uint_eq(tuner.n_native, 1);
    ck_assert_str_eq(calls(10, class_a), "nnnnnnnnnn");
    /* What cannot serve the call is not asked to. */
    fs_tuner_seed(&tuner, class_b, FS_CANDIDATE_PIPE2D, none);
    ck_assert_str_eq(calls(1, class_b), "n");
}
END_TEST

/* For good: the guess by the model, then what has been measured, then the choice. */
START_TEST(best_for_good)
{
    fs_tuner_call_t call = {.of_class = class_a, .bound = BOUND};
    const uint32_t  all  = (1u << FS_N_CANDIDATES) - 1;

    two(100, 150, 150, 100);
    memcpy(call.estimate, model, sizeof(model));
    ck_assert_int_eq(fs_tuner_best(&tuner, &call, all).candidate,
                     fs_tuner_peek(&tuner, class_a).candidate);
    ck_assert_int_eq(fs_tuner_best(&tuner, &call, all).reason, FS_TUNER_GUESS);
    (void)calls(10, class_a);
    ck_assert_int_eq(fs_tuner_best(&tuner, &call, all).reason, FS_TUNER_FOUND);
    ck_assert_int_eq(fs_tuner_best(&tuner, &call, all).candidate,
                     fs_tuner_find(&tuner, class_a)->choice);
    ck_assert_int_eq(fs_tuner_find(&tuner, class_a)->choice, STAGED);
    /* What cannot serve the call is not it, and for the next one nothing has changed. */
    ck_assert_int_eq(
        fs_tuner_best(&tuner, &call, all & ~(1u << STAGED)).candidate, NATIVE);
    ck_assert_int_eq(fs_tuner_best(&tuner, &call, 0).reason, FS_TUNER_NONE);
    ck_assert_int_eq(fs_tuner_peek(&tuner, class_a).candidate, STAGED);
    call.estimate[STAGED] = 0;
    ck_assert_int_eq(fs_tuner_best(&tuner, &call, all).candidate, NATIVE);
}
END_TEST

/* What comes after so many calls of a sequence, 'a' or 'b'? '.': not what does. */
static void foretell(const char *sequence, const char *expected)
{
    fs_tuner_history_t history = {0};
    size_t             n       = strlen(sequence);

    (void)calls(1, class_a);
    (void)calls(1, class_b);
    for (size_t k = 0; k < n; ++k) {
        uint32_t now   = sequence[k] == 'a' ? class_a : class_b;
        uint32_t next  = sequence[(k + 1) % n] == 'a' ? class_a : class_b;
        bool     right = fs_tuner_follow(&tuner, &history, now) == next;

        ck_assert_msg(right == (expected[k] != '.'), "%s, %zu", sequence, k);
    }
}

START_TEST(classes_follow)
{
    static const char *const cases[][2] = {
        {"aaaaaa", "aaaaaa"},
        {"abababab", "....baba"},
        {"aabaabaabaab", "a..a..abaaba"},
        {"aabbaabbaabbaabb", "a.b.a.b.abbaabba"},
    };

    two(100, 150, 150, 100);
    foretell(cases[_i][0], cases[_i][1]);
}
END_TEST

START_TEST(peek_of_nothing)
{
    ck_assert_int_eq(fs_tuner_peek(&tuner, class_a).reason, FS_TUNER_NONE);
}
END_TEST

START_TEST(extreme_times)
{
    for (int k = 0; k < 200; ++k) {
        fs_tuner_question_t question;

        model[NATIVE] = k % 3 ? 1 : UINT64_MAX - 1;
        model[STAGED] = k % 7 ? UINT64_MAX - 2 : 1;
        model[COARSE] = k % 5 ? UNKNOWN : 0;
        question      = next_of(UINT32_MAX, k % 2 ? 1 : UINT64_MAX);
        fs_tuner_update(&tuner, &question, UINT64_MAX >> k % 64);
    }
    ck_assert_uint_le(tuner.n_native, 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tuner");
    TCase *tcase = tcase_create("tuner");

    tcase_add_checked_fixture(tcase, set_up, NULL);
    tcase_add_test(tcase, classes_by_powers_of_two);
    tcase_add_test(tcase, candidates_have_names);
    tcase_add_test(tcase, the_guess_is_the_models);
    tcase_add_test(tcase, two_wins_change_it);
    tcase_add_test(tcase, the_lowest_wins_a_tie);
    tcase_add_test(tcase, six_calls_at_most);
    tcase_add_test(tcase, no_time_for_a_second_look);
    tcase_add_test(tcase, far_ones_are_left_alone);
    tcase_add_test(tcase, the_native_one_gets_a_probe);
    tcase_add_test(tcase, the_unknown_is_probed);
    tcase_add_test(tcase, only_what_is_possible);
    tcase_add_test(tcase, the_warm_up_may_only_be_lost);
    tcase_add_test(tcase, one_slow_call_is_forgiven);
    tcase_add_test(tcase, slow_calls_are_forgiven_later);
    tcase_add_test(tcase, one_slow_native_call_is_forgiven);
    tcase_add_test(tcase, one_slow_native_call_of_a_neighbour);
    tcase_add_test(tcase, one_fast_call_decides_nothing);
    tcase_add_test(tcase, sizes_differ);
    tcase_add_test(tcase, lost_times);
    tcase_add_test(tcase, questions_stand_alone);
    tcase_add_test(tcase, withdrawn);
    tcase_add_test(tcase, a_guess_in_vain);
    tcase_add_test(tcase, a_warm_up_withdrawn);
    tcase_add_test(tcase, the_choice_becomes_slow);
    tcase_add_test(tcase, few_are_timed);
    tcase_add_test(tcase, a_rough_time_decides_nothing);
    tcase_add_test(tcase, all_become_slow);
    tcase_add_test(tcase, another_becomes_fast);
    tcase_add_test(tcase, the_native_one_has_the_first_turn);
    tcase_add_test(tcase, all_have_their_turn);
    tcase_add_test(tcase, unseen_calls_count);
    tcase_add_test(tcase, neighbours_correct_the_model);
    tcase_add_test(tcase, neighbours_spare_probes);
    tcase_add_test(tcase, the_unit_of_the_model_is_free);
    tcase_add_test(tcase, the_oldest_class_goes);
    tcase_add_test(tcase, classes_that_go_are_not_counted);
    tcase_add_test(tcase, seeds_are_settled);
    tcase_add_test(tcase, seeds_without_prices);
    tcase_add_test(tcase, best_for_good);
    tcase_add_loop_test(tcase, classes_follow, 0, 4);
    tcase_add_test(tcase, peek_of_nothing);
    tcase_add_test(tcase, extreme_times);
    suite_add_tcase(suite, tcase);
    return fs_test_run(suite);
}
