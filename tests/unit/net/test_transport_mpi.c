/* SPDX-License-Identifier: BSD-3-Clause */
/* The transport over the MPI's own messages: by itself, and under whole calls
 * with a thread per rank, with as few tags as there may be. */
#include "net/fs_transport_mpi.h"
#include "fs_host_fake.h"
#include "fs_test_util.h"
#include "fs_transport_loop.h"

#include <stdlib.h>
#include <string.h>

enum { N_RANKS = 6, FEW_TAGS = 32768, MAX_TURNS = 100000, WHY = 256 };

/* ---- by itself: two ranks on two servers, in one thread ---- */

typedef struct note {
    fs_xfer_t   xfer; /* first */
    uint32_t    n_ends;
    fs_status_t status;
    uint64_t    len_bytes;
} note_t;

static void ended(fs_xfer_t *xfer, fs_status_t status, uint64_t len_bytes)
{
    note_t *note = (note_t *)xfer;

    ++note->n_ends;
    note->status    = status;
    note->len_bytes = len_bytes;
}

static fs_fake_t      *fake;
static fs_native_t     native[2];
static fs_net_t       *net[2];
static fs_transport_t *end[2];
static uint64_t        granted[2][2]; /* [who has heard][of whom] */

static void heard(void *arg, uint32_t peer, uint64_t count)
{
    uint64_t *from = arg;

    from[peer] = count > from[peer] ? count : from[peer];
}

static void open_two(uint32_t n_tags)
{
    static const uint8_t reach[2][2] = {{FS_REACH_NONE, FS_REACH_WIRE},
                                        {FS_REACH_WIRE, FS_REACH_NONE}};
    uint32_t             failed;

    memset(granted, 0, sizeof(granted));
    fake = fs_fake_create(2, n_tags, 3);
    for (uint32_t r = 0; r < 2; ++r) {
        fs_net_group_t group = {.n_ranks = 2, .rank = r, .reach = reach[r]};

        native[r] = fs_fake_host(fake, r);
        ck_assert_int_eq(fs_mpi_create(&native[r], &net[r]), FS_OK);
        ck_assert_int_eq(net[r]->ops->connect(net[r], &group, &end[r], &failed),
                         FS_OK);
        end[r]->granted     = heard;
        end[r]->granted_arg = granted[r];
    }
}

static void set_up(void)
{
    open_two(FEW_TAGS);
}

static void tear_down(void)
{
    for (uint32_t r = 0; r < 2; ++r) {
        end[r]->ops->destroy(end[r]);
        fs_net_destroy(net[r]);
    }
    fs_fake_destroy(fake);
}

static void turn(void)
{
    for (uint32_t r = 0; r < 2; ++r) {
        net[r]->ops->progress(net[r]);
        native[r].progress(native[r].ctx);
    }
}

static void turn_until_ended(const note_t *notes, uint32_t n)
{
    for (uint32_t k = 0, turns = 0; k < n; ++k) {
        while (notes[k].n_ends == 0) {
            ck_assert(++turns < MAX_TURNS);
            turn();
        }
    }
}

static void send(uint32_t from, uint32_t key, const void *buf, size_t len,
                 note_t *note)
{
    *note = (note_t){.xfer.done = ended};
    ck_assert_int_eq(
        end[from]->ops->send(end[from], 1 - from, key, buf, len, &note->xfer),
        FS_OK);
}

static void recv(uint32_t at, uint32_t key, void *buf, size_t len, note_t *note)
{
    *note = (note_t){.xfer.done = ended};
    ck_assert_int_eq(
        end[at]->ops->recv(end[at], 1 - at, key, buf, len, &note->xfer), FS_OK);
}

/* Posted in one order, received in another: by all bits that the tag has. */
START_TEST(messages_match_by_key)
{
    enum { N = 60 };
    note_t   sent[N], got[N];
    uint32_t out[N], in[N];

    for (uint32_t k = 0; k < N; ++k) {
        out[k] = 1000 + k;
        send(0, fs_key(k % 5, 3, k / 5), &out[k], sizeof(out[k]), &sent[k]);
    }
    for (uint32_t k = N; k-- > 0;) {
        recv(1, fs_key(k % 5, 3, k / 5), &in[k], sizeof(in[k]), &got[k]);
    }
    turn_until_ended(sent, N);
    turn_until_ended(got, N);
    for (uint32_t k = 0; k < N; ++k) {
        ck_assert_uint_eq(in[k], out[k]);
        ck_assert_uint_eq(got[k].len_bytes, sizeof(in[k]));
        ck_assert_uint_eq(got[k].n_ends, 1);
        ck_assert_uint_eq(sent[k].n_ends, 1);
        ck_assert_int_eq(got[k].status, FS_OK);
    }
    ck_assert_uint_lt(fs_fake_max_tag(fake), FEW_TAGS);
}
END_TEST

/* The second call's message is on its way before the first one's is wanted. */
START_TEST(calls_keep_their_order)
{
    note_t   sent[2], got[2];
    uint32_t out[2] = {11, 22}, in[2] = {0, 0};

    for (uint32_t call = 0; call < 2; ++call) {
        send(0, fs_key(FS_CH_INTRA, call, 7), &out[call], 4, &sent[call]);
    }
    turn();
    for (uint32_t call = 0; call < 2; ++call) {
        recv(1, fs_key(FS_CH_INTRA, call, 7), &in[call], 4, &got[call]);
    }
    turn_until_ended(got, 2);
    turn_until_ended(sent, 2);
    ck_assert_uint_eq(in[0], 11);
    ck_assert_uint_eq(in[1], 22);
}
END_TEST

/* Wire messages may be more than tags: they come in order. */
START_TEST(wire_numbers_go_round)
{
    enum { N = 500, TAGS = 8 * 100 + 1 };
    note_t   *sent = fs_test_alloc(N, sizeof(*sent));
    note_t   *got  = fs_test_alloc(N, sizeof(*got));
    uint32_t *out  = fs_test_alloc(N, sizeof(*out));
    uint32_t *in   = fs_test_alloc(N, sizeof(*in));

    tear_down();
    open_two(TAGS);
    ck_assert_uint_lt(end[0]->max_seq, N / 2);
    for (uint32_t k = 0; k < N; ++k) {
        out[k] = k;
        send(0, fs_key(FS_CH_WIRE, 15, k), &out[k], 4, &sent[k]);
        recv(1, fs_key(FS_CH_WIRE, 15, k), &in[k], 4, &got[k]);
        if (k % 100 == 0) {
            turn();
        }
    }
    turn_until_ended(sent, N);
    turn_until_ended(got, N);
    for (uint32_t k = 0; k < N; ++k) {
        ck_assert(in[k] == k);
    }
    ck_assert_uint_lt(fs_fake_max_tag(fake), TAGS);
    free(sent);
    free(got);
    free(out);
    free(in);
}
END_TEST

/* More than there are receives for, before anybody looks: the newest waits, and
 * is counted, until the one in flight has ended. */
START_TEST(grants_arrive)
{
    for (uint64_t count = 1; count <= 50; ++count) {
        ck_assert_int_eq(end[0]->ops->grant(end[0], 1, count), FS_OK);
        ck_assert_int_eq(end[1]->ops->grant(end[1], 0, 1000 * count), FS_OK);
    }
    ck_assert_uint_eq(end[0]->n_grants_out, 1);
    ck_assert_uint_eq(end[1]->n_grants_out, 1);
    for (int turns = 0; granted[1][0] < 50 || granted[0][1] < 50000; ++turns) {
        ck_assert_int_lt(turns, MAX_TURNS);
        turn();
    }
    ck_assert_uint_eq(granted[1][0], 50);
    ck_assert_uint_eq(granted[0][1], 50000);
    ck_assert_uint_eq(end[0]->n_grants_out, 0);
    ck_assert_uint_eq(end[1]->n_grants_out, 0);
}
END_TEST

START_TEST(cancelled_receives_end)
{
    note_t   got;
    uint32_t in;

    recv(1, fs_key(FS_CH_WIRE, 1, 0), &in, sizeof(in), &got);
    end[1]->ops->cancel(end[1], &got.xfer);
    turn_until_ended(&got, 1);
    ck_assert_int_eq(got.status, FS_ERR_TRANSPORT);
    ck_assert_uint_eq(got.n_ends, 1);
}
END_TEST

START_TEST(lengths_are_told)
{
    note_t sent[2], got[2];
    char   out[8] = "1234567", in[8];

    send(0, fs_key(FS_CH_INTRA, 1, 0), out, 8, &sent[0]);
    recv(1, fs_key(FS_CH_INTRA, 1, 0), in, 4, &got[0]);
    send(0, fs_key(FS_CH_INTRA, 1, 1), out, 3, &sent[1]);
    recv(1, fs_key(FS_CH_INTRA, 1, 1), in, 8, &got[1]);
    turn_until_ended(sent, 2);
    turn_until_ended(got, 2);
    ck_assert_int_eq(got[0].status, FS_ERR_TRUNCATE);
    ck_assert_int_eq(got[1].status, FS_OK);
    ck_assert_uint_eq(got[1].len_bytes, 3);
    ck_assert_uint_eq(sent[1].len_bytes, 3);
}
END_TEST

START_TEST(only_to_peers_in_reach)
{
    note_t note = {.xfer.done = ended};

    ck_assert_int_eq(end[0]->ops->send(end[0], 0, 0, &note, 1, &note.xfer),
                     FS_ERR_UNREACHABLE);
    ck_assert_int_eq(end[0]->ops->grant(end[0], 0, 1), FS_ERR_UNREACHABLE);
    ck_assert_uint_eq(note.n_ends, 0);
}
END_TEST

/* Its last words may be under way; nothing is left behind. */
START_TEST(leaves_nothing_behind)
{
    ck_assert_int_eq(end[0]->ops->grant(end[0], 1, 5), FS_OK);
    while (granted[1][0] < 5) {
        turn();
    }
    tear_down();
    open_two(FEW_TAGS);
    ck_assert_uint_eq(fs_fake_max_tag(fake), 0);
}
END_TEST

START_TEST(tags_are_needed)
{
    fs_fake_t  *poor = fs_fake_create(1, 8, 1);
    fs_native_t its  = fs_fake_host(poor, 0);
    fs_net_t   *none = NULL;

    ck_assert_int_eq(fs_mpi_create(&its, &none), FS_ERR_UNSUPPORTED);
    ck_assert_ptr_null(none);
    fs_fake_destroy(poor);
}
END_TEST

/* ---- whole calls ---- */

typedef struct rank {
    fs_native_t     native;
    uint32_t        rank;
    fs_params_t     params;
    uint32_t        n_calls;
    bool            no_net;
    fs_native_p2p_t p2p; /* the fake's, and open */
    bool            cannot_open;
    uint32_t        n_opened;
    uint64_t        counts[N_RANKS][N_RANKS];
    unsigned char  *send[N_RANKS];
    unsigned char  *recv[N_RANKS];
    /* What came out. */
    fs_status_t created;
    fs_status_t called;
    uint32_t    n_ran;
    char        why[WHY];
    char        warned[WHY];
} rank_t;

static rank_t     ranks[N_RANKS];
static fs_loop_t *loop;

static unsigned char byte_of(uint32_t call, uint32_t src, uint32_t dst,
                             uint64_t k)
{
    return (unsigned char)(call * 91 + src * 61 + dst * 17 + k * 7 + (k >> 8));
}

static void make_blocks(rank_t *me, uint32_t call)
{
    for (uint32_t r = 0; r < N_RANKS; ++r) {
        uint64_t n = me->counts[me->rank][r];

        me->send[r] = fs_test_alloc(n + 1, 1);
        me->recv[r] = fs_test_alloc(me->counts[r][me->rank] + 1, 1);
        for (uint64_t k = 0; k < n; ++k) {
            me->send[r][k] = byte_of(call, me->rank, r, k);
        }
    }
}

static void check_blocks(rank_t *me, uint32_t call)
{
    for (uint32_t r = 0; r < N_RANKS; ++r) {
        for (uint64_t k = 0; k < me->counts[r][me->rank]; ++k) {
            ck_assert(me->recv[r][k] == byte_of(call, r, me->rank, k));
        }
        free(me->send[r]);
        free(me->recv[r]);
    }
}

static void call_once(rank_t *me, fs_comm_t *comm, uint32_t number)
{
    uint64_t    recv_bytes[N_RANKS];
    fs_counts_t counts;
    fs_call_t   call = {.counts     = &counts,
                        .send_block = (const void *const *)me->send,
                        .recv_block = (void *const *)me->recv};
    bool        ran  = false;

    for (uint32_t r = 0; r < N_RANKS; ++r) {
        recv_bytes[r] = me->counts[r][me->rank];
    }
    counts = fs_test_call_counts(fs_comm_topo(comm), me->rank,
                                 me->counts[me->rank], recv_bytes);
    make_blocks(me, number);
    me->called = fs_comm_alltoallv(comm, &call, &ran);
    fs_counts_fini(&counts);
    me->n_ran += ran;
    if (me->called == FS_OK && ran) {
        check_blocks(me, number);
    } else {
        for (uint32_t r = 0; r < N_RANKS; ++r) {
            free(me->send[r]);
            free(me->recv[r]);
        }
    }
}

static void *live(void *arg)
{
    rank_t     *me     = arg;
    fs_member_t member = {.n_ranks      = N_RANKS,
                          .rank         = me->rank,
                          .server_label = me->rank % 3,
                          .comm_name    = "COMM"};
    fs_comm_t  *comm   = NULL;

    me->created = fs_comm_create(&me->native, &me->params, &member, &comm,
                                 me->why, sizeof(me->why));
    for (uint32_t k = 0; me->created == FS_OK && k < me->n_calls; ++k) {
        call_once(me, comm, k);
    }
    fs_comm_destroy(comm);
    return NULL;
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

/* The host's ctx belongs to the fake, so who asks is found by it. */
static rank_t *who(const void *ctx)
{
    for (uint32_t r = 0; r < N_RANKS; ++r) {
        if (ranks[r].native.ctx == ctx) {
            return &ranks[r];
        }
    }
    return NULL;
}

static fs_net_t *loop_net(void *ctx)
{
    rank_t *me = who(ctx);

    return me->no_net ? NULL : fs_loop_net(loop, me->rank);
}

static fs_status_t open_messages(void *ctx)
{
    rank_t *me = who(ctx);

    ++me->n_opened;
    fs_fake_barrier(fake); /* a collective operation */
    return me->cannot_open ? FS_ERR_NATIVE : FS_OK;
}

static void keep_warning(void *ctx, const char *line)
{
    strncat(who(ctx)->warned, line, WHY - 1);
}

static void gather_all(uint32_t n_tags, uint64_t seed)
{
    memset(ranks, 0, sizeof(ranks));
    fake = fs_fake_create(N_RANKS, n_tags, seed);
    loop = fs_loop_create(N_RANKS, seed);
    for (uint32_t r = 0; r < N_RANKS; ++r) {
        rank_t *me = &ranks[r];

        me->rank           = r;
        me->native         = fs_fake_host(fake, r);
        me->native.process = me->native.ctx;
        me->native.net     = loop_net;
        me->native.warn    = keep_warning;
        me->p2p            = *me->native.p2p;
        me->p2p.open       = open_messages;
        me->native.p2p     = &me->p2p;
        me->n_calls        = 1;
        fs_params_init(&me->params);
        me->params.transport = FS_TRANSPORT_MPI;
        me->params.algorithm = FS_ALG_STAGED;
        me->params.chunk     = 4096;
        me->params.min_bytes = 0;
        for (uint32_t s = 0; s < N_RANKS; ++s) {
            for (uint32_t d = 0; d < N_RANKS; ++d) {
                me->counts[s][d] = (s * 7919 + d * 104729) % 20000;
            }
        }
    }
}

static void part(void)
{
    fs_loop_destroy(loop);
    fs_fake_destroy(fake);
}

static void all_came_out(fs_status_t created, uint32_t n_ran)
{
    for (uint32_t r = 0; r < N_RANKS; ++r) {
        ck_assert_msg(ranks[r].created == created, "rank %u: %s", r,
                      ranks[r].why);
        ck_assert_int_eq(ranks[r].called, FS_OK);
        ck_assert_uint_eq(ranks[r].n_ran, n_ran);
    }
    ck_assert_uint_eq(fs_fake_n_pending(fake), 0);
    ck_assert_uint_eq(fs_loop_n_groups(loop), 0);
}

/* Every algorithm, several calls on one communicator. */
START_TEST(data_arrive)
{
    static const fs_alg_t algorithms[] = {FS_ALG_MAP(FS_LIST_VALUE)};

    gather_all(FEW_TAGS, 40 + (uint64_t)_i);
    for (uint32_t r = 0; r < N_RANKS; ++r) {
        ranks[r].params.algorithm =
            algorithms[_i % (sizeof(algorithms) / sizeof(algorithms[0]))];
        ranks[r].params.window = 1u << _i % 4;
        ranks[r].n_calls       = 4;
    }
    live_all();
    all_came_out(FS_OK, 4);
    ck_assert_uint_lt(fs_fake_max_tag(fake), FEW_TAGS);
    for (uint32_t r = 0; r < N_RANKS; ++r) {
        ck_assert_uint_eq(ranks[r].n_opened, 1);
    }
    part();
}
END_TEST

START_TEST(one_rank_cannot_open_the_messages)
{
    gather_all(FEW_TAGS, 1);
    ranks[2].cannot_open = true;
    live_all();
    all_came_out(FS_ERR_UNREACHABLE, 0);
    for (uint32_t r = 0; r < N_RANKS; ++r) {
        ck_assert_uint_eq(ranks[r].n_opened, 1);
        ck_assert_str_eq(
            ranks[r].why,
            r == 2 ? "the MPI cannot provide a communicator for our messages"
                   : "rank 2 has no network");
    }
    part();
}
END_TEST

START_TEST(messages_that_nobody_needs_are_not_opened)
{
    gather_all(FEW_TAGS, 1);
    for (uint32_t r = 0; r < N_RANKS; ++r) {
        ranks[r].params.transport = FS_TRANSPORT_AUTO;
    }
    live_all();
    all_came_out(FS_OK, 1);
    for (uint32_t r = 0; r < N_RANKS; ++r) {
        ck_assert_uint_eq(ranks[r].n_opened, 0);
    }
    part();
}
END_TEST

/* Two tags a channel: the summaries need more of them, a plan many more. */
START_TEST(too_few_tags_for_the_plan)
{
    gather_all(8 * 4 + 1, 1);
    live_all();
    all_came_out(FS_OK, 0);
    part();
}
END_TEST

START_TEST(mpi_stands_in_for_a_missing_network)
{
    gather_all(FEW_TAGS, 1);
    for (uint32_t r = 0; r < N_RANKS; ++r) {
        ranks[r].params.transport = FS_TRANSPORT_AUTO;
    }
    ranks[2].no_net = true;
    live_all();
    all_came_out(FS_OK, 1);
    ck_assert_ptr_nonnull(strstr(ranks[0].warned, "COMM"));
    ck_assert_ptr_nonnull(strstr(ranks[0].warned, "rank 2 has no network"));
    for (uint32_t r = 1; r < N_RANKS; ++r) {
        ck_assert_str_eq(ranks[r].warned, "");
    }
    part();
}
END_TEST

START_TEST(mpi_stands_in_for_an_unreachable_peer)
{
    fs_loop_faults_t faults = {.unreachable = true, .lost_rank = 1};

    gather_all(FEW_TAGS, 1);
    fs_loop_set_faults(loop, &faults);
    for (uint32_t r = 0; r < N_RANKS; ++r) {
        ranks[r].params.transport = FS_TRANSPORT_AUTO;
    }
    live_all();
    all_came_out(FS_OK, 1);
    ck_assert_ptr_nonnull(strstr(ranks[0].warned, "rank 1 cannot reach rank"));
    part();
}
END_TEST

START_TEST(but_not_if_told_otherwise)
{
    gather_all(FEW_TAGS, 1);
    for (uint32_t r = 0; r < N_RANKS; ++r) {
        ranks[r].params.transport = FS_TRANSPORT_UCX;
    }
    ranks[2].no_net = true;
    live_all();
    all_came_out(FS_ERR_UNREACHABLE, 0);
    for (uint32_t r = 0; r < N_RANKS; ++r) {
        ck_assert_str_eq(ranks[r].why, "rank 2 has no network");
        ck_assert_str_eq(ranks[r].warned, "");
    }
    part();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("transport_mpi");
    TCase *alone = tcase_create("alone");
    TCase *calls = tcase_create("calls");

    tcase_add_checked_fixture(alone, set_up, tear_down);
    tcase_add_test(alone, messages_match_by_key);
    tcase_add_test(alone, calls_keep_their_order);
    tcase_add_test(alone, wire_numbers_go_round);
    tcase_add_test(alone, grants_arrive);
    tcase_add_test(alone, cancelled_receives_end);
    tcase_add_test(alone, lengths_are_told);
    tcase_add_test(alone, only_to_peers_in_reach);
    tcase_add_test(alone, leaves_nothing_behind);
    tcase_add_test(alone, tags_are_needed);
    suite_add_tcase(suite, alone);
    tcase_set_timeout(calls, 60);
    tcase_add_loop_test(calls, data_arrive, 0, 6);
    tcase_add_test(calls, one_rank_cannot_open_the_messages);
    tcase_add_test(calls, messages_that_nobody_needs_are_not_opened);
    tcase_add_test(calls, too_few_tags_for_the_plan);
    tcase_add_test(calls, mpi_stands_in_for_a_missing_network);
    tcase_add_test(calls, mpi_stands_in_for_an_unreachable_peer);
    tcase_add_test(calls, but_not_if_told_otherwise);
    suite_add_tcase(suite, calls);
    return fs_test_run(suite);
}
