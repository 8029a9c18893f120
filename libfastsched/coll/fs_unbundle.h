/* SPDX-License-Identifier: BSD-3-Clause */
/* Small blocks, where they arrive. */
#ifndef FS_UNBUNDLE_H
#define FS_UNBUNDLE_H

#include "coll/fs_request.h"

/* All blocks that came in bundles, to where they belong. The summary is over; a call
 * that has to be prepared is, if the rest has a program. FS_OK; FS_ERR_TRUNCATE: what
 * has come is no bundle, or not of the length expected; FS_ERR_ACCEL; what unpack()
 * says. */
fs_status_t fs_unbundle(const fs_request_t *request);

#endif
