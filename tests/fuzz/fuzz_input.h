/* SPDX-License-Identifier: BSD-3-Clause */
/* Bytes become numbers, for fuzz targets. */
#ifndef FUZZ_INPUT_H
#define FUZZ_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* What a fuzzing engine calls, and fuzz_replay.c. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

typedef struct fuzz_input {
    const uint8_t *data;
    size_t         len;
} fuzz_input_t;

/* The next byte; 0 after the last. */
static inline uint8_t fuzz_u8(fuzz_input_t *in)
{
    if (in->len == 0) {
        return 0;
    }
    --in->len;
    return *in->data++;
}

/* 0 to bound - 1; bound is 1 to 256. */
static inline uint32_t fuzz_below(fuzz_input_t *in, uint32_t bound)
{
    return fuzz_u8(in) % bound;
}

/* A number of any size up to 64 bits: so many bytes, the first says how many. */
static inline uint64_t fuzz_u64(fuzz_input_t *in)
{
    uint64_t value = 0;

    for (uint32_t n = fuzz_below(in, 9); n > 0; --n) {
        value = value << 8 | fuzz_u8(in);
    }
    return value;
}

/* What the library must never do. */
static inline void fuzz_must(bool ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "fuzz: %s\n", what);
        abort();
    }
}

static inline void *fuzz_alloc(size_t n, size_t elem_bytes)
{
    void *p = calloc(n + 1, elem_bytes);

    fuzz_must(p != NULL, "out of memory");
    return p;
}

#endif
