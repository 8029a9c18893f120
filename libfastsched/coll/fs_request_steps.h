/* SPDX-License-Identifier: BSD-3-Clause */
/* The steps of the request that is first in its queue. Under the net's lock. */
#ifndef FS_REQUEST_STEPS_H
#define FS_REQUEST_STEPS_H

#include "coll/fs_request.h"

/* Take as many steps as possible; one that begins again is not the same request.
 * check_clock: it is time for the watchdog. */
void fs_request_move(fs_request_t *request, bool check_clock);

#endif
