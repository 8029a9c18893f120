/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allreduce schedules by name, and the bound they are measured by.
 *
 * The fewest late rounds, n ranks, log rounded up. Every chunk needs what the
 * straggler has for it. That leaves the straggler in a message of its own, so
 * the last to leave leaves in round n - 2 (from 0) at the earliest; then two
 * ranks have it, and twice as many in every further round. So log n - 1 rounds
 * must follow: n + log n - 2 in all. STRAGGLAR reaches it for even n.
 *
 * If n is odd, somebody is idle in every round. Count the messages to punctual
 * ranks that carry the straggler's part of a chunk: each of n - 1 ranks needs
 * one for each of n - 1 chunks. In round r at most 2^r ranks have any to send.
 * At most n - 2 punctual ranks receive in a round, n - 1 if it is the straggler
 * that is idle. It is busy in n - 1 rounds for all the chunks; and if
 * there are only n + log n - 2 rounds, in one more, for without its help the
 * last chunk, which then leaves in round n - 2, reaches 2^(log n - 1) punctual
 * ranks, fewer than n - 1 unless n - 1 is a power of two.
 */
#include "sched/allreduce/fs_straggler_build.h"

#include "base/fs_arith.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    const char         *name;
    fs_straggler_make_t make;
} kinds[] = {
#define X(_kind, _word, _function) \
    [_kind] = {_word, fs_straggler_make_##_function},
    FS_STRAGGLER_MAP(X)
#undef X
};

const char *fs_straggler_name(fs_straggler_kind_t kind)
{
    return (size_t)kind < FS_STRAGGLER_N_KINDS ? kinds[kind].name : NULL;
}

/* Most messages with the straggler's part that can reach punctual ranks in
 * n_rounds rounds, n odd. */
static uint64_t most_received(uint32_t n_ranks, uint32_t n_rounds)
{
    uint32_t log2_n    = fs_log2_up(n_ranks);
    bool     all_busy  = (n_ranks - 1) != 1u << (log2_n - 1);
    uint32_t straggler = n_ranks - 1; /* rounds in which it is busy */
    uint64_t sum       = 0;

    if (n_rounds == n_ranks + log2_n - 2 && all_busy) {
        straggler++;
    }
    for (uint32_t round = 0; round < n_rounds; ++round) {
        uint64_t senders = round < 32 ? UINT64_C(1) << round : UINT64_MAX;

        sum += fs_u64_min(senders, n_ranks - 2);
    }
    return sum + n_rounds - straggler;
}

uint32_t fs_straggler_min_rounds(uint32_t n_ranks)
{
    uint64_t needed = (uint64_t)(n_ranks - 1) * (n_ranks - 1);
    uint32_t n_rounds;

    if (n_ranks < 2) {
        return 0;
    }
    n_rounds = n_ranks + fs_log2_up(n_ranks) - 2;
    while (n_ranks % 2 == 1 && most_received(n_ranks, n_rounds) < needed) {
        n_rounds++;
    }
    return n_rounds;
}

/* ---- create, destroy ---- */

static bool is_late(const fs_straggler_t *schedule, uint32_t rank)
{
    for (uint32_t k = 0; k < schedule->n_late; ++k) {
        if (schedule->late[k] == rank) {
            return true;
        }
    }
    return false;
}

/* Give every rank its position. */
static void place_ranks(fs_straggler_build_t *build)
{
    const fs_straggler_t *schedule = build->schedule;
    uint32_t              n = schedule->n_ranks, n_placed = 0;

    for (uint32_t rank = 0; rank < n; ++rank) {
        if (!is_late(schedule, rank)) {
            build->ranks[n_placed++] = rank;
        }
    }
    for (uint32_t k = 0; k < schedule->n_late; ++k) {
        build->ranks[n_placed++] = schedule->late[k];
    }
    for (uint32_t k = 0; k < n; ++k) {
        build->position[build->ranks[k]] = k;
    }
}

static fs_status_t make(fs_straggler_build_t *build)
{
    fs_straggler_t *schedule = build->schedule;
    uint32_t        n        = schedule->n_ranks;

    schedule->n_chunks = 1;
    schedule->first    = calloc(1, sizeof(schedule->first[0]));
    build->rounds_room = 1;
    build->sent        = fs_arena_calloc(&build->arena, n, sizeof(uint64_t));
    build->recvd       = fs_arena_calloc(&build->arena, n, sizeof(uint64_t));
    build->ranks       = fs_arena_calloc(&build->arena, n, sizeof(uint32_t));
    build->position    = fs_arena_calloc(&build->arena, n, sizeof(uint32_t));
    if (schedule->first == NULL || build->sent == NULL ||
        build->recvd == NULL || build->ranks == NULL ||
        build->position == NULL) {
        return FS_ERR_NOMEM;
    }
    place_ranks(build);
    if (n > 1) {
        kinds[schedule->kind].make(build);
    }
    return build->status;
}

static fs_straggler_t *new_schedule(const fs_straggler_t *wanted)
{
    fs_straggler_t *schedule = calloc(1, sizeof(*schedule));

    if (schedule == NULL) {
        return NULL;
    }
    *schedule      = *wanted;
    schedule->late = calloc(wanted->n_late, sizeof(schedule->late[0]));
    if (schedule->late == NULL) {
        free(schedule);
        return NULL;
    }
    memcpy(schedule->late, wanted->late,
           wanted->n_late * sizeof(schedule->late[0]));
    schedule->straggler = wanted->late[wanted->n_late - 1];
    return schedule;
}

/* wanted has the kind and all that is asked for. */
static fs_status_t create(const fs_straggler_t *wanted,
                          fs_straggler_t      **schedule_p)
{
    fs_straggler_build_t build = {.status = FS_OK};
    fs_status_t          status;

    build.schedule = new_schedule(wanted);
    if (build.schedule == NULL) {
        return FS_ERR_NOMEM;
    }
    status = make(&build);
    fs_arena_fini(&build.arena);
    if (status != FS_OK) {
        fs_straggler_destroy(build.schedule);
        return status;
    }
    *schedule_p = build.schedule;
    return FS_OK;
}

static uint32_t most_ranks(fs_straggler_kind_t kind)
{
    return kind == FS_STRAGGLER_STREAM ? FS_STRAGGLER_MAX_STREAM
                                       : FS_STRAGGLER_MAX_RANKS;
}

fs_status_t fs_straggler_create(fs_straggler_kind_t kind, uint32_t n_ranks,
                                uint32_t straggler, fs_straggler_t **schedule_p)
{
    const fs_straggler_t wanted = {.kind     = kind,
                                   .n_ranks  = n_ranks,
                                   .n_late   = 1,
                                   .late     = &straggler,
                                   .n_pieces = 1,
                                   .n_local  = 1};

    if ((size_t)kind >= FS_STRAGGLER_N_KINDS || n_ranks > most_ranks(kind) ||
        straggler >= n_ranks) {
        return FS_ERR_INVAL;
    }
    return create(&wanted, schedule_p);
}

/* Different ranks? */
static bool are_ranks(const uint32_t *late, uint32_t n_late, uint32_t n_ranks)
{
    for (uint32_t k = 0; k < n_late; ++k) {
        for (uint32_t i = 0; i < k; ++i) {
            if (late[i] == late[k]) {
                return false;
            }
        }
        if (late[k] >= n_ranks) {
            return false;
        }
    }
    return true;
}

fs_status_t fs_straggler_create_stream(uint32_t n_ranks, const uint32_t *late,
                                       uint32_t n_late, uint32_t n_pieces,
                                       fs_straggler_t **schedule_p)
{
    const fs_straggler_t wanted = {.kind     = FS_STRAGGLER_STREAM,
                                   .n_ranks  = n_ranks,
                                   .n_late   = n_late,
                                   .late     = (uint32_t *)late,
                                   .n_pieces = n_pieces,
                                   .n_local  = 1};

    if (n_ranks > FS_STRAGGLER_MAX_STREAM || n_late == 0 ||
        n_late > n_ranks / 2 || !are_ranks(late, n_late, n_ranks) ||
        n_pieces == 0 || n_pieces > FS_STRAGGLER_MAX_PIECES) {
        return FS_ERR_INVAL;
    }
    return create(&wanted, schedule_p);
}

bool fs_straggler_streams(uint32_t n_ranks, uint64_t n_bytes,
                          uint64_t round_bytes)
{
    fs_u128_t few, many, chunk;

    if (n_ranks < 2 || n_ranks > FS_STRAGGLER_FEW_RANKS) {
        return false;
    }
    few   = fs_straggler_min_rounds(n_ranks);
    many  = FS_STRAGGLER_PIECES * (n_ranks - 1) + fs_log2_up(n_ranks);
    chunk = n_bytes / (n_ranks - 1);
    return many * (chunk + (fs_u128_t)FS_STRAGGLER_PIECES * round_bytes) <
           FS_STRAGGLER_PIECES * few * (chunk + round_bytes);
}

fs_status_t fs_straggler_create_hierarchical(uint32_t         n_servers,
                                             uint32_t         n_local,
                                             fs_straggler_t **schedule_p)
{
    uint64_t             n_ranks = (uint64_t)n_servers * n_local;
    uint32_t             last    = (uint32_t)n_ranks - 1;
    const fs_straggler_t wanted  = {.kind     = FS_STRAGGLER_HIERARCHICAL,
                                    .n_ranks  = (uint32_t)n_ranks,
                                    .n_late   = 1,
                                    .late     = &last,
                                    .n_pieces = 1,
                                    .n_local  = n_local};

    if (n_ranks == 0 || n_ranks > FS_STRAGGLER_MAX_RANKS) {
        return FS_ERR_INVAL;
    }
    return create(&wanted, schedule_p);
}

void fs_straggler_destroy(fs_straggler_t *schedule)
{
    if (schedule != NULL) {
        free(schedule->late);
        free(schedule->first);
        free(schedule->msgs);
        free(schedule);
    }
}
