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

/** The accelerators of this process. */
typedef struct fs_accel fs_accel_t;

#ifdef __cplusplus
}
#endif

#endif
