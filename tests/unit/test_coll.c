/* SPDX-License-Identifier: BSD-3-Clause */
/* fs_coll_*: a thread per rank, whole calls from the top, and every way in
 * which the ranks must decline, or fail, together. */
#include "fs_test_util.h"
#include "fs_transport_loop.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_RANKS = 6, WHY = 256 };

/* The host MPI: a barrier and a board on which all write. */
typedef struct host {
    pthread_barrier_t barrier;
    char             *board;
    fs_loop_t        *loop;
} host_t;

typedef struct rank {
    host_t        *host;
    uint32_t       rank;
    bool           no_net;
    fs_params_t    params;
    uint32_t       server_label;
    uint64_t       counts[N_RANKS][N_RANKS]; /* as this rank sees them */
    bool           prepare_fails;
    unsigned char *send[N_RANKS];
    unsigned char *recv[N_RANKS];
    fs_coll_t     *coll;
    /* What came out. */
    fs_status_t     created;
    fs_status_t     called;
    bool            ran;
    char            why[WHY];
    char            line[WHY];
    fs_alg_t        alg;
    fs_coll_stats_t stats;
} rank_t;

static fs_status_t allgather(void *ctx, const void *in, size_t len, void *out)
{
    rank_t *me = ctx;

    if (pthread_barrier_wait(&me->host->barrier) ==
        PTHREAD_BARRIER_SERIAL_THREAD) {
        free(me->host->board);
        me->host->board = malloc(len * N_RANKS + 1);
    }
    pthread_barrier_wait(&me->host->barrier);
    memcpy(me->host->board + len * me->rank, in, len);
    pthread_barrier_wait(&me->host->barrier);
    memcpy(out, me->host->board, len * N_RANKS);
    return FS_OK;
}

static void progress(void *ctx)
{
    (void)ctx;
    sched_yield();
}

static fs_net_t *net(void *ctx)
{
    rank_t *me = ctx;

    return me->no_net ? NULL : fs_loop_net(me->host->loop, me->rank);
}

static fs_status_t prepare(void *ctx)
{
    return ((rank_t *)ctx)->prepare_fails ? FS_ERR_NOMEM : FS_OK;
}

static unsigned char byte_of(uint32_t src, uint32_t dst, uint64_t k)
{
    return (unsigned char)(src * 61 + dst * 17 + k * 7 + (k >> 8));
}

static void make_blocks(rank_t *me)
{
    for (uint32_t r = 0; r < N_RANKS; ++r) {
        uint64_t n = me->counts[me->rank][r];

        me->send[r] = malloc(n + 1);
        me->recv[r] = calloc(me->counts[r][me->rank] + 1, 1);
        for (uint64_t k = 0; k < n; ++k) {
            me->send[r][k] = byte_of(me->rank, r, k);
        }
    }
}

static void free_blocks(rank_t *me)
{
    for (uint32_t r = 0; r < N_RANKS; ++r) {
        free(me->send[r]);
        free(me->recv[r]);
    }
}

static void call_once(rank_t *me)
{
    uint64_t  recv_bytes[N_RANKS];
    fs_call_t call = {.send_bytes = me->counts[me->rank],
                      .recv_bytes = recv_bytes,
                      .send_block = (const void *const *)me->send,
                      .recv_block = (void *const *)me->recv,
                      .ctx        = me,
                      .prepare    = prepare};

    for (uint32_t r = 0; r < N_RANKS; ++r) {
        recv_bytes[r] = me->counts[r][me->rank];
    }
    me->called = fs_coll_alltoallv(me->coll, &call, &me->ran);
    me->alg    = fs_coll_last_alg(me->coll);
    fs_coll_describe(me->coll, "COMM", me->line, sizeof(me->line));
    fs_coll_get_stats(me->coll, &me->stats);
    if (me->called != FS_OK) {
        snprintf(me->why, sizeof(me->why), "%s", fs_coll_error(me->coll));
    }
}

static void *live(void *arg)
{
    rank_t     *me     = arg;
    fs_host_t   host   = {me, allgather, progress, net};
    fs_member_t member = {N_RANKS, me->rank, me->server_label};

    make_blocks(me);
    me->created = fs_coll_create(&host, &me->params, &member, &me->coll,
                                 me->why, sizeof(me->why));
    if (me->created == FS_OK) {
        call_once(me);
        pthread_barrier_wait(&me->host->barrier);
        fs_coll_destroy(me->coll);
    }
    return NULL;
}

/* ---- a world of six ranks on three servers ---- */

static host_t host;
static rank_t ranks[N_RANKS];

static void set_up(void)
{
    memset(&host, 0, sizeof(host));
    memset(ranks, 0, sizeof(ranks));
    pthread_barrier_init(&host.barrier, NULL, N_RANKS);
    host.loop = fs_loop_create(N_RANKS, 7);
    for (uint32_t r = 0; r < N_RANKS; ++r) {
        rank_t *me = &ranks[r];

        me->host         = &host;
        me->rank         = r;
        me->server_label = r % 3;
        fs_params_init(&me->params);
        me->params.chunk     = 4096;
        me->params.min_bytes = 1000;
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
    free(host.board);
    fs_loop_destroy(host.loop);
    pthread_barrier_destroy(&host.barrier);
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
    ck_assert_uint_eq(fs_loop_n_groups(host.loop), 0);
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

/* Every block holds what was sent, and the counters say who did it. */
static void check_arrival(fs_alg_t alg)
{
    for (uint32_t r = 0; r < N_RANKS; ++r) {
        for (uint32_t s = 0; s < N_RANKS; ++s) {
            for (uint64_t k = 0; k < ranks[r].counts[s][r]; ++k) {
                if (ranks[r].recv[s][k] != byte_of(s, r, k)) {
                    ck_abort_msg("rank %u, byte %llu from %u", r,
                                 (unsigned long long)k, s);
                }
            }
        }
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
    ck_assert_int_ne(ranks[0].alg, FS_ALG_HOST);
    check_arrival(ranks[0].alg);
}
END_TEST

static const struct {
    fs_algorithm_param_t algorithm;
    fs_alg_t             alg;
    fs_decompose_t       decompose;
    const char          *line;
} told[] = {
    {FS_ALGORITHM_STAGED, FS_ALG_STAGED, FS_DECOMPOSE_AUTO, "staged (as told)"},
    {FS_ALGORITHM_STAGED, FS_ALG_STAGED, FS_DECOMPOSE_COMPACT, ", compact, "},
    {FS_ALGORITHM_STAGED, FS_ALG_STAGED, FS_DECOMPOSE_OPENSHOP,
     "openshop, 0."}, /* no stages to count */
    {FS_ALGORITHM_STAGED, FS_ALG_STAGED, FS_DECOMPOSE_BIRKHOFF, " stages, "},
    {FS_ALGORITHM_STAGED, FS_ALG_STAGED, FS_DECOMPOSE_HIERARCHICAL,
     ", hierarchical, "},
    {FS_ALGORITHM_STAGED, FS_ALG_STAGED, FS_DECOMPOSE_SPREADOUT,
     ", spreadout, "},
    {FS_ALGORITHM_PIPE2D, FS_ALG_PIPE2D, FS_DECOMPOSE_AUTO, "pipe2d (as told)"},
    {FS_ALGORITHM_DIRECT, FS_ALG_DIRECT, FS_DECOMPOSE_AUTO, "direct (as told)"},
};
#define N_TOLD ((int)(sizeof(told) / sizeof(told[0])))

START_TEST(each_does_as_told)
{
    for (uint32_t r = 0; r < N_RANKS; ++r) {
        ranks[r].params.algorithm = told[_i].algorithm;
        ranks[r].params.decompose = told[_i].decompose;
        ranks[r].params.verbose   = 1;
    }
    live_all();
    all_came_out(FS_OK, FS_OK, true);
    all_said(told[_i].line);
    check_arrival(told[_i].alg);
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

    fs_loop_set_faults(host.loop, &faults);
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
    all_said("parameters of rank 3 differ");
}
END_TEST

/* Rank 5 expects less of rank 1 than it is sent. */
START_TEST(counts_differ)
{
    --ranks[5].counts[1][5];
    live_all();
    all_came_out(FS_OK, FS_OK, false);
    all_said("send and receive counts differ");
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

int main(void)
{
    Suite *suite = suite_create("coll");
    TCase *tcase = tcase_create("coll");

    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_test(tcase, data_arrive);
    tcase_add_loop_test(tcase, each_does_as_told, 0, N_TOLD);
    tcase_add_test(tcase, small_calls_go_to_the_host);
    tcase_add_test(tcase, one_server_goes_to_the_host);
    tcase_add_test(tcase, switched_off);
    tcase_add_test(tcase, one_rank_cannot_prepare);
    tcase_add_test(tcase, one_rank_has_no_network);
    tcase_add_test(tcase, one_rank_cannot_reach_a_peer);
    tcase_add_test(tcase, parameters_differ);
    tcase_add_test(tcase, counts_differ);
    tcase_add_test(tcase, check_names_the_pair);
    suite_add_tcase(suite, tcase);
    return fs_test_run(suite);
}
