/* SPDX-License-Identifier: BSD-3-Clause */
/* Computation that takes a known time on a core of its own. */
#ifndef OSU_WORK_H
#define OSU_WORK_H

/* How much work is done in a second, by trial. */
double osu_work_per_second(void);

/* Do so much. */
void osu_work(double amount);

#endif
