/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The baseline: in stage d server i sends to server i + d. A stage is as long
 * as its largest pair, so the total is the sum of the maxima of the shifted
 * diagonals: optimal when all pairs are equal, far from it when they are not
 * (FAST §2).
 */
#include "base/fs_arith.h"
#include "sched/papers/fs_papers.h"

static fs_status_t build(const fs_demand_t *demand, fs_arena_t *arena,
                         fs_draft_t *draft)
{
    (void)arena;
    for (uint32_t d = 1; d < demand->n; ++d) {
        uint64_t longest = 0;

        for (uint32_t i = 0; i < demand->n; ++i) {
            uint32_t j     = (i + d) % demand->n;
            uint64_t bytes = demand->bytes[(size_t)i * demand->n + j];

            fs_draft_transfer(draft, i, j, bytes, draft->total);
            longest = fs_u64_max(longest, bytes);
        }
        if (longest > 0) {
            fs_draft_end_stage(draft, longest);
        }
    }
    return FS_OK;
}

const fs_decompose_method_t fs_decompose_spreadout = {.build = build};
