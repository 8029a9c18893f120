/* SPDX-License-Identifier: BSD-3-Clause */
/* An idle network is looked at now and then, a busy one at every turn. */
#include "net/fs_transport.h"
#include "fs_test_util.h"

static unsigned n_probes, n_events;

static unsigned look(fs_net_t *net)
{
    unsigned events = n_events;

    (void)net;
    ++n_probes;
    n_events = 0;
    return events;
}

static const fs_net_ops_t ops = {.progress = look};
static fs_net_t net = {.ops = &ops, .lock = PTHREAD_MUTEX_INITIALIZER};

/* Looks in so many turns of the MPI's progress engine. */
static unsigned looks_in(unsigned n_turns)
{
    n_probes = 0;
    for (unsigned k = 0; k < n_turns; ++k) {
        fs_net_progress(&net);
    }
    return n_probes;
}

START_TEST(idle_is_cheap)
{
    ck_assert_uint_eq(looks_in(50), 50);
    ck_assert_uint_lt(looks_in(10000), 10000 / 20);
    ck_assert_uint_gt(looks_in(10000), 10000 / 50); /* never quite asleep */
}
END_TEST

START_TEST(an_event_wakes_it)
{
    looks_in(1000);
    n_events = 3;
    looks_in(100);
    ck_assert_uint_eq(n_events, 0);
    ck_assert_uint_eq(net.events, 3);
    n_events = 1;
    fs_net_turn(&net); /* a call of ours */
    ck_assert_uint_eq(looks_in(50), 50);
}
END_TEST

START_TEST(another_thread_is_at_it)
{
    pthread_mutex_lock(&net.lock);
    ck_assert_uint_eq(looks_in(10), 0);
    pthread_mutex_unlock(&net.lock);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("net");
    TCase *tcase = tcase_create("net");

    tcase_add_test(tcase, idle_is_cheap);
    tcase_add_test(tcase, an_event_wakes_it);
    tcase_add_test(tcase, another_thread_is_at_it);
    suite_add_tcase(suite, tcase);
    return fs_test_run(suite);
}
