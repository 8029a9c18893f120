/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_Allreduce on a communicator: blocking, nonblocking among exchanges, persistent,
 * and when the network fails. A thread per rank, every element checked. */
#include "coll/fs_persistent.h"
#include "fs_test_native.h"
#include "fs_test_util.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { N_RANKS = 5, N_ELEMS = 1000, LAST_CALL = 20, N_POSTED = 4 };

typedef struct vector {
    uint64_t     elems[2][N_ELEMS]; /* [0] is sent, [1] received */
    const void  *send_block[N_RANKS];
    void        *recv_block[N_RANKS];
    fs_counts_t  counts;
    fs_call_t    call;
    fs_request_t request;
    uint32_t     n_done; /* nonblocking: how often it has said so */
} vector_t;

typedef struct rank {
    fs_test_place_t place;
    fs_comm_t      *comm;
    fs_status_t     status; /* of the call that failed */
} rank_t;

static fs_test_world_t world;
static rank_t          ranks[N_RANKS];
static void (*scene)(rank_t *me);
static uint32_t straggler, tuner; /* parameters */
static bool     starts_are_free;  /* stage_cost is 0 */

static void set_up(void)
{
    memset(ranks, 0, sizeof(ranks));
    straggler = FS_STRAGGLER_NONE;
    tuner     = 0;

    starts_are_free = false;
    fs_test_world_init(&world, N_RANKS, 31);
    for (uint32_t r = 0; r < N_RANKS; ++r) {
        ranks[r].place = (fs_test_place_t){.world = &world, .rank = r};
    }
}

static void tear_down(void)
{
    fs_test_world_fini(&world);
}

/* ---- vectors ---- */

static uint64_t element(uint32_t seed, uint32_t rank, uint32_t k)
{
    return (uint64_t)(seed + 1) * 1000003 + rank * 7919 + (uint64_t)k * k;
}

static fs_status_t add(void *ctx, const void *src, void *dst, uint64_t len)
{
    const uint64_t *from = src;
    uint64_t       *to   = dst;

    (void)ctx;
    for (uint64_t k = 0; k < len / sizeof(*to); ++k) {
        to[k] += from[k];
    }
    return FS_OK;
}

static vector_t *make_vector(const rank_t *me, uint32_t seed, bool in_place)
{
    vector_t      *v          = fs_test_alloc(1, sizeof(*v));
    const uint64_t n[N_RANKS] = {sizeof(v->elems[0])};

    for (uint32_t k = 0; k < N_ELEMS; ++k) {
        v->elems[in_place ? 1 : 0][k] = element(seed, me->place.rank, k);
    }
    v->send_block[0] = v->elems[0];
    v->recv_block[0] = v->elems[1];
    v->counts = fs_test_call_counts(me->comm->topo, me->place.rank, n, n);
    v->call =
        (fs_call_t){.reduction  = {N_ELEMS, sizeof(v->elems[0][0]), in_place},
                    .counts     = &v->counts,
                    .send_block = in_place ? NULL : v->send_block,
                    .recv_block = v->recv_block,
                    .reduce     = add};
    return v;
}

static void check(const vector_t *v, uint32_t seed)
{
    for (uint32_t k = 0; k < N_ELEMS; ++k) {
        uint64_t want = 0;

        for (uint32_t r = 0; r < N_RANKS; ++r) {
            want += element(seed, r, k);
        }
        ck_assert_uint_eq(v->elems[1][k], want);
    }
}

static void free_vector(vector_t *v)
{
    fs_counts_fini(&v->counts);
    free(v);
}

/* ---- ranks ---- */

static void *live(void *arg)
{
    rank_t     *me     = arg;
    fs_native_t native = fs_test_native(&me->place);
    fs_member_t member = {.n_ranks      = N_RANKS,
                          .rank         = me->place.rank,
                          .server_label = me->place.rank};
    fs_params_t params;
    char        why[256];

    fs_params_init(&params);
    params.straggler = straggler;
    params.tuner     = tuner;
    params.chunk     = 1000;
    if (starts_are_free) {
        params.stage_cost = 0;
    }
    ck_assert_int_eq(
        fs_comm_create(&native, &params, &member, &me->comm, why, sizeof(why)),
        FS_OK);
    scene(me);
    fs_test_barrier(&me->place);
    fs_comm_destroy(me->comm);
    return NULL;
}

static void play(void (*what)(rank_t *me))
{
    scene = what;
    fs_test_live_all(&world, live, ranks, sizeof(ranks[0]));
}

/* ---- blocking ---- */

static fs_status_t reduce(rank_t *me, uint32_t seed)
{
    vector_t   *v   = make_vector(me, seed, seed % 2);
    bool        ran = false;
    fs_status_t status =
        fs_comm_collective(me->comm, &fs_allreduce, &v->call, &ran);

    ck_assert_uint_eq(me->comm->outcome.reduced_bytes,
                      straggler == FS_STRAGGLER_NONE ? sizeof(v->elems[0]) : 0);
    if (status == FS_OK) {
        ck_assert(ran);
        check(v, seed);
    }
    free_vector(v);
    return status;
}

/* Past the end of an epoch, when the ranks tell each other their times. */
static void call_often(rank_t *me)
{
    for (uint32_t k = 0; k < LAST_CALL; ++k) {
        ck_assert_int_eq(reduce(me, k), FS_OK);
    }
}

START_TEST(sums)
{
    static const uint32_t late[] = {FS_STRAGGLER_NONE, 0, N_RANKS - 1};

    straggler = late[_i];
    play(call_often);
}
END_TEST

static void call_in_pieces(rank_t *me)
{
    call_often(me);
    ck_assert_uint_gt(me->comm->outcome.n_stages, 4 * (N_RANKS - 1));
}

/* Four times as many rounds as StragglAR's; for each rank. */
START_TEST(sums_in_pieces)
{
    straggler       = (uint32_t)_i;
    starts_are_free = true;
    play(call_in_pieces);
}
END_TEST

/* ---- nonblocking ---- */

static void note_end(fs_request_t *request)
{
    ++((vector_t *)((char *)request - offsetof(vector_t, request)))->n_done;
}

static void wait_for(const rank_t *me, const vector_t *v)
{
    while (v->n_done == 0) {
        (void)fs_net_progress(me->comm->net);
    }
}

/* One that is done. */
static void take(vector_t *v, uint32_t seed)
{
    ck_assert_int_eq(v->request.status, FS_OK);
    ck_assert(v->request.ran);
    ck_assert_uint_eq(v->n_done, 1);
    check(v, seed);
    fs_request_fini(&v->request);
    free_vector(v);
}

/* The last is waited for first, and a blocking one comes after them. */
static void post_several(rank_t *me)
{
    vector_t *v[N_POSTED];

    for (uint32_t round = 0; round < 2; ++round) {
        for (uint32_t k = 0; k < N_POSTED; ++k) {
            v[k] = make_vector(me, k, k % 2);
            fs_request_init(&v[k]->request, me->comm, &fs_allreduce,
                            &v[k]->call);
            fs_comm_post(&v[k]->request, note_end);
        }
        if (round == 1) {
            wait_for(me, v[N_POSTED - 1]);
        }
        ck_assert_int_eq(reduce(me, 11), FS_OK);
        for (uint32_t k = 0; k < N_POSTED; ++k) {
            take(v[k], k);
        }
    }
    ck_assert_uint_eq(me->comm->stats.cache_hits, 2 * N_POSTED);
}

static void make_persistent(rank_t *me)
{
    vector_t       *v = make_vector(me, 0, false);
    fs_persistent_t p;

    ck_assert_int_eq(
        fs_persistent_init(&p, me->comm, FS_OK, &fs_allreduce, &v->call),
        FS_OK);
    ck_assert_ptr_nonnull(p.comm);
    ck_assert_int_eq(reduce(me, 2), FS_OK); /* has to reserve for its plan */
    for (uint32_t seed = 0; seed < 3; ++seed) {
        vector_t *next = make_vector(me, seed, false);

        fs_persistent_start(&p, &next->request, &next->call, note_end);
        wait_for(me, next);
        take(next, seed);
    }
    fs_test_barrier(&me->place); /* its last messages have arrived */
    fs_persistent_fini(&p);
    free_vector(v);
}

static void (*const not_blocking[])(rank_t *me) = {post_several,
                                                   make_persistent};

START_TEST(nonblocking)
{
    straggler = _i % 2 == 0 ? FS_STRAGGLER_NONE : 2;
    play(not_blocking[_i / 2]);
}
END_TEST

/* What is the MPI's has to be known in the call. */
static void ask(rank_t *me)
{
    const fs_reduction_t reduction = {N_ELEMS, sizeof(uint64_t), false, 0};

    ck_assert(fs_allreduce.takes(me->comm, &reduction) == (tuner == 0));
    strcpy(me->comm->params.progress_thread, "on");
    ck_assert(!fs_allreduce.takes(me->comm, &reduction));
}

START_TEST(left_in_the_call)
{
    tuner = (uint32_t)_i; /* without calls before it has tried the MPI's only */
    play(ask);
}
END_TEST

/* ---- errors ---- */

static void call_until_it_fails(rank_t *me)
{
    for (uint32_t k = 0; k < LAST_CALL && me->status == FS_OK; ++k) {
        me->status = reduce(me, k);
    }
    ck_assert_int_ne(me->status, FS_OK);
    ck_assert(me->comm->dead);
    ck_assert_str_ne(fs_comm_error(me->comm), "");
    ck_assert_int_eq(reduce(me, 0), FS_ERR_TRANSPORT); /* from now on */
}

/* A call that fails says so on every rank, though it is one whose time would be of
 * interest. First on the way to a plan, then with one, in the ring. */
START_TEST(a_failed_call_is_an_error)
{
    static const uint32_t first[] = {1, 3, 20, 100};
    fs_loop_faults_t      faults  = {.fail_send = first[_i], .fail_rank = 3};

    fs_loop_set_faults(world.loop, &faults);
    play(call_until_it_fails);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("allreduce");
    TCase *calls = tcase_create("calls"), *errors = tcase_create("errors");

    tcase_set_timeout(calls, 60); /* threads that take turns on busy cores */
    tcase_add_checked_fixture(calls, set_up, tear_down);
    tcase_add_loop_test(calls, sums, 0, 3);
    tcase_add_loop_test(calls, sums_in_pieces, 0, N_RANKS);
    tcase_add_loop_test(calls, nonblocking, 0, 4);
    tcase_add_loop_test(calls, left_in_the_call, 0, 2);
    suite_add_tcase(suite, calls);
    tcase_set_timeout(errors, 60);
    tcase_add_checked_fixture(errors, set_up, NULL);
    tcase_add_loop_test(errors, a_failed_call_is_an_error, 0, 4);
    suite_add_tcase(suite, errors);
    return fs_test_run(suite);
}
