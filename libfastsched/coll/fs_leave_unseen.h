/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls that are left to the MPI without a summary: most of those where the native
 * algorithm is settled on (policy/fs_unseen.h), and those in which it is timed: with
 * a summary in front it would begin when ranks learn its result, one after the other.
 */
#ifndef FS_LEAVE_UNSEEN_H
#define FS_LEAVE_UNSEEN_H

#include "coll/fs_request.h"

/* A call begins: it is left to the MPI, and outcome says so. The same on all ranks. */
bool fs_leave_unseen(fs_request_t *request);

/* This question to a call that has been seen: should the next one answer it, unseen?
 * The same on all ranks. */
bool fs_unseen_should_time(const fs_request_t        *request,
                           const fs_tuner_question_t *question);

/* Such a call is over, with this vote of all ranks: was it like those before, so that
 * its time counts? Then its question has its bound. */
bool fs_unseen_counts(fs_comm_t *comm, const fs_vote_t *vote);

#endif
