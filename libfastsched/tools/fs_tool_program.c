/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program as JSON that needs no knowledge of ours to be replayed: places are
 * absolute offsets in three buffers, every operation lists those it waits for,
 * and a message is known by its two ranks and a tag.
 *
 * The send buffer holds the blocks to rank 0, 1, ... one behind the other, the
 * receive buffer those from rank 0, 1, ...
 */
#include "tools/fs_tool_program.h"

#include "tools/fs_tool_progress.h"

#include <stdlib.h>

/* A tag: messages of one channel between two ranks count from 0, to 2^24. */
enum { TAG_SEQ_BITS = 24 };

typedef struct writer {
    fs_json_t       *json;
    const fs_plan_t *plan;
    uint64_t        *at[2]; /* of send and receive buffer: [n_ranks + 1] where
                               a block begins */
    uint32_t        *first; /* [n_ops + 2] index into after */
    uint64_t        *after; /* [n_next] grouped by the operation that waits */
} writer_t;

fs_alg_t fs_tool_program_alg(const fs_tool_traffic_t *traffic,
                             const fs_plan_params_t  *params)
{
    fs_choice_t choice = fs_select(traffic->topo, &traffic->summary, params);

    if (params->force_algorithm) {
        return params->algorithm;
    }
    return choice.alg == FS_ALG_NATIVE ? FS_ALG_STAGED : choice.alg;
}

void fs_tool_programs_make(const fs_tool_traffic_t *traffic, uint32_t first,
                           uint32_t end, fs_tool_plan_rank_t plan_rank,
                           void *ctx)
{
    const fs_topo_t   *topo = traffic->topo;
    uint32_t           n    = fs_topo_n_servers(topo);
    fs_local_traffic_t local;

    fs_tool_progress_begin("planning", n);
    for (uint32_t s = 0; s < n; ++s) {
        if (end - first == 1 && fs_topo_server(topo, first) != s) {
            continue;
        }
        fs_tool_traffic_local(traffic, s, &local);
        for (uint32_t i = 0; i < fs_topo_n_local(topo, s); ++i) {
            uint32_t rank = fs_topo_rank(topo, s, i);

            if (rank >= first && rank < end) {
                fs_tool_must(plan_rank(ctx, rank, &local), "planning");
            }
        }
        free((void *)local.send);
        fs_tool_progress_at(s + 1);
    }
    fs_tool_progress_end();
}

static void find_blocks(const fs_tool_traffic_t *traffic, uint32_t rank,
                        writer_t *writer)
{
    size_t    n    = traffic->n_ranks;
    uint64_t *send = writer->at[FS_BUF_SEND], *recv = writer->at[FS_BUF_RECV];

    for (size_t r = 0; r < n; ++r) {
        send[r + 1] = send[r] + traffic->pairs[rank * n + r];
        recv[r + 1] = recv[r] + traffic->pairs[r * n + rank];
    }
}

/* A plan lists successors; the output lists predecessors. */
static void find_after(writer_t *writer)
{
    const fs_plan_t *plan  = writer->plan;
    uint32_t        *first = writer->first;

    for (uint32_t k = 0; k < plan->n_next; ++k) {
        first[plan->next[k] + 2]++;
    }
    for (uint32_t id = 0; id < plan->n_ops; ++id) {
        first[id + 2] += first[id + 1];
    }
    /* Filling a group moves its start, which is one too far on, to its end. */
    for (uint32_t id = 0; id < plan->n_ops; ++id) {
        const uint32_t *next = &plan->next[plan->ops[id].next];

        for (uint32_t k = 0; k < plan->ops[id].n_next; ++k) {
            writer->after[first[next[k] + 1]++] = id;
        }
    }
}

static void writer_init(fs_json_t *json, const fs_tool_traffic_t *traffic,
                        uint32_t rank, const fs_plan_t *plan, writer_t *writer)
{
    size_t n = (size_t)traffic->n_ranks + 1, n_ops = plan->n_ops;

    *writer = (writer_t){
        .json  = json,
        .plan  = plan,
        .at    = {[FS_BUF_SEND] = fs_tool_calloc(n, sizeof(uint64_t)),
                  [FS_BUF_RECV] = fs_tool_calloc(n, sizeof(uint64_t))},
        .first = fs_tool_calloc(n_ops + 2, sizeof(uint32_t)),
        .after = fs_tool_calloc(plan->n_next, sizeof(uint64_t)),
    };
    find_blocks(traffic, rank, writer);
    find_after(writer);
}

static void writer_fini(writer_t *writer)
{
    free(writer->at[FS_BUF_SEND]);
    free(writer->at[FS_BUF_RECV]);
    free(writer->first);
    free(writer->after);
}

static const char *buffer_name(uint32_t buffer)
{
    static const char *const names[] = {FS_BUFFER_MAP(FS_LIST_NAME)};

    return names[buffer];
}

/* NULL: the operation has no such place. */
static void write_place(const writer_t *writer, const char *buffer,
                        const char *offset, const fs_place_t *place)
{
    if (place == NULL) {
        fs_json_text(writer->json, buffer, NULL);
        fs_json_text(writer->json, offset, NULL);
        return;
    }
    fs_json_text(writer->json, buffer, buffer_name(place->buffer));
    fs_json_u64(writer->json, offset,
                place->offset +
                    (place->buffer == FS_BUF_STAGING
                         ? 0
                         : writer->at[place->buffer][place->block]));
}

static void write_message(const writer_t *writer, const fs_op_t *op)
{
    if (op->kind != FS_OP_SEND && op->kind != FS_OP_RECV) {
        fs_json_text(writer->json, "peer", NULL);
        fs_json_text(writer->json, "tag", NULL);
        return;
    }
    fs_json_u64(writer->json, "peer", op->peer);
    fs_json_u64(writer->json, "tag",
                (uint64_t)op->channel << TAG_SEQ_BITS | op->seq);
}

static void write_op(const writer_t *writer, uint32_t id)
{
    static const char *const names[] = {FS_OP_MAP(FS_LIST_NAME)};
    const fs_op_t           *op      = &writer->plan->ops[id];
    const fs_place_t        *to      = op->kind == FS_OP_SEND ? NULL : &op->dst;

    fs_json_open(writer->json, NULL, '{');
    fs_json_u64(writer->json, "id", id);
    fs_json_text(writer->json, "kind", names[op->kind]);
    write_message(writer, op);
    /* Where a receive puts its bytes is both its buffer and where to. */
    write_place(writer, "buffer", "offset",
                op->kind == FS_OP_RECV ? &op->dst : &op->src);
    write_place(writer, "to_buffer", "to_offset", to);
    fs_json_u64(writer->json, "length", op->len_bytes);
    fs_json_u64s(writer->json, "after",
                 writer->first[id + 1] - writer->first[id],
                 &writer->after[writer->first[id]]);
    fs_json_close(writer->json);
}

static void write_buffer(const writer_t *writer, fs_buffer_t buffer,
                         uint64_t bytes)
{
    fs_json_open(writer->json, NULL, '{');
    fs_json_text(writer->json, "name", buffer_name(buffer));
    fs_json_u64(writer->json, "bytes", bytes);
    fs_json_close(writer->json);
}

void fs_tool_program_json(fs_json_t *json, const fs_tool_traffic_t *traffic,
                          uint32_t rank, const fs_plan_t *plan)
{
    uint32_t n = traffic->n_ranks;
    writer_t writer;

    writer_init(json, traffic, rank, plan, &writer);
    fs_json_open(json, NULL, '{');
    fs_json_u64(json, "ranks", n);
    fs_json_u64(json, "rank", rank);
    fs_json_open(json, "buffers", '[');
    write_buffer(&writer, FS_BUF_SEND, writer.at[FS_BUF_SEND][n]);
    write_buffer(&writer, FS_BUF_RECV, writer.at[FS_BUF_RECV][n]);
    write_buffer(&writer, FS_BUF_STAGING, plan->staging_bytes);
    fs_json_close(json);
    fs_json_open(json, "ops", '[');
    for (uint32_t id = 0; id < plan->n_ops; ++id) {
        write_op(&writer, id);
    }
    fs_json_close(json);
    fs_json_close(json);
    writer_fini(&writer);
}
