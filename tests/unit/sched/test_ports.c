/* SPDX-License-Identifier: BSD-3-Clause */
/* Ports: every lane is in one, tiles are shared evenly, and no line of the
 * matrix of ports passes the lower bound. */
#include "sched/model/fs_ports.h"
#include "fs_test_util.h"
#include "sched/model/fs_rng.h"
#include "sched/model/fs_topo.h"

#include <stdlib.h>

enum { MAX_RANKS = 40, CASES = 300 };

static fs_topo_t *random_topo(fs_rng_t *rng)
{
    uint32_t   label[MAX_RANKS];
    uint32_t   n       = 2 + (uint32_t)fs_rng_below(rng, MAX_RANKS - 1);
    uint32_t   servers = 1 + (uint32_t)fs_rng_below(rng, 6);
    uint32_t   lanes   = (uint32_t)fs_rng_below(rng, 9);
    fs_topo_t *topo    = NULL;

    for (uint32_t r = 0; r < n; ++r) {
        label[r] = (uint32_t)fs_rng_below(rng, servers);
    }
    ck_assert(fs_topo_create(n, label, lanes, &topo) == FS_OK);
    return topo;
}

/* Each pair is found by its ports, and no other. */
static void check_pairs(const fs_ports_t *ports, uint32_t u, uint32_t w)
{
    uint32_t n = fs_ports_pairs(ports, u, w), found = 0;

    for (uint32_t a = 0; a < fs_ports_of(ports, u); ++a) {
        for (uint32_t b = 0; b < fs_ports_of(ports, w); ++b) {
            uint32_t k = fs_ports_pair(ports, u, w, a, b);

            if (k < n) {
                ck_assert(k % fs_ports_of(ports, u) == a);
                ck_assert(k % fs_ports_of(ports, w) == b);
                ++found;
            }
        }
    }
    ck_assert(found == n);
}

/* Both servers share their lanes of a tile evenly, and may talk on all of them. */
static void check_lanes(const fs_topo_t *topo, const fs_ports_t *ports,
                        uint32_t u, uint32_t w)
{
    fs_arena_t      arena = {0};
    fs_tile_lanes_t lanes = fs_ports_lanes(ports, topo, u, w);
    uint32_t       *src   = fs_ports_proxies(ports, topo, u, &lanes, &arena);
    uint32_t       *dst   = fs_ports_proxies(ports, topo, w, &lanes, &arena);
    uint32_t        sent[MAX_RANKS] = {0}, received[MAX_RANKS] = {0};

    ck_assert(src != NULL && dst != NULL);
    ck_assert(lanes.n == fs_ports_pairs(ports, u, w) * ports->width);
    for (uint32_t l = 0; l < lanes.n; ++l) {
        uint32_t a = fs_topo_lane(topo, fs_topo_rank(topo, u, src[l]));
        uint32_t b = fs_topo_lane(topo, fs_topo_rank(topo, w, dst[l]));

        ck_assert(a != FS_NO_LANE && b != FS_NO_LANE);
        ++sent[a];
        ++received[b];
        ck_assert(fs_ports_talk(topo, u, w, a, b));
    }
    for (uint32_t a = 0; a < topo->n_lanes[u]; ++a) {
        ck_assert(sent[a] == lanes.n / topo->n_lanes[u]);
    }
    for (uint32_t b = 0; b < topo->n_lanes[w]; ++b) {
        ck_assert(received[b] == lanes.n / topo->n_lanes[w]);
    }
    ck_assert(lanes.shared ==
              (lanes.n > topo->n_lanes[u] || lanes.n > topo->n_lanes[w]));
    fs_arena_fini(&arena);
}

/* No two lanes talk that share no pair. */
static void check_silence(const fs_topo_t *topo, uint32_t n_lanes, uint32_t u,
                          uint32_t w)
{
    uint32_t talking = 0;

    for (uint32_t a = 0; a < topo->n_lanes[u]; ++a) {
        for (uint32_t b = 0; b < topo->n_lanes[w]; ++b) {
            talking += fs_ports_talk(topo, u, w, a, b);
        }
    }
    ck_assert(talking == n_lanes);
}

START_TEST(prop_random_servers)
{
    for (uint64_t k = 0; k < CASES; ++k) {
        fs_rng_t   rng;
        fs_arena_t arena = {0};
        fs_topo_t *topo;
        fs_ports_t ports;

        fs_rng_init(&rng, (uint64_t)_i * CASES + k);
        topo = random_topo(&rng);
        ck_assert(fs_ports_init(&ports, topo, &arena) == FS_OK);
        ck_assert(fs_ports_use_all_lanes(topo));
        for (uint32_t u = 0; u < topo->n_servers; ++u) {
            ck_assert(fs_ports_of(&ports, u) * ports.width == topo->n_lanes[u]);
            for (uint32_t w = 0; w < topo->n_servers; ++w) {
                check_pairs(&ports, u, w);
                check_lanes(topo, &ports, u, w);
                check_silence(topo, fs_ports_lanes(&ports, topo, u, w).n, u, w);
            }
        }
        fs_topo_destroy(topo);
        fs_arena_fini(&arena);
    }
}
END_TEST

/* Equal servers are ports, whatever their size. */
START_TEST(equal_servers)
{
    uint32_t   label[24];
    fs_arena_t arena = {0};
    fs_topo_t *topo  = NULL;
    fs_ports_t ports;

    for (uint32_t r = 0; r < 24; ++r) {
        label[r] = r / 8;
    }
    ck_assert_int_eq(fs_topo_create(24, label, 0, &topo), FS_OK);
    ck_assert_int_eq(fs_ports_init(&ports, topo, &arena), FS_OK);
    ck_assert_uint_eq(ports.n_ports, 3);
    ck_assert_uint_eq(ports.width, 8);
    ck_assert(!fs_ports_lanes(&ports, topo, 0, 2).shared);
    fs_topo_destroy(topo);
    fs_arena_fini(&arena);
}
END_TEST

/* One rank more than ports may be: then each server is one. */
START_TEST(too_many_ports)
{
    static uint32_t label[FS_MAX_UNEVEN_PORTS + 1];
    fs_arena_t      arena = {0};
    fs_topo_t      *topo  = NULL;
    fs_ports_t      ports;

    for (uint32_t r = 0; r <= FS_MAX_UNEVEN_PORTS; ++r) {
        label[r] = r == 0 ? 1 : r; /* ranks 0 and 1 share a server */
    }
    ck_assert_int_eq(fs_topo_create(FS_MAX_UNEVEN_PORTS, label, 0, &topo),
                     FS_OK);
    ck_assert_int_eq(fs_ports_init(&ports, topo, &arena), FS_OK);
    ck_assert_uint_eq(ports.n_ports, FS_MAX_UNEVEN_PORTS);
    ck_assert(fs_ports_use_all_lanes(topo));
    fs_topo_destroy(topo);
    ck_assert_int_eq(fs_topo_create(FS_MAX_UNEVEN_PORTS + 1, label, 0, &topo),
                     FS_OK);
    ck_assert_int_eq(fs_ports_init(&ports, topo, &arena), FS_OK);
    ck_assert_uint_eq(ports.n_ports, FS_MAX_UNEVEN_PORTS);
    ck_assert_uint_eq(ports.width, 0);
    ck_assert(!fs_ports_use_all_lanes(topo));
    ck_assert_uint_eq(fs_ports_of(&ports, 0), 1);
    ck_assert(fs_ports_talk(topo, 0, 1, 0, 0));
    ck_assert(!fs_ports_talk(topo, 0, 1, 1, 0));
    fs_topo_destroy(topo);
    fs_arena_fini(&arena);
}
END_TEST

START_TEST(peers_of_the_smallest)
{
    static const struct {
        const char *servers;
        uint32_t    n_ranks, lanes, peers;
    } rows[] = {{"1x4", 4, 0, 0},    {"4x4", 16, 0, 3},
                {"8x2", 16, 0, 7},   {"4+4+2+1", 11, 0, 10},
                {"4+4+2", 10, 0, 4}, {"4+4+2+1", 11, 1, 3}};

    for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); ++k) {
        uint32_t   server[16];
        char       why[256];
        fs_topo_t *topo = NULL;

        ck_assert_int_eq(fs_topo_parse(rows[k].servers, rows[k].n_ranks, server,
                                       why, sizeof(why)),
                         FS_OK);
        ck_assert(fs_topo_create(rows[k].n_ranks, server, rows[k].lanes,
                                 &topo) == FS_OK);
        ck_assert_uint_eq(fs_ports_most_peers(topo), rows[k].peers);
        fs_topo_destroy(topo);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ports");
    TCase *tcase = tcase_create("ports");

    tcase_add_loop_test(tcase, prop_random_servers, 0, 4);
    tcase_add_test(tcase, equal_servers);
    tcase_add_test(tcase, too_many_ports);
    tcase_add_test(tcase, peers_of_the_smallest);
    suite_add_tcase(suite, tcase);
    return fs_test_run(suite);
}
