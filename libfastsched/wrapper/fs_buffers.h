/* SPDX-License-Identifier: BSD-3-Clause */
/* The buffers of a call: arrays, copies of what cannot be used where it is, and in
 * which memory they are. */
#ifndef FS_BUFFERS_H
#define FS_BUFFERS_H

#include "wrapper/fs_wrapper.h"

/* ---- fs_buffers.c ---- */

/* FS_OK, FS_ERR_NOMEM */
fs_status_t fs_buffers_init(fs_buffers_t *buffers, uint32_t n_ranks,
                            uint32_t rank);

/* Zeroed buffers are fine. */
void fs_buffers_fini(fs_buffers_t *buffers);

/* A call is to be described, with fs_counts_begin(). */
void fs_buffers_clear(fs_buffers_t *buffers, const fs_topo_t *topo);

/* Make buffers->call of what the wrapper has described. */
void fs_buffers_begin(fs_buffers_t *buffers, const fs_wrapper_calls_t *calls,
                      void *ctx, fs_call_device_t device);

/* Do now what fs_call_t.prepare() would do later. FS_OK, FS_ERR_NOMEM, or what
 * pack() said. */
fs_status_t fs_buffers_prepare(fs_buffers_t *buffers);

/* After a call with this status: does nobody use what is in there any more? After a
 * failed exchange the network may. */
static inline bool fs_buffers_are_free(fs_status_t status)
{
    return status == FS_OK || status == FS_ERR_MISMATCH ||
           status == FS_ERR_UNSUPPORTED;
}

/* The call is over. ran: what was received may have to be unpacked. all_done: nobody
 * uses the copies any more; else they are left alone for good.
 * FS_OK, or what unpack() said. */
fs_status_t fs_buffers_end(fs_buffers_t *buffers, bool ran, bool all_done);

/* ---- fs_buffers_where.c ---- */

typedef enum fs_side { FS_SIDE_SEND, FS_SIDE_RECV } fs_side_t;

/* Where are they? True: on a device or managed, one at least. */
bool fs_buffers_find(fs_buffers_t *buffers, const fs_wrapper_t *wrapper);

/* What the call has to know, also on an error: the other ranks wait for this one's
 * vote, which declines. why is one line for the user. An allreduce is staged where
 * the device does not reduce. FS_OK; FS_ERR_UNSUPPORTED (gaps in a datatype on a
 * device, or parameter accel_fallback forbids the way round) */
fs_status_t fs_buffers_for_call(const fs_buffers_t *buffers,
                                fs_wrapper_t *wrapper, const fs_comm_t *comm,
                                fs_call_device_t *device, char *why,
                                size_t why_len);

/* A side on a device that server cannot use there: may its bytes go through the
 * host? FS_OK; FS_ERR_UNSUPPORTED, and why is a line for the user. */
fs_status_t fs_buffers_check(const fs_buffers_t *buffers,
                             const fs_wrapper_t *wrapper, fs_side_t side,
                             const char *server, char *why, size_t why_len);

/* Memory of a device where the MPI's own algorithm is lost. */
bool fs_buffers_need_bounce(const fs_wrapper_t *wrapper, fs_mem_t mem);

#endif
