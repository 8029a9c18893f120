/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The proof that a schedule is an allreduce. Shares no code with what makes
 * schedules, not even the rank of the i-th punctual one.
 *
 * Chunks have nothing to do with each other, so they are followed one at a time
 * through all rounds, and memory stays small: for each rank the set of ranks
 * whose contribution it has, a row of bits. First of all come shape and ports,
 * which need all chunks of a round together.
 */
#include "sched/allreduce/fs_straggler.h"

#include "base/fs_arena.h"

#include <stdio.h>
#include <string.h>

#define NOBODY UINT32_MAX

typedef struct check {
    const fs_straggler_t *schedule;
    fs_arena_t            arena;
    char                 *why;
    size_t                why_len;
    uint32_t              n_words;  /* of a row */
    uint64_t             *rows;     /* [n_ranks x n_words] contributors */
    uint64_t             *sent;     /* [n_ranks x n_words] as the round began */
    bool                 *stale;    /* [n_ranks] not to be used any more */
    uint32_t             *to;       /* [n_ranks] receiver, in this round */
    uint32_t             *from;     /* [n_ranks] sender */
    size_t               *of_chunk; /* [n_chunks + 1] first in list */
    size_t               *list;     /* messages by chunk, then round */
} check_t;

#define WRONG(_check, ...) \
    (snprintf((_check)->why, (_check)->why_len, __VA_ARGS__), FS_ERR_INVAL)

/* ---- shape ---- */

/* Has every punctual rank as many chunks? */
static bool pieces_are_even(const fs_straggler_t *s)
{
    return s->kind != FS_STRAGGLER_STREAM || s->n_ranks == 1 ||
           s->n_chunks == (uint64_t)s->n_pieces * (s->n_ranks - s->n_late);
}

static bool is_late(const fs_straggler_t *s, uint32_t rank)
{
    bool late = false;

    for (uint32_t k = 0; k < s->n_late; ++k) {
        late = late || s->late[k] == rank;
    }
    return late;
}

static bool late_are_ranks(const fs_straggler_t *s)
{
    uint32_t n = 0;

    for (uint32_t r = 0; r < s->n_ranks; ++r) {
        n += is_late(s, r);
    }
    return n == s->n_late && n > 0 && s->late[n - 1] == s->straggler;
}

static fs_status_t check_numbers(check_t *check)
{
    const fs_straggler_t *s = check->schedule;

    if ((unsigned)s->kind >= FS_STRAGGLER_N_KINDS) {
        return WRONG(check, "unknown kind %d", (int)s->kind);
    }
    if (s->n_ranks == 0 || s->straggler >= s->n_ranks || s->n_chunks == 0 ||
        s->n_early > s->n_rounds) {
        return WRONG(
            check, "%u ranks, straggler %u, %u chunks, %u of %u rounds early",
            s->n_ranks, s->straggler, s->n_chunks, s->n_early, s->n_rounds);
    }
    if (!late_are_ranks(s)) {
        return WRONG(check,
                     "the late ranks are not %u of %u, the straggler last",
                     s->n_late, s->n_ranks);
    }
    if (!pieces_are_even(s)) {
        return WRONG(check, "%u chunks, but %u for each of %u punctual ranks",
                     s->n_chunks, s->n_pieces, s->n_ranks - s->n_late);
    }
    if (s->first[0] != 0 || s->first[s->n_rounds] != s->n_msgs) {
        return WRONG(check, "some messages are in no round");
    }
    for (uint32_t r = 0; r < s->n_rounds; ++r) {
        if (s->first[r] > s->first[r + 1]) {
            return WRONG(check, "round %u ends before it begins", r);
        }
    }
    return FS_OK;
}

static fs_status_t check_msg(check_t *check, uint32_t round,
                             const fs_straggler_msg_t *msg)
{
    const fs_straggler_t *s = check->schedule;

    if (msg->src >= s->n_ranks || msg->dst >= s->n_ranks ||
        msg->src == msg->dst) {
        return WRONG(check, "round %u: a message from %u to %u", round,
                     msg->src, msg->dst);
    }
    if (msg->n_chunks == 0 || msg->chunk >= s->n_chunks ||
        msg->n_chunks > s->n_chunks - msg->chunk) {
        return WRONG(check,
                     "round %u: %u chunks from chunk %u on, but there are %u",
                     round, msg->n_chunks, msg->chunk, s->n_chunks);
    }
    if (round < s->n_early && (is_late(s, msg->src) || is_late(s, msg->dst))) {
        return WRONG(check,
                     "round %u is early, but needs rank %u, which is late",
                     round, is_late(s, msg->src) ? msg->src : msg->dst);
    }
    return FS_OK;
}

/* ---- ports ---- */

/* Must a rank send to the one it receives from? */
static bool is_pairwise(const fs_straggler_t *s, uint32_t round)
{
    return s->kind == FS_STRAGGLER_RHD ||
           (round >= s->n_early && (s->kind == FS_STRAGGLER_STRAGGLAR ||
                                    s->kind == FS_STRAGGLER_BROADCAST));
}

/* One message out, one in. */
static fs_status_t use_ports(check_t *check, uint32_t round,
                             const fs_straggler_msg_t *msg)
{
    if (check->to[msg->src] != NOBODY) {
        return WRONG(check, "round %u: rank %u sends to %u and %u", round,
                     msg->src, check->to[msg->src], msg->dst);
    }
    if (check->from[msg->dst] != NOBODY) {
        return WRONG(check, "round %u: rank %u receives from %u and %u", round,
                     msg->dst, check->from[msg->dst], msg->src);
    }
    check->to[msg->src]   = msg->dst;
    check->from[msg->dst] = msg->src;
    return FS_OK;
}

static fs_status_t check_pairs(check_t *check, uint32_t round)
{
    for (uint32_t r = 0; r < check->schedule->n_ranks; ++r) {
        uint32_t to = check->to[r], from = check->from[r];

        if (to != NOBODY && from != NOBODY && to != from) {
            return WRONG(check, "round %u: rank %u has two partners, %u and %u",
                         round, r, to, from);
        }
    }
    return FS_OK;
}

static fs_status_t check_round(check_t *check, uint32_t round)
{
    const fs_straggler_t *s      = check->schedule;
    fs_status_t           status = FS_OK;

    for (uint32_t r = 0; r < s->n_ranks; ++r) {
        check->to[r]   = NOBODY;
        check->from[r] = NOBODY;
    }
    for (size_t i = s->first[round]; i < s->first[round + 1] && status == FS_OK;
         ++i) {
        status = check_msg(check, round, &s->msgs[i]);
        if (status == FS_OK && s->kind != FS_STRAGGLER_ALLPAIRS) {
            status = use_ports(check, round, &s->msgs[i]);
        }
    }
    if (status == FS_OK && is_pairwise(s, round)) {
        status = check_pairs(check, round);
    }
    return status;
}

/* ---- contributions, one chunk ---- */

static uint64_t *row_of(const check_t *check, uint64_t *rows, uint32_t rank)
{
    return rows + (size_t)rank * check->n_words;
}

static uint32_t count(const check_t *check, uint32_t rank)
{
    const uint64_t *row = row_of(check, check->rows, rank);
    uint32_t        n   = 0;

    for (uint32_t w = 0; w < check->n_words; ++w) {
        n += (uint32_t)__builtin_popcountll(row[w]);
    }
    return n;
}

static bool has(const check_t *check, uint32_t rank, uint32_t whose)
{
    return row_of(check, check->rows, rank)[whose / 64] >> (whose % 64) & 1;
}

/* All contributions of punctual ranks, and no other. */
static bool has_punctual(const check_t *check, uint32_t rank)
{
    const fs_straggler_t *s  = check->schedule;
    bool                  ok = count(check, rank) == s->n_ranks - s->n_late;

    for (uint32_t k = 0; k < s->n_late; ++k) {
        ok = ok && !has(check, rank, s->late[k]);
    }
    return ok;
}

/* What the messages of a round that are about one chunk send is what there is
 * when the round begins. */
static fs_status_t send_all(check_t *check, uint32_t chunk, uint32_t round,
                            const size_t *list, size_t n)
{
    for (size_t i = 0; i < n; ++i) {
        const fs_straggler_msg_t *msg = &check->schedule->msgs[list[i]];

        if (check->stale[msg->src]) {
            return WRONG(check,
                         "round %u: rank %u sends chunk %u, of which it has "
                         "only what the early rounds left behind",
                         round, msg->src, chunk);
        }
        memcpy(check->sent + i * check->n_words,
               row_of(check, check->rows, msg->src),
               check->n_words * sizeof(uint64_t));
    }
    return FS_OK;
}

/* Add or replace. The receiver must gain, lose nothing, and get nothing twice.
 * A stale row is worth nothing: it may be replaced, not added to. */
static fs_status_t receive(check_t *check, uint32_t chunk, uint32_t round,
                           const fs_straggler_msg_t *msg, const uint64_t *sent)
{
    uint64_t *row   = row_of(check, check->rows, msg->dst);
    bool      stale = check->stale[msg->dst], gains = false;

    for (uint32_t w = 0; w < check->n_words; ++w) {
        uint64_t mine = stale ? 0 : row[w];

        if (msg->reduce && ((mine & sent[w]) != 0 || stale)) {
            return WRONG(check,
                         "round %u: chunk %u is reduced twice at rank %u",
                         round, chunk, msg->dst);
        }
        if (!msg->reduce && (mine & ~sent[w]) != 0) {
            return WRONG(check,
                         "round %u: rank %u loses contributions to chunk %u",
                         round, msg->dst, chunk);
        }
        gains  = gains || (sent[w] & ~mine) != 0;
        row[w] = sent[w] | mine;
    }
    check->stale[msg->dst] = false;
    return gains ? FS_OK
                 : WRONG(check,
                         "round %u: rank %u sends rank %u chunk %u, "
                         "which it has",
                         round, msg->src, msg->dst, chunk);
}

/* As the late rounds begin, keep what they may use: what the late ranks have, and
 * of each punctual rank the chunks it finished. */
static fs_status_t end_early(check_t *check, uint32_t chunk)
{
    const fs_straggler_t *s        = check->schedule;
    uint32_t              punctual = 0;

    if (s->kind != FS_STRAGGLER_STRAGGLAR && s->kind != FS_STRAGGLER_STREAM &&
        s->kind != FS_STRAGGLER_BROADCAST) {
        return FS_OK;
    }
    for (uint32_t r = 0; r < s->n_ranks; ++r) {
        bool mine;

        if (is_late(s, r)) {
            continue;
        }
        mine = punctual == chunk % (s->n_ranks - s->n_late) ||
               s->kind == FS_STRAGGLER_BROADCAST;
        if (mine && !has_punctual(check, r)) {
            return WRONG(check,
                         "after the early rounds rank %u has chunk %u from %u "
                         "of %u punctual ranks",
                         r, chunk, count(check, r), s->n_ranks - s->n_late);
        }
        check->stale[r] = !mine;
        punctual++;
    }
    return FS_OK;
}

/* The messages about the chunk in one round; *i_p moves past them. */
static fs_status_t follow_round(check_t *check, uint32_t chunk, uint32_t round,
                                size_t *i_p)
{
    const fs_straggler_t *s     = check->schedule;
    size_t                begin = *i_p;
    fs_status_t           status;

    while (*i_p < check->of_chunk[chunk + 1] &&
           check->list[*i_p] < s->first[round + 1]) {
        ++*i_p;
    }
    status = send_all(check, chunk, round, check->list + begin, *i_p - begin);
    for (size_t i = begin; i < *i_p && status == FS_OK; ++i) {
        status = receive(check, chunk, round, &s->msgs[check->list[i]],
                         check->sent + (i - begin) * check->n_words);
    }
    return status;
}

static fs_status_t follow_chunk(check_t *check, uint32_t chunk)
{
    const fs_straggler_t *s      = check->schedule;
    size_t                i      = check->of_chunk[chunk];
    fs_status_t           status = FS_OK;

    memset(check->rows, 0,
           (size_t)s->n_ranks * check->n_words * sizeof(uint64_t));
    memset(check->stale, 0, s->n_ranks * sizeof(bool));
    for (uint32_t r = 0; r < s->n_ranks; ++r) {
        row_of(check, check->rows, r)[r / 64] |= UINT64_C(1) << (r % 64);
    }
    for (uint32_t round = 0; round <= s->n_rounds && status == FS_OK; ++round) {
        if (round == s->n_early) {
            status = end_early(check, chunk);
        }
        if (status == FS_OK && round < s->n_rounds) {
            status = follow_round(check, chunk, round, &i);
        }
    }
    for (uint32_t r = 0; r < s->n_ranks && status == FS_OK; ++r) {
        if (check->stale[r] || count(check, r) != s->n_ranks) {
            status = WRONG(check,
                           "in the end rank %u has chunk %u from %u of %u "
                           "ranks",
                           r, chunk, check->stale[r] ? 0 : count(check, r),
                           s->n_ranks);
        }
    }
    return status;
}

/* ---- all chunks ---- */

/* Room for what at most one round sends of one chunk, and for the messages of
 * every chunk. */
static fs_status_t sort_by_chunk(check_t *check)
{
    const fs_straggler_t *s = check->schedule;
    size_t                n = 0;
    size_t               *end;

    check->of_chunk =
        fs_arena_calloc(&check->arena, (size_t)s->n_chunks + 1, sizeof(size_t));
    end = fs_arena_calloc(&check->arena, s->n_chunks, sizeof(size_t));
    if (check->of_chunk == NULL || end == NULL) {
        return FS_ERR_NOMEM;
    }
    for (size_t i = 0; i < s->n_msgs; ++i) {
        for (uint32_t c = 0; c < s->msgs[i].n_chunks; ++c) {
            end[s->msgs[i].chunk + c]++;
        }
    }
    for (uint32_t c = 0; c < s->n_chunks; ++c) {
        check->of_chunk[c] = n;
        n += end[c];
        end[c] = check->of_chunk[c];
    }
    check->of_chunk[s->n_chunks] = n;
    check->list = fs_arena_calloc(&check->arena, n, sizeof(size_t));
    if (check->list == NULL) {
        return FS_ERR_NOMEM;
    }
    for (size_t i = 0; i < s->n_msgs; ++i) {
        for (uint32_t c = 0; c < s->msgs[i].n_chunks; ++c) {
            check->list[end[s->msgs[i].chunk + c]++] = i;
        }
    }
    return FS_OK;
}

/* The most messages about one chunk in one round. */
static size_t most_at_once(const check_t *check)
{
    const fs_straggler_t *s    = check->schedule;
    size_t                most = 0;

    for (uint32_t c = 0; c < s->n_chunks; ++c) {
        uint32_t round = 0;
        size_t   n     = 0;

        for (size_t i = check->of_chunk[c]; i < check->of_chunk[c + 1]; ++i) {
            while (check->list[i] >= s->first[round + 1]) {
                round++;
                n = 0;
            }
            n++;
            most = n > most ? n : most;
        }
    }
    return most;
}

static fs_status_t check_contributions(check_t *check)
{
    const fs_straggler_t *s      = check->schedule;
    fs_status_t           status = sort_by_chunk(check);

    if (status != FS_OK) {
        return status;
    }
    check->n_words = (s->n_ranks + 63) / 64;
    check->rows    = fs_arena_calloc(&check->arena, s->n_ranks,
                                     check->n_words * sizeof(uint64_t));
    check->sent    = fs_arena_calloc(&check->arena, most_at_once(check),
                                     check->n_words * sizeof(uint64_t));
    check->stale   = fs_arena_calloc(&check->arena, s->n_ranks, sizeof(bool));
    if (check->rows == NULL || check->sent == NULL || check->stale == NULL) {
        return FS_ERR_NOMEM;
    }
    for (uint32_t c = 0; c < s->n_chunks && status == FS_OK; ++c) {
        status = follow_chunk(check, c);
    }
    return status;
}

static fs_status_t check_rounds(check_t *check)
{
    const fs_straggler_t *s      = check->schedule;
    fs_status_t           status = FS_OK;

    check->to   = fs_arena_calloc(&check->arena, s->n_ranks, sizeof(uint32_t));
    check->from = fs_arena_calloc(&check->arena, s->n_ranks, sizeof(uint32_t));
    if (check->to == NULL || check->from == NULL) {
        return FS_ERR_NOMEM;
    }
    for (uint32_t round = 0; round < s->n_rounds && status == FS_OK; ++round) {
        status = check_round(check, round);
    }
    return status;
}

fs_status_t fs_straggler_check(const fs_straggler_t *schedule, char *why,
                               size_t why_len)
{
    check_t     check  = {.schedule = schedule, .why = why, .why_len = why_len};
    fs_status_t status = check_numbers(&check);

    if (status == FS_OK) {
        status = check_rounds(&check);
    }
    if (status == FS_OK) {
        status = check_contributions(&check);
    }
    fs_arena_fini(&check.arena);
    return status;
}
