/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Many copies and reductions inside a device as one kernel: each block of threads
 * takes one piece after the other, and its threads a word or an element each, one
 * beside the other.
 *
 * make_kernel turns this file into fs_kernel_text.c, which is what is built: PTX
 * for CUDA's driver, the text for HIP's compiler. The drivers of tests/accel run it
 * on a CPU, as C.
 */

/* As fs_segment_t. */
typedef struct piece {
    char              *dst;
    const char        *src;
    unsigned long long len_bytes;
    unsigned           how;
} piece_t;

#ifndef KERNEL
#define KERNEL extern "C" __global__ void __launch_bounds__(256)
#endif

typedef unsigned long long count_t;

/* Four loads are on their way before the first store. */
static __device__ void copy_long_words(uint4 *dst, const uint4 *src, count_t n)
{
    count_t k = threadIdx.x, stride = blockDim.x;

    for (; k + 3 * stride < n; k += 4 * stride) {
        uint4 a = src[k], b = src[k + stride], c = src[k + 2 * stride],
              d = src[k + 3 * stride];

        dst[k]              = a;
        dst[k + stride]     = b;
        dst[k + 2 * stride] = c;
        dst[k + 3 * stride] = d;
    }
    for (; k < n; k += stride) {
        dst[k] = src[k];
    }
}

static __device__ void copy_words(unsigned *dst, const unsigned *src, count_t n)
{
    for (count_t k = threadIdx.x; k < n; k += blockDim.x) {
        dst[k] = src[k];
    }
}

static __device__ void copy_bytes(char *dst, const char *src, count_t n)
{
    for (count_t k = threadIdx.x; k < n; k += blockDim.x) {
        dst[k] = src[k];
    }
}

/* In the longest words in which both ends are aligned alike. */
static __device__ void copy_piece(char *dst, const char *src, count_t len)
{
    count_t  apart = (count_t)dst ^ (count_t)src;
    unsigned word  = apart % 16 == 0 ? 16 : apart % 4 == 0 ? 4 : 1;
    count_t  head  = (0 - (count_t)dst) % word;
    count_t  n, tail;

    head = head < len ? head : len;
    n    = (len - head) / word;
    tail = head + n * word;
    copy_bytes(dst, src, head);
    if (word == 16) {
        copy_long_words((uint4 *)(dst + head), (const uint4 *)(src + head), n);
    } else if (word == 4) {
        copy_words((unsigned *)(dst + head), (const unsigned *)(src + head), n);
    } else {
        copy_bytes(dst + head, src + head, n);
    }
    copy_bytes(dst + tail, src + tail, len - tail);
}

/* ---- elements of 16 bits, which are added as float: that rounds once ---- */

typedef union both {
    unsigned bits;
    float    value;
} both_t;

static __device__ float float_of(unsigned bits)
{
    both_t both;

    both.bits = bits;
    return both.value;
}

static __device__ unsigned bits_of(float value)
{
    both_t both;

    both.value = value;
    return both.bits;
}

static __device__ float from_half(unsigned short half)
{
    unsigned sign = (unsigned)(half & 0x8000) << 16;
    unsigned rest = half & 0x7fff;

    return rest >= 0x7c00  ? float_of(sign | 0x7f800000 | (rest & 0x3ff) << 13)
           : rest >= 0x400 ? float_of(sign | ((rest << 13) + 0x38000000))
                           : float_of(sign | bits_of(rest * (1.0f / 16777216)));
}

/* To the nearest, of two the even one. Below the normal ones, of which the first is
 * 2^-14, the sum with 0.5 rounds. */
static __device__ unsigned short to_half(float value)
{
    unsigned sign = bits_of(value) >> 16 & 0x8000;
    unsigned rest = bits_of(value) & 0x7fffffff;
    unsigned half = rest > 0x7f800000    ? 0x7e00
                    : rest >= 0x477ff000 ? 0x7c00
                    : rest < 0x38800000
                        ? bits_of(float_of(rest) + 0.5f) - 0x3f000000
                        : (rest - 0x38000000 + 0xfff + (rest >> 13 & 1)) >> 13;

    return (unsigned short)(sign | half);
}

static __device__ float from_bfloat(unsigned short bfloat)
{
    return float_of((unsigned)bfloat << 16);
}

/* To the nearest, of two the one that is farther from zero, as MPICH does it: all ranks
 * must end with the same bits. */
static __device__ unsigned short to_bfloat(float value)
{
    unsigned bits = bits_of(value);

    return (unsigned short)((bits & 0x7fffffff) > 0x7f800000
                                ? bits >> 16
                                : (bits + 0x8000) >> 16);
}

/* ---- reductions ---- */

/* As fs_device_op_t. */
enum { SUM = 1, MIN = 2 };

/* Integers wrap. */
#define PLUS(a, b) ((a) + (b))
#define WRAPS(a, b) ((count_t)(a) + (count_t)(b))
#define SAME(a) (a)

/* DO(name, C type in memory and in hand, from the one to the other and back, sum), as
 * fs_device_type_t counts them. */
#define TYPES(DO)                                                         \
    DO(i8, signed char, signed char, SAME, SAME, WRAPS)                   \
    DO(i16, short, short, SAME, SAME, WRAPS)                              \
    DO(i32, int, int, SAME, SAME, WRAPS)                                  \
    DO(i64, long long, long long, SAME, SAME, WRAPS)                      \
    DO(u8, unsigned char, unsigned char, SAME, SAME, WRAPS)               \
    DO(u16, unsigned short, unsigned short, SAME, SAME, WRAPS)            \
    DO(u32, unsigned, unsigned, SAME, SAME, WRAPS)                        \
    DO(u64, unsigned long long, unsigned long long, SAME, SAME, WRAPS)    \
    DO(f16, unsigned short, float, from_half, to_half, PLUS)              \
    DO(bf16, unsigned short, float, from_bfloat, to_bfloat, PLUS)         \
    DO(f32, float, float, SAME, SAME, PLUS)                               \
    DO(f64, double, double, SAME, SAME, PLUS)

/* dst = src op dst, as MPI_Reduce_local does it. */
#define REDUCE(name, memory_t, value_t, load, store, plus)                     \
    static __device__ void reduce_##name(unsigned op, char *dst_bytes,         \
                                         const char *src_bytes, count_t len)   \
    {                                                                          \
        memory_t       *dst = (memory_t *)dst_bytes;                           \
        const memory_t *src = (const memory_t *)src_bytes;                     \
                                                                               \
        for (count_t k = threadIdx.x; k < len / sizeof(*dst);                  \
             k += blockDim.x) {                                                \
            value_t a = load(src[k]), b = load(dst[k]);                        \
            value_t c = op == SUM   ? (value_t)plus(a, b)                      \
                        : op == MIN ? (b < a ? b : a)                          \
                                    : (b > a ? b : a);                         \
                                                                               \
            dst[k] = store(c);                                                 \
        }                                                                      \
    }

TYPES(REDUCE)

#define NUMBER(name, memory_t, value_t, load, store, plus) type_##name,
enum { TYPES(NUMBER) };

#define CASE(name, memory_t, value_t, load, store, plus)  \
    case type_##name:                                     \
        reduce_##name(how % 4, dst, src, len);            \
        break;

/* how: fs_device_how(). Elements are aligned as their type. */
static __device__ void reduce_piece(unsigned how, char *dst, const char *src,
                                    count_t len)
{
    switch (how / 4) {
        TYPES(CASE)
    }
}

KERNEL fs_do_pieces(const piece_t *pieces, unsigned n)
{
    for (unsigned k = blockIdx.x; k < n; k += gridDim.x) {
        const piece_t *p = &pieces[k];

        if (p->how == 0) {
            copy_piece(p->dst, p->src, p->len_bytes);
        } else {
            reduce_piece(p->how, p->dst, p->src, p->len_bytes);
        }
    }
}
