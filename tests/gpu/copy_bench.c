/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copies and sums of many segments inside one NVIDIA GPU, against one large copy. CSV on
 * stdout; bandwidths are bytes copied per second, so the memory moves twice as many, or
 * three times with sums. Every byte is checked. What fits into the GPU's caches may be
 * above the ceiling.
 *
 *   batch    as a call of MPI does it: the list is made, sent and worked off by one
 *            kernel
 *   row      the same without a kernel: copies one by one on a stream
 *   kernel   the kernel alone: many of them in a row, with the list that is there
 *
 *   copy_bench [MEGABYTES]   of memory on each side, default 512
 */
#include "accel/fs_copier.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { RUNS = 7, LAUNCHES = 20, GAP = 256 };

typedef struct bench {
    fs_accel_t   *accel;
    fs_mem_t      mem;
    fs_copier_t  *copier;
    size_t        len; /* of each side */
    char         *src, *dst;
    char         *host;
    fs_segment_t *segments;
} bench_t;

static void must(bool good, const char *what)
{
    if (!good) {
        fprintf(stderr, "copy_bench: %s\n", what);
        exit(1);
    }
}

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ---- memory ---- */

static char byte_at(size_t k)
{
    return (char)(k * 0x9e3779b97f4a7c15ull >> 56);
}

static void transfer(bench_t *b, void *dst, const void *src, size_t len)
{
    fs_segment_t all = {dst, src, len, 0};

    must(fs_accel_copy(b->accel, b->mem, &all, 1, false) == FS_OK,
         "cannot copy");
}

static void open_device(bench_t *b, size_t len)
{
    void *driver          = dlopen("libcuda.so.1", RTLD_NOW);
    int (*init)(unsigned) = NULL;

    must(driver != NULL, "no libcuda.so.1");
    *(void **)&init = dlsym(driver, "cuInit");
    must(init != NULL && init(0) == 0, "cuInit fails");
    b->accel = fs_accel_create();
    must(b->accel != NULL, "the driver lacks a call");
    b->mem    = (fs_mem_t){.kind = FS_MEM_CUDA};
    b->len    = len;
    b->src    = fs_accel_alloc(b->accel, b->mem, len);
    b->dst    = fs_accel_alloc(b->accel, b->mem, len);
    b->host   = malloc(len);
    b->copier = fs_accel_get_copier(b->accel, b->mem);
    must(b->src != NULL && b->dst != NULL && b->host != NULL &&
             b->copier != NULL,
         "out of memory");
    for (size_t k = 0; k < len; ++k) {
        b->host[k] = byte_at(k);
    }
    transfer(b, b->src, b->host, len);
}

static void close_device(bench_t *b)
{
    fs_accel_put_copier(b->accel, b->copier);
    fs_accel_free(b->accel, b->mem, b->src);
    fs_accel_free(b->accel, b->mem, b->dst);
    fs_accel_destroy(b->accel);
    free(b->host);
}

/* ---- one line ---- */

/* Segments of len bytes, GAP apart, which change places. */
static void make_segments(bench_t *b, size_t n, size_t len)
{
    b->segments = malloc(n * sizeof(*b->segments));
    must(b->segments != NULL &&
             fs_copier_reserve(b->copier, n, n * len) == FS_OK,
         "out of memory");
    must(fs_copier_has_kernel(b->copier),
         "the driver does not take the kernel");
    for (size_t k = 0; k < n; ++k) {
        size_t to = k * 7919 % n; /* a prime, and n is a power of ten */

        b->segments[k] = (fs_segment_t){b->dst + to * (len + GAP),
                                        b->src + k * (len + GAP), len, 0};
    }
}

static void check(bench_t *b, size_t n, size_t used)
{
    transfer(b, b->host, b->dst, used);
    for (size_t k = 0; k < n; ++k) {
        const fs_segment_t *s   = &b->segments[k];
        size_t              at  = (size_t)((const char *)s->src - b->src);
        const char         *got = b->host + ((char *)s->dst - b->dst);

        for (size_t i = 0; i < s->len_bytes; ++i) {
            must(got[i] == byte_at(at + i), "a byte is wrong");
        }
    }
}

static double run_once(bench_t *b, size_t n, bool on_device)
{
    double      start = now();
    fs_status_t status;

    must(fs_copier_start(b->copier, b->segments, n, on_device) == FS_OK,
         "cannot start a batch");
    while ((status = fs_copier_test(b->copier)) == FS_INPROGRESS) {
    }
    must(status == FS_OK, "a batch has failed");
    return now() - start;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* GB/s, the median. */
static double rate(bench_t *b, size_t n, size_t len, bool on_device)
{
    double times[RUNS];

    run_once(b, n, on_device);
    for (size_t k = 0; k < RUNS; ++k) {
        times[k] = run_once(b, n, on_device);
    }
    qsort(times, RUNS, sizeof(*times), compare);
    return (double)n * (double)len / times[RUNS / 2] * 1e-9;
}

/* As rate(), of the kernel alone; the list is that of the batch before. */
static double kernel_rate(bench_t *b, size_t n, size_t len)
{
    fs_copier_t *c = b->copier;
    fs_queue_t  *q = c->queue;
    size_t pieces = n * ((len + FS_COPY_PIECE_BYTES - 1) / FS_COPY_PIECE_BYTES);
    unsigned blocks = pieces < c->max_blocks ? (unsigned)pieces : c->max_blocks;
    double   start  = now();

    must(q->enter(q), "no context");
    for (size_t k = 0; k < LAUNCHES; ++k) {
        must(q->launch(q, c->device_pieces, (unsigned)pieces, blocks),
             "cannot launch the kernel");
    }
    q->leave(q);
    must(q->drain(q) == FS_OK, "a kernel has failed");
    return LAUNCHES * (double)n * (double)len / (now() - start) * 1e-9;
}

/* What a line says of n segments of len bytes; GB/s. */
typedef struct rates {
    double batch, row, kernel;
} rates_t;

static void wipe(bench_t *b, size_t used)
{
    memset(b->host, 0, used);
    transfer(b, b->dst, b->host, used);
}

static rates_t measure(bench_t *b, size_t n, size_t len)
{
    size_t  used = n * (len + GAP);
    rates_t rates;

    make_segments(b, n, len);
    wipe(b, used);
    rates.row = rate(b, n, len, false);
    check(b, n, used);
    wipe(b, used);
    rates.batch = rate(b, n, len, true);
    check(b, n, used);
    wipe(b, used);
    rates.kernel = kernel_rate(b, n, len);
    check(b, n, used);
    free(b->segments);
    return rates;
}

/* ---- sums ---- */

typedef struct type {
    const char      *name;
    fs_device_type_t type;
    size_t           size;
} type_t;

/* All that have small numbers. */
static const type_t types[] = {
    {"u32", FS_DEVICE_U32, 4},   {"f32", FS_DEVICE_F32, 4},
    {"f64", FS_DEVICE_F64, 8},   {"f16", FS_DEVICE_F16, 2},
    {"bf16", FS_DEVICE_BF16, 2},
};

/* A number up to 256, as an element: exact in each of them. */
static uint64_t encode(fs_device_type_t type, unsigned number)
{
    float    value = (float)number;
    double   wide  = number;
    uint32_t bits;
    uint64_t long_bits;

    memcpy(&bits, &value, sizeof(bits));
    memcpy(&long_bits, &wide, sizeof(long_bits));
    return type == FS_DEVICE_U32    ? number
           : type == FS_DEVICE_F64  ? long_bits
           : type == FS_DEVICE_F32  ? bits
           : type == FS_DEVICE_BF16 ? bits >> 16
           : number == 0            ? 0
                                    : (bits - (112u << 23)) >> 13;
}

/* Element k of all, times. */
static void write_numbers(char *to, const type_t *t, size_t len, unsigned times)
{
    for (size_t k = 0; k < len / t->size; ++k) {
        uint64_t word = encode(t->type, (1 + k % 7) * times);

        memcpy(to + k * t->size, &word, t->size);
    }
}

/* dst = 0 + src + src ..., as often as there are runs. */
static rates_t measure_sum(bench_t *b, const type_t *t, size_t n, size_t len)
{
    enum { ADDED = 1 + RUNS + LAUNCHES };
    size_t  used = n * (len + GAP);
    char   *want = malloc(used);
    rates_t rates;

    must(want != NULL, "out of memory");
    make_segments(b, n, len);
    for (size_t k = 0; k < n; ++k) {
        b->segments[k].dst = b->dst +
                             ((const char *)b->segments[k].src - b->src);
        b->segments[k].how = fs_device_how(FS_DEVICE_SUM, t->type);
    }
    write_numbers(want, t, used, 1);
    transfer(b, b->src, want, used);
    wipe(b, used);
    rates.batch  = rate(b, n, len, true);
    rates.kernel = kernel_rate(b, n, len);
    transfer(b, b->host, b->dst, used);
    write_numbers(want, t, used, ADDED);
    for (size_t k = 0; k < n; ++k) {
        size_t at = k * (len + GAP);

        must(memcmp(b->host + at, want + at, len) == 0, "a sum is wrong");
    }
    free(want);
    free(b->segments);
    return rates;
}

/* One large copy. */
static double ceiling_rate(bench_t *b, size_t len)
{
    double result;

    make_segments(b, 1, len - GAP);
    wipe(b, len);
    result = rate(b, 1, len - GAP, false);
    check(b, 1, len);
    free(b->segments);
    return result;
}

int main(int argc, char **argv)
{
    static const size_t lens[] = {256, 1024, 4096, 16384, 65536, 262144};
    size_t  len = (argc > 1 ? strtoul(argv[1], NULL, 10) : 512) << 20;
    bench_t b   = {.len = 0};
    double  ceiling;

    must(len > 0, "usage: copy_bench [MEGABYTES]");
    open_device(&b, len);
    ceiling = ceiling_rate(&b, len);
    puts("what,segments,len_bytes,batch_GBps,row_GBps,kernel_GBps,ceiling_GBps,"
         "kernel_share");
    for (size_t n = 100; n <= 100000; n *= 10) {
        for (size_t k = 0; k < sizeof(lens) / sizeof(*lens); ++k) {
            rates_t r;

            if (n * (lens[k] + GAP) > len) {
                continue;
            }
            r = measure(&b, n, lens[k]);
            printf("copy,%zu,%zu,%.1f,%.1f,%.1f,%.1f,%.2f\n", n, lens[k],
                   r.batch, r.row, r.kernel, ceiling, r.kernel / ceiling);
        }
    }
    for (size_t k = 0; k < sizeof(types) / sizeof(*types); ++k) {
        for (size_t l = 4096; l <= 262144 && 100 * (l + GAP) <= len; l *= 8) {
            rates_t r = measure_sum(&b, &types[k], 100, l);

            printf("sum %s,100,%zu,%.1f,-,%.1f,%.1f,%.2f\n", types[k].name, l,
                   r.batch, r.kernel, ceiling, r.kernel / ceiling);
        }
    }
    close_device(&b);
    return 0;
}
