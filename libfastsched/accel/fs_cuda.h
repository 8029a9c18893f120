/* SPDX-License-Identifier: BSD-3-Clause */
/* What we use of CUDA's driver, as cuda.h has it. */
#ifndef FS_CUDA_H
#define FS_CUDA_H

#include "accel/fs_backend.h"

#include <stdint.h>

typedef int      fs_cu_device_t;
typedef void    *fs_cu_context_t;
typedef void    *fs_cu_stream_t;
typedef void    *fs_cu_event_t;
typedef void    *fs_cu_module_t;
typedef void    *fs_cu_function_t;
typedef uint64_t fs_cu_address_t;

enum {
    FS_CU_CONTEXT              = 1, /* CU_POINTER_ATTRIBUTE_... */
    FS_CU_MEMORY_TYPE          = 2,
    FS_CU_SYNC_MEMOPS          = 6,
    FS_CU_IS_MANAGED           = 8,
    FS_CU_DEVICE_ORDINAL       = 9,
    FS_CU_TYPE_DEVICE          = 2,  /* CU_MEMORYTYPE_DEVICE */
    FS_CU_MULTIPROCESSOR_COUNT = 16, /* CU_DEVICE_ATTRIBUTE_... */
    FS_CU_STREAM_NON_BLOCKING  = 1,
    FS_CU_EVENT_DISABLE_TIMING = 2,
    FS_CU_NOT_READY            = 600
};

/* DO(name without "cu", type). All return 0 for success. */
#define FS_CU_CALLS(DO)                                                      \
    DO(PointerGetAttributes,                                                 \
       int (*)(unsigned, int *, void **, fs_cu_address_t))                   \
    DO(PointerSetAttribute, int (*)(const void *, int, fs_cu_address_t))     \
    DO(DeviceGet, int (*)(fs_cu_device_t *, int))                            \
    DO(DeviceGetAttribute, int (*)(int *, int, fs_cu_device_t))              \
    DO(DevicePrimaryCtxRetain, int (*)(fs_cu_context_t *, fs_cu_device_t))   \
    DO(CtxPushCurrent_v2, int (*)(fs_cu_context_t))                          \
    DO(CtxPopCurrent_v2, int (*)(fs_cu_context_t *))                         \
    DO(MemAlloc_v2, int (*)(fs_cu_address_t *, size_t))                      \
    DO(MemFree_v2, int (*)(fs_cu_address_t))                                 \
    DO(MemAllocHost_v2, int (*)(void **, size_t))                            \
    DO(MemFreeHost, int (*)(void *))                                         \
    DO(StreamCreate, int (*)(fs_cu_stream_t *, unsigned))                    \
    DO(StreamDestroy_v2, int (*)(fs_cu_stream_t))                            \
    DO(StreamSynchronize, int (*)(fs_cu_stream_t))                           \
    DO(EventCreate, int (*)(fs_cu_event_t *, unsigned))                      \
    DO(EventRecord, int (*)(fs_cu_event_t, fs_cu_stream_t))                  \
    DO(EventQuery, int (*)(fs_cu_event_t))                                   \
    DO(EventDestroy_v2, int (*)(fs_cu_event_t))                              \
    DO(ModuleLoadData, int (*)(fs_cu_module_t *, const void *))              \
    DO(ModuleGetFunction,                                                    \
       int (*)(fs_cu_function_t *, fs_cu_module_t, const char *))            \
    DO(ModuleUnload, int (*)(fs_cu_module_t))                                \
    DO(LaunchKernel, int (*)(fs_cu_function_t, unsigned, unsigned, unsigned, \
                             unsigned, unsigned, unsigned, unsigned,         \
                             fs_cu_stream_t, void **, void **))              \
    DO(MemcpyAsync,                                                          \
       int (*)(fs_cu_address_t, fs_cu_address_t, size_t, fs_cu_stream_t))

#define FS_CU_FIELD(name, type) __typeof__((type)0) name;

typedef struct fs_cu_calls {
    FS_CU_CALLS(FS_CU_FIELD)
} fs_cu_calls_t;

/* A device that has been used. */
typedef struct fs_cuda_device {
    fs_cu_context_t  context; /* also the runtime's; NULL: not yet */
    fs_cu_module_t   module;  /* NULL: the driver does not take it */
    fs_cu_function_t kernel;
    unsigned         max_blocks; /* of the kernel at a time; 0: none */
} fs_cuda_device_t;

/* fs_backend_t.create_queue of a device, whose context is current; both are
 * borrowed. */
fs_queue_t *fs_cuda_queue_create(const fs_cu_calls_t    *cu,
                                 const fs_cuda_device_t *device);

#endif
