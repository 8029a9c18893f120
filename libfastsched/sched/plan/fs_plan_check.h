/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FS_PLAN_CHECK_H
#define FS_PLAN_CHECK_H

#include "fastsched.h"

/**
 * Prove the programs of all ranks from the traffic, sharing no code with their
 * makers: what one rank sends another receives; nothing waits for ever, however
 * slow the network and although wire messages keep plan order and window; no
 * two operations touch the same staging bytes without an order; every byte of
 * every block lands once, in its place, and crosses the wire at most once.
 *
 * For tests, debugging and "fastsched program --verify".
 *
 * @param[in]  topo, params  What the plans were made from.
 * @param[in]  rank_bytes    [n_ranks x n_ranks] row-major, [src][dst], bytes.
 * @param[in]  plans         [n_ranks]
 * @param[out] why           On FS_ERR_INVAL: one line that names rank and
 *                           operation and says what is wrong.
 * @param[in]  why_len       Bytes at why.
 * @return FS_OK; FS_ERR_INVAL (a plan is wrong); FS_ERR_NOMEM
 *
 * About 0.5 us per operation; memory 160 bytes each.
 */
fs_status_t fs_plan_check(const fs_topo_t *topo, const fs_plan_params_t *params,
                          const uint64_t *rank_bytes, fs_plan_t *const *plans,
                          char *why, size_t why_len);

#endif
