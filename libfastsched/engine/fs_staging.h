/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where the places of a program are in memory, copies and reductions between
 * them.
 *
 * Staging is on the device if a buffer of the call is there, or on the host,
 * pinned, if the network cannot take it there. What is copied and reduced on the
 * host is done at once; what touches a device is gathered into batches: what becomes
 * ready while one is running is the next one.
 */
#ifndef FS_STAGING_H
#define FS_STAGING_H

#include "accel/fs_accel.h"
#include "fastsched_exec.h"

typedef enum fs_pool_kind {
    FS_POOL_HOST, /* no buffer is on a device */
    FS_POOL_PINNED,
    FS_POOL_DEVICE,
    FS_N_POOLS
} fs_pool_kind_t;

/* Memory for staging, kept from call to call. */
typedef struct fs_pool {
    fs_mem_t device; /* its own, or the one that accesses it fast */
    char    *memory;
    uint64_t len_bytes;
} fs_pool_t;

/* Of a plan. What is reduced counts among the copies. */
typedef struct fs_needs {
    uint64_t staging_bytes;
    uint64_t copied_bytes;
    uint64_t n_copies;
} fs_needs_t;

typedef struct fs_staging {
    const fs_call_t *call; /* in hand */
    const fs_pool_t *pool; /* that it uses */
    fs_mem_t         staging_mem;
    bool             on_one_device;
    fs_pool_t        pools[FS_N_POOLS];
    fs_needs_t       most; /* of all plans ever reserved */
    /* Batches: copies are gathered, begun and ended in this order. */
    fs_accel_t   *accel;
    fs_copier_t  *copier;     /* NULL: no call has needed one */
    bool          for_kernel; /* it has memory for a kernel */
    fs_segment_t *segments;   /* [max_copies] */
    uint32_t     *ids;        /* [max_copies] */
    uint64_t      max_copies;
    uint32_t      n_gathered;
    uint32_t      n_begun;
    uint32_t      n_ended;
    uint64_t      begun_ns; /* the batch that is under way */
    uint64_t      copy_ns;  /* of all batches, ever */
} fs_staging_t;

/* Zeroed is fine. */
void fs_staging_fini(fs_staging_t *staging);

/* Get the memory for plans like this one, and for all reserved before if there is as
 * much, where the call needs it. FS_OK, FS_ERR_NOMEM; FS_ERR_ACCEL. */
fs_status_t fs_staging_reserve(fs_staging_t *staging, const fs_plan_t *plan,
                               const fs_call_t *call);

/* Can the call run this plan? NULL: every one that has been reserved. */
bool fs_staging_fit(const fs_staging_t *staging, const fs_plan_t *plan,
                    const fs_call_t *call);

/* The call that comes, which is borrowed. */
void fs_staging_start(fs_staging_t *staging, const fs_call_t *call);

/* Address of a place in contiguous memory; NULL if the MPI has to pack. */
char *fs_staging_address(const fs_staging_t *staging, const fs_place_t *place);

/* The kind of its memory, for the network. */
fs_mem_kind_t fs_staging_kind(const fs_staging_t *staging,
                              const fs_place_t   *place);

/* Do operation id, a copy. FS_OK and errors; FS_INPROGRESS: it goes into the next
 * batch. */
fs_status_t fs_staging_copy(fs_staging_t *staging, const fs_op_t *op,
                            uint32_t id);

/* Likewise, a reduction: FS_OK, or the status of the call's reduce(); FS_INPROGRESS
 * on a device, if all is on one that has a kernel for it; else, or if a place is not
 * contiguous, FS_ERR_UNSUPPORTED. */
fs_status_t fs_staging_reduce(fs_staging_t *staging, const fs_op_t *op,
                              uint32_t id);

/* Once for each copy of a batch. */
typedef void fs_copy_ended_t(void *arg, uint32_t id, fs_status_t status);

/* Begin a batch of all that waits, unless one is under way; if it cannot begin, it
 * has ended, with FS_ERR_ACCEL. And see whether one has ended. */
void fs_staging_begin_copies(fs_staging_t *staging, fs_copy_ended_t *ended,
                             void *arg);
void fs_staging_end_copies(fs_staging_t *staging, fs_copy_ended_t *ended,
                           void *arg);

#endif
