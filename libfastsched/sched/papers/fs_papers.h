/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The papers' methods, to compare with: for the command, the figures and the
 * tests. Plugins and libfastsched.so do not contain them.
 */
#ifndef FS_PAPERS_H
#define FS_PAPERS_H

#include "sched/balance/fs_balance_modes.h"
#include "sched/decompose/fs_schedule.h"

/* Our own methods and the papers'. */
enum {
    FS_N_ALL_BALANCES = FS_N_BALANCES FS_PAPERS_BALANCE_MAP(FS_LIST_ONE),
    FS_N_ALL_DECOMPOSITIONS =
        FS_N_DECOMPOSITIONS FS_PAPERS_DECOMPOSE_MAP(FS_LIST_ONE)
};

#define X(_how, _word, _text) extern const fs_balance_mode_t fs_balance_##_word;
FS_PAPERS_BALANCE_MAP(X)
#undef X

#define X(_how, _word, _text) \
    extern const fs_decompose_method_t fs_decompose_##_word;
FS_PAPERS_DECOMPOSE_MAP(X)
#undef X

/* Assign everything so that rows become equal: each rank keeps its own bytes up
 * to what its lane takes, from the block of its peer on; the rest goes to lanes
 * whose own rank has too little, in order. A rank that serves no lane keeps
 * nothing. */
void fs_fill_rows(fs_fill_t *fill);

#endif
