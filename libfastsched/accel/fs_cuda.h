/* SPDX-License-Identifier: BSD-3-Clause */
/* What we use of CUDA's driver, as cuda.h has it. */
#ifndef FS_CUDA_H
#define FS_CUDA_H

#include "accel/fs_accel.h"

#include <stdint.h>

typedef int      fs_cu_device_t;
typedef void    *fs_cu_context_t;
typedef void    *fs_cu_stream_t;
typedef uint64_t fs_cu_address_t;

enum {
    FS_CU_MEMORY_TYPE         = 2, /* CU_POINTER_ATTRIBUTE_... */
    FS_CU_IS_MANAGED          = 8,
    FS_CU_DEVICE_ORDINAL      = 9,
    FS_CU_TYPE_DEVICE         = 2, /* CU_MEMORYTYPE_DEVICE */
    FS_CU_STREAM_NON_BLOCKING = 1
};

/* DO(name without "cu", type). All return 0 for success. */
#define FS_CU_CALLS(DO)                                                    \
    DO(PointerGetAttribute, int (*)(void *, int, fs_cu_address_t))         \
    DO(DeviceGet, int (*)(fs_cu_device_t *, int))                          \
    DO(DevicePrimaryCtxRetain, int (*)(fs_cu_context_t *, fs_cu_device_t)) \
    DO(CtxPushCurrent_v2, int (*)(fs_cu_context_t))                        \
    DO(CtxPopCurrent_v2, int (*)(fs_cu_context_t *))                       \
    DO(StreamCreate, int (*)(fs_cu_stream_t *, unsigned))                  \
    DO(StreamDestroy_v2, int (*)(fs_cu_stream_t))                          \
    DO(StreamSynchronize, int (*)(fs_cu_stream_t))                         \
    DO(MemcpyAsync,                                                        \
       int (*)(fs_cu_address_t, fs_cu_address_t, size_t, fs_cu_stream_t))

#define FS_CU_FIELD(name, type) __typeof__((type)0) name;

typedef struct fs_cu_calls {
    FS_CU_CALLS(FS_CU_FIELD)
} fs_cu_calls_t;

#endif
