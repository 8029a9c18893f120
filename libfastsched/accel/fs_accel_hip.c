/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * HIP, by its runtime: libamdhip64, if the process has loaded it.
 *
 * As with CUDA the few types and numbers that we need are written down here;
 * tests/accel/hip_abi.c compares them with hip_runtime_api.h where there is one.
 */
#include "accel/fs_hip.h"

#include <dlfcn.h>
#include <stdlib.h>

typedef struct hip {
    fs_backend_t   super; /* first */
    fs_hip_calls_t hip;
    void          *library;     /* stays while we may call it */
    int            type_device; /* the versions differ */
} hip_t;

/* ---- devices ---- */

bool fs_hip_enter(const fs_hip_calls_t *hip, int device, int *before_p)
{
    return device >= 0 && hip->GetDevice(before_p) == 0 &&
           hip->SetDevice(device) == 0;
}

bool fs_hip_leave(const fs_hip_calls_t *hip, int before)
{
    return hip->SetDevice(before) == 0;
}

/* ---- memory ---- */

/* -1: it has none. The program need not hear of that, by hipGetLastError. */
static int attribute(const hip_t *hip, int which, const void *address)
{
    int value = 0;

    if (hip->hip.PointerGetAttribute(&value, which,
                                     (void *)(uintptr_t)address) != 0) {
        (void)hip->hip.GetLastError();
        return -1;
    }
    return value;
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
    (void)fs_hip_leave(hip, before);
    return error == 0 ? memory : NULL;
}

static void hip_free(fs_backend_t *backend, int device, void *address,
                     bool pinned)
{
    const fs_hip_calls_t *hip = &((const hip_t *)backend)->hip;

    (void)device; /* addresses are of all devices */
    if (pinned) {
        hip->HostFree(address);
    } else {
        hip->Free(address);
    }
}

static fs_copier_t *hip_create_copier(fs_backend_t *backend, int device)
{
    const hip_t *hip    = (const hip_t *)backend;
    fs_copier_t *copier = NULL;
    int          before;

    if (fs_hip_enter(&hip->hip, device, &before)) {
        copier = fs_hip_copier_create(&hip->hip, device);
        (void)fs_hip_leave(&hip->hip, before);
    }
    return copier;
}

/* ---- life ---- */

static void hip_destroy(fs_backend_t *backend)
{
    hip_t *hip = (hip_t *)backend;

    dlclose(hip->library);
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
    hip->super       = (fs_backend_t){.kind          = FS_MEM_ROCM,
                                      .query         = hip_query,
                                      .alloc         = hip_alloc,
                                      .free          = hip_free,
                                      .create_copier = hip_create_copier,
                                      .destroy       = hip_destroy};
    hip->library     = library;
    hip->type_device = version < FS_HIP_VERSION_6 ? FS_HIP_TYPE_DEVICE_5
                                                  : FS_HIP_TYPE_DEVICE;
    return &hip->super;
}
