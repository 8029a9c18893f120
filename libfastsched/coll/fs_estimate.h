/* SPDX-License-Identifier: BSD-3-Clause */
/* What each way to serve a call should take, by the model, for the tuner. */
#ifndef FS_ESTIMATE_H
#define FS_ESTIMATE_H

#include "coll/fs_request.h"
#include "sched/plan/fs_cost.h"

/* For fs_select(). */
fs_plan_params_t fs_estimate_params(const fs_comm_t *comm);

/* Late ranks aside, would it take little more by eager messages than by a schedule? */
bool fs_estimate_pays_eager(const fs_request_t *request);

/* Sets outcome.tuned, by the traffic and the choice that are there. */
void fs_estimate(fs_request_t *request, const fs_busiest_t *busiest);

#endif
