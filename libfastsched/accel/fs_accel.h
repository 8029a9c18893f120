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

static inline bool fs_mem_equal(fs_mem_t a, fs_mem_t b)
{
    return a.kind == b.kind && a.device == b.device && a.foreign == b.foreign;
}

/* "cuda", for people. */
const char *fs_mem_name(fs_mem_kind_t kind);

/* Memory of a device, of len_bytes > 0. NULL: there is no more. Any thread. */
void *fs_accel_alloc(fs_accel_t *accel, fs_mem_t mem, uint64_t len_bytes);
void  fs_accel_free(fs_accel_t *accel, fs_mem_t mem, void *address);
/* Likewise, of the host, pinned: the device of mem copies to it and from it while
 * the CPU does something else. */
void *fs_accel_alloc_pinned(fs_accel_t *accel, fs_mem_t mem,
                            uint64_t len_bytes);
void  fs_accel_free_pinned(fs_accel_t *accel, fs_mem_t mem, void *address);

/* ---- copies ---- */

/* Copies on one device, on a stream of our own, one batch at a time. */
typedef struct fs_copier fs_copier_t;

/* A copier for the device of mem, to be put back. NULL: the device has none to
 * give. Any thread. */
fs_copier_t *fs_accel_get_copier(fs_accel_t *accel, fs_mem_t mem);
void         fs_accel_put_copier(fs_accel_t *accel, fs_copier_t *copier);

/* Room for batches of so many segments and bytes that lie on the device: only
 * then they may be one kernel. Nothing is in flight. FS_OK, FS_ERR_NOMEM. */
fs_status_t fs_copier_reserve(fs_copier_t *copier, size_t n_segments,
                              uint64_t len_bytes);

/* Begin to copy a batch of segments that do not overlap; they are borrowed until
 * the return. on_device: all of them lie there, at both ends. FS_OK,
 * FS_ERR_ACCEL; then nothing is in flight. */
fs_status_t fs_copier_start(fs_copier_t *copier, const fs_segment_t *segments,
                            size_t n_segments, bool on_device);

/* Has the batch ended? FS_INPROGRESS, FS_OK, FS_ERR_ACCEL. */
fs_status_t fs_copier_test(fs_copier_t *copier);

/* All in one: complete on return. Any thread. FS_OK, FS_ERR_ACCEL. */
fs_status_t fs_accel_copy(fs_accel_t *accel, fs_mem_t mem,
                          const fs_segment_t *segments, size_t n_segments,
                          bool on_device);

/* ---- back ends ---- */

struct fs_copier {
    /* NULL: never needed. */
    fs_status_t (*reserve)(fs_copier_t *copier, size_t n_segments,
                           uint64_t len_bytes);
    /* FS_OK, FS_ERR_ACCEL */
    fs_status_t (*start)(fs_copier_t *copier, const fs_segment_t *segments,
                         size_t n_segments, bool on_device);
    /* wait: until it has ended. */
    fs_status_t (*test)(fs_copier_t *copier, bool wait);
    void (*destroy)(fs_copier_t *copier);
    bool         has_kernel; /* batches on the device are one kernel */
    fs_mem_t     mem;        /* set by fs_accel_get_copier() */
    fs_copier_t *next;       /* idle ones */
};

typedef struct fs_backend fs_backend_t;
struct fs_backend {
    fs_mem_kind_t kind; /* of its devices' memory */
    /* False: not memory of this back end, or plain memory of the host. */
    bool (*query)(fs_backend_t *backend, const void *address, fs_mem_t *mem_p);
    void *(*alloc)(fs_backend_t *backend, int device, uint64_t len_bytes,
                   bool pinned);
    void (*free)(fs_backend_t *backend, int device, void *address, bool pinned);
    fs_copier_t *(*create_copier)(fs_backend_t *backend, int device);
    void (*destroy)(fs_backend_t *backend);
};

/* NULL: its driver is not loaded, or lacks a call that we need. */
fs_backend_t *fs_cuda_create(void);
fs_backend_t *fs_hip_create(void);

#endif
