/* SPDX-License-Identifier: BSD-3-Clause */
#include "policy/fs_tuner.h"

#include "base/fs_arith.h"

enum { SKEWED_MILLI = 1500, HOT_MILLI = 3000, TO_WIN = 2 };

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
static fs_tuner_class_t *find(fs_tuner_t *tuner, uint32_t of_class)
{
    const fs_tuner_class_t *class = fs_tuner_find(tuner, of_class);

    return class == NULL ? NULL : &tuner->classes[class - tuner->classes];
}

static bool is_native(const fs_tuner_class_t *class)
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
    tuner->n_native -= is_native(class);
    *class = (fs_tuner_class_t){.used     = ++tuner->now,
                                .key      = of_class,
                                .state    = FS_TUNER_EXPLORE,
                                .recheck  = FS_TUNER_RECHECK,
                                .patience = FS_TUNER_PATIENCE};
    return class;
}

/* ---- prices ---- */

/* Nanoseconds per MiB of the lower bound, never 0. */
static uint64_t price_of(uint64_t ns, uint64_t bound)
{
    fs_u128_t price = ((fs_u128_t)ns << 20) / bound;

    return price >= UINT64_MAX ? UINT64_MAX - 1
                               : fs_u64_max((uint64_t)price, 1);
}

/* a x b / c, and below UNKNOWN. */
static uint64_t scale(uint64_t a, uint64_t b, uint64_t c)
{
    fs_u128_t x = (fs_u128_t)a * b / fs_u64_max(c, 1);

    return x >= UINT64_MAX ? UINT64_MAX - 1 : fs_u64_max((uint64_t)x, 1);
}

/* One slow call, the first that ever ran say, decides nothing. */
uint64_t fs_tuner_price(const fs_tuner_class_t *class, fs_candidate_t candidate)
{
    const uint64_t *price = class->seen[candidate].price;

    return price[1] == 0 ? price[0] : fs_u64_min(price[0], price[1]);
}

/* a is more than the margin above b. */
static bool clearly_above(uint64_t a, uint64_t b)
{
    return (fs_u128_t)a * 100 > (fs_u128_t)b * (100 + FS_TUNER_MARGIN);
}

static bool is_known(uint64_t estimate)
{
    return estimate != 0 && estimate != FS_TUNER_UNKNOWN;
}

/* ---- what should a candidate take? ---- */

/* The candidate of the lowest price, of those that the model has an estimate of if
 * `modelled`; FS_N_CANDIDATES: nothing has been measured. */
static unsigned best_measured(const fs_tuner_class_t *class, bool modelled)
{
    unsigned best = FS_N_CANDIDATES;

    for (unsigned c = 0; c < FS_N_CANDIDATES; ++c) {
        uint64_t price = fs_tuner_price(class, (fs_candidate_t)c);

        if (price != 0 && (!modelled || is_known(class->seen[c].estimate)) &&
            (best == FS_N_CANDIDATES ||
             price < fs_tuner_price(class, (fs_candidate_t)best))) {
            best = c;
        }
    }
    return best;
}

/* What this estimate becomes if the model is as wrong as it was about candidate c
 * of that class. */
static uint64_t correct(uint64_t estimate, const fs_tuner_class_t *class,
                        unsigned c)
{
    return scale(estimate, fs_tuner_price(class, (fs_candidate_t)c),
                 class->seen[c].estimate);
}

enum { N_NEIGHBOURS = 6 };

/* Half and twice the bytes, then the bands of less and of more skew. A band that
 * does not exist: the class itself. */
static void find_neighbours(uint32_t of_class, uint32_t keys[N_NEIGHBOURS])
{
    enum { MTM = FS_TUNER_SKEW_BANDS, BYTES = FS_TUNER_MTM_BANDS * MTM };
    uint32_t mtm  = fs_tuner_mtm_band(of_class);
    uint32_t skew = fs_tuner_skew_band(of_class);

    keys[0] = of_class - BYTES;
    keys[1] = of_class + BYTES;
    keys[2] = of_class - (mtm > 0 ? MTM : 0);
    keys[3] = of_class + (mtm + 1 < FS_TUNER_MTM_BANDS ? MTM : 0);
    keys[4] = of_class - (skew > 0);
    keys[5] = of_class + (skew + 1 < FS_TUNER_SKEW_BANDS);
}

/* As the neighbours have it, the first first. 0: they have not. */
static uint64_t from_neighbours(const fs_tuner_t *tuner,
                                const fs_tuner_class_t *class, unsigned c)
{
    uint32_t keys[N_NEIGHBOURS];
    uint64_t estimate = class->seen[c].estimate;

    find_neighbours(class->key, keys);
    for (int k = 0; k < N_NEIGHBOURS; ++k) {
        const fs_tuner_class_t *other = fs_tuner_find(tuner, keys[k]);
        uint64_t                price =
            other == NULL ? 0 : fs_tuner_price(other, (fs_candidate_t)c);

        if (price != 0 && is_known(estimate) &&
            is_known(other->seen[c].estimate)) {
            return correct(estimate, other, c);
        }
        if (price != 0 && !is_known(estimate)) {
            return price;
        }
    }
    /* Nothing of this candidate; of others, if this class has none of them. */
    for (int k = 0; k < N_NEIGHBOURS && is_known(estimate) &&
                    best_measured(class, true) == FS_N_CANDIDATES;
         ++k) {
        const fs_tuner_class_t *other = fs_tuner_find(tuner, keys[k]);
        unsigned                best  = other == NULL ? FS_N_CANDIDATES
                                                      : best_measured(other, true);

        if (best != FS_N_CANDIDATES) {
            return correct(estimate, other, best);
        }
    }
    return 0;
}

/* 0: it is not possible. */
static uint64_t predict(const fs_tuner_t *tuner, const fs_tuner_class_t *class,
                        unsigned          c)
{
    uint64_t estimate = class->seen[c].estimate;
    uint64_t price    = fs_tuner_price(class, (fs_candidate_t)c);
    unsigned best;

    if (estimate == 0 || price != 0) {
        return estimate == 0 ? 0 : price;
    }
    price = from_neighbours(tuner, class, c);
    if (price != 0 || !is_known(estimate)) {
        return price != 0 ? price : FS_TUNER_UNKNOWN;
    }
    best = best_measured(class, true);
    return best == FS_N_CANDIDATES ? estimate : correct(estimate, class, best);
}

/* The lowest index wins a tie; unknown is the last. */
static fs_candidate_t guess(const fs_tuner_t *tuner,
                            const fs_tuner_class_t *class)
{
    uint64_t least = 0;
    unsigned best  = 0;

    for (unsigned c = 0; c < FS_N_CANDIDATES; ++c) {
        uint64_t price = predict(tuner, class, c);

        if (price != 0 && (least == 0 || price < least)) {
            least = price;
            best  = c;
        }
    }
    return (fs_candidate_t)best;
}

/* The best that is known: a price, or where there is none what the guess should
 * take. */
static uint64_t best_known(const fs_tuner_t *tuner,
                           const fs_tuner_class_t *class)
{
    unsigned best = best_measured(class, false);

    return best != FS_N_CANDIDATES ? fs_tuner_price(class, (fs_candidate_t)best)
                                   : predict(tuner, class, guess(tuner, class));
}

/* Is it so far from that that it is not worth a call? */
static bool is_far(const fs_tuner_t *tuner, const fs_tuner_class_t *class,
                   uint64_t          price)
{
    return price != FS_TUNER_UNKNOWN &&
           price > (fs_u128_t)best_known(tuner, class) * FS_TUNER_FAR;
}

/* What it may take once it is warm: of its first calls the model knows better. */
static uint64_t hope(const fs_tuner_t *tuner, const fs_tuner_class_t *class,
                     unsigned          c)
{
    const fs_tuner_seen_t *seen  = &class->seen[c];
    uint64_t               price = predict(tuner, class, c);
    unsigned               best  = best_measured(class, true);

    return seen->n_timed > 0 && seen->n_timed < FS_TUNER_WARM &&
                   is_known(seen->estimate) && best != FS_N_CANDIDATES
               ? fs_u64_min(price, correct(seen->estimate, class, best))
               : price;
}

/* May the call be lent to this candidate? *price_p: what it should take. */
static bool is_rival(const fs_tuner_t *tuner, const fs_tuner_class_t *class,
                     unsigned c, uint64_t *price_p)
{
    *price_p = hope(tuner, class, c);
    return c != class->choice && *price_p != 0 &&
           !is_far(tuner, class, *price_p);
}

/* Has a neighbouring class had two calls of this candidate? */
static bool is_measured_nearby(const fs_tuner_t *tuner,
                               const fs_tuner_class_t *class, unsigned c)
{
    uint32_t keys[N_NEIGHBOURS];
    bool     is_measured = false;

    find_neighbours(class->key, keys);
    for (int k = 0; k < N_NEIGHBOURS; ++k) {
        const fs_tuner_class_t *other = fs_tuner_find(tuner, keys[k]);

        is_measured = is_measured ||
                      (other != NULL && other->seen[c].price[1] != 0);
    }
    return is_measured;
}

/* Two calls in a neighbouring class say more of a candidate than the model does: where
 * it was clearly slower there it can wait until this class is settled. Programs whose
 * matrices change from call to call have many classes. */
static bool can_wait(const fs_tuner_t *tuner, const fs_tuner_class_t *class,
                     unsigned c, uint64_t price)
{
    return fs_tuner_price(class, (fs_candidate_t)c) == 0 &&
           is_measured_nearby(tuner, class, c) &&
           price / 3 > best_known(tuner, class) / 2;
}

/* Does the model alone say that the MPI's own algorithm is not worth a call, or with it
 * one call in a neighbouring class, which may have been slow by chance? Without fast
 * the program would have it: it gets one, once the class is settled. */
static bool is_native_overlooked(const fs_tuner_t *tuner,
                                 const fs_tuner_class_t *class)
{
    return class->choice != FS_CANDIDATE_NATIVE &&
           class->seen[FS_CANDIDATE_NATIVE].estimate != 0 &&
           fs_tuner_price(class, FS_CANDIDATE_NATIVE) == 0 &&
           !is_measured_nearby(tuner, class, FS_CANDIDATE_NATIVE);
}

/* ---- the next call of a class ---- */

static void enter(fs_tuner_class_t *class, fs_tuner_state_t state)
{
    class->state    = (uint8_t)state;
    class->in_state = 0;
    class->n_worse  = 0;
    if (state != FS_TUNER_SETTLED) {
        for (unsigned c = 0; c < FS_N_CANDIDATES; ++c) {
            class->seen[c].n_asked = class->seen[c].n_won = 0;
        }
    }
}

static fs_tuner_question_t ask(fs_tuner_class_t *class, unsigned candidate,
                               fs_tuner_reason_t reason)
{
    if (reason != FS_TUNER_FOUND &&
        class->seen[candidate].n_asked < UINT8_MAX) {
        ++class->seen[candidate].n_asked;
    }
    return (fs_tuner_question_t){.reason    = reason,
                                 .candidate = (fs_candidate_t)candidate,
                                 .of_class  = class->key};
}

static fs_tuner_question_t probe(const fs_tuner_t *tuner,
                                 fs_tuner_class_t *class, unsigned candidate)
{
    if (class->seen[candidate].n_asked == 0) {
        class->seen[candidate].promise = predict(tuner, class, candidate);
    }
    return ask(class, candidate, FS_TUNER_PROBE);
}

/* It was one call, much slower than it should have been, and that is about what
 * the choice takes: perhaps something else happened. */
static bool has_surprised(const fs_tuner_class_t *class, unsigned c)
{
    const fs_tuner_seen_t *seen = &class->seen[c];
    uint64_t choice = fs_tuner_price(class, (fs_candidate_t) class->choice);

    return seen->n_asked == 1 && seen->n_won == 0 && is_known(seen->promise) &&
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
        if (seen->n_asked == 0 && is_rival(tuner, class, c, &price) &&
            !can_wait(tuner, class, c, price) &&
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
        class->choice = (uint8_t)guess(tuner, class);
    }
    possible = class->seen[class->choice].estimate != 0;
    if (class->in_state >= FS_TUNER_EXPLORE_CALLS) {
        return false;
    }
    if (possible && class->seen[class->choice].n_asked < TO_WIN) {
        *question = ask(class, class->choice, FS_TUNER_GUESS);
        return true;
    }
    rival = next_rival(tuner, class);
    if (rival != FS_N_CANDIDATES) {
        *question = probe(tuner, class, rival);
    }
    return rival != FS_N_CANDIDATES;
}

/* Whom to look at again: the one whose price is the oldest; if the choice has become
 * slow, the best. FS_N_CANDIDATES: there is none. */
static unsigned pick_rival(const fs_tuner_t *tuner,
                           const fs_tuner_class_t *class, bool slow)
{
    unsigned rival = FS_N_CANDIDATES;
    uint64_t least = 0, price;

    for (unsigned c = 0; c < FS_N_CANDIDATES; ++c) {
        uint64_t rank = slow ? fs_tuner_price(class, (fs_candidate_t)c)
                             : class->seen[c].when;

        if (!is_rival(tuner, class, c, &price) &&
            (c != FS_CANDIDATE_NATIVE || !is_native_overlooked(tuner, class))) {
            continue;
        }
        if (slow && rank == 0) {
            continue;
        }
        if (rival == FS_N_CANDIDATES || rank < least) {
            rival = c;
            least = rank;
        }
    }
    return rival;
}

/* It is time: there may be nobody to look at. */
static void recheck(const fs_tuner_t *tuner, fs_tuner_class_t *class)
{
    bool     slow  = class->n_worse >= class->patience;
    unsigned rival = pick_rival(tuner, class, slow);

    if (rival == FS_N_CANDIDATES) {
        enter(class, FS_TUNER_SETTLED);
        return;
    }
    class->rival = (uint8_t)rival;
    enter(class, FS_TUNER_RECHECKS);
    if (slow) {
        class->patience = fs_u32_min(2 * class->patience, FS_TUNER_RECHECK);
    } else {
        class->recheck = fs_u32_min(2 * class->recheck, FS_TUNER_RECHECK_MOST);
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

    if (rival->estimate == 0 || rival->n_asked >= TO_WIN + (rival->n_won > 0) ||
        (rival->n_asked > 0 && is_hopeless(class))) {
        return false;
    }
    *question = probe(tuner, class, class->rival);
    return true;
}

/* What has been found; where this call cannot have it, the best of the others. */
static fs_tuner_question_t found(const fs_tuner_t *tuner,
                                 fs_tuner_class_t *class)
{
    return class->seen[class->choice].estimate != 0
               ? ask(class, class->choice, FS_TUNER_FOUND)
               : ask(class, guess(tuner, class), FS_TUNER_FOUND);
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
         class->in_state >= class->recheck)) {
        recheck(tuner, class);
    }
    if (class->state == FS_TUNER_EXPLORE && !explore(tuner, class, &question)) {
        enter(class, FS_TUNER_SETTLED);
        class->recheck = FS_TUNER_SOON;
    }
    if (class->state == FS_TUNER_RECHECKS &&
        !look_again(tuner, class, &question)) {
        enter(class, FS_TUNER_SETTLED);
    }
    if (class->state == FS_TUNER_SETTLED) {
        question = found(tuner, class);
    }
    question.closes = question.reason != FS_TUNER_FOUND || class->alarmed ||
                      is_watched(class) ||
                      class->in_state % FS_TUNER_CLOSE == 0;
    ++class->in_state;
    ++class->n_calls;
    question.warm_up = question.reason == FS_TUNER_PROBE &&
                       question.candidate == FS_CANDIDATE_NATIVE &&
                       tuner->n_warm_ups < FS_TUNER_WARM_UPS;
    return question;
}

/* The class of a call, with its estimates. */
static fs_tuner_class_t *enter_call(fs_tuner_t            *tuner,
                                    const fs_tuner_call_t *call)
{
    fs_tuner_class_t *class = find(tuner, call->of_class);

    if (class == NULL) {
        class = make(tuner, call->of_class);
    }
    class->used = ++tuner->now;
    for (unsigned c = 0; c < FS_N_CANDIDATES; ++c) {
        uint64_t ns = call->estimate[c];

        class->seen[c].estimate = is_known(ns) ? price_of(ns, call->bound) : ns;
    }
    return class;
}

fs_tuner_question_t fs_tuner_next(fs_tuner_t            *tuner,
                                  const fs_tuner_call_t *call)
{
    fs_tuner_class_t *class = enter_call(tuner, call);
    fs_tuner_question_t question;

    tuner->n_native -= is_native(class);
    question       = step(tuner, class);
    question.bound = call->bound;
    tuner->n_native += is_native(class);
    tuner->n_warm_ups += question.candidate == FS_CANDIDATE_NATIVE &&
                         tuner->n_warm_ups < FS_TUNER_WARM_UPS;
    return question;
}

bool fs_tuner_withdraw(fs_tuner_t *tuner, const fs_tuner_question_t *question)
{
    fs_tuner_class_t *class = find(tuner, question->of_class);

    if (question->reason == FS_TUNER_FOUND) {
        return false;
    }
    if (class->n_withdrawn == FS_TUNER_WITHDRAWN_MOST) {
        class->seen[question->candidate].when = ++tuner->now;
        return false;
    }
    tuner->n_warm_ups -= question->warm_up;
    ++class->n_withdrawn;
    --class->in_state;
    --class->seen[question->candidate].n_asked;
    return true;
}

/* What has been found so far; what that is may not be possible. */
static fs_candidate_t best_so_far(const fs_tuner_t *tuner,
                                  const fs_tuner_class_t *class)
{
    return class->state != FS_TUNER_EXPLORE &&
                   class->seen[class->choice].estimate != 0
               ? (fs_candidate_t) class->choice
               : guess(tuner, class);
}

fs_tuner_question_t fs_tuner_best(fs_tuner_t            *tuner,
                                  const fs_tuner_call_t *call)
{
    const fs_tuner_class_t *class = enter_call(tuner, call);
    fs_candidate_t best           = best_so_far(tuner, class);
    bool found = class->state != FS_TUNER_EXPLORE && best == class->choice;

    return (fs_tuner_question_t){.reason    = found ? FS_TUNER_FOUND
                                                    : FS_TUNER_GUESS,
                                 .candidate = best,
                                 .of_class  = class->key,
                                 .bound     = call->bound};
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

/* ---- verdicts ---- */

/* The other candidate has taken so much; is that clearly less than the choice? */
static bool beats(const fs_tuner_class_t *class, uint64_t price)
{
    uint64_t choice = fs_tuner_price(class, (fs_candidate_t) class->choice);

    return choice != 0 && clearly_above(choice, price);
}

static void judge(fs_tuner_class_t *class, unsigned candidate, uint64_t price)
{
    fs_tuner_seen_t *seen = &class->seen[candidate];

    seen->n_won = beats(class, price) ? (uint8_t)(seen->n_won + 1) : 0;
    if (seen->n_won < TO_WIN) {
        return;
    }
    class->choice = (uint8_t)candidate;
    seen->n_won   = 0;
    if (class->state != FS_TUNER_EXPLORE) {
        class->recheck  = FS_TUNER_SOON;
        class->patience = FS_TUNER_PATIENCE;
        enter(class, FS_TUNER_SETTLED);
    }
}

/* The lowest price of the others that are possible; 0: there is none. */
static uint64_t second(const fs_tuner_class_t *class)
{
    uint64_t least = 0;

    for (unsigned c = 0; c < FS_N_CANDIDATES; ++c) {
        uint64_t price = fs_tuner_price(class, (fs_candidate_t)c);

        if (c != class->choice && class->seen[c].estimate != 0 && price != 0 &&
            (least == 0 || price < least)) {
            least = price;
        }
    }
    return least;
}

/* Has a settled choice become slow? */
static void watch(fs_tuner_class_t *class, uint64_t price)
{
    uint64_t other = second(class);
    bool     worse = other != 0 && clearly_above(price, other);

    class->n_worse = worse ? class->n_worse + 1 : 0;
}

/* A price that is looked at again is no longer what it was. */
static void note(fs_tuner_t *tuner, fs_tuner_class_t *class, unsigned candidate,
                 uint64_t price)
{
    fs_tuner_seen_t *seen   = &class->seen[candidate];
    bool             afresh = class->state == FS_TUNER_RECHECKS &&
                  candidate == class->rival && seen->n_asked == 1;

    seen->price[1] = afresh ? 0 : seen->price[0];
    seen->price[0] = price;
    seen->when     = ++tuner->now;
    seen->n_timed += seen->n_timed < FS_TUNER_WARM;
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
    fs_tuner_class_t *class = question->reason == FS_TUNER_NONE || run_ns == 0
                                  ? NULL
                                  : find(tuner, question->of_class);
    unsigned candidate      = question->candidate;
    uint64_t price;

    if (class == NULL) {
        return;
    }
    price = price_of(run_ns, question->bound);
    if (question->warm_up && !beats(class, price)) {
        class->recheck     = FS_TUNER_SOON;
        class->n_withdrawn = 0;
        return;
    }
    tuner->n_native -= is_native(class);
    class->alarmed     = false;
    class->n_withdrawn = 0;
    add_time(class, run_ns, question->bound);
    note(tuner, class, candidate, price);
    if (candidate != class->choice) {
        judge(class, candidate, price);
    } else if (class->state == FS_TUNER_SETTLED) {
        watch(class, price);
    }
    tuner->n_native += is_native(class);
}

void fs_tuner_hear(fs_tuner_t *tuner, const fs_tuner_question_t *question,
                   uint64_t about_ns)
{
    fs_tuner_class_t *class = question->reason != FS_TUNER_FOUND ||
                                      about_ns == 0
                                  ? NULL
                                  : find(tuner, question->of_class);
    uint64_t price;

    if (class == NULL) {
        return;
    }
    price = fs_tuner_price(class, question->candidate);
    add_time(class, about_ns, question->bound);
    class->alarmed |= price != 0 && price_of(about_ns, question->bound) >
                                        (fs_u128_t)price * FS_TUNER_FAR;
}

void fs_tuner_seed(fs_tuner_t *tuner, uint32_t of_class, fs_candidate_t choice,
                   const uint64_t prices[FS_N_CANDIDATES])
{
    fs_tuner_class_t *class = find(tuner, of_class);

    if (class == NULL) {
        class = make(tuner, of_class);
    }
    tuner->n_native -= is_native(class);
    class->choice = (uint8_t)choice;
    for (unsigned c = 0; c < FS_N_CANDIDATES; ++c) {
        class->seen[c] = (fs_tuner_seen_t){.price    = {prices[c], 0},
                                           .n_timed  = FS_TUNER_WARM,
                                           .estimate = FS_TUNER_UNKNOWN};
    }
    enter(class, FS_TUNER_SETTLED);
    tuner->n_native += is_native(class);
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
            gain.native_ns += class->n_timed == 0
                                  ? 0
                                  : scale(price, class->timed_bytes, 1 << 20);
        }
    }
    return gain;
}
