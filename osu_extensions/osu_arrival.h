/* SPDX-License-Identifier: BSD-3-Clause */
/* When ranks enter a call: --arrival. */
#ifndef OSU_ARRIVAL_H
#define OSU_ARRIVAL_H

#include "osu_fast_options.h"
#include "osu_fast_util.h"

/* [n_ranks] seconds from the first possible entry to that of each rank, drawn from
 * the seed, the same on every rank. bound_s: the call's lower bound, which shares are
 * of. */
void osu_arrival_draw(const osu_arrival_t *arrival, uint64_t seed,
                      uint64_t iteration, uint32_t n_ranks, double bound_s,
                      double *delays);

/* From the first entry to the last, seconds. */
double osu_arrival_spread(const double *delays, uint32_t n_ranks);

/* What no algorithm can beat from the first entry on: bytes move when both their
 * ranks have entered, over all NICs of their servers. bytes: [n_ranks x n_ranks],
 * [src][dst]; rate: bits per second and NIC. Seconds; NAN: out of memory. */
double osu_arrival_bound_s(const osu_cluster_t *cluster, const uint64_t *bytes,
                           const double *delays, double rate);

#endif
