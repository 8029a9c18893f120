/* SPDX-License-Identifier: BSD-3-Clause */
#include "policy/fs_tuner_state.h"

enum { SKEWED_MILLI = 1500, HOT_MILLI = 3000 };

const char *fs_candidate_name(fs_candidate_t candidate)
{
    static const char *const names[] = {FS_CANDIDATE_MAP(FS_LIST_NAME)};

    return names[candidate];
}

const char *fs_tuned_name(fs_tuned_t tuned)
{
    static const char *const names[] = {FS_TUNED_MAP(FS_LIST_NAME)};

    return names[tuned];
}

const char *fs_tuner_skew_name(uint32_t of_class)
{
    static const char *const names[FS_TUNER_SKEW_BANDS] = {"even", "skewed",
                                                           "hot"};

    return names[fs_tuner_skew_band(of_class)];
}

/* ---- classes ---- */

static uint32_t log2_of(uint64_t x)
{
    return 63 - (uint32_t)__builtin_clzll(x | 1);
}

uint32_t fs_tuner_class(uint64_t inter_bytes, uint64_t mtm_milli,
                        uint64_t skew_milli)
{
    uint32_t mtm =
        fs_u32_min(log2_of(mtm_milli / 1000), FS_TUNER_MTM_BANDS - 1);
    uint32_t skew = skew_milli < SKEWED_MILLI ? 0
                    : skew_milli < HOT_MILLI  ? 1
                                              : 2;

    return fs_tuner_class_of(log2_of(inter_bytes), mtm, skew);
}

const fs_tuner_class_t *fs_tuner_find(const fs_tuner_t *tuner,
                                      uint32_t          of_class)
{
    for (uint32_t k = 0; k < FS_TUNER_CLASSES; ++k) {
        const fs_tuner_class_t *class = &tuner->classes[k];

        if (class->used != 0 && class->key == of_class) {
            return class;
        }
    }
    return NULL;
}

/* The same, to be changed. */
fs_tuner_class_t *fs_tuner_class_to_change(fs_tuner_t *tuner, uint32_t of_class)
{
    const fs_tuner_class_t *class = fs_tuner_find(tuner, of_class);

    return class == NULL ? NULL : &tuner->classes[class - tuner->classes];
}

bool fs_tuner_is_native(const fs_tuner_class_t *class)
{
    return class->used != 0 && class->state != FS_TUNER_EXPLORE &&
           class->choice == FS_CANDIDATE_NATIVE;
}

/* A place for a class: a free one, or that of the class whose last call is
 * longest ago. No two were used at the same time. */
static fs_tuner_class_t *make(fs_tuner_t *tuner, uint32_t of_class)
{
    fs_tuner_class_t *class = &tuner->classes[0];

    for (uint32_t k = 1; k < FS_TUNER_CLASSES; ++k) {
        if (tuner->classes[k].used < class->used) {
            class = &tuner->classes[k];
        }
    }
    tuner->n_native -= fs_tuner_is_native(class);
    *class = (fs_tuner_class_t){.used     = ++tuner->now,
                                .key      = of_class,
                                .state    = FS_TUNER_EXPLORE,
                                .recheck  = FS_TUNER_RECHECK,
                                .patience = FS_TUNER_PATIENCE};
    return class;
}

/* ---- the next call of a class ---- */

void fs_tuner_enter(fs_tuner_class_t *class, fs_tuner_state_t state)
{
    class->state    = (uint8_t)state;
    class->in_state = class->n_unseen = 0;
    class->n_worse                    = 0;
    if (state != FS_TUNER_SETTLED) {
        for (unsigned c = 0; c < FS_N_CANDIDATES; ++c) {
            class->seen[c].n_asked = class->seen[c].n_won = 0;
        }
    }
}

static fs_tuner_question_t ask(fs_tuner_class_t *class, unsigned candidate,
                               fs_tuner_reason_t reason)
{
    class->seen[candidate].n_asked += reason != FS_TUNER_FOUND;
    return (fs_tuner_question_t){.reason    = reason,
                                 .candidate = (fs_candidate_t)candidate,
                                 .of_class  = class->key};
}

static fs_tuner_question_t probe(const fs_tuner_t *tuner,
                                 fs_tuner_class_t *class, unsigned candidate)
{
    if (class->seen[candidate].n_asked == 0) {
        class->seen[candidate].promise =
            fs_tuner_predict(tuner, class, candidate);
    }
    return ask(class, candidate, FS_TUNER_PROBE);
}

/* It was one call, much slower than it should have been, and that is about what
 * the choice takes: perhaps something else happened. */
static bool has_surprised(const fs_tuner_class_t *class, unsigned c)
{
    const fs_tuner_seen_t *seen = &class->seen[c];
    uint64_t choice = fs_tuner_price(class, (fs_candidate_t) class->choice);

    return seen->n_asked == 1 && seen->n_won == 0 &&
           fs_tuner_is_known(seen->promise) &&
           seen->price[0] / 4 > seen->promise / 3 &&
           seen->promise / 5 <= choice / 4;
}

/* One call of the native algorithm was not so much slower that a second one could not be
 * faster. Without fast the program would have it: one call does not decide. */
static bool is_native_near(const fs_tuner_class_t *class, unsigned c)
{
    uint64_t choice = fs_tuner_price(class, (fs_candidate_t) class->choice);

    return c == FS_CANDIDATE_NATIVE && class->seen[c].n_asked == 1 &&
           class->seen[c].n_won == 0 &&
           class->seen[c].price[0] / 3 < choice / 2;
}

/* Whom to probe next: one that has been faster once, then who has not been probed,
 * the unknown and then the fastest first, then who deserves a second call.
 * FS_N_CANDIDATES: nobody. */
static unsigned next_rival(const fs_tuner_t *tuner,
                           const fs_tuner_class_t *class)
{
    uint64_t least = 0, price;
    unsigned next = FS_N_CANDIDATES, again = FS_N_CANDIDATES;

    for (unsigned c = 0; c < FS_N_CANDIDATES; ++c) {
        const fs_tuner_seen_t *seen = &class->seen[c];

        if (seen->n_won > 0 && c != class->choice && seen->estimate != 0) {
            return c;
        }
        if (again == FS_N_CANDIDATES && c != class->choice &&
            seen->estimate != 0 &&
            (has_surprised(class, c) || is_native_near(class, c))) {
            again = c;
        }
        /* unknown + 1 is 0: the least. */
        if (seen->n_asked == 0 && fs_tuner_is_rival(tuner, class, c, &price) &&
            !fs_tuner_can_wait(tuner, class, c, price) &&
            (next == FS_N_CANDIDATES || price + 1 < least)) {
            next  = c;
            least = price + 1;
        }
    }
    return next != FS_N_CANDIDATES ? next : again;
}

/* False: it is done, and the class is settled. */
static bool explore(const fs_tuner_t    *tuner, fs_tuner_class_t *class,
                    fs_tuner_question_t *question)
{
    bool     possible;
    unsigned rival;

    if (class->in_state == 0) {
        class->choice = (uint8_t)fs_tuner_guess(tuner, class);
    }
    possible = class->seen[class->choice].estimate != 0;
    if (class->in_state >= FS_TUNER_EXPLORE_CALLS) {
        return false;
    }
    if (possible && class->seen[class->choice].n_asked < FS_TUNER_TO_WIN) {
        *question = ask(class, class->choice, FS_TUNER_GUESS);
        return true;
    }
    rival = next_rival(tuner, class);
    if (rival != FS_N_CANDIDATES) {
        *question = probe(tuner, class, rival);
    }
    return rival != FS_N_CANDIDATES;
}

/* The lower the sooner it is looked at: the native algorithm if it never was, then by the
 * number of looks, with two more where it should not be faster than the choice, then by
 * what it took, or should. */
static fs_u128_t turn_of(const fs_tuner_t *tuner, const fs_tuner_class_t *class,
                         unsigned c, uint64_t hope)
{
    enum { BEHIND = 2 };
    const fs_tuner_seen_t *seen = &class->seen[c];
    uint64_t choice = fs_tuner_price(class, (fs_candidate_t) class->choice);
    bool     slower = hope != FS_TUNER_UNKNOWN && hope >= choice;
    uint32_t looks  = seen->n_looks + (slower ? BEHIND : 0);

    return c == FS_CANDIDATE_NATIVE && seen->price[0] == 0 && seen->n_looks < 2
               ? 0
               : (fs_u128_t)looks << 64 | fs_tuner_predict(tuner, class, c);
}

/* Whom to look at again. FS_N_CANDIDATES: there is none. */
static unsigned pick_rival(const fs_tuner_t *tuner,
                           const fs_tuner_class_t *class)
{
    unsigned  rival = FS_N_CANDIDATES;
    fs_u128_t least = 0;

    for (unsigned c = 0; c < FS_N_CANDIDATES; ++c) {
        uint64_t  hope;
        bool      is_rival = fs_tuner_is_rival(tuner, class, c, &hope);
        fs_u128_t turn     = turn_of(tuner, class, c, hope);

        if ((is_rival || (c == FS_CANDIDATE_NATIVE &&
                          fs_tuner_is_native_overlooked(tuner, class))) &&
            (rival == FS_N_CANDIDATES || turn < least)) {
            rival = c;
            least = turn;
        }
    }
    return rival;
}

/* The best of those that were measured. */
static unsigned pick_best(const fs_tuner_t *tuner,
                          const fs_tuner_class_t *class)
{
    unsigned best = fs_tuner_best_other(class);
    uint64_t price;

    return best != FS_N_CANDIDATES &&
                   fs_tuner_is_rival(tuner, class, best, &price)
               ? best
               : FS_N_CANDIDATES;
}

/* It is time, or the choice has become slow: there may be nobody to look at. */
static void recheck(const fs_tuner_t *tuner, fs_tuner_class_t *class)
{
    bool     slow  = class->n_worse >= class->patience;
    unsigned rival = slow ? pick_best(tuner, class) : pick_rival(tuner, class);

    if (rival == FS_N_CANDIDATES) {
        fs_tuner_enter(class, FS_TUNER_SETTLED);
        return;
    }
    class->rival = (uint8_t)rival;
    fs_tuner_enter(class, FS_TUNER_RECHECKS);
    if (slow) {
        class->patience = fs_u32_min(2 * class->patience, FS_TUNER_RECHECK);
    } else {
        class->recheck = fs_u32_min(2 * class->recheck, FS_TUNER_RECHECK_MOST);
        ++class->seen[rival].n_looks;
    }
}

/* Was the rival's call so slow that the next one cannot be clearly faster? */
static bool is_hopeless(const fs_tuner_class_t *class)
{
    uint64_t choice = fs_tuner_price(class, (fs_candidate_t) class->choice);

    return choice != 0 && class->seen[class->rival].price[0] >
                              (fs_u128_t)choice * FS_TUNER_FAR;
}

/* In RECHECK: the rival twice, as the first call after others is not like those that
 * follow, and once more if only the second was faster. */
static bool look_again(const fs_tuner_t    *tuner, fs_tuner_class_t *class,
                       fs_tuner_question_t *question)
{
    const fs_tuner_seen_t *rival = &class->seen[class->rival];

    if (rival->estimate == 0 ||
        rival->n_asked >= FS_TUNER_TO_WIN + (rival->n_won > 0) ||
        (rival->n_asked > 0 && is_hopeless(class))) {
        return false;
    }
    *question = probe(tuner, class, class->rival);
    return true;
}

/* What has been found so far; where this call cannot have it, the best of the others. */
static fs_candidate_t best_so_far(const fs_tuner_t *tuner,
                                  const fs_tuner_class_t *class)
{
    return class->state != FS_TUNER_EXPLORE &&
                   class->seen[class->choice].estimate != 0
               ? (fs_candidate_t) class->choice
               : fs_tuner_guess(tuner, class);
}

/* It has been slow: the more often that has changed nothing, the fewer are timed. */
static bool is_watched(const fs_tuner_class_t *class)
{
    uint32_t every = class->patience / FS_TUNER_PATIENCE;

    return class->n_worse > 0 && class->in_state % fs_u32_max(every, 1) == 0;
}

static fs_tuner_question_t step(const fs_tuner_t *tuner,
                                fs_tuner_class_t *class)
{
    fs_tuner_question_t question = {.reason = FS_TUNER_NONE};

    if (class->state == FS_TUNER_SETTLED &&
        (class->n_worse >= class->patience ||
         class->in_state + class->n_unseen >= class->recheck)) {
        recheck(tuner, class);
    }
    if (class->state == FS_TUNER_EXPLORE && !explore(tuner, class, &question)) {
        fs_tuner_enter(class, FS_TUNER_SETTLED);
        class->recheck = FS_TUNER_SOON;
    }
    if (class->state == FS_TUNER_RECHECKS &&
        !look_again(tuner, class, &question)) {
        fs_tuner_enter(class, FS_TUNER_SETTLED);
    }
    if (class->state == FS_TUNER_SETTLED) {
        question = ask(class, best_so_far(tuner, class), FS_TUNER_FOUND);
    }
    question.closes = question.reason != FS_TUNER_FOUND || class->alarmed ||
                      is_watched(class) ||
                      class->in_state % FS_TUNER_CLOSE == 0;
    ++class->in_state;
    ++class->n_calls;
    question.warm_up = question.candidate == FS_CANDIDATE_NATIVE &&
                       tuner->n_warm_ups < FS_TUNER_WARM_UPS;
    return question;
}

/* The class of a call, with its estimates. */
static fs_tuner_class_t *enter_call(fs_tuner_t            *tuner,
                                    const fs_tuner_call_t *call)
{
    fs_tuner_class_t *class = fs_tuner_class_to_change(tuner, call->of_class);

    if (class == NULL) {
        class = make(tuner, call->of_class);
    }
    class->used = ++tuner->now;
    for (unsigned c = 0; c < FS_N_CANDIDATES; ++c) {
        uint64_t ns = call->estimate[c];

        class->seen[c].estimate =
            fs_tuner_is_known(ns) ? fs_tuner_price_of(ns, call->bound) : ns;
    }
    return class;
}

fs_tuner_question_t fs_tuner_next(fs_tuner_t            *tuner,
                                  const fs_tuner_call_t *call)
{
    fs_tuner_class_t *class = enter_call(tuner, call);
    fs_tuner_question_t question;

    tuner->n_native -= fs_tuner_is_native(class);
    question       = step(tuner, class);
    question.bound = call->bound;
    tuner->n_native += fs_tuner_is_native(class);
    tuner->n_warm_ups += question.warm_up;
    return question;
}

void fs_tuner_count(fs_tuner_t *tuner, uint32_t of_class, uint32_t n_calls)
{
    fs_tuner_class_t *class = fs_tuner_class_to_change(tuner, of_class);

    if (class != NULL) {
        class->n_unseen += n_calls;
        class->n_calls += n_calls;
    }
}

bool fs_tuner_withdraw(fs_tuner_t *tuner, const fs_tuner_question_t *question)
{
    fs_tuner_class_t *class =
        fs_tuner_class_to_change(tuner, question->of_class);

    if (question->reason == FS_TUNER_FOUND) {
        tuner->n_warm_ups -= question->warm_up;
        return false;
    }
    if (class->n_withdrawn == FS_TUNER_WITHDRAWN_MOST) {
        return false;
    }
    tuner->n_warm_ups -= question->warm_up;
    ++class->n_withdrawn;
    --class->in_state;
    --class->seen[question->candidate].n_asked;
    return true;
}

fs_tuner_question_t fs_tuner_best(fs_tuner_t            *tuner,
                                  const fs_tuner_call_t *call,
                                  uint32_t               candidates)
{
    fs_tuner_class_t class = *enter_call(tuner, call);
    fs_candidate_t best;
    bool           found;

    for (unsigned c = 0; c < FS_N_CANDIDATES; ++c) {
        if (!(candidates & 1u << c)) {
            class.seen[c].estimate = 0;
        }
    }
    best  = best_so_far(tuner, &class);
    found = class.state != FS_TUNER_EXPLORE && best == class.choice;
    return class.seen[best].estimate == 0
               ? (fs_tuner_question_t){.reason = FS_TUNER_NONE}
               : (fs_tuner_question_t){.reason    = found ? FS_TUNER_FOUND
                                                          : FS_TUNER_GUESS,
                                       .candidate = best,
                                       .of_class  = class.key,
                                       .bound     = call->bound};
}

/* word: its key, and 1. NULL: it is forgotten, or word is 0. */
static fs_tuner_class_t *class_of_word(fs_tuner_t *tuner, uint32_t word)
{
    return word == 0 ? NULL : fs_tuner_class_to_change(tuner, word - 1);
}

uint32_t fs_tuner_follow(fs_tuner_t *tuner, fs_tuner_history_t *history,
                         uint32_t of_class)
{
    uint32_t          word  = of_class + 1;
    fs_tuner_class_t *last  = class_of_word(tuner, history->last);
    fs_tuner_class_t *class = class_of_word(tuner, word);
    bool again              = history->last == word;

    if (last != NULL) {
        last->follows[history->again]  = last->follower[history->again] == word;
        last->follower[history->again] = word;
    }
    *history = (fs_tuner_history_t){.last = word, .again = again};
    return class != NULL && class->follows[again] &&
                   class_of_word(tuner, class->follower[again]) != NULL
               ? class->follower[again] - 1
               : of_class;
}

fs_candidate_t fs_tuner_choice(const fs_tuner_t *tuner, uint32_t of_class)
{
    return best_so_far(tuner, fs_tuner_find(tuner, of_class));
}

fs_tuner_question_t fs_tuner_peek(const fs_tuner_t *tuner, uint32_t of_class)
{
    const fs_tuner_class_t *class = fs_tuner_find(tuner, of_class);
    fs_tuner_class_t copy;
    unsigned         possible = 0;

    if (class != NULL) {
        copy = *class;
        for (unsigned c = 0; c < FS_N_CANDIDATES; ++c) {
            possible |= class->seen[c].estimate != 0;
        }
    }
    return possible ? step(tuner, &copy)
                    : (fs_tuner_question_t){.reason = FS_TUNER_NONE};
}

/* ---- what an earlier run has found ---- */

void fs_tuner_seed(fs_tuner_t *tuner, uint32_t of_class, fs_candidate_t choice,
                   const uint64_t prices[FS_N_CANDIDATES])
{
    fs_tuner_class_t *class = fs_tuner_class_to_change(tuner, of_class);

    if (class == NULL) {
        class = make(tuner, of_class);
    }
    tuner->n_native -= fs_tuner_is_native(class);
    class->choice = (uint8_t)choice;
    for (unsigned c = 0; c < FS_N_CANDIDATES; ++c) {
        class->seen[c] = (fs_tuner_seen_t){.price    = {prices[c], 0},
                                           .estimate = FS_TUNER_UNKNOWN};
    }
    fs_tuner_enter(class, FS_TUNER_SETTLED);
    tuner->n_native += fs_tuner_is_native(class);
}
