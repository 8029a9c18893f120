/* SPDX-License-Identifier: BSD-3-Clause */
/* One random call: how much, of which types, where in memory. */
#include "stress.h"

#include "mpi_counts.h"

enum {
    LOG2_MOST  = 22, /* bytes of a pair, at most */
    SOME_PLACE = 1 << 20
};

/* ---- how much ---- */

static _Thread_local counts_t counts; /* of the call that this thread makes */

static uint32_t units(int src, int dst, uint32_t round)
{
    (void)round;
    return counts_of_pair(&counts, src, dst);
}

static uint32_t units_symmetric(int src, int dst, uint32_t round)
{
    (void)round;
    return counts_symmetric(&counts, src, dst);
}

/* Bytes if all of MPI_COMM_WORLD made the call. */
static uint64_t sum_bytes(size_t unit_bytes)
{
    uint64_t sum = 0;

    for (int s = 0; s < test.size; ++s) {
        for (int d = 0; d < test.size; ++d) {
            sum += counts_of_pair(&counts, s, d);
        }
    }
    return sum * unit_bytes;
}

/* The largest pair is log-uniform, and more often small than large. */
static void draw_counts(dice_t *dice, size_t unit_bytes)
{
    uint32_t a = roll(dice, LOG2_MOST + 1), b = roll(dice, LOG2_MOST + 1);
    uint32_t most = 1u << (a < b ? a : b);

    counts.pattern = (pattern_t)roll(dice, N_PATTERNS);
    counts.most    = (uint32_t)((most - roll(dice, most / 2 + 1)) / unit_bytes);
    counts.salt    = roll(dice, 1u << 30);
    counts.victim  = roll(dice, (uint32_t)test.size);
    while (sum_bytes(unit_bytes) > (uint64_t)1 << stress.log2_sum) {
        counts.most /= 2;
    }
}

/* ---- of which types ---- */

static int draw_family(dice_t *dice)
{
    static const int choice[] = {
        FAMILY_RANDOM,  FAMILY_RANDOM,  FAMILY_RANDOM,  FAMILY_INTS,
        FAMILY_STRUCTS, FAMILY_DOUBLES, FAMILY_COMPLEX, FAMILY_PLANES,
        FAMILY_EMPTY,   FAMILY_PAIRS_S, FAMILY_PAIRS_D, FAMILY_PAIRS_L};

    return roll(dice, 3) == 0 ? FAMILY_BYTES
                              : choice[roll(dice, stress.sound ? 9 : 12)];
}

static size_t unit_bytes(int family, int which)
{
    layout_t layout = families[family].make(which);
    size_t   bytes  = layout.size * (size_t)layout.per_unit;

    layout_free(&layout);
    return bytes > 0 ? bytes : 1;
}

/* A layout with the signature of another one. */
static int another(dice_t *dice, int family, int which)
{
    return family == FAMILY_RANDOM
               ? which % RANDOM_SIGNATURES +
                     RANDOM_SIGNATURES * (int)roll(dice, SOME_PLACE)
               : (int)roll(dice, (uint32_t)families[family].n_layouts);
}

/* ---- the call ---- */

/* Counts and signature: often those of an earlier call on the communicator, so
 * that what fast keeps of calls is used. */
static void draw_signature(dice_t *dice, const comm_t *c, exchange_t *x)
{
    uint32_t again = roll(dice, 6);
    dice_t   own = {{stress.seed, again < 2 ? c->born : x->round}, again << 16};

    x->family = draw_family(&own);
    if (stress.sound && x->in_place) {
        x->family = FAMILY_BYTES;
    }
    x->send_layout =
        x->family == FAMILY_RANDOM ? (int)roll(&own, RANDOM_SIGNATURES) : 0;
    draw_counts(&own, unit_bytes(x->family, x->send_layout));
}

/* Each rank its own, or all the same. */
static void draw_places(dice_t *dice, exchange_t *x)
{
    if (roll(dice, 2) == 0) {
        dice->key[0] = draw(dice->key[0], (uint32_t)test.rank, 10);
    }
    x->recv_layout = another(dice, x->family, x->send_layout);
    x->send_layout = another(dice, x->family, x->send_layout);
    x->placement   = (placement_t)roll(dice, N_PLACEMENTS);
    x->send_bottom = roll(dice, 8) == 0;
    x->recv_bottom = roll(dice, 8) == 0;
}

static void count(const comm_t *c)
{
    int size;

    MPI_Comm_size(c->comm, &size);
    __atomic_add_fetch(&stress.n_compared, 1, __ATOMIC_RELAXED);
    __atomic_add_fetch(&stress.n_fast, size > 1, __ATOMIC_RELAXED);
}

void call_on(const comm_t *c, uint32_t round)
{
    dice_t dice  = {{draw(stress.seed, round, (uint32_t)c->leader), round}, 0};
    exchange_t x = {.comm           = c->comm,
                    .round          = round,
                    .reference      = reference_function(),
                    .reference_comm = c->reference};

    x.reference_first = roll(&dice, 2) == 0;
    x.in_place        = roll(&dice, 6) == 0;
    x.call            = roll(&dice, 4) == 0 ? CALL_LARGE : CALL_BLOCKING;
    x.units           = x.in_place ? units_symmetric : units;
    draw_signature(&dice, c, &x);
    draw_places(&dice, &x);
    count(c);
    exchange(x);
}
