/* SPDX-License-Identifier: BSD-3-Clause */
#include "accel/fs_accel.h"

#include "accel/fs_backend.h"
#include "accel/fs_copier.h"

#include <pthread.h>
#include <stdlib.h>

enum { MAX_BACKENDS = 2 };

struct fs_accel {
    fs_backend_t   *backends[MAX_BACKENDS];
    size_t          n_backends;
    pthread_mutex_t lock;
    fs_copier_t    *idle;
};

const char *fs_mem_name(fs_mem_kind_t kind)
{
#define X(_kind, _word, _ucx) [_kind] = _word,
    static const char *const names[]  = {FS_MEM_MAP(X)};
#undef X

    return names[kind];
}

/* ---- life ---- */

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
    pthread_mutex_init(&accel->lock, NULL);
    return accel;
}

void fs_accel_destroy(fs_accel_t *accel)
{
    if (accel == NULL) {
        return;
    }
    while (accel->idle != NULL) {
        fs_copier_t *copier = accel->idle;

        accel->idle = copier->next;
        fs_copier_destroy(copier);
    }
    for (size_t k = 0; k < accel->n_backends; ++k) {
        accel->backends[k]->destroy(accel->backends[k]);
    }
    pthread_mutex_destroy(&accel->lock);
    free(accel);
}

/* ---- memory ---- */

fs_mem_t fs_accel_query(const fs_accel_t *accel, const void *address)
{
    fs_mem_t mem = {.kind = FS_MEM_HOST};

    for (size_t k = 0; accel != NULL && k < accel->n_backends; ++k) {
        if (accel->backends[k]->query(accel->backends[k], address, &mem)) {
            break;
        }
    }
    return mem;
}

static fs_backend_t *find_backend(const fs_accel_t *accel, fs_mem_t mem)
{
    size_t k = 0;

    while (k < accel->n_backends && accel->backends[k]->kind != mem.kind) {
        ++k;
    }
    return k < accel->n_backends ? accel->backends[k] : NULL;
}

static void *alloc(fs_accel_t *accel, fs_mem_t mem, uint64_t len_bytes,
                   bool pinned)
{
    fs_backend_t *b = find_backend(accel, mem);

    return b == NULL ? NULL : b->alloc(b, mem.device, len_bytes, pinned);
}

void *fs_accel_alloc(fs_accel_t *accel, fs_mem_t mem, uint64_t len_bytes)
{
    return alloc(accel, mem, len_bytes, false);
}

void *fs_accel_alloc_pinned(fs_accel_t *accel, fs_mem_t mem, uint64_t len_bytes)
{
    return alloc(accel, mem, len_bytes, true);
}

void fs_accel_free(fs_accel_t *accel, fs_mem_t mem, void *address)
{
    fs_backend_t *b = find_backend(accel, mem);

    b->free(b, mem.device, address, false);
}

void fs_accel_free_pinned(fs_accel_t *accel, fs_mem_t mem, void *address)
{
    fs_backend_t *b = find_backend(accel, mem);

    b->free(b, mem.device, address, true);
}

bool fs_accel_has_kernel(const fs_accel_t *accel, fs_mem_t mem)
{
    fs_backend_t *b = find_backend(accel, mem);

    return b != NULL && b->kernel_blocks(b, mem.device) > 0;
}

/* ---- copies ---- */

static fs_copier_t *take_idle(fs_accel_t *accel, fs_mem_t mem)
{
    fs_copier_t **at, *copier;

    pthread_mutex_lock(&accel->lock);
    at = &accel->idle;
    while (*at != NULL && !fs_mem_equal((*at)->mem, mem)) {
        at = &(*at)->next;
    }
    copier = *at;
    if (copier != NULL) {
        *at = copier->next;
    }
    pthread_mutex_unlock(&accel->lock);
    return copier;
}

fs_copier_t *fs_accel_get_copier(fs_accel_t *accel, fs_mem_t mem)
{
    fs_copier_t  *copier  = take_idle(accel, mem);
    fs_backend_t *backend = find_backend(accel, mem);

    return copier == NULL && backend != NULL ? fs_copier_create(backend, mem)
                                             : copier;
}

void fs_accel_put_copier(fs_accel_t *accel, fs_copier_t *copier)
{
    pthread_mutex_lock(&accel->lock);
    copier->next = accel->idle;
    accel->idle  = copier;
    pthread_mutex_unlock(&accel->lock);
}

static uint64_t sum_of(const fs_segment_t *segments, size_t n)
{
    uint64_t sum = 0;

    for (size_t k = 0; k < n; ++k) {
        sum += segments[k].len_bytes;
    }
    return sum;
}

fs_status_t fs_accel_copy(fs_accel_t *accel, fs_mem_t mem,
                          const fs_segment_t *segments, size_t n_segments,
                          bool on_device)
{
    fs_copier_t *copier = fs_accel_get_copier(accel, mem);
    fs_status_t  status = FS_ERR_ACCEL;

    if (copier != NULL) {
        if (on_device) {
            (void)fs_copier_reserve(copier, n_segments,
                                    sum_of(segments, n_segments));
        }
        status = fs_copier_run(copier, segments, n_segments, on_device);
        fs_accel_put_copier(accel, copier);
    }
    return status;
}
