/* SPDX-License-Identifier: BSD-3-Clause */
/* Arrays that grow, and the two rings that several schedules begin with. */
#include "sched/allreduce/fs_straggler_build.h"

#include "base/fs_grow.h"

#include <stdint.h>
#include <stdlib.h>

void fs_straggler_say(fs_straggler_build_t *build, fs_straggler_msg_t msg)
{
    fs_straggler_t     *schedule = build->schedule;
    fs_straggler_msg_t *msgs;

    if (build->status != FS_OK) {
        return;
    }
    msgs = fs_grow(schedule->msgs, schedule->n_msgs, &build->msgs_room,
                   SIZE_MAX, sizeof(msgs[0]));
    if (msgs == NULL) {
        build->status = FS_ERR_NOMEM;
        return;
    }
    schedule->msgs           = msgs;
    msgs[schedule->n_msgs++] = msg;
    build->sent[msg.src] += msg.n_chunks;
    build->recvd[msg.dst] += msg.n_chunks;
}

/* The most chunks that one rank sent or received; then forget them. */
static uint64_t busiest(fs_straggler_build_t *build, size_t first)
{
    const fs_straggler_t *schedule = build->schedule;
    uint64_t              most     = 0;

    for (size_t i = first; i < schedule->n_msgs; ++i) {
        uint64_t *sent  = &build->sent[schedule->msgs[i].src];
        uint64_t *recvd = &build->recvd[schedule->msgs[i].dst];

        most   = *sent > most ? *sent : most;
        most   = *recvd > most ? *recvd : most;
        *sent  = 0;
        *recvd = 0;
    }
    return most;
}

void fs_straggler_end_round(fs_straggler_build_t *build)
{
    fs_straggler_t *schedule = build->schedule;
    size_t         *first;

    if (build->status != FS_OK) {
        return;
    }
    first = fs_grow(schedule->first, (size_t)schedule->n_rounds + 1,
                    &build->rounds_room, SIZE_MAX, sizeof(first[0]));
    if (first == NULL) {
        build->status = FS_ERR_NOMEM;
        return;
    }
    schedule->first = first;
    schedule->late_chunks += busiest(build, first[schedule->n_rounds]);
    first[++schedule->n_rounds] = schedule->n_msgs;
}

void fs_straggler_end_early(fs_straggler_build_t *build)
{
    fs_straggler_t *schedule = build->schedule;

    schedule->n_early      = schedule->n_rounds;
    schedule->early_chunks = schedule->late_chunks;
    schedule->late_chunks  = 0;
}

static uint32_t ring_ranks(const fs_straggler_build_t *build, bool punctual)
{
    return build->schedule->n_ranks - (punctual ? build->schedule->n_late : 0);
}

/* One round of a ring: the i-th passes chunk first + i - back on to the next. */
static void pass_on(fs_straggler_build_t *build, bool punctual, uint32_t first,
                    uint32_t back, bool reduce)
{
    uint32_t n = ring_ranks(build, punctual);

    for (uint32_t i = 0; i < n; ++i) {
        uint32_t           next = (i + 1) % n;
        fs_straggler_msg_t msg  = {i, next, first + (i + n - back) % n, 1,
                                   reduce};

        if (punctual) {
            msg.src = build->ranks[i];
            msg.dst = build->ranks[next];
        }
        fs_straggler_say(build, msg);
    }
    fs_straggler_end_round(build);
}

void fs_straggler_reduce_scatter(fs_straggler_build_t *build, bool punctual)
{
    uint32_t n = ring_ranks(build, punctual);

    for (uint32_t piece = 0; piece < build->schedule->n_pieces; ++piece) {
        for (uint32_t back = 1; back < n; ++back) {
            pass_on(build, punctual, piece * n, back, true);
        }
    }
}

void fs_straggler_allgather(fs_straggler_build_t *build, bool punctual)
{
    uint32_t n = ring_ranks(build, punctual);

    for (uint32_t back = 0; back + 1 < n; ++back) {
        pass_on(build, punctual, 0, back, false);
    }
}
