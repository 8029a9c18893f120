/* SPDX-License-Identifier: BSD-3-Clause */
/* A copier as it is inside; what it does stands in fs_accel.h. */
#ifndef FS_COPIER_H
#define FS_COPIER_H

#include "accel/fs_backend.h"

/* A piece of a kernel's list is no longer. */
enum { FS_COPY_PIECE_BYTES = 65536 };

struct fs_copier {
    fs_backend_t *backend;
    fs_mem_t      mem;
    fs_queue_t   *queue;
    unsigned      max_blocks; /* of the kernel; 0: none, or not looked for */
    size_t        max_pieces;
    fs_segment_t *pieces;        /* [max_pieces] pinned */
    void         *device_pieces; /* the same on the device */
    void         *room;          /* pinned */
    uint64_t      room_bytes;
    fs_copier_t  *next; /* for who keeps idle ones */
};

/* The back end is borrowed. NULL: the device cannot, or no memory. */
fs_copier_t *fs_copier_create(fs_backend_t *backend, fs_mem_t mem);
void         fs_copier_destroy(fs_copier_t *copier);

#endif
