/* SPDX-License-Identifier: BSD-3-Clause */
/* The tables of the papers' methods: a row for each. */
#include "sched/papers/fs_papers.h"

static const fs_balance_mode_t modes[] = {
    /* equal rows; bytes for one destination together */
    [FS_BALANCE_EQUALIZE] = {.name = "equalize", .cut = fs_balance_equalize},
    /* few splits: the largest block first, to its destination's lane */
    [FS_BALANCE_GREEDY] = {.name      = "greedy",
                           .cut       = fs_balance_greedy,
                           .part_over = 20},
    /* fewest moves of all, but lanes change partners many times */
    [FS_BALANCE_ROWCOL] = {.name     = "rowcol",
                           .cut      = fs_balance_rowcol,
                           .any_lane = true},
};

enum { N_MODES = sizeof(modes) / sizeof(modes[0]) };

/* "hierarchical" has the server stages of "birkhoff"; what makes it is the
 * order of lanes inside a stage (fs_balance.h, DHBvN Theorem 4). */
static const fs_method_t methods[] = {
    [FS_DECOMPOSE_HIERARCHICAL] = {.name   = "hierarchical",
                                   .build  = fs_birkhoff_build,
                                   .rowcol = true},
    [FS_DECOMPOSE_SPREADOUT]    = {.name  = "spreadout",
                                   .build = fs_spreadout_build},
};

enum { N_METHODS = sizeof(methods) / sizeof(methods[0]) };

const fs_balance_mode_t *fs_papers_balance(fs_balance_t how)
{
    return (size_t)how < N_MODES && modes[how].cut != NULL ? &modes[how] : NULL;
}

const fs_method_t *fs_papers_decompose(fs_decompose_t how)
{
    return (size_t)how < N_METHODS && methods[how].build != NULL ? &methods[how]
                                                                 : NULL;
}
