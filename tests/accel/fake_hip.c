/* SPDX-License-Identifier: BSD-3-Clause */
/* A libamdhip64.so.6 without a GPU: the memory and the streams of fake_cuda.c
 * under HIP's names. */
#include "fake_cuda.c"

enum { VERSION = 60000000, MEMCPY_DEFAULT = 4 };

static _Thread_local int current;

int hipMalloc(void **address_p, size_t len_bytes)
{
    uint64_t address = 0;
    int      error   = cuMemAlloc_v2(&address, len_bytes);

    *address_p = (void *)(uintptr_t)address;
    return error;
}

int hipPointerGetAttribute(void *value, int which, void *address)
{
    return cuPointerGetAttribute(value, which, (uintptr_t)address);
}

int hipRuntimeGetVersion(int *version_p)
{
    *version_p = VERSION;
    return SUCCESS;
}

int hipGetDevice(int *device_p)
{
    *device_p = current;
    return SUCCESS;
}

int hipSetDevice(int device)
{
    current = device;
    return device >= 0 && device < N_DEVICES ? SUCCESS : INVALID_VALUE;
}

int hipStreamCreateWithFlags(stream_t **stream_p, unsigned flags)
{
    (void)flags;
    *stream_p            = calloc(1, sizeof(**stream_p));
    (*stream_p)->context = &contexts[current];
    return SUCCESS;
}

int hipStreamDestroy(stream_t *stream)
{
    free(stream);
    return SUCCESS;
}

int hipMemcpyAsync(void *dst, const void *src, size_t len, int kind,
                   stream_t *stream)
{
    int error;

    if (kind != MEMCPY_DEFAULT || stream->context != &contexts[current]) {
        return INVALID_VALUE;
    }
    cuCtxPushCurrent_v2(stream->context);
    error = cuMemcpyAsync((uintptr_t)dst, (uintptr_t)src, len, stream);
    --depth;
    return error;
}

int hipStreamSynchronize(stream_t *stream)
{
    return cuStreamSynchronize(stream);
}
