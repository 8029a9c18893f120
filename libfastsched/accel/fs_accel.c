/* SPDX-License-Identifier: BSD-3-Clause */
#include "accel/fs_accel.h"

#include <stdlib.h>

enum { MAX_BACKENDS = 2 };

struct fs_accel {
    fs_backend_t *backends[MAX_BACKENDS];
    size_t        n_backends;
};

const char *fs_mem_name(fs_mem_kind_t kind)
{
    static const char *const names[] = {"host", "cuda", "cuda-managed", "rocm",
                                        "rocm-managed"};

    return names[kind];
}

static void add(fs_accel_t *accel, fs_backend_t *backend)
{
    if (backend != NULL) {
        accel->backends[accel->n_backends++] = backend;
    }
}

fs_accel_t *fs_accel_create(void)
{
    fs_accel_t *accel = calloc(1, sizeof(*accel));

    if (accel == NULL) {
        return NULL;
    }
    add(accel, fs_cuda_create());
    add(accel, fs_hip_create());
    if (accel->n_backends == 0) {
        free(accel);
        return NULL;
    }
    return accel;
}

void fs_accel_destroy(fs_accel_t *accel)
{
    for (size_t k = 0; accel != NULL && k < accel->n_backends; ++k) {
        accel->backends[k]->destroy(accel->backends[k]);
    }
    free(accel);
}

fs_mem_t fs_accel_query(const fs_accel_t *accel, const void *address)
{
    fs_mem_t mem = {FS_MEM_HOST, 0};

    for (size_t k = 0; accel != NULL && k < accel->n_backends; ++k) {
        if (accel->backends[k]->query(accel->backends[k], address, &mem)) {
            break;
        }
    }
    return mem;
}

fs_status_t fs_accel_copy(fs_accel_t *accel, fs_mem_t mem,
                          const fs_segment_t *segments, size_t n_segments)
{
    for (size_t k = 0; k < accel->n_backends; ++k) {
        if (accel->backends[k]->kind == mem.kind) {
            return accel->backends[k]->copy(accel->backends[k], mem.device,
                                            segments, n_segments);
        }
    }
    return FS_ERR_ACCEL;
}
