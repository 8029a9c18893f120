/* SPDX-License-Identifier: BSD-3-Clause */
#include "osu_arrival.h"

#include "sched/model/fs_rng.h"

#include <math.h>
#include <stdlib.h>

/* 0 to 1, both excluded. */
static double draw(fs_rng_t *rng)
{
    return ((double)(fs_rng_next(rng) >> 12) + 0.5) / (double)(1ULL << 52);
}

void osu_arrival_draw(const osu_arrival_t *arrival, uint64_t seed,
                      uint64_t iteration, uint32_t n_ranks, double bound_s,
                      double *delays)
{
    fs_rng_t rng;

    fs_rng_init(&rng, fs_digest_add(fs_mix64(seed), iteration));
    for (uint32_t r = 0; r < n_ranks; ++r) {
        double u = draw(&rng);

        switch (arrival->kind) {
        case OSU_TOGETHER:
            delays[r] = 0;
            break;
        case OSU_UNIFORM:
            delays[r] = u;
            break;
        case OSU_LATE:
            delays[r] = r == arrival->rank;
            break;
        case OSU_EXP:
            delays[r] = -log(u);
        }
        delays[r] *= arrival->share * bound_s;
    }
}

static double first_of(const double *delays, uint32_t n)
{
    double first = delays[0];

    for (uint32_t r = 1; r < n; ++r) {
        first = fmin(first, delays[r]);
    }
    return first;
}

double osu_arrival_spread(const double *delays, uint32_t n_ranks)
{
    double last = delays[0];

    for (uint32_t r = 1; r < n_ranks; ++r) {
        last = fmax(last, delays[r]);
    }
    return last - first_of(delays, n_ranks);
}

/* Ranks that have entered before rank r, in the order of their entries. */
static uint32_t n_before(const double *delays, uint32_t n, uint32_t r)
{
    uint32_t before = 0;

    for (uint32_t q = 0; q < n; ++q) {
        before += delays[q] < delays[r] || (delays[q] == delays[r] && q < r);
    }
    return before;
}

/* [n_servers x 2 x n] bytes of each server, sent and received, that can move from the
 * k-th entry on and not before. */
static void sort_bytes(const osu_cluster_t *cluster, const uint64_t *bytes,
                       const uint32_t *place, double *sums)
{
    uint32_t n = cluster->n_ranks;

    for (uint32_t src = 0; src < n; ++src) {
        for (uint32_t dst = 0; dst < n; ++dst) {
            uint32_t u     = fs_topo_server(cluster->topo, src);
            uint32_t v     = fs_topo_server(cluster->topo, dst);
            uint32_t k     = place[src] > place[dst] ? place[src] : place[dst];
            double   moves = (double)bytes[(size_t)src * n + dst];

            if (u != v) {
                sums[((size_t)2 * u) * n + k] += moves;
                sums[((size_t)2 * v + 1) * n + k] += moves;
            }
        }
    }
}

double osu_arrival_bound_s(const osu_cluster_t *cluster, const uint64_t *bytes,
                           const double *delays, double rate)
{
    uint32_t n = cluster->n_ranks, n_servers = fs_topo_n_servers(cluster->topo);
    uint32_t *place = calloc(n, sizeof(*place));
    double   *times = calloc(n, sizeof(*times));
    double   *sums  = calloc((size_t)2 * n_servers * n, sizeof(*sums));
    double    bound = place != NULL && times != NULL && sums != NULL ? 0 : NAN;

    if (!isnan(bound)) {
        for (uint32_t r = 0; r < n; ++r) {
            place[r]        = n_before(delays, n, r);
            times[place[r]] = delays[r] - first_of(delays, n);
        }
        sort_bytes(cluster, bytes, place, sums);
        for (uint32_t side = 0; side < 2 * n_servers; ++side) {
            double left = 0;
            double nics = fs_topo_n_lanes(cluster->topo, side / 2);

            for (uint32_t k = n; k-- > 0;) {
                left += sums[(size_t)side * n + k];
                if (left > 0) {
                    bound = fmax(bound, times[k] + left * 8 / rate / nics);
                }
            }
        }
    }
    free(place);
    free(times);
    free(sums);
    return bound;
}
