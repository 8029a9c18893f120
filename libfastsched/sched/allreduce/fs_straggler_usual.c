/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The allreduce schedules that StragglAR is compared with (StragglAR App. F):
 * ring, recursive halving and doubling, broadcast, all pairs.
 */
#include "sched/allreduce/fs_straggler_build.h"

void fs_straggler_make_ring(fs_straggler_build_t *build)
{
    build->schedule->n_chunks = build->schedule->n_ranks;
    fs_straggler_reduce_scatter(build, false);
    fs_straggler_allgather(build, false);
}

/* ---- recursive halving and doubling ----
 *
 * Among a power of two ranks, the core. If there are more, the core takes the
 * buffers of the others first and gives them the result last: of the first
 * 2 * n_extra ranks, the even ones are extra and their odd neighbours care for
 * them. */

typedef struct core {
    uint32_t n;
    uint32_t n_extra;
} core_t;

static core_t core_of(uint32_t n_ranks)
{
    core_t core = {1u << (31 - (uint32_t)__builtin_clz(n_ranks)), 0};

    core.n_extra = n_ranks - core.n;
    return core;
}

static uint32_t core_rank(core_t core, uint32_t index)
{
    return index < core.n_extra ? 2 * index + 1 : index + core.n_extra;
}

/* Whole buffers between an extra rank and its neighbour. */
static void care_for_extra(fs_straggler_build_t *build, core_t core, bool back)
{
    for (uint32_t i = 0; i < core.n_extra; ++i) {
        fs_straggler_say(
            build, (fs_straggler_msg_t){2 * i + back, 2 * i + !back, 0,
                                        build->schedule->n_chunks, !back});
    }
    if (core.n_extra > 0) {
        fs_straggler_end_round(build);
    }
}

/* Ranks half apart exchange half of what they share: while halving, what the
 * partner will care for; while doubling, what they themselves have ready. */
static void exchange_halves(fs_straggler_build_t *build, core_t core,
                            uint32_t half, bool reduce)
{
    for (uint32_t i = 0; i < core.n; ++i) {
        uint32_t partner = i ^ half;
        uint32_t owner   = reduce ? partner : i;

        fs_straggler_say(build, (fs_straggler_msg_t){core_rank(core, i),
                                                     core_rank(core, partner),
                                                     owner / half * half, half,
                                                     reduce});
    }
    fs_straggler_end_round(build);
}

void fs_straggler_make_rhd(fs_straggler_build_t *build)
{
    core_t core = core_of(build->schedule->n_ranks);

    build->schedule->n_chunks = core.n;
    care_for_extra(build, core, false);
    for (uint32_t half = core.n / 2; half > 0; half /= 2) {
        exchange_halves(build, core, half, true);
    }
    for (uint32_t half = 1; half < core.n; half *= 2) {
        exchange_halves(build, core, half, false);
    }
    care_for_extra(build, core, true);
}

/* ---- broadcast ----
 *
 * The punctual ranks have finished among themselves when the straggler comes.
 * It exchanges the whole buffer with the first of them, then those who have the
 * result double in number. Positions: the straggler, then the punctual. */

static uint32_t rank_at(const fs_straggler_t *schedule, uint32_t position)
{
    return position == 0 ? schedule->straggler
                         : fs_punctual_rank(schedule, position - 1);
}

static uint32_t position_of(const fs_straggler_t *schedule, uint32_t rank)
{
    return rank == schedule->straggler ? 0
                                       : fs_punctual_index(schedule, rank) + 1;
}

static void pass_buffer(fs_straggler_build_t *build, uint32_t n_have)
{
    const fs_straggler_t *schedule = build->schedule;

    for (uint32_t rank = 0; rank < schedule->n_ranks; ++rank) {
        uint32_t position = position_of(schedule, rank);
        bool     first    = n_have == 1 && position == 1;

        if (first ||
            (position < n_have && n_have + position < schedule->n_ranks)) {
            uint32_t to = first ? 0 : n_have + position;

            fs_straggler_say(
                build, (fs_straggler_msg_t){rank, rank_at(schedule, to), 0,
                                            schedule->n_chunks, n_have == 1});
        }
    }
    fs_straggler_end_round(build);
}

void fs_straggler_make_broadcast(fs_straggler_build_t *build)
{
    fs_straggler_t *schedule = build->schedule;

    schedule->n_chunks = schedule->n_ranks - 1;
    fs_straggler_reduce_scatter(build, true);
    fs_straggler_allgather(build, true);
    fs_straggler_end_early(build);
    for (uint32_t n_have = 1; n_have < schedule->n_ranks; n_have *= 2) {
        pass_buffer(build, n_have);
    }
}

/* ---- all pairs: chunk i is reduced at rank i, in one round ---- */

void fs_straggler_make_allpairs(fs_straggler_build_t *build)
{
    uint32_t n = build->schedule->n_ranks;

    build->schedule->n_chunks = n;
    for (int gather = 0; gather < 2; ++gather) {
        for (uint32_t src = 0; src < n; ++src) {
            for (uint32_t dst = 0; dst < n; ++dst) {
                if (src != dst) {
                    fs_straggler_say(
                        build, (fs_straggler_msg_t){
                                   src, dst, gather ? src : dst, 1, !gather});
                }
            }
        }
        fs_straggler_end_round(build);
    }
}
