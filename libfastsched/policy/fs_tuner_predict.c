/* SPDX-License-Identifier: BSD-3-Clause */
/* What should a candidate take? As it did, as in calls nearly like it, or as the
 * model says. */
#include "policy/fs_tuner_state.h"

/* One slow call, the first that ever ran say, decides nothing. */
uint64_t fs_tuner_price(const fs_tuner_class_t *class, fs_candidate_t candidate)
{
    const uint64_t *price = class->seen[candidate].price;

    return price[1] == 0 ? price[0] : fs_u64_min(price[0], price[1]);
}

/* Of these two that of the lower price, c if it is; FS_N_CANDIDATES: none so far. */
static unsigned cheaper(const fs_tuner_class_t *class, unsigned best,
                        unsigned c)
{
    uint64_t price = fs_tuner_price(class, (fs_candidate_t)c);

    return price != 0 && (best == FS_N_CANDIDATES ||
                          price < fs_tuner_price(class, (fs_candidate_t)best))
               ? c
               : best;
}

unsigned fs_tuner_best_measured(const fs_tuner_class_t *class, bool modelled)
{
    unsigned best = FS_N_CANDIDATES;

    for (unsigned c = 0; c < FS_N_CANDIDATES; ++c) {
        if (!modelled || fs_tuner_is_known(class->seen[c].estimate)) {
            best = cheaper(class, best, c);
        }
    }
    return best;
}

unsigned fs_tuner_best_other(const fs_tuner_class_t *class)
{
    unsigned best = FS_N_CANDIDATES;

    for (unsigned c = 0; c < FS_N_CANDIDATES; ++c) {
        if (c != class->choice && class->seen[c].estimate != 0) {
            best = cheaper(class, best, c);
        }
    }
    return best;
}

/* What this estimate becomes if the model is as wrong as it was about candidate c
 * of that class. */
static uint64_t correct(uint64_t estimate, const fs_tuner_class_t *class,
                        unsigned c)
{
    return fs_tuner_scale(estimate, fs_tuner_price(class, (fs_candidate_t)c),
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

        if (price != 0 && fs_tuner_is_known(estimate) &&
            fs_tuner_is_known(other->seen[c].estimate)) {
            return correct(estimate, other, c);
        }
        if (price != 0 && !fs_tuner_is_known(estimate)) {
            return price;
        }
    }
    /* Nothing of this candidate; of others, if this class has none of them. */
    for (int k = 0; k < N_NEIGHBOURS && fs_tuner_is_known(estimate) &&
                    fs_tuner_best_measured(class, true) == FS_N_CANDIDATES;
         ++k) {
        const fs_tuner_class_t *other = fs_tuner_find(tuner, keys[k]);
        unsigned                best  = other == NULL ? FS_N_CANDIDATES
                                                      : fs_tuner_best_measured(other, true);

        if (best != FS_N_CANDIDATES) {
            return correct(estimate, other, best);
        }
    }
    return 0;
}

/* 0: it is not possible. */
uint64_t fs_tuner_predict(const fs_tuner_t *tuner,
                          const fs_tuner_class_t *class, unsigned c)
{
    uint64_t estimate = class->seen[c].estimate;
    uint64_t price    = fs_tuner_price(class, (fs_candidate_t)c);
    unsigned best;

    if (estimate == 0 || price != 0) {
        return estimate == 0 ? 0 : price;
    }
    price = from_neighbours(tuner, class, c);
    if (price != 0 || !fs_tuner_is_known(estimate)) {
        return price != 0 ? price : FS_TUNER_UNKNOWN;
    }
    best = fs_tuner_best_measured(class, true);
    return best == FS_N_CANDIDATES ? estimate : correct(estimate, class, best);
}

/* The lowest index wins a tie; unknown is the last. */
fs_candidate_t fs_tuner_guess(const fs_tuner_t *tuner,
                              const fs_tuner_class_t *class)
{
    uint64_t least = 0;
    unsigned best  = 0;

    for (unsigned c = 0; c < FS_N_CANDIDATES; ++c) {
        uint64_t price = fs_tuner_predict(tuner, class, c);

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
    unsigned best = fs_tuner_best_measured(class, false);

    return best != FS_N_CANDIDATES
               ? fs_tuner_price(class, (fs_candidate_t)best)
               : fs_tuner_predict(tuner, class, fs_tuner_guess(tuner, class));
}

/* Is it so far from that that it is not worth a call? */
static bool is_far(const fs_tuner_t *tuner, const fs_tuner_class_t *class,
                   uint64_t          price)
{
    return price != FS_TUNER_UNKNOWN &&
           price > (fs_u128_t)best_known(tuner, class) * FS_TUNER_FAR;
}

/* What it may take: its last calls may have been slow by chance, and then the model
 * knows better. */
static uint64_t hope(const fs_tuner_t *tuner, const fs_tuner_class_t *class,
                     unsigned          c)
{
    uint64_t estimate = class->seen[c].estimate;
    uint64_t price    = fs_tuner_price(class, (fs_candidate_t)c);
    unsigned best     = fs_tuner_best_measured(class, true);

    return price != 0 && fs_tuner_is_known(estimate) && best != FS_N_CANDIDATES
               ? fs_u64_min(price, correct(estimate, class, best))
               : fs_tuner_predict(tuner, class, c);
}

/* May the call be lent to this candidate? *price_p: what it should take. */
bool fs_tuner_is_rival(const fs_tuner_t *tuner, const fs_tuner_class_t *class,
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
bool fs_tuner_can_wait(const fs_tuner_t *tuner, const fs_tuner_class_t *class,
                       unsigned c, uint64_t price)
{
    return fs_tuner_price(class, (fs_candidate_t)c) == 0 &&
           is_measured_nearby(tuner, class, c) &&
           price / 3 > best_known(tuner, class) / 2;
}

/* Does the model alone say that the MPI's own algorithm is not worth a call, or with it
 * one call in a neighbouring class, which may have been slow by chance? Without fast
 * the program would have it: it gets one, once the class is settled. */
bool fs_tuner_is_native_overlooked(const fs_tuner_t *tuner,
                                   const fs_tuner_class_t *class)
{
    return class->choice != FS_CANDIDATE_NATIVE &&
           class->seen[FS_CANDIDATE_NATIVE].estimate != 0 &&
           fs_tuner_price(class, FS_CANDIDATE_NATIVE) == 0 &&
           !is_measured_nearby(tuner, class, FS_CANDIDATE_NATIVE);
}
