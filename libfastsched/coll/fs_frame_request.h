/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Frames (DHBvN §V): nonblocking calls that wait in a communicator's queue become
 * one call, with one schedule.
 *
 * A vote says which is the newest request of this rank, and so the summary of the
 * first in the queue tells all ranks which ones all have posted: none of them has to
 * wait for a call that a rank has yet to make. Then there is a summary of these
 * together. If the busiest server has about as much to do as for one call after the
 * other, they go one by one, and the first ends earlier.
 *
 * A frame is a request of its own, which stands in the queue in the place of its
 * members, and says that they are done when it is. Its blocks are theirs, one behind
 * the other; of the first, if it has begun early, what is left.
 */
#ifndef FS_FRAME_REQUEST_H
#define FS_FRAME_REQUEST_H

#include "coll/fs_request.h"

/* Should a request wait for the next turn before it begins, because others may
 * follow? One whose blocks are expected to be small begins at once. */
bool fs_frame_gathers(const fs_request_t *request);

/* For a vote: the number of the newest request that can be in a frame with this
 * one, the first in the queue. */
uint64_t fs_frame_posted(const fs_request_t *first);

/* All have voted. True: the first in the queue has to begin again, as a frame. */
bool fs_frame_grows(fs_request_t *first);

/* The first in the queue is about to begin. */
void fs_frame_form(fs_comm_t *comm);

/* The summary is over. False: the members of this frame should go one by one. */
bool fs_frame_pays(const fs_request_t *first);

/* A frame is not served as such, on any rank: its members go one by one. False: the
 * first in the queue is no frame. */
bool fs_frame_dissolve(fs_comm_t *comm);

#endif
