/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows of a tile become equal: where equalize ends and rowcol begins. */
#include "sched/papers/fs_papers.h"

#include "base/fs_assert.h"

/* Row i from column j on, once around. */
static void keep_row(fs_fill_t *fill, uint32_t i, uint32_t j, uint32_t lane)
{
    for (uint32_t n = 0; n < fill->tile->n_dst; ++n) {
        fs_fill_put(fill, i, j, lane);
        j = j + 1 == fill->tile->n_dst ? 0 : j + 1;
    }
}

/* What is left of row i to lanes with room; none below *open_p has any. */
static void give_row(fs_fill_t *fill, uint32_t i, uint32_t *open_p)
{
    const fs_tile_t *tile = fill->tile;

    for (uint32_t j = 0; j < tile->n_dst; ++j) {
        size_t block = (size_t)i * tile->n_dst + j;

        while (fill->done[block] != tile->bytes[block]) {
            fs_assert(*open_p < tile->n_lanes);
            if (fill->room[*open_p] == 0) {
                ++*open_p;
            } else {
                fs_fill_put(fill, i, j, *open_p);
            }
        }
    }
}

void fs_fill_rows(fs_fill_t *fill)
{
    const fs_tile_t *tile = fill->tile;
    uint32_t         open = 0;

    for (uint32_t l = 0; l < tile->n_lanes; ++l) {
        keep_row(fill, tile->src_proxy[l], tile->dst_proxy[l], l);
    }
    for (uint32_t i = 0; i < tile->n_src; ++i) {
        give_row(fill, i, &open);
    }
}
