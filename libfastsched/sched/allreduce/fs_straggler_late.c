/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * StragglAR's own schedule: the reduce-scatter of the punctual ranks, then a
 * wheel (fs_straggler_steady.h) while the straggler meets them one by one, then
 * the rest.
 *
 * Whoever the straggler is, the schedule is made in terms of punctual indexes,
 * with the straggler as the last, and named in the end.
 *
 * The wheel need not stop when the straggler has met everyone. It can go on if
 * all that would be younger than the youngest chunk is replaced by that one.
 * Who would have a younger chunk then has the youngest, and so has the
 * straggler, so that it doubles as if it had been born a round earlier. For
 * powers of two nothing remains to do after that (StragglAR Theorem 1).
 */
#include "sched/allreduce/fs_straggler_build.h"
#include "sched/allreduce/fs_straggler_epilogue.h"
#include "sched/allreduce/fs_straggler_steady.h"

#include "base/fs_arith.h"

static uint32_t index_of(const fs_straggler_t *schedule, uint32_t rank)
{
    return rank == schedule->straggler ? schedule->n_ranks - 1
                                       : fs_punctual_index(schedule, rank);
}

static uint32_t rank_of(const fs_straggler_t *schedule, uint32_t index)
{
    return index == schedule->n_ranks - 1 ? schedule->straggler
                                          : fs_punctual_rank(schedule, index);
}

/* ---- the wheel ---- */

/* What index x sends in a round: what its partner's place is to get. Before the
 * first chunks are old enough, nothing. */
static void send_from_place(fs_straggler_build_t *build,
                            const fs_steady_t *wheel, uint32_t round,
                            uint32_t x)
{
    const fs_straggler_t *schedule = build->schedule;
    uint32_t              n        = wheel->n_places;
    uint32_t              place    = (x + n - round % n) % n;
    uint32_t              partner  = wheel->partner[place];
    uint32_t              age      = wheel->side[partner].gets;

    if (partner != place && age <= round) {
        fs_straggler_say(build, (fs_straggler_msg_t){
                                    rank_of(schedule, x),
                                    rank_of(schedule, (partner + round) % n),
                                    fs_u32_min(round - age, n - 1), 1, false});
    }
}

/* The straggler and whom it meets reduce a chunk, which both then have. Once
 * all are reduced, the straggler gives away the last. */
static void meet_straggler(fs_straggler_build_t *build, uint32_t round,
                           uint32_t rank, uint32_t other)
{
    uint32_t n     = build->schedule->n_ranks - 1;
    bool     first = round < n;

    if (first || rank == build->schedule->straggler) {
        fs_straggler_say(
            build,
            (fs_straggler_msg_t){rank, other, first ? round : n - 1, 1, first});
    }
}

static void turn(fs_straggler_build_t *build, const fs_steady_t *wheel,
                 uint32_t n_rounds)
{
    const fs_straggler_t *schedule = build->schedule;

    for (uint32_t round = 0; round < n_rounds; ++round) {
        uint32_t met = rank_of(schedule, round % wheel->n_places);

        for (uint32_t rank = 0; rank < schedule->n_ranks; ++rank) {
            if (rank == schedule->straggler) {
                meet_straggler(build, round, rank, met);
            } else if (rank == met) {
                meet_straggler(build, round, rank, schedule->straggler);
            } else {
                send_from_place(build, wheel, round, index_of(schedule, rank));
            }
        }
        fs_straggler_end_round(build);
    }
}

/* ---- the rest ---- */

/* Bits of the live chunks that a side lacks when the wheel has gone on for more
 * rounds. Ages up to more are the youngest chunk. */
static uint32_t bits_lacked(const fs_steady_t *wheel, uint32_t place,
                            uint32_t more)
{
    uint32_t n_live = fs_u32_min(wheel->oldest - more, wheel->n_places);
    uint32_t lacked = (1u << n_live) - 1;

    for (int k = 0; k < 2; ++k) {
        uint32_t age = wheel->side[place].has[k];

        if (age > 0) {
            lacked &= ~(1u << (age > more ? age - more - 1 : 0));
        }
    }
    return lacked;
}

/* What everybody lacks when the wheel has made a turn and gone on for more
 * rounds: live chunks, and, if there is an idle place, what expired when they
 * were there. */
static void what_is_lacked(const fs_steady_t *wheel, uint32_t more,
                           fs_epilogue_t *rest)
{
    uint32_t n = wheel->n_places;

    rest->live[n] = 0;
    rest->old[n]  = FS_REST_NONE;
    for (uint32_t place = 0; place < n; ++place) {
        uint32_t x = (place + more) % n;

        rest->live[x] = bits_lacked(wheel, place, more);
        rest->old[x]  = FS_REST_NONE;
    }
    for (uint32_t place = 0; place < n; ++place) {
        if (wheel->side[place].gets != FS_WHEEL_NOTHING) {
            continue;
        }
        for (uint32_t round = wheel->oldest; round < n + more; ++round) {
            rest->old[(place + round) % n] = round - wheel->oldest;
        }
    }
}

static void say_rest(fs_straggler_build_t *build, uint32_t n_rounds,
                     const fs_epilogue_send_t *send)
{
    const fs_straggler_t *schedule = build->schedule;

    for (uint32_t round = 0; round < n_rounds; ++round) {
        for (uint32_t rank = 0; rank < schedule->n_ranks; ++rank) {
            const fs_epilogue_send_t *s = &send[index_of(schedule, rank)];

            if (s->dst != FS_REST_NONE) {
                fs_straggler_say(
                    build, (fs_straggler_msg_t){rank, rank_of(schedule, s->dst),
                                                s->chunk, 1, false});
            }
        }
        fs_straggler_end_round(build);
        send += schedule->n_ranks;
    }
}

/* Let the wheel go on for as many of n_rounds as possible, and find the others.
 * False: not found. */
static bool finish(fs_straggler_build_t *build, const fs_steady_t *wheel,
                   fs_epilogue_t *rest, uint32_t n_rounds)
{
    uint32_t most = fs_u32_min(wheel->n_more, n_rounds);

    for (uint32_t more = most + 1; more-- > 0;) {
        what_is_lacked(wheel, more, rest);
        if (fs_epilogue_find(rest, n_rounds - more)) {
            turn(build, wheel, wheel->n_places + more);
            say_rest(build, n_rounds - more, rest->send);
            return true;
        }
    }
    return false;
}

static fs_status_t make_late(fs_straggler_build_t *build)
{
    uint32_t           n_ranks = build->schedule->n_ranks;
    uint32_t           n_rounds;
    fs_steady_counts_t bill;
    fs_steady_t        wheel;
    fs_epilogue_t      rest;
    fs_status_t        status;

    fs_steady_counts(n_ranks, &bill);
    status = fs_steady_init(&wheel, &bill, &build->arena);
    if (status != FS_OK) {
        return status;
    }
    n_rounds = fs_straggler_min_rounds(n_ranks) - wheel.n_places;
    do {
        status = fs_epilogue_init(&rest, n_ranks, n_rounds, &build->arena);
    } while (status == FS_OK && !finish(build, &wheel, &rest, n_rounds++));
    return status;
}

void fs_straggler_make_stragglar(fs_straggler_build_t *build)
{
    fs_status_t status;

    build->schedule->n_chunks = build->schedule->n_ranks - 1;
    fs_straggler_reduce_scatter(build, true);
    fs_straggler_end_early(build);
    status = make_late(build);
    if (build->status == FS_OK) {
        build->status = status;
    }
}
