/* SPDX-License-Identifier: BSD-3-Clause */
/* What is different between CUDA and HIP. */
#ifndef FS_BACKEND_H
#define FS_BACKEND_H

#include "accel/fs_accel.h"

/* ---- work on a device ---- */

/* A stream of our own: what copy(), launch() and mark() add runs in this order,
 * some time later. They are called between enter() and leave(). */
typedef struct fs_queue fs_queue_t;
struct fs_queue {
    /* The device is current until leave(). False: it cannot be. */
    bool (*enter)(fs_queue_t *queue);
    void (*leave)(fs_queue_t *queue);
    /* False: the driver refuses. */
    bool (*copy)(fs_queue_t *queue, const fs_segment_t *segment);
    /* The kernel of fs_kernel.cu; the pieces lie on the device. */
    bool (*launch)(fs_queue_t *queue, void *pieces, unsigned n_pieces,
                   unsigned n_blocks);
    bool (*mark)(fs_queue_t *queue);
    /* Has all ended that was there at the mark? FS_INPROGRESS, FS_OK,
     * FS_ERR_ACCEL; drain() waits for all. */
    fs_status_t (*test)(fs_queue_t *queue);
    fs_status_t (*drain)(fs_queue_t *queue);
    void (*destroy)(fs_queue_t *queue);
};

enum {
    FS_KERNEL_THREADS = 256, /* of a block of the kernel */
    /* Enough to fill one. */
    FS_KERNEL_BLOCKS_PER_MULTI = 8
};

/* fs_kernel.cu as PTX, and as it is: made by libfastsched/accel/make_kernel. */
extern const char fs_kernel_ptx[];
extern const char fs_kernel_source[];

/* ---- a kind of devices ---- */

typedef struct fs_backend fs_backend_t;
struct fs_backend {
    fs_mem_kind_t kind; /* of its devices' memory */
    /* False: not memory of this back end, or plain memory of the host. */
    bool (*query)(fs_backend_t *backend, const void *address, fs_mem_t *mem_p);
    void *(*alloc)(fs_backend_t *backend, int device, uint64_t len_bytes,
                   bool pinned);
    void (*free)(fs_backend_t *backend, int device, void *address, bool pinned);
    /* NULL: no stream, or no memory. */
    fs_queue_t *(*create_queue)(fs_backend_t *backend, int device);
    /* How many blocks of the kernel run at a time; 0: there is no kernel. The
     * first time it may have to be compiled. */
    unsigned (*kernel_blocks)(fs_backend_t *backend, int device);
    void (*destroy)(fs_backend_t *backend);
};

/* NULL: its driver is not loaded, or lacks a call that we need. */
fs_backend_t *fs_cuda_create(void);
fs_backend_t *fs_hip_create(void);

#endif
