/* SPDX-License-Identifier: BSD-3-Clause */
/* The accelerators of a process, and what a back end does: there is one for each
 * kind of them. */
#ifndef FS_ACCEL_H
#define FS_ACCEL_H

#include "fastsched_accel.h"

/* Look for drivers that the process has loaded. NULL: there is none, or no
 * memory. fs_accel_destroy() frees it; NULL is fine there. */
fs_accel_t *fs_accel_create(void);
void        fs_accel_destroy(fs_accel_t *accel);

/* The memory at an address; accel NULL: the host's. Any thread. */
fs_mem_t fs_accel_query(const fs_accel_t *accel, const void *address);

/* No CPU may touch it. */
static inline bool fs_mem_is_device(fs_mem_t mem)
{
    return mem.kind == FS_MEM_CUDA || mem.kind == FS_MEM_ROCM;
}

/* "cuda", for people. */
const char *fs_mem_name(fs_mem_kind_t kind);

/* Copy segments that do not overlap, on a stream of our own; complete on return.
 * mem: the device of those that are on one. Any thread. FS_OK, FS_ERR_ACCEL. */
fs_status_t fs_accel_copy(fs_accel_t *accel, fs_mem_t mem,
                          const fs_segment_t *segments, size_t n_segments);

/* ---- back ends ---- */

typedef struct fs_backend fs_backend_t;
struct fs_backend {
    fs_mem_kind_t kind; /* of its devices' memory */
    /* False: not memory of this back end, or plain memory of the host. */
    bool (*query)(fs_backend_t *backend, const void *address, fs_mem_t *mem_p);
    /* Complete on return. FS_OK, FS_ERR_ACCEL. */
    fs_status_t (*copy)(fs_backend_t *backend, int device,
                        const fs_segment_t *segments, size_t n_segments);
    void (*destroy)(fs_backend_t *backend);
};

/* NULL: its driver is not loaded, or lacks a call that we need. */
fs_backend_t *fs_cuda_create(void);
fs_backend_t *fs_hip_create(void);

#endif
