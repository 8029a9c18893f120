/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * HIP, by its runtime: libamdhip64, if the process has loaded it.
 *
 * As with CUDA the few types and numbers that we need are written down here;
 * tests/accel/hip_abi.c compares them with hip_runtime_api.h where there is one.
 */
#include "accel/fs_hip.h"

#include "base/fs_library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

enum { MAX_DEVICES = 64 };

typedef struct hip {
    fs_backend_t    super; /* first */
    fs_hip_calls_t  hip;
    void           *library;     /* stays while we may call it */
    int             type_device; /* the versions differ */
    pthread_mutex_t lock;        /* over devices */
    fs_hip_device_t devices[MAX_DEVICES];
} hip_t;

/* ---- devices ---- */

bool fs_hip_good(const fs_hip_calls_t *hip, int error)
{
    if (error != 0) {
        (void)hip->GetLastError();
    }
    return error == 0;
}

bool fs_hip_enter(const fs_hip_calls_t *hip, int device, int *before_p)
{
    return device >= 0 && fs_hip_good(hip, hip->GetDevice(before_p)) &&
           fs_hip_good(hip, hip->SetDevice(device));
}

void fs_hip_leave(const fs_hip_calls_t *hip, int before)
{
    (void)fs_hip_good(hip, hip->SetDevice(before));
}

/* ---- memory ---- */

/* -1: it has none. */
static int attribute(const hip_t *hip, int which, const void *address)
{
    int value = 0;
    int error =
        hip->hip.PointerGetAttribute(&value, which, (void *)(uintptr_t)address);

    return fs_hip_good(&hip->hip, error) ? value : -1;
}

static bool hip_query(fs_backend_t *backend, const void *address,
                      fs_mem_t *mem_p)
{
    const hip_t *hip     = (const hip_t *)backend;
    bool         managed = attribute(hip, FS_HIP_IS_MANAGED, address) > 0;

    if (!managed &&
        attribute(hip, FS_HIP_MEMORY_TYPE, address) != hip->type_device) {
        return false; /* plain, or pinned */
    }
    mem_p->kind   = managed ? FS_MEM_ROCM_MANAGED : FS_MEM_ROCM;
    mem_p->device = attribute(hip, FS_HIP_DEVICE_ORDINAL, address);
    return true;
}

static void *hip_alloc(fs_backend_t *backend, int device, uint64_t len_bytes,
                       bool pinned)
{
    const fs_hip_calls_t *hip    = &((const hip_t *)backend)->hip;
    void                 *memory = NULL;
    int                   before, error;

    if (!fs_hip_enter(hip, device, &before)) {
        return NULL;
    }
    error = pinned ? hip->HostMalloc(&memory, len_bytes, 0)
                   : hip->Malloc(&memory, len_bytes);
    fs_hip_leave(hip, before);
    return fs_hip_good(hip, error) ? memory : NULL;
}

static void hip_free(fs_backend_t *backend, int device, void *address,
                     bool pinned)
{
    const fs_hip_calls_t *hip = &((const hip_t *)backend)->hip;

    (void)device; /* addresses are of all devices */
    if (pinned) {
        (void)fs_hip_good(hip, hip->HostFree(address));
    } else {
        (void)fs_hip_good(hip, hip->Free(address));
    }
}

static fs_queue_t *hip_create_queue(fs_backend_t *backend, int ordinal)
{
    hip_t      *hip   = (hip_t *)backend;
    fs_queue_t *queue = NULL;
    int         before;

    if (ordinal < MAX_DEVICES && fs_hip_enter(&hip->hip, ordinal, &before)) {
        queue = fs_hip_queue_create(&hip->hip, &hip->devices[ordinal], ordinal);
        fs_hip_leave(&hip->hip, before);
    }
    return queue;
}

/* The device is current. */
static void seek_kernel(hip_t *hip, fs_hip_device_t *device, int ordinal)
{
    int n = 0;

    device->sought = true;
    fs_hip_load_kernel(&hip->hip, hip->library, ordinal, device);
    if (device->module != NULL &&
        fs_hip_good(&hip->hip, hip->hip.DeviceGetAttribute(
                                   &n, FS_HIP_MULTIPROCESSOR_COUNT, ordinal))) {
        device->max_blocks = (unsigned)n * FS_KERNEL_BLOCKS_PER_MULTI;
    }
}

static unsigned hip_kernel_blocks(fs_backend_t *backend, int ordinal)
{
    hip_t           *hip = (hip_t *)backend;
    fs_hip_device_t *device;
    unsigned         max_blocks;
    int              before;

    if (ordinal < 0 || ordinal >= MAX_DEVICES) {
        return 0;
    }
    device = &hip->devices[ordinal];
    pthread_mutex_lock(&hip->lock);
    if (!device->sought && fs_hip_enter(&hip->hip, ordinal, &before)) {
        seek_kernel(hip, device, ordinal);
        fs_hip_leave(&hip->hip, before);
    }
    max_blocks = device->max_blocks;
    pthread_mutex_unlock(&hip->lock);
    return max_blocks;
}

/* ---- life ---- */

static void hip_destroy(fs_backend_t *backend)
{
    hip_t *hip = (hip_t *)backend;
    int    before;

    for (int k = 0; k < MAX_DEVICES; ++k) {
        if (hip->devices[k].module != NULL &&
            fs_hip_enter(&hip->hip, k, &before)) {
            fs_hip_unload_kernel(&hip->hip, &hip->devices[k]);
            fs_hip_leave(&hip->hip, before);
        }
    }
    dlclose(hip->library);
    pthread_mutex_destroy(&hip->lock);
    free(hip);
}

static const char *const files[] = {"libamdhip64.so.7", "libamdhip64.so.6",
                                    "libamdhip64.so.5", "libamdhip64.so", NULL};

#define NAME(name, type) "hip" #name,
static const char *const names[] = {FS_HIP_CALLS(NAME)};

static bool find_calls(fs_hip_calls_t *hip, void *library)
{
    return fs_library_find(library, names, sizeof(names) / sizeof(names[0]),
                           false, hip) == NULL;
}

fs_backend_t *fs_hip_create(void)
{
    void  *library = fs_library_open(files, RTLD_LAZY | RTLD_NOLOAD);
    hip_t *hip     = calloc(1, sizeof(*hip));
    int    version = 0;

    if (library == NULL || hip == NULL || !find_calls(&hip->hip, library) ||
        hip->hip.RuntimeGetVersion(&version) != 0) {
        if (library != NULL) {
            dlclose(library);
        }
        free(hip);
        return NULL;
    }
    hip->super       = (fs_backend_t){.kind          = FS_MEM_ROCM,
                                      .query         = hip_query,
                                      .alloc         = hip_alloc,
                                      .free          = hip_free,
                                      .create_queue  = hip_create_queue,
                                      .kernel_blocks = hip_kernel_blocks,
                                      .destroy       = hip_destroy};
    hip->library     = library;
    hip->type_device = version / FS_HIP_VERSION_PER_MAJOR < 6
                           ? FS_HIP_TYPE_DEVICE_5
                           : FS_HIP_TYPE_DEVICE;
    pthread_mutex_init(&hip->lock, NULL);
    return &hip->super;
}
