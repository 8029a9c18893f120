/* SPDX-License-Identifier: BSD-3-Clause */
/*
 *   epoch     16 calls of what serves: who is late?
 *   trials    4 calls each of what is not known, one after another
 *   then      epochs of the fastest, until somebody else is late, or the others are
 *             to be tried again
 *
 * StragglAR pays from the critical delay on: from then on its early rounds save more
 * than what its late rounds cost beside those of a ring (StragglAR App. B). From there on
 * it is tried, and then STREAM; without trials half as much again is asked for. Two
 * thirds of that are enough to go on.
 */
#include "policy/fs_late.h"

#include "base/fs_arith.h"

#include <string.h>

enum { LONGEST_PAUSE = 64, GAIN = 50 /* a fiftieth */ };

/* By the whole part of the logarithm. */
static uint32_t class_index(uint64_t bytes)
{
    return 63 - (uint32_t)__builtin_clzll(bytes);
}

static bool is_for_late(fs_late_candidate_t candidate)
{
    return candidate == FS_LATE_STRAGGLAR || candidate == FS_LATE_STREAM;
}

void fs_late_init(fs_late_t *late, const fs_late_setup_t *setup)
{
    memset(late, 0, sizeof(*late));
    late->setup = *setup;
    for (uint32_t k = 0; k < FS_LATE_CLASSES; ++k) {
        late->classes[k].serves     = setup->compares ? FS_LATE_NATIVE
                                                      : FS_LATE_RING;
        late->classes[k].straggler  = FS_LATE_NOBODY;
        late->classes[k].next_pause = 1;
    }
}

fs_late_choice_t fs_late_choose(const fs_late_t *late, uint64_t bytes)
{
    static const fs_alg_t algs[] = {
#define X(_value, _word, _alg) [_value] = (_alg),
        FS_LATE_MAP(X)
#undef X
    };
    const fs_late_class_t *class = &late->classes[class_index(bytes)];
    bool found                   = class->ns[class->serves] != 0;

    return (fs_late_choice_t){.alg       = algs[class->serves],
                              .straggler = class->straggler,
                              .streams   = class->serves == FS_LATE_STREAM,
                              .reason    = !late->setup.compares
                                               ? class->serves == FS_LATE_STRAGGLAR
                                                     ? "a rank is late"
                                                     : "no rank is late"
                                           : class->is_trial ? "trial"
                                           : found           ? "fastest so far"
                                                             : "who is late?"};
}

/* So many calls of an epoch count. */
static uint32_t epoch_calls(const fs_late_class_t *class)
{
    return class->is_trial ? FS_LATE_TRIAL : FS_LATE_EPOCH;
}

bool fs_late_add(fs_late_t *late, uint64_t bytes, uint64_t entered_ns,
                 uint64_t left_ns, fs_late_epoch_t *epoch)
{
    fs_late_class_t *class = &late->classes[class_index(bytes)];
    uint32_t n             = epoch_calls(class);

    *epoch = (fs_late_epoch_t){.began_ns = class->began_ns};
    if (class->began_ns == 0) {
        return true;
    }
    if (class->n_calls > 0) {
        class->entered_ns += entered_ns - class->began_ns;
        class->spent_ns += left_ns - entered_ns;
    }
    epoch->entered_ns = class->began_ns + class->entered_ns / n;
    epoch->spent_ns   = class->spent_ns / n;
    return class->n_calls++ == n;
}

/* ---- who is late ---- */

uint64_t fs_late_ahead(const fs_late_epoch_t *epoch, uint64_t now_ns,
                       uint64_t length_ns)
{
    uint64_t own_ns   = fs_u64_max(now_ns - epoch->began_ns, 1);
    uint64_t ahead_ns = (uint64_t)((fs_u128_t)(now_ns - epoch->entered_ns) *
                                   length_ns / own_ns);

    return fs_u64_max(ahead_ns, 1);
}

/* What a rank would need to send or receive a vector once, if the call took so long
 * after the last entry. */
static uint64_t vector_ns(const fs_late_t *late, fs_late_candidate_t served,
                          uint64_t ns)
{
    uint64_t n = late->setup.n_servers;

    return served == FS_LATE_STRAGGLAR
               ? ns * (n - 1) / (n + fs_log2_up(late->setup.n_servers) - 2)
           : served == FS_LATE_STREAM ? ns /* and little more */
                                      : ns * n / (2 * (n - 1));
}

/* FS_LATE_NOBODY, if no rank is late enough. */
static uint32_t find_late(const fs_late_t *late, const fs_late_class_t *class,
                          const fs_late_found_t *found)
{
    uint64_t critical = vector_ns(late, class->serves, found->least_ns) *
                        fs_log2_up(late->setup.n_servers) /
                        late->setup.n_servers;
    bool goes_on = is_for_late(class->serves) &&
                   class->straggler == found->rank;
    uint64_t asked = late->setup.compares ? critical : critical * 3 / 2;

    asked = goes_on ? asked * 2 / 3 : asked;
    return late->setup.looks && found->lead_ns > asked ? found->rank
                                                       : FS_LATE_NOBODY;
}

/* ---- what serves next ---- */

static bool may_serve(const fs_late_t    *late, const fs_late_class_t *class,
                      fs_late_candidate_t candidate)
{
    return candidate == FS_LATE_NATIVE ? late->setup.compares
           : is_for_late(candidate)
               ? class->straggler != FS_LATE_NOBODY &&
                     (candidate == FS_LATE_STRAGGLAR || late->setup.streams)
               : true;
}

static bool is_to_try(const fs_late_t    *late, const fs_late_class_t *class,
                      fs_late_candidate_t candidate)
{
    return may_serve(late, class, candidate) && class->ns[candidate] == 0 &&
           (!is_for_late(candidate) || class->pause == 0);
}

/* What is no better than the MPI's own by a fiftieth is not worth it. */
static uint64_t price(const fs_late_class_t *class, fs_late_candidate_t c)
{
    return class->ns[c] == 0     ? UINT64_MAX
           : c == FS_LATE_NATIVE ? class->ns[c] - class->ns[c] / GAIN
                                 : class->ns[c];
}

static fs_late_candidate_t fastest(const fs_late_t *late,
                                   const fs_late_class_t *class)
{
    fs_late_candidate_t best = FS_LATE_RING;

    for (int c = FS_LATE_RING; c >= FS_LATE_NATIVE; --c) {
        if (may_serve(late, class, (fs_late_candidate_t)c) &&
            price(class, (fs_late_candidate_t)c) <= price(class, best)) {
            best = (fs_late_candidate_t)c;
        }
    }
    return best;
}

static void begin_epoch(fs_late_class_t *class, fs_late_candidate_t serves,
                        bool is_trial, bool another)
{
    class->n_calls    = another ? 0 : 1;
    class->entered_ns = 0;
    class->spent_ns   = 0;
    class->serves     = serves;
    class->is_trial   = is_trial;
}

/* Without a comparison StragglAR serves whenever a rank is late. */
static void choose_next(const fs_late_t *late, fs_late_class_t *class,
                        bool             another_straggler)
{
    fs_late_candidate_t before = class->serves, next = fastest(late, class);
    bool                is_trial = false;

    for (int c = 0; c < FS_LATE_CANDIDATES && late->setup.compares && !is_trial;
         ++c) {
        if (is_to_try(late, class, (fs_late_candidate_t)c)) {
            next     = (fs_late_candidate_t)c;
            is_trial = true;
        }
    }
    if (!late->setup.compares) {
        next = class->straggler != FS_LATE_NOBODY ? FS_LATE_STRAGGLAR
                                                  : FS_LATE_RING;
    }
    begin_epoch(class, next, is_trial,
                next != before || (is_for_late(next) && another_straggler));
}

/* It was tried, and something else is faster: the next rank that seems to be late
 * has to wait. */
static void note_failure(const fs_late_t *late, fs_late_class_t *class)
{
    if (is_for_late(fastest(late, class))) {
        class->next_pause = 1;
        return;
    }
    class->pause      = class->next_pause;
    class->next_pause = class->next_pause < LONGEST_PAUSE
                            ? 2 * class->next_pause
                            : LONGEST_PAUSE;
}

static void forget(fs_late_class_t *class)
{
    for (int c = 0; c < FS_LATE_CANDIDATES; ++c) {
        class->ns[c] = c == (int)class->serves ? class->ns[c] : 0;
    }
    class->n_epochs = 0;
}

/* Of a long epoch: is somebody late? True: it is another one than before. */
static bool look(const fs_late_t       *late, fs_late_class_t *class,
                 const fs_late_found_t *found)
{
    uint32_t rank    = find_late(late, class, found);
    bool     another = rank != class->straggler;

    class->pause -= class->pause > 0;
    if (another) {
        class->straggler             = rank;
        class->ns[FS_LATE_STRAGGLAR] = 0;
        class->ns[FS_LATE_STREAM]    = 0;
    }
    if (++class->n_epochs == FS_LATE_FORGETS) {
        forget(class);
    }
    return another;
}

void fs_late_conclude(fs_late_t *late, uint64_t bytes,
                      const fs_late_found_t *found)
{
    fs_late_class_t *class = &late->classes[class_index(bytes)];
    bool first = class->began_ns == 0, trial = class->is_trial;
    bool another = false;

    class->began_ns = found->now_ns;
    if (first) {
        begin_epoch(class, class->serves, false, false);
        return;
    }
    class->ns[class->serves] = fs_u64_max(found->least_ns, 1);
    if (!trial) {
        another = look(late, class, found);
    } else if (is_for_late(class->serves)) {
        note_failure(late, class);
    }
    choose_next(late, class, another);
}
