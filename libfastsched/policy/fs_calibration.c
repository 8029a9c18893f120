/* SPDX-License-Identifier: BSD-3-Clause */
#include "policy/fs_calibration.h"

#include "base/fs_arith.h"

enum { SHORT, LONG, NEITHER };

/* Products of any two of these fit in 128 bits with room to subtract. */
#define MOST (UINT64_C(1) << 62)

static int kind_of(const fs_timed_run_t *run, uint64_t alpha)
{
    fs_u128_t cost = (fs_u128_t)run->rounds * alpha;

    return run->bytes == 0                             ? NEITHER
           : run->bytes <= cost * FS_CALIBRATION_SHORT ? SHORT
           : run->bytes / FS_CALIBRATION_LONG >= cost  ? LONG
                                                       : NEITHER;
}

/* By time over cost, with alpha as it was. */
static bool quicker(const fs_timed_run_t *a, const fs_timed_run_t *b,
                    uint64_t alpha)
{
    fs_u128_t cost_a = a->bytes + (fs_u128_t)a->rounds * alpha;
    fs_u128_t cost_b = b->bytes + (fs_u128_t)b->rounds * alpha;

    return a->ns * cost_b < b->ns * cost_a;
}

/* alpha and 1 / rate from two equations: alpha is a quotient of determinants. */
static uint64_t solve(const fs_timed_run_t *s, const fs_timed_run_t *l,
                      uint64_t alpha)
{
    fs_u128_t least = alpha / FS_CALIBRATION_RANGE;
    fs_u128_t most  = (fs_u128_t)alpha * FS_CALIBRATION_RANGE;
    fs_u128_t up    = (fs_u128_t)s->ns * l->bytes;
    fs_u128_t down  = (fs_u128_t)l->ns * s->rounds;

    if (up <= (fs_u128_t)l->ns * s->bytes) {
        return (uint64_t)least; /* short rounds cost nothing more */
    }
    if (down <= (fs_u128_t)s->ns * l->rounds) {
        return (uint64_t)fs_u64_min(most, MOST); /* bytes cost nothing */
    }
    up = (up - (fs_u128_t)l->ns * s->bytes) /
         (down - (fs_u128_t)s->ns * l->rounds);
    return (uint64_t)(up < least ? least : up > most ? most : up);
}

bool fs_calibration_update(fs_calibration_t *c, const fs_timed_run_t *seen,
                           uint64_t *alpha)
{
    fs_timed_run_t run  = {fs_u64_min(seen->bytes, MOST), seen->rounds,
                           fs_u64_min(seen->ns, MOST)};
    int            kind = kind_of(&run, *alpha);

    if (c->done || run.rounds == 0 || run.ns == 0 || kind == NEITHER) {
        return false;
    }
    if (c->n[kind] == 0 || quicker(&run, &c->best[kind], *alpha)) {
        c->best[kind] = run;
    }
    ++c->n[kind];
    if (c->n[SHORT] < FS_CALIBRATION_RUNS || c->n[LONG] < FS_CALIBRATION_RUNS) {
        return false;
    }
    c->done = true;
    *alpha  = solve(&c->best[SHORT], &c->best[LONG], *alpha);
    return true;
}

uint64_t fs_calibration_quarter(const fs_timed_run_t *run)
{
    enum { PER_S = 4000, NS_PER_S = 1000000000 };
    uint64_t  bytes = 1;
    fs_u128_t share;

    if (run->rounds == 0 || run->bytes == 0 || run->ns == 0) {
        return 0;
    }
    share = (fs_u128_t)run->bytes * (NS_PER_S / PER_S) / run->ns;
    while (bytes < share && bytes < MOST) {
        bytes *= 2;
    }
    return bytes;
}
