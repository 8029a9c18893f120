/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CUDA, by its driver: libcuda.so.1, if the process has loaded it.
 *
 * The few types and numbers that we need are written down here, as no build
 * should need the toolkit; tests/accel/cuda_abi.c compares them with cuda.h
 * where there is one.
 */
#include "accel/fs_cuda.h"

#include "base/fs_library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

enum { MAX_DEVICES = 64 };

typedef struct cuda {
    fs_backend_t     super; /* first */
    fs_cu_calls_t    cu;
    void            *library; /* stays while we may call it */
    pthread_mutex_t  lock;    /* over devices */
    fs_cuda_device_t devices[MAX_DEVICES];
} cuda_t;

/* ---- devices ---- */

/* Its context is current. Without the kernel copies go one by one. */
static void load_kernel(const fs_cu_calls_t *cu, fs_cuda_device_t *device,
                        fs_cu_device_t handle)
{
    int n = 0;

    if (cu->ModuleLoadData(&device->module, fs_kernel_ptx) != 0) {
        device->module = NULL;
    } else if (cu->ModuleGetFunction(&device->kernel, device->module,
                                     "fs_do_pieces") == 0 &&
               cu->DeviceGetAttribute(&n, FS_CU_MULTIPROCESSOR_COUNT, handle) ==
                   0) {
        device->max_blocks = (unsigned)n * FS_KERNEL_BLOCKS_PER_MULTI;
    }
}

static bool open_device(const fs_cu_calls_t *cu, fs_cuda_device_t *device,
                        int ordinal)
{
    fs_cu_context_t context = NULL, popped;
    fs_cu_device_t  handle;

    if (cu->DeviceGet(&handle, ordinal) != 0 ||
        cu->DevicePrimaryCtxRetain(&context, handle) != 0 ||
        cu->CtxPushCurrent_v2(context) != 0) {
        return false;
    }
    load_kernel(cu, device, handle);
    cu->CtxPopCurrent_v2(&popped);
    device->context = context;
    return true;
}

/* NULL: it cannot be used. */
static const fs_cuda_device_t *get_device(cuda_t *cuda, int ordinal)
{
    fs_cuda_device_t *device = NULL;

    if (ordinal >= 0 && ordinal < MAX_DEVICES) {
        device = &cuda->devices[ordinal];
        pthread_mutex_lock(&cuda->lock);
        if (device->context == NULL &&
            !open_device(&cuda->cu, device, ordinal)) {
            device = NULL;
        }
        pthread_mutex_unlock(&cuda->lock);
    }
    return device;
}

/* With its context current: close with leave(). NULL: it cannot. */
static const fs_cuda_device_t *enter(cuda_t *cuda, int ordinal)
{
    const fs_cuda_device_t *device = get_device(cuda, ordinal);

    return device != NULL && cuda->cu.CtxPushCurrent_v2(device->context) == 0
               ? device
               : NULL;
}

static void leave(const cuda_t *cuda)
{
    fs_cu_context_t popped;

    cuda->cu.CtxPopCurrent_v2(&popped);
}

/* ---- memory ---- */

/* Attributes of an address, from the driver. */
typedef struct attributes {
    int             type, managed, ordinal, ordered;
    fs_cu_context_t context; /* NULL: of a pool, or mapped */
} attributes_t;

/* In one call; for plain memory all zero, and no error that a debugger sees. Not
 * all memory may know of SYNC_MEMOPS. */
static attributes_t ask(const cuda_t *cuda, const void *address)
{
    enum { N = 5 };
    attributes_t attributes = {.type = 0}, nothing = {.type = 0};
    int   which[N] = {FS_CU_MEMORY_TYPE, FS_CU_IS_MANAGED, FS_CU_DEVICE_ORDINAL,
                      FS_CU_CONTEXT, FS_CU_SYNC_MEMOPS};
    void *values[N] = {&attributes.type, &attributes.managed,
                       &attributes.ordinal, &attributes.context,
                       &attributes.ordered};

    for (unsigned n = N; n >= N - 1; --n) {
        if (cuda->cu.PointerGetAttributes(n, which, values,
                                          (uintptr_t)address) == 0) {
            return attributes;
        }
    }
    return nothing;
}

/* The program's cudaMemset and copies inside the device return before they are
 * done, and our streams do not wait for its: from now on they are done when they
 * return, as with UCX. Pools have no such thing. */
static void order(const cuda_t *cuda, fs_cu_context_t context,
                  const void *address)
{
    int yes = 1;

    if (cuda->cu.CtxPushCurrent_v2(context) == 0) {
        (void)cuda->cu.PointerSetAttribute(&yes, FS_CU_SYNC_MEMOPS,
                                           (uintptr_t)address);
        leave(cuda);
    }
}

/* Memory of no context is of all of them. */
static bool is_foreign(cuda_t *cuda, const attributes_t *attributes)
{
    const fs_cuda_device_t *device = get_device(cuda, attributes->ordinal);

    return device != NULL && attributes->context != NULL &&
           attributes->context != device->context;
}

static bool cuda_query(fs_backend_t *backend, const void *address,
                       fs_mem_t *mem_p)
{
    cuda_t      *cuda       = (cuda_t *)backend;
    attributes_t attributes = ask(cuda, address);

    if (attributes.managed != 0) {
        *mem_p = (fs_mem_t){.kind   = FS_MEM_CUDA_MANAGED,
                            .device = attributes.ordinal};
        return true;
    }
    if (attributes.type != FS_CU_TYPE_DEVICE) {
        return false; /* plain, or pinned */
    }
    *mem_p = (fs_mem_t){.kind    = FS_MEM_CUDA,
                        .device  = attributes.ordinal,
                        .foreign = is_foreign(cuda, &attributes),
                        .pooled  = attributes.context == NULL};
    if (attributes.ordered == 0 && !mem_p->pooled) {
        order(cuda, attributes.context, address);
    }
    return true;
}

static void *cuda_alloc(fs_backend_t *backend, int ordinal, uint64_t len_bytes,
                        bool pinned)
{
    cuda_t         *cuda    = (cuda_t *)backend;
    fs_cu_address_t address = 0;
    void           *memory  = NULL;

    if (enter(cuda, ordinal) == NULL) {
        return NULL;
    }
    if (pinned) {
        if (cuda->cu.MemAllocHost_v2(&memory, len_bytes) != 0) {
            memory = NULL;
        }
    } else if (cuda->cu.MemAlloc_v2(&address, len_bytes) == 0) {
        memory = (void *)(uintptr_t)address;
    }
    leave(cuda);
    return memory;
}

static void cuda_free(fs_backend_t *backend, int ordinal, void *address,
                      bool pinned)
{
    cuda_t *cuda = (cuda_t *)backend;

    if (enter(cuda, ordinal) != NULL) {
        if (pinned) {
            cuda->cu.MemFreeHost(address);
        } else {
            cuda->cu.MemFree_v2((uintptr_t)address);
        }
        leave(cuda);
    }
}

static fs_queue_t *cuda_create_queue(fs_backend_t *backend, int ordinal)
{
    cuda_t                 *cuda   = (cuda_t *)backend;
    const fs_cuda_device_t *device = enter(cuda, ordinal);
    fs_queue_t             *queue  = NULL;

    if (device != NULL) {
        queue = fs_cuda_queue_create(&cuda->cu, device);
        leave(cuda);
    }
    return queue;
}

static unsigned cuda_kernel_blocks(fs_backend_t *backend, int ordinal)
{
    const fs_cuda_device_t *device = get_device((cuda_t *)backend, ordinal);

    return device == NULL ? 0 : device->max_blocks;
}

/* ---- life ---- */

/* Contexts are not changed: the program uses them as well. */
static void cuda_destroy(fs_backend_t *backend)
{
    cuda_t *cuda = (cuda_t *)backend;

    for (int k = 0; k < MAX_DEVICES; ++k) {
        fs_cuda_device_t *device = &cuda->devices[k];

        if (device->module != NULL && enter(cuda, k) != NULL) {
            cuda->cu.ModuleUnload(device->module);
            leave(cuda);
        }
    }
    dlclose(cuda->library);
    pthread_mutex_destroy(&cuda->lock);
    free(cuda);
}

#define NAME(name, type) "cu" #name,
static const char *const names[] = {FS_CU_CALLS(NAME)};

static bool find_calls(fs_cu_calls_t *cu, void *library)
{
    return fs_library_find(library, names, sizeof(names) / sizeof(names[0]),
                           false, cu) == NULL;
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
    cuda->super   = (fs_backend_t){.kind          = FS_MEM_CUDA,
                                   .query         = cuda_query,
                                   .alloc         = cuda_alloc,
                                   .free          = cuda_free,
                                   .create_queue  = cuda_create_queue,
                                   .kernel_blocks = cuda_kernel_blocks,
                                   .destroy       = cuda_destroy};
    cuda->library = library;
    pthread_mutex_init(&cuda->lock, NULL);
    return &cuda->super;
}
