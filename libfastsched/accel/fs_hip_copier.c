/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies on one device of HIP: a batch is a row of them on one stream. */
#include "accel/fs_hip.h"

#include <stdlib.h>

typedef struct copier {
    fs_copier_t           super; /* first */
    const fs_hip_calls_t *hip;
    int                   device;
    void                 *stream; /* does not wait for the program's */
    void                 *event;
} copier_t;

static bool copy_in_a_row(const copier_t *c, const fs_segment_t *segments,
                          size_t n_segments)
{
    int error = 0;

    for (size_t k = 0; k < n_segments && error == 0; ++k) {
        const fs_segment_t *s = &segments[k];

        if (s->len_bytes > 0) {
            error = c->hip->MemcpyAsync(s->dst, s->src, s->len_bytes,
                                        FS_HIP_MEMCPY_DEFAULT, c->stream);
        }
    }
    return error == 0 && c->hip->EventRecord(c->event, c->stream) == 0;
}

static fs_status_t start(fs_copier_t *super, const fs_segment_t *segments,
                         size_t n_segments, bool on_device)
{
    copier_t *c = (copier_t *)super;
    int       before;
    bool      good;

    (void)on_device;
    if (!fs_hip_enter(c->hip, c->device, &before)) {
        return FS_ERR_ACCEL;
    }
    good = copy_in_a_row(c, segments, n_segments);
    if (!good) {
        /* What has begun ends before the memory is used again. */
        c->hip->StreamSynchronize(c->stream);
    }
    good = fs_hip_leave(c->hip, before) && good;
    return good ? FS_OK : FS_ERR_ACCEL;
}

static fs_status_t test(fs_copier_t *super, bool wait)
{
    const copier_t *c     = (const copier_t *)super;
    int             error = wait ? c->hip->StreamSynchronize(c->stream)
                                 : c->hip->EventQuery(c->event);

    if (error != 0 && error != FS_HIP_NOT_READY) {
        c->hip->StreamSynchronize(c->stream); /* as in start() */
    }
    if (error != 0) {
        (void)c->hip->GetLastError(); /* it is not the program's */
    }
    return error == 0                  ? FS_OK
           : error == FS_HIP_NOT_READY ? FS_INPROGRESS
                                       : FS_ERR_ACCEL;
}

static void destroy(fs_copier_t *super)
{
    copier_t *c = (copier_t *)super;

    c->hip->EventDestroy(c->event);
    c->hip->StreamDestroy(c->stream);
    free(c);
}

fs_copier_t *fs_hip_copier_create(const fs_hip_calls_t *hip, int device)
{
    copier_t *c = calloc(1, sizeof(*c));

    if (c == NULL || hip->StreamCreateWithFlags(
                         &c->stream, FS_HIP_STREAM_NON_BLOCKING) != 0) {
        free(c);
        return NULL;
    }
    if (hip->EventCreateWithFlags(&c->event, FS_HIP_EVENT_DISABLE_TIMING) !=
        0) {
        hip->StreamDestroy(c->stream);
        free(c);
        return NULL;
    }
    c->super  = (fs_copier_t){.start = start, .test = test, .destroy = destroy};
    c->hip    = hip;
    c->device = device;
    return &c->super;
}
