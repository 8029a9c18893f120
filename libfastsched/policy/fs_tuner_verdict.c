/* SPDX-License-Identifier: BSD-3-Clause */
/* What the time of a call says. */
#include "policy/fs_tuner_state.h"

/* The other candidate has taken so much; is that clearly less than the choice? */
static bool beats(const fs_tuner_class_t *class, uint64_t price)
{
    uint64_t choice = fs_tuner_price(class, (fs_candidate_t) class->choice);

    return choice != 0 && fs_tuner_is_above(choice, price);
}

static void judge(fs_tuner_class_t *class, unsigned candidate, uint64_t price)
{
    fs_tuner_seen_t *seen = &class->seen[candidate];

    seen->n_won = beats(class, price) ? (uint8_t)(seen->n_won + 1) : 0;
    if (seen->n_won < FS_TUNER_TO_WIN) {
        return;
    }
    class->choice = (uint8_t)candidate;
    seen->n_won   = 0;
    if (class->state != FS_TUNER_EXPLORE) {
        for (unsigned c = 0; c < FS_N_CANDIDATES; ++c) {
            class->seen[c].n_looks = 0;
        }
        class->recheck  = FS_TUNER_SOON;
        class->patience = FS_TUNER_PATIENCE;
        fs_tuner_enter(class, FS_TUNER_SETTLED);
    }
}

/* Has a settled choice become slow? */
static void watch(fs_tuner_class_t *class, uint64_t price)
{
    unsigned other = fs_tuner_best_other(class);
    bool     worse =
        other != FS_N_CANDIDATES &&
        fs_tuner_is_above(price, fs_tuner_price(class, (fs_candidate_t)other));

    class->n_worse = worse ? class->n_worse + 1 : 0;
}

/* A price that is looked at again is no longer what it was. */
static void note(fs_tuner_class_t *class, unsigned candidate, uint64_t price)
{
    fs_tuner_seen_t *seen   = &class->seen[candidate];
    bool             afresh = class->state == FS_TUNER_RECHECKS &&
                  candidate == class->rival && seen->n_asked == 1;

    seen->price[1]  = afresh ? 0 : seen->price[0];
    seen->price[0]  = price;
    class->measured = true;
}

static void add_time(fs_tuner_class_t *class, uint64_t run_ns, uint64_t bound)
{
    ++class->n_timed;
    class->timed_ns += run_ns;
    class->timed_bytes += bound;
}

void fs_tuner_update(fs_tuner_t *tuner, const fs_tuner_question_t *question,
                     uint64_t run_ns)
{
    fs_tuner_class_t *class =
        question->reason == FS_TUNER_NONE || run_ns == 0
            ? NULL
            : fs_tuner_class_to_change(tuner, question->of_class);
    unsigned candidate = question->candidate;
    uint64_t price;

    if (class == NULL) {
        return;
    }
    price = fs_tuner_price_of(run_ns, question->bound);
    if (question->warm_up && question->reason == FS_TUNER_PROBE &&
        !beats(class, price)) {
        class->recheck     = FS_TUNER_SOON;
        class->n_withdrawn = 0;
        return;
    }
    tuner->n_native -= fs_tuner_is_native(class);
    class->alarmed     = false;
    class->n_withdrawn = 0;
    add_time(class, run_ns, question->bound);
    note(class, candidate, price);
    if (candidate != class->choice) {
        judge(class, candidate, price);
    } else if (class->state == FS_TUNER_SETTLED) {
        watch(class, price);
    }
    tuner->n_native += fs_tuner_is_native(class);
}

void fs_tuner_hear(fs_tuner_t *tuner, const fs_tuner_question_t *question,
                   uint64_t about_ns)
{
    fs_tuner_class_t *class =
        question->reason != FS_TUNER_FOUND || about_ns == 0
            ? NULL
            : fs_tuner_class_to_change(tuner, question->of_class);
    uint64_t price;

    if (class == NULL) {
        return;
    }
    price = fs_tuner_price(class, question->candidate);
    add_time(class, about_ns, question->bound);
    class->alarmed |= price != 0 &&
                      fs_tuner_price_of(about_ns, question->bound) >
                          (fs_u128_t)price * FS_TUNER_FAR;
}

/* ---- what it was good for ---- */

fs_tuner_gain_t fs_tuner_gain(const fs_tuner_t *tuner)
{
    fs_tuner_gain_t gain = {0};

    for (uint32_t k = 0; k < FS_TUNER_CLASSES; ++k) {
        const fs_tuner_class_t *class = &tuner->classes[k];
        uint64_t price = fs_tuner_price(class, FS_CANDIDATE_NATIVE);

        if (class->used == 0 || price == 0) {
            gain.n_unknown += class->n_timed;
        } else {
            gain.n_calls += class->n_timed;
            gain.ns += class->timed_ns;
            gain.native_ns +=
                class->n_timed == 0
                    ? 0
                    : fs_tuner_scale(price, class->timed_bytes, 1 << 20);
        }
    }
    return gain;
}
