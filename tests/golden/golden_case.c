/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs one golden case: reads it on stdin, prints what the library makes of it.
 *
 *   # text             for people
 *   servers 3x2        as fs_topo_parse()
 *   ranks 6
 *   unit 1024          every number of the matrix times this many bytes
 *   matrix             n_ranks rows of n_ranks numbers follow, [src][dst]
 *   says NAME NUMBER   what the paper says, in units; after the matrix
 *
 * Exit status 1 and a message if the paper is contradicted, 2 for a bad case.
 * That the rest stays what it was is for the caller to compare.
 */
#include "fastsched.h"
#include "sched/balance/fs_balance.h"
#include "sched/papers/fs_hierarchy.h"
#include "sched/papers/fs_papers.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_RANKS = 64, MAX_LINE = 4096 };

typedef struct golden {
    uint32_t   n_ranks;
    uint64_t   unit;
    char       servers[256];
    fs_topo_t *topo;
    uint64_t   bytes[MAX_RANKS * MAX_RANKS];
} golden_t;

static void must(bool ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "golden_case: %s\n", what);
        exit(2);
    }
}

/* ---- reading ---- */

static void read_matrix(golden_t *g)
{
    uint32_t server_of[MAX_RANKS];
    char     why[300] = "";

    must(g->n_ranks > 0 && g->n_ranks <= MAX_RANKS, "how many ranks?");
    must(g->unit > 0, "which unit?");
    for (uint32_t k = 0; k < g->n_ranks * g->n_ranks; ++k) {
        must(scanf("%" SCNu64, &g->bytes[k]) == 1, "a number is missing");
        g->bytes[k] *= g->unit;
    }
    must(fs_topo_parse(g->servers, g->n_ranks, server_of, why, sizeof(why)) ==
             FS_OK,
         why);
    must(fs_topo_create(g->n_ranks, server_of, 0, &g->topo) == FS_OK,
         "no topology");
}

/* ---- what the library says ---- */

static fs_schedule_t *schedule_of(const golden_t *g, fs_decompose_t how)
{
    uint32_t       n        = fs_topo_n_servers(g->topo);
    uint64_t      *per_lane = calloc((size_t)n * n, sizeof(*per_lane));
    fs_schedule_t *schedule = NULL;

    must(per_lane != NULL, "out of memory");
    for (uint32_t i = 0; i < g->n_ranks; ++i) {
        for (uint32_t j = 0; j < g->n_ranks; ++j) {
            per_lane[fs_topo_server(g->topo, i) * n +
                     fs_topo_server(g->topo, j)] +=
                g->bytes[i * g->n_ranks + j];
        }
    }
    for (uint32_t k = 0; k < n * n; ++k) {
        per_lane[k] /= fs_topo_n_lanes(g->topo, k / n);
    }
    must(fs_schedule_create(how, 0, n, per_lane, FS_ALL_SERVERS, &schedule) ==
             FS_OK,
         "no schedule");
    free(per_lane);
    return schedule;
}

/* Bytes that servers gather when they are balanced as in FAST §4.1. */
static uint64_t gathered(const golden_t *g)
{
    uint64_t gather, redist;

    must(fs_balance_moves(g->topo, FS_BALANCE_EQUALIZE, g->bytes, &gather,
                          &redist) == FS_OK,
         "no balance");
    return gather;
}

static uint64_t hierarchy_total(const golden_t *g)
{
    fs_hierarchy_t *hierarchy;
    uint64_t        total;

    must(fs_hierarchy_create(g->topo, false, g->bytes, &hierarchy) == FS_OK,
         "no hierarchy");
    total = hierarchy->total;
    fs_hierarchy_destroy(hierarchy);
    return total;
}

static fs_bounds_t bounds_of(const golden_t *g)
{
    fs_bounds_t bounds;

    must(fs_bounds(g->topo, g->bytes, &bounds) == FS_OK, "no bounds");
    return bounds;
}

static uint64_t total_of(const golden_t *g, fs_decompose_t how)
{
    fs_schedule_t *schedule = schedule_of(g, how);
    uint64_t       total    = schedule->total;

    fs_schedule_destroy(schedule);
    return total;
}

/* ---- what the paper says ---- */

static uint64_t value(const golden_t *g, const char *name)
{
    fs_bounds_t b = bounds_of(g);

    if (strcmp(name, "rank_send") == 0) {
        return b.rank_send;
    }
    if (strcmp(name, "rank_recv") == 0) {
        return b.rank_recv;
    }
    if (strcmp(name, "server_send") == 0) {
        return b.server_send;
    }
    if (strcmp(name, "server_recv") == 0) {
        return b.server_recv;
    }
    if (strcmp(name, "equalize_gather") == 0) {
        return gathered(g);
    }
    if (strcmp(name, "hierarchy") == 0) {
        return hierarchy_total(g);
    }
    for (int how = FS_DECOMPOSE_COMPACT; how < FS_N_ALL_DECOMPOSITIONS; ++how) {
        if (strcmp(name, fs_decompose_name((fs_decompose_t)how)) == 0) {
            return total_of(g, (fs_decompose_t)how);
        }
    }
    must(false, "says what?");
    return 0;
}

static bool agrees(const golden_t *g, const char *name, uint64_t number)
{
    uint64_t ours = value(g, name);

    printf("%s %" PRIu64 "\n", name, ours / g->unit);
    if (ours == number * g->unit) {
        return true;
    }
    fprintf(stderr,
            "golden_case: %s is %" PRIu64 " units and %" PRIu64
            " bytes, the paper says %" PRIu64 "\n",
            name, ours / g->unit, ours % g->unit, number);
    return false;
}

/* ---- all of it ---- */

static void print_schedule(const golden_t *g, fs_decompose_t how)
{
    fs_schedule_t *s = schedule_of(g, how);

    printf("%s: bound %" PRIu64 ", total %" PRIu64 ", %u stages\n",
           fs_decompose_name(how), s->lower_bound / g->unit, s->total / g->unit,
           s->n_stages);
    for (size_t k = 0; k < s->n_transfers; ++k) {
        const fs_transfer_t *t = &s->transfers[k];

        printf("  at %" PRIu64 ": %u to %u, %" PRIu64 "\n", t->start / g->unit,
               t->src, t->dst, t->bytes / g->unit);
    }
    fs_schedule_destroy(s);
}

int main(void)
{
    static golden_t g;
    char            word[32];
    bool            ok = true;

    while (scanf("%31s", word) == 1) {
        char     name[32];
        uint64_t number;

        if (word[0] == '#') {
            must(scanf("%*[^\n]") >= 0, "a comment without an end");
        } else if (strcmp(word, "servers") == 0) {
            must(scanf("%255s", g.servers) == 1, "which servers?");
        } else if (strcmp(word, "ranks") == 0) {
            must(scanf("%" SCNu32, &g.n_ranks) == 1, "how many ranks?");
        } else if (strcmp(word, "unit") == 0) {
            must(scanf("%" SCNu64, &g.unit) == 1, "which unit?");
        } else if (strcmp(word, "matrix") == 0) {
            read_matrix(&g);
        } else if (strcmp(word, "says") == 0) {
            must(g.topo != NULL, "the matrix goes first");
            must(scanf("%31s %" SCNu64, name, &number) == 2, "says what?");
            ok &= agrees(&g, name, number);
        } else {
            must(false, word);
        }
    }
    must(g.topo != NULL, "there is no matrix");
    print_schedule(&g, FS_DECOMPOSE_SPREADOUT);
    print_schedule(&g, FS_DECOMPOSE_BIRKHOFF);
    fs_topo_destroy(g.topo);
    return ok ? 0 : 1;
}
