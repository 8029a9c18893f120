/* SPDX-License-Identifier: BSD-3-Clause */
/* The accelerators of a process. */
#ifndef FS_ACCEL_H
#define FS_ACCEL_H

#include "fastsched_accel.h"

/* Bytes from one place to another; or elements that are reduced there. */
typedef struct fs_segment {
    void       *dst;
    const void *src;
    uint64_t    len_bytes;
    /* 0: dst = src; fs_device_how(): dst = src op dst, by the kernel alone, both
     * aligned as elements are. */
    uint32_t how;
} fs_segment_t;

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

/* "cuda", for messages. */
const char *fs_mem_name(fs_mem_kind_t kind);

/* Memory of a device, of len_bytes > 0. NULL: there is no more. Any thread. */
void *fs_accel_alloc(fs_accel_t *accel, fs_mem_t mem, uint64_t len_bytes);
void  fs_accel_free(fs_accel_t *accel, fs_mem_t mem, void *address);
/* Likewise, of the host, pinned: the device of mem copies to it and from it while
 * the CPU does something else. */
void *fs_accel_alloc_pinned(fs_accel_t *accel, fs_mem_t mem,
                            uint64_t len_bytes);
void  fs_accel_free_pinned(fs_accel_t *accel, fs_mem_t mem, void *address);

/* Has the device of mem a kernel? The first time it may have to be compiled. */
bool fs_accel_has_kernel(const fs_accel_t *accel, fs_mem_t mem);

/* ---- copies and reductions ---- */

/* Work on one device, on a stream of our own, one batch at a time. */
typedef struct fs_copier fs_copier_t;

/* A copier for the device of mem, to be put back. NULL: the device has none to
 * give. Any thread. */
fs_copier_t *fs_accel_get_copier(fs_accel_t *accel, fs_mem_t mem);
void         fs_accel_put_copier(fs_accel_t *accel, fs_copier_t *copier);

/* Room for batches of so many segments and bytes that lie on the device: only
 * then they may be one kernel. Nothing is in flight. FS_OK; FS_ERR_NOMEM: what was
 * reserved before is left. */
fs_status_t fs_copier_reserve(fs_copier_t *copier, size_t n_segments,
                              uint64_t len_bytes);

/* Has it been reserved? */
bool fs_copier_has_room(const fs_copier_t *copier, size_t n_segments,
                        uint64_t len_bytes);

/* Pinned memory of the host for who uses the copier, until it asks for more. NULL:
 * there is no more. */
void *fs_copier_room(fs_copier_t *copier, uint64_t len_bytes);

/* Begin with a batch of segments that do not overlap; they are borrowed until the
 * return. on_device: all of them lie there or in pinned memory, at both ends; else,
 * or without fs_copier_reserve(), none may be reduced.
 * FS_OK, FS_ERR_ACCEL; then nothing is in flight. */
fs_status_t fs_copier_start(fs_copier_t *copier, const fs_segment_t *segments,
                            size_t n_segments, bool on_device);

/* Has the batch ended? FS_INPROGRESS, FS_OK, FS_ERR_ACCEL; then nothing is in
 * flight. */
fs_status_t fs_copier_test(fs_copier_t *copier);

/* fs_copier_test() that waits: FS_OK, FS_ERR_ACCEL. */
fs_status_t fs_copier_wait(fs_copier_t *copier);

/* fs_copier_start(), then fs_copier_wait(). */
fs_status_t fs_copier_run(fs_copier_t *copier, const fs_segment_t *segments,
                          size_t n_segments, bool on_device);

/* The memory that it was got for. */
fs_mem_t fs_copier_mem(const fs_copier_t *copier);
/* Are batches on the device one kernel? Since fs_copier_reserve(). */
bool fs_copier_has_kernel(const fs_copier_t *copier);

/* All in one: complete on return. Any thread. FS_OK, FS_ERR_ACCEL. */
fs_status_t fs_accel_copy(fs_accel_t *accel, fs_mem_t mem,
                          const fs_segment_t *segments, size_t n_segments,
                          bool on_device);

#endif
