/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Balance inside the server before the slow link (FAST §4.1): modes, each in a
 * file of its own; those of the papers in papers/.
 *
 * The blocks of a tile are cut into streams of about equal length, one a lane.
 * A byte whose source is not the lane's sender has to be gathered first, one
 * whose destination is not the receiver of the lane on which it arrives has to
 * be redistributed afterwards. The modes differ in what they move.
 */
#include "sched/balance/fs_balance_modes.h"

#include "base/fs_arith.h"

static const char *const names[] = {FS_BALANCE_MAP(FS_LIST_NAME)
                                        FS_PAPERS_BALANCE_MAP(FS_LIST_NAME)};

static const fs_balance_mode_t *const modes[] = {
#define X(_how, _word, _text) [_how] = &fs_balance_##_word,
    FS_BALANCE_MAP(X)
#undef X
};

const fs_balance_mode_t *fs_balance_mode(fs_balance_t how)
{
    return (size_t)how < FS_N_BALANCES ? modes[how] : fs_papers_balance(how);
}

const char *fs_balance_name(fs_balance_t how)
{
    return fs_balance_mode(how) == NULL ? "unknown" : names[how];
}

uint64_t fs_balance_capacity(uint64_t total_bytes, uint32_t n_lanes)
{
    uint64_t share = fs_u64_div_up(total_bytes, n_lanes);

    if (share < FS_BALANCE_LARGE) {
        return share;
    }
    return fs_u64_div_up(share, FS_BALANCE_ALIGN) * FS_BALANCE_ALIGN;
}

uint64_t fs_balance_longest(fs_balance_t how, uint64_t total_bytes,
                            uint32_t n_lanes)
{
    uint64_t capacity             = fs_balance_capacity(total_bytes, n_lanes);
    const fs_balance_mode_t *mode = fs_balance_mode(how);

    return mode == NULL || mode->slack == 0 ? capacity
                                            : capacity + capacity / mode->slack;
}

fs_status_t fs_balance_view(fs_balance_t how, const fs_tile_t *tile,
                            const fs_viewer_t *viewer, fs_arena_t *arena,
                            fs_streams_t *streams_p)
{
    const fs_balance_mode_t *mode   = fs_balance_mode(how);
    size_t                   blocks = (size_t)tile->n_src * tile->n_dst;
    uint64_t                 total  = 0;

    if (mode == NULL) {
        return FS_ERR_INVAL;
    }
    for (size_t b = 0; b < blocks; ++b) {
        total += tile->bytes[b];
    }
    return (tile->shared ? fs_balance_cut_shared
                         : mode->cut)(tile, total, viewer, arena, streams_p);
}

fs_status_t fs_balance_tile(fs_balance_t how, const fs_tile_t *tile,
                            fs_arena_t *arena, fs_streams_t *streams_p)
{
    return fs_balance_view(how, tile, NULL, arena, streams_p);
}
