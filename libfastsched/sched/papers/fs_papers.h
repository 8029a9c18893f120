/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The papers' methods, to compare with: for the command, the figures and the
 * tests. Plugins and libfastsched.so do not contain them.
 */
#ifndef FS_PAPERS_H
#define FS_PAPERS_H

#include "sched/fs_balance_modes.h"
#include "sched/fs_schedule.h"

fs_balance_cut_t fs_balance_equalize; /* FAST §4.1 */
fs_balance_cut_t fs_balance_greedy;   /* SABRE Algorithm 1 */
fs_balance_cut_t fs_balance_rowcol;   /* DHBvN §IV */

/* Deal everything so that rows become equal: each rank keeps its own bytes up to
 * what its lane takes, from the block of its peer on; the rest goes to lanes
 * whose own rank has too little, in order. A rank that serves no lane keeps
 * nothing. */
void fs_deal_rows(fs_deal_t *deal);

fs_schedule_build_t fs_spreadout_build;

#endif
