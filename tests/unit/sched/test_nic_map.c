/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks, NICs and lanes: the cases that people have, and what always holds. */
#include "sched/model/fs_nic_map.h"
#include "fs_test_util.h"
#include "sched/model/fs_topo.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_RANKS = 32, WHY = 200 };

typedef struct rails {
    uint32_t      n;
    uint32_t      server_of[MAX_RANKS];
    fs_nic_list_t list[MAX_RANKS];
    uint32_t      choice[MAX_RANKS];
    fs_topo_t    *topo;
} rails_t;

static rails_t rails;

static void begin(const char *servers, uint32_t n, uint32_t lanes)
{
    char why[WHY];

    memset(&rails, 0, sizeof(rails));
    rails.n = n;
    ck_assert_int_eq(
        fs_topo_parse(servers, n, rails.server_of, why, sizeof(why)), FS_OK);
    ck_assert_int_eq(fs_topo_create(n, rails.server_of, lanes, &rails.topo),
                     FS_OK);
}

/* NICs base, base + 1, ... from the k-th on; the first n_near are near. */
static void sees(uint32_t rank, uint32_t n, uint32_t n_near, uint32_t k)
{
    fs_nic_list_t *list = &rails.list[rank];

    list->n      = n;
    list->n_near = n_near;
    for (uint32_t i = 0; i < n; ++i) {
        list->id[i] = 100 + (k + i) % n;
    }
}

static void choose(bool set_lanes)
{
    ck_assert_int_eq(
        fs_nic_map_choose(rails.topo, rails.list, set_lanes, rails.choice),
        FS_OK);
}

static uint32_t nic_of(uint32_t rank)
{
    return rails.list[rank].id[rails.choice[rank]] - 100;
}

static void use(const char *nics)
{
    for (uint32_t r = 0; r < rails.n; ++r) {
        ck_assert_msg(nic_of(r) == (uint32_t)(nics[r] - '0'),
                      "rank %u uses NIC %u, not as in %s", r, nic_of(r), nics);
    }
}

/* The proxies of server 0, by local position. */
static void proxies_are(uint32_t n, const uint32_t *proxy)
{
    ck_assert_uint_eq(fs_topo_n_lanes(rails.topo, 0), n);
    for (uint32_t l = 0; l < n; ++l) {
        ck_assert_uint_eq(fs_topo_proxy(rails.topo, 0, l), proxy[l]);
    }
}

/* 16 ranks that are bound to nothing, 2 NICs. */
START_TEST(unbound_ranks_take_blocks)
{
    begin("1x16", 16, 0);
    for (uint32_t r = 0; r < 16; ++r) {
        sees(r, 2, 2, 0);
    }
    choose(true);
    use("0000000011111111");
    proxies_are(2, (uint32_t[]){0, 8});
    fs_topo_destroy(rails.topo);
}
END_TEST

/* 8 ranks, each near one of 2 NICs, one package after the other or in turn. */
START_TEST(bound_ranks_use_the_near_one)
{
    begin("2x4", 8, 0);
    for (uint32_t r = 0; r < 8; ++r) {
        sees(r, 2, 1, r < 4 ? r / 2 : (r + 1) % 2);
    }
    choose(true);
    use("00111010");
    proxies_are(2, (uint32_t[]){0, 2});
    ck_assert_uint_eq(fs_topo_proxy(rails.topo, 1, 1), 1);
    ck_assert_uint_eq(fs_topo_lane(rails.topo, 6), FS_NO_LANE);
    ck_assert_uint_eq(fs_topo_lane(rails.topo, 5), 1);
    fs_topo_destroy(rails.topo);
}
END_TEST

START_TEST(one_nic_for_all)
{
    begin("2x4", 8, 0);
    for (uint32_t r = 0; r < 8; ++r) {
        sees(r, 1, 1, 0);
    }
    choose(true);
    use("00000000");
    proxies_are(1, (uint32_t[]){0});
    fs_topo_destroy(rails.topo);
}
END_TEST

/* 4 ranks and 8 NICs: a lane and a NIC each, wherever they sit. */
START_TEST(enough_nics)
{
    begin("1x4", 4, 0);
    for (uint32_t r = 0; r < 4; ++r) {
        sees(r, 8, _i == 0 ? 8 : 4, 0);
    }
    choose(true);
    use(_i == 0 ? "0246" : "0123");
    proxies_are(4, (uint32_t[]){0, 1, 2, 3});
    fs_topo_destroy(rails.topo);
}
END_TEST

/* All ranks sit on the package of one NIC: the other ones are used, too. */
START_TEST(nobody_near)
{
    begin("1x4", 4, 0);
    for (uint32_t r = 0; r < 4; ++r) {
        sees(r, 3, 1, 0);
    }
    choose(true);
    use("0021");
    proxies_are(3, (uint32_t[]){0, 2, 3});
    fs_topo_destroy(rails.topo);
}
END_TEST

/* As in the lab: each rank has been given one NIC. */
START_TEST(one_nic_each)
{
    begin("4+2", 6, 0);
    for (uint32_t r = 0; r < 6; ++r) {
        rails.list[r] =
            (fs_nic_list_t){.n = 1, .n_near = 1, .id = {100 + r % 2}};
    }
    choose(true);
    use("010101");
    proxies_are(2, (uint32_t[]){0, 1});
    fs_topo_destroy(rails.topo);
}
END_TEST

/* Lanes that the user has set stay; NICs follow the blocks. */
START_TEST(lanes_by_parameter)
{
    begin("1x8", 8, 4);
    for (uint32_t r = 0; r < 8; ++r) {
        sees(r, 2, 2, 0);
    }
    choose(false);
    use("00001111");
    proxies_are(4, (uint32_t[]){0, 2, 4, 6});
    fs_topo_destroy(rails.topo);
}
END_TEST

/* One rank without knowledge: its server is as before, others are not. */
START_TEST(unknown_nics)
{
    begin("2x4", 8, 0);
    for (uint32_t r = 1; r < 8; ++r) {
        sees(r, 2, 2, 0);
    }
    choose(true);
    ck_assert_uint_eq(rails.choice[0], FS_NO_NIC);
    ck_assert_uint_eq(fs_topo_n_lanes(rails.topo, 0), 4);
    ck_assert_uint_eq(fs_topo_n_lanes(rails.topo, 1), 2);
    fs_topo_destroy(rails.topo);
}
END_TEST

/* ---- what always holds ---- */

static void random_list(fs_rng_t *rng, fs_nic_list_t *list)
{
    list->n      = 1 + (uint32_t)fs_rng_below(rng, FS_MAX_NICS);
    list->n_near = 1 + (uint32_t)fs_rng_below(rng, list->n);
    for (uint32_t k = 0, start = (uint32_t)fs_rng_below(rng, 20); k < list->n;
         ++k) {
        list->id[k] = 100 + (start + 7 * k) % 20;
    }
}

static uint32_t lane_of_nic(uint32_t server, uint32_t nic)
{
    uint32_t l = 0;

    while (nic_of(fs_topo_rank(rails.topo, server,
                               fs_topo_proxy(rails.topo, server, l))) != nic) {
        ++l;
        ck_assert_uint_lt(l, fs_topo_n_lanes(rails.topo, server));
    }
    return l;
}

/* A rank has an entry of its own list; every NIC in use has one lane, that of
 * its first rank; no NIC idles that a rank on a shared one could use. */
START_TEST(prop_every_nic_has_its_lane)
{
    fs_rng_t rng;
    uint32_t users[64] = {0};
    uint32_t n;

    fs_rng_init(&rng, (uint64_t)_i);
    n = 1 + (uint32_t)fs_rng_below(&rng, MAX_RANKS);
    memset(&rails, 0, sizeof(rails));
    rails.n = n;
    ck_assert_int_eq(fs_topo_create(n, rails.server_of, 0, &rails.topo), FS_OK);
    for (uint32_t r = 0; r < n; ++r) {
        if (r > 0 && fs_rng_below(&rng, 3) > 0) {
            rails.list[r] = rails.list[r - 1];
        } else {
            random_list(&rng, &rails.list[r]);
        }
    }
    choose(true);
    for (uint32_t r = 0; r < n; ++r) {
        ck_assert(rails.choice[r] < rails.list[r].n);
        if (users[nic_of(r)]++ == 0) {
            ck_assert(fs_topo_lane(rails.topo, r) == lane_of_nic(0, nic_of(r)));
        } else {
            ck_assert(fs_topo_lane(rails.topo, r) == FS_NO_LANE);
        }
    }
    for (uint32_t r = 0; r < n; ++r) {
        for (uint32_t k = 0; k < rails.list[r].n; ++k) {
            ck_assert(users[nic_of(r)] == 1 ||
                      users[rails.list[r].id[k] - 100] > 0);
        }
    }
    for (uint32_t l = 1; l < fs_topo_n_lanes(rails.topo, 0); ++l) {
        ck_assert(fs_topo_proxy(rails.topo, 0, l - 1) <
                  fs_topo_proxy(rails.topo, 0, l));
    }
    fs_topo_destroy(rails.topo);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("rails");
    TCase *tcase = tcase_create("rails");

    tcase_add_test(tcase, unbound_ranks_take_blocks);
    tcase_add_test(tcase, bound_ranks_use_the_near_one);
    tcase_add_test(tcase, one_nic_for_all);
    tcase_add_loop_test(tcase, enough_nics, 0, 2);
    tcase_add_test(tcase, nobody_near);
    tcase_add_test(tcase, one_nic_each);
    tcase_add_test(tcase, lanes_by_parameter);
    tcase_add_test(tcase, unknown_nics);
    tcase_add_loop_test(tcase, prop_every_nic_has_its_lane, 0, 200);
    suite_add_tcase(suite, tcase);
    return fs_test_run(suite);
}
