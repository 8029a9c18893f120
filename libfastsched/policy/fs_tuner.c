/* SPDX-License-Identifier: BSD-3-Clause */
#include "policy/fs_tuner.h"

#include "base/fs_arith.h"

/* Which calls of a class are looks: early, so that a program that makes twenty
 * calls is helped, and few. The last one is for classes that begin with the
 * warm_up. */
static const uint16_t probe_at[] = {3, 8, 24};

enum { N_PROBES = sizeof(probe_at) / sizeof(probe_at[0]), TO_JUDGE = 2 };

static uint32_t log2_of(uint64_t x)
{
    return 63 - (uint32_t)__builtin_clzll(x | 1);
}

uint32_t fs_tuner_class(uint64_t inter_bytes, uint64_t mtm_milli)
{
    uint32_t band = fs_u32_min(log2_of(mtm_milli / 1000), FS_TUNER_BANDS - 1);

    return log2_of(inter_bytes) * FS_TUNER_BANDS + band;
}

static void enter(fs_tuner_t      *tuner, fs_tuner_class_t *class,
                  fs_tuner_state_t state)
{
    tuner->n_gone_back -= class->state == FS_TUNER_STATE_NATIVE;
    tuner->n_gone_back += state == FS_TUNER_STATE_NATIVE;
    class->state = (uint8_t)state;
    class->calls = 0;
    if (state == FS_TUNER_STATE_TRY) {
        class->n_probes = class->n_judged = class->n_lost = 0;
        class->ours[0] = class->ours[1] = 0;
    }
}

/* In state TRY, calls counted from 1. */
static void try_out(fs_tuner_t          *tuner, fs_tuner_class_t *class,
                    fs_tuner_question_t *question)
{
    question->waiting = true;
    if (class->calls < probe_at[class->n_probes]) {
        return;
    }
    ++class->n_probes;
    ++tuner->n_probes;
    question->turn    = FS_TUNER_PROBE;
    question->warm_up = !tuner->warmed_up;
    tuner->warmed_up  = true;
}

fs_tuner_question_t fs_tuner_next(fs_tuner_t *tuner, uint32_t of_class,
                                  uint64_t bound)
{
    fs_tuner_class_t *class      = &tuner->classes[of_class];
    fs_tuner_question_t question = {FS_TUNER_OURS, of_class, bound, false,
                                    false};

    if (class->state != FS_TUNER_STATE_TRY &&
        class->calls >= FS_TUNER_RECHECK) {
        enter(tuner, class, FS_TUNER_STATE_TRY);
    }
    /* Times of looks may have got lost. */
    if (class->state == FS_TUNER_STATE_TRY && class->n_probes == N_PROBES) {
        enter(tuner, class, FS_TUNER_STATE_OURS);
    }
    ++class->calls;
    switch ((fs_tuner_state_t) class->state) {
    case FS_TUNER_STATE_TRY:
        try_out(tuner, class, &question);
        break;
    case FS_TUNER_STATE_OURS:
        break;
    case FS_TUNER_STATE_NATIVE:
        question.turn = FS_TUNER_NATIVE;
        break;
    }
    return question;
}

/* ---- verdicts ---- */

/* a is more than the margin above b. */
static bool clearly_above(uint64_t a, uint64_t b)
{
    return (fs_u128_t)a * 100 > (fs_u128_t)b * (100 + FS_TUNER_MARGIN);
}

/* One slow call of ours, the first that ever ran say, decides nothing. */
uint64_t fs_tuner_ours(const fs_tuner_class_t *class)
{
    const uint64_t *ours = class->ours;

    return ours[0] == 0   ? ours[1]
           : ours[1] == 0 ? ours[0]
                          : fs_u64_min(ours[0], ours[1]);
}

static void judge(fs_tuner_t *tuner, fs_tuner_class_t *class, bool warm_up)
{
    uint64_t ours = fs_tuner_ours(class);
    bool     lost = clearly_above(ours, class->native);

    if (ours == 0 || (warm_up && !lost)) {
        return;
    }
    ++class->n_judged;
    class->n_lost += lost;
    if (class->n_lost == TO_JUDGE) {
        enter(tuner, class, FS_TUNER_STATE_NATIVE);
    } else if (clearly_above(class->native, ours)) {
        enter(tuner, class, FS_TUNER_STATE_OURS);
    } else if (class->n_judged == TO_JUDGE) {
        enter(tuner, class, FS_TUNER_STATE_OURS);
        class->calls = FS_TUNER_RECHECK - FS_TUNER_SOON;
    }
}

/* Nanoseconds per MiB of the lower bound, never 0. */
static uint64_t price(uint64_t ns, uint64_t bound)
{
    fs_u128_t price = ((fs_u128_t)ns << 20) / bound;

    return price > UINT64_MAX ? UINT64_MAX : fs_u64_max((uint64_t)price, 1);
}

void fs_tuner_update(fs_tuner_t *tuner, const fs_tuner_question_t *question,
                     uint64_t run_ns, uint64_t extra_ns)
{
    fs_tuner_class_t *class = &tuner->classes[question->of_class];

    if (!question->waiting || run_ns == 0) {
        return;
    }
    if (question->turn == FS_TUNER_OURS) {
        class->ours[1] = class->ours[0];
        class->ours[0] = price(run_ns + extra_ns, question->bound);
    } else {
        class->native = price(run_ns, question->bound);
        judge(tuner, class, question->warm_up);
    }
}
