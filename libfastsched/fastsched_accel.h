/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * Memory of accelerators: what there is to say about it. The two plugins find out
 * where buffers are, and move what the network does not take there; programs of
 * others have no calls for that.
 *
 * Their drivers are used if the program has loaded them (libcuda.so.1,
 * libamdhip64), and found at run time: neither headers nor libraries of them are
 * needed to build or to run.
 */
#ifndef FASTSCHED_ACCEL_H
#define FASTSCHED_ACCEL_H

#include "fastsched.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Where memory is. What is managed, or pinned on the host, any CPU may touch. A
 *  list as in fastsched.h, of value, word and UCX's name. */
#define FS_MEM_MAP(X)                                    \
    X(FS_MEM_HOST, "host", HOST)                         \
    X(FS_MEM_CUDA, "cuda", CUDA)                         \
    X(FS_MEM_CUDA_MANAGED, "cuda-managed", CUDA_MANAGED) \
    X(FS_MEM_ROCM, "rocm", ROCM)                         \
    X(FS_MEM_ROCM_MANAGED, "rocm-managed", ROCM_MANAGED)

typedef enum fs_mem_kind { FS_MEM_MAP(FS_LIST_VALUE) } fs_mem_kind_t;

enum { FS_N_MEM_KINDS = FS_MEM_MAP(FS_LIST_ONE) };

typedef struct fs_mem {
    fs_mem_kind_t kind;
    int           device; /**< as its driver counts; 0 on the host */
    bool foreign; /**< CUDA: of a context that is not the runtime's, where our
                       kernel cannot go */
    bool pooled;  /**< CUDA: of a pool or mapped, not of a context: another
                       process cannot open it; announced to UCX as managed */
} fs_mem_t;

/** What a device does with two vectors by itself, of elements of these types. Sums of
 *  integers wrap. */
typedef enum fs_device_op {
    FS_DEVICE_SUM = 1,
    FS_DEVICE_MIN,
    FS_DEVICE_MAX
} fs_device_op_t;

typedef enum fs_device_type {
    FS_DEVICE_I8,
    FS_DEVICE_I16,
    FS_DEVICE_I32,
    FS_DEVICE_I64,
    FS_DEVICE_U8,
    FS_DEVICE_U16,
    FS_DEVICE_U32,
    FS_DEVICE_U64,
    FS_DEVICE_F16,
    FS_DEVICE_BF16,
    FS_DEVICE_F32,
    FS_DEVICE_F64,
    FS_N_DEVICE_TYPES
} fs_device_type_t;

/** Both in one number, above 0. */
static inline uint32_t fs_device_how(fs_device_op_t op, fs_device_type_t type)
{
    return (uint32_t)type * 4 + (uint32_t)op;
}

static inline uint32_t fs_device_op_of(uint32_t how)
{
    return how % 4;
}

static inline uint32_t fs_device_type_of(uint32_t how)
{
    return how / 4;
}

/** The accelerators of this process. */
typedef struct fs_accel fs_accel_t;

#ifdef __cplusplus
}
#endif

#endif
