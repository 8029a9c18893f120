/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/fs_unbundle.h"

#include "accel/fs_batch.h"
#include "sched/model/fs_topo.h"

static fs_status_t copy_block(const fs_call_t *call, fs_batch_t *batch,
                              uint32_t src, fs_bytes_t block)
{
    return call->recv_block == NULL || call->recv_late
               ? call->unpack(call->ctx, src, 0, block.len, block.at)
               : fs_batch_add(batch, call->recv_block[src], block.at,
                              block.len);
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
    const fs_call_t *call       = request->call;
    const uint64_t  *recv_bytes = call->counts->recv_bytes;
    fs_status_t      status     = FS_OK;
    fs_batch_t       batch;
    fs_bytes_t       block;

    fs_batch_begin(&batch, call->device.accel, call->device.recv_mem, false);
    for (uint32_t r = 0; r < comm->topo->n_ranks && status == FS_OK; ++r) {
        if (recv_bytes[r] > 0 && is_bundled(comm, r)) {
            status = fs_control_block_of(comm->control, r, &block) &&
                             block.len == recv_bytes[r]
                         ? copy_block(call, &batch, r, block)
                         : FS_ERR_TRUNCATE;
        }
    }
    return status == FS_OK ? fs_batch_end(&batch) : status;
}
