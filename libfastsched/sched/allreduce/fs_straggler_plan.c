/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An allreduce schedule as the program of one rank.
 *
 * Chunks are cut into fragments, a message each: at elements, as evenly as can
 * be, on all ranks alike. There is no barrier between rounds. What is left of
 * them is the order of messages, and edges between operations on one fragment,
 * so that the fragments of a chunk follow each other from round to round as in
 * a pipeline.
 *
 * When two ranks exchange what they have of a fragment, both must end with the
 * same bits. The straggler then adds in the way that copies nothing
 * (fs_vector.h), because all others wait for it: its operand is on the left, in
 * place on the right. In place the punctual rank would have to copy. So it
 * leaves the one chunk that it will exchange with the straggler in staging, if
 * there is room.
 *
 * Why no rank waits forever: all ranks emit messages in one order, by round,
 * source, destination, fragment. The first of those that are not over waits for
 * nothing but messages before it.
 *
 * Two tiers (ours), if the schedule is of servers: the vector has a part for each
 * rank of a server. Inside the server each rank adds up its part, exchanges it by
 * the schedule with the ranks of its place on other servers, all at the same time,
 * and hands it out. A late rank makes its server late.
 *
 * Limits: a message has one fragment even if the schedule sends several chunks
 * at once (RHD, BROADCAST). ALLPAIRS goes through that order one by one, and is
 * slow. With a schedule of ranks servers decide on the channel only.
 */
#include "sched/allreduce/fs_straggler_plan.h"

#include "base/fs_arith.h"
#include "base/fs_digest.h"
#include "sched/allreduce/fs_straggler_build.h"
#include "sched/model/fs_topo.h"
#include "sched/allreduce/fs_vector.h"

enum { ALIGN = 64, MORE_SLOTS = 2, NO_CHUNK = UINT32_MAX };

/* Fragments of a chunk, if they are not too short: the first is passed on while
 * the last is on its way, and the next sender is asked one fragment before the
 * end, so that its start-up is hidden, and no two senders share a lane for
 * longer. */
enum { FRAGMENTS = 4, SHORTEST_BYTES = 8192 };

typedef struct lowering {
    const fs_straggler_t   *schedule;
    const fs_plan_params_t *params;
    const fs_reduction_t   *reduction;
    fs_arena_t              arena;
    fs_program_t            program;
    fs_vector_t             vec;
    uint32_t                server; /* of two tiers */
    uint32_t                me;     /* in the schedule */
    uint32_t n_parts; /* of the vector, 1 or the ranks of a server */
    uint32_t part;    /* that this rank exchanges */
    size_t  *first;   /* [n_parts x n_chunks + 1] the fragments of a chunk */
    fs_vector_fragment_t *fragments;
    uint32_t              staged_chunk; /* from staging's start; or NO_CHUNK */
} lowering_t;

/* ---- fragments ---- */

/* Where part k of n begins if they differ by one at most. */
static uint64_t part_begin(uint64_t total, uint64_t n, uint64_t k)
{
    return total / n * k + fs_u64_min(k, total % n);
}

/* Where a chunk begins, in elements; chunks of all parts are counted. */
static uint64_t chunk_begin(const lowering_t *lo, uint32_t chunk)
{
    uint64_t n     = lo->reduction->n_elems;
    uint32_t part  = chunk / lo->schedule->n_chunks;
    uint64_t begin = part_begin(n, lo->n_parts, part);
    uint64_t end   = part_begin(n, lo->n_parts, part + 1);

    return begin + part_begin(end - begin, lo->schedule->n_chunks,
                              chunk % lo->schedule->n_chunks);
}

/* No chunk is longer than the first. */
static uint64_t chunk_elems(const lowering_t *lo, uint32_t chunk)
{
    return chunk_begin(lo, chunk + 1) - chunk_begin(lo, chunk);
}

static uint64_t chunk_bytes(const lowering_t *lo)
{
    return chunk_elems(lo, 0) * lo->reduction->elem_bytes;
}

/* The longest that a fragment may be. */
static uint64_t fragment_bytes(const lowering_t *lo)
{
    uint64_t part  = fs_u64_div_up(chunk_bytes(lo), FRAGMENTS);
    uint64_t least = fs_u64_max(SHORTEST_BYTES, lo->reduction->elem_bytes);

    return fs_u64_min(lo->params->chunk, fs_u64_max(part, least));
}

static uint64_t count_fragments(const lowering_t *lo, uint32_t chunk)
{
    return fs_u64_div_up(chunk_elems(lo, chunk),
                         fragment_bytes(lo) / lo->reduction->elem_bytes);
}

static void cut_chunk(lowering_t *lo, uint32_t chunk)
{
    fs_vector_fragment_t *fragments = &lo->fragments[lo->first[chunk]];
    uint64_t              n         = lo->first[chunk + 1] - lo->first[chunk];
    uint64_t              elem      = lo->reduction->elem_bytes;

    for (uint64_t k = 0; k < n; ++k) {
        uint64_t begin = part_begin(chunk_elems(lo, chunk), n, k);
        uint64_t end   = part_begin(chunk_elems(lo, chunk), n, k + 1);

        fragments[k] =
            fs_vector_fragment((chunk_begin(lo, chunk) + begin) * elem,
                               (end - begin) * elem, lo->reduction->in_place);
    }
}

/* From now on, what is added to it stays in staging. */
static void stage_chunk(lowering_t *lo)
{
    uint64_t offset = 0;

    if (lo->staged_chunk == NO_CHUNK) {
        return;
    }
    for (size_t k = lo->first[lo->staged_chunk];
         k < lo->first[lo->staged_chunk + 1]; ++k) {
        lo->fragments[k].staged = offset;
        offset += lo->fragments[k].len_bytes;
    }
}

static fs_status_t cut(lowering_t *lo)
{
    uint32_t n_chunks = lo->n_parts * lo->schedule->n_chunks;
    size_t   n        = 0;

    lo->first =
        fs_arena_alloc(&lo->arena, (size_t)n_chunks + 1, sizeof(*lo->first));
    if (lo->first == NULL) {
        return FS_ERR_NOMEM;
    }
    for (uint32_t c = 0; c < n_chunks; ++c) {
        lo->first[c] = n;
        n += count_fragments(lo, c);
    }
    lo->first[n_chunks] = n;
    lo->fragments       = fs_arena_alloc(&lo->arena, n, sizeof(*lo->fragments));
    if (lo->fragments == NULL) {
        return FS_ERR_NOMEM;
    }
    for (uint32_t c = 0; c < n_chunks; ++c) {
        cut_chunk(lo, c);
    }
    return FS_OK;
}

/* ---- rounds ---- */

/* Does the receiver send the sender in this round what it has of the chunk, for
 * it to add as well? */
static bool is_exchange(const fs_straggler_t *s, uint32_t round,
                        const fs_straggler_msg_t *msg)
{
    for (size_t i = s->first[round]; i < s->first[round + 1]; ++i) {
        const fs_straggler_msg_t *reply = &s->msgs[i];

        if (reply->src == msg->dst && reply->dst == msg->src && reply->reduce &&
            reply->chunk == msg->chunk) {
            return true;
        }
    }
    return false;
}

/* Which operand is the receiver's. Both ends of an exchange find the same. */
static fs_operand_t operand_of(const lowering_t *lo, uint32_t round,
                               const fs_straggler_msg_t *msg)
{
    uint32_t straggler = lo->schedule->straggler;

    if (!msg->reduce || !is_exchange(lo->schedule, round, msg)) {
        return FS_EITHER;
    }
    if (msg->dst == straggler || msg->src == straggler) {
        return (msg->dst == straggler) != lo->reduction->in_place ? FS_LEFT
                                                                  : FS_RIGHT;
    }
    return msg->dst < msg->src ? FS_LEFT : FS_RIGHT;
}

/* Of a rank of the schedule: who it is here. */
static uint32_t rank_of(const lowering_t *lo, uint32_t scheduled)
{
    return lo->n_parts > 1 ? fs_topo_rank(lo->vec.topo, scheduled, lo->part)
                           : scheduled;
}

/* The first fragment of a chunk of this rank's part. */
static size_t first_of(const lowering_t *lo, uint32_t chunk)
{
    return lo->first[lo->part * lo->schedule->n_chunks + chunk];
}

static void emit_send(lowering_t *lo, const fs_straggler_msg_t *msg)
{
    for (size_t k = first_of(lo, msg->chunk);
         k < first_of(lo, msg->chunk + msg->n_chunks); ++k) {
        fs_vector_send(&lo->vec, rank_of(lo, msg->dst), &lo->fragments[k]);
    }
}

static void emit_recv(lowering_t *lo, uint32_t round,
                      const fs_straggler_msg_t *msg)
{
    fs_operand_t own  = operand_of(lo, round, msg);
    uint32_t     peer = rank_of(lo, msg->src);

    for (size_t k = first_of(lo, msg->chunk);
         k < first_of(lo, msg->chunk + msg->n_chunks); ++k) {
        if (msg->reduce) {
            fs_vector_add(&lo->vec, peer, &lo->fragments[k], own);
        } else {
            fs_vector_replace(&lo->vec, peer, &lo->fragments[k]);
        }
    }
}

/* What is sent in a round is what was there before it: sends come first. */
static void emit_round(lowering_t *lo, uint32_t round)
{
    const fs_straggler_t *s = lo->schedule;

    for (size_t i = s->first[round]; i < s->first[round + 1]; ++i) {
        if (s->msgs[i].src == lo->me) {
            emit_send(lo, &s->msgs[i]);
        }
    }
    for (size_t i = s->first[round]; i < s->first[round + 1]; ++i) {
        if (s->msgs[i].dst == lo->me) {
            emit_recv(lo, round, &s->msgs[i]);
        }
    }
}

/* ---- inside a server ---- */

/* The rank so many places further on, and so its part. */
static uint32_t neighbour(const lowering_t *lo, uint32_t distance)
{
    return (lo->part + distance) % lo->n_parts;
}

static uint32_t local_rank(const lowering_t *lo, uint32_t part)
{
    return fs_topo_rank(lo->vec.topo, lo->server, part);
}

/* What the other ranks have of this one's part is added to it. */
static void emit_gather(lowering_t *lo)
{
    size_t n = lo->schedule->n_chunks;

    for (uint32_t d = 1; d < lo->n_parts; ++d) {
        uint32_t to = neighbour(lo, d), from = neighbour(lo, lo->n_parts - d);

        for (size_t k = lo->first[to * n]; k < lo->first[(to + 1) * n]; ++k) {
            fs_vector_send(&lo->vec, local_rank(lo, to), &lo->fragments[k]);
        }
        for (size_t k = lo->first[lo->part * n];
             k < lo->first[(lo->part + 1) * n]; ++k) {
            fs_vector_add(&lo->vec, local_rank(lo, from), &lo->fragments[k],
                          FS_EITHER);
        }
    }
}

/* Each rank hands out its part, chunk by chunk. */
static void emit_spread(lowering_t *lo)
{
    uint32_t n = lo->schedule->n_chunks;

    for (uint32_t c = 0; c < n; ++c) {
        for (uint32_t d = 1; d < lo->n_parts; ++d) {
            uint32_t to   = neighbour(lo, d);
            uint32_t from = neighbour(lo, lo->n_parts - d);

            for (size_t k = first_of(lo, c); k < first_of(lo, c + 1); ++k) {
                fs_vector_send(&lo->vec, local_rank(lo, to), &lo->fragments[k]);
            }
            for (size_t k = lo->first[from * n + c];
                 k < lo->first[from * n + c + 1]; ++k) {
                fs_vector_replace(&lo->vec, local_rank(lo, from),
                                  &lo->fragments[k]);
            }
        }
    }
}

static void emit_all(lowering_t *lo)
{
    emit_gather(lo);
    stage_chunk(lo);
    for (uint32_t round = 0; round < lo->schedule->n_rounds; ++round) {
        emit_round(lo, round);
    }
    emit_spread(lo);
    for (size_t k = 0;
         k < lo->first[(size_t)lo->n_parts * lo->schedule->n_chunks]; ++k) {
        fs_vector_finish(&lo->vec, &lo->fragments[k]);
    }
}

/* ---- all of it ---- */

static uint64_t aligned(uint64_t bytes)
{
    return fs_u64_div_up(bytes, ALIGN) * ALIGN;
}

/* The chunk, if there is one and room for it, then the ring. */
static fs_status_t share_staging(lowering_t *lo)
{
    const fs_straggler_t *s     = lo->schedule;
    uint64_t              limit = lo->params->staging_limit, base = 0;
    uint64_t              chunk = aligned(chunk_bytes(lo));
    uint64_t              slot = fs_u64_min(chunk, aligned(fragment_bytes(lo)));
    uint64_t n = fs_u64_min((uint64_t)lo->params->window + MORE_SLOTS,
                            FS_RING_MAX_SLOTS);

    lo->staged_chunk = NO_CHUNK;
    slot             = fs_u64_max(slot, ALIGN);
    if (s->kind == FS_STRAGGLER_STRAGGLAR && lo->reduction->in_place &&
        lo->me != s->straggler && n * slot <= limit &&
        chunk <= limit - n * slot) {
        lo->staged_chunk = lo->part * s->n_chunks +
                           fs_punctual_index(s, lo->me);
        lo->vec.staging_bytes = base = chunk;
    }
    n = fs_u64_min(n, (limit - base) / slot);
    fs_ring_init(&lo->vec.ring, &base, (uint32_t)n, slot);
    return n == 0 ? FS_ERR_INVAL : FS_OK;
}

static uint64_t digest_of(const lowering_t *lo)
{
    const uint64_t words[] = {
        lo->schedule->kind,      lo->schedule->n_ranks,
        lo->schedule->straggler, lo->schedule->n_chunks,
        lo->params->chunk,       lo->n_parts,
        lo->reduction->n_elems,  lo->reduction->elem_bytes,
        lo->reduction->in_place};
    uint64_t digest = 0;

    for (size_t k = 0; k < sizeof(words) / sizeof(words[0]); ++k) {
        digest = fs_digest_add(digest, words[k]);
    }
    return digest;
}

/* One fragment, or a part of the chunk as long. */
static uint64_t look_ahead(const lowering_t *lo)
{
    return fs_u64_min(
        fs_look_ahead(lo->params->chunk, lo->params->window),
        fs_u64_max(fragment_bytes(lo), chunk_bytes(lo) / FRAGMENTS));
}

static fs_status_t seal(lowering_t *lo, fs_plan_t **plan_p)
{
    const fs_straggler_t *s      = lo->schedule;
    fs_plan_t             totals = {.staging_bytes = lo->vec.staging_bytes,
                                    .window        = lo->params->window,
                                    .look_ahead    = look_ahead(lo),
                                    .n_stages      = s->n_rounds,
                                    .digest        = digest_of(lo)};

    return fs_u64_mul(s->early_chunks + s->late_chunks, chunk_bytes(lo),
                      &totals.total_per_lane)
               ? fs_program_seal(&lo->program, &totals, plan_p)
               : FS_ERR_OVERFLOW;
}

static fs_status_t lower(lowering_t *lo, fs_plan_t **plan_p)
{
    fs_status_t status = share_staging(lo);

    if (status == FS_OK) {
        status = cut(lo);
    }
    if (status == FS_OK) {
        status = fs_program_init(&lo->program, fs_topo_n_ranks(lo->vec.topo));
    }
    if (status != FS_OK) {
        return status;
    }
    lo->vec.wire_recvs.look_ahead = look_ahead(lo);
    emit_all(lo);
    return seal(lo, plan_p);
}

/* Is the schedule of ranks, or of servers with as many ranks each? */
static bool find_place(lowering_t *lo)
{
    const fs_topo_t *topo     = lo->vec.topo;
    uint32_t         n        = lo->schedule->n_ranks;
    bool             of_ranks = fs_topo_n_ranks(topo) == n;

    lo->server  = fs_topo_server(topo, lo->vec.rank);
    lo->me      = of_ranks ? lo->vec.rank : lo->server;
    lo->part    = of_ranks ? 0 : fs_topo_local(topo, lo->vec.rank);
    lo->n_parts = of_ranks ? 1 : fs_topo_n_local(topo, 0);
    return of_ranks || (fs_topo_n_servers(topo) == n && fs_topo_is_even(topo));
}

fs_status_t fs_reduction_plan(const fs_straggler_t   *schedule,
                              const fs_topo_t        *topo,
                              const fs_plan_params_t *params,
                              const fs_reduction_t *reduction, uint32_t rank,
                              fs_plan_t **plan_p)
{
    lowering_t lo = {
        .schedule = schedule, .params = params, .reduction = reduction};
    uint64_t    bytes;
    fs_status_t status;

    if (rank >= fs_topo_n_ranks(topo) || params->window == 0 ||
        reduction->elem_bytes == 0 || params->chunk < reduction->elem_bytes) {
        return FS_ERR_INVAL;
    }
    if (!fs_u64_mul(reduction->n_elems, reduction->elem_bytes, &bytes) ||
        bytes > FS_MAX_BYTES) {
        return FS_ERR_OVERFLOW;
    }
    lo.vec = (fs_vector_t){
        .topo       = topo,
        .rank       = rank,
        .program    = &lo.program,
        .arena      = &lo.arena,
        .wire_recvs = {.program = &lo.program, .arena = &lo.arena}};
    status = find_place(&lo) ? lower(&lo, plan_p) : FS_ERR_INVAL;
    fs_program_fini(&lo.program);
    fs_arena_fini(&lo.arena);
    return status;
}
