/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copies on one device of CUDA. A batch that stays on the device is cut into
 * pieces and goes as one kernel, see fs_copy.cu: copies one by one cost a few
 * microseconds each. Other batches, those for which there is no room, and all
 * where the driver does not take the kernel, are copies in a row.
 */
#include "accel/fs_cuda.h"

#include <stdlib.h>

enum {
    PIECE_BYTES      = 65536,
    THREADS          = 256,
    BLOCKS_PER_MULTI = 8 /* as many threads as fit */
};

_Static_assert(sizeof(fs_segment_t) == 24, "piece_t of fs_copy.cu");

typedef struct copier {
    fs_copier_t             super; /* first */
    const fs_cu_calls_t    *cu;
    const fs_cuda_device_t *device;
    fs_cu_stream_t          stream; /* does not wait for the program's */
    fs_cu_event_t           event;
    size_t                  max_pieces;
    fs_segment_t           *pieces;        /* [max_pieces] pinned */
    fs_cu_address_t         device_pieces; /* the same on the device */
} copier_t;

/* ---- pieces ---- */

static void free_pieces(copier_t *c)
{
    if (c->pieces != NULL) {
        c->cu->MemFreeHost(c->pieces);
    }
    if (c->device_pieces != 0) {
        c->cu->MemFree_v2(c->device_pieces);
    }
    c->pieces        = NULL;
    c->device_pieces = 0;
    c->max_pieces    = 0;
}

static bool alloc_pieces(copier_t *c, size_t n)
{
    void *pieces;

    if (c->cu->MemAllocHost_v2(&pieces, n * sizeof(*c->pieces)) != 0) {
        return false;
    }
    c->pieces = pieces;
    if (c->cu->MemAlloc_v2(&c->device_pieces, n * sizeof(*c->pieces)) != 0) {
        c->device_pieces = 0;
        free_pieces(c);
        return false;
    }
    c->max_pieces = n;
    return true;
}

/* At most so many. */
static fs_status_t reserve(fs_copier_t *super, size_t n_segments,
                           uint64_t len_bytes)
{
    copier_t       *c = (copier_t *)super;
    size_t          n = n_segments + len_bytes / PIECE_BYTES;
    fs_cu_context_t popped;
    bool            good;

    if (n <= c->max_pieces || c->device->module == NULL) {
        return FS_OK;
    }
    if (c->cu->CtxPushCurrent_v2(c->device->context) != 0) {
        return FS_ERR_NOMEM;
    }
    free_pieces(c);
    good = alloc_pieces(c, n);
    c->cu->CtxPopCurrent_v2(&popped);
    return good ? FS_OK : FS_ERR_NOMEM;
}

static size_t count_pieces(const fs_segment_t *segments, size_t n_segments)
{
    size_t n = 0;

    for (size_t k = 0; k < n_segments; ++k) {
        n += (segments[k].len_bytes + PIECE_BYTES - 1) / PIECE_BYTES;
    }
    return n;
}

static void cut(const fs_segment_t *segments, size_t n_segments,
                fs_segment_t *piece)
{
    for (size_t k = 0; k < n_segments; ++k) {
        const fs_segment_t *s = &segments[k];

        for (uint64_t at = 0; at < s->len_bytes; at += PIECE_BYTES) {
            uint64_t left = s->len_bytes - at;

            *piece++ = (fs_segment_t){(char *)s->dst + at,
                                      (const char *)s->src + at,
                                      left < PIECE_BYTES ? left : PIECE_BYTES};
        }
    }
}

/* ---- a batch ---- */

/* n pieces, for which there is room. */
static bool launch(copier_t *c, const fs_segment_t *segments, size_t n_segments,
                   unsigned n)
{
    unsigned blocks = (unsigned)c->device->n_multiprocessors * BLOCKS_PER_MULTI;
    void    *params[] = {&c->device_pieces, &n};

    cut(segments, n_segments, c->pieces);
    return c->cu->MemcpyAsync(c->device_pieces, (uintptr_t)c->pieces,
                              n * sizeof(*c->pieces), c->stream) == 0 &&
           c->cu->LaunchKernel(c->device->kernel, n < blocks ? n : blocks, 1, 1,
                               THREADS, 1, 1, 0, c->stream, params, NULL) == 0;
}

static bool copy_in_a_row(copier_t *c, const fs_segment_t *segments,
                          size_t n_segments)
{
    int error = 0;

    for (size_t k = 0; k < n_segments && error == 0; ++k) {
        const fs_segment_t *s = &segments[k];

        if (s->len_bytes > 0) {
            error = c->cu->MemcpyAsync((uintptr_t)s->dst, (uintptr_t)s->src,
                                       s->len_bytes, c->stream);
        }
    }
    return error == 0;
}

static fs_status_t start(fs_copier_t *super, const fs_segment_t *segments,
                         size_t n_segments, bool on_device)
{
    copier_t       *c = (copier_t *)super;
    size_t          n = count_pieces(segments, n_segments);
    fs_cu_context_t popped;
    bool            good, kernel;

    if (c->cu->CtxPushCurrent_v2(c->device->context) != 0) {
        return FS_ERR_ACCEL;
    }
    kernel = on_device && n_segments > 1 && n > 0 && n <= c->max_pieces &&
             n <= UINT32_MAX;
    good = kernel ? launch(c, segments, n_segments, (unsigned)n)
                  : copy_in_a_row(c, segments, n_segments);
    good = good && c->cu->EventRecord(c->event, c->stream) == 0;
    if (!good) {
        /* What has begun ends before the memory is used again. */
        c->cu->StreamSynchronize(c->stream);
    }
    c->cu->CtxPopCurrent_v2(&popped);
    return good ? FS_OK : FS_ERR_ACCEL;
}

static fs_status_t test(fs_copier_t *super, bool wait)
{
    copier_t       *c = (copier_t *)super;
    fs_cu_context_t popped;
    int             error;

    if (c->cu->CtxPushCurrent_v2(c->device->context) != 0) {
        return FS_ERR_ACCEL;
    }
    error = wait ? c->cu->StreamSynchronize(c->stream)
                 : c->cu->EventQuery(c->event);
    if (error != 0 && error != FS_CU_NOT_READY) {
        c->cu->StreamSynchronize(c->stream); /* as in start() */
    }
    c->cu->CtxPopCurrent_v2(&popped);
    return error == 0                 ? FS_OK
           : error == FS_CU_NOT_READY ? FS_INPROGRESS
                                      : FS_ERR_ACCEL;
}

/* ---- life ---- */

static void destroy(fs_copier_t *super)
{
    copier_t       *c = (copier_t *)super;
    fs_cu_context_t popped;

    if (c->cu->CtxPushCurrent_v2(c->device->context) == 0) {
        free_pieces(c);
        c->cu->EventDestroy_v2(c->event);
        c->cu->StreamDestroy_v2(c->stream);
        c->cu->CtxPopCurrent_v2(&popped);
    }
    free(c);
}

fs_copier_t *fs_cuda_copier_create(const fs_cu_calls_t    *cu,
                                   const fs_cuda_device_t *device)
{
    copier_t *c = calloc(1, sizeof(*c));

    if (c == NULL ||
        cu->StreamCreate(&c->stream, FS_CU_STREAM_NON_BLOCKING) != 0) {
        free(c);
        return NULL;
    }
    if (cu->EventCreate(&c->event, FS_CU_EVENT_DISABLE_TIMING) != 0) {
        cu->StreamDestroy_v2(c->stream);
        free(c);
        return NULL;
    }
    c->super = (fs_copier_t){
        .reserve = reserve, .start = start, .test = test, .destroy = destroy};
    c->super.has_kernel = device->module != NULL;
    c->cu               = cu;
    c->device           = device;
    return &c->super;
}
