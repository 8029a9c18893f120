/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * HIP, by its runtime: libamdhip64, if the process has loaded it.
 *
 * As with CUDA the few types and numbers that we need are written down here;
 * tests/accel/hip_abi.c compares them with hip_runtime_api.h where there is one.
 */
#include "accel/fs_hip.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

enum { MAX_DEVICES = 64 };

typedef struct hip {
    fs_backend_t    super; /* first */
    fs_hip_calls_t  hip;
    void           *library;              /* stays while we may call it */
    int             type_device;          /* the versions differ */
    pthread_mutex_t lock;                 /* over streams */
    void           *streams[MAX_DEVICES]; /* do not wait for the program's */
} hip_t;

static int attribute(const hip_t *hip, int which, const void *address)
{
    int value = 0;

    return hip->hip.PointerGetAttribute(&value, which,
                                        (void *)(uintptr_t)address) == 0
               ? value
               : -1;
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

/* ---- copies ---- */

/* NULL: there is none. The device is current. */
static void *get_stream(hip_t *hip, int device)
{
    void *stream;

    pthread_mutex_lock(&hip->lock);
    if (hip->streams[device] == NULL &&
        hip->hip.StreamCreateWithFlags(&hip->streams[device],
                                       FS_HIP_STREAM_NON_BLOCKING) != 0) {
        hip->streams[device] = NULL;
    }
    stream = hip->streams[device];
    pthread_mutex_unlock(&hip->lock);
    return stream;
}

static bool copy_all(hip_t *hip, int device, const fs_segment_t *segments,
                     size_t n_segments)
{
    void *stream = get_stream(hip, device);
    int   error  = stream == NULL;

    for (size_t k = 0; k < n_segments && error == 0; ++k) {
        const fs_segment_t *s = &segments[k];

        if (s->len_bytes > 0) {
            error = hip->hip.MemcpyAsync(s->dst, s->src, s->len_bytes,
                                         FS_HIP_MEMCPY_DEFAULT, stream);
        }
    }
    /* What has begun ends in any case before the memory is used again. */
    return stream != NULL && hip->hip.StreamSynchronize(stream) == 0 &&
           error == 0;
}

static fs_status_t hip_copy(fs_backend_t *backend, int device,
                            const fs_segment_t *segments, size_t n_segments)
{
    hip_t *hip = (hip_t *)backend;
    int    before;
    bool   good;

    if (device < 0 || device >= MAX_DEVICES ||
        hip->hip.GetDevice(&before) != 0 || hip->hip.SetDevice(device) != 0) {
        return FS_ERR_ACCEL;
    }
    good = copy_all(hip, device, segments, n_segments);
    good = hip->hip.SetDevice(before) == 0 && good;
    return good ? FS_OK : FS_ERR_ACCEL;
}

/* ---- life ---- */

static void hip_destroy(fs_backend_t *backend)
{
    hip_t *hip = (hip_t *)backend;

    for (int k = 0; k < MAX_DEVICES; ++k) {
        if (hip->streams[k] != NULL) {
            hip->hip.StreamDestroy(hip->streams[k]);
        }
    }
    dlclose(hip->library);
    pthread_mutex_destroy(&hip->lock);
    free(hip);
}

static void *find_library(void)
{
    static const char *const names[] = {"libamdhip64.so.7", "libamdhip64.so.6",
                                        "libamdhip64.so.5", "libamdhip64.so"};
    void                    *library = NULL;

    for (size_t k = 0; library == NULL && k < sizeof(names) / sizeof(names[0]);
         ++k) {
        library = dlopen(names[k], RTLD_LAZY | RTLD_NOLOAD);
    }
    return library;
}

#define FIND(name, type)                                \
    *(void **)&hip->name = dlsym(library, "hip" #name); \
    found                = found && hip->name != NULL;

static bool find_calls(fs_hip_calls_t *hip, void *library)
{
    bool found = true;

    FS_HIP_CALLS(FIND)
    return found;
}

fs_backend_t *fs_hip_create(void)
{
    void  *library = find_library();
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
    hip->super = (fs_backend_t){FS_MEM_ROCM, hip_query, hip_copy, hip_destroy};
    hip->library     = library;
    hip->type_device = version < FS_HIP_VERSION_6 ? FS_HIP_TYPE_DEVICE_5
                                                  : FS_HIP_TYPE_DEVICE;
    pthread_mutex_init(&hip->lock, NULL);
    return &hip->super;
}
