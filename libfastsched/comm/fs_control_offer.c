/* SPDX-License-Identifier: BSD-3-Clause */
/* Small blocks: what a rank offers, and what it finds. */
#include "comm/fs_control_state.h"

#include "accel/fs_accel.h"
#include "base/fs_digest.h"
#include "sched/model/fs_topo.h"

#include <string.h>

static bool copy_part(const fs_control_t *control, const fs_call_t *call,
                      uint32_t server, char *part)
{
    const uint64_t *send_bytes = call->counts->send_bytes;
    const uint32_t *ranks      = fs_topo_ranks(control->topo, server);
    uint32_t        n          = fs_topo_n_local(control->topo, server);
    char           *at         = fs_part_begin(part, send_bytes, ranks, n);

    for (uint32_t k = 0; k < n; ++k) {
        uint64_t len = send_bytes[ranks[k]];

        if (len > 0 && call->send_block != NULL && !call->send_late) {
            memcpy(at, call->send_block[ranks[k]], len);
        } else if (len > 0 &&
                   call->pack(call->ctx, ranks[k], 0, len, at) != FS_OK) {
            return false;
        }
        at += len;
    }
    return true;
}

/* No parts of bytes that the CPU cannot read. */
static bool can_offer(const fs_call_t *call)
{
    return call->device.consent == FS_CONSENT_YES &&
           !fs_mem_is_device(call->device.send_mem);
}

/* The part for a server, at pool bytes used; what is used then. */
static uint64_t offer_part(fs_control_t *control, const fs_call_t *call,
                           uint32_t server, uint64_t limit, uint64_t used)
{
    fs_control_block_t *block = &control->block;
    fs_control_part_t  *part =
        &fs_control_block_parts(block, control->local)[server];
    char *pool = fs_control_block_pool(block, control->local);

    *part = (fs_control_part_t){(uint32_t)used, FS_PART_NONE};
    if (call->counts->row[server] <= limit && can_offer(call)) {
        part->len = fs_part_len(call->counts->send_bytes,
                                fs_topo_ranks(control->topo, server),
                                fs_topo_n_local(control->topo, server));
    }
    if (part->len != FS_PART_NONE && part->len > 0 &&
        (used + part->len > block->pool_bytes ||
         !copy_part(control, call, server, pool + used))) {
        part->len = FS_PART_NONE;
    }
    return part->len == FS_PART_NONE ? used : used + part->len;
}

uint64_t fs_control_offer(fs_control_t *control, const fs_call_t *call,
                          uint64_t limit)
{
    fs_control_block_t *block  = &control->block;
    const fs_counts_t  *counts = call->counts;
    size_t   p = fs_topo_n_ranks(control->topo), at = control->local * p;
    uint32_t n    = fs_topo_n_servers(control->topo);
    uint64_t used = 0, digest = 0;

    fs_control_block_turn(block);
    control->limit = control->all_share && block->bundle_bytes > 0 ? limit : 0;
    memcpy(block->sends + at, counts->send_bytes, p * sizeof(uint64_t));
    memcpy(block->receives + at, counts->recv_bytes, p * sizeof(uint64_t));
    memcpy(fs_control_block_row(block, control->local) + FS_VOTE_LEN,
           counts->row, n * sizeof(uint64_t));
    for (uint32_t k = 1; k <= n && control->limit > 0; ++k) {
        uint32_t v = (control->server + k) % n;

        used = offer_part(control, call, v, control->limit, used);
        digest += fs_digest_pair(
            control->rank, (uint32_t)p + v,
            fs_control_block_parts(block, control->local)[v].len ==
                FS_PART_NONE);
    }
    return digest;
}

fs_bytes_t fs_control_part_of(const fs_control_t *control, uint32_t local,
                              uint32_t server)
{
    const fs_control_part_t *part =
        &fs_control_block_parts(&control->block, local)[server];

    return (fs_bytes_t){
        fs_control_block_pool(&control->block, local) + part->at, part->len};
}

bool fs_control_block_of(const fs_control_t *control, uint32_t src,
                         fs_bytes_t *block_p)
{
    uint32_t    server = fs_topo_server(control->topo, src);
    uint32_t    local  = fs_topo_local(control->topo, src);
    const char *inbox;
    fs_bytes_t  part, bundle;

    if (server == control->server) {
        part = fs_control_part_of(control, local, server);
    } else {
        inbox  = fs_control_block_inbox(&control->block, server);
        bundle = (fs_bytes_t){inbox + fs_control_head_len(control->topo),
                              ((const fs_control_head_t *)inbox)->bundle_len};
        if (!fs_bundle_find(bundle, fs_topo_n_local(control->topo, server),
                            local, &part)) {
            return false;
        }
    }
    return fs_part_find(part, control->n_local, control->local, block_p);
}
