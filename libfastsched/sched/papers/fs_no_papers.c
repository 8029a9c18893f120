/* SPDX-License-Identifier: BSD-3-Clause */
/* In the place of papers/, for what does without. */
#include "sched/balance/fs_balance_modes.h"
#include "sched/decompose/fs_schedule.h"

const fs_balance_mode_t *fs_papers_balance(fs_balance_t how)
{
    (void)how;
    return NULL;
}

const fs_decompose_method_t *fs_papers_decompose(fs_decompose_t how)
{
    (void)how;
    return NULL;
}
