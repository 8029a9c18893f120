/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Many copies inside a device as one kernel: each block of threads takes one
 * piece after the other, and its threads a word each, one beside the other.
 *
 * make_kernel turns this file into fs_copy_kernel.c, which is what is built: PTX
 * for CUDA's driver, the text for HIP's compiler. The drivers of tests/accel run it
 * on a CPU.
 */

/* As fs_segment_t. */
typedef struct piece {
    char              *dst;
    const char        *src;
    unsigned long long len_bytes;
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

KERNEL fs_copy_pieces(const piece_t *pieces, unsigned n)
{
    for (unsigned k = blockIdx.x; k < n; k += gridDim.x) {
        copy_piece(pieces[k].dst, pieces[k].src, pieces[k].len_bytes);
    }
}
