/* SPDX-License-Identifier: BSD-3-Clause */
/* What we use of HIP's runtime, as hip_runtime_api.h has it. */
#ifndef FS_HIP_H
#define FS_HIP_H

#include "accel/fs_backend.h"

enum {
    FS_HIP_MEMORY_TYPE          = 2, /* HIP_POINTER_ATTRIBUTE_... */
    FS_HIP_IS_MANAGED           = 8,
    FS_HIP_DEVICE_ORDINAL       = 9,
    FS_HIP_TYPE_DEVICE_5        = 1, /* hipMemoryTypeDevice up to HIP 5 */
    FS_HIP_TYPE_DEVICE          = 2, /* from HIP 6 on */
    FS_HIP_VERSION_PER_MAJOR    = 10000000,
    FS_HIP_MULTIPROCESSOR_COUNT = 63, /* hipDeviceAttribute... */
    FS_HIP_MEMCPY_DEFAULT       = 4,
    FS_HIP_STREAM_NON_BLOCKING  = 1,
    FS_HIP_EVENT_DISABLE_TIMING = 2,
    FS_HIP_NOT_READY            = 600
};

/* What has been written is there for other devices, too, for a NIC say. */
#define FS_HIP_EVENT_RELEASE_TO_SYSTEM 0x80000000u

/* DO(name without "hip", type). All return 0 for success. */
#define FS_HIP_CALLS(DO)                                                 \
    DO(PointerGetAttribute, int (*)(void *, int, void *))                \
    DO(GetLastError, int (*)(void))                                      \
    DO(RuntimeGetVersion, int (*)(int *))                                \
    DO(GetDevice, int (*)(int *))                                        \
    DO(SetDevice, int (*)(int))                                          \
    DO(DeviceGetAttribute, int (*)(int *, int, int))                     \
    DO(Malloc, int (*)(void **, size_t))                                 \
    DO(Free, int (*)(void *))                                            \
    DO(HostMalloc, int (*)(void **, size_t, unsigned))                   \
    DO(HostFree, int (*)(void *))                                        \
    DO(StreamCreateWithFlags, int (*)(void **, unsigned))                \
    DO(StreamDestroy, int (*)(void *))                                   \
    DO(StreamSynchronize, int (*)(void *))                               \
    DO(EventCreateWithFlags, int (*)(void **, unsigned))                 \
    DO(EventRecord, int (*)(void *, void *))                             \
    DO(EventQuery, int (*)(void *))                                      \
    DO(EventDestroy, int (*)(void *))                                    \
    DO(ModuleLoadData, int (*)(void **, const void *))                   \
    DO(ModuleGetFunction, int (*)(void **, void *, const char *))        \
    DO(ModuleUnload, int (*)(void *))                                    \
    DO(ModuleLaunchKernel,                                               \
       int (*)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, \
               unsigned, unsigned, void *, void **, void **))            \
    DO(MemcpyAsync, int (*)(void *, const void *, size_t, int, void *))

#define FS_HIP_FIELD(name, type) __typeof__((type)0) name;

typedef struct fs_hip_calls {
    FS_HIP_CALLS(FS_HIP_FIELD)
} fs_hip_calls_t;

/* What we have on a device. */
typedef struct fs_hip_device {
    bool     sought; /* the kernel */
    char    *code;   /* of the kernel; NULL: there is none */
    void    *module; /* of the code; NULL: the device does not take it */
    void    *kernel;
    unsigned max_blocks; /* of the kernel at a time; 0: none */
} fs_hip_device_t;

/* No error? One of ours is not the program's, which asks by hipGetLastError. */
bool fs_hip_good(const fs_hip_calls_t *hip, int error);

/* The device is current from here to fs_hip_leave(before). False: it cannot. */
bool fs_hip_enter(const fs_hip_calls_t *hip, int device, int *before_p);
void fs_hip_leave(const fs_hip_calls_t *hip, int before);

/* Compile the kernel for a device, which is current, and left without a kernel if
 * that cannot be; and away with it. runtime: the library of hip. */
void fs_hip_load_kernel(const fs_hip_calls_t *hip, void *runtime, int ordinal,
                        fs_hip_device_t *device);
void fs_hip_unload_kernel(const fs_hip_calls_t *hip, fs_hip_device_t *device);

/* fs_backend_t.create_queue of a device, which is current; hip and device are
 * borrowed. */
fs_queue_t *fs_hip_queue_create(const fs_hip_calls_t  *hip,
                                const fs_hip_device_t *device, int ordinal);

#endif
