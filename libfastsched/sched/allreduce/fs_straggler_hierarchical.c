/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What MPIs do on several servers (Open MPI's coll/han): a rank of each server adds
 * up what the others of it have, the leaders go on as a ring, and each hands the
 * result out in its server.
 *
 * Inside a server chunks go along a chain, one after another, so that programs,
 * which know no rounds, do that while the leaders exchange others.
 *
 * Limits: one lane of a server carries everything.
 */
#include "sched/allreduce/fs_straggler_build.h"

/* In a round of a chain, the chunk whose turn it is at a link, counted from the
 * link that has it first. False: none. */
static bool chunk_at(uint32_t n_chunks, uint32_t round, uint32_t link,
                     uint32_t *chunk_p)
{
    *chunk_p = round - link;
    return round >= link && *chunk_p < n_chunks;
}

/* To the leader, the first of its server. */
static void say_up(fs_straggler_build_t *build, uint32_t rank, uint32_t round)
{
    uint32_t n_local = build->schedule->n_local, chunk;

    if (rank % n_local > 0 && chunk_at(build->schedule->n_chunks, round,
                                       n_local - 1 - rank % n_local, &chunk)) {
        fs_straggler_say(build,
                         (fs_straggler_msg_t){rank, rank - 1, chunk, 1, true});
    }
}

/* From the leader, which has the sum of the chunk of its own number first. */
static void say_down(fs_straggler_build_t *build, uint32_t rank, uint32_t round)
{
    uint32_t n_local  = build->schedule->n_local;
    uint32_t n_chunks = build->schedule->n_chunks, turn;

    if ((rank + 1) % n_local > 0 &&
        chunk_at(n_chunks, round, rank % n_local, &turn)) {
        uint32_t chunk = (rank / n_local + n_chunks - turn) % n_chunks;

        fs_straggler_say(build,
                         (fs_straggler_msg_t){rank, rank + 1, chunk, 1, false});
    }
}

static void chain(fs_straggler_build_t *build,
                  void (*say)(fs_straggler_build_t *, uint32_t, uint32_t))
{
    const fs_straggler_t *s        = build->schedule;
    uint32_t              n_rounds = s->n_chunks + s->n_local - 2;

    for (uint32_t round = 0; s->n_local > 1 && round < n_rounds; ++round) {
        for (uint32_t rank = 0; rank < s->n_ranks; ++rank) {
            say(build, rank, round);
        }
        fs_straggler_end_round(build);
    }
}

static void leaders(fs_straggler_build_t *build, bool reduce)
{
    uint32_t n = build->schedule->n_chunks, local = build->schedule->n_local;

    for (uint32_t back = reduce; back + !reduce < n; ++back) {
        for (uint32_t i = 0; i < n; ++i) {
            fs_straggler_say(
                build, (fs_straggler_msg_t){i * local, (i + 1) % n * local,
                                            (i + n - back) % n, 1, reduce});
        }
        fs_straggler_end_round(build);
    }
}

void fs_straggler_make_hierarchical(fs_straggler_build_t *build)
{
    build->schedule->n_chunks = build->schedule->n_ranks /
                                build->schedule->n_local;
    chain(build, say_up);
    leaders(build, true);
    leaders(build, false);
    chain(build, say_down);
}
