/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copies and reductions on one device. A batch that stays on the device is cut into
 * pieces and goes as one kernel, see fs_kernel.cu: copies one by one cost a few
 * microseconds each. Other batches, those for which there is no room, and all where
 * there is no kernel for the device, are copies in a row.
 */
#include "accel/fs_copier.h"

#include <stdlib.h>

_Static_assert(sizeof(fs_segment_t) == 32, "piece_t of fs_kernel.cu");

/* ---- life ---- */

/* The list of pieces, here and there; NULL is fine. */
static void free_both(fs_copier_t *c, fs_segment_t *pieces, void *there)
{
    if (pieces != NULL) {
        c->backend->free(c->backend, c->mem.device, pieces, true);
    }
    if (there != NULL) {
        c->backend->free(c->backend, c->mem.device, there, false);
    }
}

fs_copier_t *fs_copier_create(fs_backend_t *backend, fs_mem_t mem)
{
    fs_copier_t *c = calloc(1, sizeof(*c));

    if (c == NULL) {
        return NULL;
    }
    c->backend = backend;
    c->mem     = mem;
    c->queue   = backend->create_queue(backend, mem.device);
    if (c->queue == NULL) {
        free(c);
        return NULL;
    }
    return c;
}

static void free_room(fs_copier_t *c)
{
    if (c->room != NULL) {
        c->backend->free(c->backend, c->mem.device, c->room, true);
    }
    c->room       = NULL;
    c->room_bytes = 0;
}

void fs_copier_destroy(fs_copier_t *c)
{
    free_both(c, c->pieces, c->device_pieces);
    free_room(c);
    c->queue->destroy(c->queue);
    free(c);
}

fs_mem_t fs_copier_mem(const fs_copier_t *c)
{
    return c->mem;
}

bool fs_copier_has_kernel(const fs_copier_t *c)
{
    return c->max_pieces > 0;
}

void *fs_copier_room(fs_copier_t *c, uint64_t len_bytes)
{
    if (len_bytes > c->room_bytes) {
        free_room(c);
        c->room = c->backend->alloc(c->backend, c->mem.device, len_bytes, true);
        c->room_bytes = c->room == NULL ? 0 : len_bytes;
    }
    return c->room;
}

/* ---- pieces ---- */

static size_t most_pieces(size_t n_segments, uint64_t len_bytes)
{
    return n_segments + len_bytes / FS_COPY_PIECE_BYTES;
}

bool fs_copier_has_room(const fs_copier_t *c, size_t n_segments,
                        uint64_t len_bytes)
{
    return most_pieces(n_segments, len_bytes) <= c->max_pieces;
}

fs_status_t fs_copier_reserve(fs_copier_t *c, size_t n_segments,
                              uint64_t len_bytes)
{
    size_t        n   = most_pieces(n_segments, len_bytes);
    uint64_t      len = n * sizeof(*c->pieces);
    fs_segment_t *pieces;
    void         *there;

    if (n <= c->max_pieces) {
        return FS_OK;
    }
    c->max_blocks = c->backend->kernel_blocks(c->backend, c->mem.device);
    if (c->max_blocks == 0) {
        return FS_OK;
    }
    pieces = c->backend->alloc(c->backend, c->mem.device, len, true);
    there  = c->backend->alloc(c->backend, c->mem.device, len, false);
    if (pieces == NULL || there == NULL) {
        free_both(c, pieces, there);
        return FS_ERR_NOMEM;
    }
    free_both(c, c->pieces, c->device_pieces);
    c->pieces        = pieces;
    c->device_pieces = there;
    c->max_pieces    = n;
    return FS_OK;
}

static size_t count_pieces(const fs_segment_t *segments, size_t n_segments)
{
    size_t n = 0;

    for (size_t k = 0; k < n_segments; ++k) {
        n += (segments[k].len_bytes + FS_COPY_PIECE_BYTES - 1) /
             FS_COPY_PIECE_BYTES;
    }
    return n;
}

static void cut(const fs_segment_t *segments, size_t n_segments,
                fs_segment_t *piece)
{
    for (size_t k = 0; k < n_segments; ++k) {
        const fs_segment_t *s = &segments[k];

        for (uint64_t at = 0; at < s->len_bytes; at += FS_COPY_PIECE_BYTES) {
            uint64_t left = s->len_bytes - at;

            *piece++ = (fs_segment_t){
                (char *)s->dst + at, (const char *)s->src + at,
                left < FS_COPY_PIECE_BYTES ? left : FS_COPY_PIECE_BYTES,
                s->how};
        }
    }
}

/* ---- a batch ---- */

/* n pieces, for which there is room. */
static bool launch(fs_copier_t *c, const fs_segment_t *segments,
                   size_t n_segments, unsigned n)
{
    fs_queue_t  *q      = c->queue;
    unsigned     blocks = n < c->max_blocks ? n : c->max_blocks;
    fs_segment_t there  = {c->device_pieces, c->pieces, n * sizeof(*c->pieces),
                           0};

    cut(segments, n_segments, c->pieces);
    return q->copy(q, &there) && q->launch(q, c->device_pieces, n, blocks);
}

static bool copy_in_a_row(fs_queue_t *q, const fs_segment_t *segments,
                          size_t n_segments)
{
    bool good = true;

    for (size_t k = 0; k < n_segments && good; ++k) {
        good = segments[k].len_bytes == 0 ||
               (segments[k].how == 0 && q->copy(q, &segments[k]));
    }
    return good;
}

fs_status_t fs_copier_start(fs_copier_t *c, const fs_segment_t *segments,
                            size_t n_segments, bool on_device)
{
    fs_queue_t *q = c->queue;
    size_t      n = count_pieces(segments, n_segments);
    bool        good, kernel;

    if (!q->enter(q)) {
        return FS_ERR_ACCEL;
    }
    kernel = on_device && n > 0 && (n_segments > 1 || segments[0].how != 0) &&
             n <= c->max_pieces && n <= UINT32_MAX;
    good = kernel ? launch(c, segments, n_segments, (unsigned)n)
                  : copy_in_a_row(q, segments, n_segments);
    good = good && q->mark(q);
    if (!good) {
        /* What has begun ends before the memory is used again. */
        (void)q->drain(q);
    }
    q->leave(q);
    return good ? FS_OK : FS_ERR_ACCEL;
}

fs_status_t fs_copier_test(fs_copier_t *c)
{
    fs_status_t status = c->queue->test(c->queue);

    if (status == FS_ERR_ACCEL) {
        (void)c->queue->drain(c->queue); /* as in fs_copier_start() */
    }
    return status;
}

fs_status_t fs_copier_wait(fs_copier_t *c)
{
    return c->queue->drain(c->queue);
}

fs_status_t fs_copier_run(fs_copier_t *c, const fs_segment_t *segments,
                          size_t n_segments, bool on_device)
{
    fs_status_t status = fs_copier_start(c, segments, n_segments, on_device);

    return status == FS_OK ? fs_copier_wait(c) : status;
}
