/* SPDX-License-Identifier: BSD-3-Clause */
/* Who sits where: numbers that do not depend on labels, lanes and proxies that
 * agree from both sides, and descriptions that are read exactly or refused. */
#include "sched/model/fs_topo.h"
#include "sched/model/fs_rng.h"
#include "fs_test_util.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_RANKS = 64 };

static fs_topo_t *create(uint32_t n, const uint32_t *server_of, uint32_t lanes)
{
    fs_topo_t *topo = NULL;

    ck_assert(fs_topo_create(n, server_of, lanes, &topo) == FS_OK);
    return topo;
}

/* ---- servers and local ranks ---- */

/* The definition, the slow way: a rank opens a server unless an earlier one
 * has its label. */
static void check_places(const fs_topo_t *topo, uint32_t n,
                         const uint32_t *label)
{
    uint32_t n_servers = 0, n_local[MAX_RANKS] = {0};

    for (uint32_t r = 0; r < n; ++r) {
        uint32_t first = 0, s;

        while (label[first] != label[r]) {
            ++first;
        }
        s = first == r ? n_servers++ : fs_topo_server(topo, first);
        ck_assert(fs_topo_server(topo, r) == s);
        ck_assert(fs_topo_local(topo, r) == n_local[s]);
        ck_assert(fs_topo_rank(topo, s, n_local[s]) == r);
        ++n_local[s];
    }
    ck_assert(fs_topo_n_ranks(topo) == n);
    ck_assert(fs_topo_n_servers(topo) == n_servers);
    for (uint32_t s = 0; s < n_servers; ++s) {
        ck_assert(fs_topo_n_local(topo, s) == n_local[s]);
    }
}

/* ---- lanes ---- */

static void check_server_lanes(const fs_topo_t *topo, uint32_t s,
                               uint32_t max_lanes)
{
    uint32_t n    = fs_topo_n_local(topo, s);
    uint32_t want = max_lanes == 0 || max_lanes > n ? n : max_lanes;
    uint32_t lane = 0;

    ck_assert(fs_topo_n_lanes(topo, s) == want);
    /* Walking the ranks meets the lanes in order, each once. */
    for (uint32_t i = 0; i < n; ++i) {
        uint32_t mine = fs_topo_lane(topo, fs_topo_rank(topo, s, i));

        if (mine != FS_NO_LANE) {
            ck_assert(mine == lane);
            ck_assert(fs_topo_proxy(topo, s, lane) == i);
            ++lane;
        }
    }
    ck_assert(lane == want);
}

/* Servers with fewer lanes use all of a server's alike; others begin with lane 0. */
static void check_first_lanes(const fs_topo_t *topo, uint32_t server)
{
    uint32_t n_lanes = fs_topo_n_lanes(topo, server), n_uses[MAX_RANKS] = {0};

    for (uint32_t u = 0; u < fs_topo_n_servers(topo); ++u) {
        uint32_t n     = fs_topo_n_lanes(topo, u);
        uint32_t first = fs_topo_first_lane(topo, server, u);

        ck_assert(n < n_lanes || first == 0);
        for (uint32_t k = 0; k < n && n < n_lanes; ++k) {
            ++n_uses[(first + k) % n_lanes];
        }
    }
    for (uint32_t k = 0; k < n_lanes; ++k) {
        ck_assert(n_uses[k] <= n_uses[0] && n_uses[k] + 1 >= n_uses[0]);
    }
}

static void check_lanes(const fs_topo_t *topo, uint32_t max_lanes)
{
    uint32_t n = fs_topo_n_servers(topo);

    for (uint32_t u = 0; u < n; ++u) {
        check_server_lanes(topo, u, max_lanes);
        check_first_lanes(topo, u);
        for (uint32_t w = 0; w < n; ++w) {
            uint32_t a = fs_topo_n_lanes(topo, u);
            uint32_t b = fs_topo_n_lanes(topo, w);

            ck_assert(fs_topo_tile_lanes(topo, u, w) == (a < b ? a : b));
        }
    }
}

/* Labels are hashes as often as small numbers. */
static uint32_t random_labels(fs_rng_t *rng, uint32_t *label)
{
    static const uint32_t special[] = {0, UINT32_MAX, 1, UINT32_MAX - 1};
    uint32_t              n        = 1 + (uint32_t)fs_rng_below(rng, MAX_RANKS);
    uint32_t              n_labels = 1 + (uint32_t)fs_rng_below(rng, n);
    uint32_t              salt     = (uint32_t)fs_rng_next(rng);
    bool                  dense    = fs_rng_below(rng, 2) == 0;

    for (uint32_t r = 0; r < n; ++r) {
        uint32_t k = (uint32_t)fs_rng_below(rng, n_labels);

        if (dense) {
            label[r] = k;
        } else {
            label[r] = k < 4 ? special[k] : k * 2654435761u ^ salt;
        }
    }
    return n;
}

START_TEST(prop_random_clusters)
{
    fs_rng_t rng;
    uint32_t label[MAX_RANKS];

    fs_rng_init(&rng, (uint64_t)_i);
    for (int k = 0; k < 8; ++k) {
        uint32_t n = random_labels(&rng, label);

        for (uint32_t lanes = 0; lanes <= n + 1; ++lanes) {
            fs_topo_t *topo = create(n, label, lanes);

            check_places(topo, n, label);
            check_lanes(topo, lanes);
            fs_topo_destroy(topo);
        }
    }
}
END_TEST

/* Every number of lanes on every size of server. */
START_TEST(lanes_of_one_server)
{
    static const uint32_t label[MAX_RANKS];
    uint32_t              n = (uint32_t)_i;

    for (uint32_t lanes = 0; lanes <= n + 1; ++lanes) {
        fs_topo_t *topo = create(n, label, lanes);

        check_lanes(topo, lanes);
        fs_topo_destroy(topo);
    }
}
END_TEST

START_TEST(lowest_rank_numbers_servers)
{
    static const uint32_t label[]  = {9, 9, 2, 7, 2, 0, 9, 7};
    static const uint32_t server[] = {0, 0, 1, 2, 1, 3, 0, 2};
    static const uint32_t local[]  = {0, 1, 0, 0, 1, 0, 2, 1};
    fs_topo_t            *topo     = create(8, label, 0);

    for (uint32_t r = 0; r < 8; ++r) {
        ck_assert_uint_eq(fs_topo_server(topo, r), server[r]);
        ck_assert_uint_eq(fs_topo_local(topo, r), local[r]);
        ck_assert_uint_eq(fs_topo_lane(topo, r), local[r]);
    }
    fs_topo_destroy(topo);
}
END_TEST

/* Two of four: the lanes are spread, not the first two. */
START_TEST(lanes_are_spread)
{
    static const uint32_t label[6] = {0, 0, 0, 0, 1, 1};
    static const uint32_t lane[6]  = {0, FS_NO_LANE, 1, FS_NO_LANE, 0, 1};
    fs_topo_t            *topo     = create(6, label, 2);

    for (uint32_t r = 0; r < 6; ++r) {
        ck_assert_uint_eq(fs_topo_lane(topo, r), lane[r]);
    }
    ck_assert_uint_eq(fs_topo_proxy(topo, 0, 0), 0);
    ck_assert_uint_eq(fs_topo_proxy(topo, 0, 1), 2);
    fs_topo_destroy(topo);
}
END_TEST

START_TEST(no_ranks_is_an_error)
{
    uint32_t   label = 0;
    fs_topo_t *topo  = NULL;

    ck_assert_int_eq(fs_topo_create(0, &label, 0, &topo), FS_ERR_INVAL);
    ck_assert_ptr_null(topo);
    fs_topo_destroy(NULL);
}
END_TEST

/* ---- descriptions ---- */

/* Exactly n entries from malloc: ASan sees a write past them. */
static fs_status_t parse(const char *text, uint32_t n, uint32_t *copy,
                         char *why, size_t why_len)
{
    uint32_t   *server_of = malloc((n + (n == 0)) * sizeof(*server_of));
    fs_status_t status;

    ck_assert_ptr_nonnull(server_of);
    memset(server_of, 0, n * sizeof(*server_of));
    status = fs_topo_parse(text, n, server_of, why, why_len);
    memcpy(copy, server_of, n * sizeof(*server_of));
    free(server_of);
    return status;
}

static const struct {
    const char *text;
    uint32_t    n;
    uint32_t    server_of[16];
} good[] = {
    {"4x4", 16, {0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3}},
    {"04x004", 16, {0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3}},
    {"2x3", 6, {0, 0, 0, 1, 1, 1}},
    {"3x2", 6, {0, 0, 1, 1, 2, 2}},
    {"1x1", 1, {0}},
    {"1x4", 4, {0, 0, 0, 0}},
    {"4x1", 4, {0, 1, 2, 3}},
    {"4+4+2+1", 11, {0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 3}},
    {"1+3", 4, {0, 1, 1, 1}},
    {"3", 3, {0, 0, 0}},
    {"@0,1,0,1", 4, {0, 1, 0, 1}},
    {"@5", 1, {5}},
    {"@7,7,3,900000,3", 5, {7, 7, 3, 900000, 3}},
    {"@4294967295,0", 2, {UINT32_MAX, 0}},
};
#define N_GOOD ((int)(sizeof(good) / sizeof(good[0])))

START_TEST(good_text)
{
    char     why[200] = "unchanged";
    uint32_t server_of[16];

    ck_assert_int_eq(
        parse(good[_i].text, good[_i].n, server_of, why, sizeof(why)), FS_OK);
    ck_assert_str_eq(why, "unchanged");
    for (uint32_t r = 0; r < good[_i].n; ++r) {
        ck_assert_uint_eq(server_of[r], good[_i].server_of[r]);
    }
}
END_TEST

/* Labels of a list may be sparse; servers are numbered as always. */
START_TEST(list_makes_a_topology)
{
    static const uint32_t server[] = {0, 1, 0, 2, 1};
    uint32_t              label[5];
    char                  why[200];
    fs_topo_t            *topo;

    ck_assert_int_eq(parse("@7,4000000000,7,0,4000000000", 5, label, why, 200),
                     FS_OK);
    topo = create(5, label, 0);
    for (uint32_t r = 0; r < 5; ++r) {
        ck_assert_uint_eq(fs_topo_server(topo, r), server[r]);
    }
    fs_topo_destroy(topo);
}
END_TEST

static const char *const malformed[] = {
    "",
    " ",
    "x",
    "4x",
    "x4",
    "0x4",
    "4x0",
    "4X4",
    " 4x4",
    "4x4 ",
    "4x4x4",
    "4x4+4",
    "4+4x4",
    "-4x-4",
    "+4x4",
    "4x+4",
    "0",
    "4+",
    "+4",
    "4++4",
    "4+0",
    "4+ 4",
    "4,4",
    "@",
    "@,0",
    "@0,",
    "@0,,1",
    "@0 1",
    "@0+1",
    "@-1",
    "@0;1",
    "@@0",
    "@a",
    "4+4@0",
    "0x10",
    "four",
    "4.0x4",
    "4x4\n",
    "@0x1",
    "1e1",
    "4294967296",
    "4294967296x1",
    "1x4294967296",
    "@4294967296",
    "99999999999999999999x1",
    "18446744073709551617",
    "1+18446744073709551620",
};
#define N_MALFORMED ((int)(sizeof(malformed) / sizeof(malformed[0])))

static void check_message(const char *why, const char *text, const char *says)
{
    char quoted[100];

    snprintf(quoted, sizeof(quoted), "\"%s\"", text);
    ck_assert_msg(strstr(why, quoted) == why, "%s", why);
    ck_assert_msg(strstr(why, says) != NULL, "%s", why);
    ck_assert_msg(strstr(why, "allowed: 4x4 ") != NULL, "%s", why);
    ck_assert_msg(strstr(why, "4+4+2+1") != NULL, "%s", why);
    ck_assert_msg(strstr(why, "@0,1,0,1") != NULL, "%s", why);
}

START_TEST(malformed_text_says_so)
{
    /* Whatever number of ranks there is, even one that would match. */
    for (uint32_t n = 1; n <= 16; ++n) {
        char     why[400] = "";
        uint32_t server_of[16];

        ck_assert_msg(parse(malformed[_i], n, server_of, why, sizeof(why)) ==
                          FS_ERR_INVAL,
                      "\"%s\" was read as %u ranks", malformed[_i], n);
        check_message(why, malformed[_i], "does not describe servers");
    }
}
END_TEST

static const struct {
    const char *text;
    uint32_t    n;
    const char *says;
} mismatched[] = {
    {"4x4", 15, "describes 16 ranks, but there are 15"},
    {"4x4", 17, "describes 16 ranks, but there are 17"},
    {"4x4", 4, "describes 16 ranks, but there are 4"},
    {"4+4+2+1", 10, "describes 11 ranks, but there are 10"},
    {"4+4+2+1", 12, "describes 11 ranks, but there are 12"},
    {"3", 4, "describes 3 ranks, but there are 4"},
    {"@0,1,0,1", 3, "describes 4 ranks, but there are 3"},
    {"@0,1,0,1", 5, "describes 4 ranks, but there are 5"},
    {"@0", 16, "describes 1 ranks, but there are 16"},
    /* Products and sums past 32 bits must not come back as small numbers. */
    {"65536x65536", 4, "describes 4294967296 ranks"},
    {"65537x65536", 16, "describes 4295032832 ranks"},
    {"4294967295x4294967295", 1, "describes 18446744065119617025 ranks"},
    {"4294967295+1", 1, "describes 4294967296 ranks"},
    {"4294967295+4294967295+3", 1, "describes 8589934593 ranks"},
};
#define N_MISMATCHED ((int)(sizeof(mismatched) / sizeof(mismatched[0])))

START_TEST(counts_that_do_not_match)
{
    char     why[400] = "";
    uint32_t server_of[20];

    ck_assert_int_eq(parse(mismatched[_i].text, mismatched[_i].n, server_of,
                           why, sizeof(why)),
                     FS_ERR_INVAL);
    check_message(why, mismatched[_i].text, mismatched[_i].says);
}
END_TEST

/* A short buffer gets the start of the line, and nothing behind it. */
START_TEST(short_buffers_hold)
{
    char     whole[400] = "", why[400];
    uint32_t server_of[4];

    parse("4x4", 4, server_of, whole, sizeof(whole));
    for (size_t len = 1; len < 40; ++len) {
        memset(why, '#', sizeof(why));
        ck_assert_int_eq(parse("4x4", 4, server_of, why, len), FS_ERR_INVAL);
        ck_assert_uint_eq(strlen(why), len - 1);
        ck_assert(memcmp(why, whole, len - 1) == 0);
        ck_assert(why[len] == '#');
    }
}
END_TEST

int main(void)
{
    Suite *suite  = suite_create("topo");
    TCase *places = tcase_create("places");
    TCase *text   = tcase_create("descriptions");

    tcase_add_loop_test(places, prop_random_clusters, 0, 24);
    tcase_add_loop_test(places, lanes_of_one_server, 1, MAX_RANKS + 1);
    tcase_add_test(places, lowest_rank_numbers_servers);
    tcase_add_test(places, lanes_are_spread);
    tcase_add_test(places, no_ranks_is_an_error);
    tcase_add_loop_test(text, good_text, 0, N_GOOD);
    tcase_add_test(text, list_makes_a_topology);
    tcase_add_loop_test(text, malformed_text_says_so, 0, N_MALFORMED);
    tcase_add_loop_test(text, counts_that_do_not_match, 0, N_MISMATCHED);
    tcase_add_test(text, short_buffers_hold);
    suite_add_tcase(suite, places);
    suite_add_tcase(suite, text);
    return fs_test_run(suite);
}
