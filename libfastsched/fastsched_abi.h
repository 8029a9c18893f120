/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * libfastsched: does the library that was loaded match the headers that a program
 * was built with? Callers lay out structs, so a program checks before anything
 * else. The plugins need not: they contain the library.
 */
#ifndef FASTSCHED_ABI_H
#define FASTSCHED_ABI_H

#include "fastsched_frame.h"
#include "fastsched_pattern.h"
#include "fastsched_sim.h"
#include "fastsched_straggler.h"
#include "fastsched_wrapper.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Grows when a call, or the meaning of a field, changes; sizes speak for
 *  themselves. */
#define FS_ABI_VERSION 1

/** Sizes of the structs that callers lay out or look into. */
typedef struct fs_abi {
    uint32_t version;
    uint32_t sizes[21];
} fs_abi_t;

/** As these headers have it. */
static inline fs_abi_t fs_abi(void)
{
    fs_abi_t abi = {FS_ABI_VERSION,
                    {sizeof(fs_traffic_t),    sizeof(fs_bounds_t),
                     sizeof(fs_transfer_t),   sizeof(fs_schedule_t),
                     sizeof(fs_hierarchy_t),  sizeof(fs_plan_params_t),
                     sizeof(fs_choice_t),     sizeof(fs_op_t),
                     sizeof(fs_plan_t),       sizeof(fs_local_traffic_t),
                     sizeof(fs_params_t),     sizeof(fs_host_p2p_t),
                     sizeof(fs_host_t),       sizeof(fs_member_t),
                     sizeof(fs_call_t),       sizeof(fs_coll_stats_t),
                     sizeof(fs_sim_params_t), sizeof(fs_sim_result_t),
                     sizeof(fs_frame_t),      sizeof(fs_straggler_t),
                     sizeof(fs_wrapper_t)}};

    return abi;
}

/**
 * Pass fs_abi(). Pure.
 *
 * @return NULL: program and library match; else one line that says what to do.
 *         Static.
 */
const char *fs_abi_mismatch(fs_abi_t abi);

#ifdef __cplusplus
}
#endif

#endif
