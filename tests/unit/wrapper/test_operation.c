/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls as wrappers describe, start and end them. One thread per rank. */
#include "coll/fs_collectives.h"
#include "comm/fs_comm.h"
#include "fs_test_native.h"
#include "fs_test_util.h"
#include "wrapper/fs_wrapper.h"

#include <stdlib.h>
#include <string.h>

enum { N_RANKS = 3, LEN = 3000 };

typedef struct rank {
    fs_test_place_t   place;
    fs_wrapper_t      wrapper;
    fs_wrapper_comm_t comm;
    fs_native_t       native;
    fs_status_t   described; /* what the description of the next call returns */
    unsigned      n_native;  /* calls that were left to the MPI */
    unsigned char send[N_RANKS][LEN], recv[N_RANKS][LEN];
} rank_t;

static fs_test_world_t world;
static rank_t          ranks[N_RANKS];

static void say(const char *line)
{
    (void)line;
}

static fs_status_t describe(void *ctx, fs_buffers_t *b)
{
    rank_t *me = ctx;

    for (uint32_t r = 0; r < N_RANKS; ++r) {
        fs_counts_add(&b->counts, r, LEN, LEN);
        b->send_block[r] = me->send[r];
        b->recv_block[r] = me->recv[r];
    }
    b->send_contiguous = b->recv_contiguous = true;
    return me->described;
}

static int raise_error(void *ctx, fs_status_t status)
{
    (void)ctx;
    return status;
}

static int native(void *ctx, ptrdiff_t send_shift, ptrdiff_t recv_shift)
{
    (void)send_shift;
    (void)recv_shift;
    ++((rank_t *)ctx)->n_native;
    return 0;
}

static const fs_wrapper_calls_t calls = {.name       = "MPI_Ialltoallv",
                                         .collective = &fs_alltoallv,
                                         .describe   = describe,
                                         .native     = native,
                                         .raise      = raise_error};

static void open_comm(rank_t *me)
{
    fs_member_t member = {.n_ranks      = N_RANKS,
                          .rank         = me->place.rank,
                          .server_label = me->place.rank,
                          .comm_name    = "here"};

    me->wrapper = (fs_wrapper_t){.say       = say,
                                 .say_last  = say,
                                 .is_driven = true,
                                 .lock      = PTHREAD_MUTEX_INITIALIZER};
    /* Servers come from a parameter, not from the host that all ranks share. */
    me->wrapper.world_server = calloc(N_RANKS, sizeof(uint32_t));
    fs_params_init(&me->wrapper.params);
    me->wrapper.params.algorithm = FS_ALG_STAGED;
    me->wrapper.params.min_bytes = 0;
    me->native                   = fs_test_native(&me->place);
    ck_assert_int_eq(fs_wrapper_open(&me->wrapper, &me->comm,
                                     &me->wrapper.params, &me->native, &member),
                     FS_OK);
    ck_assert_ptr_nonnull(me->comm.ours);
    me->wrapper.net = me->comm.ours->net;
}

static void close_comm(rank_t *me)
{
    fs_test_barrier(&me->place);
    fs_wrapper_close(&me->comm);
    me->wrapper.net = NULL; /* it is the world's */
    fs_wrapper_fini(&me->wrapper);
}

static void fill(rank_t *me)
{
    for (uint32_t r = 0; r < N_RANKS; ++r) {
        memset(me->send[r], (int)(16 * me->place.rank + r + 1), LEN);
        memset(me->recv[r], 0, LEN);
    }
}

static void check(const rank_t *me)
{
    for (uint32_t r = 0; r < N_RANKS; ++r) {
        for (uint32_t k = 0; k < LEN; ++k) {
            ck_assert_uint_eq(me->recv[r][k], 16 * r + me->place.rank + 1);
        }
    }
}

/* Its error; 0: it is well, and every byte is here. */
static int call(rank_t *me, fs_status_t described)
{
    fs_operation_t *op;
    void           *ctx;
    int             rc;

    me->described = described;
    fill(me);
    ck_assert(fs_wrapper_takes_nonblocking(&me->comm, &calls, me));
    ck_assert_int_eq(fs_wrapper_start(&me->comm, &calls, me, &op), FS_OK);
    ck_assert_ptr_nonnull(op);
    while ((op = fs_wrapper_next_ended(&me->wrapper)) == NULL) {
        (void)fs_net_progress(me->wrapper.net);
        me->native.progress(me->native.ctx);
    }
    rc = fs_wrapper_end(op, &ctx);
    ck_assert_ptr_eq(ctx, me);
    if (rc == 0) {
        check(me);
    }
    return rc;
}

static uint32_t    odd;    /* the rank */
static fs_status_t on_odd; /* what is wrong there */

/* On one rank something is wrong that the others do not know: the call fails on all, and the
 * next one does not. */
static void *live(void *arg)
{
    rank_t     *me        = arg;
    fs_status_t described = me->place.rank == odd ? on_odd : FS_OK;

    open_comm(me);
    ck_assert_int_eq(call(me, FS_OK), 0);
    ck_assert_int_ne(call(me, described), 0);
    ck_assert_int_eq(call(me, FS_OK), 0);
    close_comm(me);
    return NULL;
}

/* But a blocking one that only the MPI can pack there is left to it on all. */
static void *live_blocking(void *arg)
{
    rank_t *me = arg;

    open_comm(me);
    for (unsigned k = 0; k < 3; ++k) {
        me->described = me->place.rank == odd && k == 1 ? FS_ERR_UNSUPPORTED
                                                        : FS_OK;
        fill(me);
        ck_assert_int_eq(fs_wrapper_serve(&me->comm, &calls, me), 0);
        ck_assert_uint_eq(me->n_native, k > 0);
        if (k != 1) {
            check(me);
        }
    }
    close_comm(me);
    return NULL;
}

static void run(void *(*life)(void *rank))
{
    memset(ranks, 0, sizeof(ranks));
    fs_test_world_init(&world, N_RANKS, 31);
    for (uint32_t r = 0; r < N_RANKS; ++r) {
        ranks[r].place = (fs_test_place_t){.world = &world, .rank = r};
    }
    fs_test_live_all(&world, life, ranks, sizeof(ranks[0]));
    fs_test_world_fini(&world);
}

START_TEST(one_cannot_keep_its_arguments)
{
    odd    = (uint32_t)_i;
    on_odd = FS_ERR_NOMEM;
    run(live);
}
END_TEST

START_TEST(one_cannot_pack)
{
    odd    = (uint32_t)_i;
    on_odd = FS_ERR_UNSUPPORTED;
    run(live);
    run(live_blocking);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("operation");
    TCase *tcase = tcase_create("operation");

    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, one_cannot_keep_its_arguments, 0, N_RANKS);
    tcase_add_loop_test(tcase, one_cannot_pack, 0, N_RANKS);
    suite_add_tcase(suite, tcase);
    return fs_test_run(suite);
}
