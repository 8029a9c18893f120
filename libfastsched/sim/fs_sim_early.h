/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * What moves while ranks wait for others to enter a call: the library's own early
 * exchange (engine/fs_early.h) on every rank of a simulated cluster.
 *
 * Messages share NICs as in fs_sim.h. A word takes alpha_out, and so does a chunk
 * before its first byte; ranks answer at once, which takes no time. Ranks
 * learn that all have entered by an agreement, some time after the last entry, all of
 * them at the same moment. Two more follow when it is known what goes early, the
 * summary of the rest and the one on its plan, in which chunks may still arrive: the
 * rest begins when both are over. So what the rest could do while the last chunks are
 * on their way is not seen: times are at most (ready - planned) too long.
 */
#ifndef FS_SIM_EARLY_H
#define FS_SIM_EARLY_H

#include "sim/fs_sim.h"

/** A call. */
typedef struct fs_sim_early {
    const fs_topo_t *topo;
    const uint64_t  *rank_bytes; /**< [n_ranks x n_ranks] as for fs_bounds() */
    const uint64_t  *entry_ns;   /**< [n_ranks] from the first */
    uint64_t         max_chunk;  /**< bytes; above 0 */
    double           agreement;  /**< seconds */
} fs_sim_early_t;

/** What came out. Times are in seconds from the first entry. */
typedef struct fs_sim_early_result {
    double gathered; /**< all ranks know that all have entered */
    double settled;  /**< and what goes early */
    double arrived;  /**< the last early byte; 0: nothing went early */
    double planned;  /**< the ranks have agreed on the plan for the rest */
    double ready; /**< the rest begins: planned, or arrived if that is later */
    uint64_t chunk; /**< bytes */
    uint64_t bytes; /**< that went early */
    uint64_t n_words;
} fs_sim_early_result_t;

/**
 * @param[in]  params    As for fs_sim_create(); the inside of servers does not
 *                       matter, and span is not called.
 * @param[out] rest      [n_ranks x n_ranks] bytes that have not gone early; undefined
 *                       unless FS_OK.
 * @param[out] result_p  Set on FS_OK only.
 * @return FS_OK; FS_ERR_UNSUPPORTED (ranks cannot begin early on these servers:
 *         fs_early_can()); FS_ERR_INVAL (params); FS_ERR_OVERFLOW (the sum of all
 *         bytes passes 2^62); FS_ERR_NOMEM
 *
 * Memory: 0.7 kB for each pair of ranks. Time: a rank looks at all others for each
 * word and each chunk; with 1,024 ranks that takes 30 us.
 */
fs_status_t fs_sim_early_run(const fs_sim_early_t  *call,
                             const fs_sim_params_t *params, uint64_t *rest,
                             fs_sim_early_result_t *result_p);

#endif
