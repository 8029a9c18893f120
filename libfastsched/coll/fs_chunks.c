/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/fs_chunks.h"

#include "base/fs_arith.h"
#include "comm/fs_params.h"
#include "sched/model/fs_ports.h"

enum {
    /* Chunks of a stage: with fewer a receiver sees too late that it ends, and the
     * next one does not follow at once. */
    FEWEST = 6,
    FINEST = 4096, /* a chunk: in a shorter one start-up counts */
    ALIGN  = 64,
    /* Bytes of a stage that a NIC's queue holds, and where a chunk takes longer than a
     * millisecond; into how many chunks it is cut then, and how many of them are on
     * their way to a lane. */
    QUEUE        = 192 << 10,
    SLOW_QUEUE   = 256 << 10,
    FEWEST_SHORT = 4,
    LEAST_SHORT  = 8192, /* bytes of one, at most where NICs are slower */
    SHORT_WINDOW = 2
};

uint64_t fs_chunks_short(const fs_comm_t *comm)
{
    uint64_t bytes = fs_u64_max(comm->quarter, LEAST_SHORT);

    return comm->quarter > 0 && bytes < comm->params.chunk ? bytes : 0;
}

static uint64_t queue_bytes(const fs_comm_t *comm)
{
    return comm->quarter < comm->params.chunk / 4 ? SLOW_QUEUE : QUEUE;
}

/* A short stage would be in the queue of its sender's NIC as soon as it is granted.
 * Behind it would wait, if the NIC is slow, the grants for which the next stages of
 * others wait. So most of it is left with the sender: what is on its way is what a
 * NIC sends in half a millisecond, which hides the time that a grant takes. */
fs_plan_params_t fs_chunks_cut(const fs_request_t *request, bool coarse)
{
    const fs_comm_t *comm     = request->comm;
    fs_plan_params_t params   = fs_params_plan(&comm->params);
    uint64_t         bound    = request->outcome.bound;
    uint32_t         n_stages = fs_ports_most_peers(comm->topo);
    bool is_short = n_stages > 1 && bound <= n_stages * queue_bytes(comm) &&
                    fs_chunks_short(comm) > 0;
    uint64_t n_chunks = n_stages == 1 ? 1
                        : is_short    ? n_stages * FEWEST_SHORT
                                      : n_stages * FEWEST;
    uint64_t chunk    = fs_u64_div_up(bound, n_chunks * ALIGN) * ALIGN;

    chunk = fs_u64_min(chunk, is_short ? fs_chunks_short(comm) : params.chunk);
    params.chunk = fs_u64_min(fs_u64_max(chunk, FINEST), params.chunk);
    if (coarse) {
        params.chunk *= FS_TUNER_COARSE;
    } else if (is_short) {
        params.window = fs_u32_min(SHORT_WINDOW, params.window);
    }
    return params;
}
