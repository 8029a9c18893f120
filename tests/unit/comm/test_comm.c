/* SPDX-License-Identifier: BSD-3-Clause */
/* fs_comm_*: a thread per rank, whole calls from the top, and every way in
 * which the ranks must decline, or fail, together. */
#include "coll/fs_collective.h"
#include "coll/fs_collectives.h"
#include "comm/fs_comm.h"
#include "fs_host_fake.h"
#include "fs_test_device.h"
#include "fs_test_util.h"
#include "fs_transport_loop.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum { N_RANKS = 6, WHY = 256, MAX_CALLS = 200 };

/* The MPI: a barrier and memory to which all write. */
typedef struct world {
    pthread_barrier_t barrier;
    char             *gathered;
    fs_loop_t        *loop;
} world_t;

typedef struct rank {
    world_t    *world;
    uint32_t    rank;
    bool        no_net;
    fs_params_t params;
    uint32_t    server_label;
    uint64_t    counts[N_RANKS][N_RANKS]; /* as this rank sees them */
    bool        prepares;
    bool        prepare_fails;
    bool        packs;                 /* blocks are not contiguous */
    bool        dawdles;               /* then, when it unpacks one */
    const fs_collective_t *collective; /* NULL: fs_alltoallv */
    fs_consent_t           consent;
    bool                   server_from_mpi;
    int                    n_calls;
    void (*before)(struct rank *me, int k); /* call k; may be NULL */
    bool           on_device;               /* blocks are */
    unsigned char *send[N_RANKS];           /* their bytes */
    unsigned char *recv[N_RANKS];
    void          *send_device[N_RANKS]; /* where they are, or NULL */
    void          *recv_device[N_RANKS];
    fs_comm_t     *comm;
    /* What came out. */
    fs_status_t     created;
    fs_status_t     called;
    bool            ran;
    char            why[WHY];
    char            line[WHY];
    char            warning[WHY];
    int             n_warnings;
    fs_alg_t        alg;
    fs_alg_t        algs[MAX_CALLS]; /* of each call */
    uint32_t        window;          /* of the last plan; 0: none was kept */
    fs_comm_stats_t stats;
} rank_t;

static fs_status_t allgather(void *ctx, const void *in, size_t len, void *out)
{
    rank_t *me = ctx;

    if (pthread_barrier_wait(&me->world->barrier) ==
        PTHREAD_BARRIER_SERIAL_THREAD) {
        free(me->world->gathered);
        me->world->gathered = malloc(len * N_RANKS + 1);
    }
    pthread_barrier_wait(&me->world->barrier);
    memcpy(me->world->gathered + len * me->rank, in, len);
    pthread_barrier_wait(&me->world->barrier);
    memcpy(out, me->world->gathered, len * N_RANKS);
    return FS_OK;
}

static fs_status_t agree(void *ctx, fs_status_t mine)
{
    fs_status_t all[N_RANKS], worst = mine;

    (void)allgather(ctx, &mine, sizeof(mine), all);
    for (int r = 0; r < N_RANKS; ++r) {
        worst = all[r] < worst ? all[r] : worst;
    }
    return worst;
}

static fs_fake_t *fake; /* the MPI's own messages; NULL: none */

static void progress(void *ctx)
{
    if (fake != NULL) {
        fs_native_t host = fs_fake_host(fake, ((rank_t *)ctx)->rank);

        host.progress(host.ctx);
    }
    sched_yield();
}

static fs_net_t *net(void *ctx)
{
    rank_t *me = ctx;

    return me->no_net ? NULL : fs_loop_net(me->world->loop, me->rank);
}

static fs_status_t prepare(void *ctx)
{
    return ((rank_t *)ctx)->prepare_fails ? FS_ERR_NOMEM : FS_OK;
}

static unsigned char byte_of(uint32_t src, uint32_t dst, uint64_t k)
{
    return (unsigned char)(src * 61 + dst * 17 + k * 7 + (k >> 8));
}

static fs_status_t pack(void *ctx, uint32_t block, uint64_t offset,
                        uint64_t len_bytes, void *dst)
{
    memcpy(dst, ((rank_t *)ctx)->send[block] + offset, len_bytes);
    return FS_OK;
}

static fs_status_t unpack(void *ctx, uint32_t block, uint64_t offset,
                          uint64_t len_bytes, const void *src)
{
    rank_t *me = ctx;

    if (me->dawdles) {
        nanosleep(&(struct timespec){0, 400000000}, NULL);
    }
    memcpy(me->recv[block] + offset, src, len_bytes);
    return FS_OK;
}

static unsigned char *make_block(const rank_t *me, uint64_t len_bytes,
                                 void **device_p)
{
    unsigned char *block;

    *device_p = me->on_device ? fs_test_device_alloc(len_bytes + 1, 0) : NULL;
    block     = me->on_device ? fs_test_device_alias(*device_p)
                              : malloc(len_bytes + 1);
    memset(block, 0, len_bytes + 1);
    return block;
}

static void make_blocks(rank_t *me)
{
    for (uint32_t r = 0; r < N_RANKS; ++r) {
        uint64_t n = me->counts[me->rank][r];

        me->send[r] = make_block(me, n, &me->send_device[r]);
        me->recv[r] =
            make_block(me, me->counts[r][me->rank], &me->recv_device[r]);
        for (uint64_t k = 0; k < n; ++k) {
            me->send[r][k] = byte_of(me->rank, r, k);
        }
    }
}

static void free_block(unsigned char **block, void **device)
{
    if (*device != NULL) {
        fs_test_device_free(*device);
    } else {
        free(*block);
    }
    *block  = NULL;
    *device = NULL;
}

static void free_blocks(rank_t *me)
{
    for (uint32_t r = 0; r < N_RANKS; ++r) {
        free_block(&me->send[r], &me->send_device[r]);
        free_block(&me->recv[r], &me->recv_device[r]);
    }
}

static void check_arrival_at(const rank_t *me)
{
    for (uint32_t s = 0; s < N_RANKS; ++s) {
        for (uint64_t k = 0; k < me->counts[s][me->rank]; ++k) {
            if (me->recv[s][k] != byte_of(s, me->rank, k)) {
                ck_abort_msg("rank %u, byte %llu from %u", me->rank,
                             (unsigned long long)k, s);
            }
        }
    }
}

static fs_accel_t *accel; /* of the one rank that is on a device */

static void put_on_device(rank_t *me, fs_call_t *call)
{
    call->send_block = (const void *const *)me->send_device;
    call->recv_block = me->recv_device;
    call->device     = (fs_call_device_t){
            .send_mem = fs_accel_query(accel, me->send_device[0]),
            .recv_mem = fs_accel_query(accel, me->recv_device[0]),
            .accel    = accel,
            .staged   = true};
}

/* Every rank can see every other's blocks. */
static void host_alltoallv(rank_t *me);

static uint32_t window_of(const fs_plan_cache_t *cache)
{
    return cache->n == 0 ? 0
                         : cache->entries[cache->n - 1].cached->plan->window;
}

static void call_once(rank_t *me)
{
    uint64_t    recv_bytes[N_RANKS];
    fs_counts_t counts;
    fs_call_t   call = {.counts  = &counts,
                        .device  = {.consent = me->consent},
                        .ctx     = me,
                        .pack    = pack,
                        .unpack  = unpack,
                        .prepare = me->prepares ? prepare : NULL,
                        .owner   = me};

    for (uint32_t r = 0; r < N_RANKS; ++r) {
        recv_bytes[r] = me->counts[r][me->rank];
    }
    counts = fs_test_call_counts(fs_comm_topo(me->comm), me->rank,
                                 me->counts[me->rank], recv_bytes);
    if (!me->packs) {
        call.send_block = (const void *const *)me->send;
        call.recv_block = (void *const *)me->recv;
    }
    if (me->on_device) {
        put_on_device(me, &call);
    }
    me->ran    = false;
    me->called = fs_comm_collective(
        me->comm, me->collective != NULL ? me->collective : &fs_alltoallv,
        &call, &me->ran);
    if (me->called == FS_OK && !me->ran) {
        host_alltoallv(me);
        me->called = fs_comm_native_done(me->comm);
    }
    fs_counts_fini(&counts);
    me->alg    = fs_comm_last_alg(me->comm);
    me->window = window_of(&me->comm->cache);
    fs_comm_describe(me->comm, "COMM", me->line, sizeof(me->line));
    fs_comm_get_stats(me->comm, &me->stats);
    if (me->called != FS_OK) {
        snprintf(me->why, sizeof(me->why), "%s", fs_comm_error(me->comm));
    }
}

static void warn(void *ctx, const char *line)
{
    rank_t *me = ctx;

    ++me->n_warnings;
    snprintf(me->warning, sizeof(me->warning), "%s", line);
}

static bool accelerated; /* a rank has an accelerator */

/* ---- the MPI's own messages ---- */

static int no_own = -1; /* a rank that gets no communicator for them */

static void *fake_of(void *ctx)
{
    return fs_fake_host(fake, ((rank_t *)ctx)->rank).ctx;
}

static const fs_native_p2p_t *fake_p2p(void)
{
    return fs_fake_host(fake, 0).p2p;
}

static fs_status_t p2p_open(void *ctx)
{
    return (int)((rank_t *)ctx)->rank == no_own ? FS_ERR_NATIVE : FS_OK;
}

static fs_status_t p2p_isend(void *ctx, const void *buf, uint64_t len_bytes,
                             uint32_t peer, uint32_t tag, void **request_p)
{
    return fake_p2p()->isend(fake_of(ctx), buf, len_bytes, peer, tag,
                             request_p);
}

static fs_status_t p2p_irecv(void *ctx, void *buf, uint64_t len_bytes,
                             uint32_t peer, uint32_t tag, void **request_p)
{
    return fake_p2p()->irecv(fake_of(ctx), buf, len_bytes, peer, tag,
                             request_p);
}

static fs_status_t p2p_test(void *ctx, void *request, uint64_t *len_p)
{
    return fake_p2p()->test(fake_of(ctx), request, len_p);
}

static void p2p_cancel(void *ctx, void *request)
{
    fake_p2p()->cancel(fake_of(ctx), request);
}

static const fs_native_p2p_t p2p = {.n_tags = 32768,
                                    .open   = p2p_open,
                                    .isend  = p2p_isend,
                                    .irecv  = p2p_irecv,
                                    .test   = p2p_test,
                                    .cancel = p2p_cancel};

static fs_tuning_t learned; /* by earlier communicators */

static const fs_tuning_t *tuning(void *ctx)
{
    ck_assert_uint_eq(((rank_t *)ctx)->rank, 0);
    return &learned;
}

static void *live(void *arg)
{
    rank_t     *me     = arg;
    fs_native_t native = {.ctx       = me,
                          .process   = me,
                          .allgather = allgather,
                          .agree     = agree,
                          .progress  = progress,
                          .net       = net,
                          .warn      = warn,
                          .name      = "An MPI 1.2",
                          .p2p       = fake != NULL ? &p2p : NULL,
                          .tuning    = tuning};
    fs_member_t member = {.n_ranks         = N_RANKS,
                          .rank            = me->rank,
                          .server_label    = me->server_label,
                          .server_from_mpi = me->server_from_mpi,
                          .has_accel       = accelerated && me->rank == 2};

    me->created = fs_comm_create(&native, &me->params, &member, &me->comm,
                                 me->why, sizeof(me->why));
    for (int k = 0; me->created == FS_OK && k < me->n_calls; ++k) {
        if (me->before != NULL) {
            me->before(me, k);
        }
        free_blocks(me);
        make_blocks(me);
        call_once(me);
        me->algs[k] = me->alg;
        if (me->called == FS_OK) {
            check_arrival_at(me);
        }
        pthread_barrier_wait(&me->world->barrier);
    }
    if (me->created == FS_OK) {
        fs_comm_destroy(me->comm);
    }
    return NULL;
}

/* ---- a world of six ranks on three servers ---- */

static world_t world;
static rank_t  ranks[N_RANKS];

/* As counts say, also where they disagree. */
static void host_alltoallv(rank_t *me)
{
    pthread_barrier_wait(&me->world->barrier);
    for (uint32_t s = 0; s < N_RANKS; ++s) {
        memcpy(me->recv[s], ranks[s].send[me->rank], me->counts[s][me->rank]);
    }
    pthread_barrier_wait(&me->world->barrier);
}

static void set_up(void)
{
    memset(&world, 0, sizeof(world));
    memset(ranks, 0, sizeof(ranks));
    pthread_barrier_init(&world.barrier, NULL, N_RANKS);
    world.loop = fs_loop_create(N_RANKS, 7);
    for (uint32_t r = 0; r < N_RANKS; ++r) {
        rank_t *me = &ranks[r];

        me->world        = &world;
        me->rank         = r;
        me->server_label = r % 3;
        me->n_calls      = 1;
        fs_params_init(&me->params);
        me->params.chunk     = 4096;
        me->params.min_bytes = 1000;
        me->params.early     = FS_EARLY_OFF; /* depends on time */
        me->params.bundle_memory =
            0; /* small as they are, these calls are planned */
        for (uint32_t s = 0; s < N_RANKS; ++s) {
            for (uint32_t d = 0; d < N_RANKS; ++d) {
                me->counts[s][d] = (s * 7919 + d * 104729) % 20000;
            }
        }
    }
}

static void tear_down(void)
{
    for (uint32_t r = 0; r < N_RANKS; ++r) {
        free_blocks(&ranks[r]);
    }
    free(world.gathered);
    fs_loop_destroy(world.loop);
    pthread_barrier_destroy(&world.barrier);
}

static void live_all(void)
{
    pthread_t threads[N_RANKS];

    for (uint32_t r = 0; r < N_RANKS; ++r) {
        ck_assert_int_eq(pthread_create(&threads[r], NULL, live, &ranks[r]), 0);
    }
    for (uint32_t r = 0; r < N_RANKS; ++r) {
        pthread_join(threads[r], NULL);
    }
}

static void all_came_out(fs_status_t created, fs_status_t called, bool ran)
{
    for (uint32_t r = 0; r < N_RANKS; ++r) {
        ck_assert_int_eq(ranks[r].created, created);
        ck_assert_int_eq(ranks[r].called, called);
        ck_assert_int_eq(ranks[r].ran, ran);
    }
    ck_assert_uint_eq(fs_loop_n_groups(world.loop), 0);
}

static void all_said(const char *text)
{
    for (uint32_t r = 0; r < N_RANKS; ++r) {
        ck_assert_msg(strstr(ranks[r].why, text) != NULL ||
                          strstr(ranks[r].line, text) != NULL,
                      "rank %u says \"%s\" and \"%s\", not \"%s\"", r,
                      ranks[r].why, ranks[r].line, text);
    }
}

/* The counters say who did it. */
static void check_counters(fs_alg_t alg)
{
    for (uint32_t r = 0; r < N_RANKS; ++r) {
        ck_assert_uint_eq(ranks[r].stats.calls, 1);
        ck_assert_uint_eq(ranks[r].stats.calls_by[alg], 1);
        ck_assert_uint_le(ranks[r].stats.peak_staging,
                          ranks[r].params.staging_limit);
    }
}

START_TEST(data_arrive)
{
    live_all();
    all_came_out(FS_OK, FS_OK, true);
    ck_assert_int_ne(ranks[0].alg, FS_ALG_NATIVE);
    check_counters(ranks[0].alg);
}
END_TEST

/* One rank's network needs it: all of them wait for the words of their server. */
START_TEST(one_rank_needs_confirmation)
{
    fs_loop_net(world.loop, _i)->local_arrives = false;
    live_all();
    all_came_out(FS_OK, FS_OK, true);
}
END_TEST

static void all_have_window(uint32_t window)
{
    for (uint32_t r = 0; r < N_RANKS; ++r) {
        ck_assert_uint_eq(ranks[r].window, window);
    }
}

static void is_slow(rank_t *me, int k)
{
    (void)k;
    me->comm->quarter = 8192;
}

static void is_fast(rank_t *me, int k)
{
    (void)k;
    me->comm->quarter = 1 << 20;
}

static const struct {
    void (*before)(rank_t *me, int k);
    uint64_t times; /* as many bytes */
    uint32_t window;
} queues[] = {
    {is_slow, 1, 2}, /* short stages wait with their senders, */
    {is_slow, 32, 8},
    {is_fast, 1, 8},
    {NULL, 1, 8}, /* it is the first call */
};
#define N_QUEUES ((int)(sizeof(queues) / sizeof(queues[0])))

START_TEST(short_stages_stay_out_of_slow_queues)
{
    for (uint32_t r = 0; r < N_RANKS; ++r) {
        ranks[r].before       = queues[_i].before;
        ranks[r].params.chunk = 65536;
        for (uint32_t s = 0; s < N_RANKS; ++s) {
            for (uint32_t d = 0; d < N_RANKS; ++d) {
                ranks[r].counts[s][d] *= queues[_i].times;
            }
        }
    }
    live_all();
    all_came_out(FS_OK, FS_OK, true);
    all_have_window(queues[_i].window);
}
END_TEST

static const struct {
    fs_alg_t       alg;
    fs_decompose_t decompose;
    const char    *line;
} told[] = {
    {FS_ALG_STAGED, FS_DECOMPOSE_AUTO, "staged (forced by parameter)"},
    {FS_ALG_STAGED, FS_DECOMPOSE_COMPACT, ", compact, "},
    {FS_ALG_STAGED, FS_DECOMPOSE_OPENSHOP,
     "openshop, 0."}, /* no stages to count */
    {FS_ALG_STAGED, FS_DECOMPOSE_BIRKHOFF, " stages, "},
    {FS_ALG_STAGED, FS_DECOMPOSE_HIERARCHICAL, ", hierarchical, "},
    {FS_ALG_STAGED, FS_DECOMPOSE_SPREADOUT, ", spreadout, "},
    {FS_ALG_PIPE2D, FS_DECOMPOSE_AUTO, "pipe2d (forced by parameter)"},
    {FS_ALG_DIRECT, FS_DECOMPOSE_AUTO, "direct (forced by parameter)"},
};
#define N_TOLD ((int)(sizeof(told) / sizeof(told[0])))

START_TEST(each_does_as_told)
{
    for (uint32_t r = 0; r < N_RANKS; ++r) {
        ranks[r].params.algorithm = told[_i].alg;
        ranks[r].params.decompose = told[_i].decompose;
        ranks[r].params.verbose   = 1;
    }
    live_all();
    all_came_out(FS_OK, FS_OK, true);
    all_said(told[_i].line);
    check_counters(told[_i].alg);
}
END_TEST

START_TEST(small_calls_go_to_the_host)
{
    for (uint32_t r = 0; r < N_RANKS; ++r) {
        ranks[r].params.min_bytes = 1 << 20;
    }
    live_all();
    all_came_out(FS_OK, FS_OK, false);
    all_said("below min_bytes");
}
END_TEST

START_TEST(one_server_goes_to_the_host)
{
    for (uint32_t r = 0; r < N_RANKS; ++r) {
        ranks[r].server_label = 9;
        ranks[r].no_net       = true; /* nobody asks for it */
    }
    live_all();
    all_came_out(FS_OK, FS_OK, false);
    all_said("one server");
}
END_TEST

/* By the MPI each rank is on a server of its own, but they can share memory. What the user
 * says is believed, and an MPI that knows two ranks of one server. */
START_TEST(ranks_share_a_host)
{
    for (uint32_t r = 0; r < N_RANKS; ++r) {
        ranks[r].server_label    = r == 1 && _i == 1 ? 0 : r;
        ranks[r].server_from_mpi = _i < 2;
    }
    live_all();
    all_came_out(FS_OK, FS_OK, _i > 0);
    if (_i == 0) {
        all_said("one server");
    }
}
END_TEST

START_TEST(switched_off)
{
    for (uint32_t r = 0; r < N_RANKS; ++r) {
        ranks[r].params.algorithm = FS_ALGORITHM_OFF;
    }
    live_all();
    all_came_out(FS_OK, FS_OK, false);
}
END_TEST

/* One rank alone cannot; then nobody does. */
START_TEST(one_rank_cannot_prepare)
{
    ranks[4].prepares      = true;
    ranks[4].prepare_fails = true;
    live_all();
    all_came_out(FS_OK, FS_OK, false);
    all_said("a rank could not plan");
}
END_TEST

START_TEST(one_rank_has_no_network)
{
    ranks[2].no_net = true;
    live_all();
    all_came_out(FS_ERR_UNREACHABLE, FS_OK, false);
    all_said("rank 2 has no network");
}
END_TEST

START_TEST(one_rank_cannot_reach_a_peer)
{
    fs_loop_faults_t faults = {.unreachable = true, .lost_rank = 1};

    fs_loop_set_faults(world.loop, &faults);
    live_all();
    all_came_out(FS_ERR_UNREACHABLE, FS_OK, false);
    all_said("rank 1 cannot reach rank");
}
END_TEST

START_TEST(parameters_differ)
{
    ranks[3].params.chunk = 8192;
    live_all();
    all_came_out(FS_ERR_MISMATCH, FS_OK, false);
    all_said("chunk is \"4k\" on rank 0 and \"8k\" on rank 3");
}
END_TEST

/* Rank 5 expects less of rank 1 than it is sent. */
START_TEST(counts_differ)
{
    --ranks[5].counts[1][5];
    live_all();
    all_came_out(FS_OK, FS_ERR_MISMATCH, false);
    all_said("rank 1 sends 11564 bytes to rank 5, which expects 11563 "
             "(server 1 to server 2)");
}
END_TEST

START_TEST(check_names_the_pair)
{
    for (uint32_t r = 0; r < N_RANKS; ++r) {
        ranks[r].params.check = 1;
    }
    ranks[5].counts[1][5] = 12;
    live_all();
    all_came_out(FS_OK, FS_ERR_MISMATCH, false);
    all_said("rank 1 sends 11564 bytes to rank 5, which expects 12");
}
END_TEST

START_TEST(one_rank_has_what_only_the_mpi_can_read)
{
    ranks[2].consent = FS_CONSENT_NATIVE;
    live_all();
    all_came_out(FS_OK, FS_OK, false);
    all_said("a rank's buffer is accessible only to the MPI");
}
END_TEST

/* Its calls are not lent to the host, and fail where that has to serve them. */
START_TEST(one_rank_has_what_the_host_cannot_read)
{
    ranks[2].consent = FS_CONSENT_OURS;
    live_all();
    all_came_out(FS_OK, FS_OK, true);
    ranks[3].consent = FS_CONSENT_NATIVE;
    live_all();
    all_came_out(FS_OK, FS_ERR_UNSUPPORTED, false);
}
END_TEST

START_TEST(one_rank_has_what_nobody_can_read)
{
    ranks[2].consent = FS_CONSENT_NO;
    live_all();
    all_came_out(FS_OK, FS_ERR_UNSUPPORTED, false);
    all_said("a rank cannot use its buffers in this call");
}
END_TEST

/* ---- call after call ---- */

static void live_on(int n_calls, void (*before)(rank_t *me, int k))
{
    for (uint32_t r = 0; r < N_RANKS; ++r) {
        ranks[r].n_calls = n_calls;
        ranks[r].before  = before;
    }
    live_all();
    for (uint32_t r = 0; r < N_RANKS; ++r) {
        const fs_comm_stats_t *a = &ranks[r].stats, *b = &ranks[0].stats;

        ck_assert_msg(ranks[r].called == FS_OK, "%s", ranks[r].why);
        ck_assert_uint_eq(a->calls, (unsigned)n_calls);
        ck_assert_uint_eq(a->cache_hits, b->cache_hits);
        ck_assert_uint_eq(a->tuner_probes, b->tuner_probes);
        ck_assert_uint_eq(a->tuner_gone_back, b->tuner_gone_back);
        ck_assert_uint_eq(a->stage_cost, b->stage_cost);
        ck_assert_mem_eq(ranks[r].algs, ranks[0].algs, sizeof(ranks[r].algs));
    }
}

static void set_all(size_t offset, uint64_t value, size_t len)
{
    for (uint32_t r = 0; r < N_RANKS; ++r) {
        memcpy((char *)&ranks[r].params + offset, &value, len);
    }
}

#define SET(_field, _value)                          \
    set_all(offsetof(fs_params_t, _field), (_value), \
            sizeof(((fs_params_t *)NULL)->_field))

static void scale(rank_t *me, uint64_t bytes)
{
    for (uint32_t s = 0; s < N_RANKS; ++s) {
        for (uint32_t d = 0; d < N_RANKS; ++d) {
            me->counts[s][d] = bytes + 13 * s + 7 * d;
        }
    }
}

START_TEST(same_counts_same_plan)
{
    SET(tuner, 0);
    live_on(5, NULL);
    ck_assert_uint_eq(ranks[0].stats.cache_hits, 4);
    all_said(", plan kept");
}
END_TEST

static void only_we_can(rank_t *me, int k)
{
    (void)k;
    me->consent = FS_CONSENT_OURS;
}

START_TEST(no_probe_where_the_native_algorithm_cannot_read)
{
    live_on(10, only_we_can);
    for (int k = 0; k < 10; ++k) {
        ck_assert_int_ne(ranks[0].algs[k], FS_ALG_NATIVE);
    }
}
END_TEST

static void two_in_turn(rank_t *me, int k)
{
    scale(me, k % 2 ? 3000 : 9000);
}

START_TEST(two_plans_in_turn)
{
    SET(tuner, 0);
    live_on(10, two_in_turn);
    ck_assert_uint_eq(ranks[0].stats.cache_hits, 8);
}
END_TEST

START_TEST(no_cache)
{
    SET(tuner, 0);
    SET(plan_cache, 0);
    live_on(4, NULL);
    ck_assert_uint_eq(ranks[0].stats.cache_hits, 0);
}
END_TEST

/* Counts of one pair move to another: the sums of bytes stay. */
static void one_byte_moves(rank_t *me, int k)
{
    scale(me, 5000);
    if (k == 1) {
        --me->counts[0][1];
        ++me->counts[0][4]; /* the same server as 1 */
    }
}

START_TEST(one_byte_makes_another_plan)
{
    SET(tuner, 0);
    live_on(3, one_byte_moves);
    ck_assert_uint_eq(ranks[0].stats.cache_hits, 1);
}
END_TEST

/* One rank's blocks are no longer contiguous: its plan is another one. */
static void one_packs(rank_t *me, int k)
{
    me->packs = me->rank == 2 && k % 2;
}

START_TEST(one_layout_makes_another_plan)
{
    SET(tuner, 0);
    live_on(4, one_packs);
    ck_assert_uint_eq(ranks[0].stats.cache_hits, 2);
}
END_TEST

/* Of a call that all know, one rank's blocks are on a device for once, where it
 * has no staging: it needs the others' time, and gets the memory. */
static void moves_to_a_device(rank_t *me, int k)
{
    me->packs     = me->rank == 4; /* as on the device: the same plan */
    me->on_device = me->rank == 4 && k == 2;
}

START_TEST(known_calls_get_memory_where_they_need_it)
{
    fs_test_device_load("accel/libcuda.so.1");
    accel = fs_accel_create();
    ck_assert_ptr_nonnull(accel);
    SET(tuner, 0);
    live_on(4, moves_to_a_device);
    ck_assert_uint_eq(ranks[0].stats.cache_hits, 3);
    for (int k = 0; k < 4; ++k) {
        ck_assert_int_eq(ranks[0].algs[k], FS_ALG_STAGED);
    }
    free_blocks(&ranks[4]);
    fs_accel_destroy(accel);
}
END_TEST

/* One rank would run another program than all others. */
static void plans_otherwise(rank_t *me, int k)
{
    me->comm->params.algorithm = me->rank == 3 && k == 1 ? FS_ALG_DIRECT
                                                         : FS_ALG_STAGED;
    scale(me, 5000 + 100 * (uint64_t)k);
}

START_TEST(plans_that_differ_do_not_run)
{
    SET(algorithm, FS_ALG_STAGED);
    SET(watchdog, 1); /* if they do */
    live_on(3, plans_otherwise);
    for (int k = 0; k < 3; ++k) {
        ck_assert_int_eq(ranks[0].algs[k] == FS_ALG_NATIVE, k == 1);
    }
}
END_TEST

/* In a later call, whose plan is there, a rank cannot prepare. */
static void prepares_and_fails(rank_t *me, int k)
{
    me->prepares      = me->rank == 1 && k > 0;
    me->prepare_fails = k == 2;
}

/* Then a refusal: the communicator goes on. */
static void consents_again(rank_t *me, int k)
{
    ck_assert_int_eq(me->called, k == 3 ? FS_ERR_UNSUPPORTED : FS_OK);
    me->consent = me->rank != 1 ? FS_CONSENT_YES
                  : k == 1      ? FS_CONSENT_NATIVE
                  : k == 2      ? FS_CONSENT_NO
                                : FS_CONSENT_YES;
}

START_TEST(a_refusal_is_for_one_call)
{
    SET(tuner, 0);
    live_on(5, consents_again);
    ck_assert_int_eq(ranks[0].algs[1], FS_ALG_NATIVE);
    ck_assert_int_eq(ranks[0].algs[3], FS_ALG_STAGED);
    ck_assert_int_eq(ranks[0].algs[4], FS_ALG_STAGED);
}
END_TEST

START_TEST(cannot_prepare_a_known_call)
{
    SET(tuner, 0);
    live_on(5, prepares_and_fails);
    for (int k = 0; k < 5; ++k) {
        ck_assert_int_eq(ranks[0].algs[k] == FS_ALG_NATIVE, k == 2);
    }
    ck_assert_uint_eq(ranks[0].stats.cache_hits, 4);
}
END_TEST

static void three_classes(rank_t *me, int k)
{
    scale(me, UINT64_C(500) << (k % 3 * 2));
}

/* The same, and the call before has taken what the machine does not decide. */
static void three_classes_timed(rank_t *me, int k)
{
    fs_last_call_t *last = &me->comm->last;

    three_classes(me, k);
    if (last->whole_ns > 0) {
        last->round_ns = 1;
        last->run.ns =
            last->question.bound *
            (last->question.candidate == FS_CANDIDATE_NATIVE ? 2 : 1);
        last->whole_ns = last->run.ns + 1;
    }
}

/* In each class twice, then the MPI's. */
static void ours_comes_first(void)
{
    for (int k = 0; k < 90; ++k) {
        bool first_two = k < 6, look = k >= 6 && k < 9;

        ck_assert(!first_two || ranks[0].algs[k] != FS_ALG_NATIVE);
        ck_assert(!look || ranks[0].algs[k] == FS_ALG_NATIVE);
    }
}

START_TEST(tuner_probes)
{
    live_on(90, three_classes_timed);
    ck_assert_uint_ge(ranks[0].stats.tuner_probes, 3 + 1);
    ck_assert_uint_le(ranks[0].stats.tuner_probes, 3 * 6);
    ours_comes_first();
}
END_TEST

/* Whatever the tuner finds by the times of this machine, all ranks find it. */
START_TEST(the_tuner_agrees)
{
    live_on(90, three_classes);
    ck_assert_uint_ge(ranks[0].stats.tuner_probes, 3 + 1);
    ours_comes_first();
}
END_TEST

/* Without a threshold of the user's the model makes the first guess, and what it
 * did not think of is tried. */
static void tiny(rank_t *me, int k)
{
    (void)k;
    scale(me, 8);
}

START_TEST(small_calls_are_tried)
{
    SET(min_bytes, FS_MIN_BYTES_AUTO);
    live_on(12, tiny);
    ck_assert_int_eq(ranks[0].algs[0], FS_ALG_NATIVE);
    ck_assert_int_eq(ranks[0].algs[1], FS_ALG_NATIVE);
    ck_assert_int_eq(ranks[0].algs[2], FS_ALG_STAGED);
    all_said("faster according to the tuner");
}
END_TEST

/* A threshold that the user has set forces. */
START_TEST(small_calls_are_left_as_told)
{
    SET(min_bytes, 4096);
    live_on(12, tiny);
    ck_assert_uint_eq(ranks[0].stats.calls_by[FS_ALG_STAGED], 0);
    ck_assert_uint_eq(ranks[0].stats.tuner_probes, 0);
}
END_TEST

static void learn_at_the_end(rank_t *me, int k)
{
    if (me->rank == 0 && k == 11) {
        ck_assert_int_eq(fs_comm_put_tuning(me->comm, &learned), FS_OK);
    }
}

static void set_tuning(void)
{
    for (uint32_t r = 0; r < N_RANKS; ++r) {
        strcpy(ranks[r].params.tuning, "a file");
    }
}

/* What one communicator has found another one of the same shape begins with: rank
 * 0 tells all, however much it is. */
START_TEST(the_tuner_remembers)
{
    uint64_t calls;

    live_on(12, learn_at_the_end);
    ck_assert_uint_eq(learned.n, 1);
    ck_assert_str_eq(learned.entries[0].place.layout, "3x2");
    ck_assert_str_eq(learned.entries[0].place.mpi, "An MPI 1.2");
    /* As many as were seen: fs_unseen.h. */
    ck_assert_uint_ge(learned.entries[0].n_calls, FS_TUNER_EXPLORE_CALLS);
    ck_assert_uint_le(learned.entries[0].n_calls, 11);
    memset(learned.entries[0].price, 0, sizeof(learned.entries[0].price));
    learned.entries[0].choice = FS_CANDIDATE_NATIVE;
    for (uint32_t k = 0; k < 30; ++k) { /* others, and other places */
        fs_tuning_entry_t entry = learned.entries[0];

        entry.of_class = k;
        entry.choice   = FS_CANDIDATE_STAGED;
        ck_assert_int_eq(fs_tuning_add(&learned, &entry), FS_OK);
        strcpy(entry.place.layout, "3x3");
        entry.of_class = learned.entries[0].of_class;
        entry.place.lanes += k;
        ck_assert_int_eq(fs_tuning_add(&learned, &entry), FS_OK);
    }
    calls = ranks[0].stats.calls_by[FS_ALG_STAGED];
    ck_assert_uint_gt(calls, 0);
    live_on(1, NULL);
    ck_assert_int_ne(ranks[0].algs[0], FS_ALG_NATIVE); /* without a file */
    set_tuning();
    live_on(3, NULL);
    for (int k = 0; k < 3; ++k) {
        ck_assert_int_eq(ranks[0].algs[k], FS_ALG_NATIVE);
    }
    all_said("faster according to the tuner");
    fs_tuning_fini(&learned);
}
END_TEST

/* ---- settled on the native algorithm ---- */

static uint32_t seen_factor; /* at the end, of what has been noticed */

/* Classes of a collective, by the logarithm of their bytes, that are settled before the
 * first call. */
static void settle_for(rank_t *me, fs_tuned_t tuned, uint32_t from, uint32_t to,
                       fs_candidate_t choice)
{
    const uint64_t none[FS_N_CANDIDATES] = {0};

    for (uint32_t b = from; b < to; ++b) {
        for (uint32_t skew = 0; skew < FS_TUNER_SKEW_BANDS; ++skew) {
            fs_tuner_seed(
                &me->comm->tuner,
                fs_tuner_class_for(tuned, fs_tuner_class_of(b, 0, skew)),
                choice, none);
        }
    }
}

static void settle(rank_t *me, int k, fs_candidate_t choice)
{
    if (k == 0) {
        settle_for(me, FS_TUNED_ALLTOALLV, 0, 30, choice);
    }
}

/* Now and then a large call among small ones. */
static void settled_on_native(rank_t *me, int k)
{
    enum { LARGE_FROM = 100, LARGE_EACH = 10 };

    settle(me, k, FS_CANDIDATE_NATIVE);
    if (k >= LARGE_FROM) {
        scale(me, k % LARGE_EACH == 0 ? 1 << 17 : 20000);
    }
    if (me->rank == 0) {
        seen_factor = me->comm->unseen.factor;
    }
}

/* Many of its calls have no summary, and a large one that has had none is noticed: one
 * of a few, as a call that was slow because the machine has other work lets all be
 * seen for a while. */
START_TEST(native_calls_go_unseen)
{
    live_on(200, settled_on_native);
    all_came_out(FS_OK, FS_OK, false);
    ck_assert_uint_eq(ranks[0].stats.calls_by[FS_ALG_NATIVE], 200);
    ck_assert_uint_lt(ranks[0].stats.apart_calls, 190);
    ck_assert_uint_ge(seen_factor, 4);
}
END_TEST

/* A program may put buffers on a device at any time, where the MPI needs not be able
 * to access them. */
START_TEST(with_accelerators_all_are_seen)
{
    accelerated = true;
    live_on(40, settled_on_native);
    accelerated = false;
    all_came_out(FS_OK, FS_OK, false);
    ck_assert_uint_eq(ranks[0].stats.apart_calls, 39);
}
END_TEST

START_TEST(nothing_to_remember)
{
    set_tuning();
    live_all();
    all_came_out(FS_OK, FS_OK, true);
}
END_TEST

static void few_and_many_bytes(rank_t *me, int k)
{
    scale(me, k % 2 ? 5 : 40000);
}

/* After four calls of each kind the cost of a message is known, to all ranks
 * the same, and plans are made anew. */
START_TEST(stage_cost_is_measured)
{
    SET(tuner, 0);
    SET(min_bytes, 0);
    SET(stage_cost, 200);
    live_on(20, few_and_many_bytes);
    ck_assert_uint_eq(ranks[0].stats.cache_hits, 20 - 2 - 2);
    ck_assert_uint_ge(ranks[0].stats.stage_cost, 200 / 16);
    ck_assert_uint_le(ranks[0].stats.stage_cost, 200 * 16);
}
END_TEST

START_TEST(the_tuner_leaves_the_forced_alone)
{
    SET(algorithm, FS_ALG_DIRECT);
    live_on(12, NULL);
    ck_assert_uint_eq(ranks[0].stats.tuner_probes, 0);
    ck_assert_uint_eq(ranks[0].stats.calls_by[FS_ALG_DIRECT], 12);
}
END_TEST

/* ---- ranks that come apart ---- */

/* One after the other, in another order each time. */
static void come_apart(rank_t *me, int k)
{
    long place = (me->rank * 5 + (uint32_t)k) % N_RANKS;

    nanosleep(&(struct timespec){0, place * 3000000}, NULL);
}

static uint64_t early_bytes(void)
{
    uint64_t bytes = 0;

    for (uint32_t r = 0; r < N_RANKS; ++r) {
        bytes += ranks[r].stats.early_bytes;
    }
    return bytes;
}

START_TEST(they_begin_early)
{
    SET(early, FS_EARLY_ON);
    SET(tuner, (uint32_t)_i);
    live_on(6, come_apart);
    all_came_out(FS_OK, FS_OK, true);
    ck_assert_uint_eq(ranks[0].stats.early, 6);
    ck_assert_uint_gt(early_bytes(), 0);
}
END_TEST

/* Blocks that cannot be used as they are, or not by all. */
START_TEST(some_take_no_part)
{
    SET(early, FS_EARLY_ON);
    ranks[1].packs    = true;
    ranks[4].prepares = true;
    live_on(4, come_apart);
    all_came_out(FS_OK, FS_OK, true);
    ck_assert_uint_gt(early_bytes(), 0);
    ck_assert_uint_eq(ranks[1].stats.early_bytes, 0);
    ck_assert_uint_eq(ranks[4].stats.early_bytes, 0);
}
END_TEST

static void come_last(rank_t *me, int k)
{
    (void)k;
    if (me->rank == 3) {
        nanosleep(&(struct timespec){0, 50000000}, NULL);
    }
}

/* What has moved is no excuse: which counts differ is said as they were given. */
START_TEST(counts_differ_of_early_blocks)
{
    SET(early, FS_EARLY_ON);
    ranks[5].counts[1][5] = _i == 0 ? 11563 : 11564 + 5000;
    for (uint32_t r = 0; r < N_RANKS; ++r) {
        ranks[r].before = come_last;
    }
    live_all();
    all_came_out(FS_OK, FS_ERR_MISMATCH, false);
    all_said(_i == 0
                 ? "rank 1 sends 11564 bytes to rank 5, which expects 11563 "
                 : "rank 1 sends 11564 bytes to rank 5, which expects 16564 ");
}
END_TEST

static void only_the_mpi_can(rank_t *me, int k)
{
    come_last(me, k);
    me->consent = me->rank == 2 && k == 1 ? FS_CONSENT_NATIVE : FS_CONSENT_YES;
}

/* The MPI does all of it again. */
START_TEST(left_to_the_mpi_after_all)
{
    SET(early, FS_EARLY_ON);
    live_on(3, only_the_mpi_can);
    all_came_out(FS_OK, FS_OK, true);
    ck_assert_int_eq(ranks[0].algs[1], FS_ALG_NATIVE);
}
END_TEST

/* Times of the call before that do not hang on what else the machine does: a long call
 * of short rounds. How far apart they enter is measured. */
static void come_last_until_early(rank_t *me, int k)
{
    if (me->stats.early == 0) {
        me->comm->last.round_ns = 1;
        me->comm->last.run.ns   = 80000000;
        come_last(me, k);
    }
}

/* Where they have waited long in a long call, the next ones begin early; a first call
 * does not. */
START_TEST(they_are_expected_to_come_apart)
{
    SET(early, FS_EARLY_AUTO);
    SET(tuner, 0);
    live_on(10, come_last_until_early);
    ck_assert_uint_gt(ranks[0].stats.early, 0);
    ck_assert_uint_lt(ranks[0].stats.early, 10);
}
END_TEST

/* ---- all at once ---- */

static void set_up_eager(void)
{
    set_up();
    no_own = -1;
    fake   = fs_fake_create(N_RANKS, 32768, 11);
    for (uint32_t r = 0; r < N_RANKS; ++r) {
        ranks[r].params.algorithm = FS_ALG_EAGER;
    }
}

static void tear_down_eager(void)
{
    fs_fake_destroy(fake);
    fake = NULL;
    tear_down();
}

/* Blocks of up to five pieces; some are packed, or prepared. */
START_TEST(eager_blocks_arrive)
{
    for (uint32_t r = 0; r < N_RANKS; ++r) {
        ranks[r].packs    = r == 1 || r == 2;
        ranks[r].prepares = r == 4;
        for (uint32_t s = 0; s < N_RANKS; ++s) {
            for (uint32_t d = 0; d < N_RANKS; ++d) {
                ranks[r].counts[s][d] *= 4;
            }
        }
    }
    live_on(3, come_apart);
    all_came_out(FS_OK, FS_OK, true);
    ck_assert_uint_eq(ranks[0].stats.calls_by[FS_ALG_EAGER], 3);
    ck_assert_uint_eq(fs_fake_n_pending(fake), 0);
}
END_TEST

START_TEST(no_communicator_for_eager_messages)
{
    no_own = _i;
    live_on(3, NULL);
    all_came_out(FS_OK, FS_OK, true);
    ck_assert_int_eq(ranks[0].algs[0], FS_ALG_NATIVE);
    ck_assert_int_eq(ranks[0].algs[1], FS_ALG_STAGED);
    ck_assert_uint_eq(ranks[0].stats.calls_by[FS_ALG_EAGER], 0);
}
END_TEST

/* Once all have decided it is too late to do otherwise. Who does not need what this rank
 * would have sent may not hear of it. */
START_TEST(an_error_of_an_eager_call)
{
    uint32_t n_heard = 0;

    if (_i == 0) {
        ranks[3].prepares = ranks[3].prepare_fails = true;
    } else {
        fs_fake_cut(fake, 3, 2);
    }
    live_all();
    ck_assert_int_eq(ranks[3].called, _i == 0 ? FS_ERR_NOMEM : FS_ERR_TRUNCATE);
    ck_assert_msg(strstr(ranks[3].why,
                         "rank 3 on server 0, exchange by the MPI's own "
                         "messages: ") == ranks[3].why,
                  "%s", ranks[3].why);
    for (uint32_t r = 0; r < N_RANKS; ++r) {
        n_heard += ranks[r].called == FS_ERR_PEER;
        ck_assert(r == 3 || ranks[r].called == FS_OK ||
                  ranks[r].called == FS_ERR_PEER);
    }
    ck_assert(_i > 0 || n_heard == N_RANKS - 1);
}
END_TEST

/* As come_last_until_early(), and the calls that were seen have taken long after the last
 * entry. */
static void come_last_in_a_long_call(rank_t *me, int k)
{
    fs_last_call_t *last = &me->comm->last;

    if (!last->is_eager) {
        last->round_ns = 1;
        last->run.ns   = UINT64_C(1000000000);
    }
    if (me->rank == 3) {
        nanosleep(&(struct timespec){0, 100000000}, NULL);
    }
    (void)k;
}

START_TEST(they_go_eager_if_that_takes_less)
{
    uint32_t n = 0;

    SET(algorithm, FS_ALGORITHM_AUTO);
    SET(early, FS_EARLY_AUTO);
    SET(tuner, 0);
    for (uint32_t r = 0; r < N_RANKS; ++r) {
        for (uint32_t s = 0; s < N_RANKS; ++s) {
            for (uint32_t d = 0; d < N_RANKS; ++d) {
                ranks[r].counts[s][d] = 100000;
            }
        }
    }
    live_on(20, come_last_in_a_long_call);
    all_came_out(FS_OK, FS_OK, true);
    for (int k = 0; k < 4; ++k) {
        ck_assert_int_ne(ranks[0].algs[k], FS_ALG_EAGER);
    }
    for (int k = 0; k < 20; ++k) {
        n += ranks[0].algs[k] == FS_ALG_EAGER;
    }
    ck_assert_uint_ge(n, 7);
    ck_assert_uint_eq(ranks[0].stats.calls_by[FS_ALG_EAGER], n);
}
END_TEST

/* ---- nothing happens any more ---- */

static void enter_late(rank_t *me, int k)
{
    if (me->rank == 4 && k == 0) {
        nanosleep(&(struct timespec){1, 500000000}, NULL);
    }
}

/* MPI allows a rank to enter late: whoever waits for its word says so, once. */
START_TEST(late_rank_is_no_error)
{
    SET(watchdog, 1);
    live_on(2, enter_late);
    all_came_out(FS_OK, FS_OK, true);
    ck_assert_int_eq(ranks[1].n_warnings, 1); /* the leader of its server */
    ck_assert_ptr_nonnull(strstr(ranks[1].warning, "rank 4 on server 1"));
    ck_assert_ptr_nonnull(strstr(ranks[0].warning, "on server"));
    ck_assert_int_eq(ranks[4].n_warnings, 0);
}
END_TEST

/* The same where the others have begun without it. */
START_TEST(silence_after_an_early_begin)
{
    fs_loop_faults_t faults = {.mute = true, .mute_rank = 4};

    fs_loop_set_faults(world.loop, &faults);
    SET(watchdog, 1);
    SET(early, FS_EARLY_ON);
    for (uint32_t r = 0; r < N_RANKS; ++r) {
        ranks[r].before = come_last;
    }
    live_all();
    for (uint32_t r = 0; r < N_RANKS; ++r) {
        ck_assert(ranks[r].called == FS_ERR_STALLED ||
                  ranks[r].called == FS_ERR_PEER);
    }
}
END_TEST

/* All are inside, and then rank 4's data stay away: an error on every rank, of
 * its own watch or because another has given up before, and those of its lane
 * name it. Ranks 0 to 2 are on lane 0, 3 to 5 on lane 1. */
START_TEST(silence_is_an_error)
{
    fs_loop_faults_t faults    = {.mute = true, .mute_rank = 4};
    uint32_t         n_stalled = 0;

    fs_loop_set_faults(world.loop, &faults);
    SET(watchdog, 1);
    SET(algorithm, FS_ALG_DIRECT);
    live_all();
    for (uint32_t r = 0; r < N_RANKS; ++r) {
        bool stalled = ranks[r].called == FS_ERR_STALLED;

        n_stalled += stalled;
        ck_assert(stalled || ranks[r].called == FS_ERR_PEER);
        ck_assert_ptr_nonnull(
            strstr(ranks[r].why, stalled ? "exchange: nothing has"
                                         : "exchange: another rank has"));
        ck_assert_ptr_nonnull(strstr(ranks[r].why, "waits for rank"));
    }
    ck_assert_uint_ge(n_stalled, 1);
    ck_assert_ptr_nonnull(
        strstr(ranks[0].why, "waits for rank 4 on server 1 to send message 1"));
    ck_assert_ptr_nonnull(strstr(ranks[0].why, ", stage "));
}
END_TEST

/* Those that are through and wait for its time wait as long as rank 4 needs, or nearly. */
START_TEST(a_slow_rank_is_no_error)
{
    bool fails = _i == 1; /* after ten seconds */

    SET(watchdog, 1);
    SET(algorithm, FS_ALG_DIRECT);
    SET(verbose, 1);
    SET(chunk, 4096);
    SET(window, 1);
    for (uint32_t r = 0; r < N_RANKS; ++r) {
        memset(ranks[r].counts, 0, sizeof(ranks[r].counts));
        ranks[r].counts[3][4] = (fails ? 40 : 6) * 4096;
    }
    ranks[4].packs = ranks[4].dawdles = true;
    live_all();
    for (uint32_t r = 0; r < N_RANKS; ++r) {
        ck_assert(fails ? ranks[r].called == FS_ERR_STALLED ||
                              ranks[r].called == FS_ERR_PEER
                        : ranks[r].called == FS_OK);
    }
    ck_assert_int_gt(ranks[0].n_warnings, 0);
}
END_TEST

/* ---- one rank fails ---- */

/* Servers have no memory to share: all they tell each other are messages. */
static void live_by_messages(void)
{
    struct rlimit limit, none;

    signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
    none = (struct rlimit){.rlim_cur = 0, .rlim_max = limit.rlim_max};
    setrlimit(RLIMIT_FSIZE, &none);
    live_all();
    setrlimit(RLIMIT_FSIZE, &limit);
}

static void all_failed(fs_status_t cause)
{
    bool seen = false;

    for (uint32_t r = 0; r < N_RANKS; ++r) {
        ck_assert_msg(ranks[r].called == cause ||
                          ranks[r].called == FS_ERR_PEER ||
                          ranks[r].called == FS_ERR_TRANSPORT,
                      "rank %u: %s", r, fs_strerror(ranks[r].called));
        seen = seen || ranks[r].called == cause;
    }
    ck_assert(seen);
}

/* A message of the summary cannot leave one rank. Others may have theirs by then
 * and be a step ahead: they all hear of it, in this call. */
START_TEST(an_error_in_the_summary_is_everybodys)
{
    fs_loop_faults_t faults = {.fail_send = 1 + (uint32_t)_i / 3 % 2,
                               .fail_rank = (uint32_t)_i % 3}; /* a leader */

    fs_loop_set_faults(world.loop, &faults);
    if (_i < 6) {
        live_all();
    } else {
        live_by_messages();
    }
    all_failed(FS_ERR_TRANSPORT);
}
END_TEST

/* The leader cannot even tell the other one: third parties do. */
START_TEST(who_cannot_be_told_hears_it_from_others)
{
    fs_loop_faults_t faults = {.parted     = true,
                               .parted_src = (uint32_t)_i % 3,
                               .parted_dst = ((uint32_t)_i + 1) % 3};

    fs_loop_set_faults(world.loop, &faults);
    if (_i < 3) {
        live_all();
    } else {
        live_by_messages();
    }
    all_failed(FS_ERR_TRANSPORT);
}
END_TEST

/* Whatever fails, and whoever's part in that call was over: the next one fails
 * everywhere. No rank waits for the watchdog, which is a minute. */
START_TEST(an_error_is_everybodys_in_the_end)
{
    fs_loop_faults_t faults = {.fail_send = 1 + (uint32_t)_i % 3,
                               .fail_rank = (uint32_t)_i};

    fs_loop_set_faults(world.loop, &faults);
    for (uint32_t r = 0; r < N_RANKS; ++r) {
        ranks[r].n_calls = 2;
    }
    live_all();
    all_failed(FS_ERR_TRANSPORT);
}
END_TEST

/* The network of a rank refuses a message, while blocks go early or behind that: of
 * the one that comes last, and of each of those that work meanwhile. */
START_TEST(an_error_after_an_early_begin_is_everybodys)
{
    uint32_t         rank   = (uint32_t)_i % N_RANKS;
    fs_loop_faults_t faults = {.fail_rank = rank,
                               .fail_send = (uint32_t)_i / N_RANKS + 1};

    fs_loop_set_faults(world.loop, &faults);
    SET(early, FS_EARLY_ON);
    for (uint32_t r = 0; r < N_RANKS; ++r) {
        ranks[r].before  = come_last;
        ranks[r].n_calls = 2;
    }
    live_all();
    ck_assert_int_eq(ranks[rank].called, FS_ERR_TRANSPORT);
    all_failed(FS_ERR_TRANSPORT);
}
END_TEST

/* ---- bundles ---- */

/* From 0 to 19999 bytes for a pair of ranks; with less, the pairs of servers that
 * have more than that are planned. */
static void use_bundles(uint64_t memory)
{
    SET(bundle_memory, memory);
}

START_TEST(small_calls_are_bundled)
{
    use_bundles(4 << 20);
    SET(tuner, 0);
    live_all();
    all_came_out(FS_OK, FS_OK, true);
    all_said("bundles (small)");
    check_counters(FS_ALG_BUNDLES);
}
END_TEST

/* Of a server's six pairs, some are too large: both ways in one call. */
START_TEST(some_pairs_are_bundled)
{
    use_bundles((uint64_t)6 * 25000 * (1 + (uint64_t)_i));
    SET(min_bytes, 0);
    live_all();
    all_came_out(FS_OK, FS_OK, true);
    ck_assert_int_eq(ranks[0].alg, FS_ALG_STAGED);
    ck_assert_uint_lt(ranks[0].stats.moved_bytes, 6 * 20000);
}
END_TEST

static void only_one_pair_is_large(rank_t *me, int k)
{
    for (int s = 0; s < N_RANKS; ++s) {
        for (int d = 0; d < N_RANKS; ++d) {
            me->counts[s][d] = (uint64_t)(s + d + k);
        }
    }
    me->counts[1][2] = 3000000;
}

/* The plan has that pair alone, and is kept; the others come in bundles, in the
 * same call and every time. */
START_TEST(one_large_pair_among_small_ones)
{
    use_bundles(4 << 20);
    SET(tuner, 0);
    SET(min_bytes, 0);
    for (uint32_t r = 0; r < N_RANKS; ++r) {
        ranks[r].packs = _i == 1 && r % 2 == 0;
    }
    live_on(4, only_one_pair_is_large);
    all_came_out(FS_OK, FS_OK, true);
    ck_assert_uint_eq(ranks[0].stats.calls_by[FS_ALG_STAGED], 4);
}
END_TEST

static void nothing_between_servers(rank_t *me, int k)
{
    (void)k;
    for (int s = 0; s < N_RANKS; ++s) {
        for (int d = 0; d < N_RANKS; ++d) {
            me->counts[s][d] = s % 3 == d % 3 ? 70000 : 0;
        }
    }
    me->counts[0][1] = 1;
}

START_TEST(small_between_servers_large_inside)
{
    use_bundles(512 << 10);
    live_on(2, nothing_between_servers);
    all_came_out(FS_OK, FS_OK, true);
    all_said("direct (small between servers, the rest inside)");
}
END_TEST

/* In each class the tuner tries both, bundled and not; what the last call has
 * shown is not what the next one needs. */
static void small_and_middling(rank_t *me, int k)
{
    scale(me, k / 3 % 2 ? 60000 : 16);
}

/* Calls that the tuner chooses an algorithm for. */
static void live_by_choice(int n_calls, void (*change)(rank_t *me, int k))
{
    use_bundles(4 << 20);
    SET(min_bytes, FS_MIN_BYTES_AUTO);
    live_on(n_calls, change);
}

/* The tuner compares bundles with others in so many calls. */
static void live_tuned(int n_calls, void (*change)(rank_t *me, int k))
{
    live_by_choice(n_calls, change);
    all_came_out(FS_OK, FS_OK, ranks[0].ran);
    ck_assert_uint_ge(ranks[0].stats.tuner_probes, 1);
}

START_TEST(tuner_tries_bundles)
{
    live_tuned(90, small_and_middling);
    ck_assert_uint_ge(ranks[0].stats.calls_by[FS_ALG_BUNDLES], 4);
    ck_assert_uint_ge(ranks[0].stats.calls_by[FS_ALG_STAGED], 1);
}
END_TEST

static void now_one_now_another(rank_t *me, int k)
{
    if (k == 0) {
        settle_for(me, FS_TUNED_ALLTOALLV, 8, 12, FS_CANDIDATE_BUNDLES);
    }
    scale(me, k % 2 == 0 ? 16 : k % 4 == 1 ? 200 : 3000);
}

/* What follows calls of the settled class is not known, so nothing is prepared for a
 * probe: the native algorithm gets one although bundles have come. */
START_TEST(tuner_repeats_what_was_bundled)
{
    unsigned n_native = 0;

    live_tuned(60, now_one_now_another);
    for (int k = 1; k < 60; k += 2) {
        n_native += ranks[0].algs[k] == FS_ALG_NATIVE;
    }
    ck_assert_uint_ge(ranks[0].stats.calls_by[FS_ALG_BUNDLES], 10);
    ck_assert_uint_ge(n_native, 1);
}
END_TEST

/* Between two servers little is sent in any call. */
static void some_is_always_small(rank_t *me, int k)
{
    if (k == 0) {
        settle_for(me, FS_TUNED_ALLTOALLV, 8, 12, FS_CANDIDATE_BUNDLES);
        settle_for(me, FS_TUNED_ALLTOALLV, 16, 22, FS_CANDIDATE_COARSE);
    }
    scale(me, k % 2 == 0 ? 16 : k % 4 == 1 ? 30000 : 60000);
    for (int s = 0; s < N_RANKS; s += 3) {
        for (int d = 1; d < N_RANKS; d += 3) {
            me->counts[s][d] = 16;
        }
    }
}

/* What bundles for another class have left is served by the choice. */
START_TEST(the_rest_goes_by_the_choice)
{
    use_bundles(512 << 10);
    SET(min_bytes, FS_MIN_BYTES_AUTO);
    live_on(8, some_is_always_small);
    all_came_out(FS_OK, FS_OK, true);
    all_said("guess of the tuner, coarse chunks");
}
END_TEST

static void small_and_large(rank_t *me, int k)
{
    if (k == 0) {
        settle_for(me, FS_TUNED_ALLTOALLV, 8, 16, FS_CANDIDATE_BUNDLES);
        settle_for(me, FS_TUNED_ALLTOALLV, 16, 22, FS_CANDIDATE_NATIVE);
    }
    scale(me, k % 2 ? 60000 : 16);
}

/* Each call is prepared for what its own class needs once it has followed the other
 * twice. */
START_TEST(classes_alternate)
{
    live_by_choice(12, small_and_large);
    all_came_out(FS_OK, FS_OK, false);
    for (int k = 6; k < 12; ++k) {
        ck_assert_int_eq(ranks[0].algs[k],
                         k % 2 ? FS_ALG_NATIVE : FS_ALG_BUNDLES);
    }
}
END_TEST

static void settled_on_coarse(rank_t *me, int k)
{
    settle(me, k, FS_CANDIDATE_BUNDLES_COARSE);
    scale(me, 4000);
}

/* From the second call on, the next one is prepared for it. */
START_TEST(bundles_are_coarse)
{
    live_by_choice(8, settled_on_coarse);
    all_came_out(FS_OK, FS_OK, true);
    ck_assert_uint_eq(ranks[0].stats.calls_by[FS_ALG_BUNDLES], 8);
    all_said("faster according to the tuner, coarse bundles");
}
END_TEST

/* Classes of so many bytes between servers, and of no others: few are kept. */
static void settled_in_two_ways(rank_t *me, int k)
{
    if (k == 0) {
        settle_for(me, FS_TUNED_ALLTOALLV, 14, 20, FS_CANDIDATE_BUNDLES);
        settle_for(me, FS_TUNED_ALLTOALLW, 14, 20, FS_CANDIDATE_STAGED);
    }
    me->collective = k % 2 == 0 ? &fs_alltoallv : &fs_alltoallw;
    scale(me, 4000);
}

/* A call is prepared for what its own collective needs. */
START_TEST(collectives_alternate)
{
    live_by_choice(8, settled_in_two_ways);
    all_came_out(FS_OK, FS_OK, true);
    for (int k = 2; k < 8; ++k) {
        ck_assert_int_eq(ranks[0].algs[k],
                         k % 2 == 0 ? FS_ALG_BUNDLES : FS_ALG_STAGED);
    }
}
END_TEST

static void no_bytes(rank_t *me, int k)
{
    (void)k;
    memset(me->counts, 0, sizeof(me->counts));
}

START_TEST(no_bytes_at_all)
{
    use_bundles(4 << 20);
    live_on(3, no_bytes);
    all_came_out(FS_OK, FS_OK, true);
    all_said("bundles (small)");
}
END_TEST

static void now_small_now_large(rank_t *me, int k)
{
    scale(me, k % 3 == 0 ? 30000 : k % 3 == 1 ? 40 : 3);
}

/* Inboxes and pools are used again by calls of other sizes. */
START_TEST(sizes_change)
{
    use_bundles(512 << 10);
    SET(tuner, 0);
    for (uint32_t r = 0; r < N_RANKS; ++r) {
        ranks[r].packs    = r == 2;
        ranks[r].prepares = r == 3;
    }
    live_on(30, now_small_now_large);
    all_came_out(FS_OK, FS_OK, true);
    ck_assert_uint_ge(ranks[0].stats.calls_by[FS_ALG_BUNDLES], 20);
}
END_TEST

/* Its blocks are copied from there and to there. */
START_TEST(one_rank_is_on_a_device)
{
    use_bundles(4 << 20);
    SET(min_bytes, 0);
    fs_test_device_load("accel/libcuda.so.1");
    accel              = fs_accel_create();
    ranks[4].on_device = true;
    live_all();
    all_came_out(FS_OK, FS_OK, true);
    ck_assert_int_eq(ranks[0].alg, FS_ALG_BUNDLES);
    free_blocks(&ranks[4]);
    fs_accel_destroy(accel);
}
END_TEST

/* Seen without parameter check, though nothing is large, and named. */
START_TEST(small_counts_differ)
{
    use_bundles(4 << 20);
    ranks[5].counts[1][5] += (uint64_t)_i == 0 ? 1 : 100000;
    live_all();
    all_came_out(FS_OK, FS_ERR_MISMATCH, false);
    all_said("rank 1 sends 11564 bytes to rank 5, which expects 11");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("coll");
    TCase *tcase = tcase_create("coll");
    TCase *eager = tcase_create("eager");

    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_test(tcase, data_arrive);
    tcase_add_loop_test(tcase, one_rank_needs_confirmation, 0, N_RANKS);
    tcase_add_loop_test(tcase, short_stages_stay_out_of_slow_queues, 0,
                        N_QUEUES);
    tcase_add_loop_test(tcase, each_does_as_told, 0, N_TOLD);
    tcase_add_test(tcase, small_calls_go_to_the_host);
    tcase_add_test(tcase, one_server_goes_to_the_host);
    tcase_add_loop_test(tcase, ranks_share_a_host, 0, 3);
    tcase_add_test(tcase, switched_off);
    tcase_add_test(tcase, one_rank_cannot_prepare);
    tcase_add_test(tcase, one_rank_has_no_network);
    tcase_add_test(tcase, one_rank_cannot_reach_a_peer);
    tcase_add_test(tcase, parameters_differ);
    tcase_add_test(tcase, counts_differ);
    tcase_add_loop_test(tcase, they_begin_early, 0, 2);
    tcase_add_test(tcase, some_take_no_part);
    tcase_add_loop_test(tcase, counts_differ_of_early_blocks, 0, 2);
    tcase_add_test(tcase, left_to_the_mpi_after_all);
    tcase_add_test(tcase, they_are_expected_to_come_apart);
    tcase_add_test(tcase, check_names_the_pair);
    tcase_add_test(tcase, small_calls_are_bundled);
    tcase_add_loop_test(tcase, some_pairs_are_bundled, 0, 2);
    tcase_add_test(tcase, tuner_tries_bundles);
    tcase_add_test(tcase, tuner_repeats_what_was_bundled);
    tcase_add_test(tcase, the_rest_goes_by_the_choice);
    tcase_add_test(tcase, classes_alternate);
    tcase_add_test(tcase, bundles_are_coarse);
    tcase_add_test(tcase, collectives_alternate);
    tcase_add_loop_test(tcase, one_large_pair_among_small_ones, 0, 2);
    tcase_add_test(tcase, small_between_servers_large_inside);
    tcase_add_test(tcase, no_bytes_at_all);
    tcase_add_test(tcase, sizes_change);
    tcase_add_test(tcase, one_rank_is_on_a_device);
    tcase_add_loop_test(tcase, small_counts_differ, 0, 2);
    tcase_add_test(tcase, one_rank_has_what_only_the_mpi_can_read);
    tcase_add_test(tcase, one_rank_has_what_the_host_cannot_read);
    tcase_add_test(tcase, no_probe_where_the_native_algorithm_cannot_read);
    tcase_add_test(tcase, one_rank_has_what_nobody_can_read);
    tcase_add_test(tcase, a_refusal_is_for_one_call);
    tcase_add_test(tcase, same_counts_same_plan);
    tcase_add_test(tcase, two_plans_in_turn);
    tcase_add_test(tcase, no_cache);
    tcase_add_test(tcase, one_byte_makes_another_plan);
    tcase_add_test(tcase, one_layout_makes_another_plan);
    tcase_add_test(tcase, cannot_prepare_a_known_call);
    tcase_add_test(tcase, known_calls_get_memory_where_they_need_it);
    tcase_add_test(tcase, plans_that_differ_do_not_run);
    tcase_add_test(tcase, tuner_probes);
    tcase_add_test(tcase, the_tuner_agrees);
    tcase_add_test(tcase, small_calls_are_tried);
    tcase_add_test(tcase, small_calls_are_left_as_told);
    tcase_add_test(tcase, the_tuner_remembers);
    tcase_add_test(tcase, native_calls_go_unseen);
    tcase_add_test(tcase, with_accelerators_all_are_seen);
    tcase_add_test(tcase, nothing_to_remember);
    tcase_add_test(tcase, the_tuner_leaves_the_forced_alone);
    tcase_add_test(tcase, stage_cost_is_measured);
    tcase_add_test(tcase, late_rank_is_no_error);
    tcase_add_test(tcase, silence_is_an_error);
    tcase_add_loop_test(tcase, a_slow_rank_is_no_error, 0, 2);
    tcase_add_test(tcase, silence_after_an_early_begin);
    tcase_add_loop_test(tcase, an_error_in_the_summary_is_everybodys, 0, 12);
    tcase_add_loop_test(tcase, who_cannot_be_told_hears_it_from_others, 0, 6);
    tcase_add_loop_test(tcase, an_error_is_everybodys_in_the_end, 0, N_RANKS);
    tcase_add_loop_test(tcase, an_error_after_an_early_begin_is_everybodys, 0,
                        4 * N_RANKS);
    suite_add_tcase(suite, tcase);
    tcase_set_timeout(eager, 60);
    tcase_add_checked_fixture(eager, set_up_eager, tear_down_eager);
    tcase_add_test(eager, eager_blocks_arrive);
    tcase_add_loop_test(eager, no_communicator_for_eager_messages, 0, 2);
    tcase_add_loop_test(eager, an_error_of_an_eager_call, 0, 2);
    tcase_add_test(eager, they_go_eager_if_that_takes_less);
    suite_add_tcase(suite, eager);
    return fs_test_run(suite);
}
