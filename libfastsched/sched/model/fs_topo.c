/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ranks to servers and back.
 *
 * Labels may be anything (hostname hashes, the lowest rank of a host); servers
 * get the order in which their first rank appears, so that every rank numbers
 * them alike whatever the labels are.
 */
#include "sched/model/fs_topo.h"

#include "base/fs_arith.h"
#include "sched/model/fs_ports.h"

#include <stdlib.h>

static fs_topo_t *alloc_topo(uint32_t n_ranks)
{
    fs_topo_t *topo = calloc(1, sizeof(*topo));
    size_t     n    = n_ranks;

    if (topo == NULL) {
        return NULL;
    }
    topo->server = calloc(7 * n + 1, sizeof(*topo->server)); /* all arrays */
    if (topo->server == NULL) {
        free(topo);
        return NULL;
    }
    topo->n_ranks = n_ranks;
    topo->local   = topo->server + n;
    topo->ranks   = topo->local + n;
    topo->n_lanes = topo->ranks + n;
    topo->proxy   = topo->n_lanes + n;
    topo->lane    = topo->proxy + n;
    topo->first   = topo->lane + n;
    return topo;
}

typedef struct labelled {
    uint32_t label;
    uint32_t rank;
} labelled_t;

static int by_label(const void *a, const void *b)
{
    const labelled_t *x = a, *y = b;

    if (x->label != y->label) {
        return x->label < y->label ? -1 : 1;
    }
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

/* Leave in topo->server the lowest rank with the same label. */
static fs_status_t lowest_rank_of_label(fs_topo_t *topo, const uint32_t *label)
{
    labelled_t *sorted = malloc(topo->n_ranks * sizeof(*sorted));
    uint32_t    i, lowest = 0;

    if (sorted == NULL) {
        return FS_ERR_NOMEM;
    }
    for (i = 0; i < topo->n_ranks; ++i) {
        sorted[i] = (labelled_t){label[i], i};
    }
    qsort(sorted, topo->n_ranks, sizeof(*sorted), by_label);
    for (i = 0; i < topo->n_ranks; ++i) {
        if (i == 0 || sorted[i].label != sorted[i - 1].label) {
            lowest = sorted[i].rank;
        }
        topo->server[sorted[i].rank] = lowest;
    }
    free(sorted);
    return FS_OK;
}

/* From lowest ranks to server numbers and local positions. */
static void number_servers(fs_topo_t *topo)
{
    uint32_t *n_local = topo->n_lanes; /* borrowed until spread_lanes() */
    uint32_t  r, s;

    for (r = 0; r < topo->n_ranks; ++r) {
        s               = topo->server[r] == r ? topo->n_servers++
                                               : topo->server[topo->server[r]];
        topo->server[r] = s;
        topo->local[r]  = n_local[s]++;
    }
    for (s = 0; s < topo->n_servers; ++s) {
        topo->first[s + 1] = topo->first[s] + n_local[s];
    }
    for (r = 0; r < topo->n_ranks; ++r) {
        topo->ranks[topo->first[topo->server[r]] + topo->local[r]] = r;
    }
}

void fs_topo_set_lanes(fs_topo_t *topo, uint32_t server, uint32_t n_lanes,
                       const uint32_t *proxy)
{
    const uint32_t *ranks = fs_topo_ranks(topo, server);

    topo->n_lanes[server] = n_lanes;
    for (uint32_t i = 0; i < fs_topo_n_local(topo, server); ++i) {
        topo->lane[ranks[i]] = FS_NO_LANE;
    }
    for (uint32_t l = 0; l < n_lanes; ++l) {
        topo->proxy[topo->first[server] + l] = proxy[l];
        topo->lane[ranks[proxy[l]]]          = l;
    }
}

/* Lanes are spread evenly over the local ranks: with one per rank, lane l is
 * local rank l. */
static void spread_lanes(fs_topo_t *topo, uint32_t max_lanes)
{
    for (uint32_t s = 0; s < topo->n_servers; ++s) {
        uint32_t  n     = fs_topo_n_local(topo, s);
        uint32_t  lanes = max_lanes == 0 ? n : fs_u32_min(n, max_lanes);
        uint32_t *proxy = topo->proxy + topo->first[s];

        for (uint32_t l = 0; l < lanes; ++l) {
            proxy[l] = (uint32_t)((uint64_t)l * n / lanes);
        }
        fs_topo_set_lanes(topo, s, lanes, proxy);
    }
    fs_ports_set_width(topo);
}

fs_status_t fs_topo_create(uint32_t n_ranks, const uint32_t *server_of,
                           uint32_t max_lanes, fs_topo_t **topo_p)
{
    fs_topo_t  *topo;
    fs_status_t status;

    if (n_ranks == 0) {
        return FS_ERR_INVAL;
    }
    topo = alloc_topo(n_ranks);
    if (topo == NULL) {
        return FS_ERR_NOMEM;
    }
    status = lowest_rank_of_label(topo, server_of);
    if (status != FS_OK) {
        fs_topo_destroy(topo);
        return status;
    }
    number_servers(topo);
    spread_lanes(topo, max_lanes);
    *topo_p = topo;
    return FS_OK;
}

void fs_topo_destroy(fs_topo_t *topo)
{
    if (topo != NULL) {
        free(topo->server);
        free(topo);
    }
}

uint32_t fs_topo_n_ranks(const fs_topo_t *topo)
{
    return topo->n_ranks;
}

uint32_t fs_topo_n_servers(const fs_topo_t *topo)
{
    return topo->n_servers;
}

uint32_t fs_topo_server(const fs_topo_t *topo, uint32_t rank)
{
    return topo->server[rank];
}

uint32_t fs_topo_local(const fs_topo_t *topo, uint32_t rank)
{
    return topo->local[rank];
}

uint32_t fs_topo_n_local(const fs_topo_t *topo, uint32_t server)
{
    return topo->first[server + 1] - topo->first[server];
}

uint32_t fs_topo_rank(const fs_topo_t *topo, uint32_t server, uint32_t local)
{
    return topo->ranks[topo->first[server] + local];
}

uint32_t fs_topo_n_lanes(const fs_topo_t *topo, uint32_t server)
{
    return topo->n_lanes[server];
}

uint32_t fs_topo_proxy(const fs_topo_t *topo, uint32_t server, uint32_t lane)
{
    return topo->proxy[topo->first[server] + lane];
}

uint32_t fs_topo_lane(const fs_topo_t *topo, uint32_t rank)
{
    return topo->lane[rank];
}

uint32_t fs_topo_tile_lanes(const fs_topo_t *topo, uint32_t u, uint32_t w)
{
    return fs_u32_min(topo->n_lanes[u], topo->n_lanes[w]);
}

uint32_t fs_topo_first_lane(const fs_topo_t *topo, uint32_t server,
                            uint32_t other)
{
    uint32_t n = topo->n_lanes[server], sum = 0;

    for (uint32_t u = 0; u < other && topo->n_lanes[other] < n; ++u) {
        sum += topo->n_lanes[u] < n ? topo->n_lanes[u] : 0;
    }
    return sum % n;
}

uint32_t fs_topo_place(const fs_topo_t *topo, uint32_t server, uint32_t lane,
                       uint32_t other)
{
    uint32_t n = topo->n_lanes[server];

    return (lane + n - fs_topo_first_lane(topo, server, other)) % n;
}
