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
    fs_tool_json_t  *json;
    const fs_plan_t *plan;
    uint64_t        *send_at; /* [n_ranks + 1] where a block begins */
    uint64_t        *recv_at; /* [n_ranks + 1] */
    uint32_t        *first;   /* [n_ops + 1] index into after */
    uint32_t        *after;   /* [n_next] grouped by the operation that waits */
} writer_t;

fs_alg_t fs_tool_program_alg(const fs_tool_traffic_t *traffic,
                             const fs_plan_params_t  *params)
{
    fs_choice_t choice = fs_select(traffic->topo, &traffic->summary, params);

    if (params->force_algorithm) {
        return params->algorithm;
    }
    return choice.alg == FS_ALG_HOST ? FS_ALG_STAGED : choice.alg;
}

/* The ranks of one server share what they know of the traffic. */
static fs_status_t plan_server(const fs_tool_traffic_t *traffic,
                               const fs_plan_params_t *params, uint32_t server,
                               uint32_t first, uint32_t end, fs_plan_t **plans)
{
    const fs_topo_t   *topo = traffic->topo;
    fs_alg_t           alg  = fs_tool_program_alg(traffic, params);
    fs_local_traffic_t local;
    fs_status_t        status = fs_tool_traffic_local(traffic, server, &local);

    if (status != FS_OK) {
        return status;
    }
    for (uint32_t i = 0; status == FS_OK && i < fs_topo_n_local(topo, server);
         ++i) {
        uint32_t rank = fs_topo_rank(topo, server, i);

        if (rank >= first && rank < end) {
            status = fs_plan_create(alg, topo, &traffic->summary, params, rank,
                                    &local, &plans[rank]);
        }
    }
    free((void *)local.send);
    return status;
}

int fs_tool_programs_make(const fs_tool_traffic_t *traffic,
                          const fs_plan_params_t *params, uint32_t first,
                          uint32_t end, fs_plan_t **plans)
{
    const fs_topo_t    *topo     = traffic->topo;
    uint32_t            n        = fs_topo_n_servers(topo);
    fs_tool_progress_t *progress = fs_tool_progress_begin("planning", n);
    fs_status_t         status   = FS_OK;

    for (uint32_t s = 0; s < n && status == FS_OK; ++s) {
        if (end - first > 1 || fs_topo_server(topo, first) == s) {
            status = plan_server(traffic, params, s, first, end, plans);
        }
        fs_tool_progress_at(progress, s + 1);
    }
    fs_tool_progress_end(progress);
    return status == FS_OK ? FS_TOOL_OK : fs_tool_status("planning", status);
}

static void find_blocks(const fs_tool_traffic_t *traffic, uint32_t rank,
                        writer_t *writer)
{
    size_t n = traffic->n_ranks;

    for (size_t r = 0; r < n; ++r) {
        writer->send_at[r + 1] = writer->send_at[r] +
                                 traffic->pairs[rank * n + r];
        writer->recv_at[r + 1] = writer->recv_at[r] +
                                 traffic->pairs[r * n + rank];
    }
}

/* A plan lists who comes next; a reader wants to know who has to be over. */
static void find_after(writer_t *writer)
{
    const fs_plan_t *plan  = writer->plan;
    uint32_t        *first = writer->first;

    for (uint32_t k = 0; k < plan->n_next; ++k) {
        first[plan->next[k] + 1]++;
    }
    for (uint32_t id = 0; id < plan->n_ops; ++id) {
        first[id + 1] += first[id];
    }
    for (uint32_t id = 0; id < plan->n_ops; ++id) {
        const fs_op_t *op = &plan->ops[id];

        for (uint32_t k = 0; k < op->n_next; ++k) {
            writer->after[first[plan->next[op->next + k]]++] = id;
        }
    }
    /* Each start has moved to its end: move them back by one. */
    for (uint32_t id = plan->n_ops; id > 0; --id) {
        first[id] = first[id - 1];
    }
    first[0] = 0;
}

static fs_status_t writer_init(fs_tool_json_t          *json,
                               const fs_tool_traffic_t *traffic, uint32_t rank,
                               const fs_plan_t *plan, writer_t *writer)
{
    size_t n = (size_t)traffic->n_ranks + 1;

    *writer = (writer_t){
        .json    = json,
        .plan    = plan,
        .send_at = calloc(n, sizeof(uint64_t)),
        .recv_at = calloc(n, sizeof(uint64_t)),
        .first   = calloc((size_t)plan->n_ops + 1, sizeof(uint32_t)),
        .after   = calloc((size_t)plan->n_next + 1, sizeof(uint32_t)),
    };
    if (writer->send_at == NULL || writer->recv_at == NULL ||
        writer->first == NULL || writer->after == NULL) {
        return FS_ERR_NOMEM;
    }
    find_blocks(traffic, rank, writer);
    find_after(writer);
    return FS_OK;
}

static void writer_fini(writer_t *writer)
{
    free(writer->send_at);
    free(writer->recv_at);
    free(writer->first);
    free(writer->after);
}

static const char *buffer_name(uint32_t buffer)
{
    static const char *const names[] = {FS_BUFFER_MAP(FS_LIST_NAME)};

    return names[buffer];
}

static uint64_t offset_of(const writer_t *writer, fs_place_t place)
{
    switch ((fs_buffer_t)place.buffer) {
    case FS_BUF_SEND:
        return writer->send_at[place.block] + place.offset;
    case FS_BUF_RECV:
        return writer->recv_at[place.block] + place.offset;
    case FS_BUF_STAGING:
        break;
    }
    return place.offset;
}

/* NULL: the operation has no such place. */
static void write_place(const writer_t *writer, const char *buffer,
                        const char *offset, const fs_place_t *place)
{
    if (place == NULL) {
        fs_tool_json_null(writer->json, buffer);
        fs_tool_json_null(writer->json, offset);
        return;
    }
    fs_tool_json_text(writer->json, buffer, buffer_name(place->buffer));
    fs_tool_json_u64(writer->json, offset, offset_of(writer, *place));
}

static void write_message(const writer_t *writer, const fs_op_t *op)
{
    if (op->kind == FS_OP_COPY || op->kind == FS_OP_REDUCE) {
        fs_tool_json_null(writer->json, "peer");
        fs_tool_json_null(writer->json, "tag");
        return;
    }
    fs_tool_json_u64(writer->json, "peer", op->peer);
    fs_tool_json_u64(writer->json, "tag",
                     (uint64_t)op->channel << TAG_SEQ_BITS | op->seq);
}

static void write_op(const writer_t *writer, uint32_t id)
{
    static const char *const kinds[] = {[FS_OP_COPY]   = "copy",
                                        [FS_OP_SEND]   = "send",
                                        [FS_OP_RECV]   = "recv",
                                        [FS_OP_REDUCE] = "reduce"};
    const fs_op_t           *op      = &writer->plan->ops[id];
    const fs_place_t        *to      = op->kind == FS_OP_SEND ? NULL : &op->dst;

    fs_tool_json_open(writer->json, NULL, '{');
    fs_tool_json_u64(writer->json, "id", id);
    fs_tool_json_text(writer->json, "kind", kinds[op->kind]);
    write_message(writer, op);
    /* Where a receive puts its bytes is both its buffer and where to. */
    write_place(writer, "buffer", "offset",
                op->kind == FS_OP_RECV ? &op->dst : &op->src);
    write_place(writer, "to_buffer", "to_offset", to);
    fs_tool_json_u64(writer->json, "length", op->len_bytes);
    fs_tool_json_open(writer->json, "after", '[');
    for (uint32_t k = writer->first[id]; k < writer->first[id + 1]; ++k) {
        fs_tool_json_u64(writer->json, NULL, writer->after[k]);
    }
    fs_tool_json_close(writer->json);
    fs_tool_json_close(writer->json);
}

static void write_buffer(const writer_t *writer, fs_buffer_t buffer,
                         uint64_t bytes)
{
    fs_tool_json_open(writer->json, NULL, '{');
    fs_tool_json_text(writer->json, "name", buffer_name(buffer));
    fs_tool_json_u64(writer->json, "bytes", bytes);
    fs_tool_json_close(writer->json);
}

fs_status_t fs_tool_program_json(fs_tool_json_t          *json,
                                 const fs_tool_traffic_t *traffic,
                                 uint32_t rank, const fs_plan_t *plan)
{
    uint32_t    n = traffic->n_ranks;
    writer_t    writer;
    fs_status_t status = writer_init(json, traffic, rank, plan, &writer);

    if (status == FS_OK) {
        fs_tool_json_open(json, NULL, '{');
        fs_tool_json_u64(json, "ranks", n);
        fs_tool_json_u64(json, "rank", rank);
        fs_tool_json_open(json, "buffers", '[');
        write_buffer(&writer, FS_BUF_SEND, writer.send_at[n]);
        write_buffer(&writer, FS_BUF_RECV, writer.recv_at[n]);
        write_buffer(&writer, FS_BUF_STAGING, plan->staging_bytes);
        fs_tool_json_close(json);
        fs_tool_json_open(json, "ops", '[');
        for (uint32_t id = 0; id < plan->n_ops; ++id) {
            write_op(&writer, id);
        }
        fs_tool_json_close(json);
        fs_tool_json_close(json);
    }
    writer_fini(&writer);
    return status;
}
