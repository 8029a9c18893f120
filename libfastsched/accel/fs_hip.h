/* SPDX-License-Identifier: BSD-3-Clause */
/* What we use of HIP's runtime, as hip_runtime_api.h has it. */
#ifndef FS_HIP_H
#define FS_HIP_H

#include "accel/fs_accel.h"

enum {
    FS_HIP_MEMORY_TYPE          = 2, /* HIP_POINTER_ATTRIBUTE_... */
    FS_HIP_IS_MANAGED           = 8,
    FS_HIP_DEVICE_ORDINAL       = 9,
    FS_HIP_TYPE_DEVICE_5        = 1, /* hipMemoryTypeDevice up to HIP 5 */
    FS_HIP_TYPE_DEVICE          = 2, /* from HIP 6 on */
    FS_HIP_VERSION_6            = 60000000,
    FS_HIP_MEMCPY_DEFAULT       = 4,
    FS_HIP_STREAM_NON_BLOCKING  = 1,
    FS_HIP_EVENT_DISABLE_TIMING = 2,
    FS_HIP_NOT_READY            = 600
};

/* DO(name without "hip", type). All return 0 for success. */
#define FS_HIP_CALLS(DO)                                  \
    DO(PointerGetAttribute, int (*)(void *, int, void *)) \
    DO(GetLastError, int (*)(void))                       \
    DO(RuntimeGetVersion, int (*)(int *))                 \
    DO(GetDevice, int (*)(int *))                         \
    DO(SetDevice, int (*)(int))                           \
    DO(Malloc, int (*)(void **, size_t))                  \
    DO(Free, int (*)(void *))                             \
    DO(HostMalloc, int (*)(void **, size_t, unsigned))    \
    DO(HostFree, int (*)(void *))                         \
    DO(StreamCreateWithFlags, int (*)(void **, unsigned)) \
    DO(StreamDestroy, int (*)(void *))                    \
    DO(StreamSynchronize, int (*)(void *))                \
    DO(EventCreateWithFlags, int (*)(void **, unsigned))  \
    DO(EventRecord, int (*)(void *, void *))              \
    DO(EventQuery, int (*)(void *))                       \
    DO(EventDestroy, int (*)(void *))                     \
    DO(MemcpyAsync, int (*)(void *, const void *, size_t, int, void *))

#define FS_HIP_FIELD(name, type) __typeof__((type)0) name;

typedef struct fs_hip_calls {
    FS_HIP_CALLS(FS_HIP_FIELD)
} fs_hip_calls_t;

/* The device is current from here to fs_hip_leave(before). False: it cannot. */
bool fs_hip_enter(const fs_hip_calls_t *hip, int device, int *before_p);
/* False: the one before could not be made current again. */
bool fs_hip_leave(const fs_hip_calls_t *hip, int before);

/* fs_backend_t.create_copier; the device is current, hip borrowed. NULL: no
 * stream, or no memory. */
fs_copier_t *fs_hip_copier_create(const fs_hip_calls_t *hip, int device);

#endif
