/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/fs_unbundle.h"

#include "sched/model/fs_topo.h"

#include <string.h>

enum { BATCH = 64 }; /* copies to a device at a time */

typedef struct unbundle {
    const fs_comm_t *comm;
    const fs_call_t *call;
    fs_segment_t     batch[BATCH];
    uint32_t         n_batch;
} unbundle_t;

static fs_status_t copy_batch(unbundle_t *u)
{
    const fs_call_device_t *device = &u->call->device;
    uint32_t                n      = u->n_batch;

    u->n_batch = 0;
    return n == 0 ? FS_OK
                  : fs_accel_copy(device->accel, device->recv_mem, u->batch, n,
                                  false);
}

static fs_status_t copy_block(unbundle_t *u, uint32_t src, fs_bytes_t block)
{
    const fs_call_t *call = u->call;

    if (call->recv_block == NULL || call->recv_late) {
        return call->unpack(call->ctx, src, 0, block.len, block.at);
    }
    if (!fs_mem_is_device(call->device.recv_mem)) {
        memcpy(call->recv_block[src], block.at, block.len);
        return FS_OK;
    }
    u->batch[u->n_batch++] =
        (fs_segment_t){call->recv_block[src], block.at, block.len};
    return u->n_batch == BATCH ? copy_batch(u) : FS_OK;
}

/* What a pair of servers has to say in this call stands in bundles. */
static bool is_bundled(const fs_comm_t *comm, uint32_t src)
{
    size_t n    = comm->topo->n_servers;
    size_t from = comm->topo->server[src], to = comm->topo->server[comm->rank];

    return fs_control_rest(comm->control)[from * n + to] == 0;
}

fs_status_t fs_unbundle(const fs_request_t *request)
{
    const fs_comm_t *comm       = request->comm;
    const uint64_t  *recv_bytes = request->call->counts->recv_bytes;
    unbundle_t       u          = {.comm = comm, .call = request->call};
    fs_status_t      status     = FS_OK;
    fs_bytes_t       block;

    for (uint32_t r = 0; r < comm->topo->n_ranks && status == FS_OK; ++r) {
        if (recv_bytes[r] > 0 && is_bundled(comm, r)) {
            status = fs_control_block_of(comm->control, r, &block) &&
                             block.len == recv_bytes[r]
                         ? copy_block(&u, r, block)
                         : FS_ERR_TRUNCATE;
        }
    }
    return status == FS_OK ? copy_batch(&u) : status;
}
