/* SPDX-License-Identifier: BSD-3-Clause */
/* The layout of the control block, and of its messages. */
#include "comm/fs_control_block.h"

#include "base/fs_arith.h"

#include <stdlib.h>
#include <string.h>

/* ---- lengths, in numbers ---- */

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
    return fs_u64_div_up(1 + FS_VOTE_LEN + fs_topo_n_servers(topo),
                         FS_CONTROL_BLOCK_LINE) *
           FS_CONTROL_BLOCK_LINE;
}

static size_t block_len(const fs_topo_t *topo, uint32_t server, size_t n_sets)
{
    size_t n_local = fs_topo_n_local(topo, server);

    return FS_CONTROL_BLOCK_LINE + n_local * slot_len(topo) + FS_VOTE_LEN +
           matrix_len(topo) + n_sets * 2 * n_local * fs_topo_n_ranks(topo);
}

size_t fs_control_block_bytes(const fs_topo_t *topo, uint32_t server)
{
    return block_len(topo, server, 2) * sizeof(uint64_t);
}

/* ---- the block ---- */

fs_status_t fs_control_block_init(fs_control_block_t *block,
                                  const fs_topo_t *topo, uint32_t server,
                                  void *shared)
{
    uint64_t *memory = shared;

    *block = (fs_control_block_t){.topo    = topo,
                                  .n_local = fs_topo_n_local(topo, server)};
    if (memory == NULL) {
        memory = block->own =
            calloc(block_len(topo, server, 1), sizeof(*memory));
    }
    if (memory == NULL) {
        return FS_ERR_NOMEM;
    }
    block->result_round = (_Atomic uint64_t *)memory;
    block->slots        = memory + FS_CONTROL_BLOCK_LINE;
    block->result       = block->slots + block->n_local * slot_len(topo);
    block->counts       = block->result + FS_VOTE_LEN + matrix_len(topo);
    return FS_OK;
}

void fs_control_block_fini(fs_control_block_t *block)
{
    free(block->own);
}

void fs_control_block_turn(fs_control_block_t *block)
{
    block->set = block->own == NULL ? !block->set : 0;
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
        memcpy(message, fs_control_block_sends(block) + local * p,
               p * sizeof(*message));
        memcpy(message + p, fs_control_block_receives(block) + local * p,
               p * sizeof(*message));
    }
}

void fs_control_block_unpack(fs_control_block_t *block, uint32_t local,
                             bool summary, const uint64_t *message)
{
    size_t p = fs_topo_n_ranks(block->topo), n = row_len(block, summary);

    memcpy(fs_control_block_row(block, local), message, n * sizeof(*message));
    if (summary) {
        message += n;
        memcpy(fs_control_block_sends(block) + local * p, message,
               p * sizeof(*message));
        memcpy(fs_control_block_receives(block) + local * p, message + p,
               p * sizeof(*message));
    }
}

size_t fs_control_block_result_len(const fs_control_block_t *block,
                                   bool                      summary)
{
    return FS_VOTE_LEN + (summary ? matrix_len(block->topo) +
                                        2 * fs_control_block_counts_len(block)
                                  : 0);
}
