/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One list of operations for each receiving rank, sends and receives in the
 * order in which they were posted. Two that match are paired at once; progress
 * of either side then ends what is paired, some of it, later.
 */
#include "fs_host_fake.h"

#include "fs_test_util.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

enum { RUBBISH = 0xa5, GRANT_TAG = 0 };

typedef struct op op_t;
struct op {
    op_t       *next;
    op_t       *match; /* the other side */
    bool        is_send;
    bool        eager;  /* a send whose bytes are in copy */
    bool        copied; /* bytes are at the receiver */
    bool        ended;  /* test() may say so */
    bool        taken;  /* it has said so */
    uint32_t    src;    /* or FS_ANY_PEER */
    uint32_t    dst;
    uint32_t    tag;
    const char *from;
    void       *copy;
    void       *to;
    uint64_t    len_bytes;
    uint64_t    got_bytes;
    fs_status_t status;
};

typedef struct rank_ctx {
    fs_fake_t *fake;
    uint32_t   rank;
    bool       frozen;
    uint32_t   n_got; /* messages */
    uint32_t   cut;
} rank_ctx_t;

struct fs_fake {
    pthread_mutex_t   lock;
    pthread_barrier_t barrier;
    fs_rng_t          rng;
    fs_native_p2p_t   p2p;
    uint32_t          n_ranks;
    rank_ctx_t       *ranks;
    op_t            **ops;  /* [n_ranks] of receivers */
    op_t           ***last; /* [n_ranks] where the next one goes */
    uint32_t          max_tag;
    char             *gathered;
};

static bool one_in(fs_fake_t *fake, uint32_t n)
{
    return fs_rng_below(&fake->rng, n) == 0;
}

static bool matches(const op_t *a, const op_t *b)
{
    const op_t *send = a->is_send ? a : b, *recv = a->is_send ? b : a;

    return a->is_send != b->is_send && a->match == NULL && b->match == NULL &&
           !recv->ended && send->tag == recv->tag &&
           (recv->src == FS_ANY_PEER || recv->src == send->src);
}

/* Append op; the first that matches is its partner. */
static void post(fs_fake_t *fake, op_t *op)
{
    for (op_t *other = fake->ops[op->dst]; other != NULL; other = other->next) {
        if (matches(op, other)) {
            op->match    = other;
            other->match = op;
            break;
        }
    }
    *fake->last[op->dst] = op;
    fake->last[op->dst]  = &op->next;
    if (op->tag > fake->max_tag) {
        fake->max_tag = op->tag;
    }
}

static fs_status_t fake_isend(void *ctx, const void *buf, uint64_t len_bytes,
                              uint32_t peer, uint32_t tag, void **request_p)
{
    rank_ctx_t *me   = ctx;
    fs_fake_t  *fake = me->fake;
    op_t       *op   = fs_test_alloc(1, sizeof(*op));

    ck_assert_uint_lt(peer, fake->n_ranks);
    *op = (op_t){.is_send   = true,
                 .src       = me->rank,
                 .dst       = peer,
                 .tag       = tag,
                 .from      = buf,
                 .len_bytes = len_bytes};
    pthread_mutex_lock(&fake->lock);
    if (tag == GRANT_TAG || one_in(fake, 2)) {
        op->eager = true;
        op->copy  = fs_test_alloc(len_bytes, 1);
        if (len_bytes > 0) {
            memcpy(op->copy, buf, len_bytes);
        }
        op->ended = one_in(fake, 2);
    }
    post(fake, op);
    pthread_mutex_unlock(&fake->lock);
    *request_p = op;
    return FS_OK;
}

static fs_status_t fake_irecv(void *ctx, void *buf, uint64_t len_bytes,
                              uint32_t peer, uint32_t tag, void **request_p)
{
    rank_ctx_t *me   = ctx;
    fs_fake_t  *fake = me->fake;
    op_t       *op   = fs_test_alloc(1, sizeof(*op));

    if (len_bytes > 0) {
        memset(buf, RUBBISH, len_bytes);
    }
    *op = (op_t){.src       = peer,
                 .dst       = me->rank,
                 .tag       = tag,
                 .to        = buf,
                 .len_bytes = len_bytes};
    pthread_mutex_lock(&fake->lock);
    post(fake, op);
    pthread_mutex_unlock(&fake->lock);
    *request_p = op;
    return FS_OK;
}

static fs_status_t fake_test(void *ctx, void *request, uint64_t *len_p)
{
    fs_fake_t  *fake   = ((rank_ctx_t *)ctx)->fake;
    op_t       *op     = request;
    fs_status_t status = FS_INPROGRESS;

    pthread_mutex_lock(&fake->lock);
    ck_assert(!op->taken);
    if (op->ended) {
        op->taken = true;
        status    = op->status;
        if (len_p != NULL) {
            ck_assert(!op->is_send);
            *len_p = op->got_bytes;
        }
    }
    pthread_mutex_unlock(&fake->lock);
    return status;
}

static void fake_cancel(void *ctx, void *request)
{
    fs_fake_t *fake = ((rank_ctx_t *)ctx)->fake;
    op_t      *op   = request;

    pthread_mutex_lock(&fake->lock);
    ck_assert(!op->is_send && !op->taken);
    if (op->match == NULL && !op->ended) {
        op->ended  = true;
        op->status = FS_ERR_TRANSPORT;
    }
    pthread_mutex_unlock(&fake->lock);
}

/* The receiver's progress moves the bytes. */
static void receive(rank_ctx_t *me, op_t *op)
{
    op_t *send = op->match;

    op->got_bytes = send->len_bytes;
    if (++me->n_got == me->cut && op->got_bytes > 0) {
        --op->got_bytes;
    }
    if (op->got_bytes > op->len_bytes) {
        op->status    = FS_ERR_TRUNCATE;
        op->got_bytes = op->len_bytes;
    }
    if (op->got_bytes > 0) {
        memcpy(op->to, send->eager ? send->copy : send->from, op->got_bytes);
    }
    op->copied = send->copied = true;
    op->ended                 = true;
}

static bool may_end(const op_t *op, const rank_ctx_t *me)
{
    if (op->ended || me->frozen) {
        return false;
    }
    return op->is_send ? op->src == me->rank && (op->eager || op->copied)
                       : op->dst == me->rank && op->match != NULL;
}

static void sweep(rank_ctx_t *me, uint32_t dst)
{
    fs_fake_t *fake = me->fake;

    for (op_t *op = fake->ops[dst]; op != NULL; op = op->next) {
        if (!may_end(op, me) || one_in(fake, 2)) {
            continue;
        }
        if (op->is_send) {
            op->ended = true;
        } else {
            receive(me, op);
        }
    }
}

/* Both sides know: nobody asks for it again. */
static bool is_over(const op_t *op)
{
    return op->taken &&
           (op->match == NULL ? !op->is_send : op->copied && op->match->taken);
}

static void free_op(op_t *op)
{
    free(op->copy);
    free(op);
}

static void forget_what_is_over(fs_fake_t *fake, uint32_t dst)
{
    op_t **p    = &fake->ops[dst];
    op_t  *over = NULL;

    while (*p != NULL) {
        op_t *op = *p;

        if (is_over(op)) {
            *p       = op->next;
            op->next = over;
            over     = op;
        } else {
            p = &op->next;
        }
    }
    fake->last[dst] = p;
    while (over != NULL) {
        op_t *next = over->next;

        free_op(over);
        over = next;
    }
}

static void fake_progress(void *ctx)
{
    rank_ctx_t *me   = ctx;
    fs_fake_t  *fake = me->fake;

    pthread_mutex_lock(&fake->lock);
    for (uint32_t dst = 0; dst < fake->n_ranks; ++dst) {
        sweep(me, dst);
    }
    forget_what_is_over(fake, me->rank);
    pthread_mutex_unlock(&fake->lock);
    sched_yield();
}

static fs_status_t fake_allgather(void *ctx, const void *in, size_t len,
                                  void *out)
{
    rank_ctx_t *me   = ctx;
    fs_fake_t  *fake = me->fake;

    if (pthread_barrier_wait(&fake->barrier) == PTHREAD_BARRIER_SERIAL_THREAD) {
        free(fake->gathered);
        fake->gathered = fs_test_alloc(len, fake->n_ranks);
    }
    pthread_barrier_wait(&fake->barrier);
    memcpy(fake->gathered + len * me->rank, in, len);
    pthread_barrier_wait(&fake->barrier);
    memcpy(out, fake->gathered, len * fake->n_ranks);
    return FS_OK;
}

static fs_status_t fake_agree(void *ctx, fs_status_t mine)
{
    fs_fake_t   *fake  = ((rank_ctx_t *)ctx)->fake;
    fs_status_t *all   = fs_test_alloc(fake->n_ranks, sizeof(*all));
    fs_status_t  worst = mine;

    (void)fake_allgather(ctx, &mine, sizeof(mine), all);
    for (uint32_t r = 0; r < fake->n_ranks; ++r) {
        worst = all[r] < worst ? all[r] : worst;
    }
    free(all);
    return worst;
}

void fs_fake_barrier(fs_fake_t *fake)
{
    pthread_barrier_wait(&fake->barrier);
}

/* ---- life ---- */

fs_fake_t *fs_fake_create(uint32_t n_ranks, uint32_t n_tags, uint64_t seed)
{
    fs_fake_t *fake = fs_test_alloc(1, sizeof(*fake));

    pthread_mutex_init(&fake->lock, NULL);
    pthread_barrier_init(&fake->barrier, NULL, n_ranks);
    fs_rng_init(&fake->rng, seed);
    fake->n_ranks = n_ranks;
    fake->p2p     = (fs_native_p2p_t){.n_tags = n_tags,
                                      .isend  = fake_isend,
                                      .irecv  = fake_irecv,
                                      .test   = fake_test,
                                      .cancel = fake_cancel};
    fake->ranks   = fs_test_alloc(n_ranks, sizeof(*fake->ranks));
    fake->ops     = fs_test_alloc(n_ranks, sizeof(*fake->ops));
    fake->last    = fs_test_alloc(n_ranks, sizeof(*fake->last));
    for (uint32_t r = 0; r < n_ranks; ++r) {
        fake->ranks[r] = (rank_ctx_t){.fake = fake, .rank = r};
        fake->last[r]  = &fake->ops[r];
    }
    return fake;
}

void fs_fake_destroy(fs_fake_t *fake)
{
    for (uint32_t r = 0; r < fake->n_ranks; ++r) {
        while (fake->ops[r] != NULL) {
            op_t *next = fake->ops[r]->next;

            free_op(fake->ops[r]);
            fake->ops[r] = next;
        }
    }
    pthread_mutex_destroy(&fake->lock);
    pthread_barrier_destroy(&fake->barrier);
    free(fake->ranks);
    free(fake->ops);
    free(fake->last);
    free(fake->gathered);
    free(fake);
}

fs_native_t fs_fake_host(fs_fake_t *fake, uint32_t rank)
{
    return (fs_native_t){.ctx       = &fake->ranks[rank],
                         .allgather = fake_allgather,
                         .agree     = fake_agree,
                         .progress  = fake_progress,
                         .p2p       = &fake->p2p};
}

void fs_fake_cut(fs_fake_t *fake, uint32_t rank, uint32_t n)
{
    fake->ranks[rank].cut = n;
}

void fs_fake_freeze(fs_fake_t *fake, uint32_t rank)
{
    fake->ranks[rank].frozen = true;
}

uint32_t fs_fake_n_pending(fs_fake_t *fake)
{
    uint32_t n = 0;

    for (uint32_t r = 0; r < fake->n_ranks; ++r) {
        for (const op_t *op = fake->ops[r]; op != NULL; op = op->next) {
            bool let_go = op->is_send && op->tag == GRANT_TAG;

            n += (!op->taken && !let_go) || (op->is_send && op->match == NULL);
        }
    }
    return n;
}

uint32_t fs_fake_max_tag(fs_fake_t *fake)
{
    return fake->max_tag;
}
