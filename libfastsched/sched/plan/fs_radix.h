/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * Forwarding between servers in radix r (TuNA, Fan et al., HPDC 2025; with
 * r = 2 Bruck's algorithm).
 *
 * Each of N servers has one bundle for every other. The distance d = (w - u)
 * mod N from origin u to target w is written in base r, the lowest digit first.
 * Phase x moves a bundle by its digit x: a server sends one message for each
 * value z of the digit, to the server z * r^x further on, with all bundles at
 * hand whose digit x is z. With r >= N there is one phase, and every bundle goes
 * straight to its target.
 *
 * A bundle is at u + d mod r^x before phase x. So the server that has it there
 * knows the rows of sums of the r^x servers up to itself: its own, and those
 * that came with the messages of earlier phases. It sends those rows along that
 * the receiver lacks. They are the rows of the origins of all bundles in the
 * message, so that a message tells the receiver the length of each bundle; and
 * every row reaches every server exactly once.
 *
 * Pure and integer only.
 */
#ifndef FS_RADIX_H
#define FS_RADIX_H

#include "base/fs_arith.h"

/** A message of a server: the same for all servers. */
typedef struct fs_radix_message {
    uint32_t phase;
    uint32_t stride;      /**< r^phase */
    uint32_t hop;         /**< servers to the receiver: digit * stride; 0: there
                               was no message yet */
    uint32_t n_in_phase;  /**< messages of a server in this phase */
    uint32_t n_bundles;   /**< in it, 1 or more */
    uint32_t n_forwarded; /**< of these, from other servers */
    uint32_t n_rows;      /**< of sums in it: those of the sender and the
                               servers before it, nearest first */
} fs_radix_message_t;

/** What is in a message. */
typedef struct fs_radix_bundle {
    uint32_t origin; /**< server */
    uint32_t target;
} fs_radix_bundle_t;

/**
 * The next message of a server, in the order in which they are sent. Those of
 * one phase depend on earlier phases only.
 *
 * @param[in]     n_servers  N, 1 to 2^31.
 * @param[in]     radix      2 or more.
 * @param[in,out] message    All zero before the first one.
 * @return false if that was the last one
 */
bool fs_radix_next(uint32_t n_servers, uint32_t radix,
                   fs_radix_message_t *message);

/** The k-th bundle of a sender's message, k < n_bundles. */
fs_radix_bundle_t fs_radix_bundle(uint32_t n_servers, uint32_t radix,
                                  const fs_radix_message_t *message,
                                  uint32_t sender, uint32_t k);

/** So many parts, each by another lane, make up a message: where lanes are more
 *  than messages, they share them. */
static inline uint32_t fs_radix_parts(const fs_radix_message_t *message,
                                      uint32_t                  n_lanes)
{
    return fs_u32_max(
        1, fs_u32_min(n_lanes / message->n_in_phase, message->n_bundles));
}

/** What messages and copies cost (LogGP, Alexandrov et al., SPAA 1995). */
typedef struct fs_radix_cost {
    uint64_t overhead_ns; /**< o: of a message, for the processor at each end */
    uint64_t latency_ns;  /**< L */
    uint64_t gap_ns;      /**< g: between messages of one lane */
    uint64_t rate;        /**< 1 / G: of a lane, bytes per second; above 0 */
    uint64_t rate_copy;   /**< of a rank, bytes per second; above 0 */
    uint64_t block_ns;    /**< of each block that is copied, besides */
    uint64_t sync_ns;     /**< of a rank in a synchronisation of its server */
} fs_radix_cost_t;

/** What is exchanged. Servers may differ: then the largest counts. */
typedef struct fs_radix_load {
    uint32_t n_servers;    /**< 1 to 2^31 */
    uint32_t n_lanes;      /**< of a server, 1 or more */
    uint64_t bundle_bytes; /**< of one bundle, on average */
    uint64_t row_bytes;    /**< of a row of sums; 0: none travel */
} fs_radix_load_t;

/**
 * Time between the two synchronisations inside the servers, by the model: a
 * phase takes what its busiest processor or its busiest NIC needs, and once the
 * latency.
 *
 * @param[in] radix  2 or more.
 * @return nanoseconds; UINT64_MAX if it does not fit
 */
uint64_t fs_radix_time_ns(const fs_radix_cost_t *cost,
                          const fs_radix_load_t *load, uint32_t radix);

/**
 * The radix of the shortest time, from 2 to N; of several the largest, which
 * forwards least. 2 if there are fewer than two servers.
 *
 * Equal on all ranks that have equal arguments. Cost: about 0.1 us for each
 * server: 75 us for 1,024.
 */
uint32_t fs_radix_choose(const fs_radix_cost_t *cost,
                         const fs_radix_load_t *load);

#endif
