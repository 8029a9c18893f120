/* SPDX-License-Identifier: BSD-3-Clause */
/* What ranks agree on when a communicator begins. */
#include "comm/fs_comm.h"
#include "net/fs_nics.h"
#include "fs_test_native.h"
#include "fs_test_util.h"
#include "sched/model/fs_topo.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>

enum { N_RANKS = 7, N_SERVERS = 3 };

/* Servers of three, three and one ranks. */
static const uint32_t server_of[N_RANKS] = {5, 5, 5, 7, 7, 7, 1};

typedef struct rank {
    fs_test_place_t place;
    fs_params_t     params;
    bool            apart; /* has a /dev/shm of its own */
    /* What came out. */
    fs_status_t created;
    fs_status_t called;
    char        why[256];
    uint32_t    lane;
    uint32_t    n_lanes[N_SERVERS];
    uint32_t    n_peers; /* connected on other servers */
} rank_t;

static fs_test_world_t world;
static rank_t          ranks[N_RANKS];
static uint32_t        n_alive; /* mappings while the communicator was there */
static uint32_t        n_named; /* of these, with a name */
static bool            cannot_move;

static void set_up(void)
{
    memset(ranks, 0, sizeof(ranks));
    fs_test_world_init(&world, N_RANKS, 11);
    n_alive = n_named = 0;
    for (uint32_t r = 0; r < N_RANKS; ++r) {
        ranks[r].place = (fs_test_place_t){.world = &world, .rank = r};
        fs_params_init(&ranks[r].params);
    }
}

static void tear_down(void)
{
    for (uint32_t r = 0; r < N_RANKS; ++r) {
        fs_nics_destroy(ranks[r].place.nics);
    }
    fs_test_world_fini(&world);
}

/* Segments of ours in the address space, and those that still have a name. */
static uint32_t count_maps(uint32_t *n_named_p)
{
    FILE    *maps = fopen("/proc/self/maps", "r");
    char     line[512];
    uint32_t n = 0, n_deleted = 0;

    ck_assert_ptr_nonnull(maps);
    while (fgets(line, sizeof(line), maps) != NULL) {
        if (strstr(line, "/dev/shm/fastsched-") != NULL) {
            ++n;
            n_deleted += strstr(line, "(deleted)") != NULL;
        }
    }
    fclose(maps);
    *n_named_p = n - n_deleted;
    return n;
}

/* Another mount namespace for this thread, as in another container. */
static void move_apart(void)
{
    if (unshare(CLONE_NEWNS) != 0) {
        cannot_move = true;
    } else if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0) {
        (void)mount("none", "/dev/shm", "tmpfs", 0, NULL);
    }
}

/* A call of no bytes: the summary is all there is. */
static void call_once(rank_t *me, fs_comm_t *comm)
{
    uint64_t    zeros[N_RANKS] = {0};
    fs_counts_t counts =
        fs_test_call_counts(comm->topo, me->place.rank, zeros, zeros);
    fs_call_t call = {.counts = &counts};
    bool      ran;

    me->called = fs_comm_alltoallv(comm, &call, &ran);
    ck_assert(ran);
    fs_counts_fini(&counts);
}

static void *live(void *arg)
{
    rank_t     *me     = arg;
    fs_native_t native = fs_test_native(&me->place);
    fs_member_t member = {.n_ranks      = N_RANKS,
                          .rank         = me->place.rank,
                          .server_label = server_of[me->place.rank]};
    fs_comm_t  *comm;

    if (me->apart) {
        move_apart();
    }
    me->created = fs_comm_create(&native, &me->params, &member, &comm, me->why,
                                 sizeof(me->why));
    if (me->created != FS_OK) {
        return NULL;
    }
    me->lane = fs_topo_lane(comm->topo, me->place.rank);
    for (uint32_t u = 0; u < N_SERVERS; ++u) {
        me->n_lanes[u] = fs_topo_n_lanes(comm->topo, u);
    }
    me->n_peers = fs_loop_n_wire_peers(comm->transport);
    fs_test_barrier(&me->place);
    if (me->place.rank == 0) {
        n_alive = count_maps(&n_named);
    }
    fs_test_barrier(&me->place);
    call_once(me, comm);
    fs_test_barrier(&me->place);
    fs_comm_destroy(comm);
    return NULL;
}

/* Messages of one summary, if these many ranks have no shared memory to speak
 * to their leader. */
static void check_messages(uint32_t n_by_messages)
{
    uint32_t n_named_now;

    fs_test_live_all(&world, live, ranks, sizeof(ranks[0]));
    for (uint32_t r = 0; r < N_RANKS; ++r) {
        ck_assert_int_eq(ranks[r].created, FS_OK);
        ck_assert_int_eq(ranks[r].called, FS_OK);
    }
    ck_assert_uint_eq(fs_loop_take_seen(world.loop).messages,
                      N_SERVERS * (N_SERVERS - 1) + 2 * n_by_messages);
    ck_assert_uint_eq(n_named, 0);
    ck_assert_uint_eq(count_maps(&n_named_now), 0);
}

START_TEST(servers_share_memory)
{
    check_messages(0);
    ck_assert_uint_eq(n_alive, 6); /* not the rank that is alone */
}
END_TEST

START_TEST(no_memory_to_share)
{
    struct rlimit limit, none;

    signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
    none = (struct rlimit){.rlim_cur = 0, .rlim_max = limit.rlim_max};
    setrlimit(RLIMIT_FSIZE, &none);
    check_messages(4);
    setrlimit(RLIMIT_FSIZE, &limit);
    ck_assert_uint_eq(n_alive, 0);
}
END_TEST

/* One rank of the second server only looks local, be it the leader or not. */
START_TEST(another_namespace)
{
    ranks[_i].apart = true;
    check_messages(cannot_move ? 0 : 2);
    ck_assert_uint_eq(n_alive, cannot_move ? 6 : 3);
}
END_TEST

/* ---- NICs and lanes ---- */

static void give_nics(uint32_t rank, uint32_t n_nics)
{
    fs_nics_destroy(ranks[rank].place.nics);
    ck_assert_int_eq(fs_nics_create(n_nics, &ranks[rank].place.nics), FS_OK);
}

/* The lane of each rank, or '-'; all ranks see the same. */
static void lanes_are(const char *lanes)
{
    fs_test_live_all(&world, live, ranks, sizeof(ranks[0]));
    for (uint32_t r = 0; r < N_RANKS; ++r) {
        ck_assert_int_eq(ranks[r].created, FS_OK);
        ck_assert_uint_eq(ranks[r].lane, lanes[r] == '-'
                                             ? FS_NO_LANE
                                             : (uint32_t)(lanes[r] - '0'));
        ck_assert_mem_eq(ranks[r].n_lanes, ranks[0].n_lanes,
                         sizeof(ranks[r].n_lanes));
    }
}

static const struct {
    uint32_t    n_nics, lanes;
    bool        nodes;
    const char *want;
} by_number[] = {
    {0, 0, false, "0120120"}, /* no NIC found */
    {1, 0, false, "0--0--0"}, {2, 0, false, "0-10-10"},
    {3, 0, false, "0120120"}, {8, 0, false, "0120120"},
    {1, 2, false, "01-01-0"}, /* lanes by parameter */
    {1, 0, true, "0120120"},  /* not of the servers that nodes makes up */
};
enum { N_BY_NUMBER = sizeof(by_number) / sizeof(by_number[0]) };

START_TEST(lanes_follow_nics)
{
    setenv("UCX_NET_DEVICES", ",", 1); /* a list of nothing */
    for (uint32_t r = 0; r < N_RANKS; ++r) {
        give_nics(r, by_number[_i].n_nics);
        ranks[r].params.lanes = by_number[_i].lanes;
        if (by_number[_i].nodes) {
            strcpy(ranks[r].params.servers, "3+3+1");
        }
    }
    lanes_are(by_number[_i].want);
    for (uint32_t r = 0; r < N_RANKS; ++r) {
        ck_assert_uint_eq(fs_nics_list(ranks[r].place.nics).n,
                          by_number[_i].nodes ? by_number[_i].n_nics
                                              : by_number[_i].n_nics > 0);
    }
}
END_TEST

/* Each rank has one NIC: the first and the last of a server share theirs. */
START_TEST(lanes_follow_the_environment)
{
    static const char *const nic[] = {"a", "b", "a"};

    for (uint32_t r = 0; r < N_RANKS; ++r) {
        setenv("UCX_NET_DEVICES", nic[r % 3], 1);
        give_nics(r, 0);
    }
    lanes_are("01-01-0");
}
END_TEST

START_TEST(one_rank_knows_no_nic)
{
    for (uint32_t r = 0; r < N_RANKS; ++r) {
        if (r != 4) {
            give_nics(r, 1);
        }
    }
    lanes_are("0--0120");
}
END_TEST

/* Earlier communicators have chosen: these processes keep their NICs. */
START_TEST(a_choice_outlives_its_communicator)
{
    for (uint32_t r = 0; r < N_RANKS; ++r) {
        give_nics(r, 2);
    }
    fs_nics_choose(ranks[0].place.nics, 1);
    fs_nics_choose(ranks[1].place.nics, 1);
    fs_nics_choose(ranks[2].place.nics, 1);
    fs_nics_choose(ranks[4].place.nics, 1);
    lanes_are("0--01-0");
}
END_TEST

/* ---- connections ---- */

/* With one lane. Rails end at every rank: those who serve no lane hear of two
 * other servers' proxies. */
static const struct {
    uint32_t algorithm;
    uint32_t n_peers[N_RANKS];
} peers[] = {
    {FS_ALGORITHM_AUTO, {2, 0, 0, 2, 0, 0, 2}},
    {FS_ALG_STAGED, {2, 0, 0, 2, 0, 0, 2}},
    {FS_ALG_PIPE2D, {4, 2, 2, 4, 2, 2, 6}},
    {FS_ALG_DIRECT, {4, 4, 4, 4, 4, 4, 6}},
};
enum { N_PEERS = sizeof(peers) / sizeof(peers[0]) };

START_TEST(only_what_can_be_chosen_is_connected)
{
    for (uint32_t r = 0; r < N_RANKS; ++r) {
        ranks[r].params.lanes     = 1;
        ranks[r].params.algorithm = peers[_i].algorithm;
    }
    fs_test_live_all(&world, live, ranks, sizeof(ranks[0]));
    for (uint32_t r = 0; r < N_RANKS; ++r) {
        ck_assert_int_eq(ranks[r].created, FS_OK);
        ck_assert_uint_eq(ranks[r].n_peers, peers[_i].n_peers[r]);
    }
}
END_TEST

START_TEST(parameters_differ)
{
    ranks[3].params.chunk *= 2;
    fs_test_live_all(&world, live, ranks, sizeof(ranks[0]));
    for (uint32_t r = 0; r < N_RANKS; ++r) {
        ck_assert_int_eq(ranks[r].created, FS_ERR_MISMATCH);
        ck_assert_str_eq(ranks[r].why, "chunk is \"64k\" on rank 0 and "
                                       "\"128k\" on rank 3");
    }
}
END_TEST

/* The network fails after memory was offered. */
START_TEST(failure_leaves_nothing)
{
    fs_loop_faults_t faults = {.no_hello = true, .hello_rank = 4};
    uint32_t         named;

    fs_loop_set_faults(world.loop, &faults);
    fs_test_live_all(&world, live, ranks, sizeof(ranks[0]));
    for (uint32_t r = 0; r < N_RANKS; ++r) {
        ck_assert_int_ne(ranks[r].created, FS_OK);
    }
    ck_assert_uint_eq(count_maps(&named), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("coll_create");
    TCase *tcase = tcase_create("coll_create");

    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_test(tcase, servers_share_memory);
    tcase_add_test(tcase, no_memory_to_share);
    tcase_add_loop_test(tcase, another_namespace, 3, 6);
    tcase_add_loop_test(tcase, lanes_follow_nics, 0, N_BY_NUMBER);
    tcase_add_test(tcase, lanes_follow_the_environment);
    tcase_add_test(tcase, one_rank_knows_no_nic);
    tcase_add_test(tcase, a_choice_outlives_its_communicator);
    tcase_add_loop_test(tcase, only_what_can_be_chosen_is_connected, 0,
                        N_PEERS);
    tcase_add_test(tcase, parameters_differ);
    tcase_add_test(tcase, failure_leaves_nothing);
    suite_add_tcase(suite, tcase);
    return fs_test_run(suite);
}
