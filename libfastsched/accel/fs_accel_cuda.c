/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CUDA, by its driver: libcuda.so.1, if the process has loaded it.
 *
 * The few types and numbers that we need are written down here, as no build
 * should need the toolkit; tests/accel/cuda_abi.c compares them with cuda.h
 * where there is one.
 */
#include "accel/fs_cuda.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

enum { MAX_DEVICES = 64 };

/* A device that has been used: the context that the runtime uses, too, and a
 * stream that does not wait for the program's. */
typedef struct device {
    fs_cu_context_t context; /* NULL: not yet */
    fs_cu_stream_t  stream;
} device_t;

typedef struct cuda {
    fs_backend_t    super; /* first */
    fs_cu_calls_t   cu;
    void           *library; /* stays while we may call it */
    pthread_mutex_t lock;    /* over devices */
    device_t        devices[MAX_DEVICES];
} cuda_t;

static int attribute(const cuda_t *cuda, int which, const void *address)
{
    int value = 0;

    return cuda->cu.PointerGetAttribute(&value, which, (uintptr_t)address) == 0
               ? value
               : 0;
}

static bool cuda_query(fs_backend_t *backend, const void *address,
                       fs_mem_t *mem_p)
{
    const cuda_t *cuda    = (const cuda_t *)backend;
    int           type    = attribute(cuda, FS_CU_MEMORY_TYPE, address);
    bool          managed = attribute(cuda, FS_CU_IS_MANAGED, address) != 0;

    if (!managed && type != FS_CU_TYPE_DEVICE) {
        return false; /* plain, or pinned */
    }
    mem_p->kind   = managed ? FS_MEM_CUDA_MANAGED : FS_MEM_CUDA;
    mem_p->device = attribute(cuda, FS_CU_DEVICE_ORDINAL, address);
    return true;
}

/* ---- copies ---- */

static bool open_device(const cuda_t *cuda, device_t *device, int ordinal)
{
    fs_cu_context_t context = NULL, popped;
    fs_cu_device_t  handle;

    if (cuda->cu.DeviceGet(&handle, ordinal) != 0 ||
        cuda->cu.DevicePrimaryCtxRetain(&context, handle) != 0) {
        return false;
    }
    if (cuda->cu.CtxPushCurrent_v2(context) != 0) {
        return false;
    }
    if (cuda->cu.StreamCreate(&device->stream, FS_CU_STREAM_NON_BLOCKING) ==
        0) {
        device->context = context;
    }
    cuda->cu.CtxPopCurrent_v2(&popped);
    return device->context != NULL;
}

static device_t *get_device(cuda_t *cuda, int ordinal)
{
    device_t *device = NULL;

    if (ordinal >= 0 && ordinal < MAX_DEVICES) {
        device = &cuda->devices[ordinal];
        pthread_mutex_lock(&cuda->lock);
        if (device->context == NULL && !open_device(cuda, device, ordinal)) {
            device = NULL;
        }
        pthread_mutex_unlock(&cuda->lock);
    }
    return device;
}

static fs_status_t cuda_copy(fs_backend_t *backend, int ordinal,
                             const fs_segment_t *segments, size_t n_segments)
{
    cuda_t         *cuda   = (cuda_t *)backend;
    const device_t *device = get_device(cuda, ordinal);
    fs_cu_context_t popped;
    int             error = 0;

    if (device == NULL || cuda->cu.CtxPushCurrent_v2(device->context) != 0) {
        return FS_ERR_ACCEL;
    }
    for (size_t k = 0; k < n_segments && error == 0; ++k) {
        const fs_segment_t *s = &segments[k];

        if (s->len_bytes > 0) {
            error = cuda->cu.MemcpyAsync((uintptr_t)s->dst, (uintptr_t)s->src,
                                         s->len_bytes, device->stream);
        }
    }
    /* What has begun ends in any case before the memory is used again. */
    if (cuda->cu.StreamSynchronize(device->stream) != 0 || error != 0) {
        error = 1;
    }
    cuda->cu.CtxPopCurrent_v2(&popped);
    return error == 0 ? FS_OK : FS_ERR_ACCEL;
}

/* ---- life ---- */

/* Contexts stay as they are: the program uses them, too. */
static void cuda_destroy(fs_backend_t *backend)
{
    cuda_t         *cuda = (cuda_t *)backend;
    fs_cu_context_t popped;

    for (int k = 0; k < MAX_DEVICES; ++k) {
        const device_t *device = &cuda->devices[k];

        if (device->context != NULL &&
            cuda->cu.CtxPushCurrent_v2(device->context) == 0) {
            cuda->cu.StreamDestroy_v2(device->stream);
            cuda->cu.CtxPopCurrent_v2(&popped);
        }
    }
    dlclose(cuda->library);
    pthread_mutex_destroy(&cuda->lock);
    free(cuda);
}

#define FIND(name, type)                              \
    *(void **)&cu->name = dlsym(library, "cu" #name); \
    found               = found && cu->name != NULL;

static bool find_calls(fs_cu_calls_t *cu, void *library)
{
    bool found = true;

    FS_CU_CALLS(FIND)
    return found;
}

fs_backend_t *fs_cuda_create(void)
{
    void   *library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    cuda_t *cuda    = calloc(1, sizeof(*cuda));

    if (library == NULL || cuda == NULL || !find_calls(&cuda->cu, library)) {
        if (library != NULL) {
            dlclose(library);
        }
        free(cuda);
        return NULL;
    }
    cuda->super =
        (fs_backend_t){FS_MEM_CUDA, cuda_query, cuda_copy, cuda_destroy};
    cuda->library = library;
    pthread_mutex_init(&cuda->lock, NULL);
    return &cuda->super;
}
