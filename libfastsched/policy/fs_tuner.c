/* SPDX-License-Identifier: BSD-3-Clause */
#include "policy/fs_tuner.h"

#include "base/fs_arith.h"

/* Which calls of a class are looks: early, so that a program that makes twenty
 * calls is helped, and few. The last one is for classes that begin with the
 * rehearsal. */
static const uint16_t look_at[] = {3, 8, 24};

enum { N_LOOKS = sizeof(look_at) / sizeof(look_at[0]), TO_JUDGE = 2 };

static uint32_t log2_of(uint64_t x)
{
    return 63 - (uint32_t)__builtin_clzll(x | 1);
}

uint32_t fs_guard_class(uint64_t inter_bytes, uint64_t mtm_milli)
{
    uint32_t band = fs_u32_min(log2_of(mtm_milli / 1000), FS_GUARD_BANDS - 1);

    return log2_of(inter_bytes) * FS_GUARD_BANDS + band;
}

static void enter(fs_guard_t      *guard, fs_guard_class_t *class,
                  fs_guard_state_t state)
{
    guard->n_gone_back -= class->state == FS_GUARD_STATE_HOST;
    guard->n_gone_back += state == FS_GUARD_STATE_HOST;
    class->state = (uint8_t)state;
    class->calls = 0;
    if (state == FS_GUARD_STATE_TRY) {
        class->n_looks = class->n_judged = class->n_lost = 0;
        class->ours[0] = class->ours[1] = 0;
    }
}

/* In state TRY, calls counted from 1. */
static void try_out(fs_guard_t          *guard, fs_guard_class_t *class,
                    fs_guard_question_t *question)
{
    question->waiting = true;
    if (class->calls < look_at[class->n_looks]) {
        return;
    }
    ++class->n_looks;
    ++guard->n_looks;
    question->turn      = FS_GUARD_LOOK;
    question->rehearsal = !guard->rehearsed;
    guard->rehearsed    = true;
}

fs_guard_question_t fs_guard_next(fs_guard_t *guard, uint32_t of_class,
                                  uint64_t bound)
{
    fs_guard_class_t *class      = &guard->classes[of_class];
    fs_guard_question_t question = {FS_GUARD_OURS, of_class, bound, false,
                                    false};

    if (class->state != FS_GUARD_STATE_TRY &&
        class->calls >= FS_GUARD_RECHECK) {
        enter(guard, class, FS_GUARD_STATE_TRY);
    }
    /* Times of looks may have got lost. */
    if (class->state == FS_GUARD_STATE_TRY && class->n_looks == N_LOOKS) {
        enter(guard, class, FS_GUARD_STATE_OURS);
    }
    ++class->calls;
    switch ((fs_guard_state_t) class->state) {
    case FS_GUARD_STATE_TRY:
        try_out(guard, class, &question);
        break;
    case FS_GUARD_STATE_OURS:
        break;
    case FS_GUARD_STATE_HOST:
        question.turn = FS_GUARD_HOST;
        break;
    }
    return question;
}

/* ---- verdicts ---- */

/* a is more than the margin above b. */
static bool clearly_above(uint64_t a, uint64_t b)
{
    return (fs_u128_t)a * 100 > (fs_u128_t)b * (100 + FS_GUARD_MARGIN);
}

/* One slow call of ours, the first that ever ran say, decides nothing. */
uint64_t fs_guard_ours(const fs_guard_class_t *class)
{
    const uint64_t *ours = class->ours;

    return ours[0] == 0   ? ours[1]
           : ours[1] == 0 ? ours[0]
                          : fs_u64_min(ours[0], ours[1]);
}

static void judge(fs_guard_t *guard, fs_guard_class_t *class, bool rehearsal)
{
    uint64_t ours = fs_guard_ours(class);
    bool     lost = clearly_above(ours, class->host);

    if (ours == 0 || (rehearsal && !lost)) {
        return;
    }
    ++class->n_judged;
    class->n_lost += lost;
    if (class->n_lost == TO_JUDGE) {
        enter(guard, class, FS_GUARD_STATE_HOST);
    } else if (clearly_above(class->host, ours)) {
        enter(guard, class, FS_GUARD_STATE_OURS);
    } else if (class->n_judged == TO_JUDGE) {
        enter(guard, class, FS_GUARD_STATE_OURS);
        class->calls = FS_GUARD_RECHECK - FS_GUARD_SOON;
    }
}

/* Nanoseconds per MiB of the lower bound, never 0. */
static uint64_t price(uint64_t ns, uint64_t bound)
{
    fs_u128_t price = ((fs_u128_t)ns << 20) / bound;

    return price > UINT64_MAX ? UINT64_MAX : fs_u64_max((uint64_t)price, 1);
}

void fs_guard_hear(fs_guard_t *guard, const fs_guard_question_t *question,
                   uint64_t run_ns, uint64_t extra_ns)
{
    fs_guard_class_t *class = &guard->classes[question->of_class];

    if (!question->waiting || run_ns == 0) {
        return;
    }
    if (question->turn == FS_GUARD_OURS) {
        class->ours[1] = class->ours[0];
        class->ours[0] = price(run_ns + extra_ns, question->bound);
    } else {
        class->host = price(run_ns, question->bound);
        judge(guard, class, question->rehearsal);
    }
}
