/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FS_REPORT_H
#define FS_REPORT_H

#include "wrapper/fs_wrapper.h"

/* The line about the last call (verbose). */
void fs_report_call(const fs_wrapper_comm_t *comm);

/* The line about a call that has failed. */
void fs_report_failure(const fs_wrapper_comm_t  *comm,
                       const fs_wrapper_calls_t *calls, const char *why);

/* The sums of a communicator (stats). Together: collective. */
void fs_report_stats(const fs_wrapper_comm_t *comm, bool together);

/* The results of its tuner (verbose). */
void fs_report_tuner(const fs_wrapper_comm_t *comm);

#endif
