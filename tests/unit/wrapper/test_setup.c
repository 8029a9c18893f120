/* SPDX-License-Identifier: BSD-3-Clause */
/* A set-up beside the program: what it asks is answered by messages that nobody waits
 * for, and the communicator is as any other afterwards. Two threads per rank. */
#include "comm/fs_comm.h"
#include "fs_host_fake.h"
#include "fs_test_native.h"
#include "fs_test_util.h"
#include "wrapper/fs_setup_gather.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_RANKS = 9, N_TAGS = 8, TAG = 5 };

typedef struct rank {
    fs_test_place_t   place;
    fs_wrapper_t      wrapper;
    fs_wrapper_comm_t comm;
    fs_setup_t        setup;
    fs_setup_gather_t gather;
    fs_status_t       mine;
} rank_t;

static fs_test_world_t world;
static fs_fake_t      *fake;
static rank_t          ranks[MAX_RANKS];
static uint32_t        n_ranks;
static fs_status_t     expected; /* of a set-up */
static bool            works;

/* Of this thread, which is not that of a set-up. */
static _Thread_local unsigned n_said;

static void say(const char *line)
{
    if (!fs_setup_keeps(line)) {
        ck_assert_ptr_nonnull(strstr(line, "not used on here: "));
        ++n_said;
    }
}

static void set_up(uint32_t n)
{
    n_ranks = n;
    memset(ranks, 0, sizeof(ranks));
    fs_test_world_init(&world, n, 31);
    fake = fs_fake_create(n, N_TAGS, 7);
    for (uint32_t r = 0; r < n; ++r) {
        ranks[r].place   = (fs_test_place_t){.world = &world, .rank = r};
        ranks[r].wrapper = (fs_wrapper_t){
            .say = say, .say_last = say, .lock = PTHREAD_MUTEX_INITIALIZER};
        fs_params_init(&ranks[r].wrapper.params);
        /* Servers come from a parameter, not from the host that all ranks share. */
        ranks[r].wrapper.world_server = calloc(n, sizeof(uint32_t));
    }
}

static void live_and_tear_down(void *(*live)(void *rank))
{
    fs_test_live_all(&world, live, ranks, sizeof(ranks[0]));
    ck_assert_uint_eq(fs_fake_n_pending(fake), 0);
    fs_fake_destroy(fake);
    fs_test_world_fini(&world);
}

static void *live(void *arg)
{
    rank_t     *me       = arg;
    fs_native_t native   = fs_test_native(&me->place);
    fs_native_t messages = fs_fake_host(fake, me->place.rank);
    fs_member_t member   = {.n_ranks      = n_ranks,
                            .rank         = me->place.rank,
                            .server_label = me->place.rank,
                            .status       = me->mine,
                            .comm_name    = "here"};

    fs_setup_begin(&me->setup, &me->wrapper, &me->comm, &native, &member);
    while (fs_setup_turn(&me->setup, &me->gather, messages.p2p, messages.ctx,
                         TAG) != FS_SETUP_OVER) {
        messages.progress(messages.ctx);
    }
    ck_assert_uint_eq(n_said, 0); /* before its end */
    ck_assert_int_eq(fs_setup_end(&me->setup), expected);
    ck_assert(n_said == (!works && me->place.rank == 0));
    if (works) {
        ck_assert_ptr_eq(me->comm.ours->native.ctx, native.ctx);
        ck_assert(me->comm.ours->native.allgather == native.allgather);
        ck_assert(me->comm.ours->native.agree == native.agree);
        ck_assert(me->comm.ours->native.progress == native.progress);
        for (uint32_t r = 0; r < n_ranks; ++r) {
            ck_assert_uint_eq(fs_topo_server(me->comm.ours->topo, r), r);
        }
    } else {
        ck_assert_ptr_null(me->comm.ours);
    }
    fs_test_barrier(&me->place);
    fs_wrapper_close(&me->comm);
    fs_wrapper_fini(&me->wrapper);
    return NULL;
}

START_TEST(beside_the_program)
{
    set_up((uint32_t)_i);
    expected = FS_OK;
    works    = true;
    live_and_tear_down(live);
}
END_TEST

/* One rank cannot: none does. */
START_TEST(one_cannot)
{
    set_up(3);
    expected       = FS_ERR_NOMEM;
    works          = false;
    ranks[_i].mine = FS_ERR_NOMEM;
    live_and_tear_down(live);
}
END_TEST

/* Messages fail: so does the set-up, and where it is over no message is left. */
START_TEST(short_message)
{
    set_up(4);
    expected = FS_OK; /* calls are the MPI's */
    works    = false;
    for (uint32_t r = 0; r < n_ranks; ++r) {
        fs_fake_cut(fake, r, 1);
    }
    live_and_tear_down(live);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("setup");
    TCase *tcase = tcase_create("setup");

    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, beside_the_program, 2, MAX_RANKS + 1);
    tcase_add_loop_test(tcase, one_cannot, 0, 3);
    tcase_add_test(tcase, short_message);
    suite_add_tcase(suite, tcase);
    return fs_test_run(suite);
}
