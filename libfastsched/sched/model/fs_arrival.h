/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * When ranks enter a call: one definition for the benchmark and the simulator,
 * so that a word means the same entries in both.
 *
 * Pure and integer only: equal arguments give equal entries on every rank and
 * every platform.
 */
#ifndef FS_ARRIVAL_H
#define FS_ARRIVAL_H

#include "fastsched.h"

typedef enum fs_arrival_kind {
    FS_ARRIVAL_UNIFORM, /**< each at a random moment, up to the share */
    FS_ARRIVAL_LATE,    /**< one, the share after all others */
    FS_ARRIVAL_EXP      /**< exponentially distributed, the share is the mean */
} fs_arrival_kind_t;

/** What users may type, for error messages. */
#define FS_ARRIVAL_ALLOWED                                                    \
    "uniform:F, late:RANK:F or exp:F, with F from 0 to 100 as in 0.3, up to " \
    "three decimals"

typedef struct fs_arrival {
    fs_arrival_kind_t kind;
    uint32_t          rank;        /**< of FS_ARRIVAL_LATE; 0 otherwise */
    uint32_t          share_milli; /**< thousandths of the lower bound */
} fs_arrival_t;

/**
 * Read "uniform:0.3", "late:5:0.5", "exp:0.1".
 *
 * @param[out] arrival_p  Set on FS_OK only.
 * @return FS_OK; FS_ERR_INVAL: see FS_ARRIVAL_ALLOWED
 */
fs_status_t fs_arrival_parse(const char *text, fs_arrival_t *arrival_p);

/**
 * Draw the entries of one call.
 *
 * @param[in]  seed      Neighbouring seeds, and calls, give unrelated entries.
 * @param[in]  bound_ns  The call's lower bound, which shares are of; below 2^53.
 * @param[out] entry_ns  [n_ranks] from the first entry, which is 0.
 */
void fs_arrival_draw(const fs_arrival_t *arrival, uint64_t seed, uint64_t call,
                     uint32_t n_ranks, uint64_t bound_ns, uint64_t *entry_ns);

/** The last entry, from the first. */
uint64_t fs_arrival_last(const uint64_t *entry_ns, uint32_t n_ranks);

/**
 * What no algorithm can beat, from the first entry on: bytes move when both
 * their ranks have entered, over all lanes of their servers, and a lane carries
 * nothing before its rank has entered, or one that has no lane.
 *
 * @param[in]  rank_bytes  [n_ranks x n_ranks] row-major, [src][dst]; the sum
 *                         fits in 64 bits.
 * @param[in]  entry_ns    [n_ranks] from fs_arrival_draw().
 * @param[in]  rate        Of a lane, bits per second; above 0.
 * @param[out] bound_ns_p  Set on FS_OK only; rounded up.
 * @return FS_OK, FS_ERR_NOMEM. O(n_ranks^2).
 */
fs_status_t fs_arrival_bound(const fs_topo_t *topo, const uint64_t *rank_bytes,
                             const uint64_t *entry_ns, uint64_t rate,
                             uint64_t *bound_ns_p);

#endif
