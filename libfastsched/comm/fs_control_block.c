/* SPDX-License-Identifier: BSD-3-Clause */
/* Where things stand in the control block, and how messages carry them. */
#include "comm/fs_control_block.h"

#include "base/fs_arith.h"

#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(fs_control_part_t) == sizeof(uint64_t),
               "a part is a number of the block");

/* ---- lengths, in numbers ---- */

static size_t lines(size_t len)
{
    return fs_u64_div_up(len, FS_CONTROL_BLOCK_LINE) * FS_CONTROL_BLOCK_LINE;
}

static size_t len_of(uint64_t bytes)
{
    return lines(fs_u64_div_up(bytes, sizeof(uint64_t)));
}

static size_t matrix_len(const fs_topo_t *topo)
{
    return (size_t)fs_topo_n_servers(topo) * fs_topo_n_servers(topo);
}

static size_t row_len(const fs_control_block_t *block, bool summary)
{
    return FS_VOTE_LEN + (summary ? fs_topo_n_servers(block->topo) : 0);
}

static size_t slot_len(const fs_topo_t *topo)
{
    return lines(1 + FS_VOTE_LEN + fs_topo_n_servers(topo));
}

static size_t counts_len(const fs_control_block_t *block)
{
    return (size_t)block->n_local * fs_topo_n_ranks(block->topo);
}

/* Up to the parts. */
static size_t numbers_len(const fs_control_block_t *block)
{
    return lines(FS_VOTE_LEN + 2 * matrix_len(block->topo) +
                 2 * counts_len(block));
}

static size_t parts_len(const fs_control_block_t *block)
{
    return lines((size_t)block->n_local * fs_topo_n_servers(block->topo));
}

static size_t summary_len(const fs_control_block_t *block)
{
    size_t n = fs_topo_n_servers(block->topo);

    return numbers_len(block) + parts_len(block) +
           len_of(block->n_local * block->pool_bytes) +
           len_of(n * fs_control_block_inbox_len(block));
}

static size_t block_len(const fs_control_block_t *block, size_t n_sets)
{
    size_t n = fs_topo_n_servers(block->topo);

    return FS_CONTROL_BLOCK_LINE + block->n_local * slot_len(block->topo) +
           (size_t)block->n_local * FS_CONTROL_BLOCK_LINE + lines(n) +
           2 * lines(n * FS_VOTE_LEN) + n_sets * summary_len(block);
}

/* ---- the block ---- */

/* Half of the memory is for inboxes, half for pools, and each holds two sets. */
uint64_t fs_control_bundle_bytes(const fs_topo_t *topo, uint32_t server,
                                 uint64_t bundle_memory)
{
    enum { LARGEST = 2048 << 10 };
    uint64_t all = bundle_memory * fs_topo_n_local(topo, server);

    return fs_u64_min(all / 4 / fs_topo_n_servers(topo), LARGEST) / 64 * 64;
}

/* Bytes of blocks in a bundle from server u to v, at most: each of the two has to have
 * the memory. */
static uint64_t room_between(const fs_topo_t *topo, uint32_t u, uint32_t v,
                             uint64_t bundle_memory)
{
    uint32_t n     = fs_topo_n_local(topo, u);
    uint64_t front = fs_bundle_ends_len(n) +
                     n * fs_part_front_max(fs_topo_n_local(topo, v));
    uint64_t bytes =
        fs_u64_min(fs_control_bundle_bytes(topo, u, bundle_memory),
                   fs_control_bundle_bytes(topo, v, bundle_memory));

    return bytes > front ? bytes - front : 0;
}

bool fs_control_bundles_fit(const fs_topo_t *topo, const uint64_t *bytes,
                            uint64_t bundle_memory)
{
    uint32_t n = fs_topo_n_servers(topo);

    for (uint32_t u = 0; u < n; ++u) {
        for (uint32_t v = 0; v < n; ++v) {
            if (bytes[(size_t)u * n + v] >
                room_between(topo, u, v, bundle_memory)) {
                return false;
            }
        }
    }
    return true;
}

static fs_control_block_t describe(const fs_topo_t *topo, uint32_t server,
                                   uint64_t bundle_memory)
{
    uint64_t each = fs_control_bundle_bytes(topo, server, bundle_memory);

    return (fs_control_block_t){
        .topo         = topo,
        .n_local      = fs_topo_n_local(topo, server),
        .bundle_bytes = each,
        .pool_bytes   = fs_u64_min(bundle_memory / 4 / 64 * 64,
                                   fs_topo_n_servers(topo) * each),
    };
}

size_t fs_control_block_bytes(const fs_topo_t *topo, uint32_t server,
                              uint64_t bundle_memory)
{
    fs_control_block_t block = describe(topo, server, bundle_memory);

    return block_len(&block, 2) * sizeof(uint64_t);
}

static void take_set(fs_control_block_t *block, uint8_t set)
{
    uint64_t *at = block->summaries + set * summary_len(block);

    block->set      = set;
    block->vote     = (fs_vote_t *)at;
    block->matrix   = at + FS_VOTE_LEN;
    block->sends    = block->matrix + matrix_len(block->topo);
    block->receives = block->sends + counts_len(block);
    block->rest     = block->receives + counts_len(block);
    at += numbers_len(block);
    block->parts = (fs_control_part_t *)at;
    at += parts_len(block);
    block->pools   = (char *)at;
    block->inboxes = (char *)(at + len_of(block->n_local * block->pool_bytes));
}

fs_status_t fs_control_block_init(fs_control_block_t *block,
                                  const fs_topo_t *topo, uint32_t server,
                                  uint64_t bundle_memory, void *shared)
{
    uint64_t *at = shared;
    size_t    n  = fs_topo_n_servers(topo);

    *block = describe(topo, server, bundle_memory);
    if (at == NULL) {
        at = block->own = calloc(block_len(block, 2), sizeof(*at));
    }
    if (at == NULL) {
        return FS_ERR_NOMEM;
    }
    block->failed = (_Atomic(fs_status_t) *)at;
    block->slots  = at + FS_CONTROL_BLOCK_LINE;
    block->lanes  = block->slots + block->n_local * slot_len(topo);
    at          = block->lanes + (size_t)block->n_local * FS_CONTROL_BLOCK_LINE;
    block->here = (_Atomic uint64_t *)at;
    block->votes     = (fs_vote_t *)(at + lines(n));
    block->summaries = at + lines(n) + 2 * lines(n * FS_VOTE_LEN);
    take_set(block, 0);
    return FS_OK;
}

void fs_control_block_fini(fs_control_block_t *block)
{
    free(block->own);
}

void fs_control_block_turn(fs_control_block_t *block)
{
    take_set(block, !block->set);
}

uint64_t *fs_control_block_slot(const fs_control_block_t *block, uint32_t local)
{
    return block->slots + local * slot_len(block->topo);
}

/* ---- messages ---- */

size_t fs_control_block_message_len(const fs_control_block_t *block,
                                    bool                      summary)
{
    return row_len(block, summary) +
           (summary ? 2 * (size_t)fs_topo_n_ranks(block->topo) : 0);
}

void fs_control_block_pack(const fs_control_block_t *block, uint32_t local,
                           bool summary, uint64_t *message)
{
    size_t p = fs_topo_n_ranks(block->topo), n = row_len(block, summary);

    memcpy(message, fs_control_block_row(block, local), n * sizeof(*message));
    if (summary) {
        message += n;
        memcpy(message, block->sends + local * p, p * sizeof(*message));
        memcpy(message + p, block->receives + local * p, p * sizeof(*message));
    }
}

void fs_control_block_unpack(fs_control_block_t *block, uint32_t local,
                             bool summary, const uint64_t *message)
{
    size_t p = fs_topo_n_ranks(block->topo), n = row_len(block, summary);

    memcpy(fs_control_block_row(block, local), message, n * sizeof(*message));
    if (summary) {
        message += n;
        memcpy(block->sends + local * p, message, p * sizeof(*message));
        memcpy(block->receives + local * p, message + p, p * sizeof(*message));
    }
}

size_t fs_control_block_result_len(const fs_control_block_t *block,
                                   bool                      summary)
{
    return FS_VOTE_LEN +
           (summary ? matrix_len(block->topo) + 2 * counts_len(block) : 0);
}
