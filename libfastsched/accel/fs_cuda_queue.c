/* SPDX-License-Identifier: BSD-3-Clause */
/* Work on one device of CUDA. */
#include "accel/fs_cuda.h"

#include <stdlib.h>

typedef struct queue {
    fs_queue_t              super; /* first */
    const fs_cu_calls_t    *cu;
    const fs_cuda_device_t *device;
    fs_cu_stream_t          stream; /* does not wait for the program's */
    fs_cu_event_t           event;
} queue_t;

static bool enter(fs_queue_t *super)
{
    const queue_t *q = (const queue_t *)super;

    return q->cu->CtxPushCurrent_v2(q->device->context) == 0;
}

static void leave(fs_queue_t *super)
{
    const queue_t  *q = (const queue_t *)super;
    fs_cu_context_t popped;

    q->cu->CtxPopCurrent_v2(&popped);
}

static bool copy(fs_queue_t *super, const fs_segment_t *s)
{
    const queue_t *q = (const queue_t *)super;

    return q->cu->MemcpyAsync((uintptr_t)s->dst, (uintptr_t)s->src,
                              s->len_bytes, q->stream) == 0;
}

static bool launch(fs_queue_t *super, void *pieces, unsigned n_pieces,
                   unsigned n_blocks)
{
    const queue_t *q        = (const queue_t *)super;
    void          *params[] = {&pieces, &n_pieces};

    return q->cu->LaunchKernel(q->device->kernel, n_blocks, 1, 1,
                               FS_KERNEL_THREADS, 1, 1, 0, q->stream, params,
                               NULL) == 0;
}

static bool mark(fs_queue_t *super)
{
    const queue_t *q = (const queue_t *)super;

    return q->cu->EventRecord(q->event, q->stream) == 0;
}

static fs_status_t test(fs_queue_t *super)
{
    const queue_t *q = (const queue_t *)super;
    int            error;

    if (!enter(super)) {
        return FS_ERR_ACCEL;
    }
    error = q->cu->EventQuery(q->event);
    leave(super);
    return error == 0                 ? FS_OK
           : error == FS_CU_NOT_READY ? FS_INPROGRESS
                                      : FS_ERR_ACCEL;
}

static fs_status_t drain(fs_queue_t *super)
{
    const queue_t *q = (const queue_t *)super;
    bool           good;

    if (!enter(super)) {
        return FS_ERR_ACCEL; /* the stream has gone with the context */
    }
    good = q->cu->StreamSynchronize(q->stream) == 0;
    leave(super);
    return good ? FS_OK : FS_ERR_ACCEL;
}

static void destroy(fs_queue_t *super)
{
    queue_t *q = (queue_t *)super;

    if (enter(super)) {
        q->cu->EventDestroy_v2(q->event);
        q->cu->StreamDestroy_v2(q->stream);
        leave(super);
    }
    free(q);
}

fs_queue_t *fs_cuda_queue_create(const fs_cu_calls_t    *cu,
                                 const fs_cuda_device_t *device)
{
    static const fs_queue_t calls = {.enter   = enter,
                                     .leave   = leave,
                                     .copy    = copy,
                                     .launch  = launch,
                                     .mark    = mark,
                                     .test    = test,
                                     .drain   = drain,
                                     .destroy = destroy};
    queue_t                *q     = calloc(1, sizeof(*q));

    if (q == NULL ||
        cu->StreamCreate(&q->stream, FS_CU_STREAM_NON_BLOCKING) != 0) {
        free(q);
        return NULL;
    }
    if (cu->EventCreate(&q->event, FS_CU_EVENT_DISABLE_TIMING) != 0) {
        cu->StreamDestroy_v2(q->stream);
        free(q);
        return NULL;
    }
    q->super  = calls;
    q->cu     = cu;
    q->device = device;
    return &q->super;
}
