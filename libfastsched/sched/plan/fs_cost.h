/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a call should take, in the bytes that a lane could send meanwhile: a model,
 * with alpha the start-up cost of a message (params.stage_cost), N servers:
 *
 *   staged  A + 2 N alpha. A is the busiest line of the matrix of bytes per
 *           lane, which any schedule of one-to-one transfers takes at least. It
 *           is the lower bound, unless servers are so many and so uneven that
 *           lanes of the larger ones idle (fs_ports.h).
 *   pipe2d  3/2 B + 2 (N - 1) alpha. B is the most that one rank has to send or
 *           receive, or a lane on average. Its steps have no common length, so
 *           it does not reach B.
 *   bundles 9/8 L + alpha. All lanes share the bytes of every pair of servers, and
 *           all servers send to one at a time.
 *   native  5/4 (L + B) / 2 + 2 N alpha - alpha / 4. L is the lower bound, which
 *           it would take if its bytes met no skew and no others on their way; B
 *           as above, which the busiest rank takes alone. Half way, because skew
 *           costs nothing where the NICs are not what a call waits for. The rest
 *           makes a balanced call as cheap as a staged one where each lane has
 *           alpha bytes to send: 64 KiB by default.
 *
 * Where no lane idles, A is at most B and staged is cheaper than pipe2d whatever
 * the traffic: its balance moves no more bytes inside servers than rails do, and in
 * a lab of 4 x 4 ranks it took 1.08 times the lower bound on balanced traffic,
 * pipe2d 1.12. Otherwise, with servers of 4, 1, 1, 1 and 1 ranks, pipe2d took
 * 1.58 times the bound: hence 3/2. In the same lab the native algorithm took 1.04
 * to 1.3 times the bound on balanced traffic.
 *
 * traffic has its sums, and is that of the topology's servers, 2 or more; bound is
 * fs_traffic_lower_bound().
 */
#ifndef FS_COST_H
#define FS_COST_H

#include "base/fs_arith.h"
#include "fastsched.h"
#include "sched/model/fs_traffic.h"

fs_u128_t fs_cost_staged(const fs_topo_t *topo, const fs_traffic_t *traffic,
                         uint64_t bound, uint64_t alpha);
fs_u128_t fs_cost_pipe2d(const fs_topo_t *topo, const fs_traffic_t *traffic,
                         uint64_t bound, uint64_t alpha);
fs_u128_t fs_cost_bundles(uint64_t bound, uint64_t alpha);
fs_u128_t fs_cost_native(const fs_topo_t *topo, const fs_traffic_t *traffic,
                         uint64_t bound, uint64_t alpha);

/* How uneven the ranks of a server are: the busiest rank's bytes over the mean of
 * the ranks of the server that has the most per rank, in thousandths. Which server
 * the busiest rank is on is not known: it may be less than 1000. 0: nothing is
 * sent. */
uint64_t fs_cost_server_skew_milli(const fs_traffic_t *traffic,
                                   const fs_busiest_t *busiest);

#endif
