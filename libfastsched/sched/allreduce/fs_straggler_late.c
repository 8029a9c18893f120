/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * StragglAR's own schedule: the reduce-scatter of the punctual ranks, then the
 * steady state (fs_straggler_steady.h) while the straggler meets them one by
 * one, then the epilogue.
 *
 * The schedule is made in terms of punctual indexes, with the straggler as the
 * last; ranks are filled in at the end.
 *
 * The steady state need not end when the straggler has met every rank. It can
 * go on if each chunk that would be younger than the youngest one is replaced
 * by the youngest. A rank that would have a younger chunk then has the
 * youngest, and so has the straggler, so that it doubles as if it had been born
 * a round earlier. For powers of two nothing remains to do after that
 * (StragglAR Theorem 1).
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

/* ---- the steady state ---- */

/* What index x sends in a round: what its partner's place is to get. Before the
 * first chunks are old enough, nothing. */
static void send_from_place(fs_straggler_build_t *build,
                            const fs_steady_t *steady, uint32_t round,
                            uint32_t x)
{
    const fs_straggler_t *schedule = build->schedule;
    uint32_t              n        = steady->n_places;
    uint32_t              place    = (x + n - round % n) % n;
    uint32_t              partner  = steady->partner[place];
    uint32_t              age      = steady->side[partner].gets;

    if (partner != place && age <= round) {
        fs_straggler_say(build, (fs_straggler_msg_t){
                                    rank_of(schedule, x),
                                    rank_of(schedule, (partner + round) % n),
                                    fs_u32_min(round - age, n - 1), 1, false});
    }
}

/* The straggler and the rank it meets reduce a chunk, which both then have.
 * Once all are reduced, the straggler sends the last one. */
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

static void rotate(fs_straggler_build_t *build, const fs_steady_t *steady,
                   uint32_t n_rounds)
{
    const fs_straggler_t *schedule = build->schedule;

    for (uint32_t round = 0; round < n_rounds; ++round) {
        uint32_t met = rank_of(schedule, round % steady->n_places);

        for (uint32_t rank = 0; rank < schedule->n_ranks; ++rank) {
            if (rank == schedule->straggler) {
                meet_straggler(build, round, rank, met);
            } else if (rank == met) {
                meet_straggler(build, round, rank, schedule->straggler);
            } else {
                send_from_place(build, steady, round, index_of(schedule, rank));
            }
        }
        fs_straggler_end_round(build);
    }
}

/* ---- the epilogue ---- */

/* Bits of the live chunks that a side lacks when the pattern has gone on for
 * more rounds. Ages up to more are the youngest chunk. */
static uint32_t bits_lacked(const fs_steady_t *steady, uint32_t place,
                            uint32_t more)
{
    uint32_t n_live = fs_u32_min(steady->oldest - more, steady->n_places);
    uint32_t lacked = (1u << n_live) - 1;

    for (int k = 0; k < 2; ++k) {
        uint32_t age = steady->side[place].has[k];

        if (age > 0) {
            lacked &= ~(1u << (age > more ? age - more - 1 : 0));
        }
    }
    return lacked;
}

/* What each rank lacks after a whole rotation and more rounds: live chunks,
 * and, if there is an idle place, the chunk that expired when the rank was
 * there. */
static void what_is_lacked(const fs_steady_t *steady, uint32_t more,
                           fs_epilogue_t *epilogue)
{
    uint32_t n = steady->n_places;

    epilogue->live[n] = 0;
    epilogue->old[n]  = FS_EPILOGUE_NONE;
    for (uint32_t place = 0; place < n; ++place) {
        uint32_t x = (place + more) % n;

        epilogue->live[x] = bits_lacked(steady, place, more);
        epilogue->old[x]  = FS_EPILOGUE_NONE;
    }
    for (uint32_t place = 0; place < n; ++place) {
        if (steady->side[place].gets != FS_STEADY_NOTHING) {
            continue;
        }
        for (uint32_t round = steady->oldest; round < n + more; ++round) {
            epilogue->old[(place + round) % n] = round - steady->oldest;
        }
    }
}

static void say_epilogue(fs_straggler_build_t *build, uint32_t n_rounds,
                         const fs_epilogue_send_t *send)
{
    const fs_straggler_t *schedule = build->schedule;

    for (uint32_t round = 0; round < n_rounds; ++round) {
        for (uint32_t rank = 0; rank < schedule->n_ranks; ++rank) {
            const fs_epilogue_send_t *s = &send[index_of(schedule, rank)];

            if (s->dst != FS_EPILOGUE_NONE) {
                fs_straggler_say(
                    build, (fs_straggler_msg_t){rank, rank_of(schedule, s->dst),
                                                s->chunk, 1, false});
            }
        }
        fs_straggler_end_round(build);
        send += schedule->n_ranks;
    }
}

/* Let the pattern go on for as many of n_rounds as possible, and find the
 * others. False: not found. */
static bool finish(fs_straggler_build_t *build, const fs_steady_t *steady,
                   fs_epilogue_t *epilogue, uint32_t n_rounds)
{
    uint32_t most = fs_u32_min(steady->n_more, n_rounds);

    for (uint32_t more = most + 1; more-- > 0;) {
        what_is_lacked(steady, more, epilogue);
        if (fs_epilogue_find(epilogue, n_rounds - more)) {
            rotate(build, steady, steady->n_places + more);
            say_epilogue(build, n_rounds - more, epilogue->send);
            return true;
        }
    }
    return false;
}

static fs_status_t make_late(fs_straggler_build_t *build)
{
    uint32_t           n_ranks = build->schedule->n_ranks;
    uint32_t           n_rounds;
    fs_steady_counts_t exchanges;
    fs_steady_t        steady;
    fs_epilogue_t      epilogue;
    fs_status_t        status;

    fs_steady_counts(n_ranks, &exchanges);
    status = fs_steady_init(&steady, &exchanges, &build->arena);
    if (status != FS_OK) {
        return status;
    }
    n_rounds = fs_straggler_min_rounds(n_ranks) - steady.n_places;
    do {
        status = fs_epilogue_init(&epilogue, n_ranks, n_rounds, &build->arena);
    } while (status == FS_OK && !finish(build, &steady, &epilogue, n_rounds++));
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
