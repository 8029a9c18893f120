/* SPDX-License-Identifier: BSD-3-Clause */
/* The watchdog of the steps of a request, and its messages. */
#ifndef FS_REQUEST_WATCH_H
#define FS_REQUEST_WATCH_H

#include "coll/fs_collective.h"

/* A step begins. */
void fs_request_watch_start(fs_request_t *request);

/* To be called periodically during the step, under the net's lock.
 * FS_INPROGRESS; FS_ERR_STALLED: the step has failed. A stalled program is
 * aborted and ends by itself. */
fs_status_t fs_request_watch(fs_request_t *request);

/* One line about an error of a call, before its plan is released: where it
 * happened, and what this rank was waiting for. */
void fs_request_explain(const fs_request_t *request, fs_status_t status,
                        const char *where, char *text, size_t text_len);

#endif
