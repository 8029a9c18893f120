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
    SUCCESS              = 0,
    INVALID_VALUE        = 1,
    OUT_OF_MEMORY        = 2,
    INVALID_CONTEXT      = 201,
    INVALID_PTX          = 218,
    NOT_FOUND            = 500,
    NOT_READY            = 600,
    CONTEXT              = 1,
    MEMORY_TYPE          = 2,
    SYNC_MEMOPS          = 6,
    IS_MANAGED           = 8,
    DEVICE_ORDINAL       = 9,
    TYPE_DEVICE          = 2,
    MULTIPROCESSOR_COUNT = 16
};

enum { N_DEVICES = 2, MAX_DEPTH = 8, N_MULTIPROCESSORS = 3 };

static pthread_mutex_t lock        = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t kernel_lock = PTHREAD_MUTEX_INITIALIZER;

static char contexts[N_DEVICES]; /* their addresses count */

/* ---- faults ---- */

static const char *failing;
static unsigned    fails_at;

void fake_cuda_fail(const char *name, unsigned n)
{
    failing  = name;
    fails_at = n;
}

int fake_cuda_has_failed(void)
{
    return failing != NULL && fails_at == 0;
}

static int fails(const char *name)
{
    int bad;

    pthread_mutex_lock(&lock);
    bad = failing != NULL && fails_at > 0 && strcmp(failing, name) == 0 &&
          --fails_at == 0;
    pthread_mutex_unlock(&lock);
    return bad;
}

/* ---- memory ---- */

typedef struct block block_t;
struct block {
    char    *address; /* no access */
    char    *alias;
    size_t   len;
    int      device;
    int      managed; /* a CPU may touch it */
    int      pooled;  /* of no context */
    int      ordered; /* CU_POINTER_ATTRIBUTE_SYNC_MEMOPS */
    block_t *next;
};

static block_t *blocks;

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

int fake_cuda_alloc(uint64_t *address_p, size_t len_bytes, int device)
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
    b->device = device % N_DEVICES;
    b->next   = blocks;
    blocks    = b;
    pthread_mutex_unlock(&lock);
    *address_p = (uintptr_t)b->address;
    return SUCCESS;
}

int fake_cuda_free(uint64_t address)
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

int fake_cuda_attribute(void *value, int which, uint64_t address)
{
    const block_t *b = find(address);

    if (b == NULL) {
        return INVALID_VALUE;
    }
    if (which == CONTEXT) {
        *(void **)value = b->pooled ? NULL : &contexts[b->device];
        return SUCCESS;
    }
    *(int *)value = which == MEMORY_TYPE      ? TYPE_DEVICE
                    : which == DEVICE_ORDINAL ? b->device
                    : which == IS_MANAGED     ? b->managed
                    : which == SYNC_MEMOPS    ? b->ordered
                                              : 0;
    return SUCCESS;
}

/* Of plain memory it says zero, as the driver does; that a pool knows nothing of
 * SYNC_MEMOPS is a guess. */
int cuPointerGetAttributes(unsigned n, int *which, void **values,
                           uint64_t address)
{
    const block_t *b = find(address);

    for (unsigned k = 0; b != NULL && b->pooled && k < n; ++k) {
        if (which[k] == SYNC_MEMOPS) {
            return INVALID_VALUE;
        }
    }
    for (unsigned k = 0; k < n; ++k) {
        if (fake_cuda_attribute(values[k], which[k], address) == SUCCESS) {
            continue;
        }
        if (which[k] == CONTEXT) {
            *(void **)values[k] = NULL;
        } else {
            *(int *)values[k] = 0;
        }
    }
    return SUCCESS;
}

/* ---- contexts ---- */

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

/* Of this thread; NULL: none. */
static void *current(void)
{
    return depth == 0 ? NULL : stack[depth - 1];
}

int cuPointerSetAttribute(const void *value, int which, uint64_t address)
{
    block_t *b = find(address);

    if (b == NULL || b->pooled || which != SYNC_MEMOPS ||
        current() != &contexts[b->device]) {
        return INVALID_VALUE;
    }
    b->ordered = *(const int *)value;
    return SUCCESS;
}

/* Its device. */
static int current_ordinal(void)
{
    return (int)((char *)current() - contexts);
}

int cuMemAlloc_v2(uint64_t *address_p, size_t len_bytes)
{
    return current() == NULL ? INVALID_CONTEXT
           : fails("cuMemAlloc_v2")
               ? OUT_OF_MEMORY
               : fake_cuda_alloc(address_p, len_bytes, current_ordinal());
}

int cuMemFree_v2(uint64_t address)
{
    return current() == NULL ? INVALID_CONTEXT : fake_cuda_free(address);
}

int cuDeviceGetAttribute(int *value, int which, int device)
{
    *value = N_MULTIPROCESSORS;
    return which == MULTIPROCESSOR_COUNT && device < N_DEVICES ? SUCCESS
                                                               : INVALID_VALUE;
}

/* Pinned memory of the host, which kernels of all devices reach as well. */
typedef struct pinned {
    struct pinned *next;
    char          *from, *end;
} pinned_t;

static pinned_t       *all_pinned;
static pthread_mutex_t pinned_lock = PTHREAD_MUTEX_INITIALIZER;

static int is_pinned(const char *address)
{
    const pinned_t *p;

    pthread_mutex_lock(&pinned_lock);
    for (p = all_pinned;
         p != NULL && (address < p->from || address >= p->end);) {
        p = p->next;
    }
    pthread_mutex_unlock(&pinned_lock);
    return p != NULL;
}

/* FAKE_CUDA_NO_PINNED: there is none. */
int cuMemAllocHost_v2(void **address_p, size_t len)
{
    pinned_t *p;

    if (current() == NULL || fails("cuMemAllocHost_v2") ||
        getenv("FAKE_CUDA_NO_PINNED") != NULL) {
        return current() == NULL ? INVALID_CONTEXT : OUT_OF_MEMORY;
    }
    p       = malloc(sizeof(*p));
    p->from = malloc(len);
    p->end  = p->from + len;
    pthread_mutex_lock(&pinned_lock);
    p->next    = all_pinned;
    all_pinned = p;
    pthread_mutex_unlock(&pinned_lock);
    *address_p = p->from;
    return SUCCESS;
}

int cuMemFreeHost(void *address)
{
    pinned_t **at = &all_pinned, *p;

    pthread_mutex_lock(&pinned_lock);
    while (*at != NULL && (*at)->from != address) {
        at = &(*at)->next;
    }
    p = *at;
    if (p != NULL) {
        *at = p->next;
        free(p->from);
        free(p);
    }
    pthread_mutex_unlock(&pinned_lock);
    return p == NULL           ? INVALID_VALUE
           : current() == NULL ? INVALID_CONTEXT
                               : SUCCESS;
}

/* ---- the kernel: its source, on this CPU ---- */

static struct {
    unsigned x;
} threadIdx, blockIdx, blockDim, gridDim;

typedef struct uint4 {
    unsigned x, y, z, w;
} __attribute__((aligned(16))) uint4;

#define __device__
#define KERNEL static void
#include "../../libfastsched/accel/fs_kernel.cu"

/* Of each device. */
static char modules[N_DEVICES], functions[N_DEVICES];

/* FAKE_CUDA_NO_KERNEL: a driver that does not know our PTX. */
int cuModuleLoadData(void **module_p, const void *image)
{
    if (current() == NULL) {
        return INVALID_CONTEXT;
    }
    *module_p = &modules[current_ordinal()];
    return getenv("FAKE_CUDA_NO_KERNEL") != NULL ||
                   strncmp(image, ".version", strlen(".version")) != 0
               ? INVALID_PTX
               : SUCCESS;
}

int cuModuleGetFunction(void **function_p, void *of, const char *name)
{
    *function_p = &functions[(char *)of - modules];
    return strcmp(name, "fs_do_pieces") == 0 ? SUCCESS : NOT_FOUND;
}

int cuModuleUnload(void *what)
{
    return current() != NULL && what == &modules[current_ordinal()]
               ? SUCCESS
               : INVALID_CONTEXT;
}

/* ---- streams ---- */

typedef struct work work_t;
struct work {
    uint64_t dst, src; /* of a copy; of a kernel src: the pieces */
    size_t   len;      /* and their number */
    int      device;   /* of a kernel, like what follows */
    unsigned blocks;   /* 0: a copy */
    unsigned threads;
    work_t  *next;
};

typedef struct stream {
    void    *context;
    work_t  *first;
    work_t **last;
} stream_t;

int cuStreamCreate(stream_t **stream_p, unsigned flags)
{
    stream_t *stream = calloc(1, sizeof(*stream));

    (void)flags;
    stream->context = current();
    stream->last    = &stream->first;
    *stream_p       = stream;
    return stream->context == NULL ? INVALID_CONTEXT : SUCCESS;
}

int cuStreamDestroy_v2(stream_t *stream)
{
    int error = current() == NULL || stream->first != NULL ? INVALID_CONTEXT
                                                           : SUCCESS;

    free(stream);
    return error;
}

/* Later, when somebody asks whether it is done. */
static int add(stream_t *stream, work_t work)
{
    work_t *added;

    if (current() == NULL || current() != stream->context) {
        return INVALID_CONTEXT;
    }
    added  = malloc(sizeof(*added));
    *added = work;
    pthread_mutex_lock(&lock);
    *stream->last = added;
    stream->last  = &added->next;
    pthread_mutex_unlock(&lock);
    return SUCCESS;
}

int cuMemcpyAsync(uint64_t dst, uint64_t src, size_t len, stream_t *stream)
{
    if (fails("cuMemcpyAsync")) {
        return INVALID_VALUE;
    }
    return add(stream, (work_t){.dst = dst, .src = src, .len = len});
}

int cuLaunchKernel(void *what, unsigned blocks, unsigned y, unsigned z,
                   unsigned threads, unsigned thread_y, unsigned thread_z,
                   unsigned shared, stream_t *stream, void **params,
                   void **extra)
{
    work_t work = {.blocks = blocks, .threads = threads};

    if (fails("cuLaunchKernel") || current() == NULL ||
        what != &functions[current_ordinal()] || blocks == 0 || threads == 0 ||
        y * z * thread_y * thread_z != 1 || shared != 0 || extra != NULL) {
        return INVALID_VALUE;
    }
    work.device = current_ordinal();
    work.src    = *(uint64_t *)params[0];
    work.len    = *(unsigned *)params[1];
    return add(stream, work);
}

static char *reachable(uint64_t address)
{
    char *alias = fake_cuda_alias(address);

    return alias != NULL ? alias : (char *)(uintptr_t)address;
}

static unsigned n_kernels;

unsigned fake_cuda_kernels(void)
{
    return n_kernels;
}

/* Where it is for the CPU; or the program ends, as it would there. */
static char *on(int device, const char *address)
{
    const block_t *b = find((uintptr_t)address);

    if (is_pinned(address)) {
        return (char *)(uintptr_t)address;
    }
    if (b == NULL || b->device != device) {
        abort();
    }
    return fake_cuda_alias((uintptr_t)address);
}

/* With kernel_lock: threadIdx and the like are there once. */
static void run_kernel(const work_t *work)
{
    piece_t *pieces = malloc(work->len * sizeof(*pieces));

    memcpy(pieces, fake_cuda_alias(work->src), work->len * sizeof(*pieces));
    for (size_t k = 0; k < work->len; ++k) {
        pieces[k].dst = on(work->device, pieces[k].dst);
        pieces[k].src = on(work->device, pieces[k].src);
    }
    gridDim.x  = work->blocks;
    blockDim.x = work->threads;
    for (blockIdx.x = 0; blockIdx.x < gridDim.x; ++blockIdx.x) {
        for (threadIdx.x = 0; threadIdx.x < blockDim.x; ++threadIdx.x) {
            fs_do_pieces(pieces, (unsigned)work->len);
        }
    }
    ++n_kernels;
    free(pieces);
}

static void run(const work_t *work)
{
    if (work->blocks > 0) {
        pthread_mutex_lock(&kernel_lock);
        run_kernel(work);
        pthread_mutex_unlock(&kernel_lock);
    } else {
        memcpy(reachable(work->dst), reachable(work->src), work->len);
    }
}

int cuStreamSynchronize(stream_t *stream)
{
    work_t *work;

    pthread_mutex_lock(&lock);
    work          = stream->first;
    stream->first = NULL;
    stream->last  = &stream->first;
    pthread_mutex_unlock(&lock);
    while (work != NULL) {
        work_t *next = work->next;

        run(work);
        free(work);
        work = next;
    }
    return SUCCESS;
}

/* ---- events ---- */

typedef struct event {
    stream_t *stream;
    int       asked;
} event_t;

int cuEventCreate(event_t **event_p, unsigned flags)
{
    (void)flags;
    *event_p = calloc(1, sizeof(**event_p));
    return current() == NULL ? INVALID_CONTEXT : SUCCESS;
}

int cuEventDestroy_v2(event_t *event)
{
    free(event);
    return current() == NULL ? INVALID_CONTEXT : SUCCESS;
}

int cuEventRecord(event_t *event, stream_t *stream)
{
    *event = (event_t){stream, 0};
    return current() == stream->context ? SUCCESS : INVALID_CONTEXT;
}

/* The third time the answer is yes. */
int cuEventQuery(event_t *event)
{
    if (event->asked++ < 2) {
        return NOT_READY;
    }
    if (fails("cuEventQuery")) {
        return INVALID_VALUE;
    }
    return event->stream == NULL ? SUCCESS : cuStreamSynchronize(event->stream);
}

/* ---- for programs: what is done at once ---- */

int cuInit(unsigned flags)
{
    return flags == 0 ? SUCCESS : INVALID_VALUE;
}

int cuDeviceGetCount(int *n_p)
{
    *n_p = N_DEVICES;
    return SUCCESS;
}

int cuCtxSetCurrent(void *context)
{
    depth            = depth > 0 ? depth : 1;
    stack[depth - 1] = context;
    return SUCCESS;
}

int cuCtxSynchronize(void)
{
    return depth > 0 ? SUCCESS : INVALID_CONTEXT;
}

int cuMemAllocManaged(uint64_t *address_p, size_t len_bytes, unsigned flags)
{
    int      error = flags == 1 ? cuMemAlloc_v2(address_p, len_bytes)
                                : INVALID_VALUE;
    block_t *b     = error == SUCCESS ? find(*address_p) : NULL;

    if (error == SUCCESS) {
        b->managed = 1;
        mprotect(b->address, b->len, PROT_READ | PROT_WRITE);
    }
    return error;
}

int cuMemAllocAsync(uint64_t *address_p, size_t len_bytes, void *stream)
{
    int error = stream == NULL ? cuMemAlloc_v2(address_p, len_bytes)
                               : INVALID_VALUE;

    if (error == SUCCESS) {
        find(*address_p)->pooled = 1;
    }
    return error;
}

int cuMemcpy(uint64_t dst, uint64_t src, size_t len)
{
    if (depth == 0) {
        return INVALID_CONTEXT;
    }
    memcpy(reachable(dst), reachable(src), len);
    return SUCCESS;
}

int cuMemsetD8_v2(uint64_t dst, unsigned char value, size_t len)
{
    if (depth == 0 || find(dst) == NULL) {
        return depth == 0 ? INVALID_CONTEXT : INVALID_VALUE;
    }
    memset(reachable(dst), value, len);
    return SUCCESS;
}
