/* SPDX-License-Identifier: BSD-3-Clause */
/* Work on one device of HIP. */
#include "accel/fs_hip.h"

#include <stdlib.h>

typedef struct queue {
    fs_queue_t             super; /* first */
    const fs_hip_calls_t  *hip;
    const fs_hip_device_t *device;
    int                    ordinal;
    int                    before; /* the device that was current */
    void                  *stream; /* does not wait for the program's */
    void                  *event;
} queue_t;

static bool enter(fs_queue_t *super)
{
    queue_t *q = (queue_t *)super;

    return fs_hip_enter(q->hip, q->ordinal, &q->before);
}

static void leave(fs_queue_t *super)
{
    const queue_t *q = (const queue_t *)super;

    fs_hip_leave(q->hip, q->before);
}

static bool copy(fs_queue_t *super, const fs_segment_t *s)
{
    const queue_t *q = (const queue_t *)super;

    return fs_hip_good(q->hip,
                       q->hip->MemcpyAsync(s->dst, s->src, s->len_bytes,
                                           FS_HIP_MEMCPY_DEFAULT, q->stream));
}

static bool launch(fs_queue_t *super, void *pieces, unsigned n_pieces,
                   unsigned n_blocks)
{
    const queue_t *q        = (const queue_t *)super;
    void          *params[] = {&pieces, &n_pieces};

    return fs_hip_good(q->hip,
                       q->hip->ModuleLaunchKernel(q->device->kernel, n_blocks,
                                                  1, 1, FS_KERNEL_THREADS, 1, 1,
                                                  0, q->stream, params, NULL));
}

static bool mark(fs_queue_t *super)
{
    const queue_t *q = (const queue_t *)super;

    return fs_hip_good(q->hip, q->hip->EventRecord(q->event, q->stream));
}

static fs_status_t test(fs_queue_t *super)
{
    const queue_t *q     = (const queue_t *)super;
    int            error = q->hip->EventQuery(q->event);

    return fs_hip_good(q->hip, error)  ? FS_OK
           : error == FS_HIP_NOT_READY ? FS_INPROGRESS
                                       : FS_ERR_ACCEL;
}

static fs_status_t drain(fs_queue_t *super)
{
    const queue_t *q = (const queue_t *)super;

    return fs_hip_good(q->hip, q->hip->StreamSynchronize(q->stream))
               ? FS_OK
               : FS_ERR_ACCEL;
}

static void destroy(fs_queue_t *super)
{
    queue_t *q = (queue_t *)super;

    (void)fs_hip_good(q->hip, q->hip->EventDestroy(q->event));
    (void)fs_hip_good(q->hip, q->hip->StreamDestroy(q->stream));
    free(q);
}

fs_queue_t *fs_hip_queue_create(const fs_hip_calls_t  *hip,
                                const fs_hip_device_t *device, int ordinal)
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
        !fs_hip_good(hip, hip->StreamCreateWithFlags(
                              &q->stream, FS_HIP_STREAM_NON_BLOCKING))) {
        free(q);
        return NULL;
    }
    if (!fs_hip_good(hip, hip->EventCreateWithFlags(
                              &q->event, FS_HIP_EVENT_DISABLE_TIMING |
                                             FS_HIP_EVENT_RELEASE_TO_SYSTEM))) {
        (void)fs_hip_good(hip, hip->StreamDestroy(q->stream));
        free(q);
        return NULL;
    }
    q->super   = calls;
    q->hip     = hip;
    q->device  = device;
    q->ordinal = ordinal;
    return &q->super;
}
