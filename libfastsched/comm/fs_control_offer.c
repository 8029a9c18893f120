/* SPDX-License-Identifier: BSD-3-Clause */
/* Small blocks: what a rank offers, and what it finds. */
#include "comm/fs_control_state.h"

#include "accel/fs_batch.h"
#include "base/fs_arith.h"
#include "base/fs_digest.h"
#include "sched/model/fs_topo.h"

#include <string.h>

/* A summary in the making. */
typedef struct offer {
    fs_control_t    *control;
    const fs_call_t *call;
    uint64_t         limit;
    uint64_t         used; /* bytes of the pool */
    fs_batch_t       batch;
} offer_t;

static fs_status_t copy_block(offer_t *o, uint32_t rank, char *dst)
{
    const fs_call_t *call = o->call;
    uint64_t         len  = call->counts->send_bytes[rank];

    return call->send_block == NULL || call->send_late
               ? call->pack(call->ctx, rank, 0, len, dst)
               : fs_batch_add(&o->batch, dst, call->send_block[rank], len);
}

static bool copy_part(offer_t *o, uint32_t server, char *part)
{
    const uint64_t *send_bytes = o->call->counts->send_bytes;
    const uint32_t *ranks      = fs_topo_ranks(o->control->topo, server);
    uint32_t        n          = fs_topo_n_local(o->control->topo, server);
    char           *at         = fs_part_begin(part, send_bytes, ranks, n);

    for (uint32_t k = 0; k < n; ++k) {
        uint64_t len = send_bytes[ranks[k]];

        if (len > 0 && copy_block(o, ranks[k], at) != FS_OK) {
            return false;
        }
        at += len;
    }
    return true;
}

/* Its length; FS_PART_NONE: there is none, or no room for it. */
static uint32_t make_part(offer_t *o, uint32_t server)
{
    const fs_control_t       *control = o->control;
    const fs_control_block_t *block   = &control->block;
    const uint64_t           *bytes   = o->call->counts->send_bytes;
    char    *pool = fs_control_block_pool(block, control->local);
    uint32_t len;

    if (o->call->counts->row[server] > o->limit ||
        o->call->device.consent != FS_CONSENT_YES) {
        return FS_PART_NONE;
    }
    len = fs_part_len(bytes, fs_topo_ranks(control->topo, server),
                      fs_topo_n_local(control->topo, server));
    return len == 0 ? 0
           : len == FS_PART_NONE || o->used + len > block->pool_bytes ||
                   !copy_part(o, server, pool + o->used)
               ? FS_PART_NONE
               : len;
}

/* The nearest servers first, the own one last. If copies from a device fail, there
 * are no parts. Returns the digest. */
static uint64_t make_parts(offer_t *o)
{
    fs_control_t      *control = o->control;
    fs_control_part_t *parts =
        fs_control_block_parts(&control->block, control->local);
    uint32_t n      = fs_topo_n_servers(control->topo);
    uint32_t p      = fs_topo_n_ranks(control->topo);
    uint64_t digest = 0;

    for (uint32_t k = 1; k <= n; ++k) {
        uint32_t v   = (control->server + k) % n;
        uint32_t len = make_part(o, v);

        parts[v] = (fs_control_part_t){(uint32_t)o->used, len};
        o->used += len == FS_PART_NONE ? 0 : len;
    }
    if (fs_batch_end(&o->batch) != FS_OK) {
        for (uint32_t v = 0; v < n; ++v) {
            parts[v].len = FS_PART_NONE;
        }
    }
    for (uint32_t v = 0; v < n; ++v) {
        digest +=
            fs_digest_pair(control->rank, p + v, parts[v].len == FS_PART_NONE);
    }
    return digest;
}

uint64_t fs_control_offer(fs_control_t *control, const fs_call_t *call,
                          uint64_t limit, bool coarse, uint64_t block_bytes)
{
    fs_control_block_t *block  = &control->block;
    const fs_counts_t  *counts = call->counts;
    size_t  p = fs_topo_n_ranks(control->topo), at = control->local * p;
    size_t  n = fs_topo_n_servers(control->topo);
    offer_t offer;

    offer.control = control;
    offer.call    = call;
    offer.used    = 0;
    fs_batch_begin(&offer.batch, call->device.accel, call->device.send_mem,
                   true);
    fs_control_block_turn(block);
    control->block_bytes = block_bytes;
    control->all_know = block_bytes > fs_u64_min(limit, control->bundle_most);
    control->limit    = control->all_share && !control->all_know
                            ? fs_u64_min(limit, block->bundle_bytes)
                            : 0;
    control->coarse   = coarse;
    offer.limit       = control->limit;
    memcpy(block->sends + at, counts->send_bytes, p * sizeof(uint64_t));
    memcpy(block->receives + at, counts->recv_bytes, p * sizeof(uint64_t));
    memcpy(fs_control_block_row(block, control->local) + FS_VOTE_LEN,
           counts->row, n * sizeof(uint64_t));
    return control->limit > 0 ? make_parts(&offer) : 0;
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
