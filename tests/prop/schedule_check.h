/* SPDX-License-Identifier: BSD-3-Clause */
/* Is it a schedule of this matrix? For property tests and fuzzing. */
#ifndef SCHEDULE_CHECK_H
#define SCHEDULE_CHECK_H

#include "fastsched.h"

/* What is wrong with a schedule that holds all servers' transfers, made by this
 * method; NULL: nothing. A static string. */
const char *schedule_problem(const fs_schedule_t *schedule, fs_decompose_t how,
                             uint32_t n_servers, const uint64_t *bytes);

/* What is wrong with the one for which only_server was given; the other holds
 * all transfers. */
const char *part_problem(const fs_schedule_t *part, const fs_schedule_t *all,
                         uint32_t only_server);

/* The most messages that any pair is cut into. */
uint32_t most_parts(const fs_schedule_t *schedule);

/* Is the total at most percent / 100 of the bound? */
bool within(const fs_schedule_t *schedule, uint64_t percent);

#endif
