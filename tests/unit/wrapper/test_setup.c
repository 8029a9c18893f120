/* SPDX-License-Identifier: BSD-3-Clause */
/* A set-up beside the program: what it asks is answered by whoever looks, and the
 * communicator is as any other afterwards. Two threads per rank. */
#include "comm/fs_comm.h"
#include "fs_test_native.h"
#include "fs_test_util.h"
#include "wrapper/fs_setup.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>

enum { N_RANKS = 3 };

typedef struct rank {
    fs_test_place_t   place;
    fs_wrapper_t      wrapper;
    fs_wrapper_comm_t comm;
    fs_setup_t        setup;
    fs_status_t       mine;
    unsigned          n_gathers, n_agreements;
} rank_t;

static fs_test_world_t world;
static rank_t          ranks[N_RANKS];
static fs_status_t     expected;

/* Of this thread, which is not that of a set-up. */
static _Thread_local unsigned n_said;

static void say(const char *line)
{
    if (!fs_setup_keeps(line)) {
        ck_assert_ptr_nonnull(
            strstr(line, "not used on here: a rank has failed"));
        ++n_said;
    }
}

static void set_up(void)
{
    memset(ranks, 0, sizeof(ranks));
    fs_test_world_init(&world, N_RANKS, 31);
    for (uint32_t r = 0; r < N_RANKS; ++r) {
        ranks[r].place   = (fs_test_place_t){.world = &world, .rank = r};
        ranks[r].wrapper = (fs_wrapper_t){
            .say = say, .say_last = say, .lock = PTHREAD_MUTEX_INITIALIZER};
        fs_params_init(&ranks[r].wrapper.params);
    }
}

static void tear_down(void)
{
    fs_test_world_fini(&world);
}

static void answer(rank_t *me, const fs_native_t *native)
{
    const fs_setup_question_t *q = &me->setup.question;

    if (q->out != NULL) {
        ++me->n_gathers;
        fs_setup_answer(&me->setup,
                        native->allgather(native->ctx, q->in, q->len, q->out));
    } else {
        ++me->n_agreements;
        fs_setup_answer(&me->setup, native->agree(native->ctx, q->status));
    }
}

static void *live(void *arg)
{
    rank_t          *me     = arg;
    fs_native_t      native = fs_test_native(&me->place);
    fs_member_t      member = {.n_ranks      = N_RANKS,
                               .rank         = me->place.rank,
                               .server_label = me->place.rank,
                               .status       = me->mine,
                               .comm_name    = "here"};
    fs_setup_state_t state;

    fs_setup_begin(&me->setup, &me->wrapper, &me->comm, &native, &member);
    while ((state = fs_setup_look(&me->setup)) != FS_SETUP_OVER) {
        if (state == FS_SETUP_ASKS) {
            answer(me, &native);
        }
        sched_yield();
    }
    ck_assert_uint_eq(n_said, 0); /* before its end */
    ck_assert_int_eq(fs_setup_end(&me->setup), expected);
    ck_assert(n_said == (expected != FS_OK && me->place.rank == 0));
    if (expected == FS_OK) {
        ck_assert_ptr_eq(me->comm.ours->native.ctx, native.ctx);
        ck_assert(me->comm.ours->native.allgather == native.allgather);
        ck_assert(me->comm.ours->native.agree == native.agree);
        ck_assert(me->comm.ours->native.progress == native.progress);
        ck_assert_uint_gt(me->n_gathers, 2);
    } else {
        ck_assert_ptr_null(me->comm.ours);
        ck_assert_uint_eq(me->n_agreements, 1);
        ck_assert_uint_eq(me->n_gathers, 0);
    }
    fs_test_barrier(&me->place);
    fs_wrapper_close(&me->comm, false);
    fs_wrapper_fini(&me->wrapper);
    return NULL;
}

START_TEST(beside_the_program)
{
    expected = FS_OK;
    fs_test_live_all(&world, live, ranks, sizeof(ranks[0]));
}
END_TEST

/* One rank cannot: none does. */
START_TEST(one_cannot)
{
    expected       = FS_ERR_NOMEM;
    ranks[_i].mine = FS_ERR_NOMEM;
    fs_test_live_all(&world, live, ranks, sizeof(ranks[0]));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("setup");
    TCase *tcase = tcase_create("setup");

    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, beside_the_program);
    tcase_add_loop_test(tcase, one_cannot, 0, N_RANKS);
    suite_add_tcase(suite, tcase);
    return fs_test_run(suite);
}
