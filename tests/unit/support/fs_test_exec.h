/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FS_TEST_EXEC_H
#define FS_TEST_EXEC_H

#include "engine/fs_exec.h"

/* A program of one rank to its end; FS_INPROGRESS: it has none. */
static inline fs_status_t
fs_test_run_alone(fs_exec_t *exec, const fs_plan_t *plan, const fs_call_t *call)
{
    fs_status_t status = FS_INPROGRESS;

    fs_exec_start(exec, plan, call, 1, false);
    for (int k = 0; k < 100 && status == FS_INPROGRESS; ++k) {
        status = fs_exec_progress(exec);
    }
    return status;
}

#endif
