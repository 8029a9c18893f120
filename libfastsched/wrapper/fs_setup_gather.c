/* SPDX-License-Identifier: BSD-3-Clause */
#include "wrapper/fs_setup_gather.h"

#include "base/fs_arith.h"

#include <string.h>

/* Who sends what by which messages. */
typedef struct turn {
    fs_setup_t            *setup;
    fs_setup_gather_t     *gather;
    const fs_native_p2p_t *p2p;
    void                  *ctx;
    uint32_t               tag;
} turn_t;

static void keep_worst(fs_setup_gather_t *g, fs_status_t status)
{
    g->status = g->status == FS_OK ? status : g->status;
}

static void post_step(const turn_t *t)
{
    fs_setup_gather_t         *g = t->gather;
    const fs_setup_question_t *q = &t->setup->question;
    uint32_t n = t->setup->member.n_ranks, me = t->setup->member.rank;
    uint32_t n_blocks = fs_u32_min(g->distance, n - g->distance);
    uint32_t to = (me + n - g->distance) % n, from = (me + g->distance) % n;
    char    *all = q->out;
    void    *in  = all == NULL ? (void *)&g->heard : all + g->distance * q->len;
    const void *out = all == NULL ? (const void *)&g->said : all;
    size_t      len = all == NULL ? sizeof(g->said) : n_blocks * q->len;

    g->requests[0] = g->requests[1] = NULL;
    keep_worst(g,
               t->p2p->irecv(t->ctx, in, len, from, t->tag, &g->requests[0]));
    if (g->status == FS_OK) {
        keep_worst(
            g, t->p2p->isend(t->ctx, out, len, to, t->tag, &g->requests[1]));
    }
}

static void begin(const turn_t *t)
{
    const fs_setup_question_t *q = &t->setup->question;

    *t->gather =
        (fs_setup_gather_t){.is_begun = true, .distance = 1, .said = q->status};
    if (q->out != NULL) {
        memcpy(q->out, q->in, q->len);
    }
    post_step(t);
}

/* Is the step over? */
static bool has_come(const turn_t *t)
{
    fs_setup_gather_t *g = t->gather;

    for (int k = 0; k < 2; ++k) {
        fs_status_t status = g->requests[k] == NULL
                                 ? FS_OK
                                 : t->p2p->test(t->ctx, g->requests[k], NULL);

        if (status == FS_INPROGRESS) {
            return false;
        }
        g->requests[k] = NULL;
        keep_worst(g, status);
    }
    return true;
}

static void reverse(char *first, char *end)
{
    while (first < end) {
        char byte = *first;

        *first++ = *--end;
        *end     = byte;
    }
}

/* The first block is this rank's, and they are in order otherwise. */
static void put_in_order(const fs_setup_t *setup)
{
    const fs_setup_question_t *q      = &setup->question;
    char                      *all    = q->out;
    char                      *end    = all + q->len * setup->member.n_ranks;
    char                      *rank_0 = end - q->len * setup->member.rank;

    reverse(all, rank_0);
    reverse(rank_0, end);
    reverse(all, end);
}

static void answer(const turn_t *t)
{
    fs_setup_gather_t *g         = t->gather;
    bool               is_gather = t->setup->question.out != NULL;

    if (is_gather) {
        put_in_order(t->setup);
    }
    g->is_begun = false;
    fs_setup_answer(t->setup, g->status != FS_OK ? FS_ERR_NATIVE
                              : is_gather        ? FS_OK
                                                 : g->said);
}

fs_setup_state_t fs_setup_turn(fs_setup_t *setup, fs_setup_gather_t *gather,
                               const fs_native_p2p_t *p2p, void *ctx,
                               uint32_t tag)
{
    turn_t           turn  = {setup, gather, p2p, ctx, tag};
    fs_setup_state_t state = fs_setup_look(setup);

    if (state == FS_SETUP_ASKS && !gather->is_begun) {
        begin(&turn);
    }
    while (gather->is_begun && has_come(&turn)) {
        if (setup->question.out == NULL && gather->heard < gather->said) {
            gather->said = gather->heard;
        }
        gather->distance *= 2;
        if (gather->status == FS_OK &&
            gather->distance < setup->member.n_ranks) {
            post_step(&turn);
        } else {
            answer(&turn);
        }
    }
    return state;
}
