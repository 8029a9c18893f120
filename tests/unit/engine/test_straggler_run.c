/* SPDX-License-Identifier: BSD-3-Clause */
/* Programs of allreduces, run with real bytes on a network that delivers in any
 * order: every rank gets the sum, and the bits of every other. */
#include "engine/fs_exec.h"
#include "fs_test_group.h"
#include "fs_transport_loop.h"

#include <stdlib.h>
#include <string.h>

enum { GUARD = 4, MAX_TURNS = 20000000 };

typedef struct actor {
    fs_net_t       *net;
    fs_transport_t *transport;
    fs_exec_t      *exec;
    fs_call_t       call;
    const void     *send_block;
    void           *recv_block;
    uint64_t       *send; /* between guards, as recv */
    uint64_t       *recv;
    fs_status_t     status;
} actor_t;

typedef struct play {
    fs_test_group_t *g;
    fs_loop_t       *loop;
    fs_rng_t         rng;
    actor_t          actors[FS_TEST_GROUP_MAX];
} play_t;

static uint64_t value_of(uint32_t rank, uint64_t k)
{
    return ((uint64_t)rank << 40 ^ k) * 0x9e3779b97f4a7c15ull;
}

static fs_status_t sum(void *ctx, const void *src, void *dst,
                       uint64_t len_bytes)
{
    ck_assert(len_bytes % sizeof(uint64_t) == 0);
    (void)ctx;
    for (uint64_t k = 0; k < len_bytes / sizeof(uint64_t); ++k) {
        ((uint64_t *)dst)[k] += ((const uint64_t *)src)[k];
    }
    return FS_OK;
}

/* Neither commutative nor associative: equal bits mean an equal order. */
static fs_status_t scramble(void *ctx, const void *src, void *dst,
                            uint64_t len_bytes)
{
    (void)ctx;
    for (uint64_t k = 0; k < len_bytes / sizeof(uint64_t); ++k) {
        uint64_t *b = (uint64_t *)dst + k;

        *b = (((const uint64_t *)src)[k] ^ *b >> 7) * 0x9e3779b97f4a7c15ull +
             3 * *b;
    }
    return FS_OK;
}

static uint64_t *make_vector(uint64_t n_elems, uint32_t rank, bool filled)
{
    uint64_t *vector = fs_test_alloc(n_elems + 2 * GUARD, sizeof(*vector));

    for (uint64_t k = 0; k < n_elems + 2 * GUARD; ++k) {
        bool inside = k >= GUARD && k < n_elems + GUARD;

        vector[k] = filled && inside ? value_of(rank, k - GUARD) : ~k;
    }
    return vector;
}

static void play_init(play_t *play, fs_test_group_t *g, uint64_t seed,
                      fs_status_t (*op)(void *, const void *, void *, uint64_t))
{
    memset(play, 0, sizeof(*play));
    play->g    = g;
    play->loop = fs_loop_create(g->n, seed);
    fs_rng_init(&play->rng, seed);
    for (uint32_t r = 0; r < g->n; ++r) {
        actor_t *a = &play->actors[r];

        a->send = make_vector(g->reduction.n_elems, r, true);
        a->recv = make_vector(g->reduction.n_elems, r, g->reduction.in_place);
        a->send_block = a->send + GUARD;
        a->recv_block = a->recv + GUARD;
        a->net        = fs_loop_net(play->loop, r);
        a->transport  = fs_loop_transport(play->loop, r, 0);
        a->call       = (fs_call_t){
                  .send_block = g->reduction.in_place ? NULL : &a->send_block,
                  .recv_block = &a->recv_block,
                  .reduce     = op};
        a->status = FS_INPROGRESS;
        ck_assert(fs_exec_create(a->transport, g->n, &a->exec) == FS_OK);
        ck_assert(fs_exec_reserve(a->exec, g->plans[r], &a->call) == FS_OK);
    }
}

static void play_fini(play_t *play)
{
    for (uint32_t r = 0; r < play->g->n; ++r) {
        actor_t *a = &play->actors[r];

        a->transport->ops->destroy(a->transport);
        fs_exec_destroy(a->exec);
        free(a->send);
        free(a->recv);
    }
    fs_loop_destroy(play->loop);
}

static void start(play_t *play, uint32_t r)
{
    actor_t *a = &play->actors[r];

    a->net->ops->progress(a->net);
    fs_exec_start(a->exec, play->g->plans[r], &a->call, 1, false);
}

/* True if that ended the rank's part. */
static bool turn(play_t *play, uint32_t r)
{
    actor_t *a = &play->actors[r];

    if (a->status != FS_INPROGRESS) {
        return false;
    }
    a->net->ops->progress(a->net);
    a->status = fs_exec_progress(a->exec);
    return a->status != FS_INPROGRESS;
}

/* The straggler comes when the others have had `late` turns each. */
static void run(play_t *play, uint32_t late)
{
    uint32_t n = play->g->n, n_busy = n;
    uint32_t straggler = play->g->schedule->straggler *
                         (n / play->g->schedule->n_ranks);

    for (uint32_t r = 0; r < n; ++r) {
        if (r != straggler) {
            start(play, r);
        }
    }
    for (uint32_t k = 0; k < late * n; ++k) {
        n_busy -= k % n != straggler && turn(play, k % n);
    }
    start(play, straggler);
    for (uint32_t k = 0; n_busy > 0; ++k) {
        if (k == MAX_TURNS) {
            ck_abort_msg("%u ranks wait for ever", n_busy);
        }
        n_busy -= turn(play, (uint32_t)fs_rng_below(&play->rng, n));
    }
    for (uint32_t r = 0; r < n; ++r) {
        ck_assert(play->actors[r].status == FS_OK);
    }
}

static void check_guards(const uint64_t *vector, uint64_t n_elems)
{
    for (uint64_t k = 0; k < GUARD; ++k) {
        ck_assert(vector[k] == ~k);
        ck_assert(vector[n_elems + GUARD + k] == ~(n_elems + GUARD + k));
    }
}

static void check_vectors(const play_t *play, const uint64_t *want)
{
    uint64_t n_elems = play->g->reduction.n_elems;

    for (uint32_t r = 0; r < play->g->n; ++r) {
        const actor_t *a = &play->actors[r];

        for (uint64_t k = 0; k < n_elems; ++k) {
            ck_assert(a->send[GUARD + k] == value_of(r, k));
            if (a->recv[GUARD + k] != want[k]) {
                ck_abort_msg("rank %u of %u, straggler %u, element %llu", r,
                             play->g->n, play->g->schedule->straggler,
                             (unsigned long long)k);
            }
        }
        check_guards(a->send, n_elems);
        check_guards(a->recv, n_elems);
    }
}

/* What a real network would forgive, the loop has counted. */
static void check_seen(play_t *play)
{
    fs_loop_seen_t seen = fs_loop_take_seen(play->loop);

    ck_assert(seen.max_wire_recvs <= play->g->params.window);
    ck_assert(seen.max_wire_senders <= 2 && seen.max_wire_receivers <= 2);
    ck_assert(seen.ungranted == 0 && seen.twins == 0 &&
              seen.shrunk_grants == 0);
    ck_assert(seen.late_grants == 0 && seen.split_grants == 0);
    for (uint32_t r = 0; r < play->g->n; ++r) {
        ck_assert(fs_exec_peak_senders(play->actors[r].exec) <= 1);
    }
}

static void run_sum(fs_test_group_t *g, uint64_t n_elems, bool in_place,
                    uint64_t seed)
{
    uint64_t *want = fs_test_alloc(n_elems, sizeof(*want));
    play_t    play;

    for (uint64_t k = 0; k < n_elems; ++k) {
        for (uint32_t r = 0; r < g->n; ++r) {
            want[k] += value_of(r, k);
        }
    }
    fs_test_group_plan(g, n_elems, sizeof(uint64_t), in_place);
    play_init(&play, g, seed, sum);
    run(&play, seed % 2 == 0 ? 0 : 40 * g->n);
    check_vectors(&play, want);
    check_seen(&play);
    play_fini(&play);
    free(want);
}

/* In place and not; sizes that divide and do not, fewer elements than chunks,
 * none; straggler early and late. */
START_TEST(every_straggler_gets_the_sum)
{
    uint32_t n = (uint32_t)_i;

    for (uint32_t straggler = 0; straggler < n; ++straggler) {
        const uint64_t  sizes[] = {n - 1, 2 * n + 1, n - 2, 0};
        uint64_t        seed    = 64 * (uint64_t)n + straggler;
        fs_test_group_t g;

        fs_test_group_init(&g, FS_STRAGGLER_STRAGGLAR, n, straggler, 1);
        g.params.window = 1 + straggler % 5;
        for (int in_place = 0; in_place <= 1; ++in_place) {
            run_sum(&g, 20 * n + 3, in_place != 0, seed);
            run_sum(&g, sizes[(seed + 1) % 4], in_place != 0, seed + 1);
            ++seed;
        }
        fs_test_group_fini(&g);
    }
}
END_TEST

/* The same in pieces: as many as calls have, and others. */
START_TEST(streams_get_the_sum)
{
    uint32_t n = (uint32_t)_i;

    for (uint32_t straggler = 0; straggler < n; ++straggler) {
        uint32_t        pieces = straggler % 2 == 0 ? FS_STRAGGLER_PIECES
                                                    : 2 + straggler % 4;
        uint64_t        seed   = 64 * (uint64_t)n + straggler;
        fs_test_group_t g;

        fs_test_group_init_stream(&g, n, straggler, pieces, 1);
        g.params.window = 1 + straggler % 5;
        for (int in_place = 0; in_place <= 1; ++in_place) {
            run_sum(&g, 20 * n + 3, in_place != 0, seed + (uint64_t)in_place);
            run_sum(&g, 3 * n, in_place != 0, seed + (uint64_t)in_place);
        }
        fs_test_group_fini(&g);
    }
}
END_TEST

/* Two tiers; the first rank of the late server is late. */
START_TEST(servers_get_the_sum)
{
    uint32_t n = (uint32_t)_i;

    for (uint32_t n_local = 2; n_local <= 4; ++n_local) {
        for (uint32_t straggler = 0; straggler < n; ++straggler) {
            uint64_t        seed = 64 * (uint64_t)n + straggler;
            fs_test_group_t g;

            fs_test_group_init_tiers(&g, FS_STRAGGLER_STRAGGLAR, n, straggler,
                                     n_local);
            g.params.window = 1 + straggler % 5;
            run_sum(&g, 20 * g.n + 3, false, seed);
            run_sum(&g, 20 * g.n + 3, true, seed + 1);
            run_sum(&g, g.n - 1, true, seed + 2);
            fs_test_group_fini(&g);

            fs_test_group_init_stream(&g, n, straggler, FS_STRAGGLER_PIECES,
                                      n_local);
            run_sum(&g, 40 * g.n + 3, straggler % 2 == 0, seed + 3);
            fs_test_group_fini(&g);
        }
    }
}
END_TEST

/* Any servers, any kind, any size, little memory and much. */
START_TEST(prop_sums)
{
    fs_test_group_t g;
    fs_rng_t        rng;
    fs_topo_t      *topo;
    uint32_t        n;

    fs_rng_init(&rng, (uint64_t)_i);
    topo = fs_test_topo_random(&rng, 5, 4);
    n    = fs_topo_n_ranks(topo);
    fs_test_group_init(&g, (fs_straggler_kind_t)(_i % FS_STRAGGLER_N_KINDS), n,
                       (uint32_t)fs_rng_below(&rng, n), 1);
    fs_test_group_set_topo(&g, topo);
    g.params = (fs_plan_params_t){
        .chunk         = 8 + fs_rng_below(&rng, 200),
        .window        = 1 + (uint32_t)fs_rng_below(&rng, 6),
        .staging_limit = 256 << fs_rng_below(&rng, 8),
    };
    for (int k = 0; k < 3; ++k) {
        run_sum(&g, fs_rng_below(&rng, 500), fs_rng_below(&rng, 2) == 0,
                fs_rng_next(&rng));
        fs_test_group_prove(&g);
    }
    fs_test_group_fini(&g);
}
END_TEST

/* All ranks have the bits of rank 0, whatever the operation does. */
static void check_bits(fs_test_group_t *g, bool in_place)
{
    play_t play;

    fs_test_group_plan(g, 9 * g->n + 2, sizeof(uint64_t), in_place);
    play_init(&play, g, 9000 + g->n, scramble);
    run(&play, 0);
    check_vectors(&play, play.actors[0].recv_block);
    play_fini(&play);
    fs_test_group_fini(g);
}

START_TEST(same_bits_everywhere)
{
    for (uint32_t n = 2; n <= 17; ++n) {
        for (int in_place = 0; in_place <= 1; ++in_place) {
            uint32_t        straggler = (n * 5 + 1) % n;
            fs_test_group_t g;

            fs_test_group_init(&g, FS_STRAGGLER_STRAGGLAR, n, straggler, 1);
            check_bits(&g, in_place != 0);
            fs_test_group_init_stream(&g, n, straggler, FS_STRAGGLER_PIECES, 1);
            check_bits(&g, in_place != 0);
        }
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("straggler_run");
    TCase *tcase = tcase_create("straggler_run");

    tcase_set_timeout(tcase, 120);
    tcase_add_loop_test(tcase, every_straggler_gets_the_sum, 3,
                        FS_TEST_GROUP_ALL + 1);
    tcase_add_loop_test(tcase, streams_get_the_sum, 3, FS_TEST_GROUP_ALL);
    tcase_add_loop_test(tcase, servers_get_the_sum, 3, 9);
    tcase_add_loop_test(tcase, prop_sums, 0, 150);
    tcase_add_test(tcase, same_bits_everywhere);
    suite_add_tcase(suite, tcase);
    return fs_test_run(suite);
}
