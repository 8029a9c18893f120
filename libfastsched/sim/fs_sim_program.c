/* SPDX-License-Identifier: BSD-3-Clause */
#include "sim/fs_sim_program.h"

#include "sched/plan/fs_plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- a copy of a plan ---- */

static bool op_ok(const fs_op_t *op, const fs_plan_t *plan, uint32_t n_ranks,
                  uint32_t rank)
{
    bool message = fs_op_is_message(op);

    if (op->next > plan->n_next || op->n_next > plan->n_next - op->next) {
        return false;
    }
    for (uint32_t e = 0; e < op->n_next; ++e) {
        if (plan->next[op->next + e] >= plan->n_ops) {
            return false;
        }
    }
    return message ? op->peer < n_ranks && op->peer != rank &&
                         op->channel < FS_CH_LAST
                   : op->kind < FS_N_OP_KINDS;
}

static fs_sim_op_t compact(const fs_op_t *op, uint32_t rank)
{
    bool local = !fs_op_is_message(op);

    return (fs_sim_op_t){.bytes   = op->len_bytes,
                         .peer    = local ? rank : op->peer,
                         .seq     = local ? 0 : op->seq,
                         .kind    = op->kind,
                         .channel = local ? FS_CH_LAST : op->channel};
}

fs_status_t fs_sim_program_init(fs_sim_program_t *program, uint32_t n_ranks,
                                uint32_t rank, const fs_plan_t *plan)
{
    uint32_t n_next = 0;

    for (uint32_t k = 0; k < plan->n_ops; ++k) {
        if (!op_ok(&plan->ops[k], plan, n_ranks, rank)) {
            return FS_ERR_INVAL;
        }
    }
    program->n_ops  = plan->n_ops;
    program->window = plan->window;
    program->ops    = calloc((size_t)plan->n_ops + 1, sizeof(*program->ops));
    program->next   = malloc(((size_t)plan->n_next + 1) * sizeof(uint32_t));
    if (program->ops == NULL || program->next == NULL) {
        return FS_ERR_NOMEM;
    }
    for (uint32_t k = 0; k < plan->n_ops; ++k) {
        const fs_op_t *op = &plan->ops[k];

        program->ops[k]      = compact(op, rank);
        program->ops[k].next = n_next;
        /* Lists that overlap would not fit. */
        if (op->n_next > plan->n_next - n_next) {
            return FS_ERR_INVAL;
        }
        for (uint32_t e = 0; e < op->n_next; ++e) {
            program->next[n_next++] = plan->next[op->next + e];
        }
    }
    program->ops[plan->n_ops].next = n_next;
    for (uint32_t e = 0; e < n_next; ++e) {
        ++program->ops[program->next[e]].n_wait;
    }
    return FS_OK;
}

void fs_sim_program_fini(fs_sim_program_t *program)
{
    free(program->ops);
    free(program->next);
}

/* ---- partners ---- */

/* The operations of one kind in all programs, those of a rank grouped by
 * (channel, peer), in plan order inside. */
typedef struct index {
    fs_op_kind_t kind;
    uint32_t     n_ranks;
    size_t       n_keys; /* of a rank */
    uint32_t    *first;  /* [n_keys + 1] of one rank */
    uint32_t    *ops;    /* grouped */
} index_t;

static size_t key_of(uint32_t n_ranks, const fs_sim_op_t *op)
{
    return (size_t)op->channel * n_ranks + op->peer;
}

static fs_status_t index_init(index_t *index, fs_op_kind_t kind,
                              const fs_sim_program_t *program, uint32_t n_ranks)
{
    uint32_t sum = 0;

    *index       = (index_t){.kind    = kind,
                             .n_ranks = n_ranks,
                             .n_keys  = (size_t)FS_CH_LAST * n_ranks};
    index->first = calloc(index->n_keys + 2, sizeof(*index->first));
    index->ops   = malloc(((size_t)program->n_ops + 1) * sizeof(*index->ops));
    if (index->first == NULL || index->ops == NULL) {
        return FS_ERR_NOMEM;
    }
    for (uint32_t k = 0; k < program->n_ops; ++k) {
        if (program->ops[k].kind == kind) {
            ++index->first[key_of(n_ranks, &program->ops[k]) + 2];
        }
    }
    for (size_t key = 0; key < index->n_keys; ++key) {
        sum += index->first[key + 2];
        index->first[key + 2] = sum;
    }
    /* first[key + 1] is where the next one of key goes, and ends as the place
     * where those of key + 1 begin. */
    for (uint32_t k = 0; k < program->n_ops; ++k) {
        if (program->ops[k].kind == kind) {
            size_t key = key_of(n_ranks, &program->ops[k]);

            index->ops[index->first[key + 1]++] = k;
        }
    }
    return FS_OK;
}

static void index_fini(index_t *index)
{
    free(index->first);
    free(index->ops);
}

static fs_status_t complain(char *why, size_t why_len, uint32_t rank,
                            uint32_t op, const char *what)
{
    snprintf(why, why_len, "rank %u, operation %u: %s", rank, op, what);
    return FS_ERR_MISMATCH;
}

/* Meet the receives that dst has from src on a channel with their sends. */
static fs_status_t meet(fs_sim_program_t *programs, const index_t *sends,
                        const index_t *recvs, uint32_t src, uint32_t dst,
                        uint32_t channel, char *why, size_t why_len)
{
    size_t   s_key = (size_t)channel * sends->n_ranks + dst;
    size_t   r_key = (size_t)channel * sends->n_ranks + src;
    uint32_t s = sends->first[s_key], s_end = sends->first[s_key + 1];
    uint32_t r = recvs->first[r_key], r_end = recvs->first[r_key + 1];

    for (uint32_t seq = 0; s < s_end || r < r_end; ++s, ++r, ++seq) {
        fs_sim_op_t *send, *recv;

        if (r == r_end) {
            return complain(why, why_len, src, sends->ops[s],
                            "this message has no receive");
        }
        if (s == s_end) {
            return complain(why, why_len, dst, recvs->ops[r],
                            "this message has no send");
        }
        send = &programs[src].ops[sends->ops[s]];
        recv = &programs[dst].ops[recvs->ops[r]];
        if (send->seq != seq || recv->seq != seq) {
            return complain(why, why_len, src, sends->ops[s],
                            "messages are not numbered in plan order");
        }
        if (send->bytes != recv->bytes) {
            return complain(why, why_len, src, sends->ops[s],
                            "the receive has a different length");
        }
        send->partner = recvs->ops[r];
        recv->partner = sends->ops[s];
    }
    return FS_OK;
}

static fs_status_t meet_all(fs_sim_program_t *programs, uint32_t n_ranks,
                            const index_t *sends, const index_t *recvs,
                            char *why, size_t why_len)
{
    fs_status_t status = FS_OK;

    for (uint32_t src = 0; src < n_ranks; ++src) {
        for (uint32_t dst = 0; dst < n_ranks; ++dst) {
            for (uint32_t c = 0; c < FS_CH_LAST && status == FS_OK; ++c) {
                status = meet(programs, &sends[src], &recvs[dst], src, dst, c,
                              why, why_len);
            }
        }
    }
    return status;
}

fs_status_t fs_sim_match(fs_sim_program_t *programs, uint32_t n_ranks,
                         char *why, size_t why_len)
{
    index_t    *sends  = calloc(2 * (size_t)n_ranks, sizeof(*sends));
    index_t    *recvs  = sends + n_ranks;
    fs_status_t status = sends == NULL ? FS_ERR_NOMEM : FS_OK;

    for (uint32_t r = 0; r < n_ranks && status == FS_OK; ++r) {
        status = index_init(&sends[r], FS_OP_SEND, &programs[r], n_ranks);
        if (status == FS_OK) {
            status = index_init(&recvs[r], FS_OP_RECV, &programs[r], n_ranks);
        }
    }
    if (status == FS_OK) {
        status = meet_all(programs, n_ranks, sends, recvs, why, why_len);
    }
    for (uint32_t k = 0; sends != NULL && k < 2 * n_ranks; ++k) {
        index_fini(&sends[k]);
    }
    free(sends);
    return status;
}
