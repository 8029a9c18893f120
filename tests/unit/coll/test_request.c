/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests: several in one queue, and on two communicators at once; who waits for
 * one of them serves all. Persistent calls, frames. A thread per rank, every byte
 * checked. */
#include "coll/fs_persistent.h"
#include "fs_test_native.h"
#include "fs_test_util.h"

#include <sched.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { N_RANKS = 6, N_REQUESTS = 5, MOST = 3000 };

/* Servers of three, two and one ranks. */
static const uint32_t server_of[N_RANKS] = {5, 5, 5, 7, 7, 1};

/* The buffers of one operation. */
typedef struct op {
    uint32_t       seed;
    fs_counts_t    counts;
    unsigned char *send[N_RANKS], *recv[N_RANKS];
    fs_call_t      call;
    fs_request_t   request;
    uint32_t       n_done; /* nonblocking: how often it has said so */
} op_t;

typedef struct rank {
    fs_test_place_t place;
    fs_comm_t      *a, *b; /* two communicators of all */
    op_t            ops[N_REQUESTS];
} rank_t;

static fs_test_world_t world;
static rank_t          ranks[N_RANKS];
static void (*scene)(rank_t *me);
static uint32_t early; /* parameter of all communicators, fs_early_t */

static void set_up(void)
{
    memset(ranks, 0, sizeof(ranks));
    fs_test_world_init(&world, N_RANKS, 29);
    for (uint32_t r = 0; r < N_RANKS; ++r) {
        ranks[r].place = (fs_test_place_t){.world = &world, .rank = r};
    }
}

static void tear_down(void)
{
    fs_test_world_fini(&world);
}

/* From here on only one server sends, to one other: another pair each time. */
enum { ONE_PAIR = 1000 };

static uint64_t length_of_pair(uint32_t k, uint32_t src, uint32_t dst)
{
    static const uint32_t labels[] = {5, 7, 1};

    return server_of[src] == labels[k % 3] &&
                   server_of[dst] == labels[(k + 1) % 3]
               ? MOST - 1 - src
               : 0;
}

static uint64_t length(uint32_t seed, uint32_t src, uint32_t dst)
{
    if (seed >= ONE_PAIR) {
        return length_of_pair(seed - ONE_PAIR, src, dst);
    }
    return (seed * 977 + src * 131 + dst * 37) % MOST;
}

static unsigned char byte_of(uint32_t seed, uint32_t src, uint32_t dst,
                             uint64_t k)
{
    return (unsigned char)(seed * 101 + src * 61 + dst * 17 + k * 7 + (k >> 8));
}

static op_t *make_op(rank_t *me, uint32_t number, uint32_t seed)
{
    op_t    *op   = &me->ops[number];
    uint32_t rank = me->place.rank;
    uint64_t send_bytes[N_RANKS], recv_bytes[N_RANKS];

    op->seed = seed;
    for (uint32_t r = 0; r < N_RANKS; ++r) {
        send_bytes[r] = length(seed, rank, r);
        recv_bytes[r] = length(seed, r, rank);
        op->send[r]   = fs_test_alloc(MOST, 1);
        op->recv[r]   = fs_test_alloc(MOST, 1);
        for (uint64_t k = 0; k < send_bytes[r]; ++k) {
            op->send[r][k] = byte_of(seed, rank, r, k);
        }
    }
    op->counts = fs_test_call_counts(me->a->topo, rank, send_bytes, recv_bytes);
    op->call   = (fs_call_t){.counts     = &op->counts,
                             .send_block = (const void *const *)op->send,
                             .recv_block = (void *const *)op->recv};
    return op;
}

static void free_op(op_t *op)
{
    for (uint32_t r = 0; r < N_RANKS; ++r) {
        free(op->send[r]);
        free(op->recv[r]);
    }
    fs_counts_fini(&op->counts);
}

static op_t *post(rank_t *me, fs_comm_t *comm, uint32_t number, uint32_t seed)
{
    op_t *op = make_op(me, number, seed);

    fs_request_init(&op->request, comm, &fs_alltoallv, &op->call);
    fs_request_post(&op->request, FS_STEP_BEGIN);
    return op;
}

/* One that is done. */
static void check(const rank_t *me, const op_t *op)
{
    ck_assert(op->request.ran);
    for (uint32_t s = 0; s < N_RANKS; ++s) {
        for (uint64_t k = 0; k < op->counts.recv_bytes[s]; ++k) {
            ck_assert_msg(op->recv[s][k] ==
                              byte_of(op->seed, s, me->place.rank, k),
                          "operation %u, rank %u, byte %llu from %u", op->seed,
                          me->place.rank, (unsigned long long)k, s);
        }
    }
}

static void take(rank_t *me, op_t *op)
{
    check(me, op);
    fs_request_fini(&op->request);
    free_op(op);
}

static void wait_for(rank_t *me, op_t *op)
{
    ck_assert_int_eq(fs_request_wait(&op->request), FS_OK);
    take(me, op);
}

static fs_comm_t *make_comm_of(rank_t *me, const fs_params_t *params)
{
    fs_native_t native = fs_test_native(&me->place);
    fs_member_t member = {.n_ranks      = N_RANKS,
                          .rank         = me->place.rank,
                          .server_label = server_of[me->place.rank]};
    fs_comm_t  *comm;
    char        why[256];

    ck_assert_int_eq(
        fs_comm_create(&native, params, &member, &comm, why, sizeof(why)),
        FS_OK);
    return comm;
}

static fs_params_t make_params(uint32_t algorithm, uint64_t min_bytes)
{
    fs_params_t params;

    fs_params_init(&params);
    params.algorithm = algorithm;
    params.min_bytes = min_bytes;
    params.chunk     = 1000;
    params.calibrate = 0; /* it would drop plans, by time */
    params.early     = early;
    return params;
}

static fs_comm_t *make_comm(rank_t *me, uint32_t algorithm, uint64_t min_bytes)
{
    fs_params_t params = make_params(algorithm, min_bytes);

    return make_comm_of(me, &params);
}

static void *live(void *arg)
{
    rank_t *me = arg;

    me->a = make_comm(me, FS_ALG_STAGED, 0);
    me->b = make_comm(me, FS_ALG_STAGED, 0);
    scene(me);
    fs_test_barrier(&me->place);
    fs_comm_destroy(me->a);
    fs_comm_destroy(me->b);
    return NULL;
}

static void play(void (*what)(rank_t *me))
{
    early = FS_EARLY_OFF;
    scene = what;
    fs_test_live_all(&world, live, ranks, sizeof(ranks[0]));
}

/* The same where calls begin early. */
static void play_early(void (*what)(rank_t *me))
{
    early = FS_EARLY_ON;
    scene = what;
    fs_test_live_all(&world, live, ranks, sizeof(ranks[0]));
}

/* ---- one queue ---- */

static void wait_in_order(rank_t *me)
{
    op_t *ops[N_REQUESTS];

    for (uint32_t k = 0; k < N_REQUESTS; ++k) {
        ops[k] = post(me, me->a, k, k);
    }
    for (uint32_t k = 0; k < N_REQUESTS; ++k) {
        wait_for(me, ops[k]);
    }
}

/* The last is waited for first: by then all others are done. */
static void wait_backwards(rank_t *me)
{
    op_t *ops[N_REQUESTS];

    for (uint32_t k = 0; k < N_REQUESTS; ++k) {
        ops[k] = post(me, me->a, k, 7 * k);
    }
    for (uint32_t k = N_REQUESTS; k-- > 0;) {
        wait_for(me, ops[k]);
    }
}

/* Every second rank waits for each before it posts the next. */
static void wait_at_odds(rank_t *me)
{
    op_t *ops[N_REQUESTS];

    for (uint32_t k = 0; k < N_REQUESTS; ++k) {
        ops[k] = post(me, me->a, k, k);
        if (me->place.rank % 2 == 0) {
            wait_for(me, ops[k]);
        }
    }
    for (uint32_t k = 0; k < N_REQUESTS && me->place.rank % 2 == 1; ++k) {
        wait_for(me, ops[k]);
    }
}

/* The same counts again and again: a plan has several users. */
static void repeat(rank_t *me)
{
    op_t *ops[N_REQUESTS];

    for (uint32_t k = 0; k < N_REQUESTS; ++k) {
        ops[k] = post(me, me->a, k, 3);
    }
    for (uint32_t k = 0; k < N_REQUESTS; ++k) {
        wait_for(me, ops[k]);
    }
    ck_assert_uint_eq(me->a->stats.cache_hits, N_REQUESTS - 1);
}

static void (*const one_queue[])(rank_t *me) = {wait_in_order, wait_backwards,
                                                wait_at_odds, repeat};

START_TEST(several_in_one_queue)
{
    play(one_queue[_i]);
}
END_TEST

/* ---- two communicators ---- */

/* Half of the ranks wait for b while the others wait for a: without each other's part
 * in the other one neither ends. */
static void cross(rank_t *me)
{
    bool  even = me->place.rank % 2 == 0;
    op_t *on_a = post(me, me->a, 0, 1);
    op_t *on_b = post(me, me->b, 1, 2);

    wait_for(me, even ? on_a : on_b);
    wait_for(me, even ? on_b : on_a);
}

/* A rank is in a blocking call on b and owes the others their part of a. */
static void owe(rank_t *me)
{
    op_t *on_a = post(me, me->a, 0, 4);
    op_t *on_b;

    if (me->place.rank != 2) {
        wait_for(me, on_a);
    }
    on_b = post(me, me->b, 1, 5);
    wait_for(me, on_b);
    if (me->place.rank == 2) {
        ck_assert_int_eq(on_a->request.step, FS_STEP_DONE);
        wait_for(me, on_a);
    }
}

static void (*const two_queues[])(rank_t *me) = {cross, owe};

START_TEST(two_communicators)
{
    play(two_queues[_i]);
}
END_TEST

/* Nobody waits, but the MPI's progress turns the net. */
static void let_it_run(rank_t *me)
{
    fs_net_t *net  = fs_loop_net(world.loop, me->place.rank);
    op_t     *on_a = post(me, me->a, 0, 8);
    op_t     *on_b = post(me, me->b, 1, 9);

    while (on_a->request.step != FS_STEP_DONE ||
           on_b->request.step != FS_STEP_DONE) {
        (void)fs_net_progress(net);
    }
    ck_assert_ptr_null(net->tasks);
    wait_for(me, on_a);
    wait_for(me, on_b);
}

START_TEST(progress_is_enough)
{
    play(let_it_run);
}
END_TEST

/* ---- nonblocking calls ---- */

static void note_done(fs_request_t *request)
{
    ++((op_t *)((char *)request - offsetof(op_t, request)))->n_done;
}

static op_t *start(rank_t *me, fs_comm_t *comm, uint32_t number, uint32_t seed)
{
    op_t *op = make_op(me, number, seed);

    op->n_done = 0;
    fs_request_init(&op->request, comm, &fs_alltoallv, &op->call);
    fs_comm_post(&op->request, note_done);
    return op;
}

static void wait_done(rank_t *me, op_t *op)
{
    while (op->n_done == 0) {
        (void)fs_net_progress(fs_loop_net(world.loop, me->place.rank));
        sched_yield();
    }
    ck_assert_uint_eq(op->n_done, 1);
    ck_assert_int_eq(op->request.status, FS_OK);
    ck_assert_uint_ne(op->request.outcome.choice.alg, FS_ALG_NATIVE);
}

static void end(rank_t *me, op_t *op)
{
    wait_done(me, op);
    take(me, op);
}

/* A blocking call ends those before it. */
static void mix(rank_t *me, fs_comm_t *comm)
{
    op_t *first = start(me, comm, 0, 1), *second = start(me, comm, 1, 2);
    op_t *blocking = make_op(me, 2, 3), *third;
    bool  ran;

    ck_assert(fs_comm_serves_nonblocking(comm));
    ck_assert_int_eq(
        fs_comm_collective(comm, &fs_alltoallv, &blocking->call, &ran), FS_OK);
    ck_assert_uint_eq(first->n_done, 1);
    ck_assert_uint_eq(second->n_done, 1);
    free_op(blocking);
    third = start(me, comm, 3, 4);
    end(me, second);
    end(me, third);
    end(me, first);
}

static void mix_forced(rank_t *me)
{
    mix(me, me->a);
}

static void mix_auto(rank_t *me)
{
    fs_comm_t *comm = make_comm(me, FS_ALGORITHM_AUTO, FS_MIN_BYTES_AUTO);

    for (int k = 0; k < 8; ++k) { /* the tuner tries the native algorithm */
        mix(me, comm);
    }
    fs_test_barrier(&me->place);
    fs_comm_destroy(comm);
}

/* Too small for us, if it were blocking. */
static void mix_small(rank_t *me)
{
    fs_comm_t *comm = make_comm(me, FS_ALGORITHM_AUTO, 1 << 30);

    mix(me, comm);
    fs_test_barrier(&me->place);
    fs_comm_destroy(comm);
}

static void (*const mixtures[])(rank_t *me) = {mix_forced, mix_auto, mix_small};

START_TEST(blocking_and_nonblocking)
{
    play(mixtures[_i]);
}
END_TEST

START_TEST(blocking_and_nonblocking_early)
{
    play_early(mixtures[_i]);
}
END_TEST

/* ---- nonblocking calls begin early ---- */

/* Rank 3 comes when the others have exchanged all that is not its own. */
static void one_posts_late(rank_t *me)
{
    fs_net_t *net = fs_loop_net(world.loop, me->place.rank);
    op_t     *op  = NULL;

    if (me->place.rank != 3) {
        op = start(me, me->a, 0, 5);
        for (int k = 0; k < 3000; ++k) {
            (void)fs_net_progress(net);
            sched_yield();
        }
        ck_assert_uint_eq(op->n_done, 0);
    }
    fs_test_barrier(&me->place);
    op = op == NULL ? start(me, me->a, 0, 5) : op;
    end(me, op);
    ck_assert_uint_eq(me->a->stats.early, 1);
    if (me->place.rank != 3) {
        ck_assert_uint_gt(me->a->stats.early_bytes, 0);
    }
}

START_TEST(nonblocking_early)
{
    play_early(one_posts_late);
}
END_TEST

/* ---- persistent calls ---- */

static void make(fs_persistent_t *p, fs_comm_t *comm, const op_t *op)
{
    ck_assert_int_eq(
        fs_persistent_init(p, comm, FS_OK, &fs_alltoallv, &op->call), FS_OK);
}

static void start_again(fs_persistent_t *p, op_t *op)
{
    op->n_done = 0;
    for (uint32_t r = 0; r < N_RANKS; ++r) {
        memset(op->recv[r], 0, MOST);
    }
    fs_persistent_start(p, &op->request, &op->call, note_done);
}

static void end_again(rank_t *me, op_t *op)
{
    wait_done(me, op);
    check(me, op);
    fs_request_fini(&op->request);
}

/* Each rank starts two of them in an order of its own. */
static void start_both(rank_t *me, fs_comm_t *comm, bool planned)
{
    enum { N_STARTS = 6 };
    op_t           *ops[2];
    fs_persistent_t p[2];

    for (uint32_t k = 0; k < 2; ++k) {
        ops[k] = make_op(me, k, 11 + k);
        make(&p[k], comm, ops[k]);
        ck_assert_ptr_nonnull(p[k].comm);
        ck_assert(planned == (p[k].plan != NULL));
    }
    for (uint32_t k = 0; k < N_STARTS; ++k) {
        uint32_t first = (me->place.rank + k) % 2;

        start_again(&p[first], ops[first]);
        start_again(&p[1 - first], ops[1 - first]);
        end_again(me, ops[0]);
        end_again(me, ops[1]);
    }
    for (uint32_t k = 0; k < 2; ++k) {
        fs_comm_stats_t before = comm->stats;

        /* Who has its plan says nothing to anybody, unless it begins early. */
        ck_assert(p[k].comm->stats.meta_bytes == 0 || !planned ||
                  early == FS_EARLY_ON);
        ck_assert_uint_eq(p[k].comm->stats.early,
                          planned && early == FS_EARLY_ON ? N_STARTS : 0);
        fs_persistent_give_stats(&p[k], comm);
        ck_assert_uint_eq(comm->stats.calls - before.calls, N_STARTS);
        ck_assert_uint_gt(comm->stats.inter_bytes, before.inter_bytes);
    }
    fs_test_barrier(&me->place);
    for (uint32_t k = 0; k < 2; ++k) {
        fs_persistent_fini(&p[k]);
        free_op(ops[k]);
    }
}

static void start_planned(rank_t *me)
{
    start_both(me, me->a, true);
}

static void start_bundled(rank_t *me)
{
    fs_comm_t *comm = make_comm(me, FS_ALG_BUNDLES, 0);

    start_both(me, comm, false);
    fs_comm_destroy(comm);
}

static void expect_none(fs_comm_t *comm, const op_t *op, fs_status_t mine)
{
    fs_persistent_t p;

    ck_assert_int_eq(fs_persistent_init(&p, comm, mine, &fs_alltoallv,
                                        mine == FS_OK ? &op->call : NULL),
                     FS_OK);
    ck_assert_ptr_null(p.comm);
    ck_assert_ptr_null(p.plan);
}

/* It is the MPI's, on all ranks: too little for us, or too much. */
static void start_none(rank_t *me)
{
    fs_comm_t      *large = make_comm(me, FS_ALGORITHM_AUTO, 1 << 30);
    fs_net_t       *net   = fs_loop_net(world.loop, me->place.rank);
    op_t           *op    = make_op(me, 0, 12);
    fs_persistent_t p;

    expect_none(large, op, FS_OK);
    expect_none(me->a, op, me->place.rank == 4 ? FS_ERR_NOMEM : FS_OK);
    make(&p, me->a, op);
    ck_assert_uint_gt(p.memory, 0);
    ck_assert_uint_eq(net->kept_bytes, p.memory);
    fs_persistent_fini(&p);
    ck_assert_uint_eq(net->kept_bytes, 0);
    net->kept_bytes = me->place.rank == 2 ? me->a->params.staging_limit : 0;
    expect_none(me->a, op, FS_OK);
    net->kept_bytes = 0;
    make(&p, me->a, op);
    ck_assert_ptr_nonnull(p.comm);
    fs_test_barrier(&me->place);
    fs_persistent_fini(&p);
    free_op(op);
    fs_comm_destroy(large);
}

/* Messages of all ranks since the last call. */
static uint64_t take_messages(rank_t *me)
{
    static uint64_t n_messages; /* rank 0's */

    fs_test_barrier(&me->place);
    if (me->place.rank == 0) {
        n_messages = fs_loop_take_seen(world.loop).messages;
    }
    fs_test_barrier(&me->place);
    return n_messages;
}

/* Of a start of a call that is made when the tuner has decided. */
static uint64_t n_messages_if(rank_t *me, fs_candidate_t decided)
{
    const uint64_t  none[FS_N_CANDIDATES] = {0};
    fs_comm_t      *comm = make_comm(me, FS_ALGORITHM_AUTO, FS_MIN_BYTES_AUTO);
    op_t           *op   = make_op(me, 0, 11);
    fs_persistent_t p;
    uint64_t        n_messages;

    for (uint32_t key = fs_tuner_class_of(14, 0, 0);
         key < fs_tuner_class_of(17, 0, 0); ++key) {
        fs_tuner_seed(&comm->tuner, key, decided, none);
    }
    make(&p, comm, op);
    ck_assert_ptr_null(p.plan);
    (void)take_messages(me);
    start_again(&p, op);
    end_again(me, op);
    n_messages = take_messages(me);
    fs_persistent_fini(&p);
    free_op(op);
    fs_comm_destroy(comm);
    return n_messages;
}

/* Its bundles are cut among lanes, or not, as was decided when it was made. */
static void start_coarse(rank_t *me)
{
    uint64_t n_fine   = n_messages_if(me, FS_CANDIDATE_BUNDLES);
    uint64_t n_coarse = n_messages_if(me, FS_CANDIDATE_BUNDLES_COARSE);

    ck_assert_uint_lt(n_coarse, n_fine);
}

static void (*const starts[])(rank_t *me) = {start_planned, start_bundled,
                                             start_none};

START_TEST(persistent_calls)
{
    play(starts[_i]);
}
END_TEST

START_TEST(persistent_bundles)
{
    play(start_coarse);
}
END_TEST

START_TEST(persistent_calls_early)
{
    play_early(starts[_i]);
}
END_TEST

/* ---- frames ---- */

static fs_comm_t *make_comm_with_frames(rank_t *me, uint32_t algorithm,
                                        uint32_t frames)
{
    fs_params_t params = make_params(algorithm, 0);

    params.frames = frames;
    return make_comm_of(me, &params);
}

static void check_framed(rank_t *me, uint32_t seed, uint32_t frames,
                         uint32_t framed)
{
    fs_comm_t *comm = make_comm_with_frames(me, FS_ALG_STAGED, frames);

    for (uint32_t round = 0; round < 3; ++round) {
        for (uint32_t k = 0; k < N_REQUESTS; ++k) {
            (void)start(me, comm, k,
                        seed + 3 * round * (seed > 0) + k * (seed > 0));
        }
        for (uint32_t k = N_REQUESTS; k-- > 0;) {
            end(me, &me->ops[k]);
        }
        /* What is left of a call that has begun early may be nothing, and what it is
         * decides whether a frame pays. */
        if (early == FS_EARLY_OFF) {
            ck_assert_uint_eq(comm->stats.framed, (round + 1) * framed);
            ck_assert_uint_eq(comm->stats.calls_by[FS_ALG_STAGED],
                              (round + 1) * N_REQUESTS);
        }
    }
    fs_test_barrier(&me->place);
    fs_comm_destroy(comm);
}

/* All that has been posted is one. */
static void frame_all(rank_t *me)
{
    check_framed(me, ONE_PAIR, 8, N_REQUESTS);
}

/* Two, two and one. */
static void frame_two(rank_t *me)
{
    check_framed(me, ONE_PAIR, 2, 4);
}

/* All are alike: nothing is gained. */
static void frame_none(rank_t *me)
{
    check_framed(me, 0, 8, 0);
}

/* Only what all ranks have posted: some post one after the other. */
static void frame_some(rank_t *me)
{
    fs_comm_t *comm = make_comm_with_frames(me, FS_ALG_STAGED, 8);
    bool       slow = me->place.rank == 3;

    for (uint32_t k = 0; k < N_REQUESTS; ++k) {
        (void)start(me, comm, k, ONE_PAIR + k);
        if (slow) {
            end(me, &me->ops[k]);
        }
    }
    for (uint32_t k = 0; k < N_REQUESTS && !slow; ++k) {
        end(me, &me->ops[k]);
    }
    ck_assert_uint_eq(comm->stats.framed, 0);
    fs_test_barrier(&me->place);
    fs_comm_destroy(comm);
}

static void frame_mixed(rank_t *me)
{
    fs_comm_t *comm = make_comm_with_frames(me, FS_ALGORITHM_AUTO, 8);

    for (int k = 0; k < 8; ++k) {
        mix(me, comm);
    }
    fs_test_barrier(&me->place);
    fs_comm_destroy(comm);
}

/* Ranges of a block, any of them. */
static fs_status_t pack(void *ctx, uint32_t block, uint64_t offset,
                        uint64_t len, void *dst)
{
    memcpy(dst, ((op_t *)ctx)->send[block] + offset, len);
    return FS_OK;
}

static fs_status_t unpack(void *ctx, uint32_t block, uint64_t offset,
                          uint64_t len, const void *src)
{
    memcpy(((op_t *)ctx)->recv[block] + offset, src, len);
    return FS_OK;
}

/* The blocks are where the call says only from here on. */
static fs_status_t prepare(void *owner)
{
    op_t *op = owner;

    ck_assert(op->call.send_late); /* once */
    op->call.send_late = op->call.recv_late = false;
    op->call.send_block                     = (const void *const *)op->send;
    return FS_OK;
}

/* A call that packs, one that has to be prepared, one like all; one that nobody can
 * serve, if that is wanted: it is the only one that fails. */
static void frame_kinds(rank_t *me, fs_comm_t *comm, bool refused)
{
    static const void *nowhere[N_RANKS];

    for (uint32_t k = 0; k < N_REQUESTS; ++k) {
        op_t *op = make_op(me, k, ONE_PAIR + k);

        op->n_done      = 0;
        op->call.ctx    = op;
        op->call.pack   = pack;
        op->call.unpack = unpack;
        if (k == 1) {
            op->call.send_block = NULL;
            op->call.recv_block = NULL;
        } else if (k == 2) {
            op->call.send_block = nowhere;
            op->call.send_late = op->call.recv_late = true;
            op->call.prepare                        = prepare;
            op->call.owner                          = op;
        } else if (k == 3 && refused && me->place.rank == 4) {
            op->call.device.consent = FS_CONSENT_NO;
        }
        fs_request_init(&op->request, comm, &fs_alltoallv, &op->call);
        fs_comm_post(&op->request, note_done);
    }
    for (uint32_t k = 0; k < N_REQUESTS; ++k) {
        if (k == 3 && refused) {
            fs_request_wait_all(comm);
            ck_assert_uint_eq(me->ops[k].n_done, 1);
            ck_assert_int_eq(me->ops[k].request.status, FS_ERR_UNSUPPORTED);
            free_op(&me->ops[k]);
        } else {
            end(me, &me->ops[k]);
        }
    }
    ck_assert_uint_le(comm->stats.framed, refused ? 0 : N_REQUESTS);
    if (early == FS_EARLY_OFF) {
        ck_assert_uint_eq(comm->stats.framed, refused ? 0 : N_REQUESTS);
    }
    fs_test_barrier(&me->place);
    fs_comm_destroy(comm);
}

static void frame_packed(rank_t *me)
{
    frame_kinds(me, make_comm_with_frames(me, FS_ALG_STAGED, 8), false);
}

static void frame_refused(rank_t *me)
{
    frame_kinds(me, make_comm_with_frames(me, FS_ALG_STAGED, 8), true);
}

/* What rank 0 sends to rank 3 in two calls is not what that expects: an error of both,
 * which no frame hides. */
static void frame_of_two_errors(rank_t *me, uint64_t first, uint64_t second)
{
    const uint64_t more[] = {first, second};
    fs_comm_t     *comm   = make_comm_with_frames(me, FS_ALG_STAGED, 8);

    for (uint32_t k = 0; k < 2; ++k) {
        op_t    *op = make_op(me, k, ONE_PAIR + k);
        uint64_t send_bytes[N_RANKS], recv_bytes[N_RANKS];

        memcpy(send_bytes, op->counts.send_bytes, sizeof(send_bytes));
        memcpy(recv_bytes, op->counts.recv_bytes, sizeof(recv_bytes));
        if (me->place.rank == 0) {
            send_bytes[3] += more[k];
        }
        fs_counts_fini(&op->counts);
        op->counts = fs_test_call_counts(comm->topo, me->place.rank, send_bytes,
                                         recv_bytes);
        op->n_done = 0;
        fs_request_init(&op->request, comm, &fs_alltoallv, &op->call);
        fs_comm_post(&op->request, note_done);
    }
    fs_request_wait_all(comm);
    for (uint32_t k = 0; k < 2; ++k) {
        ck_assert_uint_eq(me->ops[k].n_done, 1);
        ck_assert_int_eq(me->ops[k].request.status, FS_ERR_MISMATCH);
        free_op(&me->ops[k]);
    }
    fs_test_barrier(&me->place);
    fs_comm_destroy(comm);
}

static void frame_of_errors(rank_t *me)
{
    frame_of_two_errors(me, UINT64_MAX, 1);
}

/* The same blocks in another order. */
static void frame_of_swapped(rank_t *me)
{
    uint64_t first  = length_of_pair(0, 0, 3);
    uint64_t second = length_of_pair(1, 0, 3);

    ck_assert_uint_ne(first, second);
    frame_of_two_errors(me, second - first, first - second);
}

static void (*const frames[])(rank_t *me) = {
    frame_all,    frame_two,     frame_none,      frame_some,      frame_mixed,
    frame_packed, frame_refused, frame_of_errors, frame_of_swapped};

START_TEST(calls_in_frames)
{
    play(frames[_i]);
}
END_TEST

START_TEST(calls_in_frames_early)
{
    play_early(frames[_i]);
}
END_TEST

/* ---- errors ---- */

static void fail_all(rank_t *me)
{
    op_t *ops[N_REQUESTS];

    for (uint32_t k = 0; k < N_REQUESTS; ++k) {
        ops[k] = post(me, me->a, k, k);
    }
    for (uint32_t k = 0; k < N_REQUESTS; ++k) {
        ck_assert_int_ne(fs_request_wait(&ops[k]->request), FS_OK);
        fs_request_fini(&ops[k]->request);
    }
    ck_assert(me->a->dead);
    ck_assert_str_ne(fs_comm_error(me->a), "");
}

/* Who stands in the queue of a lost communicator ends with an error as well. */
START_TEST(the_queue_fails_as_a_whole)
{
    fs_loop_faults_t faults = {.fail_send = 1, .fail_rank = 3};

    fs_loop_set_faults(world.loop, &faults);
    play(fail_all);
}
END_TEST

int main(void)
{
    Suite *suite  = suite_create("request");
    TCase *queues = tcase_create("queues"), *errors = tcase_create("errors");

    tcase_set_timeout(queues, 60); /* threads that take turns on busy cores */
    tcase_add_checked_fixture(queues, set_up, tear_down);
    tcase_add_loop_test(queues, several_in_one_queue, 0, 4);
    tcase_add_loop_test(queues, two_communicators, 0, 2);
    tcase_add_test(queues, progress_is_enough);
    tcase_add_loop_test(queues, blocking_and_nonblocking, 0, 3);
    tcase_add_loop_test(queues, blocking_and_nonblocking_early, 0, 3);
    tcase_add_test(queues, nonblocking_early);
    tcase_add_loop_test(queues, persistent_calls, 0, 3);
    tcase_add_test(queues, persistent_bundles);
    tcase_add_loop_test(queues, persistent_calls_early, 0, 3);
    tcase_add_loop_test(queues, calls_in_frames, 0,
                        sizeof(frames) / sizeof(frames[0]));
    tcase_add_loop_test(queues, calls_in_frames_early, 0,
                        sizeof(frames) / sizeof(frames[0]));
    suite_add_tcase(suite, queues);
    tcase_add_unchecked_fixture(errors, set_up, NULL);
    tcase_add_test(errors, the_queue_fails_as_a_whole);
    suite_add_tcase(suite, errors);
    return fs_test_run(suite);
}
