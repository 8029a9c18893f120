/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * Small calls: what counts is the start-up cost of messages, which fs_sim.h
 * takes to hide behind other messages, and copies of tiny blocks.
 *
 * The network is LogGP's (Alexandrov et al., SPAA 1995), its numbers per lane:
 *
 *   o  A rank's processor is busy for each message that it sends or receives.
 *   g  A NIC begins a message this much after the last one, or after the bytes
 *      of that one if they take longer. Each lane is a NIC, full duplex.
 *   L  The first byte arrives this much after it left.
 *
 * Messages of one lane leave and arrive in the order in which the algorithm
 * names them. Only starts and ends of messages are looked at, no programs are
 * walked, so that 65,536 ranks take less than a second; servers that are alike
 * are simulated once.
 *
 * Not in it: what happens when buffers of NICs or switches overflow, matching
 * of messages that nobody waits for yet, memory bandwidth that the ranks of a
 * server share. All of these count against many small messages.
 */
#ifndef FS_SIM_LOGGP_H
#define FS_SIM_LOGGP_H

#include "fastsched.h"

/** Times in seconds, up to 1e6; rates in bytes per second and direction, 1 to
 *  1e18. */
typedef struct fs_sim_loggp {
    double overhead;   /**< o */
    double latency;    /**< L, between servers */
    double latency_up; /**< of a message inside a server */
    double gap;        /**< g */
    double rate_out;   /**< 1 / G, of a lane */
    double rate_copy;  /**< of copies of a rank */
    double block;      /**< of each block that is copied, besides */
    double sync;       /**< a synchronisation of ranks takes so much for each */
} fs_sim_loggp_t;

/** An exchange. */
typedef struct fs_sim_blocks {
    const fs_topo_t *topo;
    const uint64_t  *rank_bytes; /**< [n_ranks x n_ranks] row-major, [src][dst];
                                      NULL: all pairs have `bytes` */
    uint64_t         bytes;
} fs_sim_blocks_t;

/** What came out. */
typedef struct fs_sim_small {
    double   time;     /**< seconds, of all */
    double   copy_in;  /**< of which: until the last server's ranks have put
                             their blocks into the segment */
    double   network;  /**< until the last server has all its bundles */
    double   copy_out; /**< until the last rank has its blocks */
    double   model;    /**< fs_radix_time_ns(), to set beside network */
    uint32_t radix;    /**< 0: nothing was forwarded or bundled */
    uint32_t n_phases;
    uint64_t n_messages;   /**< between servers */
    uint64_t wire_bytes;   /**< between servers, headers and what is forwarded
                              included */
    uint64_t header_bytes; /**< of these, rows of sums */
} fs_sim_small_t;

/**
 * Rank to rank, as MPI libraries do: rank r sends to r + 1, r + 2, ..., so many
 * messages at a time; the next ones once all of these are sent and as many
 * received. Empty blocks are left out. In favour of this one, messages between
 * servers are not copied on their way through the MPI.
 *
 * @param[in]  batch     Messages at a time, 1 or more. MPICH has 32
 *                       (MPIR_CVAR_ALLTOALL_THROTTLE); 1 is pairwise.
 * @param[out] result_p  Set on FS_OK only. Its parts are 0.
 * @return FS_OK; FS_ERR_INVAL (a number out of range); FS_ERR_NOMEM
 *
 * Cost: some 10 ns for each message; if all pairs and all servers are alike,
 * only for those of one server.
 */
fs_status_t fs_sim_direct(const fs_sim_blocks_t *blocks,
                          const fs_sim_loggp_t *params, uint32_t batch,
                          fs_sim_small_t *result_p);

/**
 * Bundles: the ranks of a server put their blocks into a shared segment and wait
 * for each other; each lane's rank sends bundles (sched/plan/fs_radix.h); once a
 * server has all of its own, its ranks copy their blocks out.
 *
 * Bundles of a message that came from elsewhere are copied together first, by
 * the rank that sends it. Lanes wait for each other between phases.
 *
 * @param[in]  radix      2 or more; 0: fs_radix_choose() does, with the mean
 *                        bundle of the server that sends or receives most.
 * @param[in]  sum_bytes  Of each of the N sums in a row; 0: no rows travel.
 * @param[out] result_p   Set on FS_OK only.
 * @return FS_OK; FS_ERR_INVAL (a number out of range); FS_ERR_OVERFLOW (the
 *         bytes of a server); FS_ERR_NOMEM
 *
 * Cost: some 10 ns for each message and each bundle in it; if all pairs and all
 * servers are alike, only for those of one server.
 */
fs_status_t fs_sim_bundles(const fs_sim_blocks_t *blocks,
                           const fs_sim_loggp_t *params, uint32_t radix,
                           uint32_t sum_bytes, fs_sim_small_t *result_p);

#endif
