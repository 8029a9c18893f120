/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "fake_cuda.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* As in cuda.h. */
enum {
    SUCCESS         = 0,
    INVALID_VALUE   = 1,
    OUT_OF_MEMORY   = 2,
    INVALID_CONTEXT = 201,
    MEMORY_TYPE     = 2,
    IS_MANAGED      = 8,
    DEVICE_ORDINAL  = 9,
    TYPE_DEVICE     = 2
};

enum { N_DEVICES = 2, MAX_DEPTH = 8 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- memory ---- */

typedef struct block block_t;
struct block {
    char    *address; /* no access */
    char    *alias;
    size_t   len;
    int      device;
    block_t *next;
};

static block_t *blocks;
static int      n_allocated;

static block_t *find(uint64_t address)
{
    block_t *b;

    pthread_mutex_lock(&lock);
    b = blocks;
    while (b != NULL && (address < (uintptr_t)b->address ||
                         address >= (uintptr_t)b->address + b->len)) {
        b = b->next;
    }
    pthread_mutex_unlock(&lock);
    return b;
}

int cuMemAlloc_v2(uint64_t *address_p, size_t len_bytes)
{
    int      fd  = memfd_create("fake-device", 0);
    block_t *b   = calloc(1, sizeof(*b));
    size_t   len = len_bytes > 0 ? len_bytes : 1;

    if (fd < 0 || b == NULL || ftruncate(fd, (off_t)len) != 0) {
        return OUT_OF_MEMORY;
    }
    b->len     = len;
    b->address = mmap(NULL, len, PROT_NONE, MAP_SHARED, fd, 0);
    b->alias   = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (b->address == MAP_FAILED || b->alias == MAP_FAILED) {
        return OUT_OF_MEMORY;
    }
    pthread_mutex_lock(&lock);
    b->device = n_allocated++ % N_DEVICES;
    b->next   = blocks;
    blocks    = b;
    pthread_mutex_unlock(&lock);
    *address_p = (uintptr_t)b->address;
    return SUCCESS;
}

int cuMemFree_v2(uint64_t address)
{
    block_t *b = find(address), **at = &blocks;

    if (b == NULL) {
        return INVALID_VALUE;
    }
    pthread_mutex_lock(&lock);
    while (*at != b) {
        at = &(*at)->next;
    }
    *at = b->next;
    pthread_mutex_unlock(&lock);
    munmap(b->address, b->len);
    munmap(b->alias, b->len);
    free(b);
    return SUCCESS;
}

void *fake_cuda_alias(uint64_t address)
{
    const block_t *b = find(address);

    return b == NULL ? NULL : b->alias + (address - (uintptr_t)b->address);
}

int cuPointerGetAttribute(void *value, int which, uint64_t address)
{
    const block_t *b = find(address);

    if (b == NULL) {
        return INVALID_VALUE;
    }
    *(int *)value = which == MEMORY_TYPE      ? TYPE_DEVICE
                    : which == DEVICE_ORDINAL ? b->device
                                              : 0; /* not managed */
    return SUCCESS;
}

/* ---- contexts ---- */

static char                contexts[N_DEVICES]; /* their addresses count */
static _Thread_local void *stack[MAX_DEPTH];
static _Thread_local int   depth;

int cuDeviceGet(int *device_p, int ordinal)
{
    *device_p = ordinal;
    return ordinal >= 0 && ordinal < N_DEVICES ? SUCCESS : INVALID_VALUE;
}

int cuDevicePrimaryCtxRetain(void **context_p, int device)
{
    *context_p = &contexts[device];
    return SUCCESS;
}

int cuCtxPushCurrent_v2(void *context)
{
    if (depth == MAX_DEPTH) {
        return OUT_OF_MEMORY; /* somebody does not pop */
    }
    stack[depth++] = context;
    return SUCCESS;
}

int cuCtxPopCurrent_v2(void **context_p)
{
    if (depth == 0) {
        return INVALID_CONTEXT;
    }
    *context_p = stack[--depth];
    return SUCCESS;
}

/* ---- streams ---- */

typedef struct copy copy_t;
struct copy {
    uint64_t dst, src;
    size_t   len;
    copy_t  *next;
};

typedef struct stream {
    void   *context;
    copy_t *copies; /* the last first: nobody may count on their order */
} stream_t;

int cuStreamCreate(stream_t **stream_p, unsigned flags)
{
    (void)flags;
    if (depth == 0) {
        return INVALID_CONTEXT;
    }
    *stream_p            = calloc(1, sizeof(**stream_p));
    (*stream_p)->context = stack[depth - 1];
    return SUCCESS;
}

int cuStreamDestroy_v2(stream_t *stream)
{
    int error = depth == 0 || stream->copies != NULL ? INVALID_CONTEXT
                                                     : SUCCESS;

    free(stream);
    return error;
}

int cuMemcpyAsync(uint64_t dst, uint64_t src, size_t len, stream_t *stream)
{
    copy_t *copy;

    if (depth == 0 || stack[depth - 1] != stream->context) {
        return INVALID_CONTEXT;
    }
    copy = malloc(sizeof(*copy));
    pthread_mutex_lock(&lock);
    *copy          = (copy_t){dst, src, len, stream->copies};
    stream->copies = copy;
    pthread_mutex_unlock(&lock);
    return SUCCESS;
}

static char *reachable(uint64_t address)
{
    char *alias = fake_cuda_alias(address);

    return alias != NULL ? alias : (char *)(uintptr_t)address;
}

int cuStreamSynchronize(stream_t *stream)
{
    copy_t *copy;

    pthread_mutex_lock(&lock);
    copy           = stream->copies;
    stream->copies = NULL;
    pthread_mutex_unlock(&lock);
    while (copy != NULL) {
        copy_t *next = copy->next;

        memcpy(reachable(copy->dst), reachable(copy->src), copy->len);
        free(copy);
        copy = next;
    }
    return SUCCESS;
}
